//! The latest second of the service's clock that is stored.

use super::Sqlite;
use crate::sandbox::store::Unavailable;
use sqlx::SqliteConnection;

impl Sqlite {
    pub(in crate::sandbox::store) async fn latest_second(&self) -> Result<i64, Unavailable> {
        Ok(sqlx::query_scalar("SELECT latest FROM service_clock").fetch_one(&self.readers).await?)
    }
}

/// Stores a second; a later one that is stored already stays.
pub(super) async fn save(connection: &mut SqliteConnection, second: i64) -> Result<bool, sqlx::Error> {
    let update = sqlx::query("UPDATE service_clock SET latest = $1 WHERE latest < $1").bind(second);
    Ok(update.execute(connection).await?.rows_affected() == 1)
}
