//! Lists: newest first, in pages.

use super::Postgres;
use crate::sandbox::store::{After, List, Place, Unavailable};
use sqlx::Row;
use sqlx::postgres::PgRow;

impl Postgres {
    /// The position of an entry. `None` if the merchant has no such entry.
    pub(in crate::sandbox::store) async fn place(
        &self,
        list: List,
        merchant: &str,
        id: &str,
    ) -> Result<Option<Place>, Unavailable> {
        let text = match list {
            List::Customers => "SELECT seq FROM customers WHERE merchant = $1 AND id = $2",
            List::Intents => "SELECT seq FROM intents WHERE merchant = $1 AND id = $2",
            List::Plans => "SELECT seq FROM plans WHERE merchant = $1 AND id = $2",
            List::Subscriptions => "SELECT seq FROM subscriptions WHERE merchant = $1 AND id = $2",
        };
        let row = self.optional(sqlx::query(text).bind(merchant).bind(id)).await?;
        Ok(row.map(|row| row.try_get(0).map(Place)).transpose()?)
    }

    /// The rows of one page of a query by [`newest_first`].
    pub(super) async fn rows_after(
        &self,
        text: &'static str,
        merchant: &str,
        after: After,
        limit: i64,
    ) -> Result<Vec<PgRow>, Unavailable> {
        let Place(seq) = after.unwrap_or(Place(i64::MAX));
        self.all(sqlx::query(text).bind(merchant).bind(seq).bind(limit)).await
    }
}

/// The SQL of a list: its columns, table and condition; `$1` is the merchant. Keyset pagination, so that new entries are neither skipped
/// nor repeated.
macro_rules! newest_first {
    ($($what:tt)+) => {
        concat!("SELECT ", $($what)+, " AND seq < $2 ORDER BY seq DESC LIMIT $3")
    };
}
pub(super) use newest_first;
