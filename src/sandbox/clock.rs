//! The only place of the sandbox that reads a clock.

use crate::values::Moment;
use std::time::{SystemTime, UNIX_EPOCH};

/// The wall clock, moved forward by a merchant's own offset in seconds.
pub(super) fn now(offset: i64) -> Moment {
    #[expect(clippy::disallowed_methods, reason = "this is the clock; everywhere else time is an argument")]
    let wall = SystemTime::now();
    let seconds = wall.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Moment::from_unix(i64::try_from(seconds).unwrap_or(i64::MAX)).plus(offset)
}
