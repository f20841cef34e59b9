//! The merchant's sessions in Redis.

mod connection;

use crate::database::{DEADLINE, PlainHosts, attempt, milliseconds};
use crate::sealed::{Hash, Sealer, token_hash};
use connection::Connection;
use guichet::native::{Client, KeepResult, KeptSession, Refused, SessionStore, install_crypto_provider};
use guichet::protocol::{Error, Kind};
use guichet::values::{SessionToken, printable};
use redis::io::tcp::TcpSettings;
use redis::io::tcp::socket2::TcpKeepalive;
use redis::{AsyncCommands, ConnectionAddr, FromRedisValue, IntoConnectionInfo, Script, ScriptInvocation};
use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// The steps that read or write a login.
static STEPS: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("redis_sessions/steps.lua")));
/// The beginning of the key that says that a token has ended.
const TOKEN_ENDED: &str = "guichet:token-ended:";

/// A connection that has been unused for so long is tested, so that the network does not forget it.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Keeps sessions in Redis. Cheap to clone; `Sessions` and `SessionGuard` take a clone each, as the [crate](crate)'s
/// example shows. The crate says what both stores promise.
///
/// ```no_run
/// # async fn open(client: guichet::Client) -> Result<(), guichet::protocol::Error> {
/// use guichet_sessions::RedisSessions;
/// let store = RedisSessions::connect("rediss://:password@redis.example.com", &client).await?;
/// # let _ = store;
/// # Ok(()) }
/// ```
///
/// - Its keys begin with `guichet:`, and each expires by itself. The server is one Redis 6 or newer, not a cluster,
///   with `maxmemory-policy noeviction`: an evicted key is a lost session, or an ended one that other servers' guards
///   accept for up to 30 seconds more.
/// - `rediss://` is TLS. For a private authority, pass [`RedisSessionsBuilder::client`] a client that has its
///   certificate. `redis://` is not encrypted.
#[derive(Clone)]
pub struct RedisSessions {
    connection: Arc<Connection>,
    sealer: Arc<Sealer>,
}

/// Opens a [`RedisSessions`] on a server that needs more than an address.
///
/// ```no_run
/// use guichet_sessions::RedisSessions;
/// # async fn open(client: guichet::Client) -> Result<(), guichet::protocol::Error> {
/// let store = RedisSessions::builder(&client).allow_unencrypted("redis.internal").connect("redis://redis.internal").await?;
/// # let _ = store;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder opens nothing until `connect` or `client`"]
pub struct RedisSessionsBuilder<'a> {
    client: &'a Client,
    plain_hosts: PlainHosts,
}

impl RedisSessionsBuilder<'_> {
    /// Allows a connection without TLS to this host. Whoever reads or changes what is sent there gets the password of
    /// Redis, and can undo sign-outs: name a host only in a network that no one else uses. This machine needs no name.
    pub fn allow_unencrypted(mut self, host: &str) -> Self {
        self.plain_hosts.allow(host);
        self
    }

    /// Connects to the server at this address.
    ///
    /// # Errors
    /// Kind `input` if the address cannot be parsed, if the connection would be unencrypted or to a server whose
    /// certificate is not verified, or if TLS has no crypto provider; `offline` if the server does not answer within 5
    /// seconds, or refuses.
    pub async fn connect(self, url: &str) -> Result<RedisSessions, Error> {
        let info = url.into_connection_info().map(|info| info.set_tcp_settings(tcp_settings()));
        let redis = info
            .and_then(redis::Client::open)
            .map_err(|_| Error::new(Kind::Input, "This is no address of Redis: rediss://user:password@host:6379."))?;
        self.client(redis).await
    }

    /// Connects by the application's own client, for example one with a certificate (`redis::Client::build_with_tls`).
    ///
    /// # Errors
    /// As [`RedisSessionsBuilder::connect`].
    pub async fn client(self, redis: redis::Client) -> Result<RedisSessions, Error> {
        match redis.get_connection_info().addr() {
            ConnectionAddr::Tcp(host, _) if !self.plain_hosts.contain(host) => {
                let host = printable(host);
                let message = format!(
                    "The connection to the Redis server {host} would not be encrypted. Begin its address with rediss://, or allow it by name: \
                     RedisSessions::builder(&client).allow_unencrypted(\"{host}\")."
                );
                return Err(Error::new(Kind::Input, message));
            }
            ConnectionAddr::TcpTls { host, insecure: true, .. } if !self.plain_hosts.contain(host) => {
                let host = printable(host);
                let message = format!(
                    "The certificate of the Redis server {host} would not be verified, so another server could answer in its place. Remove #insecure \
                     from its address. For a private authority, give RedisSessions::builder(&client).client(…) a client with its certificate."
                );
                return Err(Error::new(Kind::Input, message));
            }
            ConnectionAddr::TcpTls { .. } => install_crypto_provider()?,
            _ => {}
        }
        let connection = Connection::new(redis);
        // A server that demands a password accepts connections without one, and refuses the first command.
        let read = || connection.run(|mut connection| async move { connection.exists(TOKEN_ENDED).await });
        let _: bool = attempt(read).await.map_err(|failed| failed.opening("The Redis server"))?;
        Ok(RedisSessions { connection: Arc::new(connection), sealer: Arc::new(Sealer::new(self.client)) })
    }
}

