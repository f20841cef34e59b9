//! Lists: the newest first, a page at a time.

use super::Unavailable;
use crate::values::Moment;
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteRow;

/// The place in a list that a page begins after: when the entry there was made, and its id. `None` is the list's begin.
pub(in crate::sandbox) type After<'a> = Option<(Moment, &'a str)>;

/// The text of a list: its columns, table and condition, whose `$1` is the merchant. A keyset, so that what is made
/// meanwhile neither skips nor repeats an entry.
macro_rules! newest_first {
    ($($what:tt)+) => {
        concat!("SELECT ", $($what)+, " AND (created_at, id) < ($2, $3) ORDER BY created_at DESC, id DESC LIMIT $4")
    };
}
pub(super) use newest_first;

/// The rows of one page of such a text.
pub(super) async fn rows_after(
    readers: &SqlitePool,
    text: &'static str,
    merchant: &str,
    after: After<'_>,
    limit: i64,
) -> Result<Vec<SqliteRow>, Unavailable> {
    let (before, id) = after.map_or((i64::MAX, ""), |(at, id)| (at.unix(), id));
    let rows = sqlx::query(text).bind(merchant).bind(before).bind(id).bind(limit).fetch_all(readers).await?;
    Ok(rows)
}
