//! The merchant's sessions in PostgreSQL.

mod connections;

use crate::database::{PlainHosts, attempt, milliseconds};
use crate::postgres_address;
use crate::sealed::{Hash, Sealer, token_hash};
use connections::Connections;
use guichet::native::{Client, KeepResult, KeptSession, Refused, SessionStore, install_crypto_provider};
use guichet::protocol::{Error, Kind};
use guichet::values::{SessionToken, printable};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgSslMode};
use sqlx::{ConnectOptions, Connection};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Begins a transaction.
///
/// - Its commit is durable, whatever the database's default is: a session that a crash removes from the database would
///   survive its sign-out.
/// - If the shop's server loses its network, the database unlocks the login after two seconds.
const BEGIN: &str = "BEGIN; SET LOCAL synchronous_commit = on; SET LOCAL idle_in_transaction_session_timeout = '2s'";
/// A user without the right to create tables uses those that another user has created.
const EXIST: &str = "SELECT to_regclass('guichet_logins') IS NOT NULL AND to_regclass('guichet_sessions') IS NOT NULL";
const TABLES: &str = "
    -- Only one server creates the tables at a time. The number is this lock's name in the database.
    SELECT pg_advisory_xact_lock(7267631045223164513);
    CREATE TABLE IF NOT EXISTS guichet_logins (
        login bytea PRIMARY KEY,
        ended boolean NOT NULL,
        expires_at timestamptz NOT NULL
    );
    CREATE INDEX IF NOT EXISTS guichet_logins_expires_at ON guichet_logins (expires_at);
    -- A forgotten session has no sealed value. If its token has ended, the row remains.
    CREATE TABLE IF NOT EXISTS guichet_sessions (
        login bytea NOT NULL,
        token bytea NOT NULL,
        number bigint GENERATED ALWAYS AS IDENTITY,
        sealed bytea,
        ended boolean NOT NULL,
        expires_at timestamptz NOT NULL,
        PRIMARY KEY (login, token)
    );
    CREATE INDEX IF NOT EXISTS guichet_sessions_ended ON guichet_sessions (token) WHERE ended;
    CREATE INDEX IF NOT EXISTS guichet_sessions_expires_at ON guichet_sessions (expires_at);";

/// The first of the tables that belongs to another role than this one and `$1`: its name, its owner, and this role.
const FOREIGN: &str = "
    SELECT relname::text, pg_get_userbyid(relowner)::text, current_user::text FROM pg_class
    WHERE oid IN (to_regclass('guichet_logins'), to_regclass('guichet_sessions'))
    AND pg_get_userbyid(relowner)::text NOT IN (current_user::text, $1) ORDER BY relname LIMIT 1";

const NEWEST: &str = "
    SELECT token, sealed FROM guichet_sessions
    WHERE login = $1 AND sealed IS NOT NULL AND NOT ended AND expires_at > now()
    ORDER BY number DESC LIMIT 1";
/// Locks the login until the transaction ends, and says whether it has ended.
const LOCK_LOGIN: &str = "
    INSERT INTO guichet_logins AS old (login, ended, expires_at) VALUES ($1, false, now() + $2 * interval '1 millisecond')
    ON CONFLICT (login) DO UPDATE SET
        ended = old.ended AND old.expires_at > now(),
        expires_at = CASE WHEN old.ended AND old.expires_at > now() THEN old.expires_at ELSE excluded.expires_at END
    RETURNING ended";
const INSERT: &str = "
    INSERT INTO guichet_sessions (login, token, sealed, ended, expires_at)
    VALUES ($1, $2, $3, false, now() + $4 * interval '1 millisecond')
    ON CONFLICT (login, token) DO UPDATE SET
        number = DEFAULT, sealed = excluded.sealed, ended = false, expires_at = excluded.expires_at";
const END_LOGIN: &str = "
    INSERT INTO guichet_logins (login, ended, expires_at) VALUES ($1, true, now() + $2 * interval '1 millisecond')
    ON CONFLICT (login) DO UPDATE SET ended = true, expires_at = excluded.expires_at";
