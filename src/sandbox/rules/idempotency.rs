//! A request that is done once under its Idempotency-Key: `decisions.md` 2.

use crate::values::Moment;

/// How long a key is known, in seconds.
const LIFETIME: i64 = 24 * 60 * 60;

/// Such a request. A key is one merchant's and one operation's.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct IdempotentRequest {
    pub(in crate::sandbox) merchant: String,
    pub(in crate::sandbox) operation: &'static str,
    /// Of the key, which may say more than a database should keep.
    pub(in crate::sandbox) fingerprint: String,
    /// Of the canonical body.
    pub(in crate::sandbox) digest: String,
    pub(in crate::sandbox) now: Moment,
}

impl IdempotentRequest {
    /// Until when its key is known. Exclusive: at this moment it is free again.
    pub(in crate::sandbox) fn expires_at(&self) -> Moment {
        self.now.plus(LIFETIME)
    }
}
