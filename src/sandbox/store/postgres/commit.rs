//! Writes to PostgreSQL: a group is one transaction, and each table has one statement in it.
//!
//! **Instances.** A group first takes the lock of each of its merchants, in one order, and holds it until its commit is done. So the groups
//! of one merchant are committed one after another, from whichever instance: its sequence numbers, which PostgreSQL assigns before a
//! commit, become visible in their order, and a list skips nothing. And two groups do not wait for each other's rows. Only writes that
//! name no merchant could: their rows are sorted. If PostgreSQL does find a deadlock, the group is executed again.
//!
//! **Conflicts are not SQL errors.** Statements have `ON CONFLICT …` or `WHERE version = …`, so that one rejected row does not roll back
//! the rows beside it. If a statement does fail, the whole group is rolled back, and no write in it is acknowledged.
//!
//! **A lost reply.** If the connection breaks during COMMIT, the group may or may not be stored: its writes are answered as
//! [`Unavailable`]. Repeating them is safe where a reference, a code, an idempotency key or a version makes
//! the second one a conflict, which the service answers with the stored object. Moving a clock and creating a merchant or a session are
//! not of this kind: repeated, they may happen twice.

use super::group::write_all;
use super::locks::Lock;
use super::open::connect;
use super::shared::end_transaction;
use crate::sandbox::store::writer::GroupCommit;
use crate::sandbox::store::{Unavailable, Write};
use crate::sandbox::surroundings;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool};
use std::collections::BTreeSet;
use std::time::Duration;

/// How often a group is executed before it is given up.
const ATTEMPTS: u32 = 6;
/// How long a group may take. The server ends each statement earlier: this is for a server that no longer answers.
const DEADLINE: Duration = Duration::from_secs(70);

/// The connection that writes.
pub(in crate::sandbox::store) struct Committer {
    options: PgConnectOptions,
    /// `None` after an error, until the next group connects again.
    connection: Option<PgConnection>,
    readers: PgPool,
    /// How many groups were executed again.
    repeated: u64,
}

impl Committer {
    pub(super) fn new(options: PgConnectOptions, connection: PgConnection, readers: PgPool) -> Self {
        Self { options, connection: Some(connection), readers, repeated: 0 }
    }

    /// Executes the group once. The connection is kept only if it can take the next group.
    async fn attempt(&mut self, group: &[Write]) -> Result<Vec<bool>, Failure> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => connect(&self.options).await.map_err(Failure::Final)?,
        };
        let result = match tokio::time::timeout(DEADLINE, transact(&mut connection, group)).await {
            Ok(result) => result,
            Err(_) => Err(Failure::Final(sqlx::Error::PoolTimedOut)),
        };
        let is_usable = match &result {
            Ok(_) => true,
            Err(Failure::Retryable(error)) if is_serialization_failure(error) => {
                end_transaction(&mut connection).await.is_ok()
            }
            Err(_) => false,
        };
        // If it is dropped, its transaction ends with it.
        self.connection = is_usable.then_some(connection);
        result
    }
}

impl GroupCommit for Committer {
    async fn commit(&mut self, group: Vec<Write>) -> Result<Vec<bool>, Unavailable> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.attempt(&group).await {
                Ok(effects) => return Ok(effects),
                Err(Failure::Retryable(error)) if attempts < ATTEMPTS => {
                    self.repeated += 1;
                    tracing::warn!(%error, attempts, repeated = self.repeated, "a group of writes is executed again");
                    tokio::time::sleep(pause(attempts)).await;
                }
                Err(Failure::Retryable(error) | Failure::Final(error)) => return Err(error.into()),
            }
        }
    }

    async fn close(self) {
        self.readers.close().await;
        if let Some(connection) = self.connection {
            let _ = connection.close().await;
        }
    }
}

/// Why a group was not acknowledged.
enum Failure {
    /// Nothing was stored, and the same group may succeed now.
    Retryable(sqlx::Error),
    Final(sqlx::Error),
}

/// Executes a group in one transaction. Returns whether each write had an effect.
async fn transact(connection: &mut PgConnection, group: &[Write]) -> Result<Vec<bool>, Failure> {
    let retryable = |error: sqlx::Error| {
        if is_serialization_failure(&error) || is_lost_connection(&error) {
            Failure::Retryable(error)
        } else {
            Failure::Final(error)
        }
    };
    begin(connection, group).await.map_err(retryable)?;
    let effects = write_all(connection, group).await.map_err(retryable)?;
    match sqlx::raw_sql("COMMIT").execute(connection).await {
        Ok(_) => Ok(effects),
        Err(error) if is_serialization_failure(&error) => Err(Failure::Retryable(error)),
        Err(error) => Err(Failure::Final(error)),
    }
}

/// Begins a transaction, and takes the locks of the group in the order of their numbers.
async fn begin(connection: &mut PgConnection, group: &[Write]) -> Result<(), sqlx::Error> {
    let mut locks = BTreeSet::new();
    for write in group {
        lock(write, &mut locks);
    }
    let mut text = "BEGIN ISOLATION LEVEL READ COMMITTED".to_owned();
    for number in locks {
        text.push_str(&format!("; SELECT pg_advisory_xact_lock({number})"));
    }
    // One message for all of it, made of numbers alone.
    sqlx::raw_sql(AssertSqlSafe(text)).execute(connection).await.map(drop)
}

/// Adds the locks that a write needs.
fn lock(write: &Write, locks: &mut BTreeSet<i64>) {
    let mut of_merchant = |merchant: &str| {
        locks.insert(Lock::Commit.on(merchant));
    };
    match write {
        Write::AddEsimOrder(order) => of_merchant(&order.merchant),
        Write::AddIntent(row) => of_merchant(&row.0.merchant),
        Write::AddPlan(plan) => of_merchant(&plan.merchant),
        Write::AddSession(session) => of_merchant(&session.merchant),
        Write::AdvanceClock { merchant, .. } | Write::Reset { merchant } => of_merchant(merchant),
        Write::SaveBilled(billed) => billed.iter().for_each(|billed| of_merchant(&billed.subscription.merchant)),
        Write::SaveIntent(intent) => of_merchant(&intent.merchant),
        Write::SaveIntents(intents) => intents.iter().for_each(|intent| of_merchant(&intent.merchant)),
        Write::AddMerchant(merchant) => {
            of_merchant(&merchant.id);
            locks.insert(Lock::SecretKeys.on(""));
        }
        Write::ChangeKey { merchant, .. } => {
            of_merchant(merchant);
            locks.insert(Lock::SecretKeys.on(""));
        }
        Write::IfKeyIsNew { request, write, .. } => {
            of_merchant(&request.merchant);
            lock(write, locks);
        }
        Write::DeactivatePlan { .. }
        | Write::DeleteExpiredKeys { .. }
        | Write::Fulfil(_)
        | Write::RevokeSession { .. }
        | Write::SaveSecond(_) => {}
    }
}

/// Whether PostgreSQL rolled the transaction back because of another one: `serialization_failure`, `deadlock_detected`.
fn is_serialization_failure(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    matches!(code.as_deref(), Some("40001" | "40P01"))
}

/// Whether the connection was closed, for example because the database has restarted.
fn is_lost_connection(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    matches!(error, sqlx::Error::Io(_)) || matches!(code.as_deref(), Some("57P01" | "57P02" | "25P03"))
}

/// A random pause before the next attempt, so that two instances do not meet again.
fn pause(attempts: u32) -> Duration {
    let mut random = [0];
    surroundings::fill_random(&mut random);
    Duration::from_millis(u64::from(random[0] % 16) * u64::from(attempts))
}
