//! A payment intent's life, `decisions.md` 3: what each event makes of it, and where it stands at a moment.
//!
//! **A final status is final, and no attempt is made while another is under way.**

use super::{Behaviour, Decline, FeeProblem, Fees, PayingWith};
use crate::values::{ConfirmationMethod, Country, Currency, FeeBearer, IntentId, Moment};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// How many attempts an intent has.
const MOST_ATTEMPTS: u32 = 3;
/// How long a customer has, in seconds.
const LIFETIME: i64 = 24 * 60 * 60;

/// A payment intent, as it is stored.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct Intent {
    pub(in crate::sandbox) id: IntentId,
    pub(in crate::sandbox) merchant: String,
    pub(in crate::sandbox) payment_ref: String,
    /// The digest of [`Intent::body`]: what makes a repeated create the same.
    pub(in crate::sandbox) digest: String,
    /// The canonical body it was made with: parsed, defaults applied, keys sorted.
    pub(in crate::sandbox) body: String,
    pub(in crate::sandbox) terms: Terms,
    pub(in crate::sandbox) life: Life,
    pub(in crate::sandbox) created_at: Moment,
    pub(in crate::sandbox) expires_at: Moment,
    pub(in crate::sandbox) version: i64,
}

/// What the merchant asked for, read from the canonical body. None of it ever changes.
#[derive(Clone, Debug, Deserialize)]
pub(in crate::sandbox) struct Terms {
    pub(in crate::sandbox) firstname: String,
    pub(in crate::sandbox) lastname: String,
    pub(in crate::sandbox) email: Option<String>,
    pub(in crate::sandbox) phone: Option<String>,
    pub(in crate::sandbox) amount: crate::values::Amount,
    pub(in crate::sandbox) currency: Currency,
    pub(in crate::sandbox) description: String,
    pub(in crate::sandbox) merchant_reference: String,
    pub(in crate::sandbox) fee_bearer: FeeBearer,
    pub(in crate::sandbox) confirmation_method: ConfirmationMethod,
    pub(in crate::sandbox) confirm: bool,
    pub(in crate::sandbox) redirect_url: Option<String>,
    pub(in crate::sandbox) items: Option<Box<RawValue>>,
    pub(in crate::sandbox) metadata: Option<Box<RawValue>>,
    pub(in crate::sandbox) payment_method_types: Option<Vec<String>>,
}

/// What changes.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(in crate::sandbox) struct Life {
    pub(in crate::sandbox) status: Status,
    /// How many attempts have begun.
    pub(in crate::sandbox) attempts: u32,
    pub(in crate::sandbox) paying_with: Option<PayingWith>,
    pub(in crate::sandbox) next_action: Option<NextAction>,
    /// How the attempt under way will end.
    pub(in crate::sandbox) settlement: Option<Settlement>,
    /// Why the last attempt was declined.
    pub(in crate::sandbox) declined: Option<Decline>,
    pub(in crate::sandbox) cancellation: Option<Cancellation>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::sandbox) enum Status {
    Canceled,
    Failed,
    Processing,
    RequiresAction,
    Succeeded,
}

/// What the customer, or for `confirm` the merchant, has to do before the charge.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::sandbox) enum NextAction {
    Confirm,
    Otp,
}

/// Why an intent was canceled.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::sandbox) enum Cancellation {
    Expired,
}

/// When an attempt ends, and how.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(in crate::sandbox) struct Settlement {
    settles_at: i64,
    /// Paid, where there is none.
    decline: Option<Decline>,
}

/// A move that the intent's status does not allow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::sandbox) struct Conflict(pub(in crate::sandbox) Status);

impl Intent {
    /// When an intent made now expires.
    pub(in crate::sandbox) fn expiry(now: Moment) -> Moment {
        now.plus(LIFETIME)
    }

    /// The same intent, as it stands now.
    pub(in crate::sandbox) fn at(mut self, now: Moment) -> Self {
        self.life = self.life.at(now, self.expires_at);
        self
    }

    /// What the customer pays; `None` while that depends on a method that is not known yet.
    ///
    /// An intent has no country, so its fee is that of a fee asked without one: what the customer was quoted.
    pub(in crate::sandbox) fn amount_payable(&self, fees: &Fees) -> Option<u64> {
        let amount = self.terms.amount.units();
        match (self.terms.fee_bearer, &self.life.paying_with) {
            (FeeBearer::Merchant, _) => Some(amount),
            (FeeBearer::Customer, None) => None,
            (FeeBearer::Customer, Some(with)) => {
                let fee: Result<u64, FeeProblem> = fees.fee(with.kind(), &self.terms.currency, &Country::cm(), with.card_type(), amount);
                fee.ok().map(|fee| amount.saturating_add(fee))
            }
        }
    }
}

impl Terms {
    /// Reads a canonical body.
    pub(in crate::sandbox) fn read(body: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(body)
    }

    /// Whether attaching a method is the charge.
    fn charges_on_attach(&self) -> bool {
        self.confirmation_method == ConfirmationMethod::Automatic || self.confirm
    }

