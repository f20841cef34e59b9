//! The shop's products, orders and payments, and the refunds that are due, in PostgreSQL: all of the shop's SQL. Any number of
//! servers may use one database.
//!
//! - An order becomes paid by one conditional statement, so it is paid once, however many servers read its payment.
//! - A server claims payments before it reads them, so that two servers do not read the same ones.
//! - Every time is the database's, because the clocks of two servers differ.

use guichet::native::{AskAgain, Owner, Sold};
use guichet::operations::DuplicatePayment;
use guichet::values::{MerchantReference, PaymentRef};
use sqlx::Row;
use sqlx::postgres::{PgPool, PgRow};

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS products (
        name TEXT PRIMARY KEY,
        price BIGINT NOT NULL -- today's
    );
    INSERT INTO products VALUES ('A pair of shoes', 45000) ON CONFLICT DO NOTHING;
    CREATE TABLE IF NOT EXISTS orders (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        owner TEXT NOT NULL,
        product TEXT NOT NULL,
        price BIGINT,                    -- of its current payment; NULL: of the day on which that begins
        declines INT NOT NULL DEFAULT 0, -- how many of its payments were declined for good
        paid_by TEXT                     -- the reference of the payment that paid it
    );
    CREATE TABLE IF NOT EXISTS payments (
        payment_ref TEXT PRIMARY KEY,
        merchant_reference TEXT NOT NULL,
        owner TEXT NOT NULL,
        sold TEXT NOT NULL, -- a `Sold` as JSON
        created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
        returned_at TIMESTAMPTZ, -- when its customer last asked for the status
        final_since TIMESTAMPTZ,
        read_at TIMESTAMPTZ DEFAULT now() -- when to read it next; NULL: never again
    );
    CREATE INDEX IF NOT EXISTS payments_of_owner ON payments (owner);
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
    /// The price of its current payment; `None` if the shop no longer sells the product.
    pub price: Option<u64>,
    /// The reference of its current payment: `ORDER-17`, and `ORDER-17.1` after a final decline.
    pub reference: String,
}

/// A payment that this server has claimed.
#[derive(Debug)]
pub(crate) struct Claimed {
    pub sold: Sold,
    /// Whether half an hour has passed since it was created.
    is_old: bool,
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

    /// Stores a new order at today's price, and returns its id; `None` if the shop does not sell the product.
    pub(crate) async fn place(&self, owner: &Owner, product: &str) -> Result<Option<i64>, sqlx::Error> {
        let placed = "INSERT INTO orders (owner, product, price) SELECT $1, name, price FROM products WHERE name = $2 \
                      RETURNING id";
        sqlx::query_scalar(placed).bind(owner.to_string()).bind(product).fetch_optional(&self.pool).await
    }

    /// An order of this owner. The price of its current payment stays, whatever the product costs later. A payment after a
    /// decline takes the price of the day.
    pub(crate) async fn to_pay(&self, id: i64, owner: &Owner) -> Result<Option<Order>, sqlx::Error> {
        let row = sqlx::query(
            "UPDATE orders SET price = COALESCE(price, (SELECT price FROM products WHERE name = product)) \
             WHERE id = $1 AND owner = $2 RETURNING product, price, declines",
        )
        .bind(id)
        .bind(owner.to_string())
        .fetch_optional(&self.pool)
        .await?;
        let order = |row: PgRow| {
            let (price, declines): (Option<i64>, i32) = (row.try_get("price")?, row.try_get("declines")?);
            let reference = if declines == 0 { format!("ORDER-{id}") } else { format!("ORDER-{id}.{declines}") };
            Ok(Order { product: row.try_get("product")?, price: price.map(i64::unsigned_abs), reference })
        };
        row.map(order).transpose()
    }

