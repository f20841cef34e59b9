//! Days and times by a wall clock.

use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;
use std::fmt;
use std::str::FromStr;

/// How far a wall clock is ahead of UTC.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct UtcOffset(Offset);

impl UtcOffset {
    /// A day by this clock, today without a date, and when it begins.
    pub(super) fn day(self, date: Option<Date>, now: i64) -> Result<(Date, i64), jiff::Error> {
        let date = date.map_or_else(|| self.at(now).map(DateTime::date), Ok)?;
        Ok((date, self.0.to_timestamp(date.into())?.as_second()))
    }

    /// What this clock shows then.
    pub(super) fn at(self, unix: i64) -> Result<DateTime, jiff::Error> {
        jiff::Timestamp::from_second(unix).map(|at| self.0.to_datetime(at))
    }
}

impl Default for UtcOffset {
    fn default() -> Self {
        Self(Offset::UTC)
    }
}

impl FromStr for UtcOffset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let zero: Option<jiff::Timestamp> = Some(text).filter(|text| text.len() == 6).and_then(|text| {
            // A date and time with an offset are read by jiff; an offset alone is not.
            format!("2000-01-01T00:00:00{text}").parse().ok()
        });
        let offset =
            zero.and_then(|zero| Offset::from_seconds(i32::try_from(946_684_800 - zero.as_second()).ok()?).ok());
        offset.map(Self).ok_or_else(|| "An offset is written +01:00, or -05:00.".to_owned())
    }
}

impl fmt::Display for UtcOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.seconds();
        let (sign, minutes) = (if seconds < 0 { '-' } else { '+' }, seconds.abs() / 60);
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

/// A day, such as 2026-11-30.
pub(super) fn parse_date(text: &str) -> Result<Date, String> {
    // A time of the day is none of this.
    let date = Some(text).filter(|text| text.len() == "YYYY-MM-DD".len()).and_then(|text| text.parse().ok());
    date.ok_or_else(|| "A day is written YYYY-MM-DD, such as 2026-11-30.".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use guichet::values::Moment;

    #[test]
    fn a_day_is_written_in_one_way() {
        assert_eq!(parse_date("2026-11-30").unwrap().to_string(), "2026-11-30");
        for wrong in ["", "30.11.2026", "2026-11-31", "20261130", "2026-11-30T10:00:00"] {
            assert!(parse_date(wrong).unwrap_err().contains("YYYY-MM-DD"), "{wrong}");
        }
    }

    #[test]
    fn a_day_begins_by_the_clock_of_its_offset() {
        for (offset, now, date, begins) in [
            ("+00:00", "2026-11-30T23:30:00Z", "2026-11-30", "2026-11-30T00:00:00Z"),
            ("+01:00", "2026-11-30T23:30:00Z", "2026-12-01", "2026-11-30T23:00:00Z"),
            ("-05:30", "2026-11-30T05:00:00Z", "2026-11-29", "2026-11-29T05:30:00Z"),
        ] {
            let [now, begins] = [now, begins].map(|text| Moment::new(text).unwrap().unix());
            let read: UtcOffset = offset.parse().unwrap();
            assert_eq!(read.to_string(), offset);
            assert_eq!(read.day(None, now).unwrap(), (date.parse().unwrap(), begins));
            assert_eq!(read.day(Some("2026-11-30".parse().unwrap()), 0).unwrap().0.to_string(), "2026-11-30");
        }
        for wrong in ["", "+1", "01:00", "+01:0", "+99:00", "+01:00:00", "abcdef"] {
            assert!(wrong.parse::<UtcOffset>().is_err(), "{wrong}");
        }
    }
}
