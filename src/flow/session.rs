//! How long a session token is good for, and when to ask for the next one.

use super::Ms;

/// The document's default lifetime: no token is believed to live longer.
const LONGEST: Ms = 30.0 * 60.0 * 1000.0;
/// A token that ends this soon is renewed before it is used.
const MARGIN: Ms = 30_000.0;

/// The life of one token, on a monotonic clock.
///
/// ```
/// use guichet::flow::{Lifetime, State};
/// let lifetime = Lifetime::new(0.0, 60_000.0);
/// assert_eq!(lifetime.state(45_000.0), State::Expiring);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lifetime {
    /// `None` where the two clocks disagree, or no end was said: the service's 401 is relied on then.
    ends_at: Option<Ms>,
}

/// Where a session stands, as the page is told.
///
/// ```
/// use guichet::flow::State;
/// assert_eq!(State::Expiring.as_str(), "expiring");
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum State {
    /// A token is at hand.
    Active,
    /// It ends in less than 30 seconds.
    Expiring,
    /// It has ended.
    Expired,
    /// None was asked for yet.
    None,
    /// Signed out.
    Revoked,
}

impl State {
    /// Its word in JavaScript.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expiring => "expiring",
            Self::Expired => "expired",
            Self::None => "none",
            Self::Revoked => "revoked",
        }
    }
}

impl Lifetime {
    /// Of a token that arrived at `now` (monotonic) and ends `left` later by the device's clock; NaN where nobody said when.
    ///
    /// Less than 30 seconds for a fresh token means that the device's clock is wrong.
    #[must_use]
    pub fn new(now: Ms, left: Ms) -> Self {
        Self { ends_at: (left > MARGIN).then(|| now + left.min(LONGEST)) }
    }

    /// Where it stands at `now`.
    #[must_use]
    pub fn state(self, now: Ms) -> State {
        match self.ends_at.map(|end| end - now) {
            Some(left) if left <= 0.0 => State::Expired,
            Some(left) if left <= MARGIN => State::Expiring,
            _ => State::Active,
        }
    }

    /// Whether to renew before the token is used.
    #[must_use]
    pub fn is_ending(self, now: Ms) -> bool {
        self.state(now) != State::Active
    }

    /// How long it stands so; `None` where only a call can change it.
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
    fn whoever_waits_as_long_as_a_state_lasts_sees_the_next_one() {
        let life = Lifetime::new(0.0, 60.0 * SECOND);
        let mut now = 0.0;
        let mut seen = vec![life.state(now)];
        // A timer may come to the very moment: Firefox tells time by whole milliseconds.
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
