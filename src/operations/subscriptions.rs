//! Subscriptions: made, read, paused, resumed and ended, and what they are paid with.
//!
//! Every call answers with the subscription as it stands then.

use super::intents::duplicate_payments;
use super::{CustomerName, DuplicatePayment, Instrument, PaidWith, operation, resource};
use crate::protocol::Merchant;
use crate::values::{
    Amount, Email, IdempotencyKey, IntentId, Moment, PageLimit, PlanId, PlanKey, SubscriptionId, SubscriptionStatus,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// How many failures in a row the fallback waits for at most (a decision).
const MOST_FAILURES: u32 = 10;
/// How many it waits for where nobody says so.
const USUAL_FAILURES: u32 = 3;

/// `POST /v1/subscriptions`: bill a customer by a plan, from now on or from the end of the plan's trial.
///
/// A first charge that is declined is no refusal: the subscription is made, and is `past_due`. Nobody is present when it is
/// charged: what would ask the customer for something is declined with `authentication_required`.
///
/// ```
/// use guichet::operations::{CreateSubscription, CustomerName, Instrument};
/// use guichet::values::{Email, Phone, PlanCode};
/// let awa = CustomerName { firstname: "Awa", lastname: "Ngono" };
/// let phone = Instrument::MobileMoney { phone: Phone::new("237670000000")? };
/// let gold = CreateSubscription::new(PlanCode::new("gold")?, Email::new("awa@example.com")?, awa, phone);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
#[operation(
    POST "/v1/subscriptions" -> Subscription,
    role = Merchant,
    command = "subscriptions create",
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
    /// What every period is paid with.
    pub payment_method: Instrument,
    /// Free key-value pairs.
    pub metadata: Option<BTreeMap<String, Value>>,
    /// Under this key one subscription is made, however often this is sent. Without it the native client sends this but
    /// once, since a service may know no keys.
    #[field(idempotency_key)]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// `GET /v1/subscriptions`: the merchant's subscriptions, the newest first.
///
/// ```
/// use guichet::operations::ListSubscriptions;
/// use guichet::values::PageLimit;
/// let first = ListSubscriptions::new().limit(PageLimit::new(20)?);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
#[operation(
    GET "/v1/subscriptions" -> Vec<Subscription>,
    role = Merchant,
    command = "subscriptions list",
    columns = ["id", "status", "customer_email", "plan.code", "plan.amount", "next_charge_at"],
    assumed,
)]
pub struct ListSubscriptions {
    /// How many; the service's default is 100, and the most.
    #[field(default = 100)]
    pub limit: Option<PageLimit>,
    /// Those after this one.
    pub starting_after: Option<SubscriptionId>,
}

/// `GET /v1/subscriptions/{id}`: how a subscription stands.
///
/// ```
/// use guichet::operations::ReadSubscription;
/// use guichet::values::SubscriptionId;
/// let read = ReadSubscription::new(SubscriptionId::new("sub_1")?);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
#[operation(GET "/v1/subscriptions/{id}" -> Subscription, role = Merchant, command = "subscriptions read", assumed)]
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
/// What the two fields mean here, and the reply. Chosen: `immediately` is true by default, and false pauses at the end of
/// the period; `trigger_after_failures` is checked and echoed, and has no effect. Pausing what is paused changes nothing.
#[operation(
    POST "/v1/subscriptions/{id}/pause" -> Subscription,
    role = Merchant,
    command = "subscriptions pause",
    repeatable,
)]
pub struct PauseSubscription {
    /// The subscription.
    pub id: SubscriptionId,
    /// Now, or at the end of the period.
    #[field(default = true)]
    pub immediately: bool,
    /// 1 to 10; no effect.
    #[field(min = 1, max = MOST_FAILURES)]
    pub trigger_after_failures: Option<u32>,
}

/// `POST /v1/subscriptions/{id}/resume`: charge again. It also takes back a pause or an end that is still to come.
///
/// ```
/// use guichet::operations::ResumeSubscription;
/// use guichet::values::SubscriptionId;
/// let resume = ResumeSubscription::new(SubscriptionId::new("sub_1")?);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
///
/// # Undocumented
/// The reply, and what is charged. Chosen: nothing inside a period that was paid; after it a new period begins now, with
/// one charge, and nothing of the time between is charged.
#[operation(POST "/v1/subscriptions/{id}/resume" -> Subscription, role = Merchant, command = "subscriptions resume")]
pub struct ResumeSubscription {
    /// The subscription.
    pub id: SubscriptionId,
}

/// `PUT /v1/subscriptions/{id}/payment-method`: pay with another phone or card from now on.
///
/// ```
/// use guichet::operations::{ChangeSubscriptionPaymentMethod, Instrument};
/// use guichet::values::{Phone, SubscriptionId};
/// let phone = Instrument::MobileMoney { phone: Phone::new("237690000000")? };
/// let change = ChangeSubscriptionPaymentMethod::new(SubscriptionId::new("sub_1")?, phone);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
///
/// # Undocumented
/// The body and the reply. Chosen: `payment_method`, as a payment intent takes it; where a charge has failed, the new
/// method is charged at once. The same method again changes nothing.
#[operation(
    PUT "/v1/subscriptions/{id}/payment-method" -> Subscription,
    role = Merchant,
    command = "subscriptions payment-method",
    repeatable,
)]
pub struct ChangeSubscriptionPaymentMethod {
    /// The subscription.
    pub id: SubscriptionId,
    /// What to pay with.
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
/// The reply. Nothing is paid back (a decision).
#[operation(
    POST "/v1/subscriptions/{id}/cancel" -> Subscription,
    role = Merchant,
    command = "subscriptions cancel",
    repeatable,
)]
pub struct CancelSubscription {
    /// The subscription.
    pub id: SubscriptionId,
    /// Now, or at the end of the period, which is the document's default.
    #[field(default = false)]
    pub immediately: bool,
}

