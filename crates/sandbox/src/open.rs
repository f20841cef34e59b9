//! Opens the database of a sandbox, with its keys: memory, a file of SQLite, or a backend that is given as a value.

use crate::config::Config;
use crate::keys::{GivenKeys, Keys};
use crate::start_error::StartError;
#[cfg(feature = "sqlite")]
use crate::store::Sqlite;
use crate::store::{Backend, Memory};
use std::path::PathBuf;
use std::sync::Arc;

/// Opens the backend that is given, or the database that the configuration names.
pub(super) async fn open(
    config: &Config,
    backend: Option<Arc<dyn Backend>>,
) -> Result<(Keys, Arc<dyn Backend>), StartError> {
    let given = GivenKeys::find(config)?;
    let file = config.keys.as_deref();
    if let Some(backend) = backend {
        return Ok((given.in_file_or(file, || Ok(Keys::generate()))?, backend));
    }
    match Location::read(&config.database)? {
        Location::Memory => Ok((given.in_file_or(file, || Ok(Keys::generate()))?, Arc::new(Memory::default()))),
        #[cfg(feature = "sqlite")]
        Location::Sqlite(path) => {
            let (sqlite, path) = Sqlite::open(&path).await?;
            match given.in_file_or(file, || Keys::beside(&path)) {
                Ok(keys) => Ok((keys, Arc::new(sqlite))),
                Err(error) => {
                    // Unlocks the file before the error is returned, so that the next start can open it.
                    sqlite.close().await;
                    Err(error)
                }
            }
        }
        #[cfg(not(feature = "sqlite"))]
        Location::Sqlite(path) => Err(StartError::Database(format!(
            "This program has no SQLite for {}. Build it with the feature `sqlite` of guichet-sandbox, or give memory:.",
            path.display()
        ))),
    }
}

/// The location of a database.
#[derive(Debug, Eq, PartialEq)]
enum Location {
    Memory,
    Sqlite(PathBuf),
}

impl Location {
    /// Parses `memory:`, or `sqlite:` and a path. An error never shows a password.
    fn read(url: &str) -> Result<Self, StartError> {
        if url == "memory:" {
            return Ok(Self::Memory);
        }
        let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
        Err(StartError::Database(match (scheme, rest.strip_prefix("//").unwrap_or(rest)) {
            ("sqlite", ":memory:") => {
                format!("{url} is not an address of the sandbox's database. To keep everything in memory, give memory:.")
            }
            ("sqlite", path) if !path.is_empty() => return Ok(Self::Sqlite(PathBuf::from(path))),
            ("postgres" | "postgresql", _) => {
                "The sandbox has no PostgreSQL. Let one sandbox on SQLite serve the whole team: give sqlite: and a file (sqlite:.guichet/sandbox.sqlite).".into()
            }
            _ => format!(
                "The database address begins with \"{scheme}\". Give sqlite: and a file (sqlite:.guichet/sandbox.sqlite), or memory: to keep everything in memory."
            ),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_in_memory_or_in_a_file_and_postgresql_is_refused_with_what_to_do() {
        assert_eq!(Location::read("memory:").unwrap(), Location::Memory);
        assert_eq!(Location::read("sqlite:.guichet/s.sqlite").unwrap(), Location::Sqlite(".guichet/s.sqlite".into()));
        assert_eq!(Location::read("sqlite:///srv/s.sqlite").unwrap(), Location::Sqlite("/srv/s.sqlite".into()));
        let error = Location::read("postgres://awa:hunter2@host/db").unwrap_err().to_string();
        assert!(error.contains("give sqlite: and a file") && !error.contains("hunter2"), "{error}");
        for other in ["mysql://host/db", "sqlite:", "memory", "memory:x", ""] {
            assert!(Location::read(other).is_err(), "{other}");
        }
        for wrong in ["sqlite::memory:", "sqlite://:memory:"] {
            assert!(Location::read(wrong).unwrap_err().to_string().ends_with("give memory:."));
        }
    }

    #[tokio::test]
    async fn a_file_of_keys_is_created_once_and_then_read_whatever_the_database() {
        let folder = tempfile::tempdir().unwrap();
        let keys = Some(folder.path().join("sandbox.keys"));
        let mut all = Vec::new();
        for database in ["memory:".to_owned(), format!("sqlite:{}", folder.path().join("s.sqlite").display())] {
            let config = Config { keys: keys.clone(), database, ..Config::default() };
            let (keys, backend) = open(&config, None).await.unwrap();
            backend.close().await;
            all.push((keys.instance, keys.secret_key));
        }
        let (keys, _) = open(&Config { keys, ..Config::default() }, Some(Arc::new(Memory::default()))).await.unwrap();
        all.push((keys.instance, keys.secret_key));
        assert!(all[0] == all[1] && all[1] == all[2]);
    }
}
