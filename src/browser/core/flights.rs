//! Concurrent equal calls are one call: the first starts it, and the others wait for the same result.
//!
//! `futures_util::future::Shared` in place of [`Joined`] adds 1.4 KB (brotli) to the wasm.

use futures_util::future::LocalBoxFuture;
use std::cell::RefCell;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

#[expect(clippy::type_complexity, reason = "a list of calls by their key")]
/// The calls in progress, by key. A call is cancelled when no caller waits for it any more.
pub(crate) struct SingleFlight<T>(RefCell<Vec<(String, Weak<RefCell<Flight<T>>>)>>);

struct Flight<T> {
    state: State<T>,
    waiters: Arc<Waiters>,
}

enum State<T> {
    Running(LocalBoxFuture<'static, T>),
    Done(T),
}

impl<T> Default for SingleFlight<T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<T: Clone> SingleFlight<T> {
    /// The call in progress with this key.
    pub(crate) fn under_way(&self, key: &str) -> Option<Joined<T>> {
        let flights = self.0.borrow();
        let flight = flights.iter().find(|(known, _)| known == key)?.1.upgrade()?;
        // If it is borrowed, the call is being polled, so it is running.
        let is_running = flight.try_borrow().map_or(true, |flight| matches!(flight.state, State::Running(_)));
        is_running.then_some(Joined(flight))
    }

    /// Starts a call that others may join by this key.
    pub(crate) fn start(&self, key: String, work: LocalBoxFuture<'static, T>) -> Joined<T> {
        self.forget(&key);
        let flight = Rc::new(RefCell::new(Flight { state: State::Running(work), waiters: Arc::default() }));
        self.0.borrow_mut().push((key, Rc::downgrade(&flight)));
        Joined(flight)
    }

    /// Forgets the call of this key, so that no later caller joins it. The call itself continues.
    pub(crate) fn forget(&self, key: &str) {
        self.0.borrow_mut().retain(|(known, flight)| known != key && flight.strong_count() > 0);
    }
}

/// A caller that waits for a call. Polling any of them polls the call.
pub(crate) struct Joined<T>(Rc<RefCell<Flight<T>>>);

impl<T> Clone for Joined<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T: Clone> Future for Joined<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<T> {
        let Flight { state, waiters } = &mut *self.0.borrow_mut();
        if let State::Running(work) = state {
            waiters.add(context.waker());
            let waker = Waker::from(Arc::clone(waiters));
            let Poll::Ready(result) = work.as_mut().poll(&mut Context::from_waker(&waker)) else {
                return Poll::Pending;
            };
            *state = State::Done(result);
            waker.wake();
        }
        match state {
            State::Done(result) => Poll::Ready(result.clone()),
            State::Running(_) => Poll::Pending,
        }
    }
}

/// The callers that wait for one call. The call wakes them all: if it woke only the last one that polled it, and that
/// one is never polled again, the others would hang.
#[derive(Default)]
struct Waiters(Mutex<Vec<Waker>>);

impl Waiters {
    fn add(&self, waker: &Waker) {
        if let Ok(mut waiting) = self.0.lock()
            && !waiting.iter().any(|known| known.will_wake(waker))
        {
            waiting.push(waker.clone());
        }
    }
}

impl Wake for Waiters {
    fn wake(self: Arc<Self>) {
        let waiting = self.0.lock().map(|mut waiting| std::mem::take(&mut *waiting));
        waiting.unwrap_or_default().into_iter().for_each(Waker::wake);
    }
}
