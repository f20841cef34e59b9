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

/// A phone as people write it, as the service takes it: `+237 670 00 00 00` is `237670000000`. A character that has no
/// place in a phone number stays, so that the number is refused and not guessed.
#[must_use]
pub fn tidy_phone(text: &str) -> String {
    let tidy: String = text.chars().filter(|c| !c.is_whitespace() && !"()-./".contains(*c)).collect();
    match tidy.strip_prefix('+').or_else(|| tidy.strip_prefix("00")) {
        Some(digits) => digits.to_owned(),
        None => tidy,
    }
}

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
            assert_eq!(tidy_phone(written), "237670000000", "{written}");
        }
        assert_eq!(tidy_phone("23767000000O"), "23767000000O");
    }
}
