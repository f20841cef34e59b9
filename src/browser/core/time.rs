//! The page's clocks, and waiting for the browser: for a time, an event or a promise. Dropping what waits removes the
//! timer and the listeners.

use super::value::get;
use crate::flow::Ms;
use futures_util::future::{LocalBoxFuture, maybe_done};
use js_sys::{Array, Date, Function, Promise};
use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::EventTarget;

#[wasm_bindgen]
extern "C" {
    /// The monotonic clock.
    #[wasm_bindgen(js_namespace = performance)]
    pub(crate) fn now() -> Ms;
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &Function, time: Ms) -> JsValue;
    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(timer: &JsValue);
}

/// The device's clock, in milliseconds since 1970.
pub(crate) fn wall_clock_ms() -> Ms {
    Date::now()
}

/// The longest time that `setTimeout` accepts.
pub(crate) const MAX_DURATION: Ms = 2_147_483_647.0;
pub(crate) const DEFAULT_TIMEOUT: Ms = 30_000.0;

/// The time limit of one call, all its attempts together.
#[derive(Clone, Copy)]
pub(crate) struct CallOptions {
    pub(crate) timeout: Ms,
    deadline: Ms,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self::with_timeout(DEFAULT_TIMEOUT)
    }
}

impl CallOptions {
    /// This time from now.
    pub(crate) fn with_timeout(timeout: Ms) -> Self {
        Self { timeout, deadline: now() + timeout }
    }

    /// The same timeout, from now.
    pub(crate) fn restarted(self) -> Self {
        Self::with_timeout(self.timeout)
    }

    /// The same limit, but at most this time from now.
    pub(crate) fn at_most(self, time: Ms) -> Self {
        Self { deadline: self.deadline.min(now() + time), ..self }
    }

    /// The time left.
    pub(crate) fn remaining(self) -> Ms {
        self.remaining_at(now())
    }

    /// The time left at this moment.
    pub(crate) fn remaining_at(self, now: Ms) -> Ms {
        self.deadline - now
    }
}

/// The first notification of the browser: the end of a time, or one of some events. It is a promise, which dropping it
/// resolves: a `JsFuture` whose promise never settles is never freed, because its closures hold each other.
pub(crate) struct Notification {
    promise: Promise,
    resolve: Function,
    sources: Vec<Source>,
}

enum Source {
    Timer(JsValue),
    Event(EventTarget, &'static str),
}

impl Source {
    fn timer(time: Ms, callback: &Function) -> Self {
        Self::Timer(set_timeout(callback, time))
    }

    #[inline(never)]
    fn event(target: &EventTarget, name: &'static str, callback: &Function) -> Self {
        let _ = target.add_event_listener_with_callback(name, callback);
        Self::Event(target.clone(), name)
    }

    #[inline(never)]
    fn remove(&self, callback: &Function) {
        match self {
            Self::Timer(timer) => clear_timeout(timer),
            Self::Event(target, name) => {
                let _ = target.remove_event_listener_with_callback(name, callback);
            }
        }
    }
}

impl Notification {
    fn never() -> Self {
        let mut resolve = JsValue::UNDEFINED;
        // wasm-bindgen-futures creates its promises in this way: the untyped `new` would be one more import.
        let promise = Promise::new_typed::<JsValue>(&mut |resolver, _| resolve = resolver.into());
        Self { promise, resolve: resolve.unchecked_into(), sources: Vec::new() }
    }

    /// Ready after this time.
    #[inline(never)]
    pub(crate) fn after(time: Ms) -> Self {
        let mut notification = Self::never();
        notification.sources.push(Source::timer(time, &notification.resolve));
        notification
    }

    /// Ready with the next event of this name.
    pub(crate) fn event(target: &EventTarget, name: &'static str) -> Self {
        Self::never().or(target, name)
    }

    /// Adds an event: it is ready with this one too.
    #[inline(never)]
    pub(crate) fn or(mut self, target: &EventTarget, name: &'static str) -> Self {
        self.sources.push(Source::event(target, name, &self.resolve));
        self
    }

