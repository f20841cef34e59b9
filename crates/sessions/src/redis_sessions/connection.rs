//! The connection to Redis.

use crate::database::{CHECK_ADDRESS, DatabaseError, REPLY_TIMEOUT};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ErrorKind, RedisError, RedisResult, RetryMethod};
use std::sync::Arc;
use tokio::sync::Mutex;

/// One connection for all steps, which do not wait for each other. After an error that may pass, such as a reply that
/// does not arrive, the next step opens another: the connection may be dead, or another server may stand behind the
/// address by now. The library's own `ConnectionManager` goes on with a connection whose replies do not arrive.
pub(super) struct Connection {
    client: Client,
    /// Locked while a step connects, so that concurrent steps get the same new connection.
    current: Mutex<Option<Arc<MultiplexedConnection>>>,
}

impl Connection {
    /// The connection by this client. The first step opens it.
    pub(super) fn new(client: Client) -> Self {
        Self { client, current: Mutex::default() }
    }

    /// Does a step over the connection.
    pub(super) async fn run<T, Step>(&self, step: impl FnOnce(MultiplexedConnection) -> Step) -> RedisResult<T>
    where
        Step: Future<Output = RedisResult<T>>,
    {
        let connection = self.open().await?;
        let result = step(MultiplexedConnection::clone(&connection)).await;
        if result.as_ref().is_err_and(RedisError::is_passing) {
            // Unless another step has replaced it.
            self.current.lock().await.take_if(|current| Arc::ptr_eq(current, &connection));
        }
        result
    }

    async fn open(&self) -> RedisResult<Arc<MultiplexedConnection>> {
        let mut current = self.current.lock().await;
        if let Some(connection) = &*current {
            return Ok(Arc::clone(connection));
        }
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(REPLY_TIMEOUT))
            .set_response_timeout(Some(REPLY_TIMEOUT));
        let connection = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        Ok(Arc::clone(current.insert(Arc::new(connection))))
    }
}

impl DatabaseError for RedisError {
    fn is_passing(&self) -> bool {
        let may_pass = self.is_io_error() || !matches!(self.retry_method(), RetryMethod::NoRetry);
        // The library recommends another connection, which the server would refuse as well.
        may_pass && !refuses_credentials(self)
    }

    fn remedy(&self) -> &'static str {
        if refuses_credentials(self) {
            "Check the user and the password in its address."
        } else if self.code() == Some("NOPERM") {
            "Give its user all commands on the keys that begin with `guichet:`."
        } else {
            CHECK_ADDRESS
        }
    }
}

fn refuses_credentials(error: &RedisError) -> bool {
    error.kind() == ErrorKind::AuthenticationFailed || matches!(error.code(), Some("NOAUTH" | "WRONGPASS"))
}
