//! The doors that JavaScript opens (`pkg-template/doors.js`), and waiting at them.

use super::error::Stop;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_futures::js_sys::{Function, Promise};
use web_sys::{AbortController, AbortSignal};

#[wasm_bindgen(raw_module = "../doors.js")]
extern "C" {
    pub(super) fn exchange(fetcher: &JsValue, url: &str, init: &JsValue) -> Promise;
    fn pause(ms: f64, wakes: bool, signal: &AbortSignal) -> Promise;
    fn called_off(theirs: &AbortSignal, signal: &AbortSignal) -> Promise;
    pub(super) fn shown_again() -> Promise;
    #[wasm_bindgen(catch)]
    pub(super) fn headers(theirs: &JsValue, ours: &JsValue) -> Result<JsValue, JsValue>;
    pub(super) fn said(headers: &JsValue) -> String;
    #[wasm_bindgen(js_name = now)]
    fn now_ms() -> f64;
    pub(super) fn origin() -> Option<String>;
    pub(super) fn href() -> Option<String>;
    #[wasm_bindgen(catch)]
    pub(super) fn go(address: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(catch)]
    pub(super) fn replace(address: &str) -> Result<(), JsValue>;
    pub(super) fn state() -> JsValue;
    #[wasm_bindgen(catch)]
    pub(super) fn rewrite(state: &JsValue, address: &str) -> Result<(), JsValue>;
    pub(super) fn keep(key: &str, text: &str);
    pub(super) fn kept(key: &str) -> Option<String>;
    pub(super) fn tabs(name: &str, hear: &JsValue) -> Function;
}

/// A future of one shape, so that each loop is compiled once.
pub(super) type Work<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Now, on the page's monotonic clock.
pub(super) fn now() -> Duration {
    Duration::from_secs_f64((now_ms() / 1000.0).max(0.0))
}

/// Something under way in the browser that ends when this is dropped: a request, a timer, a listener.
pub(super) struct Guard(AbortController);

impl Guard {
    pub(super) fn new() -> Self {
        Self(AbortController::new().expect("a browser that runs wasm has AbortController"))
    }

    pub(super) fn signal(&self) -> AbortSignal {
        self.0.signal()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Waits this long; with `wakes`, or until the page is back online or back in sight.
pub(super) async fn sleep(time: Duration, wakes: bool) {
    let guard = Guard::new();
    let _ = JsFuture::from(pause(time.as_secs_f64() * 1000.0, wakes, &guard.signal())).await;
}

/// Works for at most this long; `None` when the time is over first.
pub(super) async fn within<T>(time: Duration, work: Work<'_, T>) -> Option<T> {
    let guard = Guard::new();
    race(work, pause(time.as_secs_f64() * 1000.0, false, &guard.signal())).await
}

/// Works until it is done or the caller calls it off; then all that is under way ends, and the caller's own reason is
/// the answer.
pub(super) async fn unless_called_off(work: Work<'_, Result<JsValue, Stop>>, signal: Option<AbortSignal>) -> Result<JsValue, Stop> {
    let Some(signal) = signal else { return work.await };
    if signal.aborted() {
        return Err(Stop::Thrown(signal.reason()));
    }
    let guard = Guard::new();
    match race(work, called_off(&signal, &guard.signal())).await {
        Some(done) => done,
        None => Err(Stop::Thrown(signal.reason())),
    }
}

async fn race<T>(mut work: Work<'_, T>, bell: Promise) -> Option<T> {
    let mut bell = JsFuture::from(bell);
    poll_fn(move |cx| match work.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => Pin::new(&mut bell).poll(cx).map(|_| None),
    })
    .await
}

/// Works side by side, and answers in the order given.
pub(super) async fn all<T>(work: Vec<Work<'_, T>>) -> Vec<T> {
    let mut slots: Vec<_> = work.into_iter().map(|work| (Some(work), None)).collect();
    poll_fn(move |cx| {
        for (work, done) in &mut slots {
            if let Some(Poll::Ready(value)) = work.as_mut().map(|work| work.as_mut().poll(cx)) {
                (*work, *done) = (None, Some(value));
            }
        }
        if slots.iter().all(|(work, _)| work.is_none()) {
            return Poll::Ready(slots.iter_mut().filter_map(|(_, done)| done.take()).collect());
        }
        Poll::Pending
    })
    .await
}
