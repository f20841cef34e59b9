//! Lists: newest first, in pages.

use super::Sqlite;
use crate::sandbox::store::{After, List, Place, Unavailable};
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteRow;

impl Sqlite {
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
        let seq = sqlx::query_scalar(text).bind(merchant).bind(id).fetch_optional(&self.readers).await?;
        Ok(seq.map(Place))
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

/// The rows of one page of such a query.
pub(super) async fn rows_after(
    readers: &SqlitePool,
    text: &'static str,
    merchant: &str,
    after: After,
    limit: i64,
) -> Result<Vec<SqliteRow>, Unavailable> {
    let Place(seq) = after.unwrap_or(Place(i64::MAX));
    Ok(sqlx::query(text).bind(merchant).bind(seq).bind(limit).fetch_all(readers).await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::store::Store;
    use sqlx::{AssertSqlSafe, Row};

    #[tokio::test]
    async fn a_cursor_survives_deletions_a_vacuum_and_a_rewritten_table() {
        let store = Store::on_sqlite().await;
        let inserts = [
            (
                List::Customers,
                "customers",
                "(id, merchant, contact, firstname, lastname, email, phone, created_at) VALUES ($1, 'm', $1, '', '', '', '', 1)",
            ),
            (
                List::Intents,
                "intents",
                "(id, merchant, merchant_reference, payment_ref, digest, body, state, created_at, expires_at, version) VALUES ($1, 'm', $1, '', '', '', '', 1, 1, 1)",
            ),
            (List::Plans, "plans", "(id, merchant, code, offer, active, created_at) VALUES ($1, 'm', $1, '', TRUE, 1)"),
            (
                List::Subscriptions,
                "subscriptions",
                "(id, merchant, contact, terms, state, created_at, version) VALUES ($1, 'm', '', '', '', 1, 1)",
            ),
        ];
        for (list, table, values) in inserts {
            for number in 1..=6 {
                let insert = AssertSqlSafe(format!("INSERT INTO {table} {values}"));
                sqlx::query(insert).bind(number.to_string()).execute(store.pool()).await.unwrap();
            }
            let before = store.place(list, "m", "5").await.unwrap();
            let delete = AssertSqlSafe(format!("DELETE FROM {table} WHERE id IN ('1', '3')"));
            sqlx::query(delete).execute(store.pool()).await.unwrap();
            sqlx::raw_sql("VACUUM").execute(store.pool()).await.unwrap();
            // Like a dump and restore: columns are kept, but SQLite's own row ids are not.
            let rewrite = format!(
                "CREATE TABLE copy AS SELECT * FROM {table}; DELETE FROM {table}; INSERT INTO {table} SELECT * FROM copy; DROP TABLE copy"
            );
            sqlx::raw_sql(AssertSqlSafe(rewrite)).execute(store.pool()).await.unwrap();
            assert!(before.is_some());
            assert_eq!(store.place(list, "m", "5").await.unwrap(), before, "{table}");
            let text = AssertSqlSafe(newest_first!("id FROM table WHERE merchant = $1").replace("table", table));
            let page = sqlx::query_scalar::<_, String>(text).bind("m").bind(before.unwrap().0).bind(9);
            assert_eq!(page.fetch_all(store.pool()).await.unwrap(), ["4", "2"], "{table}");
        }
    }

    #[tokio::test]
    async fn a_page_is_read_from_its_index_in_the_lists_order() {
        let store = Store::on_sqlite().await;
        for table in ["customers", "intents", "plans", "subscriptions", "esim_orders"] {
            let text = newest_first!("* FROM table WHERE merchant = $1").replace("table", table);
            let text = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {text}"));
            let rows = sqlx::query(text).bind("m").bind(1).bind(1).fetch_all(store.pool()).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
            let searched = format!("SEARCH {table} USING INDEX {table}_of_merchant (merchant=? AND seq<?)");
            assert_eq!(plan, [searched], "no sorting");
        }
    }
}
