//! When an event that the shop has not received is brought again: at once, then after 1 s, 2 s, 4 s and so on, and every hour at the end.

use crate::native::clock;
use crate::shop::ledger::OpenEvent;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest pause.
const HOUR: Duration = Duration::from_secs(60 * 60);

/// The events that this server has brought in vain. A server that has just started brings each at once.
#[derive(Default)]
pub(super) struct Backoff {
    refused: Mutex<HashMap<(String, i64), Refusals>>,
}

struct Refusals {
    count: u32,
    next_at: Instant,
}

impl Backoff {
    /// Those of these events that are to be brought now. What is not among them any more is forgotten.
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
        Some(doublings) => Duration::from_secs(2_u64.saturating_pow(doublings)).min(HOUR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_up_to_an_hour() {
        let pauses = [0, 1, 2, 3, 12, 13, 14, 1_000].map(|before| pause(before).as_secs());
        assert_eq!(pauses, [0, 1, 2, 4, 2_048, 3_600, 3_600, 3_600]);
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
