//! The retry table, as a pure function: what was seen, how often it was tried, a draw of luck → how long to wait.

use super::{Repeat, Seen};
use std::time::Duration;

/// One attempt that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// Which it was, from 1.
    pub number: u32,
    /// Draws a random number, for full jitter: equal clients must not come back at the same moment.
    pub luck: fn() -> u32,
}

const MOST_ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// How long to wait before the next attempt; `None` when there is none.
///
/// | seen | safe to repeat | not |
/// |---|---|---|
/// | a reply: 2xx, 3xx, 4xx but 429 | done | done |
/// | 429: not executed | again, not before `Retry-After` | again, not before `Retry-After` |
/// | 5xx, unless it says `retryable: false` | again, not before `Retry-After` | done |
/// | 503 that says `retryable: true`: not executed | again | again |
/// | lost: no reply | again | done |
#[must_use]
pub fn after(repeat: Repeat, seen: &Seen, attempt: Attempt) -> Option<Duration> {
    if attempt.number >= MOST_ATTEMPTS {
        return None;
    }
    let safe = repeat == Repeat::Always;
    let (again, at_least) = match *seen {
        Seen::Lost => (safe, None),
        Seen::Reply { status: 429, retry_after, retryable } => (retryable != Some(false), retry_after),
        // A gateway may say 503 of a request that went through; the service itself says whether it did.
        Seen::Reply { status: 503, retry_after, retryable: Some(true) } => (true, retry_after),
        Seen::Reply { status, retry_after, retryable } => {
            (safe && status >= 500 && retryable != Some(false), retry_after)
        }
    };
    again.then(|| {
        let most = FIRST_PAUSE.saturating_mul(1 << attempt.number.saturating_sub(1).min(16)).min(LONGEST_PAUSE);
        // In whole milliseconds, since dividing by a float weighs more in wasm than the rest of this.
        let most = u64::from(most.subsec_millis()) + most.as_secs() * 1000;
        let drawn = Duration::from_millis(most * u64::from((attempt.luck)()) / u64::from(u32::MAX));
        at_least.map_or(drawn, |least| least.saturating_add(drawn))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOST: Seen = Seen::Lost;

    fn reply(status: u16) -> Seen {
        Seen::Reply { status, retry_after: None, retryable: None }
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
            (Never, Seen::Reply { status: 503, retry_after: None, retryable: Some(true) }, true),
            (Always, Seen::Reply { status: 500, retry_after: None, retryable: Some(false) }, false),
            (Always, LOST, true),
            (Never, LOST, false),
        ];
        for (repeat, seen, again) in table {
            assert_eq!(after(repeat, &seen, Attempt { number: 1, luck: || 7 }).is_some(), again, "{repeat:?} {seen:?}");
        }
    }

    #[test]
    fn attempts_end() {
        assert!(after(Repeat::Always, &LOST, Attempt { number: 3, luck: || 0 }).is_some());
        assert!(after(Repeat::Always, &LOST, Attempt { number: 4, luck: || 0 }).is_none());
    }

    #[test]
    fn pauses_grow_and_are_drawn_from_nothing_to_the_whole() {
        let longest = |number| after(Repeat::Always, &LOST, Attempt { number, luck: || u32::MAX });
        assert_eq!(longest(1), Some(Duration::from_millis(250)));
        assert_eq!(longest(3), Some(Duration::from_millis(1000)));
        assert_eq!(after(Repeat::Always, &LOST, Attempt { number: 3, luck: || 0 }), Some(Duration::ZERO));
    }

    #[test]
    fn retry_after_is_obeyed() {
        let seen = Seen::Reply { status: 429, retry_after: Some(Duration::from_secs(5)), retryable: None };
        assert!(after(Repeat::Never, &seen, Attempt { number: 1, luck: || 0 }) >= Some(Duration::from_secs(5)));
    }
}