impl RedisSessions {
    /// Connects to the server at this address.
    ///
    /// # Errors
    /// As [`RedisSessionsBuilder::connect`].
    pub async fn connect(url: &str, client: &Client) -> Result<Self, Error> {
        Self::builder(client).connect(url).await
    }

    /// A store of this client's sessions, on a server that needs more than an address.
    pub fn builder(client: &Client) -> RedisSessionsBuilder<'_> {
        RedisSessionsBuilder { client, plain_hosts: PlainHosts::default() }
    }

    async fn run<T: FromRedisValue>(&self, step: &ScriptInvocation<'_>) -> Result<T, Refused> {
        let run = || self.connection.run(|mut connection| async move { step.invoke_async(&mut connection).await });
        Ok(attempt(run).await?)
    }
}

/// A step of a login.
fn step(name: &str, login: &Hash) -> ScriptInvocation<'static> {
    let login = hex::encode(login);
    let mut step = STEPS.key(format!("guichet:sessions:{login}"));
    step.key(format!("guichet:login-ended:{login}")).arg(name);
    step
}

impl SessionStore for RedisSessions {
    async fn newest(&self, login: &str) -> Result<Option<KeptSession>, Refused> {
        let login = self.sealer.login_hash(login);
        let sealed: Option<Vec<u8>> = self.run(&step("newest", &login)).await?;
        Ok(sealed.and_then(|sealed| self.sealer.open(&login, &sealed)))
    }

    async fn keep(
        &self,
        login: &str,
        session: &KeptSession,
        replaced: Option<&SessionToken>,
    ) -> Result<KeepResult, Refused> {
        let login = self.sealer.login_hash(login);
        let (token, sealed) = (token_text(&session.token), self.sealer.seal(&login, session)?);
        let mut replaced = replaced.map(token_text).unwrap_or_default().into_bytes();
        loop {
            let mut keep = step("keep", &login);
            keep.arg(milliseconds(KeptSession::LIFETIME)).arg(&replaced).arg(&token).arg(&sealed);
            let answer: Vec<Vec<u8>> = self.run(&keep).await?;
            match &answer[..] {
                [ended] if ended == b"ended" => return Ok(KeepResult::LoginEnded),
                [_, token, sealed] => match self.sealer.open(&login, sealed) {
                    Some(other) => return Ok(KeepResult::Other(other)),
                    // It cannot be handed out, so it counts as absent.
                    None => replaced.clone_from(token),
                },
                _ => return Ok(KeepResult::Stored),
            }
        }
    }

    async fn end(&self, login: &str, remember_for: Duration) -> Result<Vec<KeptSession>, Refused> {
        let login = self.sealer.login_hash(login);
        let mut finish = step("finish", &login);
        finish.arg(milliseconds(remember_for)).arg(TOKEN_ENDED);
        let left: Vec<Vec<u8>> = self.run(&finish).await?;
        Ok(left.iter().filter_map(|sealed| self.sealer.open(&login, sealed)).collect())
    }

    async fn forget(&self, login: &str, token: &SessionToken) -> Result<(), Refused> {
        let mut forget = step("forget", &self.sealer.login_hash(login));
        forget.arg(token_text(token));
        self.run(&forget).await
    }

    async fn has_ended(&self, token: &SessionToken) -> Result<bool, Refused> {
        let key = &format!("{TOKEN_ENDED}{}", token_text(token));
        let read = || self.connection.run(|mut connection| async move { connection.exists(key).await });
        Ok(attempt(read).await?)
    }
}

fn token_text(token: &SessionToken) -> String {
    hex::encode(token_hash(token))
}

impl fmt::Debug for RedisSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisSessions").finish_non_exhaustive()
    }
}

fn tcp_settings() -> TcpSettings {
    let settings = TcpSettings::default().set_nodelay(true).set_keepalive(TcpKeepalive::new().with_time(KEEPALIVE));
    // A step whose caller has gone does not wait for the reply, so the system must notice that nothing is acknowledged.
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(DEADLINE);
    settings
}
