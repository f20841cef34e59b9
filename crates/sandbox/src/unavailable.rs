//! The error of a database that fails.

/// The database failed, for example because the disk is full. Nothing was stored.
///
/// ```no_run
/// # async fn advance(shop: guichet_sandbox::Tenant) {
/// if let Err(unavailable) = shop.clock().advance(60).await {
///     let unavailable: guichet_sandbox::Unavailable = unavailable;
///     eprintln!("{unavailable}");
/// }
/// # }
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[error("The sandbox's database is unavailable: {reason}")]
pub struct Unavailable {
    reason: String,
}

impl Unavailable {
    /// An error with this reason.
    #[must_use]
    pub fn because(what: impl Into<String>) -> Self {
        Self { reason: what.into() }
    }

    /// Concurrent requests changed the same records at each attempt.
    pub(super) fn contended() -> Self {
        Self::because("other requests changed the same records each time")
    }

    /// The sandbox was stopped.
    #[must_use]
    pub fn stopped() -> Self {
        Self::because("the sandbox was stopped")
    }

    /// The store was closed.
    pub(super) fn closed() -> Self {
        Self::because("it is closed")
    }
}
