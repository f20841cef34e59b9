//! What time it is. Beside the fetch room, the merchant's server asks here alone.

use crate::values::Moment;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// By the clock on the wall, which may be set back or forward.
#[expect(clippy::disallowed_methods, reason = "the one place where the merchant's server asks for the time of day")]
pub(super) fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment::from_unix(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

/// By a clock that only goes forward.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the merchant's server asks for a moment to count from"
)]
pub(super) fn monotonic_now() -> Instant {
    Instant::now()
}
