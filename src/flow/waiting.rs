//! When to read a payment again, and what its status means to a waiting page.

use super::Ms;
use crate::values::{IntentStatus, words};

words! {
    /// The state of a purchase, as the page sees it. Ship goods because your server says so, never because of this.
    ///
    /// ```
    /// use guichet::flow::OutcomeState;
    /// assert_eq!(OutcomeState::Succeeded.as_str(), "succeeded");
    /// ```
    #[non_exhaustive]
    OutcomeState {
        /// Canceled.
        Canceled = "canceled",
        /// The customer returned without having started to pay.
        Dismissed = "dismissed",
        /// Not paid, and cannot be.
        Failed = "failed",
        /// Not known yet: read it again later, or ask the server.
        Pending = "pending",
        /// Paid.
        Succeeded = "succeeded",
        /// The state could not be determined.
        Unknown = "unknown",
    }
}

impl OutcomeState {
    /// The state for a status while the page waits. A status that is unknown or not final is pending. But a payment
    /// that requires an action is dismissed if the customer has `turned_back`, by the back button or by closing the
    /// window.
    #[must_use]
    pub fn of(status: &IntentStatus, turned_back: bool) -> Self {
        match status {
            IntentStatus::Succeeded => Self::Succeeded,
            IntentStatus::Failed => Self::Failed,
            IntentStatus::Canceled => Self::Canceled,
            IntentStatus::RequiresAction if turned_back => Self::Dismissed,
            _ => Self::Pending,
        }
    }
}

/// The pause after this many reads (from 1): one second, then half as long again each time, at most ten.
#[must_use]
pub fn pause(reads: u32) -> Ms {
    let mut pause = 1_000.0;
    for _ in 1..reads.min(10) {
        pause *= 1.5;
    }
    if pause < 10_000.0 { pause } else { 10_000.0 }
}

/// The pause if only this much time is left: the last reads come closer together, so that one falls near the end.
/// `None` if there is no time for another.
#[must_use]
pub fn pause_within(reads: u32, left: Ms) -> Option<Ms> {
    (left > 250.0).then(|| pause(reads).min(left * 0.75))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_ten_seconds() {
        assert_eq!(pause(0), 1_000.0);
        assert_eq!(pause(1), 1_000.0);
        assert_eq!(pause(2), 1_500.0);
        assert_eq!(pause(3), 2_250.0);
        assert!((1..100).all(|reads| pause(reads) <= pause(reads + 1)));
        assert_eq!(pause(u32::MAX), 10_000.0);
    }

    #[test]
    fn the_last_read_falls_near_the_end_of_the_budget() {
        let mut left = 20_000.0;
        for reads in 1.. {
            let Some(pause) = pause_within(reads, left) else { break };
            assert!(pause < left);
            left -= pause;
        }
        assert!(left <= 250.0);
    }

    #[test]
    fn a_status_that_is_not_final_is_pending() {
        for (word, state) in [
            ("succeeded", OutcomeState::Succeeded),
            ("failed", OutcomeState::Failed),
            ("canceled", OutcomeState::Canceled),
            ("processing", OutcomeState::Pending),
            ("requires_action", OutcomeState::Pending),
            ("on_hold", OutcomeState::Pending),
        ] {
            let status = IntentStatus::from(word.to_owned());
            assert_eq!(OutcomeState::of(&status, false), state, "{word}");
            let after = if word == "requires_action" { OutcomeState::Dismissed } else { state };
            assert_eq!(OutcomeState::of(&status, true), after, "{word}, turned back");
        }
    }
}
