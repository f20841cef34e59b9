//! Writes to SQLite: a group is one transaction.
//!
//! **Conflicts are not SQL errors.** Statements have `ON CONFLICT …` or `WHERE version = …`, so that one rejected row
//! does not roll back the rows beside it. If a statement does fail, the whole group is rolled back, and no write in it
//! is acknowledged.

use super::file::DatabaseFile;
use super::group::write_group;
use super::open_group::{Inserts, OpenGroup};
use super::writer::GroupCommit;
use crate::store::{Unavailable, Write};
use sqlx::SqlitePool;

/// The connection that writes, and what is closed with it.
pub(super) struct Committer {
    writing: SqlitePool,
    readers: SqlitePool,
    file: Option<DatabaseFile>,
    inserts: Inserts,
}

impl Committer {
    pub(super) fn new(writing: SqlitePool, readers: SqlitePool, file: Option<DatabaseFile>) -> Self {
        Self { writing, readers, file, inserts: Inserts::default() }
    }
}

impl GroupCommit for Committer {
    async fn commit(&mut self, group: Vec<Write>) -> Vec<Result<bool, Unavailable>> {
        match commit(&self.writing, &mut self.inserts, &group).await {
            Ok(effects) => effects.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error.into()); group.len()],
        }
    }

    /// Closes all connections, and only then unlocks the file.
    async fn close(self) {
        // The writer's connection is closed last: only it may checkpoint the write-ahead log into the file.
        self.readers.close().await;
        self.writing.close().await;
        drop(self.file);
    }
}

/// Writes a group in one transaction. Returns whether each write had an effect.
async fn commit(pool: &SqlitePool, inserts: &mut Inserts, group: &[Write]) -> Result<Vec<bool>, sqlx::Error> {
    let mut connection = pool.acquire().await?;
    sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await?;
    let written = write_group(&mut OpenGroup { connection: &mut connection, inserts }, group).await;
    let end = if written.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = sqlx::query(end).execute(&mut *connection).await;
    match (written, ended) {
        (Ok(effects), Ok(_)) => Ok(effects),
        (Ok(_), Err(error)) => {
            // A failed commit may leave its transaction open: the next group must not join it.
            let _ = sqlx::query("ROLLBACK").execute(&mut *connection).await;
            Err(error)
        }
        (Err(error), _) => Err(error),
    }
}
