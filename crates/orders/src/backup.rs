//! A copy of a ledger in SQLite, while it is used.

use crate::store::clock;
use crate::{OrdersError, SqliteOrders};
use guichet::shop::ledger::{Shared, Store};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use std::fs::{File, remove_file, rename};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl SqliteOrders {
    /// Writes a copy of the whole database into a new file, readable by its owner alone: all that was committed when it
    /// began. The ledger in it says when it was copied, so that a server does not take it for the ledger itself: see
    /// `Ledger::declare_restore`.
    ///
    /// # Errors
    /// [`OrdersError`] if the file exists, cannot be written, or the database fails. Then there is no such file.
    pub async fn backup(&self, file: &Path) -> Result<(), OrdersError> {
        if file.exists() {
            return Err(OrdersError::File(std::io::ErrorKind::AlreadyExists.into()));
        }
        // Beside it, so that a copy that was begun and not ended has not its name.
        let begun = &*beside(file, ".begun");
        let written = self.write_copy(begun).await;
        let renamed = written.and_then(|()| rename(begun, file).map_err(OrdersError::File));
        // Another's that was begun is not removed.
        if !matches!(&renamed, Err(OrdersError::File(error)) if error.kind() == ErrorKind::AlreadyExists)
            && renamed.is_err()
        {
            let _ = remove_file(begun);
        }
        renamed
    }

    /// Puts a copy in the place of the ledger at this address, while no server uses it. What was there is kept beside
    /// it, under the name that this returns.
    ///
    /// # Errors
    /// [`OrdersError`] if the file is no copy of a ledger with this prefix, if the address names no file, or if a file
    /// cannot be written.
    pub async fn put_back(copy: &Path, address: &str, prefix: &str) -> Result<PathBuf, OrdersError> {
        let place: SqliteConnectOptions = address.parse()?;
        let (place, kept) =
            (place.get_filename().to_owned(), beside(place.get_filename(), &format!(".before-{}", clock())));
        let opened = Self::in_file(SqliteConnectOptions::new().filename(copy).read_only(true), prefix.into()).await?;
        let copied_at = opened.shared().await.map(|shared| shared.copied_at);
        opened.pool.close().await;
        if !matches!(copied_at, Ok(Some(_))) {
            return Err(OrdersError::NoCopy);
        }
        for end in ["", "-wal", "-shm"] {
            match rename(beside(&place, end), beside(&kept, end)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(OrdersError::File(error)),
                _ => {}
            }
        }
        let put = crate::connect::keep_private(&place).and_then(|()| std::fs::copy(copy, &place));
        put.and_then(|_| File::open(&place)?.sync_all()).map_err(OrdersError::File)?;
        Ok(kept)
    }

    /// The ledger of a file as it is: no table is created.
    async fn in_file(options: SqliteConnectOptions, prefix: Arc<str>) -> Result<Self, OrdersError> {
        Ok(Self { pool: SqlitePoolOptions::new().max_connections(1).connect_with(options).await?, prefix })
    }

    async fn write_copy(&self, file: &Path) -> Result<(), OrdersError> {
        crate::connect::new_private(file).map_err(OrdersError::File)?;
        let copied_at = self.now().await?;
        sqlx::query("VACUUM INTO $1").bind(file.to_string_lossy()).execute(&self.pool).await?;
        let options = SqliteConnectOptions::new().filename(file).journal_mode(SqliteJournalMode::Delete);
        let copy = Self::in_file(options, Arc::clone(&self.prefix)).await?;
        let before = copy.shared().await?;
        let after = Shared { copied_at: Some(copied_at), ..before.clone() };
        let is_marked = copy.replace_shared(&before, &after).await?;
        copy.pool.close().await;
        if !is_marked {
            return Err(OrdersError::NoCopy);
        }
        File::open(file).and_then(|copy| copy.sync_all()).map_err(OrdersError::File)
    }
}

/// The path of a file beside another one, whose name ends so.
fn beside(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    name.into()
}
