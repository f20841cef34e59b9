//! Events: every status change of a merchant's payments, subscriptions and eSIM orders, with its time.

use super::rules::{EsimOrder, Intent};
use super::store::SubscriptionEvent;
use guichet::values::Moment;
use serde_json::{Value, json};

/// One event. [`Tenant::events`](super::Tenant::events) lists them.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let sandbox = guichet_sandbox::Sandbox::start().await?;
/// let shop = sandbox.merchant().await?;
/// let paid = shop.events().await?.iter().filter(|event| event.kind == "payment_intent.succeeded").count();
/// assert_eq!(paid, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// Its identifier, the same in every list.
    pub id: String,
    /// Its type:
    /// - `payment_intent.created`, `payment_intent.` and the new status, and `payment_intent.duplicate_payment` for
    ///   each entry of `duplicate_payments`;
    /// - `subscription.` and the new status, `subscription.renewed` for each period after the first,
    ///   `subscription.updated`, `subscription.duplicate_payment`, and `subscription.charge_succeeded` or
    ///   `subscription.charge_failed` for a charge that ended after the subscription was canceled;
    /// - `esim_order.created` and `esim_order.fulfilled`.
    pub kind: String,
    /// When, by the merchant's clock.
    pub at: Moment,
    /// The identifier of the payment intent, subscription or eSIM order.
    pub subject: String,
    /// The `merchant_reference`, if it is a payment intent.
    pub merchant_reference: Option<String>,
}

impl Event {
    /// All events of these intents, subscriptions and eSIM orders, in order. The arguments are sorted newest first.
    pub(super) fn of(intents: &[Intent], subscription_events: &[SubscriptionEvent], orders: &[EsimOrder]) -> Vec<Self> {
        let subscriptions = subscription_events.iter().rev().map(Self::of_subscription);
        let intents = intents.iter().rev().flat_map(Self::of_intent);
        // Within one second, an order's fulfilment comes after its payment.
        let orders = orders.iter().rev().flat_map(Self::of_esim_order);
        let mut events: Vec<Self> = subscriptions.chain(intents).chain(orders).collect();
        events.sort_by_key(|event| event.at);
        events
    }

    fn of_subscription(event: &SubscriptionEvent) -> Self {
        let subject = event.subscription.to_string();
        Self {
            id: format!("evt_{}_{}", subject.trim_start_matches("sub_"), event.number),
            kind: format!("subscription.{}", event.kind),
            at: event.at,
            subject,
            merchant_reference: None,
        }
    }

    fn of_intent(intent: &Intent) -> impl Iterator<Item = Self> {
        let Intent { id, state, terms, created_at, .. } = intent;
        let created = (created_at.unix(), "0".to_owned(), "created");
        let statuses =
            (1..).zip(&state.status_history).map(|(number, (at, status))| (*at, number.to_string(), status.into_str()));
        // Numbered by attempt, so that each keeps its identifier when others are added.
        let duplicates = state
            .duplicate_payments
            .iter()
            .map(|approval| (approval.approved_at, format!("duplicate_{}", approval.attempt), "duplicate_payment"));
        std::iter::once(created).chain(statuses).chain(duplicates).map(|(at, number, word)| Self {
            id: format!("evt_{}_{number}", id.as_str().trim_start_matches("pi_")),
            kind: format!("payment_intent.{word}"),
            at: Moment::from_unix(at),
            subject: id.to_string(),
            merchant_reference: Some(terms.merchant_reference.clone()),
        })
    }

    fn of_esim_order(order: &EsimOrder) -> impl Iterator<Item = Self> {
        let fulfilled = order.fulfilment.as_ref().map(|fulfilment| (fulfilment.at, "fulfilled"));
        std::iter::once((order.created_at, "created")).chain(fulfilled).enumerate().map(|(number, (at, word))| Self {
            id: format!("evt_{}_{number}", order.id.as_str().trim_start_matches("eso_")),
            kind: format!("esim_order.{word}"),
            at,
            subject: order.id.to_string(),
            merchant_reference: None,
        })
    }

    /// The event as JSON for the control API.
    pub(super) fn to_json(&self) -> Value {
        let mut data = json!({ "id": self.subject });
        if let Some(reference) = &self.merchant_reference {
            data["merchant_reference"] = json!(reference);
        }
        json!({ "id": self.id, "type": self.kind, "created_at": self.at.unix(), "data": data })
    }
}
