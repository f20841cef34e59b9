use crate::operations::{ApprovableUntil, PaidWith, PaymentIntent};
use crate::values::IntentStatus;

/// How long after the final word an operator may still approve an attempt, in seconds, if the service does not say
/// until when.
const DAY: i64 = 24 * 60 * 60;

/// Whether an operator may still approve an attempt of a payment that it declined.
///
/// ```
/// use guichet::flow::LateApproval;
/// let late = LateApproval::Until(1_795_257_900);
/// assert_eq!((late.state(), late.until()), ("open", Some(1_795_257_900)));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LateApproval {
    /// No declined attempt can become money any more.
    Never,
    /// Until this time, in Unix seconds.
    Until(i64),
    /// It may, and until when is not known.
    Open,
}

impl LateApproval {
    /// Its word: `never`, or `open` if one may.
    #[must_use]
    pub fn state(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Until(_) | Self::Open => "open",
        }
    }

    /// Until when, in Unix seconds, if that is known.
    #[must_use]
    pub fn until(self) -> Option<i64> {
        match self {
            Self::Until(until) => Some(until),
            Self::Never | Self::Open => None,
        }
    }
}

/// What [`late_approval`] must know of a payment. All times are in Unix seconds, by the service's clock alone.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct PaymentAsRead {
    /// Its status.
    pub status: IntentStatus,
    /// How many attempts have begun, if the service counts them.
    pub attempts: Option<u32>,
    /// Whether its method is a card. False: mobile money, or a method that is not known.
    pub is_card: bool,
    /// Whether it has a `last_payment_error`.
    pub is_declined: bool,
    /// `approvable_until` of its `last_payment_error`.
    pub declined_until: Option<ApprovableUntil>,
    /// Its own `approvable_until`.
    pub approvable_until: Option<ApprovableUntil>,
    /// The number of its `duplicate_payments`.
    pub duplicates: usize,
    /// When it expires.
    pub expires_at: Option<i64>,
    /// The `Date` of the reply in which it was read: never the time of the device or of the shop, which may be wrong.
    pub as_of: Option<i64>,
    /// When its final status was first seen.
    pub final_since: Option<i64>,
}

impl PaymentAsRead {
    /// A payment of which nothing but its status is known.
    #[must_use]
    pub fn new(status: IntentStatus) -> Self {
        Self {
            status,
            attempts: None,
            is_card: false,
            is_declined: false,
            declined_until: None,
            approvable_until: None,
            duplicates: 0,
            expires_at: None,
            as_of: None,
            final_since: None,
        }
    }
}

impl From<&PaymentIntent> for PaymentAsRead {
    /// All but the times: `expires_at`, `as_of` and `final_since` are not known.
    fn from(intent: &PaymentIntent) -> Self {
        let declined = intent.last_payment_error.as_ref();
        Self {
            attempts: intent.attempts,
            is_card: match &intent.payment_method {
                Some(PaidWith::Card { .. }) => true,
                Some(PaidWith::Other(other)) => other["type"] == "card",
                _ => false,
            },
            is_declined: declined.is_some(),
            declined_until: declined.and_then(|declined| declined.approvable_until),
            approvable_until: intent.approvable_until,
            duplicates: intent.duplicate_payments.len(),
            ..Self::new(intent.status.clone())
        }
    }
}

/// Whether an attempt of this payment that was declined may still become money. The one rule: every page, word and shop
/// asks it, and `tests/shop/late.json` has its cases.
///
/// Real operators report attempts as declined that they approve later, and real services send no more than `failed`. So
/// what is not known is open: then nobody may say that nothing was charged.
#[must_use]
pub fn late_approval(payment: &PaymentAsRead) -> LateApproval {
    let declined = payment.declined_attempts();
    // The money of a declined attempt that is a duplicate payment was taken: that is known.
    if declined <= payment.duplicates {
        return LateApproval::Never;
    }
    let of_the_only_one = payment.declined_until.filter(|_| declined == 1);
    match payment.approvable_until.or(of_the_only_one) {
        Some(ApprovableUntil::Never) => LateApproval::Never,
        Some(ApprovableUntil::Unix(until)) => match payment.as_of {
            Some(now) if until <= now => LateApproval::Never,
            Some(_) => LateApproval::Until(until),
            None => LateApproval::Open,
        },
        None if declined == 1 && payment.is_declined_card() => LateApproval::Never,
        // Where neither is known, it stays open.
        None => match (payment.as_of, payment.final_since.or(payment.expires_at)) {
            (Some(now), Some(end)) if now - DAY >= end => LateApproval::Never,
            _ => LateApproval::Open,
        },
    }
}

impl PaymentAsRead {
    /// How many of its attempts were declined, as far as the service says.
    fn declined_attempts(&self) -> usize {
        let is_told = self.is_declined || matches!(self.approvable_until, Some(ApprovableUntil::Unix(_)));
        let at_least = usize::from(is_told || self.status == IntentStatus::Failed);
        let counted = self.attempts.map(|attempts| attempts as usize);
        let declined = match self.status {
            // One of them is under way, or has succeeded.
            IntentStatus::Processing | IntentStatus::Succeeded => counted.unwrap_or_default().saturating_sub(1),
            IntentStatus::RequiresAction => counted.unwrap_or_default(),
            _ => counted.unwrap_or(1),
        };
        declined.max(at_least)
    }

    /// Whether the attempt that was declined last was by card. A method that was attached since is not that of a
    /// declined attempt.
    fn is_declined_card(&self) -> bool {
        let is_under_way = matches!(self.status, IntentStatus::Processing | IntentStatus::Succeeded);
        self.is_card && !is_under_way && (self.is_declined || self.status == IntentStatus::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::{Value, json};

    #[derive(Deserialize)]
    struct Case {
        name: String,
        intent: Value,
        as_of: Option<i64>,
        final_since: Option<i64>,
        late: Value,
    }

    #[test]
    fn every_case_of_a_declined_payment() {
        let file: Value = serde_json::from_str(include_str!("../../tests/shop/late.json")).expect("JSON");
        let cases = Vec::<Case>::deserialize(&file["cases"]).expect("cases");
        for case in cases {
            let mut sent = json!({"id": "pi_1", "amount": "45000", "currency": "XAF"});
            sent.as_object_mut().expect("an object").extend(case.intent.as_object().expect("an object").clone());
            let intent = PaymentIntent::deserialize(&sent).expect("an intent");
            let late = late_approval(&PaymentAsRead {
                expires_at: intent.expires().map(crate::values::Moment::unix),
                as_of: case.as_of,
                final_since: case.final_since,
                ..PaymentAsRead::from(&intent)
            });
            let mut expected = json!({"state": late.state()});
            if let Some(until) = late.until() {
                expected["until"] = json!(until);
            }
            assert_eq!(expected, case.late, "{}: {sent}", case.name);
        }
    }
}
