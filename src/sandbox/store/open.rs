//! Opening the database: SQLite in a file or in memory.

use super::writer::Writer;
use super::{Store, Unavailable};
use crate::sandbox::StartError;
use crate::sandbox::keys::owner_alone;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, SqlitePool};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the database is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::sandbox) enum Location {
    File(PathBuf),
    Memory,
}

/// What makes version n+1 of the schema of version n.
const STEPS: [&str; 5] = [
    include_str!("schema.sql"),
    include_str!("billing.sql"),
    include_str!("trade.sql"),
    include_str!("keys.sql"),
    include_str!("order.sql"),
];
const READERS: u32 = 3;

impl Location {
    /// Reads `sqlite::memory:`, or `sqlite:` and a path.
    pub(in crate::sandbox) fn read(url: &str) -> Result<Self, StartError> {
        match url.strip_prefix("sqlite:").map(|rest| rest.strip_prefix("//").unwrap_or(rest)) {
            Some(":memory:") => Ok(Self::Memory),
            Some(path) if !path.is_empty() => Ok(Self::File(PathBuf::from(path))),
            _ => Err(StartError::Database(format!(
                "{url} is no database of the sandbox: give sqlite:.guichet/sandbox.sqlite, or sqlite::memory: for a throwaway."
            ))),
        }
    }

    /// The file, where there is one.
    pub(in crate::sandbox) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Memory => None,
        }
    }

    /// Makes the file with its folder, the owner's alone, where it is not there yet, and claims it: two sandboxes that
    /// share one database would each rule by what they hold in memory.
    pub(in crate::sandbox) fn prepare(&self) -> Result<Claim, StartError> {
        let Self::File(path) = self else { return Ok(Claim(None)) };
        let trouble = |error: io::Error| {
            StartError::Database(format!("The database {} cannot be opened for writing: {error}.", path.display()))
        };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(trouble)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true);
        owner_alone(&mut options);
        options.open(path).map_err(trouble)?;
        // By its own name, whatever link it was found by.
        let mut name = path.canonicalize().map_err(trouble)?.into_os_string();
        name.push(".lock");
        let lock = options.open(PathBuf::from(name)).map_err(trouble)?;
        match lock.try_lock() {
            Ok(()) => Ok(Claim(Some(lock))),
            Err(TryLockError::WouldBlock) => Err(StartError::Database(format!(
                "Another sandbox uses the database {} already. Stop it, or give another file with --database.",
                path.display()
            ))),
            Err(TryLockError::Error(error)) => Err(trouble(error)),
        }
    }
}

