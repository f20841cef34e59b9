//! The time limit of one call.

use super::page::now;
use crate::flow::Ms;

/// The longest time that `setTimeout` accepts.
pub(crate) const MAX_DURATION: Ms = 2_147_483_647.0;
const DEFAULT_TIMEOUT: Ms = 30_000.0;

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
        self.deadline - now()
    }
}
