//! What has happened to a merchant's payments: every status that one came to, and when.

use super::rules::{Intent, Status};
use crate::values::{IntentId, Moment};
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
    /// What: `payment_intent.created`, or `payment_intent.` and the status it came to.
    pub kind: String,
    /// When, by the merchant's clock.
    pub at: Moment,
    /// To which payment intent.
    pub intent: IntentId,
    /// The merchant's name of it.
    pub merchant_reference: String,
}

impl Event {
    /// Everything that happened to these intents, in the order it did. They come with the newest first.
    pub(super) fn of(intents: &[Intent]) -> Vec<Self> {
        let mut events: Vec<Self> = intents.iter().rev().flat_map(Self::of_one).collect();
        events.sort_by_key(|event| event.at);
        events
    }

    fn of_one(intent: &Intent) -> impl Iterator<Item = Self> {
        let created = (intent.created_at.unix(), None);
        let passages = intent.life.passages.iter().map(|(at, status)| (*at, Some(*status)));
        std::iter::once(created).chain(passages).enumerate().map(|(number, (at, status))| Self {
            id: format!("evt_{}_{number}", intent.id.as_str().trim_start_matches("pi_")),
            kind: format!("payment_intent.{}", status.map_or("created", Status::as_str)),
            at: Moment::from_unix(at),
            intent: intent.id.clone(),
            merchant_reference: intent.terms.merchant_reference.clone(),
        })
    }

    /// As the side door writes it.
    pub(super) fn written(&self) -> Value {
        json!({
            "id": self.id, "type": self.kind, "created_at": self.at.unix(),
            "data": { "id": self.intent.as_str(), "merchant_reference": self.merchant_reference },
        })
    }
}
