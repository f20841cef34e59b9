//! All SQL of the shop. SQLite and PostgreSQL differ in `ON_POSTGRES` and the lock of `claim`. Every time is the database's, in Unix seconds,
//! because the clocks of two servers differ. What must happen once, such as marking an order paid, is one conditional statement,
//! because two servers may read a payment at once.

use crate::orders::{Line, Order, parse_reference};
use crate::seller::order_missing;
use crate::settler::Claimed;
use guichet::native::{Owner, Reason, Refused, Sold};
use guichet::operations::DuplicatePayment;
use guichet::values::{Amount, IntentStatus, MerchantReference, PaymentRef};
use sqlx::any::{Any, AnyArguments, AnyRow};
use sqlx::query::{Query, QueryAs};
use sqlx::{AnyPool, FromRow, query, query_as, raw_sql};

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS orders (
        id TEXT PRIMARY KEY,
        customer TEXT NOT NULL,
        lines TEXT NOT NULL, -- as JSON: names, and the prices of its current payment; of the one that paid it, once it is paid
        return_url TEXT NOT NULL,
        status TEXT NOT NULL DEFAULT 'unpaid',
        attempt BIGINT NOT NULL DEFAULT 0, -- as `lines`
        payment_ref TEXT, -- as `lines`
        approvable_until BIGINT -- until when an operator may approve an attempt of a payment that has ended; the latest
    );
    -- Equal baskets of a customer are one order until it is paid. After a decline its prices may become those of another order.
    CREATE UNIQUE INDEX IF NOT EXISTS one_open_order ON orders (customer, lines, return_url)
        WHERE status <> 'paid' AND attempt = 0;
    CREATE TABLE IF NOT EXISTS payments (
        payment_ref TEXT PRIMARY KEY,
        merchant_reference TEXT NOT NULL,
        owner TEXT NOT NULL,
        sold TEXT NOT NULL, -- a `Sold` as JSON
        lines TEXT, -- of its order, when it was created
        created_at DOUBLE PRECISION NOT NULL DEFAULT (unixepoch('subsec')),
        returned_at DOUBLE PRECISION, -- when its customer last asked for the status
        final_since DOUBLE PRECISION,
        read_at DOUBLE PRECISION DEFAULT (unixepoch('subsec')) -- when to read it next; NULL: never again
    );
    CREATE INDEX IF NOT EXISTS payments_of_owner ON payments (owner);
    CREATE INDEX IF NOT EXISTS payments_to_read ON payments (read_at) WHERE read_at IS NOT NULL;
    -- What was paid twice, or after the payment was final. Attempt 0 stands for a whole payment.
    CREATE TABLE IF NOT EXISTS refunds_due (
        intent TEXT, attempt BIGINT, order_id TEXT, amount TEXT NOT NULL, currency TEXT NOT NULL, approved_at TEXT,
        PRIMARY KEY (intent, attempt)
    );
    CREATE TABLE IF NOT EXISTS logins (token_hash TEXT PRIMARY KEY, customer TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, secret TEXT NOT NULL);";

/// PostgreSQL gets SQLite's function of the time. Servers that start at once create the tables one after the other: 17 is
/// this lock's name in the database.
const ON_POSTGRES: &str = "
    SELECT pg_advisory_xact_lock(17);
    CREATE OR REPLACE FUNCTION unixepoch(text) RETURNS DOUBLE PRECISION LANGUAGE sql STABLE
        AS 'SELECT extract(epoch FROM now())::DOUBLE PRECISION';";

/// Each owner's first payment comes before any owner's second; those that a customer has returned to, and then the youngest.
macro_rules! claim {
    ($lock:literal) => {
        concat!(
            "WITH due AS (
                SELECT payment_ref, ROW_NUMBER() OVER (PARTITION BY owner ORDER BY returned_at IS NULL, created_at DESC) AS turn
                FROM payments WHERE read_at <= unixepoch('subsec')
            ), claimed AS (
                SELECT payment_ref FROM payments JOIN due USING (payment_ref) WHERE read_at <= unixepoch('subsec')
                ORDER BY turn, returned_at IS NULL, created_at DESC LIMIT 8 ",
            $lock,
            ")
            UPDATE payments SET read_at = unixepoch('subsec') + 60
            WHERE payment_ref IN (SELECT payment_ref FROM claimed) AND read_at <= unixepoch('subsec')
            RETURNING sold, unixepoch('subsec') - created_at AS age, unixepoch('subsec') - final_since AS final_for"
        )
    };
}

