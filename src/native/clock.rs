//! The clocks of the merchant's server. No other module reads a clock, except `transport`.

use crate::values::Moment;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The time of day. The clock may be set back or forward.
#[expect(clippy::disallowed_methods, reason = "the one place where the merchant's server reads the time of day")]
pub(super) fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment::from_unix(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

/// The time of a clock that only goes forward.
#[expect(
    clippy::disallowed_methods,
    reason = "the monotonic clock of every module but `transport`, which times its own calls"
)]
pub(super) fn monotonic_now() -> Instant {
    Instant::now()
}
