//! Paying on the hosted page: what to do if the response to a charge was lost, so that nobody is charged twice; and phone
//! numbers as customers type them.

use crate::values::IntentStatus;

/// The fields of an intent that a charge changes, at one moment.
///
/// ```
/// use guichet::flow::{LostCharge, IntentSnapshot, classify_lost_charge};
/// use guichet::values::IntentStatus;
/// let before = IntentSnapshot { status: IntentStatus::RequiresAction, attempts: Some("0".into()), next_action: None };
/// assert_eq!(classify_lost_charge(&before, &before), LostCharge::SendAgain);
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct IntentSnapshot {
    /// The status.
    pub status: IntentStatus,
    /// The number of attempts, if the service sends it.
    pub attempts: Option<String>,
    /// The type of `next_action`, for example `otp` or `redirect`.
    pub next_action: Option<String>,
}

/// The action after a charge whose response was lost.
///
/// ```
/// use guichet::flow::{LostCharge, IntentSnapshot, classify_lost_charge};
/// use guichet::values::IntentStatus;
/// let before = IntentSnapshot { status: IntentStatus::RequiresAction, attempts: None, next_action: None };
/// let now = IntentSnapshot { status: IntentStatus::Processing, ..before.clone() };
/// assert_eq!(classify_lost_charge(&before, &now), LostCharge::Follow);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum LostCharge {
    /// The charge arrived: its result is the intent's current state.
    Follow,
    /// The charge never arrived, so sending it again charges once.
    SendAgain,
    /// The service does not count attempts, so it is unknown whether the charge arrived. It must not be sent again.
    Unclear,
}

/// Compares the intent before a charge with the intent after the response was lost.
#[must_use]
pub fn classify_lost_charge(before: &IntentSnapshot, now: &IntentSnapshot) -> LostCharge {
    if now.status != IntentStatus::RequiresAction || now.next_action != before.next_action {
        return LostCharge::Follow;
    }
    match (&before.attempts, &now.attempts) {
        (Some(before), Some(now)) if before == now => LostCharge::SendAgain,
        (Some(_), Some(_)) => LostCharge::Follow,
        _ => LostCharge::Unclear,
    }
}

/// Turns a typed phone number into the service's format: `+237 670 00 00 00` becomes `237670000000`, and so does
/// `670 00 00 00` with the country `CM`. The prefix is added only to a number in the national format of the country's mobile
/// numbers. Characters that are not part of a phone number stay, so that the service refuses the number.
#[must_use]
pub fn normalize_phone(text: &str, country: Option<&str>) -> String {
    let compact: String = text.chars().filter(|c| !c.is_whitespace() && !"()-./".contains(*c)).collect();
    if let Some(digits) = compact.strip_prefix('+').or_else(|| compact.strip_prefix("00")) {
        return digits.to_owned();
    }
    let Some((_, prefix, length, begins)) = MOBILES.iter().find(|(known, ..)| Some(*known) == country) else {
        return compact;
    };
    let is_national = |number: &&str| number.len() == *length && number.starts_with(|first| begins.contains(first));
    let number = Some(&*compact).filter(is_national).or(compact.strip_prefix('0').filter(is_national));
    number.map_or(compact.clone(), |number| String::from(*prefix) + number)
}

