//! What has happened to a merchant's payments, subscriptions and eSIM orders: every status that one came to, and when.

use super::rules::{EsimOrder, Intent};
use super::store::Happening;
use crate::values::Moment;
use serde_json::{Value, json};

/// One thing that happened. [`Tenant::events`](super::Tenant::events) lists them.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let sandbox = guichet::sandbox::Sandbox::start().await?;
/// let shop = sandbox.merchant().await?;
/// let paid = shop.events().await?.iter().filter(|event| event.kind == "payment_intent.succeeded").count();
/// assert_eq!(paid, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// Its identifier, the same at each look.
    pub id: String,
    /// What: `payment_intent.created`, or `payment_intent.` and the status it came to; `payment_intent.duplicate_payment`
    /// for each entry of its `duplicate_payments`. Of a subscription also `subscription.renewed`, with each period after its
    /// first, `subscription.updated`, `subscription.duplicate_payment`, and `subscription.charge_succeeded` or
    /// `subscription.charge_failed` for a charge that ended after the subscription was canceled. `esim_order.created` and
    /// `esim_order.fulfilled`.
    pub kind: String,
    /// When, by the merchant's clock.
    pub at: Moment,
    /// To what: the identifier of a payment intent, a subscription or an eSIM order.
    pub subject: String,
    /// The merchant's name of it, where it is a payment intent.
    pub merchant_reference: Option<String>,
}

impl Event {
    /// Everything that happened to these intents and eSIM orders, and to subscriptions, in the order it did. They come with
    /// the newest first.
    pub(super) fn of(intents: &[Intent], happened: &[Happening], orders: &[EsimOrder]) -> Vec<Self> {
        let subscriptions = happened.iter().rev().map(Self::of_subscription);
        let intents = intents.iter().rev().flat_map(Self::of_intent);
        // Of what happens in one second, an order is fulfilled after it was paid.
        let orders = orders.iter().rev().flat_map(Self::of_esim_order);
        let mut events: Vec<Self> = subscriptions.chain(intents).chain(orders).collect();
        events.sort_by_key(|event| event.at);
        events
    }

    fn of_subscription(happened: &Happening) -> Self {
        let subject = happened.subscription.to_string();
        Self {
            id: format!("evt_{}_{}", subject.trim_start_matches("sub_"), happened.number),
            kind: format!("subscription.{}", happened.kind),
            at: happened.at,
            subject,
            merchant_reference: None,
        }
    }

    fn of_intent(intent: &Intent) -> impl Iterator<Item = Self> {
        let Intent { id, state, terms, created_at, .. } = intent;
        let created = (created_at.unix(), "0".to_owned(), "created");
        let statuses =
            (1..).zip(&state.status_history).map(|(number, (at, status))| (*at, number.to_string(), status.as_str()));
        // Numbered by attempt, so that each keeps its identifier whatever comes beside it.
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

    /// As the side door writes it.
    pub(super) fn written(&self) -> Value {
        let mut data = json!({ "id": self.subject });
        if let Some(reference) = &self.merchant_reference {
            data["merchant_reference"] = json!(reference);
        }
        json!({ "id": self.id, "type": self.kind, "created_at": self.at.unix(), "data": data })
    }
}
