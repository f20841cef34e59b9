//! Sessions, under the fingerprints of their tokens.

use super::Sqlite;
use super::insert::Insert;
use crate::sandbox::rules::Session;
use crate::sandbox::store::Unavailable;
use crate::values::Moment;
use sqlx::{Row, SqliteConnection};

/// The insert of new sessions.
pub(super) struct SessionWrites(Insert);

impl SessionWrites {
    pub(super) fn new() -> Self {
        Self(Insert::new("sessions", &["fingerprint", "merchant", "email", "created_at", "expires_at"]))
    }

    pub(super) async fn add(&self, connection: &mut SqliteConnection, sessions: &[Session]) -> Result<(), sqlx::Error> {
        let bind = |statement: super::insert::Statement, session: &Session| {
            statement
                .bind(session.fingerprint.clone())
                .bind(session.merchant.clone())
                .bind(session.email.clone())
                .bind(session.created_at.unix())
                .bind(session.expires_at.unix())
        };
        self.0.run(connection, sessions, bind).await.map(drop)
    }
}

/// Revokes a session. A revoked one keeps its time of revocation.
pub(super) async fn revoke(
    connection: &mut SqliteConnection,
    fingerprint: &str,
    at: Moment,
) -> Result<bool, sqlx::Error> {
    let revoked = sqlx::query("UPDATE sessions SET revoked_at = $1 WHERE fingerprint = $2 AND revoked_at IS NULL")
        .bind(at.unix())
        .bind(fingerprint)
        .execute(connection)
        .await?;
    Ok(revoked.rows_affected() == 1)
}

impl Sqlite {
    pub(in crate::sandbox::store) async fn session(&self, fingerprint: &str) -> Result<Option<Session>, Unavailable> {
        let row = sqlx::query(
            "SELECT merchant, email, created_at, expires_at, revoked_at FROM sessions WHERE fingerprint = $1",
        )
        .bind(fingerprint)
        .fetch_optional(&self.readers)
        .await?;
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
