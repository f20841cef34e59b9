//! Paying on the hosted page: what to do when the answer to a charge was lost, so that nobody is charged twice.

use crate::values::IntentStatus;

/// What is known of an intent at one moment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Standing {
    /// Where it stands.
    pub status: IntentStatus,
    /// How many attempts were made, where the service says it.
    pub attempts: Option<String>,
    /// What the customer has to do, as the service says it: `otp`, `redirect`.
    pub next_action: Option<String>,
}

/// What to do after a charge whose answer was lost.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum AfterLost {
    /// It arrived: what the intent says now is the answer.
    Follow,
    /// It never arrived: sending it again charges once.
    SendAgain,
    /// Nobody can tell: it is not sent again, and the caller is told.
    Unclear,
}

/// Compares what the intent was before a charge with what it is after its answer was lost.
#[must_use]
pub fn after_lost(before: &Standing, now: &Standing) -> AfterLost {
    if now.status != IntentStatus::RequiresAction || now.next_action != before.next_action {
        return AfterLost::Follow;
    }
    match (&before.attempts, &now.attempts) {
        (Some(before), Some(now)) if before == now => AfterLost::SendAgain,
        (Some(_), Some(_)) => AfterLost::Follow,
        _ => AfterLost::Unclear,
    }
}

/// A phone as people write it, as the service takes it: `+237 670 00 00 00` is `237670000000`, and so is `670 00 00 00` in
/// Cameroon. Nothing is guessed: only a number that has the shape of the country's mobile numbers, as it is dialled there,
/// is given its prefix, and a character that has no place in a phone number stays, so that the number is refused.
#[must_use]
pub fn tidy_phone(text: &str, country: Option<&str>) -> String {
    let tidy: String = text.chars().filter(|c| !c.is_whitespace() && !"()-./".contains(*c)).collect();
    if let Some(digits) = tidy.strip_prefix('+').or_else(|| tidy.strip_prefix("00")) {
        return digits.to_owned();
    }
    let Some((_, prefix, length, begins)) = MOBILES.iter().find(|(known, ..)| Some(*known) == country) else {
        return tidy;
    };
    let is_dialled = |number: &&str| number.len() == *length && number.starts_with(|first| begins.contains(first));
    let number = Some(&*tidy).filter(is_dialled).or(tidy.strip_prefix('0').filter(is_dialled));
    number.map_or(tidy.clone(), |number| String::from(*prefix) + number)
}

/// The mobile numbers of a country, as they are dialled there: the prefix that is left out, how many digits they have
/// without a 0 that stands for it, and what they begin with. As libphonenumber's metadata has them (November 2026), but for
/// the 24 of Cameroon, which are no phones of mobile money, and for Gabon's numbers of before 2019.
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
    fn a_lost_charge_is_sent_again_only_when_it_never_arrived() {
        let standing = |status: &str, attempts: Option<&str>| Standing {
            status: IntentStatus::from(status.to_owned()),
            attempts: attempts.map(String::from),
            next_action: None,
        };
        let before = standing("requires_action", Some("1"));
        let table = [
            (standing("requires_action", Some("1")), AfterLost::SendAgain),
            (standing("requires_action", Some("2")), AfterLost::Follow),
            (standing("requires_action", None), AfterLost::Unclear),
            (standing("processing", Some("1")), AfterLost::Follow),
            (standing("processing", Some("2")), AfterLost::Follow),
            (standing("succeeded", None), AfterLost::Follow),
            (standing("failed", Some("1")), AfterLost::Follow),
            (standing("on_hold", Some("1")), AfterLost::Follow),
        ];
        for (now, expected) in table {
            assert_eq!(after_lost(&before, &now), expected, "{now:?}");
        }
        // It asks for a code now, or no longer: what was sent has arrived.
        let asking = Standing { next_action: Some("otp".into()), ..before.clone() };
        assert_eq!(after_lost(&before, &asking), AfterLost::Follow);
        assert_eq!(after_lost(&asking, &before), AfterLost::Follow);
        assert_eq!(after_lost(&asking, &asking), AfterLost::SendAgain);
        let silent = standing("requires_action", None);
        assert_eq!(after_lost(&silent, &silent), AfterLost::Unclear);
    }

    #[test]
    fn a_phone_is_taken_as_people_write_it() {
        for written in [
            "237670000000",
            "+237 670 00 00 00",
            "00237670000000",
            " 237-670-00-00-00 ",
            "(+237) 670.000.000",
            "+237\u{a0}670\u{a0}000\u{a0}000",
        ] {
            assert_eq!(tidy_phone(written, None), "237670000000", "{written}");
            assert_eq!(tidy_phone(written, Some("CM")), "237670000000", "{written}");
        }
        assert_eq!(tidy_phone("23767000000O", None), "23767000000O");
    }

    #[test]
    fn a_number_as_it_is_dialled_at_home_gets_its_countrys_prefix_and_no_other_does() {
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
            assert_eq!(tidy_phone(dialled, Some(country)), whole);
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
            assert_eq!(tidy_phone(other, country), other, "{country:?}");
        }
        assert_eq!(tidy_phone("+233 24 000 0000", Some("CM")), "233240000000");
    }
}
