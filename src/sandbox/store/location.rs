//! The address of a store.

use crate::postgres_address;
use crate::sandbox::StartError;
use std::fmt;
use std::path::{Path, PathBuf};
use url::Url;

/// The location of the database.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::sandbox) enum Location {
    Memory,
    Postgres(PostgresAddress),
    Sqlite(PathBuf),
}

impl Location {
    /// Parses `memory:`, `sqlite:` and a path, or the address of a PostgreSQL database. An error never shows a password.
    pub(in crate::sandbox) fn read(url: &str) -> Result<Self, StartError> {
        if url == "memory:" {
            return Ok(Self::Memory);
        }
        let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
        match (scheme, rest.strip_prefix("//").unwrap_or(rest)) {
            ("postgres" | "postgresql", _) => PostgresAddress::read(url).map(Self::Postgres),
            ("sqlite", ":memory:") => Err(StartError::Database(format!(
                "{url} is no longer an address of the sandbox's database. To keep everything in memory, give memory:."
            ))),
            ("sqlite", path) if !path.is_empty() => Ok(Self::Sqlite(PathBuf::from(path))),
            _ => Err(StartError::Database(format!(
                "The database address begins with \"{scheme}\". Give sqlite: and a file (sqlite:.guichet/sandbox.sqlite), postgres://USER:PASSWORD@HOST/DATABASE, or memory: to keep everything in memory."
            ))),
        }
    }

    /// The database file. `None` if the database is not a file.
    pub(in crate::sandbox) fn file(&self) -> Option<&Path> {
        match self {
            Self::Memory | Self::Postgres(_) => None,
            Self::Sqlite(path) => Some(path),
        }
    }
}

/// The address of a PostgreSQL database. It contains a password, so it prints only its host and its database.
#[derive(Clone, Eq, PartialEq)]
pub(in crate::sandbox) struct PostgresAddress(Url);

impl PostgresAddress {
    fn read(url: &str) -> Result<Self, StartError> {
        postgres_address::parse(url).map(Self).map_err(StartError::Database)
    }

    /// The whole address, with the password.
    #[cfg(feature = "sandbox-postgres")]
    pub(super) fn expose(&self) -> &Url {
        &self.0
    }
}

impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgres://{}", self.0.host_str().unwrap_or_default())?;
        if let Some(port) = self.0.port() {
            write!(f, ":{port}")?;
        }
        f.write_str(self.0.path())
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_in_memory_in_a_file_or_on_a_server() {
        assert_eq!(Location::read("memory:").unwrap(), Location::Memory);
        assert_eq!(Location::read("sqlite:.guichet/s.sqlite").unwrap(), Location::Sqlite(".guichet/s.sqlite".into()));
        assert_eq!(Location::read("sqlite:///srv/s.sqlite").unwrap(), Location::Sqlite("/srv/s.sqlite".into()));
        for address in ["postgres://host/db", "postgresql://u:p@host:1/db?sslmode=require", "postgres:///db?host=/run"]
        {
            assert!(matches!(Location::read(address).unwrap(), Location::Postgres(_)), "{address}");
        }
        for other in ["mysql://host/db", "sqlite:", "memory", "memory:x", ""] {
            assert!(Location::read(other).is_err(), "{other}");
        }
        for old in ["sqlite::memory:", "sqlite://:memory:"] {
            assert!(Location::read(old).unwrap_err().to_string().ends_with("give memory:."));
        }
    }

    #[test]
    fn an_address_never_shows_its_password() {
        let location = Location::read("postgres://awa:hun%2Fter2@db.example:5433/shop?password=hunter3").unwrap();
        assert_eq!(format!("{location:?}"), "Postgres(PostgresAddress(postgres://db.example:5433/shop))");
        for refused in [
            "postgres://awa:hunt/er2@host/db",
            "postgres://awa:7?hunter2@host/db",
            "postgres://awa:7#hunter2@host/db",
            "postgres://awa:hunter2@host:port/db",
            "postgre://awa:hunter2@host/db",
        ] {
            let error = Location::read(refused).unwrap_err().to_string();
            assert!(!error.contains("hunt") && !error.contains("er2"), "{error}");
        }
    }
}
