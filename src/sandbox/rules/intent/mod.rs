//! A payment intent: its terms, which never change, and its state, which does.

mod state;

pub(in crate::sandbox) use state::{Conflict, IntentState, LateApproval, MAX_ATTEMPTS};

use super::{FeeProblem, Fees, PayingWith};
use crate::values::{ConfirmationMethod, Country, Currency, FeeBearer, IntentId, Moment};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// How long an intent can be paid, in seconds.
const LIFETIME: i64 = 24 * 60 * 60;
/// How long the client secret is valid after the final status, in seconds.
const SECRET_AFTER_FINAL: i64 = 24 * 60 * 60;

/// A payment intent, as it is stored.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct Intent {
    pub(in crate::sandbox) id: IntentId,
    pub(in crate::sandbox) merchant: String,
    pub(in crate::sandbox) payment_ref: String,
    /// The digest of [`Intent::body`]. A repeated create with the same digest is the same.
    pub(in crate::sandbox) digest: String,
    /// The canonical body of its create: parsed, defaults applied, keys sorted.
    #[cfg_attr(
        not(any(feature = "sandbox-postgres", feature = "sandbox-sqlite")),
        expect(dead_code, reason = "a database reads the terms from it")
    )]
    pub(in crate::sandbox) body: String,
    pub(in crate::sandbox) terms: Terms,
    pub(in crate::sandbox) state: IntentState,
    pub(in crate::sandbox) created_at: Moment,
    pub(in crate::sandbox) expires_at: Moment,
    pub(in crate::sandbox) version: i64,
}

/// The terms of an intent, read from the canonical body. They never change.
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

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::sandbox) enum Status {
    Canceled,
    Failed,
    Processing,
    RequiresAction,
    Succeeded,
}

/// The action that the customer, or for `confirm` the merchant, must take before the charge.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::sandbox) enum NextAction {
    Confirm,
    Otp,
    Redirect,
}

/// Why an intent was canceled.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::sandbox) enum Cancellation {
    Expired,
    RequestedByCustomer,
    RequestedByMerchant,
}

impl Intent {
    /// When an intent that is created now expires.
    pub(in crate::sandbox) fn expiry(now: Moment) -> Moment {
        now.plus(LIFETIME)
    }

    /// The intent with everything that time has changed until now.
    pub(in crate::sandbox) fn at(mut self, now: Moment) -> Self {
        self.state = self.state.at(now, self.expires_at);
        self
    }

    /// Whether its client secret has expired. The secret stays in the browser's history, so it expires some time after the final status.
    pub(in crate::sandbox) fn secret_has_ended(&self, now: Moment) -> bool {
        self.state.final_since().is_some_and(|end| now >= end.plus(SECRET_AFTER_FINAL))
    }

    /// The total that the customer pays. `None` if it depends on a method that is not known yet.
    pub(in crate::sandbox) fn amount_payable(&self, fees: &Fees) -> Option<u64> {
        match (self.terms.fee_bearer, &self.state.paying_with) {
            (FeeBearer::Merchant, _) => self.terms.amount.whole_units(),
            (FeeBearer::Customer, None) => None,
            (FeeBearer::Customer, Some(with)) => self.amount_with(with, fees),
        }
    }

    /// The total that the customer pays with a method. `None` if the table has no fee for it.
    ///
    /// An intent has no country, so its fee is that of a fee calculation without one, which is what the customer was quoted.
    pub(in crate::sandbox) fn amount_with(&self, with: &PayingWith, fees: &Fees) -> Option<u64> {
        let amount = self.terms.amount.whole_units()?;
        if self.terms.fee_bearer == FeeBearer::Merchant {
            return Some(amount);
        }
        let fee: Result<u64, FeeProblem> =
            fees.fee(with.kind(), &self.terms.currency, &Country::cm(), with.card_type(), amount);
        fee.ok().map(|fee| amount.saturating_add(fee))
    }
}

impl Terms {
    /// Reads a canonical body.
    pub(in crate::sandbox) fn read(body: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(body)
    }

    /// The eSIM order that it pays, from its metadata.
    pub(in crate::sandbox) fn esim_order(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Metadata {
            esim_order_id: String,
        }
        let metadata = self.metadata.as_deref()?;
        serde_json::from_str(metadata.get()).ok().map(|Metadata { esim_order_id }| esim_order_id)
    }

    /// Whether attaching a method charges it.
    fn charges_on_attach(&self) -> bool {
        self.confirmation_method == ConfirmationMethod::Automatic || self.confirm
    }

    /// Whether this type of method may pay.
    pub(in crate::sandbox) fn accepts(&self, kind: &str) -> bool {
        self.payment_method_types.as_ref().is_none_or(|types| types.iter().any(|allowed| allowed == kind))
    }
}

impl Status {
    /// Its name in the interface.
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
    /// Its name in the interface.
    pub(in crate::sandbox) fn as_str(self) -> &'static str {
        match self {
            Self::Confirm => "confirm",
            Self::Otp => "otp",
            Self::Redirect => "redirect",
        }
    }
}

impl Cancellation {
    /// Its name in the interface.
    pub(in crate::sandbox) fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::RequestedByCustomer => "requested_by_customer",
            Self::RequestedByMerchant => "requested_by_merchant",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Moment = Moment::from_unix(1_000_000);

    #[test]
    fn the_amount_payable_is_known_with_the_method() {
        let intent = |bearer: &str, with: Option<PayingWith>| {
            let body = state::tests::body("automatic", false).replace("\"merchant\"", &format!("\"{bearer}\""));
            Intent {
                id: IntentId::new("pi_1").unwrap(),
                merchant: String::new(),
                payment_ref: String::new(),
                digest: String::new(),
                terms: Terms::read(&body).unwrap(),
                body,
                state: IntentState { paying_with: with, ..IntentState::new() },
                created_at: START,
                expires_at: START,
                version: 1,
            }
            .amount_payable(&Fees::standard())
        };
        assert_eq!(intent("merchant", None), Some(5_000));
        assert_eq!(intent("merchant", Some(state::tests::phone("0000000"))), Some(5_000));
        assert_eq!(intent("customer", None), None);
        assert_eq!(intent("customer", Some(state::tests::phone("0000000"))), Some(5_100));
    }
}
