//! The only place of the sandbox that reads a clock.

use crate::values::Moment;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The latest second that this process has told.
static LATEST: AtomicI64 = AtomicI64::new(0);

/// The wall clock, moved forward by a merchant's own offset in seconds.
pub(super) fn now(offset: i64) -> Moment {
    #[expect(clippy::disallowed_methods, reason = "this is the clock; everywhere else time is an argument")]
    let wall = SystemTime::now();
    let seconds = wall.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    // Never back: what was told to be final or expired would be open again.
    Moment::from_unix(LATEST.fetch_max(seconds, Ordering::Relaxed).max(seconds)).plus(offset)
}