    /// How many payments of this owner have no final status; 0 if the payment `next` is stored.
    pub(crate) async fn count_open(&self, owner: &Owner, next: &MerchantReference) -> Result<usize, sqlx::Error> {
        let open: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM payments WHERE owner = $1 AND final_since IS NULL \
             AND NOT EXISTS (SELECT 1 FROM payments WHERE owner = $1 AND merchant_reference = $2)",
        )
        .bind(owner.to_string())
        .bind(next.as_str())
        .fetch_one(&self.pool)
        .await?;
        usize::try_from(open).map_err(|error| sqlx::Error::Decode(error.into()))
    }

    /// Stores a payment, which is then read until nothing more can happen to it.
    pub(crate) async fn remember(&self, sold: &Sold) -> Result<(), sqlx::Error> {
        let text = serde_json::to_string(sold).map_err(|error| sqlx::Error::Encode(error.into()))?;
        sqlx::query(
            "INSERT INTO payments (payment_ref, merchant_reference, owner, sold) VALUES ($1, $2, $3, $4) \
             ON CONFLICT DO NOTHING",
        )
        .bind(sold.payment_ref.as_str())
        .bind(sold.merchant_reference.as_str())
        .bind(sold.owner.to_string())
        .bind(text)
        .execute(&self.pool)
        .await
        .map(|_| ())
    }

    /// What was sold by this payment to this owner, who has returned.
    pub(crate) async fn returned_to(
        &self,
        payment_ref: &PaymentRef,
        owner: &Owner,
    ) -> Result<Option<Sold>, sqlx::Error> {
        sqlx::query("UPDATE payments SET returned_at = now() WHERE payment_ref = $1 AND owner = $2 RETURNING sold")
            .bind(payment_ref.as_str())
            .bind(owner.to_string())
            .fetch_optional(&self.pool)
            .await?
            .as_ref()
            .map(read_sold)
            .transpose()
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

    /// Counts a final decline, once: the next payment of the order gets the next reference and the price of its day.
    pub(crate) async fn count_decline(&self, sold: &Sold) -> Result<(), sqlx::Error> {
        let Some((id, number)) = parse(&sold.merchant_reference) else { return Ok(()) };
        sqlx::query(
            "UPDATE orders SET declines = declines + 1, price = NULL \
             WHERE id = $1 AND declines = $2 AND paid_by IS NULL",
        )
        .bind(id)
        .bind(number)
        .execute(&self.pool)
        .await
        .map(|_| ())
    }

    /// Stores that a payment is final, after its order was changed: it is no longer open.
    pub(crate) async fn mark_final(&self, sold: &Sold) -> Result<(), sqlx::Error> {
        sqlx::query("UPDATE payments SET final_since = now() WHERE payment_ref = $1 AND final_since IS NULL")
            .bind(sold.payment_ref.as_str())
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

    /// Claims at most eight payments that are due: each owner's first one before any owner's second, those that a customer has
    /// returned to before others, and then the youngest. No other server gets them for a minute. If this server is killed, or
    /// cannot read one, it is due again then.
    pub(crate) async fn claim(&self) -> Result<Vec<Claimed>, sqlx::Error> {
        let rows = sqlx::query(
            "WITH due AS ( \
                 SELECT payment_ref, ROW_NUMBER() OVER (PARTITION BY owner ORDER BY returned_at IS NULL, created_at DESC) AS turn \
                 FROM payments WHERE read_at <= now() \
             ), claimed AS ( \
                 SELECT payment_ref FROM payments JOIN due USING (payment_ref) WHERE read_at <= now() \
                 ORDER BY turn, returned_at IS NULL, created_at DESC LIMIT 8 FOR UPDATE OF payments SKIP LOCKED \
             ) \
             UPDATE payments SET read_at = now() + INTERVAL '1 minute' FROM claimed \
             WHERE payments.payment_ref = claimed.payment_ref AND read_at <= now() \
             RETURNING sold, created_at <= now() - INTERVAL '30 minutes' AS is_old, \
                 COALESCE(final_since <= now() - INTERVAL '1 day', FALSE) AS day_is_over",
        )
        .fetch_all(&self.pool)
        .await?;
        let claimed = |row: &PgRow| {
            let (is_old, day_is_over) = (row.try_get("is_old")?, row.try_get("day_is_over")?);
            Ok(Claimed { sold: read_sold(row)?, is_old, day_is_over })
        };
        rows.iter().map(claimed).collect()
    }

    /// Stores when to read a claimed payment again: every few seconds until it is final, and then every minute for a day.
    pub(crate) async fn release(&self, claimed: &Claimed, ask_again: AskAgain) -> Result<(), sqlx::Error> {
        let pause = match ask_again {
            AskAgain::ForADay if !claimed.day_is_over => Some("1 minute"),
            AskAgain::ForADay | AskAgain::Never => None,
            _ if claimed.is_old => Some("30 s"),
            _ => Some("5 s"),
        };
        sqlx::query("UPDATE payments SET read_at = now() + $1::interval WHERE payment_ref = $2")
            .bind(pause)
            .bind(claimed.sold.payment_ref.as_str())
            .execute(&self.pool)
            .await
            .map(|_| ())
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
