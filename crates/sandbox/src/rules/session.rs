//! Customer sessions: valid for exactly 30 minutes from creation, unless revoked.

use guichet::values::Moment;

/// The lifetime of a session, in seconds.
pub(crate) const LIFETIME: i64 = 30 * 60;

/// A session, stored under its token's fingerprint.
#[derive(Clone, Debug)]
pub struct Session {
    /// The fingerprint of its token.
    pub fingerprint: String,
    /// Its merchant's id.
    pub merchant: String,
    /// The customer's e-mail.
    pub email: String,
    /// When it was created.
    pub created_at: Moment,
    /// When it expires, exclusive.
    pub expires_at: Moment,
    /// When it was revoked.
    pub revoked_at: Option<Moment>,
}

/// The status of a session at a time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SessionStatus {
    Expired,
    Revoked,
    Valid,
}

impl Session {
    /// Its status now. Expiry is exclusive: at `expires_at` it has expired.
    pub(crate) fn status(&self, now: Moment) -> SessionStatus {
        if self.revoked_at.is_some() {
            SessionStatus::Revoked
        } else if now >= self.expires_at {
            SessionStatus::Expired
        } else {
            SessionStatus::Valid
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_after_thirty_minutes_or_when_it_is_revoked() {
        let start = Moment::from_unix(1_000);
        let session = Session {
            fingerprint: String::new(),
            merchant: String::new(),
            email: String::new(),
            created_at: start,
            expires_at: start.plus(LIFETIME),
            revoked_at: None,
        };
        assert_eq!(session.status(start.plus(1_799)), SessionStatus::Valid);
        assert_eq!(session.status(start.plus(1_800)), SessionStatus::Expired);
        let revoked = Session { revoked_at: Some(start.plus(5)), ..session };
        assert_eq!(revoked.status(start.plus(6)), SessionStatus::Revoked);
        assert_eq!(revoked.status(start.plus(9_999)), SessionStatus::Revoked);
    }
}
