//! Idempotency keys, and the object that was created under each.

use super::Postgres;
use crate::sandbox::rules::IdempotentRequest;
use crate::sandbox::store::{Made, Unavailable};
use crate::values::Moment;
use sqlx::postgres::PgBindIterExt;
use sqlx::{PgConnection, Row};

/// The expired keys; `$1` is the service's clock, and each merchant has its own offset. Joined from `merchants`, which are few, so that the
/// index finds the expired keys.
macro_rules! expired {
    () => {
        "merchants JOIN idempotency_keys ON idempotency_keys.merchant = merchants.id \
         AND idempotency_keys.expires_at <= $1 + merchants.clock_offset"
    };
}

/// A row if there are expired keys.
pub(super) const ANY_EXPIRED: &str = concat!("SELECT 1 FROM ", expired!(), " LIMIT 1");

/// Reserves different keys, each for the id of an object that is created now. Returns the ids whose key was free: a key is not while
/// another object was created under it and it has not expired.
pub(super) async fn take(
    connection: &mut PgConnection,
    keys: &[(usize, &IdempotentRequest, &str)],
) -> Result<Vec<String>, sqlx::Error> {
    // A new key's time is one lifetime after the request's time.
    let text = "INSERT INTO idempotency_keys (merchant, operation, fingerprint, digest, made, expires_at) \
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[]) \
        ON CONFLICT (merchant, operation, fingerprint) DO UPDATE \
        SET digest = excluded.digest, made = excluded.made, expires_at = excluded.expires_at \
        WHERE idempotency_keys.expires_at <= excluded.expires_at - $7 RETURNING made";
    let requests = || keys.iter().map(|(_, request, _)| *request);
    sqlx::query_scalar(text)
        .bind(requests().map(|request| &*request.merchant).bind_iter())
        .bind(requests().map(|request| request.operation).bind_iter())
        .bind(requests().map(|request| &*request.fingerprint).bind_iter())
        .bind(requests().map(|request| &*request.digest).bind_iter())
        .bind(keys.iter().map(|(_, _, made)| *made).bind_iter())
        .bind(requests().map(|request| request.expires_at().unix()).bind_iter())
        .bind(IdempotentRequest::LIFETIME)
        .fetch_all(connection)
        .await
}

/// Deletes at most `limit` keys that have expired by their merchants' clocks. `false` if there are none. Keys that another instance is
/// deleting are left to it.
pub(super) async fn delete_expired(
    connection: &mut PgConnection,
    wall: Moment,
    limit: i64,
) -> Result<bool, sqlx::Error> {
    let text = concat!(
        "DELETE FROM idempotency_keys WHERE (merchant, operation, fingerprint) IN ",
        "(SELECT idempotency_keys.merchant, operation, fingerprint FROM ",
        expired!(),
        " ORDER BY merchants.id, expires_at, operation, fingerprint LIMIT $2 FOR UPDATE OF idempotency_keys SKIP LOCKED)"
    );
    let deleted = sqlx::query(text).bind(wall.unix()).bind(limit).execute(connection).await?;
    Ok(deleted.rows_affected() > 0)
}

impl Postgres {
    /// Whether there are expired keys.
    pub(in crate::sandbox::store) async fn any_expired_keys(&self, wall: Moment) -> Result<bool, Unavailable> {
        Ok(self.optional(sqlx::query(ANY_EXPIRED).bind(wall.unix())).await?.is_some())
    }

    pub(in crate::sandbox::store) async fn made(
        &self,
        request: &IdempotentRequest,
    ) -> Result<Option<Made>, Unavailable> {
        let text = "SELECT made, digest FROM idempotency_keys \
                    WHERE merchant = $1 AND operation = $2 AND fingerprint = $3 AND expires_at > $4";
        let query = sqlx::query(text)
            .bind(&request.merchant)
            .bind(request.operation)
            .bind(&request.fingerprint)
            .bind(request.now.unix());
        let row = self.optional(query).await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(Made { id: row.try_get("made")?, digest: row.try_get("digest")? }))
    }
}
