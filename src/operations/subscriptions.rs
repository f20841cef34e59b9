//! Subscriptions: pausing, resuming and ending them, and what they are paid with.
//!
//! Every call answers with the subscription as it stands then.

#[cfg(feature = "sandbox")]
use super::intents::PaidWith;
use super::intents::duplicate_payments;
use super::{DuplicatePayment, Instrument, setters};
use crate::protocol::{Fields, Merchant, Operation, Served, Spec, Whole, lenient};
use crate::values::{Figure, IntentId, Moment, PlanId, SubscriptionId, SubscriptionStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// How many failures in a row the fallback waits for at most (a decision).
const MOST_FAILURES: u32 = 10;
/// How many it waits for where nobody says so.
const USUAL_FAILURES: u32 = 3;

/// `POST /v1/subscriptions/{id}/pause`: charge nothing until it is resumed.
///
/// # Not shown
/// What the two fields mean here, and the reply. Chosen: `immediately` is true by default, and false pauses at the end of
/// the period; `trigger_after_failures` is checked and echoed, and has no effect. Pausing what is paused changes nothing.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct PauseSubscription {
    /// The subscription.
    pub id: SubscriptionId,
    /// Now, or at the end of the period.
    #[cfg_attr(feature = "sandbox", schemars(extend("default" = true)))]
    pub immediately: bool,
    /// 1 to 10; no effect.
    #[cfg_attr(feature = "sandbox", schemars(range(min = 1, max = MOST_FAILURES)))]
    pub trigger_after_failures: Option<u32>,
}

impl PauseSubscription {
    /// Pauses this subscription now.
    #[must_use]
    pub fn new(id: SubscriptionId) -> Self {
        Self { id, immediately: true, trigger_after_failures: None }
    }
}

setters! { PauseSubscription {
    /// Now, or at the end of the period.
    immediately: bool,
    /// 1 to 10; no effect.
    trigger_after_failures: u32,
} }

impl Operation for PauseSubscription {
    type Role = Merchant;
    type Output = Subscription;
    const SPEC: Spec = Spec::post("pause_subscription", "/v1/subscriptions/{id}/pause").repeatable();
}

impl Served for PauseSubscription {
    fn read(fields: &mut Fields) -> Option<Self> {
        let id = fields.required("id");
        let immediately = fields.or("immediately", true);
        let failures = fields.optional::<Whole<1, MOST_FAILURES>>("trigger_after_failures");
        Some(Self { id: id?, immediately: immediately?, trigger_after_failures: failures?.map(|failures| failures.0) })
    }
}

/// `POST /v1/subscriptions/{id}/resume`: charge again. It also takes back a pause or an end that is still to come.
///
/// # Not shown
/// The reply, and what is charged. Chosen: nothing inside a period that was paid; after it a new period begins now, with
/// one charge, and nothing of the time between is charged.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct ResumeSubscription {
    /// The subscription.
    pub id: SubscriptionId,
}

impl ResumeSubscription {
    /// Resumes this subscription.
    #[must_use]
    pub fn new(id: SubscriptionId) -> Self {
        Self { id }
    }
}

impl Operation for ResumeSubscription {
    type Role = Merchant;
    type Output = Subscription;
    const SPEC: Spec = Spec::post("resume_subscription", "/v1/subscriptions/{id}/resume");
}

impl Served for ResumeSubscription {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self::new(fields.required("id")?))
    }
}

/// `PUT /v1/subscriptions/{id}/payment-method`: pay with another phone or card from now on.
///
/// # Not shown
/// The body and the reply. Chosen: `payment_method`, as a payment intent takes it; where a charge has failed, the new
/// method is charged at once. The same method again changes nothing.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema), schemars(extend("x-guichet-documented" = ["id"])))]
pub struct ChangeSubscriptionPaymentMethod {
    /// The subscription.
    pub id: SubscriptionId,
    /// What to pay with.
    pub payment_method: Instrument,
}

