use super::Invalid;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A moment in UTC, to the second. Written as ISO 8601 (`2026-11-21T10:30:00Z`), counted as Unix seconds.
///
/// ```
/// use guichet::values::Moment;
/// let moment = Moment::new("2026-11-21T10:30:00Z").unwrap();
/// assert_eq!(moment.plus(60).to_string(), "2026-11-21T10:31:00Z");
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Moment(i64);

impl Moment {
    /// From Unix seconds.
    #[must_use]
    pub const fn from_unix(seconds: i64) -> Self {
        Self(seconds)
    }

    /// As Unix seconds.
    #[must_use]
    pub const fn unix(self) -> i64 {
        self.0
    }

    /// The latest moment that can be written: 9999-12-30T22:00:00Z.
    pub const LAST: Self = Self(253_402_207_200);

    /// Adds this many seconds, up to the latest moment that can be written.
    #[must_use]
    pub const fn plus(self, seconds: i64) -> Self {
        let later = self.0.saturating_add(seconds);
        if later > Self::LAST.0 { Self::LAST } else { Self(later) }
    }

    /// Reads ISO 8601. A text without an offset is in UTC, as the document says of every moment.
    ///
    /// # Errors
    /// [`Invalid`] for any other text.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        let in_utc = |at: jiff::civil::DateTime| at.to_zoned(jiff::tz::TimeZone::UTC).map(|at| at.timestamp());
        text.parse::<jiff::Timestamp>()
            .or_else(|_| text.parse().and_then(in_utc))
            .map(|at| Self(at.as_second()))
            .map_err(|_| Invalid::because("A moment is written 2026-11-21T10:30:00Z."))
    }
}

described! { Moment: schemars::json_schema!({ "type": "string", "format": "date-time", "pattern": "Z$" }) }

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.0) {
            Ok(at) => fmt::Display::fmt(&at, f),
            Err(_) => f.write_str("a moment out of range"),
        }
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calculated_moments_can_be_written_and_read_again() {
        assert_eq!(Moment::LAST.unix(), jiff::Timestamp::MAX.as_second());
        for seconds in [0, 1, i64::MAX] {
            let later = Moment::LAST.plus(-1).plus(seconds);
            assert_eq!(Moment::new(&later.to_string()), Ok(later));
        }
    }
}