/// The national format of mobile numbers by country: the country's prefix, the number of digits without a trunk 0, and the
/// possible first digits. From libphonenumber's metadata (November 2026), without Cameroon's numbers that begin with 24, which
/// have no mobile money, and without Gabon's numbers from before 2019.
const MOBILES: [(&str, &str, usize, &str); 13] = [
    ("BF", "226", 8, "04567"),
    ("BJ", "229", 10, "0"),
    ("CG", "242", 9, "0"),
    ("CI", "225", 10, "0"),
    ("CM", "237", 9, "6"),
    ("GA", "241", 8, "67"),
    ("GH", "233", 9, "25"),
    ("KE", "254", 9, "17"),
    ("RW", "250", 9, "7"),
    ("SN", "221", 9, "7"),
    ("TD", "235", 8, "36789"),
    ("TG", "228", 8, "79"),
    ("UG", "256", 9, "7"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_charge_is_sent_again_only_if_it_never_arrived() {
        let standing = |status: &str, attempts: Option<&str>| IntentSnapshot {
            status: IntentStatus::from(status.to_owned()),
            attempts: attempts.map(String::from),
            next_action: None,
        };
        let before = standing("requires_action", Some("1"));
        let table = [
            (standing("requires_action", Some("1")), LostCharge::SendAgain),
            (standing("requires_action", Some("2")), LostCharge::Follow),
            (standing("requires_action", None), LostCharge::Unclear),
            (standing("processing", Some("1")), LostCharge::Follow),
            (standing("processing", Some("2")), LostCharge::Follow),
            (standing("succeeded", None), LostCharge::Follow),
            (standing("failed", Some("1")), LostCharge::Follow),
            (standing("on_hold", Some("1")), LostCharge::Follow),
        ];
        for (now, expected) in table {
            assert_eq!(classify_lost_charge(&before, &now), expected, "{now:?}");
        }
        // The charge has arrived, because `next_action` has changed.
        let waits_for_otp = IntentSnapshot { next_action: Some("otp".into()), ..before.clone() };
        assert_eq!(classify_lost_charge(&before, &waits_for_otp), LostCharge::Follow);
        assert_eq!(classify_lost_charge(&waits_for_otp, &before), LostCharge::Follow);
        assert_eq!(classify_lost_charge(&waits_for_otp, &waits_for_otp), LostCharge::SendAgain);
        let silent = standing("requires_action", None);
        assert_eq!(classify_lost_charge(&silent, &silent), LostCharge::Unclear);
    }

    #[test]
    fn common_notations_of_a_phone_number_are_normalized() {
        for written in [
            "237670000000",
            "+237 670 00 00 00",
            "00237670000000",
            " 237-670-00-00-00 ",
            "(+237) 670.000.000",
            "+237\u{a0}670\u{a0}000\u{a0}000",
        ] {
            assert_eq!(normalize_phone(written, None), "237670000000", "{written}");
            assert_eq!(normalize_phone(written, Some("CM")), "237670000000", "{written}");
        }
        assert_eq!(normalize_phone("23767000000O", None), "23767000000O");
    }

    #[test]
    fn only_a_national_mobile_number_gets_its_countrys_prefix() {
        for (country, dialled, whole) in [
            ("BF", "70 12 34 56", "22670123456"),
            ("BF", "44 12 34 56", "22644123456"),
            ("BJ", "01 95 12 34 56", "2290195123456"),
            ("CG", "06 123 4567", "242061234567"),
            ("CI", "01 23 45 6789", "2250123456789"),
            ("CM", "6 71 23 45 67", "237671234567"),
            ("GA", "074 12 34 56", "24174123456"),
            ("GA", "74 12 34 56", "24174123456"),
            ("GH", "023 123 4567", "233231234567"),
            ("KE", "0712 123456", "254712123456"),
            ("KE", "712 123456", "254712123456"),
            ("KE", "0110 123456", "254110123456"),
            ("RW", "0720 123 456", "250720123456"),
            ("SN", "70 123 45 67", "221701234567"),
            ("TD", "63 01 23 45", "23563012345"),
            ("TD", "77 01 23 45", "23577012345"),
            ("TG", "90 11 23 45", "22890112345"),
            ("UG", "0712 345678", "256712345678"),
        ] {
            assert_eq!(normalize_phone(dialled, Some(country)), whole);
        }
        for (country, other) in [
            (None, "670000000"),
            (Some("FR"), "670000000"),
            (Some("CM"), "770000000"),
            (Some("CM"), "222123456"),
            (Some("TD"), "22501234"),
            (Some("CI"), "2123456789"),
            (Some("CM"), "67000000"),
            (Some("CM"), "67000000O0"),
            (Some("CM"), "233240000000"),
        ] {
            assert_eq!(normalize_phone(other, country), other, "{country:?}");
        }
        assert_eq!(normalize_phone("+233 24 000 0000", Some("CM")), "233240000000");
    }
}
