//! Opening a database: its schema, its keys, and its connections.

use crate::commit::Committer;
use crate::instances::OnPostgres;
use crate::locks::{Lock, MerchantLocks};
use crate::statements::OpenGroup;
use crate::{Postgres, PostgresStore, Readers};
use guichet::values::printable;
use guichet_sandbox::StartError;
use guichet_sandbox::store::sql::{GroupTransaction as _, NewRow as _, Writer};
use guichet_sandbox::store::{Backend, MerchantRow};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, Row as _};
use std::sync::Arc;
use std::time::Duration;

/// The schema, and the version that a database of it has stored.
const SCHEMA: &str = include_str!("schema.sql");
const VERSION: i64 = 3;
/// The oldest version of PostgreSQL with which the store is tested.
const OLDEST: u32 = 15;
/// The most connections of one instance, besides those of its writer and of the merchants' locks.
const READERS: u32 = 8;
/// How long a read waits for a connection. So long it also bridges a restart of the database.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
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

/// Opens a database. Other instances may use it at the same time.
pub(crate) async fn open(database: &Postgres, instance_key: &str, first: MerchantRow) -> Result<Backend, StartError> {
    let database_error = |error: sqlx::Error| StartError::Database(message_for(database, &error));
    let options = database.0.clone().application_name("guichet sandbox").options(SETTINGS);
    let for_writing = options.clone().options([WRITER_TIMEOUT]);
    let mut connection = connect(&for_writing).await.map_err(database_error)?;
    prepare(&mut connection, database, instance_key, &first).await.map_err(|refusal| match refusal {
        Refusal::Database(error) => database_error(error),
        Refusal::Sentence(error) => error,
    })?;
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
    let writer = Writer::start(Committer::new(for_writing, connection, readers.clone()));
    let readers = Readers(readers);
    let instances = OnPostgres::new(readers.clone(), MerchantLocks::new(options, CONNECT_TIMEOUT));
    Ok(Backend { store: Arc::new(PostgresStore { readers, writer }), instances: Arc::new(instances) })
}

/// Opens a connection, or fails within [`CONNECT_TIMEOUT`].
pub(crate) async fn connect(options: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
    tokio::time::timeout(CONNECT_TIMEOUT, options.connect()).await.map_err(|_| sqlx::Error::PoolTimedOut)?
}

/// Why a database is not used.
enum Refusal {
    Database(sqlx::Error),
    Sentence(StartError),
}