type Select<'q, T> = QueryAs<'q, Any, T, AnyArguments>;

#[derive(Clone, Debug)]
pub(crate) struct Database {
    pub pool: AnyPool,
    is_postgres: bool,
}

impl Database {
    /// Creates the tables that are missing.
    pub(crate) async fn new(pool: AnyPool, is_postgres: bool) -> Result<Self, sqlx::Error> {
        let mut transaction = pool.begin().await?;
        if is_postgres {
            raw_sql(ON_POSTGRES).execute(&mut *transaction).await?;
        }
        raw_sql(SCHEMA).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(Self { pool, is_postgres })
    }

    /// The secret from which return nonces are derived. It is not the secret key, so that an open order stays the same when that is
    /// replaced.
    pub(crate) async fn return_secret(&self) -> Result<String, Refused> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(Refused::broken)?;
        let insert = "INSERT INTO secrets VALUES ('return', $1) ON CONFLICT DO NOTHING";
        self.execute(query(insert).bind(hex::encode(bytes))).await?;
        let secret = self.row::<(String,)>(query_as("SELECT secret FROM secrets WHERE name = 'return'")).await?;
        secret.map(|(secret,)| secret).ok_or_else(|| Refused::broken("the database has no return secret"))
    }

    pub(crate) async fn begin_login(&self, token_hash: &str, customer: &str) -> Result<(), Refused> {
        self.execute(query("INSERT INTO logins VALUES ($1, $2)").bind(token_hash).bind(customer)).await.map(drop)
    }

    pub(crate) async fn customer_of(&self, token_hash: &str) -> Result<Option<String>, Refused> {
        let sql = "SELECT customer FROM logins WHERE token_hash = $1";
        Ok(self.row::<(String,)>(query_as(sql).bind(token_hash)).await?.map(|(customer,)| customer))
    }

    pub(crate) async fn end_login(&self, token_hash: &str) -> Result<(), Refused> {
        self.execute(query("DELETE FROM logins WHERE token_hash = $1").bind(token_hash)).await.map(drop)
    }

    /// Places an order, or returns an equal one that is not paid yet.
    pub(crate) async fn place(&self, customer: &str, lines: &[Line], return_url: &str) -> Result<Order, Refused> {
        let text = serde_json::to_string(lines).map_err(Refused::broken)?;
        for _ in 0..100 {
            let sql = "SELECT * FROM orders WHERE customer = $1 AND return_url = $2 AND status <> 'paid'";
            let unpaid: Vec<Order> = self.rows(query_as(sql).bind(customer).bind(return_url)).await?;
            if let Some(order) = unpaid.into_iter().find(|order| order.is_of(lines)) {
                return Ok(order);
            }
            // If this number is taken, nothing is inserted. 100 draws are enough even if 95 % are.
            let id = (100_000 + getrandom::u32().map_err(Refused::broken)? % 900_000).to_string();
            let sql =
                "INSERT INTO orders (id, customer, lines, return_url) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
            self.execute(query(sql).bind(id).bind(customer).bind(&text).bind(return_url)).await?;
        }
        Err(Refused::broken("100 random order numbers were tried, and all are taken"))
    }

    pub(crate) async fn order(&self, id: &str, customer: &str) -> Result<Option<Order>, Refused> {
        self.row(query_as("SELECT * FROM orders WHERE id = $1 AND customer = $2").bind(id).bind(customer)).await
    }

    /// An order to be paid. If its last payment failed for good, the next one gets a new reference and today's prices, unless the
    /// shop no longer sells one of the products.
    pub(crate) async fn order_to_pay(&self, id: &str, customer: &str) -> Result<Option<Order>, Refused> {
        let Some(order) = self.order(id, customer).await? else { return Ok(None) };
        let Some(lines) = order.lines_today().filter(|_| order.has_failed()) else { return Ok(Some(order)) };
        let lines = serde_json::to_string(&lines).map_err(Refused::broken)?;
        let sql = "UPDATE orders SET attempt = attempt + 1, status = 'unpaid', lines = $1 \
                   WHERE id = $2 AND attempt = $3 AND status IN ('failed', 'canceled')";
        self.execute(query(sql).bind(lines).bind(id).bind(order.attempt)).await?;
        self.order(id, customer).await
    }

    /// The refunds of an order that are due: amount, currency and time of the payment.
    pub(crate) async fn refunds_due(&self, id: &str) -> Result<Vec<(String, String, Option<String>)>, Refused> {
        let sql = "SELECT amount, currency, approved_at FROM refunds_due WHERE order_id = $1 ORDER BY intent, attempt";
        self.rows(query_as(sql).bind(id)).await
    }

    /// How many payments of this owner have no final status; 0 if the payment `next` is stored. If that is another owner's, it is answered
    /// like an unknown order.
    pub(crate) async fn count_open(&self, owner: &Owner, next: &MerchantReference) -> Result<usize, Refused> {
        let sql = "SELECT owner FROM payments WHERE merchant_reference = $1";
        match self.row::<(String,)>(query_as(sql).bind(next.as_str())).await? {
            Some((stored,)) if stored == owner.to_string() => return Ok(0),
            Some(_) => return Err(order_missing()),
            None => {}
        }
        let sql = "SELECT payment_ref FROM payments WHERE owner = $1 AND final_since IS NULL";
        Ok(self.rows::<(String,)>(query_as(sql).bind(owner.to_string())).await?.len())
    }

    /// Stores a payment, which is then read until nothing more can happen to it.
    pub(crate) async fn remember(&self, sold: &Sold) -> Result<(), Refused> {
        let text = serde_json::to_string(sold).map_err(Refused::broken)?;
        let (payment_ref, reference) = (sold.payment_ref.as_str(), sold.merchant_reference.as_str());
        let (id, attempt) = parse_reference(&sold.merchant_reference).unwrap_or(("", 0));
        let sql = "INSERT INTO payments (payment_ref, merchant_reference, owner, sold, lines) \
                   VALUES ($1, $2, $3, $4, (SELECT lines FROM orders WHERE id = $5 AND attempt = $6)) ON CONFLICT DO NOTHING";
        let insert = query(sql).bind(payment_ref).bind(reference).bind(sold.owner.to_string()).bind(text);
        self.execute(insert.bind(id).bind(attempt)).await?;
        // No page is sent to a payment that would never be read.
        let sql = "SELECT sold FROM payments WHERE merchant_reference = $1";
        let kept: Option<(String,)> = self.row(query_as(sql).bind(reference)).await?;
        let kept: Option<Sold> = kept.and_then(|(kept,)| serde_json::from_str(&kept).ok());
        if kept.is_none_or(|kept| kept.intent != sold.intent) {
            let message = "The payment is not the one of this order. Please ask the shop.";
            return Err(Refused::new(409, Reason { code: "payment_mismatch", message }));
        }
        let sql = "UPDATE orders SET payment_ref = $1 WHERE id = $2 AND attempt = $3 AND status <> 'paid'";
        self.execute(query(sql).bind(payment_ref).bind(id).bind(attempt)).await.map(drop)
    }

    /// What was sold by this payment to this owner, who has returned.
    pub(crate) async fn returned_to(&self, payment_ref: &PaymentRef, owner: &Owner) -> Result<Option<Sold>, Refused> {
        let sql = "UPDATE payments SET returned_at = unixepoch('subsec') WHERE payment_ref = $1 AND owner = $2 RETURNING sold";
        let row: Option<(String,)> = self.row(query_as(sql).bind(payment_ref.as_str()).bind(owner.to_string())).await?;
        row.map(|(sold,)| serde_json::from_str(&sold).map_err(Refused::broken)).transpose()
    }

    /// Claims at most eight payments that are due. No other server gets them for a minute. If this server is killed, or cannot read
    /// one, it is due again then.
    pub(crate) async fn claim(&self) -> Result<Vec<Claimed>, Refused> {
        self.rows(query_as(if self.is_postgres { claim!("FOR UPDATE OF payments SKIP LOCKED") } else { claim!("") }))
            .await
    }

    /// Stores in how many seconds to read a claimed payment again; `None`: never.
    pub(crate) async fn release(&self, payment_ref: &PaymentRef, pause: Option<f64>) -> Result<(), Refused> {
        let later = "UPDATE payments SET read_at = unixepoch('subsec') + $2 WHERE payment_ref = $1";
        let never = "UPDATE payments SET read_at = NULL WHERE payment_ref = $1";
        let release = match pause {
            Some(pause) => query(later).bind(payment_ref.as_str()).bind(pause),
            None => query(never).bind(payment_ref.as_str()),
        };
        self.execute(release).await.map(drop)
    }

    /// Stores until when a payment of an order may be approved late. The order's next payment does not say it.
    pub(crate) async fn store_approvable_until(&self, sold: &Sold, until: i64) -> Result<(), Refused> {
        let Some((id, _)) = parse_reference(&sold.merchant_reference) else { return Ok(()) };
        let sql = "UPDATE orders SET approvable_until = $1 \
                   WHERE id = $2 AND (approvable_until IS NULL OR approvable_until < $1)";
        self.execute(query(sql).bind(until).bind(id)).await.map(drop)
    }

    /// Stores the final status of a payment: in its order, and then in the payment, which is no longer open. `amount_payable` is with the
    /// fee.
    pub(crate) async fn settle(
        &self,
        sold: &Sold,
        status: &IntentStatus,
        amount_payable: Option<Amount>,
    ) -> Result<(), Refused> {
        let sql = "UPDATE orders SET status = $1 WHERE id = $2 AND attempt = $3 AND status <> 'paid'";
        match (status, parse_reference(&sold.merchant_reference)) {
            (IntentStatus::Succeeded, Some(of)) => {
                self.mark_paid(sold, of, amount_payable.unwrap_or(sold.amount)).await?
            }
            (IntentStatus::Failed | IntentStatus::Canceled, Some((id, attempt))) => {
                self.execute(query(sql).bind(status.as_str()).bind(id).bind(attempt)).await.map(drop)?;
            }
            _ => {}
        }
        self.mark_final(sold).await
    }

    /// Marks an order paid. If another payment has paid it already, it stores a refund: the customer has paid twice. A paid order repeats
    /// the payment that paid it, which may be an earlier one that was shown as failed.
    ///
    /// Another job ships the orders that are paid and not shipped: if a server shipped it here, and were killed just before, the order
    /// would stay in the shop.
    async fn mark_paid(&self, sold: &Sold, (id, attempt): (&str, i64), paid: Amount) -> Result<(), Refused> {
        let sql = "UPDATE orders SET status = 'paid', payment_ref = $1, attempt = $2, \
                   lines = coalesce((SELECT lines FROM payments WHERE payment_ref = $1), lines) \
                   WHERE id = $3 AND status <> 'paid'";
        if self.execute(query(sql).bind(sold.payment_ref.as_str()).bind(attempt).bind(id)).await? == 1 {
            return Ok(());
        }
        let sql = "INSERT INTO refunds_due (intent, attempt, order_id, amount, currency) \
                   SELECT $1, 0, id, $2, $3 FROM orders WHERE id = $4 AND payment_ref <> $5 ON CONFLICT DO NOTHING";
        let refund = query(sql).bind(sold.intent.as_str()).bind(paid.to_string()).bind(sold.currency.as_str());
        self.execute(refund.bind(id).bind(sold.payment_ref.as_str())).await.map(drop)
    }

    pub(crate) async fn mark_final(&self, sold: &Sold) -> Result<(), Refused> {
        let sql = "UPDATE payments SET final_since = unixepoch('subsec') \
                   WHERE payment_ref = $1 AND final_since IS NULL";
        self.execute(query(sql).bind(sold.payment_ref.as_str())).await.map(drop)
    }

    /// Stores a duplicate payment. Returns whether it is new.
    pub(crate) async fn overpaid(&self, sold: &Sold, duplicate: &DuplicatePayment) -> Result<bool, Refused> {
        let sql = "INSERT INTO refunds_due (intent, attempt, order_id, amount, currency, approved_at) \
                   VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
        // Empty if the service did not report an amount; its own tools show it.
        let amount = duplicate.amount.map_or_else(String::new, |amount| amount.to_string());
        let order_id = parse_reference(&sold.merchant_reference).map(|(id, _)| id);
        let stored = query(sql).bind(sold.intent.as_str()).bind(i64::from(duplicate.attempt)).bind(order_id);
        let stored = stored.bind(amount).bind(&duplicate.currency).bind(duplicate.approved_at.map(|at| at.to_string()));
        Ok(self.execute(stored).await? == 1)
    }

    async fn execute(&self, statement: Query<'_, Any, AnyArguments>) -> Result<u64, Refused> {
        statement.execute(&self.pool).await.map(|done| done.rows_affected()).map_err(Refused::broken)
    }

    async fn row<T: for<'r> FromRow<'r, AnyRow> + Send + Unpin>(
        &self,
        select: Select<'_, T>,
    ) -> Result<Option<T>, Refused> {
        select.fetch_optional(&self.pool).await.map_err(Refused::broken)
    }

    async fn rows<T: for<'r> FromRow<'r, AnyRow> + Send + Unpin>(
        &self,
        select: Select<'_, T>,
    ) -> Result<Vec<T>, Refused> {
        select.fetch_all(&self.pool).await.map_err(Refused::broken)
    }
}
