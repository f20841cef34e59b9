//! For databases in SQL: the reads of a [`Store`](super::Store) from tables, the writes that are the same in every database, and the
//! writer that groups writes.
//!
//! A backend has the tables and columns that [`SqlStore`] reads, executes a statement, and implements [`GroupCommit`] for the writes.

mod reads;
mod rows;
mod writer;
mod writes;

pub use reads::{ANY_EXPIRED_KEYS, MERCHANTS_DUE, newest};
pub use rows::StoredRow;
pub use writer::{GroupCommit, Writer};
pub use writes::{ADVANCE_CLOCK, CHANGE_KEY, DELETE_RECORDS, NewRow, ReservedKey, SAVE_SECOND};

use super::{PendingWrite, Unavailable, Write};
use async_trait::async_trait;
use std::borrow::Cow;

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

    /// Queues a write, usually by a [`Writer`].
    async fn queue(&self, write: Write) -> Result<PendingWrite, Unavailable>;

    /// Finishes queued writes and closes the database.
    async fn close(&self);
}

/// A value of a statement. `None` is NULL.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "a value is what its variant says")]
pub enum Value<'a> {
    Flag(bool),
    Number(Option<i64>),
    Text(Option<Cow<'a, str>>),
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
