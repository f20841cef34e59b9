//! A payment intent: its terms, which never change, and its state, which does.

mod state;

pub(crate) use state::{Conflict, HandsetDecision, IntentState, LateApproval, MAX_ATTEMPTS};

use super::{FeeProblem, Fees, PayingWith};
use guichet::values::{ConfirmationMethod, Country, Currency, FeeBearer, IntentId, Moment};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use strum::IntoStaticStr;

/// How long an intent can be paid, in seconds.
const LIFETIME: i64 = 24 * 60 * 60;
/// How long the client secret is valid after the final status, in seconds.
const SECRET_AFTER_FINAL: i64 = 24 * 60 * 60;

/// A payment intent, as it is stored.
#[derive(Clone, Debug)]
pub struct Intent {
    /// Its id.
    pub id: IntentId,
    /// Its merchant's id.
    pub merchant: String,
    /// The reference that customers see.
    pub payment_ref: String,
    /// The digest of [`Intent::body`]. A repeated create with the same digest is the same.
    pub digest: String,
    /// The canonical body of its create: parsed, defaults applied, keys sorted. It has the terms.
    pub body: String,
    pub(crate) terms: Terms,
    pub(crate) state: IntentState,
    /// When it was created.
    pub created_at: Moment,
    /// When it expires.
    pub expires_at: Moment,
    /// Its version when it was read.
    pub version: i64,
}

/// The terms of an intent, read from the canonical body. They never change.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Terms {
    pub(crate) firstname: String,
    pub(crate) lastname: String,
    pub(crate) email: Option<String>,
    pub(crate) phone: Option<String>,
    pub(crate) amount: guichet::values::Amount,
    pub(crate) currency: Currency,
    pub(crate) description: String,
    pub(crate) merchant_reference: String,
    pub(crate) fee_bearer: FeeBearer,
    pub(crate) confirmation_method: ConfirmationMethod,
    pub(crate) confirm: bool,
    pub(crate) redirect_url: Option<String>,
    pub(crate) items: Option<Box<RawValue>>,
    pub(crate) metadata: Option<Box<RawValue>>,
    pub(crate) payment_method_types: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, IntoStaticStr, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[strum(const_into_str, serialize_all = "snake_case")]
pub(crate) enum Status {
    Canceled,
    Failed,
    Processing,
    RequiresAction,
    Succeeded,
}

/// The action that the customer, or for `confirm` the merchant, must take before the charge.
#[derive(Clone, Copy, Debug, Deserialize, Eq, IntoStaticStr, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[strum(const_into_str, serialize_all = "snake_case")]
pub(crate) enum NextAction {
    Confirm,
    Otp,
    Redirect,
}

/// Why an intent was canceled.
#[derive(Clone, Copy, Debug, Deserialize, Eq, IntoStaticStr, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[strum(const_into_str, serialize_all = "snake_case")]
pub(crate) enum Cancellation {
    Expired,
    RequestedByCustomer,
    RequestedByMerchant,
}

impl Intent {
    /// Its merchant's reference, unique within the merchant.
    #[must_use]
    pub fn merchant_reference(&self) -> &str {
        &self.terms.merchant_reference
    }

    /// The eSIM order that it pays.
    #[must_use]
    pub fn esim_order(&self) -> Option<String> {
        self.terms.esim_order()
    }

    /// Its state as JSON: the part that changes.
    #[must_use]
    pub fn state_text(&self) -> String {
        serde_json::to_string(&self.state).expect("a state is made of words and numbers alone")
    }

    /// When an intent that is created now expires.
    pub(crate) fn expiry(now: Moment) -> Moment {
        now.plus(LIFETIME)
    }

    /// The intent with everything that time has changed until now.
    pub(crate) fn at(mut self, now: Moment) -> Self {
        self.state = self.state.at(now, self.expires_at);
        self
    }

    /// When its client secret expires. The secret stays in the browser's history, so it expires some time after the
    /// final status. `None`: the status is not final.
    pub(crate) fn secret_ends_at(&self) -> Option<Moment> {
        self.state.final_since().map(|end| end.plus(SECRET_AFTER_FINAL))
    }

    /// Whether its client secret has expired.
    pub(crate) fn secret_has_ended(&self, now: Moment) -> bool {
        self.secret_ends_at().is_some_and(|end| now >= end)
    }

    /// The total that the customer pays. `None` if it depends on a method that is not known yet.
    pub(crate) fn amount_payable(&self, fees: &Fees) -> Option<u64> {
        match (self.terms.fee_bearer, &self.state.paying_with) {
            (FeeBearer::Merchant, _) => self.terms.amount.whole_units(),
            (FeeBearer::Customer, None) => None,
            (FeeBearer::Customer, Some(with)) => self.amount_with(with, fees),
        }
    }

    /// The total that the customer pays with a method. `None` if the table has no fee for it.
    ///
    /// An intent has no country, so its fee is that of a fee calculation without one, which is what the customer was
    /// quoted.
    pub(crate) fn amount_with(&self, with: &PayingWith, fees: &Fees) -> Option<u64> {
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
    pub(crate) fn read(body: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(body)
    }

    /// The eSIM order that it pays, from its metadata.
    pub(crate) fn esim_order(&self) -> Option<String> {
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
    pub(crate) fn accepts(&self, kind: &str) -> bool {
        self.payment_method_types.as_ref().is_none_or(|types| types.iter().any(|allowed| allowed == kind))
    }
}
