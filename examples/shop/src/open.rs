//! Opens the shop's database: its own tables, and the ledger's.

use crate::database::Database;
use guichet::native::Ledger;
use guichet_orders::AnyOrders;
use sqlx::any::{AnyPoolOptions, install_default_drivers};
use sqlx::sqlite::SqliteConnectOptions;
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::{fmt, io};

pub(crate) fn is_postgres(address: &str) -> bool {
    address.starts_with("postgres:") || address.starts_with("postgresql:")
}

/// The ledger of the shop's orders.
pub(crate) type ShopLedger = Ledger<AnyOrders>;

/// Opens the ledger's tables in the database at this address, which was opened before. The error is a sentence.
pub(crate) async fn open_orders(address: &str) -> Result<AnyOrders, String> {
    AnyOrders::connect(address, "guichet_").await.map_err(|error| error.to_string())
}

/// Opens the database at this address. A file is created with its folder. The error is a sentence.
pub(crate) async fn open(address: &str) -> Result<Database, String> {
    let is_postgres = is_postgres(address);
    let shown = if is_postgres { "postgres://…" } else { address }; // without the password
    let unusable = |why: &dyn fmt::Display| format!("The shop's database {shown} cannot be used: {why}.");
    if is_postgres && !cfg!(feature = "postgres") {
        return Err(unusable(&"this program was built without PostgreSQL; build it with --features postgres"));
    } else if address.starts_with("sqlite:") && !address.contains(":memory:") {
        let options: SqliteConnectOptions = address.parse().map_err(|error: sqlx::Error| unusable(&error))?;
        keep_private(options.get_filename()).map_err(|error| unusable(&error))?;
    } else if !is_postgres && address != "memory:" {
        return Err(unusable(&"give sqlite: and a file (sqlite:.guichet/shop.sqlite), or memory:"));
    }
    install_default_drivers();
    // SQLite has one connection, which is never closed: with it, orders in memory would be lost. A request that is
    // canceled during the test of a connection would close it.
    let pool = AnyPoolOptions::new().max_connections(if is_postgres { 10 } else { 1 });
    let pool = pool.idle_timeout(None).max_lifetime(None).test_before_acquire(is_postgres);
    let pool = pool.connect(if address == "memory:" { "sqlite::memory:" } else { address }).await;
    Database::new(pool.map_err(|error| unusable(&error))?, is_postgres).await.map_err(|error| {
        let remedy = "If an earlier version of the shop created it, delete it, or choose another";
        unusable(&format_args!("{error}. {remedy}"))
    })
}

/// Creates the file with its folder, and makes it readable by its owner alone: it holds customers, orders and logins.
fn keep_private(file: &Path) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        options.mode(0o600).open(file)?.set_permissions(fs::Permissions::from_mode(0o600))
    }
    #[cfg(not(unix))]
    options.open(file).map(drop)
}
