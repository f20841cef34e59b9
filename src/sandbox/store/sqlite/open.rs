//! Opening a database file.

use super::Sqlite;
use super::commit::Committer;
use super::file::DatabaseFile;
use crate::sandbox::StartError;
use crate::sandbox::store::writer::Writer;
use crate::sandbox::store::{Backend, Store};
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};
use std::path::Path;
use std::time::Duration;

/// The migrations. The n-th makes version n of the schema; a database stores its version, so the order must never change.
const MIGRATIONS: [&str; 9] = [
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_plans_subscriptions.sql"),
    include_str!("migrations/0003_customers_esim.sql"),
    include_str!("migrations/0004_idempotency_keys.sql"),
    include_str!("migrations/0005_creation_order.sql"),
    include_str!("migrations/0006_database_file.sql"),
    include_str!("migrations/0007_service_clock.sql"),
    include_str!("migrations/0008_sequence_numbers.sql"),
    include_str!("migrations/0009_state.sql"),
];
const READERS: u32 = 3;
/// How long a write waits for another program's lock. Short, because all queued writes wait too.
const BUSY_TIMEOUT: Duration = Duration::from_millis(500);

impl Store {
    /// Opens a database file and migrates it to the current version. It stays locked until the store is closed.
    pub(in crate::sandbox::store) async fn open_sqlite(path: &Path) -> Result<Self, StartError> {
        let file = DatabaseFile::lock(path)?;
        let pool = |connections| {
            SqlitePoolOptions::new()
                .max_connections(connections)
                .idle_timeout(None)
                .max_lifetime(None)
                .test_before_acquire(false)
        };
        let database_error = |error: sqlx::Error| StartError::Database(message_for(path, &error));
        let options = SqliteConnectOptions::new().busy_timeout(BUSY_TIMEOUT).foreign_keys(false).filename(file.path());
        let for_writing = options.clone().synchronous(SqliteSynchronous::Full);
        let writing = pool(1).connect_with(for_writing).await.map_err(database_error)?;
        let readers = pool(READERS).connect_lazy_with(options.read_only(true));
        if let Err(error) = migrate(&writing, path, Some(&file)).await {
            writing.close().await;
            return Err(error);
        }
        let reads = Sqlite { readers: readers.clone(), path: Some(file.path().to_owned()) };
        let writer = Writer::start(Committer::new(writing, readers, Some(file)));
        Ok(Self { backend: Backend::Sqlite { reads, writer } })
    }
}

/// Creates the schema, or migrates an older one. `file` is `None` only in tests.
pub(super) async fn migrate(pool: &SqlitePool, path: &Path, file: Option<&DatabaseFile>) -> Result<(), StartError> {
    let database_error = |error: sqlx::Error| StartError::Database(message_for(path, &error));
    let tables: Vec<String> = sqlx::query_scalar("SELECT name FROM sqlite_master WHERE type = 'table'")
        .fetch_all(pool)
        .await
        .map_err(database_error)?;
    let name = path.display();
    let version = if tables.is_empty() {
        0
    } else if tables.iter().any(|table| table == "guichet_schema") {
        let version: i64 =
            sqlx::query_scalar("SELECT version FROM guichet_schema").fetch_one(pool).await.map_err(database_error)?;
        usize::try_from(version).unwrap_or(usize::MAX)
    } else {
        return Err(StartError::Database(format!(
            "{name} is not a database of the guichet sandbox. It was not changed. Give another file."
        )));
    };
    if version > MIGRATIONS.len() {
        return Err(StartError::Database(format!(
            "{name} was written by a newer version of guichet. Use that version, or give another file."
        )));
    }
    let last_used_as = if tables.iter().any(|table| table == "database_file") {
        sqlx::query_scalar("SELECT path FROM database_file").fetch_optional(pool).await.map_err(database_error)?
    } else {
        None::<String>
    };
    if let Some((file, last_used_as)) = file.zip(last_used_as.as_deref()) {
        file.refuse_lost_log(Path::new(last_used_as))?;
    }
    if let Some(file) = file {
        file.make_private()?;
        // Only after the checks: the journal mode is written into the file, and another program's file must not change.
        sqlx::raw_sql("PRAGMA journal_mode = WAL").execute(pool).await.map_err(database_error)?;
    }
    if version == MIGRATIONS.len() {
        // Fails at the start, not at the first payment, if the database is read-only.
        sqlx::raw_sql("UPDATE guichet_schema SET version = version").execute(pool).await.map_err(database_error)?;
    } else {
        if version > 0 {
            tracing::info!(from = version, to = MIGRATIONS.len(), "migrating the database");
        }
        let mut transaction = pool.begin().await.map_err(database_error)?;
        for migration in &MIGRATIONS[version..] {
            sqlx::raw_sql(*migration).execute(&mut *transaction).await.map_err(database_error)?;
        }
        sqlx::raw_sql("DELETE FROM guichet_schema").execute(&mut *transaction).await.map_err(database_error)?;
        sqlx::query("INSERT INTO guichet_schema (version) VALUES ($1)")
            .bind(i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX))
            .execute(&mut *transaction)
            .await
            .map_err(database_error)?;
        transaction.commit().await.map_err(database_error)?;
    }
    match file {
        Some(file) => remember_name(pool, file, last_used_as.as_deref()).await.map_err(database_error),
        None => Ok(()),
    }
}

