//! Opening a database.

use super::Postgres;
use super::commit::Committer;
use super::locks::{Lock, MerchantLocks};
use crate::sandbox::StartError;
use crate::sandbox::store::location::PostgresAddress;
use crate::sandbox::store::writer::Writer;
use crate::sandbox::store::{Backend, Store};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, PgConnection, Row};
use std::time::Duration;

/// The migrations. The n-th makes version n of the schema; a database stores its version, so the order must never change.
const MIGRATIONS: [&str; 1] = [include_str!("migrations/0001_first.sql")];
/// The oldest version of PostgreSQL with which the store is tested.
const OLDEST: u32 = 15;
/// The most connections of one instance, besides those of its writer and of the merchants' locks.
const READERS: u32 = 8;
/// How long a read waits for a connection. So long it also bridges a restart of the database.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// A connection that has been unused for so long is tested before its next use: the database may have restarted.
const TESTED_AFTER: Duration = Duration::from_secs(1);

/// The settings of each connection.
///
/// - A commit is durable before it is acknowledged, whatever the server's default is.
/// - PostgreSQL compiles a statement that looks expensive, as one does before its tables have statistics. All statements are short:
///   compiling takes longer than executing.
/// - Another instance may end or lose its network while it holds a lock: the server aborts its transaction, and others wait no longer. A
///   billing may be idle for minutes: the server ends its connection 25 seconds after the instance's machine was lost.
const SETTINGS: [(&str, &str); 7] = [
    ("synchronous_commit", "on"),
    ("jit", "off"),
    ("lock_timeout", "8s"),
    ("idle_in_transaction_session_timeout", "5s"),
    ("tcp_keepalives_idle", "10"),
    ("tcp_keepalives_interval", "5"),
    ("tcp_keepalives_count", "3"),
];
/// The server's limit for a statement of the readers, and of the writer, whose reset may delete a million rows.
const READER_TIMEOUT: (&str, &str) = ("statement_timeout", "10s");
const WRITER_TIMEOUT: (&str, &str) = ("statement_timeout", "60s");

