//! The lifetime of a session token, and when to request the next one.

use super::Ms;
use crate::values::words;

/// The document's default lifetime. A longer one in a reply is not trusted.
const LONGEST: Ms = 30.0 * 60.0 * 1000.0;
/// A token is renewed before its use if it ends within this time.
const MARGIN: Ms = 30_000.0;

/// The lifetime of one token, on a monotonic clock.
///
/// ```
/// use guichet::flow::{Lifetime, State};
/// let lifetime = Lifetime::new(0.0, 60_000.0);
/// assert_eq!(lifetime.state(45_000.0), State::Expiring);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lifetime {
    /// `None` if the two clocks disagree, or if the service sent no end: then only the service's 401 tells that it has
    /// ended.
    ends_at: Option<Ms>,
}

words! {
    /// The state of a session, as the page sees it.
    ///
    /// ```
    /// use guichet::flow::State;
    /// assert_eq!(State::Expiring.as_str(), "expiring");
    /// ```
    #[non_exhaustive]
    State {
        /// There is a token.
        Active = "active",
        /// It ends in less than 30 seconds.
        Expiring = "expiring",
        /// It has ended.
        Expired = "expired",
        /// No token has been requested yet.
        None = "none",
        /// The customer has signed out.
        Revoked = "revoked",
    }
}

impl Lifetime {
    /// The lifetime of a token that arrived at `now` (monotonic) and ends `left` later, by the time of its reply.
    /// `left` is NaN if the service sent no end.
    ///
    /// If a fresh token has less than 30 seconds left, that clock is wrong.
    #[must_use]
    pub fn new(now: Ms, left: Ms) -> Self {
        Self { ends_at: (left > MARGIN).then(|| now + left.min(LONGEST)) }
    }

    /// The state at `now`.
    #[must_use]
    pub fn state(self, now: Ms) -> State {
        match self.ends_at.map(|end| end - now) {
            Some(left) if left <= 0.0 => State::Expired,
            Some(left) if left <= MARGIN => State::Expiring,
            _ => State::Active,
        }
    }

    /// Whether the token must be renewed before it is used.
    #[must_use]
    pub fn is_ending(self, now: Ms) -> bool {
        self.state(now) != State::Active
    }

    /// The time until the state changes; `None` if only a call can change it.
    #[must_use]
    pub fn lasts(self, now: Ms) -> Option<Ms> {
        let left = self.ends_at? - now;
        (left > 0.0).then_some(if left <= MARGIN { left } else { left - MARGIN })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Ms = 1000.0;

    #[test]
    fn a_token_is_renewed_in_its_last_half_minute() {
        let life = Lifetime::new(100.0 * SECOND, 60.0 * SECOND);
        assert_eq!(life.state(100.0 * SECOND), State::Active);
        assert_eq!(life.state(129.0 * SECOND), State::Active);
        assert_eq!(life.state(130.0 * SECOND), State::Expiring);
        assert_eq!(life.state(160.0 * SECOND), State::Expired);
        assert!(life.is_ending(130.0 * SECOND) && !life.is_ending(129.0 * SECOND));
    }

    #[test]
    fn the_next_state_begins_when_the_wait_ends() {
        let life = Lifetime::new(0.0, 60.0 * SECOND);
        let mut now = 0.0;
        let mut seen = vec![life.state(now)];
        // A timer may fire at exactly the end: Firefox counts whole milliseconds.
        while let Some(wait) = life.lasts(now) {
            now += wait;
            seen.push(life.state(now));
        }
        assert_eq!(seen, [State::Active, State::Expiring, State::Expired]);
        assert_eq!(Lifetime::new(0.0, f64::NAN).lasts(0.0), None);
    }

    #[test]
    fn no_token_is_believed_to_live_longer_than_half_an_hour() {
        let life = Lifetime::new(0.0, 9e12);
        assert_eq!(life.state(1799.0 * SECOND), State::Expiring);
        assert_eq!(life.state(1800.0 * SECOND), State::Expired);
    }

    #[test]
    fn a_wrong_device_clock_renews_nothing_early() {
        for left in [f64::NAN, -3_600_000.0, 0.0, 29_000.0] {
            let life = Lifetime::new(0.0, left);
            assert_eq!(life.state(3600.0 * SECOND), State::Active, "{left:?}");
        }
    }
}
