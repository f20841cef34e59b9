//! The address of a store.

use crate::sandbox::StartError;
use std::path::{Path, PathBuf};

/// The location of the database.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::sandbox) enum Location {
    Memory,
    Sqlite(PathBuf),
}

impl Location {
    /// Parses `memory:`, or `sqlite:` and a path.
    pub(in crate::sandbox) fn read(url: &str) -> Result<Self, StartError> {
        if url == "memory:" {
            return Ok(Self::Memory);
        }
        match url.strip_prefix("sqlite:").map(|rest| rest.strip_prefix("//").unwrap_or(rest)) {
            Some(":memory:") => Err(StartError::Database(format!(
                "{url} is no longer an address of the sandbox's database. To keep everything in memory, give memory:."
            ))),
            Some(path) if !path.is_empty() => Ok(Self::Sqlite(PathBuf::from(path))),
            _ => Err(StartError::Database(format!(
                "{url} is not a database address. Give sqlite: and a file (sqlite:.guichet/sandbox.sqlite), or memory: to keep everything in memory."
            ))),
        }
    }

    /// The database file. `None` in memory.
    pub(in crate::sandbox) fn file(&self) -> Option<&Path> {
        match self {
            Self::Memory => None,
            Self::Sqlite(path) => Some(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_in_memory_or_in_a_file() {
        assert_eq!(Location::read("memory:").unwrap(), Location::Memory);
        assert_eq!(Location::read("sqlite:.guichet/s.sqlite").unwrap(), Location::Sqlite(".guichet/s.sqlite".into()));
        assert_eq!(Location::read("sqlite:///srv/s.sqlite").unwrap(), Location::Sqlite("/srv/s.sqlite".into()));
        for other in ["postgres://host/db", "sqlite:", "memory", "memory:x", ""] {
            assert!(Location::read(other).is_err(), "{other}");
        }
        for old in ["sqlite::memory:", "sqlite://:memory:"] {
            assert!(Location::read(old).unwrap_err().to_string().ends_with("give memory:."));
        }
    }
}
