//! The shop's orders and payments, and the refunds that are due, in PostgreSQL: all of the shop's SQL. Any number of servers may
//! use one database.
//!
//! - An order becomes paid by one conditional statement, so it is paid once, however many servers read its payment.
//! - A server claims a payment before it reads it, so that two servers do not read the same one.
//! - Every time is the database's, because the clocks of two servers differ.

use guichet::native::{AskAgain, Sold};
use guichet::operations::DuplicatePayment;
use guichet::values::{Email, MerchantReference, PaymentRef};
use sqlx::Row;
use sqlx::postgres::{PgPool, PgRow};

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS orders (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        customer TEXT NOT NULL,
        product TEXT NOT NULL,
        price BIGINT NOT NULL,
        declines INT NOT NULL DEFAULT 0, -- how many of its payments were declined for good
        paid_by TEXT                     -- the reference of the payment that paid it
    );
    CREATE TABLE IF NOT EXISTS payments (
        payment_ref TEXT PRIMARY KEY,
        sold TEXT NOT NULL, -- a `Sold` as JSON
        created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
        final_since TIMESTAMPTZ,
        read_at TIMESTAMPTZ DEFAULT now() -- when to read it next; NULL: never again
    );
    CREATE INDEX IF NOT EXISTS payments_to_read ON payments (read_at) WHERE read_at IS NOT NULL;
    CREATE TABLE IF NOT EXISTS refunds_due (
        intent TEXT,
        attempt BIGINT,
        merchant_reference TEXT NOT NULL,
        amount TEXT NOT NULL,
        currency TEXT NOT NULL,
        PRIMARY KEY (intent, attempt)
    );
";

/// Any number, the same on each server.
const SCHEMA_LOCK: i64 = 17;

#[derive(Clone, Debug)]
pub(crate) struct Orders {
    pool: PgPool,
}

#[derive(Debug)]
pub(crate) struct Order {
    pub product: String,
    pub price: u64,
    /// The reference of its current payment: `ORDER-17`, and `ORDER-17.1` after a final decline.
    pub reference: String,
}

/// A payment that this server has claimed.
#[derive(Debug)]
pub(crate) struct Claimed {
    pub sold: Sold,
    /// Whether a day has passed since its final status.
    day_is_over: bool,
}

impl Orders {
    /// Creates the tables that are missing. Servers that start at once wait for each other.
    pub(crate) async fn open(pool: PgPool) -> Result<Self, sqlx::Error> {
        let mut transaction = pool.begin().await?;
        sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(SCHEMA_LOCK).execute(&mut *transaction).await?;
        sqlx::raw_sql(SCHEMA).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(Self { pool })
    }

    /// Stores a new order and returns its id.
    pub(crate) async fn place(&self, customer: &Email, product: &str, price: u32) -> Result<i64, sqlx::Error> {
        sqlx::query_scalar("INSERT INTO orders (customer, product, price) VALUES ($1, $2, $3) RETURNING id")
            .bind(customer.as_str())
            .bind(product)
            .bind(i64::from(price))
            .fetch_one(&self.pool)
            .await
    }

    /// An order of this customer.
    pub(crate) async fn find(&self, id: i64, customer: &Email) -> Result<Option<Order>, sqlx::Error> {
        let row = sqlx::query("SELECT product, price, declines FROM orders WHERE id = $1 AND customer = $2")
            .bind(id)
            .bind(customer.as_str())
            .fetch_optional(&self.pool)
            .await?;
        let order = |row: PgRow| {
            let (price, declines): (i64, i32) = (row.try_get("price")?, row.try_get("declines")?);
            let reference = if declines == 0 { format!("ORDER-{id}") } else { format!("ORDER-{id}.{declines}") };
            Ok(Order { product: row.try_get("product")?, price: price.unsigned_abs(), reference })
        };
        row.map(order).transpose()
    }

    /// Stores a payment, which is then read until nothing more can happen to it.
    pub(crate) async fn remember(&self, sold: &Sold) -> Result<(), sqlx::Error> {
        let text = serde_json::to_string(sold).map_err(|error| sqlx::Error::Encode(error.into()))?;
        sqlx::query("INSERT INTO payments (payment_ref, sold) VALUES ($1, $2) ON CONFLICT DO NOTHING")
            .bind(sold.payment_ref.as_str())
            .bind(text)
            .execute(&self.pool)
            .await
            .map(|_| ())
    }

    /// What was sold by this payment.
    pub(crate) async fn sold(&self, payment_ref: &PaymentRef) -> Result<Option<Sold>, sqlx::Error> {
        let row = sqlx::query("SELECT sold FROM payments WHERE payment_ref = $1").bind(payment_ref.as_str());
        row.fetch_optional(&self.pool).await?.as_ref().map(read_sold).transpose()
    }