const END_TOKENS: &str = "
    WITH left_over AS (
        UPDATE guichet_sessions SET ended = true, expires_at = now() + $2 * interval '1 millisecond'
        WHERE login = $1 AND expires_at > now() AND (ended OR sealed IS NOT NULL)
        RETURNING number, sealed
    )
    SELECT sealed FROM left_over WHERE sealed IS NOT NULL ORDER BY number";
const FORGET: &str = "UPDATE guichet_sessions SET sealed = NULL WHERE login = $1 AND token = $2";
const HAS_ENDED: &str =
    "SELECT EXISTS (SELECT FROM guichet_sessions WHERE token = $1 AND ended AND expires_at > now())";
/// Rows that another server deletes or writes at the moment are skipped, so that no two wait for each other.
const DELETE_EXPIRED: &str = "
    DELETE FROM guichet_sessions WHERE (login, token) IN (
        SELECT login, token FROM guichet_sessions WHERE expires_at <= now() LIMIT 100 FOR UPDATE SKIP LOCKED);
    DELETE FROM guichet_logins WHERE login IN (
        SELECT login FROM guichet_logins WHERE expires_at <= now() LIMIT 100 FOR UPDATE SKIP LOCKED)";

/// Keeps sessions in PostgreSQL. Cheap to clone; `Sessions` and `SessionGuard` take a clone each, as the
/// [crate](crate)'s example shows. The crate says what both stores promise.
///
/// ```no_run
/// # async fn open(client: guichet::Client) -> Result<(), guichet::protocol::Error> {
/// use guichet_sessions::PostgresSessions;
/// let store = PostgresSessions::connect("postgres://shop@db.example.com/shop?sslmode=verify-full", &client).await?;
/// # let _ = store;
/// # Ok(()) }
/// ```
///
/// - It creates its two tables, `guichet_logins` and `guichet_sessions`, in the first schema of the `search_path`,
///   unless they exist. Writes delete what has expired. PostgreSQL 15 or newer.
/// - A session or a sign-out that was acknowledged survives a crash of the database, whatever its `synchronous_commit`
///   is.
/// - TLS is set in the address: `sslmode=verify-full`, with `sslrootcert=…` for a private authority. `verify-ca` does
///   not compare the server's name with its certificate. `require` encrypts and verifies nothing, whatever
///   `sslrootcert` is: whoever can redirect the connection can read and change what is sent. Without `sslmode`, or with
///   `prefer`, `allow` or `disable`, the connection may be unencrypted.
/// - It refuses tables that belong to another role than the shop's, because their triggers would run with the rights of
///   the shop's role, unless [`PostgresSessionsBuilder::owned_by`] names their owner.
#[derive(Clone)]
pub struct PostgresSessions {
    connections: Connections,
    sealer: Arc<Sealer>,
}

/// Opens a [`PostgresSessions`] on a database that needs more than an address.
///
/// ```no_run
/// use guichet_sessions::PostgresSessions;
/// # async fn open(client: guichet::Client) -> Result<(), guichet::protocol::Error> {
/// let store = PostgresSessions::builder(&client)
///     .owned_by("migrator")
///     .connect("postgres://shop@db.example.com/shop?sslmode=verify-full")
///     .await?;
/// # let _ = store;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder opens nothing until `connect` or `pool`"]
pub struct PostgresSessionsBuilder<'a> {
    client: &'a Client,
    plain_hosts: PlainHosts,
    owner: String,
}

