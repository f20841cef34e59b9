use std::fmt;

/// Why a step of the ledger was not done.
#[derive(Debug)]
#[non_exhaustive]
pub enum OrdersError {
    /// The database refused it, or did not answer: then it may have been done.
    Database(sqlx::Error),
    /// A row is no JSON of this version.
    Unreadable(serde_json::Error),
}

impl fmt::Display for OrdersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(error) => {
                write!(f, "The ledger's database failed or did not answer, so a change may have been stored: {error}")
            }
            Self::Unreadable(error) => {
                write!(f, "A row of the ledger cannot be read: {error}. Was it written by a newer version, or by hand?")
            }
        }
    }
}

impl std::error::Error for OrdersError {}

impl From<sqlx::Error> for OrdersError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl From<serde_json::Error> for OrdersError {
    fn from(error: serde_json::Error) -> Self {
        Self::Unreadable(error)
    }
}

/// Why a ledger cannot be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The address is none of `sqlite:` and a file, `memory:` and, with the feature `postgres`, `postgres://…`.
    Address,
    /// The file of the database cannot be created or made private.
    File(std::io::Error),
    /// The file is no copy of a ledger, or could not be marked as one.
    NoCopy,
    /// The prefix is not of the letters a to z, digits and `_`, or longer than 30 of them.
    Prefix(String),
    /// These tables are missing and could not be created, such as by a role that may not.
    Missing {
        /// Their names.
        tables: Vec<String>,
        /// The error of the database.
        cause: sqlx::Error,
    },
    /// The tables were written by a newer version of this crate.
    Newer {
        /// The table that says so.
        table: String,
        /// Its format.
        format: i64,
    },
    /// The database did not answer.
    Orders(OrdersError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address if cfg!(feature = "postgres") => {
                f.write_str("The address of the database is none of sqlite:FILE, postgres://… and memory:.")
            }
            Self::Address => f.write_str(
                "The address of the database is none of sqlite:FILE and memory:. For postgres://…, build with the feature `postgres`.",
            ),
            Self::File(error) => write!(f, "The file of the database cannot be used: {error}."),
            Self::NoCopy => f.write_str("The file is no copy of a ledger with these tables."),
            Self::Prefix(prefix) => {
                write!(f, "The prefix {prefix:?} is not of the letters a to z, digits and `_`, 30 at most.")
            }
            Self::Missing { tables, cause } => write!(
                f,
                "The ledger's tables {} are missing and could not be created ({cause}). Create them by a role that may.",
                tables.join(", ")
            ),
            Self::Newer { table, format } => write!(
                f,
                "The table {table} has the format {format}, which this version of guichet-orders does not know. Use a newer one."
            ),
            Self::Orders(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {}

impl<E: Into<OrdersError>> From<E> for OpenError {
    fn from(error: E) -> Self {
        Self::Orders(error.into())
    }
}
