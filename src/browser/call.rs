//! How long a caller lets a call take.

use super::doors::now;
use super::error::Stop;
use super::read::{Sort, is, number};
use crate::flow::Ms;
use wasm_bindgen::prelude::*;

/// The longest time that `setTimeout` keeps.
const LONGEST: Ms = 2_147_483_647.0;
/// How long a call may take where nobody says.
const USUAL: Ms = 30_000.0;

/// How long one call may take, all its requests together.
#[derive(Clone, Copy)]
pub(super) struct How {
    pub(super) timeout: Ms,
    until: Ms,
}

impl How {
    /// Reads `timeoutMs`.
    pub(super) fn read(how: &JsValue) -> Result<Self, Stop> {
        Ok(Self::lasting(duration(how, "timeoutMs", USUAL)?))
    }

    /// As long as a call may take where nobody says: for what several callers wait for.
    #[cfg(not(feature = "hosted"))]
    pub(super) fn usual() -> Self {
        Self::lasting(USUAL)
    }

    fn lasting(timeout: Ms) -> Self {
        Self { timeout, until: now() + timeout }
    }

    /// The same, beginning now.
    pub(super) fn again(self) -> Self {
        Self::lasting(self.timeout)
    }

    /// The same, and no longer than this.
    #[cfg(not(feature = "hosted"))]
    pub(super) fn at_most(self, time: Ms) -> Self {
        Self { until: self.until.min(now() + time), ..self }
    }

    pub(super) fn left(self) -> Ms {
        self.until - now()
    }
}

/// A number of milliseconds.
pub(super) fn duration(how: &JsValue, name: &str, otherwise: Ms) -> Result<Ms, Stop> {
    let ms = number(how, name);
    if ms > 0.0 {
        return Ok(ms.min(LONGEST));
    }
    if is(how, name, Sort::Nothing) {
        return Ok(otherwise);
    }
    Err(Stop::field(name, "It is a number of milliseconds above 0."))
}
