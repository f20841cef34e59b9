//! All SQL of the shop's own tables, the same for SQLite and PostgreSQL. The ledger's tables, in the same database, are
//! not touched here.

use crate::orders::{Line, Order};
use guichet::native::Refused;
use guichet::native::ledger::{Changed, OrderState};
use sqlx::any::{Any, AnyArguments, AnyRow};
use sqlx::query::{Query, QueryAs};
use sqlx::{AnyPool, FromRow, query, query_as, raw_sql};

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS orders (
        id TEXT PRIMARY KEY,
        customer TEXT NOT NULL,
        lines TEXT NOT NULL, -- as JSON
        return_url TEXT NOT NULL,
        status TEXT NOT NULL DEFAULT 'unpaid', -- the next three are of the ledger's last event
        refunds_due TEXT NOT NULL DEFAULT '[]', -- as JSON
        version BIGINT NOT NULL DEFAULT 0
    );
    -- Equal baskets of a customer are one order until it is paid.
    CREATE UNIQUE INDEX IF NOT EXISTS one_open_order ON orders (customer, lines, return_url) WHERE status = 'unpaid';
    CREATE TABLE IF NOT EXISTS logins (token_hash TEXT PRIMARY KEY, customer TEXT NOT NULL);";

/// Servers that start at once create the tables one after the other: 17 is this lock's name in the database.
const ON_POSTGRES: &str = "SELECT pg_advisory_xact_lock(17)";

type Select<'q, T> = QueryAs<'q, Any, T, AnyArguments>;

#[derive(Clone, Debug)]
pub(crate) struct Database {
    pub pool: AnyPool,
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
        let database = Self { pool };
        // A database of an earlier version lacks a column.
        query("SELECT version, refunds_due FROM orders WHERE id = ''").fetch_optional(&database.pool).await?;
        Ok(database)
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
            let sql = "SELECT * FROM orders WHERE customer = $1 AND return_url = $2 AND status = 'unpaid'";
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

    /// Stores what the ledger says of an order, once: an event comes at least once, and not always in order. Returns
    /// whether it is new.
    ///
    /// Another job ships the orders that are paid and not shipped: if a server shipped it here, and were killed just
    /// before, the order would stay in the shop.
    pub(crate) async fn store(&self, id: &str, changed: &Changed) -> Result<bool, Refused> {
        let status = match changed.state {
            OrderState::Unpaid => "unpaid",
            OrderState::Paid => "paid",
            // No goods leave.
            OrderState::PaidOtherSum => "paid_other_sum",
            OrderState::PaidAfterEnd => "paid_after_end",
        };
        let refunds = serde_json::to_string(&changed.refunds_due).map_err(Refused::broken)?;
        let sql = "UPDATE orders SET status = $2, refunds_due = $3, version = $4 WHERE id = $1 AND version < $4";
        let update = query(sql).bind(id).bind(status).bind(refunds).bind(changed.version);
        Ok(self.execute(update).await? == 1)
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
