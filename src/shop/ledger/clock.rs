use super::order::{CLOCKS_DIFFER, Time};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The time of a ledger: its store's, and with a test key the service's, which tests move.
#[derive(Debug)]
pub struct Clock {
    is_test: bool,
    /// How far the service's clock is ahead of the store's, by the last reply that said its `Date`.
    ahead: Mutex<Option<Time>>,
    /// When the service was last asked for its time alone, by the store's.
    asked_at: Mutex<Time>,
    /// Whether the service is still to be asked before anything is decided.
    is_unknown: AtomicBool,
}

/// How often the service is asked for its time alone, in seconds.
const PAUSE: Time = 2;

impl Clock {
    /// The clock of a ledger whose key is, or is not, one of a test environment.
    #[must_use]
    pub fn new(is_test: bool) -> Self {
        Self { is_test, ahead: Mutex::new(None), asked_at: Mutex::new(0), is_unknown: AtomicBool::new(is_test) }
    }

    /// How far the service's clock is ahead of the store's, by its last reply.
    pub fn ahead(&self) -> Option<Time> {
        *self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the service is to be asked for its time now: once, and with a test key.
    pub(super) fn is_unknown(&self) -> bool {
        self.is_unknown.swap(false, Ordering::Relaxed)
    }

    pub(super) fn learn(&self, date: Time, of_store: Time) {
        *self.ahead.lock().unwrap_or_else(PoisonError::into_inner) = Some(date - of_store);
    }

    /// Whether to ask the service for its time, because no payment is due: with a test key a test may have moved it.
    pub(super) fn is_to_be_asked(&self, of_store: Time) -> bool {
        let mut asked_at = self.asked_at.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = self.is_test && of_store - *asked_at >= PAUSE;
        if is_due {
            *asked_at = of_store;
        }
        is_due
    }

    /// The time by which a ledger decides, when the store's clock shows this.
    pub fn now(&self, of_store: Time) -> Time {
        if self.is_test { of_store + self.ahead().unwrap_or_default() } else { of_store }
    }

    /// What the service's clock showed when a payment ended: of two clocks that contradict each other, that time is the
    /// later one's.
    pub(super) fn of_service(&self, at: Time) -> Option<Time> {
        if self.is_test {
            return Some(at);
        }
        self.ahead().map(|ahead| if ahead > CLOCKS_DIFFER { at } else { at + ahead })
    }

    /// What the service's clock shows when the store's shows this.
    pub(super) fn service_now(&self, of_store: Time) -> Option<Time> {
        self.ahead().map(|ahead| of_store + ahead)
    }
}