impl Store {
    /// Opens a PostgreSQL database and migrates it to the current version. Other instances may use it at the same time.
    pub(in crate::sandbox::store) async fn open_postgres(address: &PostgresAddress) -> Result<Self, StartError> {
        let database_error = |error: sqlx::Error| StartError::Database(message_for(address, &error));
        let options = PgConnectOptions::from_url(address.expose()).map_err(database_error)?;
        let options = options.application_name("guichet sandbox").options(SETTINGS);
        let for_writing = options.clone().options([WRITER_TIMEOUT]);
        let mut connection = connect(&for_writing).await.map_err(database_error)?;
        migrate(&mut connection, address).await?;
        let readers = PgPoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(CONNECT_TIMEOUT)
            .test_before_acquire(false)
            .before_acquire(|connection, unused| {
                Box::pin(async move {
                    if unused.idle_for > TESTED_AFTER {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            })
            .connect_lazy_with(options.clone().options([READER_TIMEOUT]));
        let locks = MerchantLocks::new(options);
        let writer = Writer::start(Committer::new(for_writing, connection, readers.clone()));
        Ok(Self { backend: Backend::Postgres { reads: Postgres { readers, locks }, writer } })
    }
}

/// Opens a connection, or fails within [`CONNECT_TIMEOUT`].
pub(super) async fn connect(options: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
    tokio::time::timeout(CONNECT_TIMEOUT, options.connect()).await.map_err(|_| sqlx::Error::PoolTimedOut)?
}

/// Creates the schema, or migrates an older one, while no other instance does.
async fn migrate(connection: &mut PgConnection, address: &PostgresAddress) -> Result<(), StartError> {
    let database_error = |error: sqlx::Error| StartError::Database(message_for(address, &error));
    if connection.server_version_num().is_some_and(|version| version / 10_000 < OLDEST) {
        return Err(StartError::Database(format!(
            "The PostgreSQL server of {address} is older than version {OLDEST}. Give a database of a newer server."
        )));
    }
    let mut transaction = connection.begin().await.map_err(database_error)?;
    // Another instance may need a while for its migration.
    sqlx::raw_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '60s'; SET LOCAL statement_timeout = 0")
        .execute(&mut *transaction)
        .await
        .map_err(database_error)?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(Lock::Migration.on(""))
        .execute(&mut *transaction)
        .await
        .map_err(database_error)?;
    let tables: Vec<String> =
        sqlx::query_scalar("SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()")
            .fetch_all(&mut *transaction)
            .await
            .map_err(database_error)?;
    let version = if tables.is_empty() {
        0
    } else if tables.iter().any(|table| table == "guichet_schema") {
        require_privileges(&mut transaction, address).await?;
        let version: i64 = sqlx::query_scalar("SELECT version FROM guichet_schema")
            .fetch_one(&mut *transaction)
            .await
            .map_err(database_error)?;
        usize::try_from(version).unwrap_or(usize::MAX)
    } else {
        return Err(StartError::Database(format!(
            "{address} is not a database of the guichet sandbox. It was not changed. Give an empty database."
        )));
    };
    if version > MIGRATIONS.len() {
        return Err(StartError::Database(format!(
            "{address} was written by a newer version of guichet. Use that version, or give another database."
        )));
    }
    if version > 0 && version < MIGRATIONS.len() {
        tracing::info!(from = version, to = MIGRATIONS.len(), "migrating the database");
    }
    for migration in &MIGRATIONS[version..] {
        sqlx::raw_sql(*migration).execute(&mut *transaction).await.map_err(database_error)?;
    }
    // Written even if it does not change: fails at the start, not at the first payment, if the database is read-only.
    sqlx::raw_sql("DELETE FROM guichet_schema").execute(&mut *transaction).await.map_err(database_error)?;
    sqlx::query("INSERT INTO guichet_schema (version) VALUES ($1)")
        .bind(i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX))
        .execute(&mut *transaction)
        .await
        .map_err(database_error)?;
    transaction.commit().await.map_err(database_error)
}

/// Checks that this role may use the tables. Another role may have created them: then the first request would fail, not the start. Tables
/// of a third role are not the sandbox's.
async fn require_privileges(connection: &mut PgConnection, address: &PostgresAddress) -> Result<(), StartError> {
    let text = "SELECT current_user::text, pg_get_userbyid(min(relowner::bigint)::oid)::text, string_agg(relname::text, ', ' ORDER BY relname) \
        FROM pg_class WHERE relnamespace = current_schema()::regnamespace \
        AND relowner = (SELECT relowner FROM pg_class WHERE oid = 'guichet_schema'::regclass) AND CASE relkind \
        WHEN 'r' THEN NOT (has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT') \
            AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE')) \
        WHEN 'S' THEN relname = 'request_numbers' AND NOT has_sequence_privilege(oid, 'USAGE') ELSE false END";
    let lacking = sqlx::query(text).fetch_one(connection);
    let database_error = |error: sqlx::Error| StartError::Database(message_for(address, &error));
    let lacking = lacking.await.map_err(database_error)?;
    let read = |place: usize| lacking.try_get::<Option<String>, _>(place).map_err(database_error);
    match (read(0)?, read(1)?, read(2)?) {
        (Some(role), Some(owner), Some(tables)) => Err(StartError::Database(format!(
            "The role {role} lacks privileges on tables of {address} that the role {owner} owns: {tables}. Start every sandbox with the role \
             {owner}, or give its privileges to the other: GRANT \"{owner}\" TO \"{role}\"."
        ))),
        _ => Ok(()),
    }
}

/// A message for an error of PostgreSQL. It never contains the password.
fn message_for(address: &PostgresAddress, error: &sqlx::Error) -> String {
    let Some(error) = error.as_database_error() else {
        return match error {
            sqlx::Error::Io(error) => {
                format!("The database {address} cannot be reached: {error}. Is PostgreSQL running?")
            }
            sqlx::Error::PoolTimedOut => {
                format!("The database {address} does not answer. Is PostgreSQL running there?")
            }
            sqlx::Error::Tls(error) => format!("The database {address} cannot be reached over TLS: {error}."),
            sqlx::Error::Configuration(_) => {
                format!(
                    "The options of the database address {address} cannot be read. Correct what follows the question mark."
                )
            }
            error => format!("The database {address} cannot be opened: {error}."),
        };
    };
    match error.code().as_deref().unwrap_or_default() {
        "25006" => format!("The database {address} is read-only, and the sandbox must write to it."),
        "28000" | "28P01" => format!("PostgreSQL refuses the user or the password of {address}: {}.", error.message()),
        "3D000" => format!("The database {address} does not exist. Create it: CREATE DATABASE."),
        "42501" => format!(
            "The user of {address} may not create tables there: {}. Make the user the owner of the database.",
            error.message()
        ),
        _ => format!("The database {address} cannot be opened: {}.", error.message()),
    }
}
