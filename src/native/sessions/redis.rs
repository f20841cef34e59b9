//! The merchant's sessions in Redis.

mod connection;

use super::database::{DEADLINE, PlainHosts, attempt};
use super::sealed::{LoginHash, Sealer};
use super::store::{KeepResult, KeptSession, LIFETIME, SessionStore, token_hash};
use crate::encoding::hex;
use crate::native::{Client, Refused, http};
use crate::protocol::{Error, Kind};
use crate::values::{SessionToken, printable};
use connection::Connection;
use redis::io::tcp::TcpSettings;
use redis::io::tcp::socket2::TcpKeepalive;
use redis::{AsyncCommands, ConnectionAddr, FromRedisValue, IntoConnectionInfo, Script, ScriptInvocation};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Before each script. A login's sessions are a list, the oldest first. An entry is the time of its expiry by the clock of Redis (13
/// digits, in milliseconds), the hash of its token (64 digits), and the sealed session.
const COMMON: &str = "
    local sessions, login_ended = KEYS[1], KEYS[2]
    local function lives(entry)
        local time = redis.call('TIME')
        return entry and tonumber(entry:sub(1, 13)) > time[1] * 1000 + time[2] / 1000
    end
    local function token(entry) return entry:sub(14, 77) end
    local function sealed(entry) return entry:sub(78) end
    local function drop_expired()
        local oldest = redis.call('LINDEX', sessions, 0)
        while oldest and not lives(oldest) do
            redis.call('LPOP', sessions)
            oldest = redis.call('LINDEX', sessions, 0)
        end
    end
";
const NEWEST: &str = "
    local newest = redis.call('LINDEX', sessions, -1)
    if redis.call('EXISTS', login_ended) == 1 or not lives(newest) then return false end
    return sealed(newest)";
const KEEP: &str = "
    local lifetime, replaced, new_token, new_sealed = unpack(ARGV)
    if redis.call('EXISTS', login_ended) == 1 then return {'ended'} end
    drop_expired()
    local newest = redis.call('LINDEX', sessions, -1)
    if newest and token(newest) == new_token then return {'stored'} end
    if newest and token(newest) ~= replaced then return {'other', token(newest), sealed(newest)} end
    local time = redis.call('TIME')
    local expires_at = time[1] * 1000 + math.floor(time[2] / 1000) + lifetime
    redis.call('RPUSH', sessions, string.format('%013.0f', expires_at) .. new_token .. new_sealed)
    redis.call('PEXPIRE', sessions, lifetime)
    return {'stored'}";
const END: &str = "
    local remember_for, prefix = unpack(ARGV)
    if redis.call('EXISTS', login_ended) == 0 then drop_expired() end
    redis.call('SET', login_ended, '', 'PX', remember_for)
    redis.call('PEXPIRE', sessions, remember_for)
    local left = {}
    for place, entry in ipairs(redis.call('LRANGE', sessions, 0, -1)) do
        redis.call('SET', prefix .. token(entry), '', 'PX', remember_for)
        left[place] = sealed(entry)
    end
    return left";
const FORGET: &str = "
    for _, entry in ipairs(redis.call('LRANGE', sessions, 0, -1)) do
        if token(entry) == ARGV[1] then redis.call('LREM', sessions, 0, entry) end
    end";

/// The beginning of the key that says that a token has ended.
const TOKEN_ENDED: &str = "guichet:token-ended:";

/// A connection that has been unused for so long is tested, so that the network does not forget it.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Keeps sessions in Redis, for a shop on several servers. Cheap to clone; [`Sessions`](super::Sessions) and
/// [`SessionGuard`](super::SessionGuard) take a clone each.
///
/// ```no_run
/// use guichet::native::{RedisSessions, SessionGuard, Sessions};
/// # async fn open(client: guichet::Client) -> Result<(), guichet::protocol::Error> {
/// let store = RedisSessions::connect("rediss://:password@redis.example.com", &client).await?;
/// let guard = SessionGuard::with_store(client.clone(), store.clone());
/// let sessions = Sessions::with_store(client, store).guarded_by(guard.clone());
/// # let _ = (sessions, guard);
/// # Ok(()) }
/// ```
///
/// - Tokens and e-mail addresses are encrypted, and logins are hashed, with keys that are derived from the client's secret key. All
///   servers of a shop have the same secret key. After a change of the key the stored sessions count as absent: for 30
///   minutes a sign-out does not end those that were created before it; they expire.
/// - Its keys begin with `guichet:`, and each expires by itself. The server is one Redis 6 or newer, not a cluster, with
///   `maxmemory-policy noeviction`: an evicted key is a lost session, or an ended one that other servers' guards accept for up to 30
///   seconds more.
/// - If the server does not answer a step within 2 seconds, or the connection is lost, the step is repeated over a new connection for
///   up to 5 seconds. Then the result is 503 `unavailable` with `Retry-After`, and the log says why. If the server refuses the password,
///   the result is the same at once.
/// - `rediss://` is TLS with the crypto provider of the process. Without one, the feature `native` installs aws-lc-rs; with
///   `native-no-provider`, install yours first. For a private authority, pass [`RedisSessions::new`] a client that has its
///   certificate.
/// - `redis://` is not encrypted: it is for this machine (loopback addresses and Unix sockets), and for hosts that
///   [`RedisSessionsBuilder::allow_unencrypted`] names.
#[derive(Clone)]
pub struct RedisSessions {
    connection: Arc<Connection>,
    sealer: Arc<Sealer>,
    scripts: Arc<Scripts>,
}

