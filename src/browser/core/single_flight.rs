//! Equal calls at the same time are one call: the first starts it, and the others wait for the same result.
//!
//! `futures_util::future::Shared` in place of [`Joined`] weighs 1.4 KB brotli more.

use super::error::CallError;
use super::events::Pending;
use std::cell::RefCell;
use std::mem::take;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};

#[expect(clippy::type_complexity, reason = "a list of calls by their key")]
/// The calls under way, by key. A call ends early when nobody waits for it any more.
pub(crate) struct SingleFlight<T>(RefCell<Vec<(String, Weak<RefCell<Flight<T>>>)>>);

enum Flight<T> {
    Running(Pending<T>, Vec<Waker>),
    Done(Result<T, CallError>),
}

impl<T> Default for SingleFlight<T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<T: Clone> SingleFlight<T> {
    /// The call under way with this key.
    pub(crate) fn under_way(&self, key: &str) -> Option<Joined<T>> {
        let flights = self.0.borrow();
        let flight = flights.iter().find(|(known, _)| known == key)?.1.upgrade()?;
        // It cannot be borrowed while it is polled, and is running then.
        let is_running = flight.try_borrow().map_or(true, |flight| matches!(*flight, Flight::Running(..)));
        is_running.then_some(Joined(flight))
    }

    /// Starts a call that others may join by this key.
    pub(crate) fn start(&self, key: String, work: Pending<T>) -> Joined<T> {
        self.forget(&key);
        let flight = Rc::new(RefCell::new(Flight::Running(work, Vec::new())));
        self.0.borrow_mut().push((key, Rc::downgrade(&flight)));
        Joined(flight)
    }

    /// Lets nobody join the call of this key any more.
    pub(crate) fn forget(&self, key: &str) {
        self.0.borrow_mut().retain(|(known, flight)| known != key && flight.strong_count() > 0);
    }
}

/// One who waits for a call. Whoever is woken polls it for all.
pub(crate) struct Joined<T>(Rc<RefCell<Flight<T>>>);

impl<T> Clone for Joined<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T> Flight<T> {
    fn wake_all(&mut self) {
        if let Self::Running(_, waiting) = self {
            take(waiting).into_iter().for_each(Waker::wake);
        }
    }
}

impl<T: Clone> Future for Joined<T> {
    type Output = Result<T, CallError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<Self::Output> {
        let flight = &mut *self.0.borrow_mut();
        if let Flight::Running(work, waiting) = flight {
            let Poll::Ready(result) = work.as_mut().poll(context) else {
                if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                    waiting.push(context.waker().clone());
                }
                return Poll::Pending;
            };
            flight.wake_all();
            *flight = Flight::Done(result);
        }
        match flight {
            Flight::Done(result) => Poll::Ready(result.clone()),
            Flight::Running(..) => Poll::Pending,
        }
    }
}

/// The call wakes whoever polled it last. If that one leaves, the others have to poll.
impl<T> Drop for Joined<T> {
    fn drop(&mut self) {
        if let Ok(mut flight) = self.0.try_borrow_mut() {
            flight.wake_all();
        }
    }
}