impl ChangeSubscriptionPaymentMethod {
    /// Pays this subscription with this instrument.
    #[must_use]
    pub fn new(id: SubscriptionId, payment_method: Instrument) -> Self {
        Self { id, payment_method }
    }
}

impl Operation for ChangeSubscriptionPaymentMethod {
    type Role = Merchant;
    type Output = Subscription;
    const SPEC: Spec =
        Spec::put("change_subscription_payment_method", "/v1/subscriptions/{id}/payment-method").repeatable();
}

impl Served for ChangeSubscriptionPaymentMethod {
    fn read(fields: &mut Fields) -> Option<Self> {
        let id = fields.required("id");
        let payment_method = fields.required("payment_method");
        Some(Self::new(id?, payment_method?))
    }
}

/// `POST /v1/subscriptions/{id}/cancel`: end it, now or at the end of the period. It can be repeated.
///
/// # Not shown
/// The reply. Nothing is paid back (a decision).
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct CancelSubscription {
    /// The subscription.
    pub id: SubscriptionId,
    /// Now, or at the end of the period, which is the document's default.
    #[cfg_attr(feature = "sandbox", schemars(extend("default" = false)))]
    pub immediately: bool,
}

impl CancelSubscription {
    /// Ends this subscription with its period.
    #[must_use]
    pub fn new(id: SubscriptionId) -> Self {
        Self { id, immediately: false }
    }
}

setters! { CancelSubscription {
    /// Now, or at the end of the period.
    immediately: bool,
} }

impl Operation for CancelSubscription {
    type Role = Merchant;
    type Output = Subscription;
    const SPEC: Spec = Spec::post("cancel_subscription", "/v1/subscriptions/{id}/cancel").repeatable();
}

impl Served for CancelSubscription {
    fn read(fields: &mut Fields) -> Option<Self> {
        let id = fields.required("id");
        let immediately = fields.or("immediately", false);
        Some(Self { id: id?, immediately: immediately? })
    }
}

/// `PUT /v1/subscriptions/{id}/fallback`: what is charged when the payment method fails again and again.
///
/// # Not shown
/// The field of the second method, the most failures, and the reply. Chosen: `payment_method`, as a payment intent takes
/// it; 10; the subscription. A period is attempted four times in all, whatever with, and a fifth time where the fallback's
/// turn comes with the fourth failure. Where there were as many failures already, it is charged at once.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema), schemars(extend("x-guichet-documented" = ["id", "trigger_after_failures"])))]
pub struct ConfigureFallback {
    /// The subscription.
    pub id: SubscriptionId,
    /// What to charge then.
    pub payment_method: Instrument,
    /// After how many failures in a row: 1 to 10. The document's default is 3.
    #[cfg_attr(feature = "sandbox", schemars(range(min = 1, max = MOST_FAILURES), extend("default" = USUAL_FAILURES)))]
    pub trigger_after_failures: u32,
}

impl ConfigureFallback {
    /// This instrument is charged after three failures in a row.
    #[must_use]
    pub fn new(id: SubscriptionId, payment_method: Instrument) -> Self {
        Self { id, payment_method, trigger_after_failures: USUAL_FAILURES }
    }
}

setters! { ConfigureFallback {
    /// After so many failures in a row: 1 to 10.
    trigger_after_failures: u32,
} }

impl Operation for ConfigureFallback {
    type Role = Merchant;
    type Output = Subscription;
    const SPEC: Spec = Spec::put("configure_fallback", "/v1/subscriptions/{id}/fallback").repeatable();
}

impl Served for ConfigureFallback {
    fn read(fields: &mut Fields) -> Option<Self> {
        let id = fields.required("id");
        let payment_method = fields.required("payment_method");
        let failures = fields.or::<Whole<1, MOST_FAILURES>>("trigger_after_failures", Whole(USUAL_FAILURES));
        Some(Self { id: id?, payment_method: payment_method?, trigger_after_failures: failures?.0 })
    }
}

