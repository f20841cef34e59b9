//! Lists: the newest first, a page at a time.

use super::Unavailable;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqlitePool};

/// What a merchant has a list of that goes on from page to page.
#[derive(Clone, Copy, Debug)]
pub(in crate::sandbox) enum List {
    Customers,
    Intents,
    Plans,
    Subscriptions,
}

/// The place in a list that a page begins after: when the entry there was made, and its row's number, which grows with each
/// that is made. `None` is the list's begin.
pub(in crate::sandbox) type After = Option<Place>;

/// The place of an entry in its list.
#[derive(Clone, Copy, Debug)]
pub(in crate::sandbox) struct Place {
    created_at: i64,
    number: i64,
}

/// The place of an entry; none where the merchant has no such entry.
pub(super) async fn place(
    readers: &SqlitePool,
    list: List,
    merchant: &str,
    id: &str,
) -> Result<Option<Place>, Unavailable> {
    let text = match list {
        List::Customers => "SELECT created_at, rowid FROM customers WHERE merchant = $1 AND id = $2",
        List::Intents => "SELECT created_at, rowid FROM intents WHERE merchant = $1 AND id = $2",
        List::Plans => "SELECT created_at, rowid FROM plans WHERE merchant = $1 AND id = $2",
        List::Subscriptions => "SELECT created_at, rowid FROM subscriptions WHERE merchant = $1 AND id = $2",
    };
    let Some(row) = sqlx::query(text).bind(merchant).bind(id).fetch_optional(readers).await? else { return Ok(None) };
    Ok(Some(Place { created_at: row.try_get(0)?, number: row.try_get(1)? }))
}

/// The text of a list: its columns, table and condition, whose `$1` is the merchant. A keyset, so that what is made
/// meanwhile neither skips nor repeats an entry.
macro_rules! newest_first {
    ($($what:tt)+) => {
        concat!("SELECT ", $($what)+, " AND (created_at, rowid) < ($2, $3) ORDER BY created_at DESC, rowid DESC LIMIT $4")
    };
}
pub(super) use newest_first;

/// The rows of one page of such a text.
pub(super) async fn rows_after(
    readers: &SqlitePool,
    text: &'static str,
    merchant: &str,
    after: After,
    limit: i64,
) -> Result<Vec<SqliteRow>, Unavailable> {
    let Place { created_at, number } = after.unwrap_or(Place { created_at: i64::MAX, number: i64::MAX });
    let rows = sqlx::query(text).bind(merchant).bind(created_at).bind(number).bind(limit).fetch_all(readers).await?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::store::{Location, Store};

    #[tokio::test]
    async fn a_page_is_read_from_its_index_in_the_lists_order() {
        let store = Store::open(&Location::Memory).await.unwrap();
        for table in ["customers", "intents", "plans", "subscriptions", "esim_orders"] {
            let text = newest_first!("* FROM table WHERE merchant = $1").replace("table", table);
            let text = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {text}"));
            let rows = sqlx::query(text).bind("m").bind(1).bind(1).bind(1).fetch_all(&store.readers).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
            let searched = format!("SEARCH {table} USING INDEX {table}_of_merchant (merchant=? AND created_at<?)");
            assert_eq!(plan, [searched], "nothing is sorted");
        }
    }
}
