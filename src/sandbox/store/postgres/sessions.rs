//! Sessions, under the fingerprints of their tokens.

use super::Postgres;
use crate::sandbox::rules::Session;
use crate::sandbox::store::Unavailable;
use crate::values::Moment;
use sqlx::postgres::PgBindIterExt;
use sqlx::{PgConnection, Row};

/// Adds sessions.
pub(super) async fn add(connection: &mut PgConnection, sessions: &[&Session]) -> Result<(), sqlx::Error> {
    let text = "INSERT INTO sessions (fingerprint, merchant, email, created_at, expires_at) \
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) ON CONFLICT DO NOTHING";
    sqlx::query(text)
        .bind(sessions.iter().map(|session| &*session.fingerprint).bind_iter())
        .bind(sessions.iter().map(|session| &*session.merchant).bind_iter())
        .bind(sessions.iter().map(|session| &*session.email).bind_iter())
        .bind(sessions.iter().map(|session| session.created_at.unix()).bind_iter())
        .bind(sessions.iter().map(|session| session.expires_at.unix()).bind_iter())
        .execute(connection)
        .await
        .map(drop)
}

/// Revokes different sessions. A revoked one keeps its time of revocation. Returns the fingerprints of the others.
pub(super) async fn revoke(
    connection: &mut PgConnection,
    revoked: &[(usize, &str, Moment)],
) -> Result<Vec<String>, sqlx::Error> {
    let text = "UPDATE sessions SET revoked_at = new.at FROM unnest($1::text[], $2::bigint[]) AS new (fingerprint, at) \
        WHERE sessions.fingerprint = new.fingerprint AND revoked_at IS NULL RETURNING sessions.fingerprint";
    sqlx::query_scalar(text)
        .bind(revoked.iter().map(|(_, fingerprint, _)| *fingerprint).bind_iter())
        .bind(revoked.iter().map(|(_, _, at)| at.unix()).bind_iter())
        .fetch_all(connection)
        .await
}

impl Postgres {
    pub(in crate::sandbox::store) async fn session(&self, fingerprint: &str) -> Result<Option<Session>, Unavailable> {
        let text = "SELECT merchant, email, created_at, expires_at, revoked_at FROM sessions WHERE fingerprint = $1";
        let row = self.optional(sqlx::query(text).bind(fingerprint)).await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(Session {
            fingerprint: fingerprint.to_owned(),
            merchant: row.try_get("merchant")?,
            email: row.try_get("email")?,
            created_at: Moment::from_unix(row.try_get("created_at")?),
            expires_at: Moment::from_unix(row.try_get("expires_at")?),
            revoked_at: row.try_get::<Option<i64>, _>("revoked_at")?.map(Moment::from_unix),
        }))
    }
}
