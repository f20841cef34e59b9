//! The latest second of the service's clock that is stored.

use super::Postgres;
use crate::sandbox::store::Unavailable;
use sqlx::{PgConnection, Row};

impl Postgres {
    pub(in crate::sandbox::store) async fn latest_second(&self) -> Result<i64, Unavailable> {
        Ok(self.one(sqlx::query("SELECT latest_second FROM service")).await?.try_get(0)?)
    }
}

/// Stores a second; a later one that is stored already stays.
pub(super) async fn save(connection: &mut PgConnection, second: i64) -> Result<bool, sqlx::Error> {
    let update = sqlx::query("UPDATE service SET latest_second = $1 WHERE latest_second < $1").bind(second);
    Ok(update.execute(connection).await?.rows_affected() == 1)
}
