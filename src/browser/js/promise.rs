//! A call as a promise that a signal may cancel.

use super::error::to_js;
use super::options::signal;
use crate::browser::core::{CallError, Notification, Pending, cancel, get, unless};
use js_sys::Promise;
use std::pin::Pin;
use std::task::{Context, Poll};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;
use web_sys::AbortSignal;

#[wasm_bindgen(raw_module = "../calls.js")]
extern "C" {
    /// Reports that Rust code begins to run in the background. If it does not report its end, it has panicked. `false`
    /// after a panic: then nothing runs any more.
    fn enter() -> bool;
    fn leave();
}

/// Starts a call, unless its arguments are wrong. If the signal aborts, the call is dropped and the promise rejects with the
/// signal's reason.
pub(super) fn promise(how: &JsValue, call: &dyn Fn() -> Result<Pending<JsValue>, CallError>) -> Promise {
    let signal = match signal(how) {
        Ok(Some(signal)) if is_aborted(&signal) => return Promise::reject(&reason(&signal)),
        Ok(signal) => signal,
        Err(thrown) => return Promise::reject(&thrown),
    };
    match call() {
        Ok(call) => future_to_promise(Watched::new(unless_aborted(signal, call))),
        Err(error) => Promise::reject(&to_js(error)),
    }
}

async fn unless_aborted(signal: Option<AbortSignal>, mut call: Pending<JsValue>) -> Result<JsValue, JsValue> {
    let Some(signal) = signal else { return call.await.map_err(to_js) };
    let result =
        if is_aborted(&signal) { None } else { unless(Notification::event(&signal, "abort"), &mut call).await };
    let Some(result) = result else {
        let reason = reason(&signal);
        cancel(call, &reason);
        return Err(reason);
    };
    result.map_err(to_js)
}

// By name, because a signal of the page's own may throw.
fn is_aborted(signal: &AbortSignal) -> bool {
    get(signal, "aborted").is_truthy()
}

fn reason(signal: &AbortSignal) -> JsValue {
    get(signal, "reason")
}

/// A future that tells JavaScript when it is polled. A panic ends a poll without any report, and the promise would stay
/// pending.
pub(in crate::browser) struct Watched<F>(Pin<Box<F>>);

impl<F: Future> Watched<F> {
    pub(in crate::browser) fn new(future: F) -> Self {
        Self(Box::pin(future))
    }
}

impl<F: Future> Future for Watched<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<F::Output> {
        if !enter() {
            return Poll::Pending;
        }
        let polled = self.0.as_mut().poll(context);
        leave();
        polled
    }
}