/// A database is this sandbox's alone for as long as this is held. The lock ends with the process, however that ends;
/// its file stays, since taking it away could take away another's.
#[derive(Debug)]
pub(in crate::sandbox) struct Claim(#[expect(dead_code, reason = "it is held, and not looked at")] Option<File>);

impl Store {
    /// Opens the database, and brings it to this version.
    pub(in crate::sandbox) async fn open(location: &Location) -> Result<Self, StartError> {
        let options = SqliteConnectOptions::new().busy_timeout(Duration::from_secs(5)).foreign_keys(false);
        let pool = |connections| {
            // In memory a connection *is* the database, and in a file it costs nothing to keep it.
            SqlitePoolOptions::new()
                .max_connections(connections)
                .idle_timeout(None)
                .max_lifetime(None)
                .test_before_acquire(false)
        };
        let told = |error: sqlx::Error| StartError::Database(sentence(location, &error));
        let (writing, readers) = match location {
            Location::Memory => {
                let only = pool(1).connect_with(options.in_memory(true)).await.map_err(told)?;
                (only.clone(), only)
            }
            Location::File(path) => {
                let options = options.filename(path);
                let for_writing = options.clone().synchronous(SqliteSynchronous::Full);
                let writing = pool(1).connect_with(for_writing).await.map_err(told)?;
                (writing, pool(READERS).connect_lazy_with(options.read_only(true)))
            }
        };
        bring_up(&writing, location).await?;
        Ok(Self { readers, writer: Writer::start(writing) })
    }
}

/// Makes the schema, or brings an older one to this version.
async fn bring_up(pool: &SqlitePool, location: &Location) -> Result<(), StartError> {
    let told = |error: sqlx::Error| StartError::Database(sentence(location, &error));
    let tables: Vec<String> = sqlx::query_scalar("SELECT name FROM sqlite_master WHERE type = 'table'")
        .fetch_all(pool)
        .await
        .map_err(told)?;
    let name = location.file().map_or_else(String::new, |path| path.display().to_string());
    let version = if tables.is_empty() {
        0
    } else if tables.iter().any(|table| table == "guichet_schema") {
        let version: i64 =
            sqlx::query_scalar("SELECT version FROM guichet_schema").fetch_one(pool).await.map_err(told)?;
        usize::try_from(version).unwrap_or(usize::MAX)
    } else {
        return Err(StartError::Database(format!(
            "{name} is not a database of the guichet sandbox, and is left as it is. Give another file."
        )));
    };
    if version > STEPS.len() {
        return Err(StartError::Database(format!(
            "{name} was written by a newer guichet. Give another file, or use that version."
        )));
    }
    if location.file().is_some() {
        // Only now: the journal's mode is written into the file, and another program's is left as it is.
        sqlx::raw_sql("PRAGMA journal_mode = WAL").execute(pool).await.map_err(told)?;
    }
    if version == STEPS.len() {
        // Said now, and not at the first payment: whether it may be written at all.
        return sqlx::raw_sql("UPDATE guichet_schema SET version = version")
            .execute(pool)
            .await
            .map(drop)
            .map_err(told);
    }
    let mut transaction = pool.begin().await.map_err(told)?;
    for step in &STEPS[version..] {
        sqlx::raw_sql(*step).execute(&mut *transaction).await.map_err(told)?;
    }
    let done = format!("DELETE FROM guichet_schema; INSERT INTO guichet_schema (version) VALUES ({})", STEPS.len());
    sqlx::raw_sql(AssertSqlSafe(done)).execute(&mut *transaction).await.map_err(told)?;
    transaction.commit().await.map_err(told)
}

/// What SQLite says, in our words.
fn sentence(location: &Location, error: &sqlx::Error) -> String {
    let name = location.file().map_or_else(|| "in memory".to_owned(), |path| path.display().to_string());
    let code = error.as_database_error().and_then(|error| error.code()).unwrap_or_default();
    // The low byte is SQLite's primary result code.
    match code.parse::<u32>().map(|code| code & 0xff) {
        Ok(5 | 6) => format!("The database {name} is in use by another program. Stop it, or give another file."),
        Ok(8) => format!("The database {name} may only be read: the sandbox writes to it."),
        Ok(11 | 26) => {
            format!("{name} is not a database of the guichet sandbox, and is left as it is. Give another file.")
        }
        Ok(13) => format!("The disk of the database {name} is full."),
        _ => format!("The database {name} cannot be opened: {}.", Unavailable::from_text(error)),
    }
}

impl Unavailable {
    fn from_text(error: &sqlx::Error) -> String {
        match error.as_database_error() {
            Some(error) => error.message().to_owned(),
            None => error.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_sqlite_in_memory_or_in_a_file() {
        assert_eq!(Location::read("sqlite::memory:").unwrap(), Location::Memory);
        assert_eq!(Location::read("sqlite:.guichet/s.sqlite").unwrap(), Location::File(".guichet/s.sqlite".into()));
        assert_eq!(Location::read("sqlite:///srv/s.sqlite").unwrap(), Location::File("/srv/s.sqlite".into()));
        assert!(Location::read("postgres://host/db").is_err());
        assert!(Location::read("sqlite:").is_err());
    }

    #[tokio::test]
    async fn a_database_of_an_older_version_is_brought_to_this_one_with_what_is_in_it() {
        let pool = SqlitePool::connect("sqlite::memory:").await.unwrap();
        sqlx::raw_sql(STEPS[0]).execute(&pool).await.unwrap();
        let life = r#"{"status":"requires_action","attempts":1,"paying_with":null,"next_action":null,"settlement":null,"declined":null,"cancellation":null}"#;
        let body = r#"{"firstname":"Awa","lastname":"Ngo","email":"awa@example.com","amount":"5000","currency":"XAF","description":"Shoes","merchant_reference":"ORDER-17","fee_bearer":"merchant","confirmation_method":"automatic","confirm":false}"#;
        let rows = format!(
            "INSERT INTO guichet_schema (version) VALUES (1); \
             INSERT INTO intents VALUES ('pi_1', 'mch_1', 'ORDER-17', 'gch_1', 'd', '{body}', '{life}', 1, 2, 1)"
        );
        sqlx::raw_sql(AssertSqlSafe(rows)).execute(&pool).await.unwrap();
        bring_up(&pool, &Location::Memory).await.unwrap();
        let store = Store { readers: pool.clone(), writer: Writer::start(pool) };
        let intent = store.intent_by_reference("mch_1", "ORDER-17").await.unwrap().unwrap();
        assert_eq!((intent.life.attempts, intent.life.most_attempts), (1, 3));
        assert!(store.subscriptions("mch_1", None, 1).await.unwrap().is_empty());
    }
}
