//! Opens the database of a sandbox, with its keys: memory, a file of SQLite, or a database that is given as a value.

use crate::config::Config;
use crate::keys::{GivenKeys, Keys};
use crate::start_error::StartError;
#[cfg(feature = "sqlite")]
use crate::store::Sqlite;
use crate::store::{Backend, Database, Memory, OneInstance, Store};
use crate::tokens::InstanceKey;
use std::path::PathBuf;
use std::sync::Arc;

/// Opens the database that is given, which other instances may share. Otherwise the one that the configuration names, which this instance
/// has to itself.
pub(super) async fn open(config: &Config, database: Option<Box<dyn Database>>) -> Result<(Keys, Backend), StartError> {
    let given = GivenKeys::find(config)?;
    if let Some(database) = database {
        let keys = given.of_shared(config.keys.as_deref())?;
        let key = InstanceKey::new(&keys.instance).fingerprint();
        let backend = database.open(&key, keys.first_merchant(config)).await?;
        return Ok((keys, backend));
    }
    if config.keys.is_some() {
        return Err(StartError::Keys(
            "Only a sandbox on PostgreSQL takes --keys. On SQLite the keys are beside the database, and in memory they are new at each start: set \
             GUICHET_INSTANCE_KEY and GUICHET_SECRET_KEY to choose them."
                .into(),
        ));
    }
    let store: Arc<dyn Store>;
    let keys = match Location::read(&config.database)? {
        Location::Memory => {
            store = Arc::new(Memory::default());
            given.or_else(|| Ok(Keys::generate()))
        }
        #[cfg(feature = "sqlite")]
        Location::Sqlite(path) => {
            let (sqlite, file) = Sqlite::open(&path).await?;
            store = Arc::new(sqlite);
            given.or_else(|| Keys::beside(&file))
        }
        #[cfg(not(feature = "sqlite"))]
        Location::Sqlite(path) => {
            return Err(StartError::Database(format!(
                "This program has no SQLite for {}. Build it with the feature `sqlite` of guichet-sandbox, or give memory:.",
                path.display()
            )));
        }
    };
    let loaded = async {
        let keys = keys?;
        let instances = OneInstance::load(&*store, keys.first_merchant(config)).await?;
        Ok((keys, Backend { store: Arc::clone(&store), instances: Arc::new(instances) }))
    };
    let loaded = loaded.await;
    if loaded.is_err() {
        // Unlocks the file before the error is returned, so that the next start can open it.
        store.close().await;
    }
    loaded
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
                "This program has no PostgreSQL. Start the sandbox by Sandbox::start_on with the database of the crate guichet-sandbox-postgres, or give sqlite: and a file.".into()
            }
            _ => format!(
                "The database address begins with \"{scheme}\". Give sqlite: and a file (sqlite:.guichet/sandbox.sqlite), postgres://USER:PASSWORD@HOST/DATABASE, or memory: to keep everything in memory."
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
        assert!(error.contains("Sandbox::start_on") && !error.contains("hunter2"), "{error}");
        for other in ["mysql://host/db", "sqlite:", "memory", "memory:x", ""] {
            assert!(Location::read(other).is_err(), "{other}");
        }
        for wrong in ["sqlite::memory:", "sqlite://:memory:"] {
            assert!(Location::read(wrong).unwrap_err().to_string().ends_with("give memory:."));
        }
    }

    #[tokio::test]
    async fn only_a_sandbox_on_postgresql_takes_a_file_of_keys() {
        for database in ["memory:", "sqlite:.guichet/sandbox.sqlite"] {
            let config = Config { keys: Some("sandbox.keys".into()), database: database.into(), ..Config::default() };
            let Err(error) = open(&config, None).await else { panic!("{database} took --keys") };
            assert!(error.to_string().contains("Only a sandbox on PostgreSQL takes --keys"), "{error}");
        }
    }
}