    /// Whether the merchant lets this type of method pay.
    pub(in crate::sandbox) fn takes(&self, kind: &str) -> bool {
        self.payment_method_types.as_ref().is_none_or(|types| types.iter().any(|allowed| allowed == kind))
    }
}

impl Life {
    /// The life of an intent that was just made.
    pub(in crate::sandbox) fn new() -> Self {
        Self {
            status: Status::RequiresAction,
            attempts: 0,
            paying_with: None,
            next_action: None,
            settlement: None,
            declined: None,
            cancellation: None,
        }
    }

    /// Where it stands at a moment: an attempt whose end has come has ended, and a customer who was not heard of for
    /// too long is not waited for.
    #[must_use]
    pub(in crate::sandbox) fn at(mut self, now: Moment, expires_at: Moment) -> Self {
        if self.status == Status::Processing
            && let Some(settlement) = self.settlement.filter(|settlement| settlement.settles_at <= now.unix())
        {
            self.settlement = None;
            self.declined = settlement.decline;
            self.status = match settlement.decline {
                None => Status::Succeeded,
                Some(decline) if decline.can_be_mended() && self.attempts < MOST_ATTEMPTS => Status::RequiresAction,
                Some(_) => Status::Failed,
            };
        }
        if self.status == Status::RequiresAction && now >= expires_at {
            self.status = Status::Canceled;
            self.cancellation = Some(Cancellation::Expired);
            self.next_action = None;
        }
        self
    }

    /// A customer attaches a method, at a moment whose state this is. `Ok(None)` when it has no effect.
    ///
    /// # Errors
    /// [`Conflict`] where another method is attached to an intent that no longer takes one.
    pub(in crate::sandbox) fn attach(&self, terms: &Terms, with: PayingWith, now: Moment) -> Result<Option<Self>, Conflict> {
        if self.status != Status::RequiresAction {
            // Attach is the charge, so a repeat of it must be harmless: someone has lost the answer.
            return if self.paying_with.as_ref() == Some(&with) { Ok(None) } else { Err(Conflict(self.status)) };
        }
        let behaviour = with.behaviour();
        let attached = Self { paying_with: Some(with), next_action: None, ..self.clone() };
        Ok(Some(match behaviour {
            _ if !terms.charges_on_attach() => Self { next_action: Some(NextAction::Confirm), ..attached },
            Behaviour::AsksForCode => Self { next_action: Some(NextAction::Otp), ..attached },
            _ => attached.charge(behaviour, now),
        }))
    }

    /// Begins an attempt.
    fn charge(self, behaviour: Behaviour, now: Moment) -> Self {
        let attempts = self.attempts + 1;
        let ends = |after: u32, decline| Some(Settlement { settles_at: now.plus(i64::from(after)).unix(), decline });
        let settlement = match behaviour {
            Behaviour::AsksForCode | Behaviour::Succeeds { after: 0 } => ends(0, None),
            Behaviour::Declines { after, decline } => ends(after, Some(decline)),
            Behaviour::Hangs => None,
            Behaviour::RecoversAtTheThird { decline } => ends(0, (attempts < MOST_ATTEMPTS).then_some(decline)),
            Behaviour::Succeeds { after } => ends(after, None),
        };
        Self { status: Status::Processing, attempts, settlement, declined: None, ..self }
    }
}

impl Status {
    /// The word of the document.
    pub(in crate::sandbox) fn as_str(self) -> &'static str {
        match self {
            Self::Canceled => "canceled",
            Self::Failed => "failed",
            Self::Processing => "processing",
            Self::RequiresAction => "requires_action",
            Self::Succeeded => "succeeded",
        }
    }
}

impl NextAction {
    /// Its word.
    pub(in crate::sandbox) fn as_str(self) -> &'static str {
        match self {
            Self::Confirm => "confirm",
            Self::Otp => "otp",
        }
    }
}

impl Cancellation {
    /// Its word.
    pub(in crate::sandbox) fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Status::{Canceled, Failed, Processing, RequiresAction, Succeeded};

    const START: Moment = Moment::from_unix(1_000_000);

    /// What each test phone makes of an intent: when it is charged for the first, second and third time, and then.
    #[test]
    fn the_life_of_an_intent_is_the_table_of_the_decisions() {
        let table = [
            ("0000000", vec![(0, Succeeded)]),
            ("0000001", vec![(29, Processing), (30, Succeeded)]),
            ("0000002", vec![(0, RequiresAction), (0, RequiresAction), (0, Failed)]),
            ("0000003", vec![(0, RequiresAction), (0, RequiresAction), (0, Failed)]),
            ("0000004", vec![(299, Processing), (300, RequiresAction), (299, Processing), (300, RequiresAction), (300, Failed)]),
            ("0000005", vec![(0, Processing), (90_000, Processing)]),
            ("0000006", vec![(0, Failed)]),
            ("0000007", vec![(0, RequiresAction), (0, RequiresAction), (0, Succeeded)]),
            ("0000008", vec![(0, Failed)]),
            ("0000009", vec![(0, Failed)]),
            ("0000010", vec![(0, RequiresAction)]),
            ("1234567", vec![(1, Processing), (2, Succeeded)]),
        ];
        for (digits, sights) in table {
            let mut life = Life::new();
            let mut charged_at = START;
            for (after, expected) in sights {
                if life.status == RequiresAction {
                    life = life.attach(&terms("automatic", false), phone(digits), charged_at).unwrap().unwrap();
                }
                let seen = life.clone().at(charged_at.plus(after), Intent::expiry(START));
                assert_eq!(seen.status, expected, "{digits} after {after}");
                if seen.status == RequiresAction {
                    charged_at = charged_at.plus(after);
                    life = seen;
                }
            }
        }
    }

