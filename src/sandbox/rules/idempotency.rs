//! Requests with an `Idempotency-Key`: `decisions.md` 2.

use crate::values::Moment;

/// A request with an `Idempotency-Key`. A key belongs to one merchant and one operation.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct IdempotentRequest {
    pub(in crate::sandbox) merchant: String,
    pub(in crate::sandbox) operation: &'static str,
    /// The fingerprint of the key: the key itself may contain personal data.
    pub(in crate::sandbox) fingerprint: String,
    /// The digest of the canonical body.
    pub(in crate::sandbox) digest: String,
    pub(in crate::sandbox) now: Moment,
}

impl IdempotentRequest {
    /// The lifetime of a key, in seconds.
    pub(in crate::sandbox) const LIFETIME: i64 = 24 * 60 * 60;

    /// When its key expires. Exclusive: at this time it is free again.
    pub(in crate::sandbox) fn expires_at(&self) -> Moment {
        self.now.plus(Self::LIFETIME)
    }
}
