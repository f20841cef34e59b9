//! The SQLite store: all SQL of the sandbox. One connection writes, with `synchronous=FULL`; readers have their own.

mod clock;
mod commit;
mod customers;
mod esim;
mod file;
mod insert;
mod intents;
mod keys;
mod lists;
mod merchants;
mod open;
mod plans;
mod sessions;
mod subscriptions;

use sqlx::SqlitePool;
use std::path::{Path, PathBuf};

/// A database to read from. Each module has the reads of its table, and the statements that [`commit`] executes.
#[derive(Debug)]
pub(super) struct Sqlite {
    readers: SqlitePool,
    path: Option<PathBuf>,
}

impl Sqlite {
    /// The canonical path of its file.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

/// Access to the database for tests, bypassing the store.
#[cfg(test)]
mod testing {
    use super::commit::Committer;
    use super::open::migrate;
    use super::{Sqlite, SqlitePool};
    use crate::sandbox::store::writer::Writer;
    use crate::sandbox::store::{Backend, Store};
    use std::path::Path;

    impl Store {
        /// A store on SQLite without a file, on one connection.
        pub(in crate::sandbox) async fn on_sqlite() -> Self {
            use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
            // Closing the connection would delete the database.
            let pool = SqlitePoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
            let options = SqliteConnectOptions::new().in_memory(true).foreign_keys(false);
            Self::migrated(pool.connect_with(options).await.expect("SQLite is in this binary")).await
        }

        /// A store on this database, migrated.
        pub(super) async fn migrated(pool: SqlitePool) -> Self {
            migrate(&pool, Path::new("in memory"), None).await.expect("it is empty, or of an older version");
            let writer = Writer::start(Committer::new(pool.clone(), pool.clone(), None));
            Self { backend: Backend::Sqlite { reads: Sqlite { readers: pool, path: None }, writer } }
        }

        /// Its only connection.
        pub(super) fn pool(&self) -> &SqlitePool {
            match &self.backend {
                Backend::Sqlite { reads, .. } => &reads.readers,
                _ => unreachable!("the test has a store on SQLite"),
            }
        }

        /// Replaces the effect of every statement of this kind on a table, by a trigger.
        pub(in crate::sandbox) async fn intercept(&self, table: &str, event: &str, action: &str) {
            let text = format!("CREATE TRIGGER intercepted BEFORE {event} ON {table} BEGIN SELECT {action}; END");
            sqlx::raw_sql(sqlx::AssertSqlSafe(text)).execute(self.pool()).await.expect("the trigger is made");
        }

        /// Removes the trigger of [`Store::intercept`].
        pub(in crate::sandbox) async fn stop_intercepting(&self) {
            sqlx::raw_sql("DROP TRIGGER intercepted").execute(self.pool()).await.expect("the trigger is there");
        }
    }
}