    #[test]
    fn a_decline_is_told_and_forgotten_with_the_next_attempt() {
        let now = START;
        let declined = Life::new().attach(&terms("automatic", false), phone("0000002"), now).unwrap().unwrap().at(now, Intent::expiry(now));
        assert_eq!((declined.declined, declined.attempts), (Some(Decline::InsufficientFunds), 1));
        let again = declined.attach(&terms("automatic", false), phone("0000001"), now).unwrap().unwrap();
        assert_eq!((again.status, again.declined, again.attempts), (Processing, None, 2));
    }

    #[test]
    fn attaching_again_is_harmless_and_another_method_is_refused() {
        for digits in ["0000000", "0000001", "0000005", "0000009"] {
            let life = Life::new().attach(&terms("automatic", false), phone(digits), START).unwrap().unwrap();
            let life = life.at(START, Intent::expiry(START));
            assert_eq!(life.attach(&terms("automatic", false), phone(digits), START), Ok(None), "{digits}");
            assert_eq!(life.attach(&terms("automatic", false), phone("7654321"), START), Err(Conflict(life.status)), "{digits}");
        }
    }

    #[test]
    fn a_manual_intent_is_charged_by_no_customer_unless_it_says_confirm() {
        let attached = Life::new().attach(&terms("manual", false), phone("0000000"), START).unwrap().unwrap();
        assert_eq!((attached.status, attached.next_action, attached.attempts), (RequiresAction, Some(NextAction::Confirm), 0));
        let replaced = attached.attach(&terms("manual", false), phone("0000001"), START).unwrap().unwrap();
        assert_eq!(replaced.paying_with, Some(phone("0000001")));
        let charged = Life::new().attach(&terms("manual", true), phone("0000001"), START).unwrap().unwrap();
        assert_eq!((charged.status, charged.next_action), (Processing, None));
    }

    #[test]
    fn an_intent_nobody_pays_expires_after_a_day_and_one_under_way_does_not() {
        let expiry = Intent::expiry(START);
        assert_eq!(Life::new().at(expiry.plus(-1), expiry).status, RequiresAction);
        let expired = Life::new().at(expiry, expiry);
        assert_eq!((expired.status, expired.cancellation), (Canceled, Some(Cancellation::Expired)));
        assert_eq!(expired.attach(&terms("automatic", false), phone("0000000"), expiry), Err(Conflict(Canceled)));
        let hanging = Life::new().attach(&terms("automatic", false), phone("0000005"), START).unwrap().unwrap();
        assert_eq!(hanging.at(expiry.plus(9), expiry).status, Processing);
        let late = Life::new().attach(&terms("automatic", false), phone("0000001"), expiry.plus(-1)).unwrap().unwrap();
        assert_eq!(late.at(expiry.plus(60), expiry).status, Succeeded);
    }

    #[test]
    fn what_the_customer_pays_is_known_with_the_method() {
        let intent = |bearer: &str, with: Option<PayingWith>| {
            let body = body("automatic", false).replace("\"merchant\"", &format!("\"{bearer}\""));
            Intent {
                id: IntentId::new("pi_1").unwrap(),
                merchant: String::new(),
                payment_ref: String::new(),
                digest: String::new(),
                terms: Terms::read(&body).unwrap(),
                body,
                life: Life { paying_with: with, ..Life::new() },
                created_at: START,
                expires_at: START,
                version: 1,
            }
            .amount_payable(&Fees::standard())
        };
        assert_eq!(intent("merchant", None), Some(5_000));
        assert_eq!(intent("merchant", Some(phone("0000000"))), Some(5_000));
        assert_eq!(intent("customer", None), None);
        assert_eq!(intent("customer", Some(phone("0000000"))), Some(5_100));
    }

    fn phone(digits: &str) -> PayingWith {
        let phone = crate::values::Phone::new(format!("23767{digits}")).unwrap();
        super::super::read_instrument(&crate::operations::Instrument::MobileMoney { phone }).unwrap()
    }

    fn terms(confirmation_method: &str, confirm: bool) -> Terms {
        Terms::read(&body(confirmation_method, confirm)).unwrap()
    }

    fn body(confirmation_method: &str, confirm: bool) -> String {
        format!(
            r#"{{"firstname":"Awa","lastname":"Ngo","email":"awa@example.com","amount":"5000","currency":"XAF","description":"Shoes",
            "merchant_reference":"ORDER-17","fee_bearer":"merchant","confirmation_method":"{confirmation_method}","confirm":{confirm}}}"#
        )
    }
}
