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
pub use writes::{ADD_MERCHANT, ADVANCE_CLOCK, DELETE_RECORDS, SAVE_SECOND};

use super::{PendingWrite, Unavailable, Write};
use async_trait::async_trait;

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

/// A value of a statement.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "a value is what its variant says")]
pub enum Value<'a> {
    Number(i64),
    Text(&'a str),
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}