impl From<sqlx::Error> for Refusal {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

fn refused<T>(sentence: String) -> Result<T, Refusal> {
    Err(Refusal::Sentence(StartError::Database(sentence)))
}

/// While no other instance does: creates the schema in an empty database with the keys and the first merchant, or compares the keys.
async fn prepare(
    connection: &mut PgConnection,
    database: &Postgres,
    instance_key: &str,
    first: &MerchantRow,
) -> Result<(), Refusal> {
    if connection.server_version_num().is_some_and(|version| version / 10_000 < OLDEST) {
        return refused(format!(
            "The PostgreSQL server of {database} is older than version {OLDEST}. Give a database of a newer server."
        ));
    }
    let mut transaction = connection.begin().await?;
    // Whatever the database's default is: a snapshot from before the lock would not show what another instance wrote.
    sqlx::raw_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '60s'")
        .execute(&mut *transaction)
        .await?;
    let lock = sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(Lock::Open.on(""));
    lock.execute(&mut *transaction).await?;
    let tables = sqlx::query_scalar("SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()");
    let tables: Vec<String> = tables.fetch_all(&mut *transaction).await?;
    if tables.is_empty() {
        sqlx::raw_sql(SCHEMA).execute(&mut *transaction).await?;
        let keys = sqlx::query("INSERT INTO instance_keys (instance, first) VALUES ($1, $2)");
        keys.bind(instance_key).bind(&first.key_fingerprint).execute(&mut *transaction).await?;
        OpenGroup(&mut transaction).add::<MerchantRow>(vec![first.values()]).await?;
    } else {
        if !tables.iter().any(|table| table == "guichet_schema") {
            return refused(format!(
                "{database} is not a database of the guichet sandbox. It was not changed. Give an empty database."
            ));
        }
        require_privileges(&mut transaction, database).await?;
        let version = sqlx::query_scalar("SELECT version FROM guichet_schema");
        if version.fetch_optional(&mut *transaction).await? != Some(VERSION) {
            return refused(format!(
                "{database} was written by another version of guichet. It was not changed. Delete it, or give another database."
            ));
        }
        let stored = sqlx::query("SELECT instance, first FROM instance_keys").fetch_one(&mut *transaction).await?;
        let is_same = |column, key: &str| Ok::<_, sqlx::Error>(stored.try_get::<String, _>(column)? == key);
        let different = match (is_same("instance", instance_key)?, is_same("first", &first.key_fingerprint)?) {
            (true, true) => None,
            (false, true) => Some("The instance key of this sandbox differs"),
            (true, false) => Some("The first merchant's secret key of this sandbox differs"),
            (false, false) => Some("The keys of this sandbox differ"),
        };
        if let Some(different) = different {
            return Err(Refusal::Sentence(StartError::Keys(format!(
                "{different} from those with which this database was first used. Give every instance the same GUICHET_INSTANCE_KEY and \
                 GUICHET_SECRET_KEY, or a copy of the same file with --keys; or give another database."
            ))));
        }
    }
    // Fails at the start, not at the first payment, if the database is read-only.
    sqlx::raw_sql("UPDATE guichet_schema SET version = version").execute(&mut *transaction).await?;
    Ok(transaction.commit().await?)
}

/// Checks that this role may use the tables. Another role may have created them: then the first request would fail, not the start. Tables
/// of a third role are not the sandbox's.
async fn require_privileges(connection: &mut PgConnection, database: &Postgres) -> Result<(), Refusal> {
    let text = "SELECT current_user::text, pg_get_userbyid(min(relowner::bigint)::oid)::text, string_agg(relname::text, ', ' ORDER BY relname) \
        FROM pg_class WHERE relnamespace = current_schema()::regnamespace \
        AND relowner = (SELECT relowner FROM pg_class WHERE oid = 'guichet_schema'::regclass) AND CASE relkind \
        WHEN 'r' THEN NOT (has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT') \
            AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE')) \
        WHEN 'S' THEN relname = 'request_numbers' AND NOT has_sequence_privilege(oid, 'USAGE') ELSE false END";
    let lacking: (Option<String>, Option<String>, Option<String>) = sqlx::query_as(text).fetch_one(connection).await?;
    let (Some(role), Some(owner), Some(tables)) = lacking else { return Ok(()) };
    let [role, owner, tables] = [&role, &owner, &tables].map(printable);
    refused(format!(
        "The role {role} lacks privileges on tables of {database} that the role {owner} owns: {tables}. Start every sandbox with the role \
         {owner}, or give its privileges to the other: GRANT \"{owner}\" TO \"{role}\"."
    ))
}

/// A message for an error of PostgreSQL. It never contains the password, and no control character of the server.
fn message_for(database: &Postgres, error: &sqlx::Error) -> String {
    let Some(error) = error.as_database_error() else {
        return match error {
            sqlx::Error::Io(error) => {
                format!("The database {database} cannot be reached: {}. Is PostgreSQL running?", printable(error))
            }
            sqlx::Error::PoolTimedOut => {
                format!("The database {database} does not answer. Is PostgreSQL running there?")
            }
            sqlx::Error::Tls(error) => {
                format!("The database {database} cannot be reached over TLS: {}.", printable(error))
            }
            error => format!("The database {database} cannot be opened: {}.", printable(error)),
        };
    };
    let text = printable(error.message());
    match error.code().as_deref().unwrap_or_default() {
        "25006" => format!("The database {database} is read-only, and the sandbox must write to it."),
        "28000" | "28P01" => format!("PostgreSQL refuses the user or the password of {database}: {text}."),
        "3D000" => format!("The database {database} does not exist. Create it: CREATE DATABASE."),
        "42501" => format!(
            "The user of {database} may not create tables there: {text}. Make the user the owner of the database."
        ),
        _ => format!("The database {database} cannot be opened: {text}."),
    }
}
