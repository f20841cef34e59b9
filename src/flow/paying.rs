//! Paying on the hosted page: what to do if the response to a charge was lost, so that nobody is charged twice.

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
}
