//! Opening a database file.

use super::Sqlite;
use super::commit::Committer;
use super::file::DatabaseFile;
use super::writer::Writer;
use crate::start_error::StartError;
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The schema, and the version that a database of it has stored.
const SCHEMA: &str = include_str!("schema.sql");
const VERSION: i64 = 11;
const READERS: u32 = 3;
/// How long a write waits for another program's lock. Short, because all queued writes wait too.
const BUSY_TIMEOUT: Duration = Duration::from_millis(500);

impl Sqlite {
    /// Opens a database file, with its canonical path. It stays locked until the store is closed.
    pub(crate) async fn open(path: &Path) -> Result<(Self, PathBuf), StartError> {
        let file = DatabaseFile::lock(path)?;
        let canonical = file.path().to_owned();
        let pool = |connections| {
            SqlitePoolOptions::new()
                .max_connections(connections)
                .idle_timeout(None)
                .max_lifetime(None)
                .test_before_acquire(false)
        };
        let options = SqliteConnectOptions::new().busy_timeout(BUSY_TIMEOUT).foreign_keys(false).filename(&canonical);
        let for_writing = options.clone().synchronous(SqliteSynchronous::Full);
        let writing = pool(1).connect_with(for_writing).await;
        let writing = writing.map_err(|error| StartError::Database(message_for(path, &error)))?;
        let readers = pool(READERS).connect_lazy_with(options.read_only(true));
        if let Err(error) = prepare(&writing, path, &file).await {
            writing.close().await;
            return Err(error);
        }
        let writer = Writer::start(Committer::new(writing, readers.clone(), Some(file)));
        Ok((Self { readers, writer }, canonical))
    }
}

/// Creates the schema in an empty database.
///
/// # Errors
/// If the file is another program's, or of another version.
async fn prepare(pool: &SqlitePool, path: &Path, file: &DatabaseFile) -> Result<(), StartError> {
    let database_error = |error: sqlx::Error| StartError::Database(message_for(path, &error));
    let tables: Vec<String> = sqlx::query_scalar("SELECT name FROM sqlite_master WHERE type = 'table'")
        .fetch_all(pool)
        .await
        .map_err(database_error)?;
    let mut last_used_as = None::<String>;
    if !tables.is_empty() {
        if !tables.iter().any(|table| table == "guichet_schema") {
            return Err(StartError::Database(not_ours(path)));
        }
        let version: i64 =
            sqlx::query_scalar("SELECT version FROM guichet_schema").fetch_one(pool).await.map_err(database_error)?;
        if version != VERSION {
            return Err(StartError::Database(format!(
                "{} was written by another version of guichet. It was not changed. Delete it, or give another file.",
                path.display()
            )));
        }
        last_used_as =
            sqlx::query_scalar("SELECT path FROM database_file").fetch_optional(pool).await.map_err(database_error)?;
        if let Some(last_used_as) = &last_used_as {
            file.refuse_lost_log(Path::new(last_used_as))?;
        }
    }
    file.make_private()?;
    // Only after the checks: the journal mode is written into the file, and another program's file must not change.
    sqlx::raw_sql("PRAGMA journal_mode = WAL").execute(pool).await.map_err(database_error)?;
    if tables.is_empty() {
        create(pool).await.map_err(database_error)?;
    }
    // Fails at the start, not at the first payment, if the database is read-only.
    sqlx::raw_sql("UPDATE guichet_schema SET version = version").execute(pool).await.map_err(database_error)?;
    remember_name(pool, file, last_used_as.as_deref()).await.map_err(database_error)
}

/// Creates the schema, whole or not at all.
pub(super) async fn create(pool: &SqlitePool) -> Result<(), sqlx::Error> {
    let mut transaction = pool.begin().await?;
    sqlx::raw_sql(SCHEMA).execute(&mut *transaction).await?;
    transaction.commit().await
}

fn not_ours(path: &Path) -> String {
    format!("{} is not a database of the guichet sandbox. It was not changed. Give another file.", path.display())
}

/// Stores the file's path in the database, so that a start under another name detects that the newest writes may be in
/// the log beside this one.
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
        Ok(11 | 26) => not_ours(path),
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
