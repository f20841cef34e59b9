//! The beginnings of billing periods, counted from an anchor in the UTC calendar.

use guichet::values::{BillingCycle, Moment};
use jiff::tz::TimeZone;
use jiff::{Error, Span, Timestamp};
use serde::{Deserialize, Serialize};

/// Periods of one length, counted from an anchor.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Calendar {
    pub(super) cycle: BillingCycle,
    pub(super) anchor: Moment,
    /// The number of the period that begins at the anchor.
    pub(super) first: u32,
}

impl Calendar {
    /// When a period begins. Each is counted from the anchor, not from the one before it, so that a month without a
    /// 31st does not move later periods.
    pub(super) fn begins(&self, number: u32) -> Moment {
        let count = i64::from(number.saturating_sub(self.first));
        // Beyond the calendar's range, or a cycle that is not known here: a time that is never reached.
        after(self.anchor, self.cycle, count).unwrap_or(Moment::LAST)
    }
}

fn after(anchor: Moment, cycle: BillingCycle, count: i64) -> Result<Moment, Error> {
    let span = match cycle {
        BillingCycle::Daily => Span::new().try_days(count)?,
        BillingCycle::Weekly => Span::new().try_weeks(count)?,
        BillingCycle::Monthly => Span::new().try_months(count)?,
        BillingCycle::Quarterly => Span::new().try_months(count.saturating_mul(3))?,
        BillingCycle::Yearly => Span::new().try_years(count)?,
        unknown => return Err(Error::from_args(format_args!("{unknown} has no length here"))),
    };
    let at = Timestamp::from_second(anchor.unix())?.to_zoned(TimeZone::UTC).checked_add(span)?;
    Ok(Moment::from_unix(at.timestamp().as_second()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CYCLES: [BillingCycle; 5] = [
        BillingCycle::Daily,
        BillingCycle::Weekly,
        BillingCycle::Monthly,
        BillingCycle::Quarterly,
        BillingCycle::Yearly,
    ];

    fn begins(anchor: &str, cycle: BillingCycle, numbers: std::ops::Range<u32>) -> Vec<String> {
        let calendar = Calendar { cycle, anchor: Moment::new(anchor).unwrap(), first: 0 };
        numbers.map(|number| calendar.begins(number).to_string()).collect()
    }

    #[test]
    fn the_31st_returns_after_a_shorter_month() {
        let months = begins("2027-01-31T10:30:00Z", BillingCycle::Monthly, 0..4);
        assert_eq!(
            months,
            ["2027-01-31T10:30:00Z", "2027-02-28T10:30:00Z", "2027-03-31T10:30:00Z", "2027-04-30T10:30:00Z"]
        );
        let quarters = begins("2027-11-30T00:00:00Z", BillingCycle::Quarterly, 0..3);
        assert_eq!(quarters, ["2027-11-30T00:00:00Z", "2028-02-29T00:00:00Z", "2028-05-30T00:00:00Z"]);
        let years = begins("2028-02-29T23:59:59Z", BillingCycle::Yearly, 0..5);
        assert_eq!(years[1], "2029-02-28T23:59:59Z");
        assert_eq!(years[4], "2032-02-29T23:59:59Z");
        assert_eq!(begins("2026-12-31T00:00:00Z", BillingCycle::Weekly, 1..2), ["2027-01-07T00:00:00Z"]);
        assert_eq!(begins("2026-12-31T00:00:00Z", BillingCycle::Daily, 1..2), ["2027-01-01T00:00:00Z"]);
    }

    #[test]
    fn a_date_beyond_the_calendar_is_never_reached() {
        let calendar = Calendar { cycle: BillingCycle::Yearly, anchor: Moment::from_unix(0), first: 0 };
        assert_eq!(calendar.begins(u32::MAX), Moment::LAST);
    }

    proptest! {
        #[test]
        fn periods_follow_each_other_without_drift(
            anchor in 0_i64..4_102_444_800, cycle in prop::sample::select(CYCLES.to_vec()), first in 0_u32..50, number in 0_u32..400,
        ) {
            let calendar = Calendar { cycle, anchor: Moment::from_unix(anchor), first };
            let (begin, end) = (calendar.begins(first + number), calendar.begins(first + number + 1));
            prop_assert!(begin < end);
            let days = (end.unix() - begin.unix()) / 86_400;
            let whole = match cycle {
                BillingCycle::Daily => 1..=1,
                BillingCycle::Weekly => 7..=7,
                BillingCycle::Monthly => 28..=31,
                BillingCycle::Quarterly => 89..=92,
                _ => 365..=366,
            };
            prop_assert!(whole.contains(&days), "{days} days");
            // The time of day never changes: no drift.
            prop_assert_eq!(begin.unix() % 86_400, anchor % 86_400);
            // Counted from a later anchor of the same calendar, the periods are the same.
            prop_assert_eq!(Calendar { first: first + 7, ..calendar }.begins(first + 7 + number), begin);
        }
    }
}
