//! When an event that the shop has not received is delivered again: at once, then after 1 s, 2 s, 4 s and so on up to
//! five minutes, and after a day every hour.

use crate::native::clock;
use crate::shop::ledger::OpenEvent;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest pause of the first day: how late an event may be once the shop is back.
const LONGEST: Duration = Duration::from_secs(5 * 60);
/// The pause after that.
const HOUR: Duration = Duration::from_secs(60 * 60);
/// How many refusals there are in a day.
const OF_A_DAY: u32 = 297;

/// The events that this server could not deliver. A server that has just started delivers each at once.
#[derive(Default)]
pub(super) struct Backoff {
    refused: Mutex<HashMap<(String, i64), Refusals>>,
}

struct Refusals {
    count: u32,
    next_at: Instant,
}

impl Backoff {
    /// Those of these events that are to be delivered now. What is not among them any more is forgotten.
    pub(super) fn due(&self, mut events: Vec<OpenEvent>) -> Vec<OpenEvent> {
        let (mut refused, now) = (self.refused(), clock::monotonic_now());
        let mut waiting = HashMap::new();
        events.retain(|event| {
            let key = (event.name.clone(), event.version);
            let Some(refusals) = refused.remove(&key) else { return true };
            let is_due = refusals.next_at <= now;
            waiting.insert(key, refusals);
            is_due
        });
        *refused = waiting;
        events
    }

    /// Notes that the shop has not received an event.
    pub(super) fn has_refused(&self, event: &OpenEvent) {
        let mut refused = self.refused();
        let refusals = refused.entry((event.name.clone(), event.version));
        let refusals = refusals.or_insert(Refusals { count: 0, next_at: clock::monotonic_now() });
        refusals.next_at = clock::monotonic_now() + pause(refusals.count);
        refusals.count += 1;
    }

    fn refused(&self) -> MutexGuard<'_, HashMap<(String, i64), Refusals>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The pause after a refusal, by how many there were before it.
fn pause(before: u32) -> Duration {
    match before.checked_sub(1) {
        None => Duration::ZERO,
        Some(doublings) if before < OF_A_DAY => Duration::from_secs(2_u64.saturating_pow(doublings)).min(LONGEST),
        Some(_) => HOUR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_up_to_five_minutes_and_is_an_hour_after_a_day() {
        let pauses = [0, 1, 2, 3, 9, 10, 296, 297, 1_000].map(|before| pause(before).as_secs());
        assert_eq!(pauses, [0, 1, 2, 4, 256, 300, 300, 3_600, 3_600]);
        let day: u64 = (0..OF_A_DAY).map(|before| pause(before).as_secs()).sum();
        assert!((86_000..87_000).contains(&day), "{day}");
    }

    #[test]
    fn an_event_that_was_refused_twice_waits_and_the_others_do_not() {
        let event = |name: &str| OpenEvent { name: name.to_owned(), version: 7, body: String::new() };
        let (backoff, events) = (Backoff::default(), vec![event("ORDER-1"), event("ORDER-2")]);
        backoff.has_refused(&events[0]);
        assert_eq!(backoff.due(events.clone()), events, "the first pause is none");
        backoff.has_refused(&events[0]);
        assert_eq!(backoff.due(events.clone()), [event("ORDER-2")]);
        assert_eq!(backoff.due(Vec::new()), []);
        assert_eq!(backoff.due(events.clone()), events, "one that was received meanwhile is forgotten");
    }
}