impl PostgresSessionsBuilder<'_> {
    /// Allows a connection without TLS to this host. Whoever reads or changes what is sent there may get the password
    /// of PostgreSQL, and can undo sign-outs: name a host only in a network that no one else uses. This machine, by
    /// loopback or a Unix socket, needs no name.
    pub fn allow_unencrypted(mut self, host: &str) -> Self {
        self.plain_hosts.allow(host);
        self
    }

    /// Uses tables that belong to this role, which creates the shop's tables. The rights of the shop's own role are in
    /// its hands: a trigger of a table runs as the role that writes to it.
    pub fn owned_by(mut self, role: &str) -> Self {
        role.clone_into(&mut self.owner);
        self
    }

    /// Connects to the database at this address, with up to 8 connections, and creates the tables unless they exist.
    ///
    /// # Errors
    /// Kind `input` if the address cannot be parsed or has an unknown parameter, if the connection may be unencrypted,
    /// or if the tables belong to another role; `offline` if the database does not answer within 5 seconds, or refuses.
    pub async fn connect(self, url: &str) -> Result<PostgresSessions, Error> {
        let address = postgres_address::parse(url).map_err(|message| Error::new(Kind::Input, message))?;
        let options = PgConnectOptions::from_url(&address).map_err(|_| {
            let message = "The parameters of the address of the PostgreSQL database cannot be read. Correct the text after the question mark, such as sslmode=verify-full.";
            Error::new(Kind::Input, message)
        })?;
        self.require_encryption(&options)?;
        if matches!(options.get_ssl_mode(), PgSslMode::VerifyCa) {
            // In this mode sqlx takes the process's provider for a part of the work.
            install_crypto_provider()?;
        }
        self.open(Connections::open(options)).await
    }

    /// Keeps sessions through the application's own pool, and creates the tables unless they exist. Such a step takes
    /// longer than one after [`PostgresSessionsBuilder::connect`]: sqlx's pool tests a connection after its use and,
    /// unless `test_before_acquire` is off, before. After its use it waits without a time limit: a connection that the
    /// network forgets in that moment counts as used until TCP gives it up.
    ///
    /// # Errors
    /// Kind `input` if the pool's connections may be unencrypted, or if the tables belong to another role; `offline` if
    /// the database does not answer within 5 seconds, or refuses.
    pub async fn pool(self, pool: PgPool) -> Result<PostgresSessions, Error> {
        self.require_encryption(&pool.connect_options())?;
        self.open(Connections::Pool(pool)).await
    }

    /// Checks that connections are encrypted, or stay on this machine, or go to a host that was named.
    fn require_encryption(&self, options: &PgConnectOptions) -> Result<(), Error> {
        let is_encrypted = match options.get_ssl_mode() {
            PgSslMode::Require | PgSslMode::VerifyCa | PgSslMode::VerifyFull => true,
            PgSslMode::Disable | PgSslMode::Allow | PgSslMode::Prefer => false,
        };
        let host = options.get_host();
        let is_socket = options.get_socket().is_some() || host.starts_with('/');
        if is_encrypted || is_socket || self.plain_hosts.contain(host) {
            return Ok(());
        }
        let host = printable(host);
        Err(Error::new(
            Kind::Input,
            format!(
                "The connection to the PostgreSQL server {host} may not be encrypted. Add sslmode=verify-full to its address, or allow it by \
                 name: PostgresSessions::builder(&client).allow_unencrypted(\"{host}\")."
            ),
        ))
    }

    async fn open(self, connections: Connections) -> Result<PostgresSessions, Error> {
        let owner = self.owner;
        let prepare = async move |connection: &mut PgConnection| prepare(connection, &owner).await;
        let prepared = attempt(|| connections.run(&prepare)).await;
        if let Some(foreign) = prepared.map_err(|failed| failed.opening("The PostgreSQL database"))? {
            return Err(foreign);
        }
        Ok(PostgresSessions { connections, sealer: Arc::new(Sealer::new(self.client)) })
    }
}

impl PostgresSessions {
    /// Connects to the database at this address, with up to 8 connections, and creates the tables unless they exist.
    ///
    /// # Errors
    /// As [`PostgresSessionsBuilder::connect`].
    pub async fn connect(url: &str, client: &Client) -> Result<Self, Error> {
        Self::builder(client).connect(url).await
    }

    /// A store of this client's sessions, on a database that needs more than an address.
    pub fn builder(client: &Client) -> PostgresSessionsBuilder<'_> {
        PostgresSessionsBuilder { client, plain_hosts: PlainHosts::default(), owner: String::new() }
    }

    async fn run<T>(&self, step: impl AsyncFn(&mut PgConnection) -> Result<T, sqlx::Error>) -> Result<T, Refused> {
        Ok(attempt(|| self.connections.run(&step)).await?)
    }
}