/// `PUT /v1/subscriptions/{id}/fallback`: what is charged when the payment method fails again and again.
///
/// ```
/// use guichet::operations::{ConfigureFallback, Instrument};
/// use guichet::values::{Phone, SubscriptionId};
/// let phone = Instrument::MobileMoney { phone: Phone::new("237690000000")? };
/// let fallback = ConfigureFallback::new(SubscriptionId::new("sub_1")?, phone).trigger_after_failures(2);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
///
/// # Undocumented
/// The field of the second method, the most failures, and the reply. Chosen: `payment_method`, as a payment intent takes
/// it; 10; the subscription. A period is attempted four times in all, whatever with, and a fifth time where the fallback's
/// turn comes with the fourth failure. Where there were as many failures already, it is charged at once.
#[operation(
    PUT "/v1/subscriptions/{id}/fallback" -> Subscription,
    role = Merchant,
    command = "subscriptions fallback",
    repeatable,
)]
pub struct ConfigureFallback {
    /// The subscription.
    pub id: SubscriptionId,
    /// What to charge then.
    #[field(undocumented)]
    pub payment_method: Instrument,
    /// After how many failures in a row: 1 to 10. The document's default is 3.
    #[field(default = USUAL_FAILURES, min = 1, max = MOST_FAILURES)]
    pub trigger_after_failures: u32,
}

/// A subscription, as the service sees it now. The document shows none of its fields: all but `id` and `status` may be
/// absent.
///
/// ```
/// use guichet::operations::Subscription;
/// let subscription: Subscription = guichet::protocol::decode(br#"{"data": {"id": "sub_1", "status": "active", "customer_email": "awa@example.com"}}"#)?;
/// assert_eq!(subscription.status.as_str(), "active");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[resource(undocumented)]
pub struct Subscription {
    /// Its identifier.
    #[field(required, schema("pattern" = "^sub_[0-9A-Za-z]{22}$"))]
    pub id: SubscriptionId,
    /// Always `subscription`.
    #[field(always, schema("const" = "subscription"))]
    pub object: Option<String>,
    /// Where it stands.
    #[field(required)]
    pub status: SubscriptionStatus,
    /// Whose it is.
    #[field(always)]
    pub customer_email: Option<String>,
    /// The customer, as the list of customers knows them.
    #[field(always)]
    pub customer_id: Option<String>,
    /// What is paid, as it was when the customer subscribed.
    #[field(always)]
    pub plan: Option<SubscribedPlan>,
    /// What it is paid with: type and a masked phone, or brand and last four digits.
    #[field(always)]
    pub payment_method: Option<PaidWith>,
    /// What is charged when that fails again and again.
    pub fallback_payment_method: Option<PaidWith>,
    /// After how many failures in a row.
    #[field(always)]
    pub trigger_after_failures: Option<u32>,
    /// How many charges have failed since the last that succeeded.
    #[field(always)]
    pub consecutive_failures: Option<u32>,
    /// When the period it is in began; of a trial, when that did.
    #[field(always)]
    pub current_period_start: Option<Moment>,
    /// When that period ends.
    #[field(always)]
    pub current_period_end: Option<Moment>,
    /// When the trial ends or ended, where the plan has one.
    pub trial_end: Option<Moment>,
    /// When it is charged next, as far as that is known.
    pub next_charge_at: Option<Moment>,
    /// Whether it ends with the period.
    pub cancel_at_period_end: bool,
    /// Whether it pauses when the period ends.
    pub pause_at_period_end: bool,
    /// Since when it is paused.
    pub paused_at: Option<Moment>,
    /// When it ended.
    pub canceled_at: Option<Moment>,
    /// Why it ended: `requested_by_merchant`, `payment_failed`, or a word of the service.
    pub cancellation_reason: Option<String>,
    /// The payment intent of the latest charge.
    pub latest_payment_intent: Option<IntentId>,
    /// What was given at creation.
    pub metadata: BTreeMap<String, Value>,
    /// When it was made, in Unix seconds.
    #[field(always)]
    pub created_at: Option<i64>,
    /// The failed charges that an operator has approved since, the first approved first: for each a refund is due. Each
    /// names its payment intent.
    #[field(read = duplicate_payments)]
    pub duplicate_payments: Vec<DuplicatePayment>,
}

/// The plan of a subscription, as it was when the customer subscribed.
///
/// ```
/// use guichet::operations::SubscribedPlan;
/// let plan: SubscribedPlan = guichet::protocol::decode(br#"{"data": {"id": "plan_1", "name": "Gold"}}"#)?;
/// assert_eq!(plan.name.as_deref(), Some("Gold"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[resource(undocumented)]
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
    /// In which currency.
    pub currency: Option<String>,
    /// How long a period is.
    pub billing_cycle: Option<String>,
}