    /// Waits for it: for the event, or `undefined` at the end of the time.
    pub(crate) async fn wait(self) -> JsValue {
        self.promise.clone().await.unwrap_or_default()
    }
}

/// The end of a time, before which promises of the page settle.
pub(crate) struct Deadline {
    end: Notification,
    until: Ms,
}

impl Deadline {
    pub(crate) fn within(time: Ms, now: Ms) -> Self {
        Self { end: Notification::after(time), until: now + time }
    }

    /// The result of a promise, or `None` at the end of the time. The promise may never settle.
    pub(crate) async fn result(&self, promise: &JsValue) -> Option<Result<JsValue, JsValue>> {
        let result = Promise::race(&Array::of2(promise, &self.end.promise)).await;
        // The timer gives `undefined`, but so may the page's promise. Clocks of browsers may be coarse.
        let is_over = matches!(&result, Ok(value) if value.is_undefined()) && now() + 1.0 >= self.until;
        (!is_over).then_some(result)
    }
}

impl Drop for Notification {
    fn drop(&mut self) {
        for source in &self.sources {
            source.remove(&self.resolve);
        }
        let _ = self.resolve.call0(&JsValue::UNDEFINED);
    }
}

/// Calls a function with every event of one name, or once after a time, until it is dropped.
pub(crate) struct Callback {
    source: Source,
    function: Closure<dyn FnMut(JsValue)>,
}

impl Callback {
    pub(crate) fn on(target: &EventTarget, name: &'static str, function: impl FnMut(JsValue) + 'static) -> Self {
        let function = Closure::new(function);
        Self { source: Source::event(target, name, function.as_ref().unchecked_ref()), function }
    }

    pub(crate) fn after(time: Ms, function: impl FnMut(JsValue) + 'static) -> Self {
        let function = Closure::new(function);
        let source = Source::timer(time, function.as_ref().unchecked_ref());
        if let Source::Timer(timer) = &source
            && let Some(unref) = get(timer, "unref").and_then(|unref| unref.dyn_into::<Function>().ok())
        {
            let _ = unref.call0(timer); // Node.js would wait for it
        }
        Self { source, function }
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        self.source.remove(self.function.as_ref().unchecked_ref());
    }
}

/// The output of `work`, or `None` if the notification comes first: then `work` is dropped.
pub(crate) async fn unless<T>(notification: Notification, work: impl Future<Output = T>) -> Option<T> {
    let (mut work, mut notification) = (pin!(work), pin!(notification.wait()));
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => notification.as_mut().poll(context).map(|_| None),
    })
    .await
}

/// The results of several concurrent calls, in their order. `join_all` adds 1.5 KB (brotli) to the wasm.
pub(crate) async fn all<T>(calls: Vec<LocalBoxFuture<'static, T>>) -> Vec<T> {
    let mut calls: Vec<_> = calls.into_iter().map(|call| Box::pin(maybe_done(call))).collect();
    poll_fn(|context| {
        let pending = calls.iter_mut().filter_map(|call| call.as_mut().poll(context).is_pending().then_some(()));
        if pending.count() == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    calls.iter_mut().filter_map(|call| call.as_mut().take_output()).collect()
}

thread_local! {
    /// The reason for dropping calls at this moment.
    static CANCEL_REASON: RefCell<JsValue> = const { RefCell::new(JsValue::UNDEFINED) };
}

/// Drops a call for its caller's reason: the signals of its requests abort with that reason.
#[cfg(any(feature = "js-page", feature = "js-hosted"))]
pub(crate) fn cancel<T>(call: T, reason: &JsValue) {
    CANCEL_REASON.set(reason.clone());
    drop(call);
    CANCEL_REASON.take();
}

/// The caller's reason, or `undefined`: then `abort` uses its own.
pub(crate) fn cancel_reason() -> JsValue {
    CANCEL_REASON.with_borrow(Clone::clone)
}

/// Runs a call in the background.
pub(crate) fn spawn<T: 'static>(work: impl Future<Output = T> + 'static) {
    spawn_local(async move { drop(work.await) });
}
