//! A copy of a ledger in SQLite, while it is used.

use crate::{OpenError, SqliteOrders};
use guichet::shop::ledger::{Shared, Store};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use std::fs::{File, rename};
use std::path::Path;

impl SqliteOrders {
    /// Writes a copy of the whole database into a new file, readable by its owner alone: all that was committed when it began. The ledger in
    /// it says when it was copied, so that a server does not take it for the ledger itself: see `Ledger::declare_restore`.
    ///
    /// # Errors
    /// [`OpenError`] if the file exists, cannot be written, or the database fails. Then there is no such file.
    pub async fn backup(&self, file: &Path) -> Result<(), OpenError> {
        if file.exists() {
            return Err(OpenError::File(std::io::ErrorKind::AlreadyExists.into()));
        }
        // Beside it, so that a copy that was begun and not ended has not its name.
        let mut begun = file.as_os_str().to_owned();
        begun.push(".begun");
        let begun = Path::new(&begun);
        let written = self.write_copy(begun).await;
        let renamed = written.and_then(|()| rename(begun, file).map_err(OpenError::File));
        if renamed.is_err() {
            let _ = std::fs::remove_file(begun);
        }
        renamed
    }

    async fn write_copy(&self, file: &Path) -> Result<(), OpenError> {
        let _ = std::fs::remove_file(file);
        crate::connect::keep_private(file).map_err(OpenError::File)?;
        let copied_at = self.now().await?;
        sqlx::query("VACUUM INTO $1").bind(file.to_string_lossy()).execute(&self.pool).await?;
        let options = SqliteConnectOptions::new().filename(file).journal_mode(SqliteJournalMode::Delete);
        let copy = SqlitePoolOptions::new().max_connections(1).connect_with(options).await?;
        let copy = Self { pool: copy, prefix: self.prefix.clone() };
        let before = copy.shared().await?;
        copy.replace_shared(&before, &Shared { copied_at: Some(copied_at), ..before.clone() }).await?;
        copy.pool.close().await;
        File::open(file).and_then(|copy| copy.sync_all()).map_err(OpenError::File)
    }
}
