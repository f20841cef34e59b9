//! The connection to Redis.

use crate::native::sessions::database::{CHECK_ADDRESS, DatabaseError, REPLY_TIMEOUT};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ErrorKind, RedisError, RedisResult, RetryMethod};
use tokio::sync::Mutex;

/// One connection for all steps, which do not wait for each other. After an error that may pass, such as a reply that does not arrive,
/// the next step opens another: the connection may be dead, or another server may stand behind the address by now.
pub(super) struct Connection {
    client: Client,
    /// Locked while a step connects, so that concurrent steps get the same new connection.
    current: Mutex<Current>,
}

#[derive(Default)]
struct Current {
    connection: Option<MultiplexedConnection>,
    /// The number of connections so far.
    number: u64,
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
        let (connection, number) = self.open().await?;
        let result = step(connection).await;
        if result.as_ref().is_err_and(RedisError::is_passing) {
            self.discard(number).await;
        }
        result
    }

    /// The connection and its number.
    async fn open(&self) -> RedisResult<(MultiplexedConnection, u64)> {
        let mut current = self.current.lock().await;
        if let Some(connection) = &current.connection {
            return Ok((connection.clone(), current.number));
        }
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(REPLY_TIMEOUT))
            .set_response_timeout(Some(REPLY_TIMEOUT));
        let connection = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        current.connection = Some(connection.clone());
        current.number += 1;
        Ok((connection, current.number))
    }

    /// Discards the connection with this number, unless another step did.
    async fn discard(&self, number: u64) {
        let mut current = self.current.lock().await;
        if current.number == number {
            current.connection = None;
        }
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
