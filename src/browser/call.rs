//! How long a caller lets a call take.

use super::error::Stop;
use super::page::now;
use super::read::at;
use crate::protocol::Patience;
use std::time::Duration;
use wasm_bindgen::prelude::*;

/// The longest time that `setTimeout` keeps.
const LONGEST_MS: f64 = 2_147_483_647.0;

/// How long one call may take, all its requests together.
#[derive(Clone, Copy)]
pub(super) struct How {
    timeout: Duration,
    until: Duration,
}

impl How {
    /// Reads `timeoutMs`.
    pub(super) fn read(how: &JsValue) -> Result<Self, Stop> {
        Ok(Self::lasting(duration(how, "timeoutMs", Patience::default().deadline)?))
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
pub(super) fn duration(how: &JsValue, name: &str, otherwise: Duration) -> Result<Duration, Stop> {
    let value = at(how, name);
    match value.as_f64() {
        Some(ms) if ms > 0.0 => Ok(Duration::from_millis(ms.min(LONGEST_MS) as u64)),
        None if value.is_undefined() => Ok(otherwise),
        _ => Err(Stop::field(name, "It is a number of milliseconds above 0.")),
    }
}
