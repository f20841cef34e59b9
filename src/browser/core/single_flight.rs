//! Equal calls at the same time are one call: the first starts it, and the others wait for the same result.

use super::error::CallError;
use super::events::Pending;
use futures_util::future::{FutureExt, Shared, WeakShared};
use std::cell::RefCell;

/// The calls under way, by key. A call ends early when nobody waits for it any more.
pub(crate) struct SingleFlight<T>(RefCell<Vec<(String, WeakShared<Pending<T>>)>>)
where
    Result<T, CallError>: Clone;

impl<T: Clone> Default for SingleFlight<T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<T: Clone> SingleFlight<T> {
    /// The call under way with this key.
    pub(crate) fn under_way(&self, key: &str) -> Option<Shared<Pending<T>>> {
        let flights = self.0.borrow();
        let flight = flights.iter().find(|(known, _)| known == key)?.1.upgrade()?;
        flight.peek().is_none().then_some(flight)
    }

    /// Starts a call that others may join by this key.
    pub(crate) fn start(&self, key: String, work: Pending<T>) -> Shared<Pending<T>> {
        self.forget(&key);
        let flight = work.shared();
        if let Some(weak) = flight.downgrade() {
            self.0.borrow_mut().push((key, weak));
        }
        flight
    }

    /// Lets nobody join the call of this key any more.
    pub(crate) fn forget(&self, key: &str) {
        self.0.borrow_mut().retain(|(known, flight)| known != key && flight.upgrade().is_some());
    }
}
