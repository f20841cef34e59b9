//! Subscriptions: create, read, pause, resume and end them, and change what they are paid with.
//!
//! The sandbox replies to every operation with the subscription's current state, which the document does not show.

use super::intents::duplicate_payments;
use super::{After, CustomerName, DuplicatePayment, Instrument, PaidWith, operation, resource};
use crate::protocol::Merchant;
use crate::values::{
    Amount, Email, IdempotencyKey, IntentId, Moment, PageLimit, PlanId, PlanKey, SubscriptionId, SubscriptionStatus,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// The greatest `trigger_after_failures` (a decision).
const MAX_FAILURES: u32 = 10;
/// The document's default for `trigger_after_failures`.
const DEFAULT_FAILURES: u32 = 3;

/// `POST /v1/subscriptions`: bill a customer by a plan, from now on or from the end of the plan's trial.
///
/// If the first charge is declined, the subscription is created all the same, with the status `past_due`. The customer
/// is not present at a charge: a charge that would need an action of the customer is declined with
/// `authentication_required`.
///
/// ```
/// use guichet::operations::{CreateSubscription, CustomerName, Instrument};
/// use guichet::values::{Email, Phone, PlanCode};
/// let awa = CustomerName { firstname: "Awa", lastname: "Ngono" };
/// let phone = Instrument::mobile_money(Phone::new("237670000000")?);
/// let gold = CreateSubscription::new(PlanCode::new("gold")?, Email::new("awa@example.com")?, awa, phone);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
#[operation(
    POST "/v1/subscriptions" -> Subscription,
    role = Merchant,
    assumed,
    new(plan, customer_email, CustomerName { firstname, lastname }, payment_method),
)]
pub struct CreateSubscription {
    /// The plan, by its id or its code.
    #[field(into)]
    pub plan: PlanKey,
    /// The customer's e-mail address.
    pub customer_email: Email,
    /// The customer's first name.
    pub firstname: String,
    /// The customer's last name.
    pub lastname: String,
    /// The payment method for every period.
    pub payment_method: Instrument,
    /// Free key-value pairs.
    pub metadata: Option<BTreeMap<String, Value>>,
    /// The service creates one subscription per key, however often the request is sent. Without a key the native client
    /// sends it only once, because a service may not support keys.
    #[field(idempotency_key)]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// `GET /v1/subscriptions`: the merchant's subscriptions, the newest first.
#[operation(
    GET "/v1/subscriptions" -> Vec<Subscription>,
    role = Merchant,
    assumed,
)]
pub struct ListSubscriptions {
    /// The number of entries per page. The service's default is 100, which is also the most.
    #[field(default = 100)]
    pub limit: Option<PageLimit>,
    /// Only the entries after this one.
    pub starting_after: Option<SubscriptionId>,
}

/// `GET /v1/subscriptions/{id}`: a subscription's current state.
#[operation(GET "/v1/subscriptions/{id}" -> Subscription, role = Merchant, assumed, example = "sub_1")]
pub struct ReadSubscription {
    /// The subscription.
    pub id: SubscriptionId,
}

/// `POST /v1/subscriptions/{id}/pause`: charge nothing until it is resumed.
///
/// ```
/// use guichet::operations::PauseSubscription;
/// use guichet::values::SubscriptionId;
/// let later = PauseSubscription::new(SubscriptionId::new("sub_1")?).immediately(false);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
///
/// # Undocumented
/// The meaning of the two fields, and the reply. Chosen: `immediately` is true by default, and false pauses at the end
/// of the period; `trigger_after_failures` is checked and echoed, and has no effect. Pausing a paused subscription
/// changes nothing.
#[operation(
    POST "/v1/subscriptions/{id}/pause" -> After<Subscription>,
    role = Merchant,
    repeatable,
)]
pub struct PauseSubscription {
    /// The subscription.
    pub id: SubscriptionId,
    /// Whether to pause now, or at the end of the period.
    #[field(default = true)]
    pub immediately: bool,
    /// 1 to 10; no effect.
    #[field(min = 1, max = MAX_FAILURES)]
    pub trigger_after_failures: Option<u32>,
}

/// `POST /v1/subscriptions/{id}/resume`: charge again. It also undoes a scheduled pause or cancellation.
///
/// # Undocumented
/// The reply, and the charge. Chosen: within a period that is paid, nothing is charged; after it, a new period begins
/// now with one charge, and the time in between is not charged.
#[operation(POST "/v1/subscriptions/{id}/resume" -> After<Subscription>, role = Merchant, example = "sub_1")]
pub struct ResumeSubscription {
    /// The subscription.
    pub id: SubscriptionId,
}

/// `PUT /v1/subscriptions/{id}/payment-method`: pay with another phone or card from now on.
///
/// ```
/// use guichet::operations::{ChangeSubscriptionPaymentMethod, Instrument};
/// use guichet::values::{Phone, SubscriptionId};
/// let phone = Instrument::mobile_money(Phone::new("237690000000")?);
/// let change = ChangeSubscriptionPaymentMethod::new(SubscriptionId::new("sub_1")?, phone);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
///
/// # Undocumented
/// The body and the reply. Chosen: `payment_method`, in the form that a payment intent takes; if a charge has failed,
/// the new method is charged at once. Sending the same method again changes nothing.
#[operation(
    PUT "/v1/subscriptions/{id}/payment-method" -> After<Subscription>,
    role = Merchant,
    repeatable,
)]
pub struct ChangeSubscriptionPaymentMethod {
    /// The subscription.
    pub id: SubscriptionId,
    /// The payment method.
    #[field(undocumented)]
    pub payment_method: Instrument,
}

