//! The PostgreSQL store: all SQL of a sandbox on PostgreSQL. Any number of instances share one database.

mod clock;
mod commit;
mod customers;
mod esim;
mod group;
mod intents;
mod join;
mod keys;
mod lists;
mod locks;
mod merchants;
mod open;
mod plans;
mod sessions;
mod shared;
mod subscriptions;
#[cfg(test)]
mod tests;

pub(in crate::sandbox) use join::KeyFingerprints;
pub(in crate::sandbox) use locks::MerchantLock;
pub(in crate::sandbox) use shared::{By, SharedMerchant};

use super::Unavailable;
use locks::MerchantLocks;
use sqlx::PgPool;
use sqlx::postgres::{PgArguments, PgRow};
use std::time::Duration;

/// A statement whose values are bound.
type Query<'q> = sqlx::query::Query<'q, sqlx::Postgres, PgArguments>;

/// How long a statement outside of a group may take, with the way to the server and back. The server itself ends it earlier
/// ([`open::SETTINGS`]): this is for a server that no longer answers.
const STATEMENT_DEADLINE: Duration = Duration::from_secs(12);

/// A database to read from. Each module has the reads of its table, and the statements that [`commit`] executes.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct Postgres {
    readers: PgPool,
    locks: MerchantLocks,
}

impl Postgres {
    /// Executes a statement and returns its rows.
    async fn all(&self, query: Query<'_>) -> Result<Vec<PgRow>, Unavailable> {
        let mut connection = self.readers.acquire().await?;
        match tokio::time::timeout(STATEMENT_DEADLINE, query.fetch_all(&mut *connection)).await {
            Ok(Err(error)) if is_unknown_text(&error) => Ok(Vec::new()),
            Ok(rows) => Ok(rows?),
            Err(_) => {
                // Without this, the pool would wait for the answer before it uses the connection again.
                connection.close_on_drop();
                Err(does_not_answer())
            }
        }
    }

    /// Executes a statement and returns its first row.
    async fn optional(&self, query: Query<'_>) -> Result<Option<PgRow>, Unavailable> {
        Ok(self.all(query).await?.into_iter().next())
    }

    /// Executes a statement that returns a row.
    async fn one(&self, query: Query<'_>) -> Result<PgRow, Unavailable> {
        self.optional(query).await?.ok_or_else(|| sqlx::Error::RowNotFound.into())
    }
}

fn does_not_answer() -> Unavailable {
    Unavailable::because("the database does not answer")
}

/// Whether a value has the character U+0000 (`character_not_in_repertoire`), for example an id in an address. The service refuses to
/// store such a text, so no row has it.
fn is_unknown_text(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == "22021")
}