    /// Marks the order paid, unless it is. Another job ships the orders with a `paid_by` that it has not shipped: if a server
    /// shipped an order here, and were killed just before, the order would stay in the shop.
    pub(crate) async fn mark_paid(&self, sold: &Sold) -> Result<(), sqlx::Error> {
        let Some((id, _)) = parse(&sold.merchant_reference) else { return Ok(()) };
        let paid = sqlx::query("UPDATE orders SET paid_by = $1 WHERE id = $2 AND paid_by IS NULL")
            .bind(sold.merchant_reference.as_str())
            .bind(id)
            .execute(&self.pool)
            .await?;
        if paid.rows_affected() == 1 {
            return Ok(());
        }
        // If another payment has paid it, the customer has paid twice. Attempt 0 stands for this whole payment.
        sqlx::query(
            "INSERT INTO refunds_due (intent, attempt, merchant_reference, amount, currency) \
             SELECT $1, 0, $2, $3, $4 FROM orders WHERE id = $5 AND paid_by <> $2 ON CONFLICT DO NOTHING",
        )
        .bind(sold.intent.as_str())
        .bind(sold.merchant_reference.as_str())
        .bind(sold.amount.to_string())
        .bind(sold.currency.as_str())
        .bind(id)
        .execute(&self.pool)
        .await
        .map(|_| ())
    }

    /// Counts a final decline, once: the next payment of the order gets the next reference.
    pub(crate) async fn count_decline(&self, sold: &Sold) -> Result<(), sqlx::Error> {
        let Some((id, number)) = parse(&sold.merchant_reference) else { return Ok(()) };
        sqlx::query("UPDATE orders SET declines = declines + 1 WHERE id = $1 AND declines = $2 AND paid_by IS NULL")
            .bind(id)
            .bind(number)
            .execute(&self.pool)
            .await
            .map(|_| ())
    }

    /// Stores a duplicate payment, once: a person refunds it with the payment company.
    pub(crate) async fn refund_due(&self, sold: &Sold, duplicate: &DuplicatePayment) -> Result<(), sqlx::Error> {
        sqlx::query(
            "INSERT INTO refunds_due (intent, attempt, merchant_reference, amount, currency) \
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
        )
        .bind(sold.intent.as_str())
        .bind(i64::from(duplicate.attempt))
        .bind(sold.merchant_reference.as_str())
        // Without an amount, the service did not say it: its own pages do.
        .bind(duplicate.amount.map_or_else(String::new, |amount| amount.to_string()))
        .bind(&duplicate.currency)
        .execute(&self.pool)
        .await
        .map(|_| ())
    }

    /// Claims the payment whose reading is due the longest. No other server gets it for a minute. If this server is killed, or
    /// cannot read it, it is due again then.
    pub(crate) async fn claim(&self) -> Result<Option<Claimed>, sqlx::Error> {
        let row = sqlx::query(
            "UPDATE payments SET read_at = now() + INTERVAL '1 minute' \
             WHERE payment_ref = ( \
                 SELECT payment_ref FROM payments WHERE read_at <= now() ORDER BY read_at \
                 LIMIT 1 FOR UPDATE SKIP LOCKED \
             ) \
             RETURNING sold, COALESCE(final_since <= now() - INTERVAL '1 day', FALSE) AS day_is_over",
        )
        .fetch_optional(&self.pool)
        .await?;
        let claimed = |row: PgRow| Ok(Claimed { sold: read_sold(&row)?, day_is_over: row.try_get("day_is_over")? });
        row.map(claimed).transpose()
    }

    /// Stores when to read a claimed payment again: every few seconds until it is final, and then every minute for a day.
    pub(crate) async fn release(&self, claimed: &Claimed, ask_again: AskAgain) -> Result<(), sqlx::Error> {
        let update = match ask_again {
            AskAgain::Never => "UPDATE payments SET read_at = NULL WHERE payment_ref = $1",
            AskAgain::ForADay if claimed.day_is_over => "UPDATE payments SET read_at = NULL WHERE payment_ref = $1",
            AskAgain::ForADay => {
                "UPDATE payments SET final_since = COALESCE(final_since, now()), read_at = now() + INTERVAL '1 minute' \
                 WHERE payment_ref = $1"
            }
            _ => {
                "UPDATE payments SET read_at = now() + \
                 CASE WHEN created_at > now() - INTERVAL '30 minutes' THEN INTERVAL '5 s' ELSE INTERVAL '30 s' END \
                 WHERE payment_ref = $1"
            }
        };
        sqlx::query(update).bind(claimed.sold.payment_ref.as_str()).execute(&self.pool).await.map(|_| ())
    }
}

fn read_sold(row: &PgRow) -> Result<Sold, sqlx::Error> {
    serde_json::from_str(row.try_get("sold")?).map_err(|error| sqlx::Error::Decode(error.into()))
}

/// The order of a reference and the number of its payment: (17, 0) of `ORDER-17`, (17, 2) of `ORDER-17.2`.
fn parse(reference: &MerchantReference) -> Option<(i64, i32)> {
    let name = reference.as_str().strip_prefix("ORDER-")?;
    let (id, number) = name.split_once('.').unwrap_or((name, "0"));
    Some((id.parse().ok()?, number.parse().ok()?))
}
