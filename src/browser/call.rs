//! How long a caller lets a call take.

use super::doors::now;
use super::error::Stop;
use super::read::{Sort, is, number};
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

    /// As long as a call may take where nobody says: for what several callers wait for.
    #[cfg(not(feature = "hosted"))]
    pub(super) fn usual() -> Self {
        Self::lasting(Patience::default().deadline)
    }

    fn lasting(timeout: Duration) -> Self {
        Self { timeout, until: now().saturating_add(timeout) }
    }

    /// The same, beginning now.
    pub(super) fn again(self) -> Self {
        Self::lasting(self.timeout)
    }

    /// The same, and no longer than this.
    #[cfg(not(feature = "hosted"))]
    pub(super) fn at_most(self, time: Duration) -> Self {
        Self { until: self.until.min(now().saturating_add(time)), ..self }
    }

    pub(super) fn left(self) -> Duration {
        self.until.saturating_sub(now())
    }
}

/// A number of milliseconds.
pub(super) fn duration(how: &JsValue, name: &str, otherwise: Duration) -> Result<Duration, Stop> {
    let ms = number(how, name);
    if ms > 0.0 {
        return Ok(Duration::from_millis(ms.min(LONGEST_MS) as u64));
    }
    if is(how, name, Sort::Nothing) {
        return Ok(otherwise);
    }
    Err(Stop::field(name, "It is a number of milliseconds above 0."))
}
