//! Waits for the browser: for a timer, or for the next event. Dropping the future removes the timer or the listener.

use super::error::CallError;
use crate::flow::Ms;
use futures_util::future::LocalBoxFuture;
use js_sys::{Array, Function, Promise};
use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::EventTarget;

/// A call in progress. Dropping it cancels the call.
pub(crate) type Pending<T> = LocalBoxFuture<'static, Result<T, CallError>>;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &Function, time: Ms) -> JsValue;
    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(timer: &JsValue);
}

/// A promise that is resolved when this is dropped, if not before. A `JsFuture` whose promise never settles is never
/// freed, because its closures hold each other.
struct Deferred {
    promise: Promise,
    resolve: Function,
}

impl Deferred {
    fn new() -> Self {
        let mut resolve = JsValue::UNDEFINED;
        // wasm-bindgen-futures creates its promises in this way: the untyped `new` would be one more import.
        let promise = Promise::new_typed::<JsValue>(&mut |resolver, _| resolve = resolver.into());
        Self { promise, resolve: resolve.unchecked_into() }
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        let _ = self.resolve.call0(&JsValue::UNDEFINED);
    }
}

/// The result of a promise of the page. The promise may never settle: dropping this future frees everything.
pub(crate) async fn await_promise(promise: &JsValue) -> Result<JsValue, JsValue> {
    let dropped = Deferred::new();
    Promise::race(&Array::of2(promise, &dropped.promise)).await
}

/// The first notification of the browser: the end of a time (`undefined`), or one of some events. gloo-timers and
/// gloo-events, with a channel between them and the future, add 0.7 KB (brotli) to the wasm.
pub(crate) struct Notification {
    reported: JsFuture,
    deferred: Deferred,
    sources: Vec<Source>,
}

enum Source {
    Timer(JsValue),
    Event(EventTarget, &'static str),
}

impl Notification {
    fn never() -> Self {
        let deferred = Deferred::new();
        Self { reported: deferred.promise.clone().into(), deferred, sources: Vec::new() }
    }

    /// Ready after this time.
    #[inline(never)]
    pub(crate) fn after(time: Ms) -> Self {
        let mut notification = Self::never();
        notification.sources.push(Source::Timer(set_timeout(&notification.deferred.resolve, time)));
        notification
    }

    /// Ready with the next event of this name.
    pub(crate) fn event(target: &EventTarget, name: &'static str) -> Self {
        Self::never().or(target, name)
    }

    /// Adds an event: it is ready with this one too.
    #[inline(never)]
    pub(crate) fn or(mut self, target: &EventTarget, name: &'static str) -> Self {
        let _ = target.add_event_listener_with_callback(name, &self.deferred.resolve);
        self.sources.push(Source::Event(target.clone(), name));
        self
    }
}

impl Drop for Notification {
    fn drop(&mut self) {
        for source in &self.sources {
            match source {
                Source::Timer(timer) => clear_timeout(timer),
                Source::Event(target, name) => {
                    let _ = target.remove_event_listener_with_callback(name, &self.deferred.resolve);
                }
            }
        }
    }
}

impl Future for Notification {
    type Output = JsValue;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<JsValue> {
        Pin::new(&mut self.reported).poll(context).map(Result::unwrap_or_default)
    }
}

/// The output of `work`, or `None` if the notification comes first: then `work` is dropped. `futures_util`'s `select`
/// adds 0.3 KB (brotli) to the wasm.
pub(crate) async fn unless<T>(mut notification: Notification, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending => Pin::new(&mut notification).poll(context).map(|_| None),
    })
    .await
}

/// The results of several concurrent calls, in their order. `join_all` adds 1.5 KB (brotli) to the wasm.
pub(crate) async fn all<T>(mut calls: Vec<LocalBoxFuture<'static, T>>) -> Vec<T> {
    let mut results: Vec<Option<T>> = calls.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (call, result) in calls.iter_mut().zip(&mut results) {
            if result.is_none()
                && let Poll::Ready(value) = call.as_mut().poll(context)
            {
                *result = Some(value);
            }
        }
        if results.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    results.into_iter().flatten().collect()
}

thread_local! {
    /// The reason for dropping calls at this moment.
    static CANCEL_REASON: RefCell<JsValue> = const { RefCell::new(JsValue::UNDEFINED) };
}

/// Drops a call for its caller's reason: the signals of its requests abort with that reason.
pub(crate) fn cancel<T>(call: Pending<T>, reason: &JsValue) {
    CANCEL_REASON.set(reason.clone());
    drop(call);
    CANCEL_REASON.take();
}

/// The caller's reason, or `undefined`: then `abort` uses its own.
pub(super) fn cancel_reason() -> JsValue {
    CANCEL_REASON.with_borrow(Clone::clone)
}

/// Runs a call in the background.
pub(crate) fn spawn<T: 'static>(work: impl Future<Output = T> + 'static) {
    let work = async move { drop(work.await) };
    #[cfg(any(feature = "js-page", feature = "js-hosted"))]
    let work = crate::browser::js::Watched::new(work);
    spawn_local(work);
}
