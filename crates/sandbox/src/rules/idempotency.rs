//! Requests with an `Idempotency-Key`: `decisions.md` 2.

use guichet::values::Moment;

/// A request with an `Idempotency-Key`. A key belongs to one merchant and one operation.
#[derive(Clone, Debug)]
pub struct IdempotentRequest {
    /// The merchant's id.
    pub merchant: String,
    /// The operation's name.
    pub operation: &'static str,
    /// The fingerprint of the key: the key itself may contain personal data.
    pub fingerprint: String,
    /// The digest of the canonical body.
    pub digest: String,
    /// The time of the request, by the merchant's clock.
    pub now: Moment,
}

impl IdempotentRequest {
    /// The lifetime of a key, in seconds.
    pub const LIFETIME: i64 = 24 * 60 * 60;

    /// When its key expires. Exclusive: at this time it is free again.
    #[must_use]
    pub fn expires_at(&self) -> Moment {
        self.now.plus(Self::LIFETIME)
    }
}
