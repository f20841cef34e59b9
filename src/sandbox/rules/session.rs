//! Customer sessions: valid for exactly 30 minutes from creation, unless revoked.

use crate::values::Moment;

/// The lifetime of a session, in seconds.
pub(in crate::sandbox) const LIFETIME: i64 = 30 * 60;

/// A session, stored under its token's fingerprint.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct Session {
    pub(in crate::sandbox) fingerprint: String,
    pub(in crate::sandbox) merchant: String,
    pub(in crate::sandbox) email: String,
    #[cfg_attr(
        not(any(feature = "sandbox-postgres", feature = "sandbox-sqlite")),
        expect(dead_code, reason = "a database has a column for it")
    )]
    pub(in crate::sandbox) created_at: Moment,
    pub(in crate::sandbox) expires_at: Moment,
    pub(in crate::sandbox) revoked_at: Option<Moment>,
}

/// The status of a session at a time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::sandbox) enum SessionStatus {
    Expired,
    Revoked,
    Valid,
}

impl Session {
    /// Its status now. Expiry is exclusive: at `expires_at` it has expired.
    pub(in crate::sandbox) fn status(&self, now: Moment) -> SessionStatus {
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
