//! Idempotency keys: what was made under each.

use super::Unavailable;
use crate::sandbox::rules::Once;
use sqlx::{Row, SqliteConnection, SqlitePool};

/// What was made under a key, by a request whose canonical body has this digest.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct Made {
    pub(in crate::sandbox) id: String,
    pub(in crate::sandbox) digest: String,
}

/// Takes a key for what is made now; `false` where something else was made under it, and is still known.
pub(super) async fn take(connection: &mut SqliteConnection, once: &Once, made: &str) -> Result<bool, sqlx::Error> {
    let text = "INSERT INTO idempotency_keys (merchant, operation, fingerprint, digest, made, expires_at) \
                VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (merchant, operation, fingerprint) DO UPDATE \
                SET digest = excluded.digest, made = excluded.made, expires_at = excluded.expires_at \
                WHERE idempotency_keys.expires_at <= $7";
    let taken = sqlx::query(text)
        .bind(&once.merchant)
        .bind(once.operation)
        .bind(&once.fingerprint)
        .bind(&once.digest)
        .bind(made)
        .bind(once.expires_at().unix())
        .bind(once.now.unix())
        .execute(connection)
        .await?;
    Ok(taken.rows_affected() == 1)
}

pub(super) async fn made(readers: &SqlitePool, once: &Once) -> Result<Option<Made>, Unavailable> {
    let row = sqlx::query(
        "SELECT made, digest FROM idempotency_keys \
         WHERE merchant = $1 AND operation = $2 AND fingerprint = $3 AND expires_at > $4",
    )
    .bind(&once.merchant)
    .bind(once.operation)
    .bind(&once.fingerprint)
    .bind(once.now.unix())
    .fetch_optional(readers)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Made { id: row.try_get("made")?, digest: row.try_get("digest")? }))
}
