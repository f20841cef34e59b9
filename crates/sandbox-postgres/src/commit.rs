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
//! **A lock that stays taken**, such as that of a merchant whom another instance resets, fails only the writes that need it: after the
//! server's `lock_timeout` each write of the group is committed alone.
//!
//! **A lost reply.** If the connection breaks during COMMIT, the group may or may not be stored, and the error says so
//! ([`Unavailable::may_be_stored`]): the service then closes the client's connection, as if its own reply had been lost.

use crate::locks::{Lock, end_transaction, is_lock_timeout};
use crate::open::connect;
use crate::statements::OpenGroup;
use guichet::values::printable;
use guichet_sandbox::Unavailable;
use guichet_sandbox::store::Write;
use guichet_sandbox::store::sql::{GroupCommit, write_group};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::Instant;

/// How often a group is executed before it is given up.
const ATTEMPTS: u32 = 6;
/// The pause before a group is executed again, times the attempts so far. The transaction that was in its way ends meanwhile.
const PAUSE: Duration = Duration::from_millis(10);
/// How long a group may take. The server ends each statement earlier: this is for a server that no longer answers.
const DEADLINE: Duration = Duration::from_secs(70);
/// How long a write that is committed alone waits for a lock, as a setting. Its group has waited for longer.
const LOCK_TIMEOUT_ALONE: &str = "1s";
/// After how long no further write of a group is committed alone: the next group waits.
const DEADLINE_ALONE: Duration = Duration::from_secs(15);

/// The connection that writes.
pub(crate) struct Committer {
    options: PgConnectOptions,
    /// `None` after an error, until the next group connects again.
    connection: Option<PgConnection>,
    readers: PgPool,
    /// How many groups were executed again.
    repeated: u64,
}

impl Committer {
    pub(crate) fn new(options: PgConnectOptions, connection: PgConnection, readers: PgPool) -> Self {
        Self { options, connection: Some(connection), readers, repeated: 0 }
    }

    /// Commits a group in one transaction.
    async fn commit_whole(&mut self, group: &[Write], lock_timeout: Option<&str>) -> Result<Vec<bool>, Failure> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.attempt(group, lock_timeout).await {
                Err(Failure::Retryable(error)) if attempts < ATTEMPTS => {
                    self.repeated += 1;
                    tracing::warn!(error = %printable(&error), attempts, repeated = self.repeated, "a group of writes is executed again");
                    tokio::time::sleep(attempts * PAUSE).await;
                }
                result => return result,
            }
        }
    }

    /// Commits each write of a group in a transaction of its own. After an error that is not about a lock, the rest fails as well.
    async fn commit_each(&mut self, group: &[Write]) -> Vec<Result<bool, Unavailable>> {
        let (begun, mut taken, mut failed) = (Instant::now(), BTreeSet::new(), None);
        let mut results = Vec::with_capacity(group.len());
        for write in group.chunks(1) {
            let locks = locks(write);
            let is_late = begun.elapsed() > DEADLINE_ALONE;
            results.push(match &failed {
                Some(error) => Err(Unavailable::clone(error)),
                None if is_late || !locks.is_disjoint(&taken) => {
                    Err(Unavailable::because("others hold a lock of the database for too long"))
                }
                None => match self.commit_whole(write, Some(LOCK_TIMEOUT_ALONE)).await {
                    Ok(effects) => Ok(effects.into_iter().all(|effect| effect)),
                    Err(Failure::LocksTaken(error)) => {
                        taken.extend(locks);
                        Err(error.into())
                    }
                    Err(Failure::RowsLocked(error)) => Err(error.into()),
                    Err(failure) => {
                        let error = Unavailable::from(failure);
                        failed = Some(error.clone());
                        Err(error)
                    }
                },
            });
        }
        results
    }

    /// Executes the group once. The connection is kept only if it can take the next group.
    async fn attempt(&mut self, group: &[Write], lock_timeout: Option<&str>) -> Result<Vec<bool>, Failure> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => connect(&self.options).await.map_err(Failure::Final)?,
        };
        let result = match tokio::time::timeout(DEADLINE, transact(&mut connection, group, lock_timeout)).await {
            Ok(result) => result,
            Err(_) => Err(Failure::Unknown(sqlx::Error::PoolTimedOut)),
        };
        let is_usable = match &result {
            Ok(_) => true,
            Err(failure) if failure.is_of_transaction() => end_transaction(&mut connection).await.is_ok(),
            Err(_) => false,
        };
        // If it is dropped, its transaction ends with it.
        self.connection = is_usable.then_some(connection);
        result
    }
}

