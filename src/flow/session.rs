//! How long a session token is good for, and when to ask for the next one.

use std::time::Duration;

/// The document's default lifetime: no token is believed to live longer.
const LONGEST: Duration = Duration::from_secs(30 * 60);
/// A token that ends this soon is renewed before it is used.
const MARGIN: Duration = Duration::from_secs(30);

/// The life of one token, on a monotonic clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Lifetime {
    /// `None` where the two clocks disagree, or no end was said: the service's 401 is relied on then.
    ends_at: Option<Duration>,
}

/// Where a session stands, as the page is told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
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
    /// Of a token that arrived at `now` (monotonic) and ends `left` milliseconds later by the device's clock.
    ///
    /// Less than 30 seconds for a fresh token means that the device's clock is wrong.
    #[must_use]
    pub fn new(now: Duration, left: Option<f64>) -> Self {
        let left =
            left.filter(|left| left.is_finite()).map(|left| Duration::from_millis(left.max(0.0) as u64).min(LONGEST));
        Self { ends_at: left.filter(|left| *left >= MARGIN).map(|left| now.saturating_add(left)) }
    }

    /// Where it stands at `now`.
    #[must_use]
    pub fn state(self, now: Duration) -> State {
        match self.ends_at.map(|end| end.saturating_sub(now)) {
            Some(left) if left.is_zero() => State::Expired,
            Some(left) if left < MARGIN => State::Expiring,
            _ => State::Active,
        }
    }

    /// Whether to renew before the token is used.
    #[must_use]
    pub fn is_ending(self, now: Duration) -> bool {
        self.state(now) != State::Active
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_token_is_renewed_in_its_last_half_minute() {
        let life = Lifetime::new(100 * SECOND, Some(60_000.0));
        assert_eq!(life.state(100 * SECOND), State::Active);
        assert_eq!(life.state(130 * SECOND), State::Active);
        assert_eq!(life.state(131 * SECOND), State::Expiring);
        assert_eq!(life.state(160 * SECOND), State::Expired);
        assert!(life.is_ending(131 * SECOND) && !life.is_ending(129 * SECOND));
    }

    #[test]
    fn no_token_is_believed_to_live_longer_than_half_an_hour() {
        let life = Lifetime::new(Duration::ZERO, Some(9e12));
        assert_eq!(life.state(1799 * SECOND), State::Expiring);
        assert_eq!(life.state(1800 * SECOND), State::Expired);
    }

    #[test]
    fn a_wrong_device_clock_renews_nothing_early() {
        for left in [None, Some(-3_600_000.0), Some(0.0), Some(29_000.0), Some(f64::NAN)] {
            let life = Lifetime::new(Duration::ZERO, left);
            assert_eq!(life.state(3600 * SECOND), State::Active, "{left:?}");
        }
    }
}
