//! For databases in SQL: the reads of a [`Store`](super::Store) from tables, the writes, and the writer that groups them.
//!
//! A backend has the tables and columns that [`SqlStore`] reads and [`write_group`] writes, executes their statements, and implements
//! [`GroupCommit`].

mod group;
mod reads;
mod rows;
mod writer;
mod writes;

pub use group::{GroupTransaction, write_group};
pub use reads::{MERCHANTS_DUE, newest};
pub use rows::{StoredRow, operators};
pub use writer::{GroupCommit, Writer};
pub use writes::NewRow;

use super::Unavailable;
use async_trait::async_trait;
use std::borrow::Cow;
use std::collections::HashSet;

/// A database with the sandbox's tables. It is a [`Store`](super::Store).
///
/// Numbers are 64 bits, `active` is a Boolean, and everything else is text. Lists follow the column `seq`. Each statement numbers its
/// values `$1`, `$2` and so on.
#[async_trait]
pub trait SqlStore: Send + Sync + 'static {
    /// A row of an answer.
    type Row: StoredRow + Send;

    /// Executes a read. A text that no row can have is found in none.
    async fn rows(&self, text: &'static str, values: &[Value<'_>]) -> Result<Vec<Self::Row>, Unavailable>;

    /// The writer of the writes. When it is closed, it closes the database.
    fn writer(&self) -> &Writer;
}

/// A value of a statement. `None` is NULL.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "a value is what its variant says")]
pub enum Value<'a> {
    Flag(bool),
    Number(Option<i64>),
    Text(Option<Cow<'a, str>>),
}

/// Whether each row's first value is among the keys that a statement has returned.
#[must_use]
pub fn are_among(rows: &[Vec<Value<'_>>], mut keys: HashSet<String>) -> Vec<bool> {
    let is_among = |row: &Vec<Value<'_>>| match row.first() {
        Some(Value::Text(Some(key))) => keys.remove(&**key),
        _ => false,
    };
    rows.iter().map(is_among).collect()
}

impl From<sqlx::Error> for Unavailable {
    fn from(error: sqlx::Error) -> Self {
        Self::because(error.to_string())
    }
}

/// Makes a value from what a record has.
macro_rules! from {
    ($($type:ty => |$value:ident| $made:expr,)+) => {
        $(impl<'a> From<$type> for Value<'a> {
            fn from($value: $type) -> Self {
                $made
            }
        })+
    };
}

from! {
    bool => |flag| Self::Flag(flag),
    i64 => |number| Self::Number(Some(number)),
    Option<i64> => |number| Self::Number(number),
    &'a str => |text| Self::Text(Some(text.into())),
    String => |text| Self::Text(Some(text.into())),
    Option<String> => |text| Self::Text(text.map(Cow::Owned)),
}
