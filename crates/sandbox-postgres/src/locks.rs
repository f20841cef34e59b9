//! Advisory locks. Their numbers share one space in a database, so that a lock's number is a digest of its purpose and its subject.

use crate::{STATEMENT_DEADLINE, does_not_answer};
use guichet_sandbox::Unavailable;
use guichet_sandbox::store::MerchantLock;
use sha2::{Digest, Sha256};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Row as _};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

/// The most merchants whose billing one instance runs at a time.
const CONNECTIONS: u32 = 4;
/// How long a lock waits for a connection: others may bill that many merchants before.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest pause before a lock that another instance holds is tried again.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// How long work waits for the lock of its merchant. Another instance may bill for so long.
const DEADLINE: Duration = Duration::from_secs(60);
/// The lock's connection is idle while this instance bills.
const BEGIN: &str = "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = '600s'; ";

/// The purposes of locks. A group holds locks of merchants while it is committed: a task that waits for a group must not hold one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lock {
    /// One billing, clock move or reset of a merchant runs at a time.
    Billing,
    /// One group of a merchant's writes is committed at a time.
    Commit,
    /// One instance creates the schema, or compares its keys with those of the others, at a time.
    Open,
    /// One group changes the merchants' secret keys at a time.
    SecretKeys,
}

impl Lock {
    /// The number of the lock on this subject, such as a merchant's id.
    pub(crate) fn on(self, subject: &str) -> i64 {
        let digest = Sha256::digest(format!("guichet {self:?} {subject}"));
        let first = digest.first_chunk().expect("a digest has 32 bytes");
        i64::from_be_bytes(*first)
    }
}

/// The locks of the merchants' billing in all instances. Work waits in its process, and takes a connection only to try.
#[derive(Debug)]
pub(crate) struct MerchantLocks {
    /// Each holds one lock. Reads need none of them, so the holder of a lock can read.
    connections: PgPool,
    /// One for each connection, so that a lack of them is not taken for a server that does not answer.
    permits: Arc<Semaphore>,
    /// Those of the merchants whose work runs or waits here.
    turns: Mutex<HashMap<String, Weak<Turn>>>,
}

/// Held by a merchant's work in this process while it takes the lock and holds it: only one of them tries.
type Turn = tokio::sync::Mutex<()>;

/// A connection in a transaction that holds a lock. The pool ends it ([`end_transaction`]), or the server when the instance ends.
type Held = (PoolConnection<sqlx::Postgres>, OwnedSemaphorePermit);

impl MerchantLocks {
    pub(crate) fn new(options: PgConnectOptions, acquire_timeout: Duration) -> Self {
        let connections = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(acquire_timeout)
            .after_release(|connection, _| Box::pin(end_transaction(connection)))
            .connect_lazy_with(options);
        let permits = Arc::new(Semaphore::new(CONNECTIONS as usize));
        Self { connections, permits, turns: Mutex::default() }
    }

    /// Waits for a merchant's lock.
    pub(crate) async fn lock(&self, merchant: &str) -> Result<MerchantLock, Unavailable> {
        let lock = async {
            let turn = self.turn(merchant).lock_owned().await;
            let mut pause = Duration::from_millis(2);
            loop {
                if let Some(held) = self.take(merchant).await? {
                    return Ok(Box::new((held, turn)) as MerchantLock);
                }
                sleep(pause).await;
                pause = (2 * pause).min(LONGEST_PAUSE);
            }
        };
        let too_long = |_| Err(Unavailable::because("others have been changing the merchant for a minute"));
        timeout(DEADLINE, lock).await.unwrap_or_else(too_long)
    }

    /// A merchant's lock. `None` if other work has it.
    pub(crate) async fn try_lock(&self, merchant: &str) -> Result<Option<MerchantLock>, Unavailable> {
        let Ok(turn) = self.turn(merchant).try_lock_owned() else { return Ok(None) };
        Ok(self.take(merchant).await?.map(|held| Box::new((held, turn)) as MerchantLock))
    }

    pub(crate) async fn close(&self) {
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

    /// Takes a lock. `None` if another instance has it.
    async fn take(&self, merchant: &str) -> Result<Option<Held>, Unavailable> {
        let permit = timeout(CONNECTION_TIMEOUT, Arc::clone(&self.permits).acquire_owned()).await;
        let permit = permit.map_err(|_| does_not_answer())?.map_err(|_| Unavailable::stopped())?;
        let mut connection = self.connections.acquire().await?;
        // One message, made of a number alone.
        let text = format!("{BEGIN}SELECT pg_try_advisory_xact_lock({})", Lock::Billing.on(merchant));
        match timeout(STATEMENT_DEADLINE, sqlx::raw_sql(AssertSqlSafe(text)).fetch_one(&mut *connection)).await {
            Ok(row) => {
                let is_locked = row.and_then(|row| row.try_get(0))?;
                Ok(bool::then_some(is_locked, (connection, permit)))
            }
            Err(_) => {
                // Without this, the pool would wait for the answer before it uses the connection again.
                connection.close_on_drop();
                Err(does_not_answer())
            }
        }
    }
}

/// Ends a connection's transaction. If this fails, the connection must be closed.
pub(crate) async fn end_transaction(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let ended = sqlx::raw_sql("ROLLBACK").execute(connection);
    timeout(STATEMENT_DEADLINE, ended).await.map_err(|_| sqlx::Error::PoolTimedOut)?.map(|_| true)
}

/// Whether the server ended a wait for a lock (`lock_not_available`).
pub(crate) fn is_lock_timeout(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == "55P03")
}
