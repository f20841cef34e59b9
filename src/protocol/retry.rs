//! The retry table, as a pure function from the result of an attempt, its number and a random number to a pause.

use super::{AttemptResult, Repeat};
use std::time::Duration;

const MOST_ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// The pause after this attempt (from 1) before the next; `None` if there is none. `random_u32` draws a number for full
/// jitter: similar clients must not retry at the same moment.
///
/// | result | safe to repeat | not |
/// |---|---|---|
/// | a reply: 2xx, 3xx, 4xx but 429 | done | done |
/// | 429, unless it says `retryable: false`: not executed | again, not before `Retry-After` | again, not before `Retry-After` |
/// | 5xx, unless it says `retryable: false` | again, not before `Retry-After` | done |
/// | 503 that says `retryable: true`: not executed | again | again |
/// | not sent, or no reply | again | done |
/// | final | done | done |
pub(super) fn pause_before_retry(
    repeat: Repeat,
    result: &AttemptResult,
    attempt: u32,
    random_u32: impl FnOnce() -> u32,
) -> Option<Duration> {
    if attempt >= MOST_ATTEMPTS {
        return None;
    }
    let safe = repeat == Repeat::Always;
    let (again, at_least) = match *result {
        AttemptResult::NotSent | AttemptResult::NoReply => (safe, None),
        AttemptResult::Final { .. } => (false, None),
        AttemptResult::Reply { status: 429, retry_after, retryable } => (retryable != Some(false), retry_after),
        // A gateway may send 503 for a request that was executed. Only the service's own `retryable` tells that it was
        // not.
        AttemptResult::Reply { status: 503, retry_after, retryable: Some(true) } => (true, retry_after),
        AttemptResult::Reply { status, retry_after, retryable } => {
            (safe && status >= 500 && retryable != Some(false), retry_after)
        }
    };
    again.then(|| {
        let most = FIRST_PAUSE.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(LONGEST_PAUSE);
        // In whole milliseconds: a float division takes more bytes in wasm than the rest of this function.
        let most = u64::from(most.subsec_millis()) + most.as_secs() * 1000;
        let drawn = Duration::from_millis(most * u64::from(random_u32()) / u64::from(u32::MAX));
        at_least.map_or(drawn, |least| least.saturating_add(drawn))
    })
}

impl AttemptResult {
    /// Whether the service may have executed the request although it failed. Of the 5xx replies, only a 503 that says
    /// `retryable: true` means that it was not executed: a gateway may reply 502, 503 or 504 to an executed request.
    #[must_use]
    pub const fn may_have_executed(&self) -> bool {
        match *self {
            Self::NotSent => false,
            Self::NoReply => true,
            Self::Final { may_have_executed } => may_have_executed,
            Self::Reply { status: 503, retryable: Some(true), .. } => false,
            Self::Reply { status, .. } => status >= 500,
        }
    }

    /// Whether the same call can succeed later, and does no harm then.
    #[must_use]
    pub fn is_retryable(&self, repeat: Repeat) -> bool {
        match *self {
            _ if self.may_have_executed() && repeat != Repeat::Always => false,
            Self::NotSent | Self::NoReply => true,
            Self::Final { .. } => false,
            Self::Reply { status, retryable, .. } => retryable.unwrap_or(status == 429 || status >= 500),
        }
    }
}

/// Whether a refusal with this status says `retryable: true`: the service has not executed the request, and may do so
/// later.
#[must_use]
pub fn is_retryable_status(status: u16) -> bool {
    matches!(status, 429 | 503)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_REPLY: AttemptResult = AttemptResult::NoReply;

    fn reply(status: u16) -> AttemptResult {
        AttemptResult::Reply { status, retry_after: None, retryable: None }
    }

    #[test]
    fn the_retry_table_is_kept() {
        use Repeat::{Always, Never};
        let table = [
            (Always, reply(200), false),
            (Always, reply(400), false),
            (Always, reply(409), false),
            (Always, reply(422), false),
            (Always, reply(429), true),
            (Never, reply(429), true),
            (Always, reply(500), true),
            (Never, reply(500), false),
            (Always, reply(503), true),
            (Never, reply(503), false),
            (Never, AttemptResult::Reply { status: 503, retry_after: None, retryable: Some(true) }, true),
            (Always, AttemptResult::Reply { status: 500, retry_after: None, retryable: Some(false) }, false),
            (Always, NO_REPLY, true),
            (Never, NO_REPLY, false),
            (Always, AttemptResult::NotSent, true),
            (Never, AttemptResult::NotSent, false),
            (Always, AttemptResult::Final { may_have_executed: true }, false),
        ];
        for (repeat, result, again) in table {
            assert_eq!(pause_before_retry(repeat, &result, 1, || 7).is_some(), again, "{repeat:?} {result:?}");
        }
    }

    #[test]
    fn a_call_is_retryable_if_it_can_succeed_later_and_does_no_harm() {
        use Repeat::{Always, Never};
        let marked = |status, retryable| AttemptResult::Reply { status, retry_after: None, retryable: Some(retryable) };
        for (repeat, result, may_have_executed, retryable) in [
            (Always, NO_REPLY, true, true),
            (Never, NO_REPLY, true, false),
            (Always, reply(500), true, true),
            (Never, reply(500), true, false),
            (Never, marked(500, true), true, false),
            (Always, marked(500, false), true, false),
            (Never, reply(503), true, false),
            (Never, marked(503, true), false, true),
            (Never, reply(429), false, true),
            (Never, marked(429, false), false, false),
            (Always, reply(422), false, false),
            (Never, marked(409, true), false, true),
        ] {
            let found = (result.may_have_executed(), result.is_retryable(repeat));
            assert_eq!(found, (may_have_executed, retryable), "{repeat:?} {result:?}");
        }
    }

    #[test]
    fn a_refusal_is_retryable_if_nothing_was_executed() {
        assert_eq!([429, 503].map(is_retryable_status), [true; 2]);
        assert_eq!([409, 500, 502, 504].map(is_retryable_status), [false; 4]);
    }

    #[test]
    fn attempts_end() {
        assert!(pause_before_retry(Repeat::Always, &NO_REPLY, 3, || 0).is_some());
        assert!(pause_before_retry(Repeat::Always, &NO_REPLY, 4, || 0).is_none());
    }

    #[test]
    fn pauses_grow_and_are_drawn_from_nothing_to_the_whole() {
        let longest = |number| pause_before_retry(Repeat::Always, &NO_REPLY, number, || u32::MAX);
        assert_eq!(longest(1), Some(Duration::from_millis(250)));
        assert_eq!(longest(3), Some(Duration::from_millis(1000)));
        assert_eq!(pause_before_retry(Repeat::Always, &NO_REPLY, 3, || 0), Some(Duration::ZERO));
    }

    #[test]
    fn retry_after_is_obeyed() {
        let result = AttemptResult::Reply { status: 429, retry_after: Some(Duration::from_secs(5)), retryable: None };
        assert!(pause_before_retry(Repeat::Never, &result, 1, || 0) >= Some(Duration::from_secs(5)));
    }
}
