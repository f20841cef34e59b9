//! Advisory locks. Their numbers share one space in a database, so that a lock's number is a digest of its purpose and its subject.

use super::{STATEMENT_DEADLINE, does_not_answer};
use crate::sandbox::store::Unavailable;
use crate::sandbox::surroundings::within;
use sha2::{Digest, Sha256};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Row};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore, oneshot};

/// The most merchants whose billing one instance runs at a time.
const CONNECTIONS: u32 = 4;
/// How many of the connections may wait for locks that other instances hold. The others are left to merchants whose lock is free.
const WAITING: usize = 2;
/// How long a lock waits to be one of [`WAITING`] before it is tried again: it may be free by then.
const RETRY_AFTER: Duration = Duration::from_millis(250);
/// How long a lock waits for a connection: others may bill that many merchants before.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);
/// How long work waits for the lock of its merchant. Another instance may bill for so long.
const DEADLINE: Duration = Duration::from_secs(60);
/// The lock's connection is idle while this instance bills.
const BEGIN: &str = "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = '600s'; ";

/// The purposes of locks. A group holds locks of merchants while it is committed: a task that waits for a group must not hold one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lock {
    /// One billing, clock move or reset of a merchant runs at a time.
    Billing,
    /// One group of a merchant's writes is committed at a time.
    Commit,
    /// One instance compares its keys with those of the others at a time.
    Join,
    /// One instance migrates the schema at a time.
    Migration,
    /// One group changes the merchants' secret keys at a time.
    SecretKeys,
}

impl Lock {
    /// The number of the lock on this subject, such as a merchant's id.
    pub(super) fn on(self, subject: &str) -> i64 {
        let digest = Sha256::digest(format!("guichet {self:?} {subject}"));
        let first = digest.first_chunk().expect("a digest has 32 bytes");
        i64::from_be_bytes(*first)
    }
}

/// The locks of merchants that this instance holds or waits for.
#[derive(Clone, Debug)]
pub(super) struct MerchantLocks {
    /// Each holds one lock, or waits for it. Reads need none of them, so the holder of a lock can read.
    connections: PgPool,
    /// The permits to wait at the server.
    waiting: Arc<Semaphore>,
    /// Those of the merchants whose work runs or waits here.
    turns: Arc<Mutex<HashMap<String, Weak<Turn>>>>,
}

/// Held by a merchant's work in this process while it takes the lock and holds it. So one merchant's work takes one connection, and the
/// rest of it waits without.
type Turn = tokio::sync::Mutex<()>;

/// The lock of a merchant's billing in all instances. The server frees it when it is dropped, or when its instance ends.
#[derive(Debug)]
pub(in crate::sandbox) struct MerchantLock {
    /// In a transaction that holds the lock. The pool ends it: [`end_transaction`].
    _connection: PoolConnection<sqlx::Postgres>,
    _turn: OwnedMutexGuard<()>,
}

impl MerchantLocks {
    pub(super) fn new(options: PgConnectOptions) -> Self {
        let connections = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(CONNECTION_TIMEOUT)
            .after_release(|connection, _| Box::pin(end_transaction(connection)))
            .connect_lazy_with(options);
        Self { connections, waiting: Arc::new(Semaphore::new(WAITING)), turns: Arc::default() }
    }

    /// Waits for a merchant's lock.
    pub(super) async fn lock(&self, merchant: &str) -> Result<MerchantLock, Unavailable> {
        let lock = async {
            let turn = self.turn(merchant).lock_owned().await;
            let (locked, lock) = oneshot::channel();
            // In a task: if the caller has gone, the connection still waits at the server, and keeps the turn until that has ended.
            tokio::spawn(self.clone().take_for(Lock::Billing.on(merchant), turn, locked));
            lock.await.unwrap_or_else(|_| Err(Unavailable::stopped()))
        };
        let too_long = || Err(Unavailable::because("others have been changing the merchant for a minute"));
        within(DEADLINE, lock).await.unwrap_or_else(too_long)
    }

    /// A merchant's lock. `None` if other work has it.
    pub(super) async fn try_lock(&self, merchant: &str) -> Result<Option<MerchantLock>, Unavailable> {
        let Ok(turn) = self.turn(merchant).try_lock_owned() else { return Ok(None) };
        let connection = self.take(Lock::Billing.on(merchant), None).await?;
        Ok(connection.map(|connection| MerchantLock { _connection: connection, _turn: turn }))
    }

    pub(super) async fn close(&self) {
        self.connections.close().await;
    }

    fn turn(&self, merchant: &str) -> Arc<Turn> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = turns.get(merchant).and_then(Weak::upgrade) {
            return turn;
        }
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        turns.insert(merchant.to_owned(), Arc::downgrade(&turn));
        turn
    }

    /// Takes a lock for a caller, unless it has gone.
    async fn take_for(
        self,
        number: i64,
        turn: OwnedMutexGuard<()>,
        caller: oneshot::Sender<Result<MerchantLock, Unavailable>>,
    ) {
        let mut may_wait = None;
        while !caller.is_closed() {
            let taken = match self.take(number, may_wait.take()).await {
                Ok(None) => {
                    let waiting = within(RETRY_AFTER, Arc::clone(&self.waiting).acquire_owned()).await;
                    may_wait = waiting.and_then(Result::ok);
                    continue;
                }
                Ok(Some(connection)) => Ok(MerchantLock { _connection: connection, _turn: turn }),
                Err(error) => Err(error),
            };
            // If the caller has gone meanwhile, the lock is dropped.
            let _ = caller.send(taken);
            return;
        }
    }

    /// Takes a lock. `None` if another instance has it; with a permit, after the server's `lock_timeout`.
    async fn take(
        &self,
        number: i64,
        may_wait: Option<OwnedSemaphorePermit>,
    ) -> Result<Option<PoolConnection<sqlx::Postgres>>, Unavailable> {
        let mut connection = self.connections.acquire().await?;
        let text = match may_wait {
            Some(_) => format!("{BEGIN}SELECT true FROM pg_advisory_xact_lock({number})"),
            None => format!("{BEGIN}SELECT pg_try_advisory_xact_lock({number})"),
        };
        // One message, made of numbers alone.
        let executed = sqlx::raw_sql(AssertSqlSafe(text)).fetch_all(&mut *connection);
        match tokio::time::timeout(STATEMENT_DEADLINE, executed).await {
            Ok(Ok(rows)) => {
                let is_locked: bool = rows.first().ok_or(sqlx::Error::RowNotFound)?.try_get(0)?;
                Ok(is_locked.then_some(connection))
            }
            Ok(Err(error)) if is_lock_timeout(&error) => Ok(None),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => {
                // Without this, the pool would wait for the answer before it uses the connection again.
                connection.close_on_drop();
                Err(does_not_answer())
            }
        }
    }
}

/// Ends a connection's transaction. If this fails, the connection must be closed.
pub(super) async fn end_transaction(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let ended = sqlx::raw_sql("ROLLBACK").execute(connection);
    tokio::time::timeout(STATEMENT_DEADLINE, ended).await.map_err(|_| sqlx::Error::PoolTimedOut)?.map(|_| true)
}

/// Whether the server ended a wait for a lock (`lock_not_available`).
pub(super) fn is_lock_timeout(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == "55P03")
}
