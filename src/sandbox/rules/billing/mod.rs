//! Billing, `decisions.md` 6: a subscription's terms, which never change, and its state, which does.
//!
//! `calendar` says when periods begin, `state` how time and charges change a subscription, `transitions` how the merchant
//! changes it. **A period is charged once, and nothing is charged while another charge is under way.**

mod calendar;
#[cfg(test)]
mod random_walks;
mod state;
mod transitions;

pub(in crate::sandbox) use state::{Charge, Due, LateCharge, SubscriptionState};
pub(in crate::sandbox) use transitions::Conflict;

use crate::values::{Amount, BillingCycle, Currency, Moment, PlanCode, PlanId, SubscriptionId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A stored plan.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct Plan {
    pub(in crate::sandbox) id: PlanId,
    pub(in crate::sandbox) merchant: String,
    pub(in crate::sandbox) offer: Offer,
    pub(in crate::sandbox) active: bool,
    pub(in crate::sandbox) created_at: Moment,
}

/// The terms of a plan. They never change, and each subscription keeps a copy.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(in crate::sandbox) struct Offer {
    pub(in crate::sandbox) name: String,
    pub(in crate::sandbox) code: PlanCode,
    pub(in crate::sandbox) amount: Amount,
    pub(in crate::sandbox) currency: Currency,
    pub(in crate::sandbox) billing_cycle: BillingCycle,
    pub(in crate::sandbox) trial_days: u32,
}

/// A stored subscription.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct Subscription {
    pub(in crate::sandbox) id: SubscriptionId,
    pub(in crate::sandbox) merchant: String,
    /// The id of the customer with the e-mail address.
    pub(in crate::sandbox) customer_id: String,
    pub(in crate::sandbox) terms: Terms,
    pub(in crate::sandbox) state: SubscriptionState,
    pub(in crate::sandbox) created_at: Moment,
    pub(in crate::sandbox) version: i64,
}

/// The terms of a subscription, from its creation. They never change.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(in crate::sandbox) struct Terms {
    pub(in crate::sandbox) email: String,
    pub(in crate::sandbox) firstname: String,
    pub(in crate::sandbox) lastname: String,
    pub(in crate::sandbox) plan: PlanId,
    pub(in crate::sandbox) offer: Offer,
    pub(in crate::sandbox) metadata: Option<Box<RawValue>>,
}