impl SessionStore for PostgresSessions {
    async fn newest(&self, login: &str) -> Result<Option<KeptSession>, Refused> {
        let login = self.sealer.login_hash(login);
        let newest = self.run(async move |connection| newest(connection, &login).await).await?;
        Ok(newest.and_then(|(_, sealed)| self.sealer.open(&login, &sealed)))
    }

    async fn keep(
        &self,
        login: &str,
        session: &KeptSession,
        replaced: Option<&SessionToken>,
    ) -> Result<KeepResult, Refused> {
        let login = self.sealer.login_hash(login);
        let (token, sealed) = (token_hash(&session.token), self.sealer.seal(&login, session)?);
        let mut replaced = replaced.map(token_hash);
        loop {
            let session = (token, sealed.clone());
            match self.run(async move |connection| insert(connection, &login, &session, replaced).await).await? {
                Inserted::Stored => return Ok(KeepResult::Stored),
                Inserted::LoginEnded => return Ok(KeepResult::LoginEnded),
                Inserted::Other((token, sealed)) => match self.sealer.open(&login, &sealed) {
                    Some(other) => return Ok(KeepResult::Other(other)),
                    // It cannot be handed out, so it counts as absent.
                    None => replaced = Some(token),
                },
            }
        }
    }

    async fn end(&self, login: &str, remember_for: Duration) -> Result<Vec<KeptSession>, Refused> {
        let (login, remember_for) = (self.sealer.login_hash(login), milliseconds(remember_for));
        let left = self.run(async move |connection| end_tokens(connection, &login, remember_for).await).await?;
        Ok(left.iter().filter_map(|sealed| self.sealer.open(&login, sealed)).collect())
    }

    async fn forget(&self, login: &str, token: &SessionToken) -> Result<(), Refused> {
        let (login, token) = (self.sealer.login_hash(login), token_hash(token));
        self.run(async move |connection| sqlx::query(FORGET).bind(login).bind(token).execute(connection).await).await?;
        Ok(())
    }

    async fn has_ended(&self, token: &SessionToken) -> Result<bool, Refused> {
        let token = token_hash(token);
        self.run(async move |connection| sqlx::query_scalar(HAS_ENDED).bind(token).fetch_one(connection).await).await
    }
}

impl fmt::Debug for PostgresSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresSessions").finish_non_exhaustive()
    }
}

/// The error of a table that belongs to another role than this one and `owner`.
async fn foreign_table(connection: &mut PgConnection, owner: &str) -> Result<Option<Error>, sqlx::Error> {
    let foreign: Option<(String, String, String)> =
        sqlx::query_as(FOREIGN).bind(owner).fetch_optional(connection).await?;
    Ok(foreign.map(|(table, owner, role)| {
        let (owner, role) = (printable(&owner), printable(&role));
        let message = format!(
            "The table {table} belongs to the role {owner}, whose triggers would run with the rights of {role}. If {owner} creates the shop's \
             tables, name it: PostgresSessions::builder(&client).owned_by(\"{owner}\"). Otherwise drop the table: the store creates its own."
        );
        Error::new(Kind::Input, message)
    }))
}

/// Creates the tables unless they exist. `Some` if one belongs to another role than this one and `owner`.
async fn prepare(connection: &mut PgConnection, owner: &str) -> Result<Option<Error>, sqlx::Error> {
    if let Some(foreign) = foreign_table(connection, owner).await? {
        return Ok(Some(foreign));
    }
    create_tables(connection).await?;
    // Another role may have created them in the meantime.
    foreign_table(connection, owner).await
}

async fn create_tables(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    if sqlx::query_scalar(EXIST).fetch_one(&mut *connection).await? {
        return Ok(());
    }
    let mut transaction = connection.begin_with(BEGIN).await?;
    sqlx::raw_sql(TABLES).execute(&mut *transaction).await?;
    transaction.commit().await
}

/// The hash of a session's token, and the sealed session.
type Sealed = (Hash, Vec<u8>);

async fn newest(connection: &mut PgConnection, login: &Hash) -> Result<Option<Sealed>, sqlx::Error> {
    sqlx::query_as(NEWEST).bind(login).fetch_optional(connection).await
}

