//! Writes to SQLite: a group is one transaction.
//!
//! **Conflicts are not SQL errors.** Statements have `ON CONFLICT …` or `WHERE version = …`, so that one rejected row does not roll back
//! the rows beside it. If a statement does fail, the whole group is rolled back, and no write in it is acknowledged.

use super::bind;
use super::file::DatabaseFile;
use super::insert::Insert;
use crate::store::sql::{GroupCommit, GroupTransaction, NewRow, Value, are_among, write_group};
use crate::store::{Unavailable, Write};
use sqlx::{SqliteConnection, SqlitePool};
use std::collections::HashMap;

/// The statements that add rows, by table. Each is built once.
type Inserts = HashMap<&'static str, Insert>;

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

/// The open transaction of a group.
pub(super) struct OpenGroup<'a> {
    connection: &'a mut SqliteConnection,
    inserts: &'a mut Inserts,
}

impl GroupTransaction for OpenGroup<'_> {
    const SAVE_INTENT: &'static str =
        "UPDATE intents SET state = $3, version = version + 1 WHERE id = $1 AND version = $2";
    const SAVE_SUBSCRIPTION: &'static str =
        "UPDATE subscriptions SET state = $3, due_at = $4, version = version + 1 WHERE id = $1 AND version = $2";
    const FULFIL: &'static str =
        "UPDATE esim_orders SET paid_by = $2, fulfilled_at = $3 WHERE id = $1 AND paid_by IS NULL";
    const DEACTIVATE_PLAN: &'static str = "UPDATE plans SET active = FALSE WHERE id = $1";
    const REVOKE_SESSION: &'static str =
        "UPDATE sessions SET revoked_at = $2 WHERE fingerprint = $1 AND revoked_at IS NULL";
    /// `CROSS JOIN` reads the merchants first, which are few, so that the index finds the expired keys.
    const DELETE_EXPIRED_KEYS: &'static str = "DELETE FROM idempotency_keys WHERE (merchant, operation, fingerprint) IN \
        (SELECT merchant, operation, fingerprint FROM merchants CROSS JOIN idempotency_keys \
        WHERE idempotency_keys.merchant = merchants.id \
        AND idempotency_keys.expires_at <= $1 + merchants.clock_offset \
        ORDER BY merchants.id, expires_at, operation, fingerprint LIMIT $2)";
    const RESET: &'static [&'static str] = &["UPDATE merchants SET clock_offset = 0, operators = '{}' WHERE id = $1"];

    async fn add<R: NewRow>(&mut self, rows: Vec<Vec<Value<'_>>>) -> Result<Vec<bool>, sqlx::Error> {
        let new = || Insert::new(R::TABLE, R::COLUMNS, R::ON_CONFLICT);
        let insert = self.inserts.entry(R::TABLE).or_insert_with(new);
        let keys = insert.run(self.connection, &rows, |statement, row| row.iter().fold(statement, bind)).await?;
        Ok(are_among(&rows, keys.into_iter().collect()))
    }

    async fn change(&mut self, statement: &'static str, rows: Vec<Vec<Value<'_>>>) -> Result<Vec<bool>, sqlx::Error> {
        let mut changed = Vec::with_capacity(rows.len());
        for values in rows {
            changed.push(self.execute(statement, &values).await?);
        }
        Ok(changed)
    }

    async fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<bool, sqlx::Error> {
        let statement = values.iter().fold(sqlx::query(statement), bind);
        Ok(statement.execute(&mut *self.connection).await?.rows_affected() > 0)
    }
}