/// A subscription, as the service sees it now. The document shows none of its fields: all but `id` and `status` may be
/// absent.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct Subscription {
    /// Its identifier.
    #[cfg_attr(feature = "sandbox", schemars(extend("pattern" = "^sub_[0-9A-Za-z]{22}$")))]
    pub id: SubscriptionId,
    /// Always `subscription`.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "String", extend("const" = "subscription")))]
    pub object: Option<String>,
    /// Where it stands.
    pub status: SubscriptionStatus,
    /// Whose it is.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "String"))]
    pub customer_email: Option<String>,
    /// The customer, as the list of customers knows them.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "String"))]
    pub customer_id: Option<String>,
    /// What is paid, as it was when the customer subscribed.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "SubscribedPlan"))]
    pub plan: Option<SubscribedPlan>,
    /// What it is paid with: type and a masked phone, or brand and last four digits.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "PaidWith"))]
    pub payment_method: Option<Value>,
    /// What is charged when that fails again and again.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "Option<PaidWith>"))]
    pub fallback_payment_method: Option<Value>,
    /// After how many failures in a row.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "u32"))]
    pub trigger_after_failures: Option<u32>,
    /// How many charges have failed since the last that succeeded.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "u32"))]
    pub consecutive_failures: Option<u32>,
    /// When the period it is in began; of a trial, when that did.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "Moment"))]
    pub current_period_start: Option<Moment>,
    /// When that period ends.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "Moment"))]
    pub current_period_end: Option<Moment>,
    /// When the trial ends or ended, where the plan has one.
    #[serde(default, deserialize_with = "lenient")]
    pub trial_end: Option<Moment>,
    /// When it is charged next, as far as that is known.
    #[serde(default, deserialize_with = "lenient")]
    pub next_charge_at: Option<Moment>,
    /// Whether it ends with the period.
    #[serde(default, deserialize_with = "lenient")]
    pub cancel_at_period_end: bool,
    /// Whether it pauses when the period ends.
    #[serde(default, deserialize_with = "lenient")]
    pub pause_at_period_end: bool,
    /// Since when it is paused.
    #[serde(default, deserialize_with = "lenient")]
    pub paused_at: Option<Moment>,
    /// When it ended.
    #[serde(default, deserialize_with = "lenient")]
    pub canceled_at: Option<Moment>,
    /// Why it ended: `requested_by_merchant`, `payment_failed`, or a word of the service.
    #[serde(default, deserialize_with = "lenient")]
    pub cancellation_reason: Option<String>,
    /// The payment intent of the latest charge.
    #[serde(default, deserialize_with = "lenient")]
    pub latest_payment_intent: Option<IntentId>,
    /// What was given at creation.
    #[serde(default, deserialize_with = "lenient")]
    pub metadata: BTreeMap<String, Value>,
    /// When it was made, in Unix seconds.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "i64"))]
    pub created_at: Option<i64>,
    /// The failed charges that an operator has approved since, the first approved first: for each a refund is due. Each
    /// names its payment intent.
    #[serde(default, deserialize_with = "duplicate_payments")]
    pub duplicate_payments: Vec<DuplicatePayment>,
}

/// The plan of a subscription, as it was when the customer subscribed.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct SubscribedPlan {
    /// Its identifier.
    pub id: PlanId,
    /// The merchant's slug of it.
    #[serde(default, deserialize_with = "lenient")]
    pub code: Option<String>,
    /// The name that customers see.
    #[serde(default, deserialize_with = "lenient")]
    pub name: Option<String>,
    /// The price of each period, in the smallest unit.
    #[serde(default, deserialize_with = "lenient")]
    pub amount: Option<Figure>,
    /// In which currency.
    #[serde(default, deserialize_with = "lenient")]
    pub currency: Option<String>,
    /// How long a period is.
    #[serde(default, deserialize_with = "lenient")]
    pub billing_cycle: Option<String>,
}