/// Stores the file's path in the database, so that a start under another name detects that the newest writes may be in the log beside
/// this one.
async fn remember_name(pool: &SqlitePool, file: &DatabaseFile, last_used_as: Option<&str>) -> Result<(), sqlx::Error> {
    let path = file.path().to_string_lossy();
    if last_used_as == Some(&*path) {
        return Ok(());
    }
    let mut transaction = pool.begin().await?;
    sqlx::query("DELETE FROM database_file").execute(&mut *transaction).await?;
    let insert = sqlx::query("INSERT INTO database_file (path) VALUES ($1)").bind(path);
    insert.execute(&mut *transaction).await?;
    transaction.commit().await?;
    // Checkpoints it into the file: a start under another name would not see the log.
    sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(pool).await.map(drop)
}

/// A message for an SQLite error.
fn message_for(path: &Path, error: &sqlx::Error) -> String {
    let name = path.display();
    let code = error.as_database_error().and_then(|error| error.code()).unwrap_or_default();
    // The low byte is SQLite's primary result code.
    match code.parse::<u32>().map(|code| code & 0xff) {
        Ok(5 | 6) => format!("The database {name} is in use by another program. Stop it, or give another file."),
        Ok(8) => format!("The database {name} is read-only, and the sandbox must write to it."),
        Ok(11 | 26) => {
            format!("{name} is not a database of the guichet sandbox. It was not changed. Give another file.")
        }
        Ok(13) => format!("The disk of the database {name} is full."),
        _ => format!("The database {name} cannot be opened: {}.", text_of(error)),
    }
}

fn text_of(error: &sqlx::Error) -> String {
    match error.as_database_error() {
        Some(error) => error.message().to_owned(),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlx::AssertSqlSafe;

    #[tokio::test]
    async fn an_older_database_is_migrated_with_its_data() {
        let pool = SqlitePool::connect("sqlite::memory:").await.unwrap();
        sqlx::raw_sql(MIGRATIONS[0]).execute(&pool).await.unwrap();
        let state = r#"{"status":"requires_action","attempts":1,"paying_with":null,"next_action":null,"settlement":null,"declined":null,"cancellation":null,"passages":[[1,"processing"],[2,"requires_action"]]}"#;
        let body = r#"{"firstname":"Awa","lastname":"Ngo","email":"awa@example.com","amount":"5000","currency":"XAF","description":"Shoes","merchant_reference":"ORDER-17","fee_bearer":"merchant","confirmation_method":"automatic","confirm":false}"#;
        let rows = format!(
            "INSERT INTO guichet_schema (version) VALUES (1); \
             INSERT INTO intents VALUES ('pi_1', 'mch_1', 'ORDER-17', 'gch_1', 'd', '{body}', '{state}', 1, 2, 1)"
        );
        sqlx::raw_sql(AssertSqlSafe(rows)).execute(&pool).await.unwrap();
        let store = Store::migrated(pool).await;
        let intent = store.intent_by_reference("mch_1", "ORDER-17").await.unwrap().unwrap();
        let intent_state = intent.state;
        assert_eq!((intent_state.attempts, intent_state.max_attempts, intent_state.status_history.len()), (1, 3, 2));
        assert!(store.subscriptions("mch_1", None, 1).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_list_of_an_older_database_keeps_its_order() {
        let pool = SqlitePool::connect("sqlite::memory:").await.unwrap();
        for migration in &MIGRATIONS[..7] {
            sqlx::raw_sql(*migration).execute(&pool).await.unwrap();
        }
        sqlx::raw_sql("INSERT INTO guichet_schema (version) VALUES (7)").execute(&pool).await.unwrap();
        // The order of the old lists: by second, then by row id.
        for (id, row, created_at) in [("b", 7, 5), ("d", 9, 5), ("a", 8, 4), ("c", 8_000, 4), ("e", 1, 6)] {
            let text = "INSERT INTO customers (rowid, id, merchant, contact, firstname, lastname, email, phone, created_at) \
                        VALUES ($1, $2, 'mch_1', $2, '', '', '', '', $3)";
            sqlx::query(text).bind(row).bind(id).bind(created_at).execute(&pool).await.unwrap();
        }
        let store = Store::migrated(pool).await;
        let ids = async |after| {
            let customers = store.customers("mch_1", after, 9).await.unwrap();
            customers.into_iter().map(|customer| customer.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(None).await, ["e", "d", "b", "c", "a"]);
        let after = store.place(crate::sandbox::store::List::Customers, "mch_1", "d").await.unwrap();
        assert_eq!(ids(after).await, ["b", "c", "a"]);
    }
}
