//! Opens a ledger by the address of its database.

use crate::{AnyOrders, OrdersError};
#[cfg(feature = "sqlite")]
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};

impl AnyOrders {
    /// Opens the ledger of the tables with this prefix, in the database at this address: `sqlite:.guichet/shop.sqlite`,
    /// a file that is created with its folder and readable by its owner alone; `postgres://…` with the feature
    /// `postgres`; or `memory:`, which ends with the process.
    ///
    /// ```no_run
    /// # async fn open() -> Result<(), guichet_orders::OrdersError> {
    /// let orders = guichet_orders::AnyOrders::connect("memory:", "guichet_").await?;
    /// # let _ = orders; Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`OrdersError`] if the address is none of these, or the database cannot be opened.
    pub async fn connect(address: &str, prefix: &str) -> Result<Self, OrdersError> {
        Self::open_at(address, prefix, true).await
    }

    /// The same, of a database that exists: a file is not created.
    ///
    /// # Errors
    /// [`OrdersError`] as above, also if there is no such file.
    pub async fn connect_existing(address: &str, prefix: &str) -> Result<Self, OrdersError> {
        Self::open_at(address, prefix, false).await
    }

    async fn open_at(address: &str, prefix: &str, creates: bool) -> Result<Self, OrdersError> {
        #[cfg(feature = "postgres")]
        if address.starts_with("postgres:") || address.starts_with("postgresql:") {
            let pool = sqlx::PgPool::connect(address).await?;
            return Ok(Self::Postgres(crate::PostgresOrders::open(pool, prefix).await?));
        }
        #[cfg(feature = "sqlite")]
        if address == "memory:" || address.starts_with("sqlite:") {
            let mut options: SqliteConnectOptions = match address {
                "memory:" => "sqlite::memory:".parse()?,
                _ => address.parse()?,
            };
            if !address.contains("memory:") {
                if !creates && !options.get_filename().exists() {
                    return Err(OrdersError::File(std::io::ErrorKind::NotFound.into()));
                }
                keep_private(options.get_filename()).map_err(OrdersError::File)?;
                options = options.journal_mode(SqliteJournalMode::Wal);
            }
            // One connection, which is never closed: with it, orders in memory would be lost. A request that is
            // canceled during the test of a connection would close it.
            let pool = SqlitePoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
            let pool = pool.test_before_acquire(false).connect_with(options).await?;
            return Ok(Self::Sqlite(crate::SqliteOrders::open(pool, prefix).await?));
        }
        Err(OrdersError::Address)
    }
}

/// Creates a file that does not exist yet, readable by its owner alone.
#[cfg(feature = "sqlite")]
pub(crate) fn new_private(file: &std::path::Path) -> std::io::Result<()> {
    std::fs::OpenOptions::new().write(true).create_new(true).open(file)?;
    keep_private(file)
}

/// Creates the file with its folder, and makes it readable by its owner alone: it holds customers and orders.
#[cfg(feature = "sqlite")]
pub(crate) fn keep_private(file: &std::path::Path) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        options.mode(0o600).open(file)?.set_permissions(std::fs::Permissions::from_mode(0o600))
    }
    #[cfg(not(unix))]
    options.open(file).map(drop)
}
