//! Billing, `decisions.md` 6: a subscription's terms, which never change, and its state, which does.
//!
//! `calendar` says when periods begin, `state` how time and charges change a subscription, `transitions` how the
//! merchant changes it. **A period is charged once, and nothing is charged while another charge is under way.**

mod calendar;
mod state;
mod transitions;

pub(crate) use state::{Charge, Due, LateCharge, SubscriptionState};
pub(crate) use transitions::Conflict;

use guichet::values::{Amount, BillingCycle, Currency, Moment, PlanCode, PlanId, SubscriptionId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Whether a merchant reference has the format of a subscription's charge: `{subscription}:{period}:{attempt}`.
pub(crate) fn is_charge_reference(reference: &str) -> bool {
    let mut parts = reference.split(':');
    let number =
        |part: Option<&str>| part.is_some_and(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    parts.next().is_some_and(|id| id.starts_with("sub_"))
        && number(parts.next())
        && number(parts.next())
        && parts.next().is_none()
}

/// A stored plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its id.
    pub id: PlanId,
    /// Its merchant's id.
    pub merchant: String,
    pub(crate) offer: Offer,
    /// Whether customers can subscribe to it.
    pub active: bool,
    /// When it was created.
    pub created_at: Moment,
}

impl Plan {
    /// Its code, unique within the merchant.
    #[must_use]
    pub fn code(&self) -> &str {
        self.offer.code.as_str()
    }

    /// Its terms as JSON.
    #[must_use]
    pub fn offer_text(&self) -> String {
        serde_json::to_string(&self.offer).expect("an offer is plain words and numbers")
    }
}

/// The terms of a plan. They never change, and each subscription keeps a copy.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Offer {
    pub(crate) name: String,
    pub(crate) code: PlanCode,
    pub(crate) amount: Amount,
    pub(crate) currency: Currency,
    pub(crate) billing_cycle: BillingCycle,
    pub(crate) trial_days: u32,
}

/// A stored subscription.
#[derive(Clone, Debug)]
pub struct Subscription {
    /// Its id.
    pub id: SubscriptionId,
    /// Its merchant's id.
    pub merchant: String,
    /// The id of the customer with the e-mail address.
    pub customer_id: String,
    pub(crate) terms: Terms,
    pub(crate) state: SubscriptionState,
    /// When it was created.
    pub created_at: Moment,
    /// Its version when it was read.
    pub version: i64,
}

impl Subscription {
    /// Its terms as JSON.
    #[must_use]
    pub fn terms_text(&self) -> String {
        serde_json::to_string(&self.terms).expect("terms are plain words and numbers")
    }

    /// Its state as JSON: the part that changes.
    #[must_use]
    pub fn state_text(&self) -> String {
        serde_json::to_string(&self.state).expect("a state is made of words and numbers alone")
    }
}

/// The terms of a subscription, from its creation. They never change.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Terms {
    pub(crate) email: String,
    pub(crate) firstname: String,
    pub(crate) lastname: String,
    pub(crate) plan: PlanId,
    pub(crate) offer: Offer,
    pub(crate) metadata: Option<Box<RawValue>>,
}
