//! The connections to PostgreSQL.

use crate::database::{CHECK_ADDRESS, DEADLINE, DatabaseError, REPLY_TIMEOUT};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool};
use sqlx::{ConnectOptions, Error};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{self, Instant};

/// The most connections of a store's own. A step takes one for a round trip or a few.
const CONNECTIONS: usize = 8;
/// A connection that has been unused for so long is closed: networks forget such connections after some minutes.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The connections of a store.
#[derive(Clone)]
pub(super) enum Connections {
    Own(Arc<OwnConnections>),
    /// The application's own pool.
    Pool(PgPool),
}

/// Connections that no other code uses. They are no pool of sqlx, which tests a connection after each use without a
/// time limit: one that the network forgets in that moment counts as used until TCP gives it up, and after a few such
/// moments no step gets a connection. Here a connection is used again only if its step has succeeded.
pub(super) struct OwnConnections {
    options: PgConnectOptions,
    /// Each with the time of its last use, the latest last.
    idle: Mutex<Vec<(PgConnection, Instant)>>,
    permits: Semaphore,
}

impl Connections {
    /// Connections of the store's own. The first step opens one.
    pub(super) fn open(options: PgConnectOptions) -> Self {
        let (idle, permits) = (Mutex::default(), Semaphore::new(CONNECTIONS));
        Self::Own(Arc::new(OwnConnections { options, idle, permits }))
    }

    /// Does a step over a connection.
    pub(super) async fn run<T>(&self, step: &impl AsyncFn(&mut PgConnection) -> Result<T, Error>) -> Result<T, Error> {
        match self {
            Self::Own(connections) => connections.run(step).await,
            Self::Pool(pool) => {
                // The pool tests an idle connection before it hands it out, and would wait for the reply.
                let mut connection = within(REPLY_TIMEOUT, pool.acquire()).await?;
                let result = within(REPLY_TIMEOUT, step(&mut connection)).await;
                if result.as_ref().is_err_and(Error::is_passing) {
                    connection.close_on_drop();
                }
                result
            }
        }
    }
}

impl OwnConnections {
    async fn run<T>(&self, step: &impl AsyncFn(&mut PgConnection) -> Result<T, Error>) -> Result<T, Error> {
        let _permit = self.permits.acquire().await;
        // If the step fails or its caller is gone, the connection is dropped, which closes it.
        let (mut connection, limit) = match self.take_idle() {
            Some(connection) => (connection, REPLY_TIMEOUT),
            None => (self.options.connect().await?, DEADLINE),
        };
        let result = within(limit, step(&mut connection)).await;
        match &result {
            Ok(_) => self.idle().push((connection, Instant::now())),
            // The others have been idle for longer, so they are probably dead as well.
            Err(error) if error.is_passing() => self.idle().clear(),
            Err(_) => {}
        }
        result
    }

    fn take_idle(&self) -> Option<PgConnection> {
        let (mut idle, now) = (self.idle(), Instant::now());
        idle.retain(|(_, used)| now.saturating_duration_since(*used) < IDLE_TIMEOUT);
        idle.pop().map(|(connection, _)| connection)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(PgConnection, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn within<T>(limit: Duration, step: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let silent = |_| Err(Error::Io(io::Error::new(io::ErrorKind::TimedOut, "it does not answer")));
    time::timeout(limit, step).await.unwrap_or_else(silent)
}

impl DatabaseError for Error {
    /// The connection was lost, the server starts, stops or has too many connections, or two transactions were in each
    /// other's way.
    fn is_passing(&self) -> bool {
        match self {
            Self::Io(_) | Self::WorkerCrashed => true,
            Self::Database(error) => error.code().is_some_and(|code| {
                code.starts_with("08")
                    || ["25P03", "40001", "40P01", "53300", "57P01", "57P02", "57P03"].contains(&&*code)
            }),
            _ => false,
        }
    }

    fn remedy(&self) -> &'static str {
        match self.as_database_error().and_then(|error| error.code()).as_deref() {
            Some("28000" | "28P01") => "Check the user and the password in its address.",
            Some("3D000") => "Create the database, or correct its name in the address.",
            Some("42501") => "Let its user create tables, or grant it the tables guichet_logins and guichet_sessions.",
            _ => CHECK_ADDRESS,
        }
    }
}