/// The result of an insertion.
enum Inserted {
    Stored,
    LoginEnded,
    /// The newest session is not the one that was to be replaced.
    Other(Sealed),
}

/// Stores a session in place of the one that it replaces.
async fn insert(
    connection: &mut PgConnection,
    login: &Hash,
    session: &Sealed,
    replaced: Option<Hash>,
) -> Result<Inserted, sqlx::Error> {
    let mut transaction = connection.begin_with(BEGIN).await?;
    let inserted = insert_in(&mut transaction, login, session, replaced).await?;
    transaction.commit().await?;
    Ok(inserted)
}

async fn insert_in(
    transaction: &mut PgConnection,
    login: &Hash,
    (token, sealed): &Sealed,
    replaced: Option<Hash>,
) -> Result<Inserted, sqlx::Error> {
    let lifetime = milliseconds(KeptSession::LIFETIME);
    if sqlx::query_scalar(LOCK_LOGIN).bind(login).bind(lifetime).fetch_one(&mut *transaction).await? {
        return Ok(Inserted::LoginEnded);
    }
    match newest(transaction, login).await? {
        Some((newest, _)) if newest == *token => return Ok(Inserted::Stored),
        Some(newest) if Some(newest.0) != replaced => return Ok(Inserted::Other(newest)),
        _ => {}
    }
    let insert = sqlx::query(INSERT).bind(login).bind(token).bind(sealed).bind(lifetime);
    insert.execute(&mut *transaction).await?;
    sqlx::raw_sql(DELETE_EXPIRED).execute(transaction).await?;
    Ok(Inserted::Stored)
}

/// Ends a login and its tokens, and returns the sealed sessions that are left.
async fn end_tokens(
    connection: &mut PgConnection,
    login: &Hash,
    remember_for: i64,
) -> Result<Vec<Vec<u8>>, sqlx::Error> {
    let mut transaction = connection.begin_with(BEGIN).await?;
    sqlx::query(END_LOGIN).bind(login).bind(remember_for).execute(&mut *transaction).await?;
    let end = sqlx::query_scalar(END_TOKENS).bind(login).bind(remember_for);
    let left = end.fetch_all(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use guichet::SecretKey;

    fn check(address: &str, named: &[&str]) -> Result<(), Error> {
        let key = SecretKey::new("sk_test_1").expect("a key");
        let client = Client::builder("http://127.0.0.1:1", key).build().expect("a client");
        let mut builder = PostgresSessions::builder(&client);
        for host in named {
            builder = builder.allow_unencrypted(host);
        }
        builder.require_encryption(&address.parse().expect("an address"))
    }

    #[test]
    fn a_connection_is_encrypted_or_stays_on_this_machine_or_goes_to_a_named_host() {
        for address in [
            "postgres://db.internal/shop?sslmode=require",
            "postgres://db.internal/shop?sslmode=verify-ca",
            "postgres://db.internal/shop?sslmode=verify-full",
            "postgres://localhost/shop?sslmode=disable",
            "postgres://127.0.0.1/shop?sslmode=allow",
            "postgres://[::1]/shop?sslmode=prefer",
            "postgres:///shop?host=/run/postgresql&sslmode=prefer",
            "postgres://%2Frun%2Fpostgresql/shop?sslmode=disable",
        ] {
            assert!(check(address, &[]).is_ok(), "{address}");
        }
        for mode in ["disable", "allow", "prefer"] {
            for host in ["db.internal", "10.0.0.1", "localhost.example.com"] {
                let address = format!("postgres://shop:hunter2@{host}/shop?sslmode={mode}");
                let error = check(&address, &["other.internal"]).expect_err(&address);
                assert!(error.kind() == Kind::Input && !error.to_string().contains("hunter2"), "{error}");
                assert!(check(&address, &["other.internal", host]).is_ok(), "{address}");
            }
        }
        // The parameters decide where a connection goes.
        assert!(check("postgres://127.0.0.1/shop?host=db.internal&sslmode=prefer", &[]).is_err());
    }
}
