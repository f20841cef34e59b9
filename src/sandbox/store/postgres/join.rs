//! The start of an instance on a database: every instance has the same keys.

use super::locks::Lock;
use super::{Postgres, STATEMENT_DEADLINE, merchants};
use crate::sandbox::StartError;
use crate::sandbox::store::{MerchantRow, Unavailable};
use sqlx::{Connection, Row};

/// The fingerprints of an instance's keys.
#[derive(Debug)]
pub(in crate::sandbox) struct KeyFingerprints {
    pub(in crate::sandbox) instance: String,
    /// That of the first merchant's secret key.
    pub(in crate::sandbox) first: String,
}

/// Why an instance cannot join the others.
enum JoinError {
    Database(sqlx::Error),
    /// The keys that differ, in words.
    OtherKeys(&'static str),
}

impl From<sqlx::Error> for JoinError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl Postgres {
    /// Compares this instance's keys with those of the others. The first instance stores the fingerprints and the first merchant.
    ///
    /// # Errors
    /// If the keys differ.
    pub(in crate::sandbox) async fn join(&self, keys: &KeyFingerprints, first: &MerchantRow) -> Result<(), StartError> {
        let joined = tokio::time::timeout(STATEMENT_DEADLINE, self.try_join(keys, first)).await;
        let joined = joined.unwrap_or(Err(JoinError::Database(sqlx::Error::PoolTimedOut)));
        joined.map_err(|error| match error {
            JoinError::Database(error) => StartError::Database(Unavailable::from(error).to_string()),
            JoinError::OtherKeys(which) => StartError::Keys(format!(
                "{which} from those with which this database was first used. Give every instance the same GUICHET_INSTANCE_KEY and \
                 GUICHET_SECRET_KEY, or a copy of the same file with --keys; or give another database."
            )),
        })
    }

    async fn try_join(&self, keys: &KeyFingerprints, first: &MerchantRow) -> Result<(), JoinError> {
        let mut connection = self.readers.acquire().await?;
        let mut transaction = connection.begin().await?;
        // Whatever the database's default is: a snapshot from before the lock would not show what the other instance wrote.
        sqlx::raw_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED").execute(&mut *transaction).await?;
        let lock = sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(Lock::Join.on(""));
        lock.execute(&mut *transaction).await?;
        let stored = sqlx::query("SELECT instance_key_fingerprint, first_key_fingerprint FROM service");
        let stored = stored.fetch_one(&mut *transaction).await?;
        let instance: Option<String> = stored.try_get(0)?;
        let first_key: Option<String> = stored.try_get(1)?;
        match (instance, first_key) {
            (Some(instance), Some(first_key)) => match (instance == keys.instance, first_key == keys.first) {
                (true, true) => Ok(()),
                (false, true) => Err(JoinError::OtherKeys("The instance key of this sandbox differs")),
                (true, false) => Err(JoinError::OtherKeys("The first merchant's secret key of this sandbox differs")),
                (false, false) => Err(JoinError::OtherKeys("The keys of this sandbox differ")),
            },
            _ => {
                let text = "UPDATE service SET instance_key_fingerprint = $1, first_key_fingerprint = $2";
                let stored = sqlx::query(text).bind(&keys.instance).bind(&keys.first);
                stored.execute(&mut *transaction).await?;
                merchants::add(&mut transaction, first).await?;
                Ok(transaction.commit().await?)
            }
        }
    }
}