struct Scripts {
    newest: Script,
    keep: Script,
    end: Script,
    forget: Script,
}

/// Opens a [`RedisSessions`] on a server that needs more than an address.
///
/// ```no_run
/// use guichet::native::RedisSessions;
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
    /// Allows a connection without TLS to this host. Whoever reads or changes what is sent there gets the password of Redis, and can undo
    /// sign-outs: name a host only in a network that no one else uses. This machine needs no name.
    pub fn allow_unencrypted(mut self, host: &str) -> Self {
        self.plain_hosts.allow(host);
        self
    }

    /// Connects to the server at this address.
    ///
    /// # Errors
    /// Kind `input` if the address cannot be parsed, if the connection would be unencrypted, or if TLS has no crypto provider; `offline`
    /// if the server does not answer within 5 seconds, or refuses.
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
            ConnectionAddr::TcpTls { .. } => http::install_crypto_provider()?,
            _ => {}
        }
        let connection = Connection::new(redis);
        // A server that demands a password accepts connections without one, and refuses the first command.
        let read = || connection.run(|mut connection| async move { connection.exists(TOKEN_ENDED).await });
        let _: bool = attempt(read).await.map_err(|failed| failed.opening("The Redis server"))?;
        let script = |code: &str| Script::new(&[COMMON, code].concat());
        let scripts = Scripts { newest: script(NEWEST), keep: script(KEEP), end: script(END), forget: script(FORGET) };
        Ok(RedisSessions {
            connection: Arc::new(connection),
            sealer: Arc::new(Sealer::new(self.client.key())),
            scripts: Arc::new(scripts),
        })
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

    /// Connects by the application's own client, for example one with a certificate (`redis::Client::build_with_tls`).
    ///
    /// # Errors
    /// As [`RedisSessionsBuilder::connect`].
    pub async fn new(redis: redis::Client, client: &Client) -> Result<Self, Error> {
        Self::builder(client).client(redis).await
    }

    /// A store of this client's sessions, on a server that needs more than an address.
    pub fn builder(client: &Client) -> RedisSessionsBuilder<'_> {
        RedisSessionsBuilder { client, plain_hosts: PlainHosts::default() }
    }

    async fn run<T: FromRedisValue>(&self, script: ScriptInvocation<'_>) -> Result<T, Refused> {
        let script = &script;
        let run = || self.connection.run(|mut connection| async move { script.invoke_async(&mut connection).await });
        Ok(attempt(run).await?)
    }
}

/// A script with the keys of a login.
fn for_login<'a>(script: &'a Script, login: &LoginHash) -> ScriptInvocation<'a> {
    let login = hex(login);
    let mut invocation = script.prepare_invoke();
    invocation.key(format!("guichet:sessions:{login}")).key(format!("guichet:login-ended:{login}"));
    invocation
}

impl SessionStore for RedisSessions {
    async fn newest(&self, login: &str) -> Result<Option<KeptSession>, Refused> {
        let login = self.sealer.login_hash(login);
        let sealed: Option<Vec<u8>> = self.run(for_login(&self.scripts.newest, &login)).await?;
        Ok(sealed.and_then(|sealed| self.sealer.open(&login, &sealed)))
    }

    async fn keep(
        &self,
        login: &str,
        session: &KeptSession,
        replaced: Option<&SessionToken>,
    ) -> Result<KeepResult, Refused> {
        let login = self.sealer.login_hash(login);
        let (token, sealed) = (hex(&token_hash(&session.token)), self.sealer.seal(&login, session)?);
        let mut replaced = replaced.map(|token| hex(&token_hash(token))).unwrap_or_default().into_bytes();
        loop {
            let mut keep = for_login(&self.scripts.keep, &login);
            keep.arg(milliseconds(LIFETIME)).arg(&replaced).arg(&token).arg(&sealed);
            let answer: Vec<Vec<u8>> = self.run(keep).await?;
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
        let mut end = for_login(&self.scripts.end, &login);
        end.arg(milliseconds(remember_for)).arg(TOKEN_ENDED);
        let left: Vec<Vec<u8>> = self.run(end).await?;
        Ok(left.iter().filter_map(|sealed| self.sealer.open(&login, sealed)).collect())
    }

    async fn forget(&self, login: &str, token: &SessionToken) -> Result<(), Refused> {
        let mut forget = for_login(&self.scripts.forget, &self.sealer.login_hash(login));
        forget.arg(hex(&token_hash(token)));
        self.run(forget).await
    }

    async fn has_ended(&self, token: &SessionToken) -> Result<bool, Refused> {
        let key = format!("{TOKEN_ENDED}{}", hex(&token_hash(token)));
        let key = &key;
        let read = || self.connection.run(|mut connection| async move { connection.exists(key).await });
        Ok(attempt(read).await?)
    }
}

impl fmt::Debug for RedisSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisSessions").finish_non_exhaustive()
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn tcp_settings() -> TcpSettings {
    let settings = TcpSettings::default().set_nodelay(true).set_keepalive(TcpKeepalive::new().with_time(KEEPALIVE));
    // A step whose caller has gone does not wait for the reply, so the system must notice that nothing is acknowledged.
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(DEADLINE);
    settings
}
