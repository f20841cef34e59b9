//! How a caller wants a call to go: `{signal, timeoutMs}`, and a call as a promise.

use super::error::Stop;
use super::page::{Work, now, unless_called_off};
use super::read::get;
use crate::protocol::{Kind, Patience};
use std::time::Duration;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;
use wasm_bindgen_futures::js_sys::Promise;
use web_sys::AbortSignal;

/// The longest time that `setTimeout` keeps.
const LONGEST_MS: f64 = 2_147_483_647.0;

/// How long one call may take, all its requests together.
#[derive(Clone, Copy)]
pub(super) struct How {
    timeout: Duration,
    until: Duration,
}

impl How {
    pub(super) fn read(how: &JsValue) -> Result<Self, Stop> {
        Ok(Self::lasting(duration(how, "timeoutMs")?.unwrap_or(Patience::default().deadline)))
    }

    fn lasting(timeout: Duration) -> Self {
        Self { timeout, until: now() + timeout }
    }

    /// The same, beginning now.
    pub(super) fn again(self) -> Self {
        Self::lasting(self.timeout)
    }

    /// The same, and no longer than this.
    pub(super) fn at_most(self, time: Duration) -> Self {
        Self { until: self.until.min(now() + time), ..self }
    }

    pub(super) fn left(self) -> Duration {
        self.until.saturating_sub(now())
    }
}

/// A number of milliseconds.
pub(super) fn duration(how: &JsValue, name: &str) -> Result<Option<Duration>, Stop> {
    let value = get(how, name);
    if value.is_undefined() {
        return Ok(None);
    }
    match value.as_f64() {
        Some(ms) if ms > 0.0 => Ok(Some(Duration::from_secs_f64(ms.min(LONGEST_MS) / 1000.0))),
        _ => Err(Stop::field(name, "parameter_invalid", "It is a number of milliseconds above 0.")),
    }
}

pub(super) fn signal(how: &JsValue) -> Result<Option<AbortSignal>, Stop> {
    let signal = get(how, "signal");
    if signal.is_undefined() || signal.is_null() {
        return Ok(None);
    }
    signal.dyn_into().map(Some).map_err(|_| Stop::new(Kind::Input, "signal is an AbortSignal."))
}

/// A call as JavaScript sees it: called off by the caller's own signal.
pub(super) fn promise(how: &JsValue, work: Work<'static, Result<JsValue, Stop>>) -> Promise {
    let signal = signal(how);
    future_to_promise(async move { unless_called_off(work, signal?).await.map_err(JsValue::from) })
}