impl GroupCommit for Committer {
    async fn commit(&mut self, group: Vec<Write>) -> Vec<Result<bool, Unavailable>> {
        match self.commit_whole(&group, None).await {
            Ok(effects) => effects.into_iter().map(Ok).collect(),
            Err(Failure::LocksTaken(_) | Failure::RowsLocked(_)) if group.len() > 1 => self.commit_each(&group).await,
            Err(failure) => vec![Err(failure.into()); group.len()],
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
    /// Nothing was stored: another instance holds the lock of a merchant for too long.
    LocksTaken(sqlx::Error),
    /// Nothing was stored: another transaction holds the lock of a row or a table for too long.
    RowsLocked(sqlx::Error),
    /// The connection was lost, perhaps during COMMIT: the group may be stored.
    Unknown(sqlx::Error),
    /// Nothing was stored.
    Final(sqlx::Error),
}

impl Failure {
    /// Whether the connection works, and only its transaction has to end.
    fn is_of_transaction(&self) -> bool {
        match self {
            Self::Retryable(error) => is_serialization_failure(error),
            Self::LocksTaken(_) | Self::RowsLocked(_) => true,
            Self::Unknown(_) | Self::Final(_) => false,
        }
    }
}

impl From<Failure> for Unavailable {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unknown(error) => Self::perhaps_stored(error.to_string()),
            Failure::Retryable(error)
            | Failure::LocksTaken(error)
            | Failure::RowsLocked(error)
            | Failure::Final(error) => error.into(),
        }
    }
}

/// Executes a group in one transaction. Returns whether each write had an effect.
async fn transact(
    connection: &mut PgConnection,
    group: &[Write],
    lock_timeout: Option<&str>,
) -> Result<Vec<bool>, Failure> {
    let failure = |error: sqlx::Error, locked: fn(sqlx::Error) -> Failure| {
        if is_lock_timeout(&error) {
            locked(error)
        } else if is_serialization_failure(&error) || is_lost_connection(&error) {
            Failure::Retryable(error)
        } else {
            Failure::Final(error)
        }
    };
    begin(connection, group, lock_timeout).await.map_err(|error| failure(error, Failure::LocksTaken))?;
    let written = write_group(&mut OpenGroup(connection), group).await;
    let effects = written.map_err(|error| failure(error, Failure::RowsLocked))?;
    match sqlx::raw_sql("COMMIT").execute(connection).await {
        Ok(_) => Ok(effects),
        Err(error) if is_serialization_failure(&error) => Err(Failure::Retryable(error)),
        Err(error) if is_lost_connection(&error) => Err(Failure::Unknown(error)),
        Err(error) => Err(Failure::Final(error)),
    }
}

/// Begins a transaction, and takes the locks of the group in the order of their numbers.
async fn begin(connection: &mut PgConnection, group: &[Write], lock_timeout: Option<&str>) -> Result<(), sqlx::Error> {
    let mut text = "BEGIN ISOLATION LEVEL READ COMMITTED".to_owned();
    if let Some(lock_timeout) = lock_timeout {
        text.push_str(&format!("; SET LOCAL lock_timeout = '{lock_timeout}'"));
    }
    for number in locks(group) {
        text.push_str(&format!("; SELECT pg_advisory_xact_lock({number})"));
    }
    // One message for all of it, made of a constant and numbers.
    sqlx::raw_sql(AssertSqlSafe(text)).execute(connection).await.map(drop)
}

/// The locks that a group needs.
fn locks(group: &[Write]) -> BTreeSet<i64> {
    let mut locks = BTreeSet::new();
    for write in group {
        lock(write, &mut locks);
    }
    locks
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
        Write::AdvanceClock { merchant, .. } | Write::Reset { merchant } | Write::SetOperators { merchant, .. } => {
            of_merchant(merchant);
        }
        Write::SaveBilled(billed) => billed.iter().for_each(|billed| of_merchant(&billed.subscription.merchant)),
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
