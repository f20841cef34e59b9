/// Why a ledger's database cannot be opened, or why a step of the ledger was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OrdersError {
    /// The address is none of `sqlite:` and a file, `memory:` and, with the feature `postgres`, `postgres://…`.
    #[error("The address of the database is none of sqlite:FILE{HAS_POSTGRES}")]
    Address,
    /// The database refused a step, or did not answer: then the step may have been done.
    #[error("The ledger's database failed or did not answer, so a change may have been stored: {0}")]
    Database(#[from] sqlx::Error),
    /// The file of the database cannot be created or made private.
    #[error("The file of the database cannot be used: {0}.")]
    File(#[source] std::io::Error),
    /// These tables are missing and could not be created, such as by a role that may not.
    #[error(
        "The ledger's tables {} are missing and could not be created ({cause}). Create them by a role that may.",
        tables.join(", ")
    )]
    Missing {
        /// Their names.
        tables: Vec<String>,
        /// The error of the database.
        cause: sqlx::Error,
    },
    /// The tables were written by a newer version of this crate.
    #[error(
        "The table {table} has the format {format}, which this version of guichet-orders does not know. \
         Use a newer one."
    )]
    Newer {
        /// The table that says so.
        table: String,
        /// Its format.
        format: i64,
    },
    /// The file is no copy of a ledger, or could not be marked as one.
    #[error("The file is no copy of a ledger with these tables.")]
    NoCopy,
    /// The prefix is not of the letters a to z, digits and `_`, or longer than 30 of them.
    #[error("The prefix {0:?} is not of the letters a to z, digits and `_`, 30 at most.")]
    Prefix(String),
    /// A row is no JSON of this version.
    #[error("A row of the ledger cannot be read: {0}. Was it written by a newer version, or by hand?")]
    Unreadable(#[from] serde_json::Error),
}

/// The end of the sentence about an address: what else is an address in this build.
const HAS_POSTGRES: &str = if cfg!(feature = "postgres") {
    ", postgres://… and memory:."
} else {
    " and memory:. For postgres://…, build with the feature `postgres`."
};