/// `POST /v1/subscriptions/{id}/cancel`: end it, now or at the end of the period. It can be repeated.
///
/// ```
/// use guichet::operations::CancelSubscription;
/// use guichet::values::SubscriptionId;
/// let now = CancelSubscription::new(SubscriptionId::new("sub_1")?).immediately(true);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
///
/// # Undocumented
/// The reply. Nothing is refunded (a decision).
#[operation(
    POST "/v1/subscriptions/{id}/cancel" -> After<Subscription>,
    role = Merchant,
    repeatable,
)]
pub struct CancelSubscription {
    /// The subscription.
    pub id: SubscriptionId,
    /// Whether to end it now, or at the end of the period, which is the document's default.
    #[field(default = false)]
    pub immediately: bool,
}

/// `PUT /v1/subscriptions/{id}/fallback`: set the method to charge when the payment method fails repeatedly.
///
/// ```
/// use guichet::operations::{ConfigureFallback, Instrument};
/// use guichet::values::{Phone, SubscriptionId};
/// let phone = Instrument::mobile_money(Phone::new("237690000000")?);
/// let fallback = ConfigureFallback::new(SubscriptionId::new("sub_1")?, phone).trigger_after_failures(2);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
///
/// # Undocumented
/// The field of the second method, the greatest number of failures, and the reply. Chosen: `payment_method`, in the
/// form that a payment intent takes; 10; the subscription. A period is attempted four times in total, with either
/// method, and a fifth time if the fallback is due at the fourth failure. If that many charges have failed already, the
/// fallback is charged at once.
#[operation(
    PUT "/v1/subscriptions/{id}/fallback" -> After<Subscription>,
    role = Merchant,
    repeatable,
)]
pub struct ConfigureFallback {
    /// The subscription.
    pub id: SubscriptionId,
    /// The fallback method.
    #[field(undocumented)]
    pub payment_method: Instrument,
    /// The number of consecutive failures before the fallback is charged: 1 to 10. The document's default is 3.
    #[field(default = DEFAULT_FAILURES, min = 1, max = MAX_FAILURES)]
    pub trigger_after_failures: u32,
}

/// A subscription, as the service sees it now. The document shows none of its fields: all but `id` and `status` may be
/// absent.
#[resource(undocumented, example = r#"{"id": "sub_1", "status": "active", "customer_email": "awa@example.com"}"#)]
pub struct Subscription {
    /// Its identifier.
    #[field(required, schema("pattern" = "^sub_[0-9A-Za-z]{22}$"))]
    pub id: SubscriptionId,
    /// Always `subscription`.
    #[field(always, schema("const" = "subscription"))]
    pub object: Option<String>,
    /// Its status.
    #[field(required)]
    pub status: SubscriptionStatus,
    /// The customer's e-mail address.
    #[field(always)]
    pub customer_email: Option<String>,
    /// The customer's identifier in the list of customers.
    #[field(always)]
    pub customer_id: Option<String>,
    /// The plan, as it was when the customer subscribed.
    #[field(always)]
    pub plan: Option<SubscribedPlan>,
    /// The payment method: type and a masked phone, or brand and last four digits.
    #[field(always)]
    pub payment_method: Option<PaidWith>,
    /// The method that is charged when the payment method fails repeatedly.
    pub fallback_payment_method: Option<PaidWith>,
    /// The number of consecutive failures before the fallback is charged.
    #[field(always)]
    pub trigger_after_failures: Option<u32>,
    /// The number of charges that have failed since the last that succeeded.
    #[field(always)]
    pub consecutive_failures: Option<u32>,
    /// When the current period, or the trial, began.
    #[field(always)]
    pub current_period_start: Option<Moment>,
    /// When the current period, or the trial, ends.
    #[field(always)]
    pub current_period_end: Option<Moment>,
    /// When the trial ends or ended, if the plan has one.
    pub trial_end: Option<Moment>,
    /// When it is charged next, if that is known.
    pub next_charge_at: Option<Moment>,
    /// Whether it ends with the period.
    pub cancel_at_period_end: bool,
    /// Whether it pauses when the period ends.
    pub pause_at_period_end: bool,
    /// When it was paused.
    pub paused_at: Option<Moment>,
    /// When it ended.
    pub canceled_at: Option<Moment>,
    /// Why it ended: `requested_by_merchant`, `payment_failed`, or a word of the service.
    pub cancellation_reason: Option<String>,
    /// The payment intent of the latest charge.
    pub latest_payment_intent: Option<IntentId>,
    /// The key-value pairs given at creation.
    pub metadata: BTreeMap<String, Value>,
    /// When it was made, in Unix seconds.
    #[field(always)]
    pub created_at: Option<i64>,
    /// The failed charges that an operator has approved since, in the order of approval. Each names its payment intent,
    /// and a refund is due for it.
    #[field(read = duplicate_payments)]
    pub duplicate_payments: Vec<DuplicatePayment>,
}

/// The plan of a subscription, as it was when the customer subscribed.
#[resource(undocumented, example = r#"{"id": "plan_1", "name": "Gold"}"#)]
pub struct SubscribedPlan {
    /// Its identifier.
    #[field(required)]
    pub id: PlanId,
    /// The merchant's slug of it.
    pub code: Option<String>,
    /// The name that customers see.
    pub name: Option<String>,
    /// The price of each period, in the smallest unit.
    #[field(number)]
    pub amount: Option<Amount>,
    /// The currency of the price.
    pub currency: Option<String>,
    /// The length of a period.
    pub billing_cycle: Option<String>,
}
