//! Payment intents: made, read, listed.

use super::{Desk, Done, Handle, Merchant, Page};
use crate::operations::{CreatePaymentIntent, ListPaymentIntents, ReadPaymentIntent};
use crate::protocol::FieldFault;
use crate::sandbox::admit::Caller;
use crate::sandbox::events::Event;
use crate::sandbox::problem::Problem;
use crate::sandbox::replies;
use crate::sandbox::rules::{Intent, Life, Terms};
use crate::sandbox::store::{Customer, Unavailable};
use crate::sandbox::tokens;
use crate::values::{Currency, IntentId, Moment};
use axum::http::StatusCode;
use serde_json::{Map, Value};

/// The types of method there are.
const METHOD_TYPES: [&str; 2] = ["card", "mobile_money"];
/// Of how many payments the events are told: the newest.
const TOLD: i64 = 1000;

impl Handle<CreatePaymentIntent> for Desk {
    /// `merchant_reference` makes it safe to repeat: the row is there once, whoever comes first.
    async fn handle(&self, caller: Caller, operation: CreatePaymentIntent) -> Result<Done, Problem> {
        let merchant = caller.merchant()?;
        check(&operation)?;
        let (intent, customer) = new_intent(merchant, operation)?;
        if self.store.add_intent(intent.clone(), customer).await? {
            return Ok(Done::created(self.reply(&intent)));
        }
        let reference = &intent.terms.merchant_reference;
        let existing = self.store.intent_by_reference(&merchant.id, reference).await?;
        let existing = existing.ok_or_else(|| Problem::internal(&"a reference was taken and then free"))?;
        if existing.digest == intent.digest {
            let existing = existing.at(merchant.now());
            return Ok(Done { replayed: true, ..Done::ok(self.reply(&existing)) });
        }
        let message = "This merchant_reference belongs to another payment. Give each payment its own, or send exactly what was sent first.";
        Err(Problem::new(StatusCode::CONFLICT, "merchant_reference_conflict", message).existing(&existing.id))
    }
}

impl Handle<ReadPaymentIntent> for Desk {
    async fn handle(&self, caller: Caller, operation: ReadPaymentIntent) -> Result<Done, Problem> {
        let (intent, _) = self.intent_of(&caller, &operation.id).await?;
        Ok(Done::ok(self.reply(&intent)))
    }
}

impl Handle<ListPaymentIntents> for Desk {
    async fn handle(&self, caller: Caller, operation: ListPaymentIntents) -> Result<Done, Problem> {
        let merchant = caller.merchant()?;
        let after = match &operation.starting_after {
            None => None,
            Some(id) => {
                let theirs = self.store.intent(id).await?.filter(|intent| intent.merchant == merchant.id);
                Some(theirs.ok_or_else(|| Problem::missing("payment intent to start after"))?)
            }
        };
        let limit = operation.limit.unwrap_or_default();
        let mut intents = self.store.intents(&merchant.id, after.as_ref(), i64::from(limit.entries()) + 1).await?;
        let page = Page::cut(&mut intents, limit, |intent| intent.id.to_string());
        let now = merchant.now();
        let replies: Vec<String> = intents.into_iter().map(|intent| self.reply(&intent.at(now))).collect();
        Ok(Done { page: Some(page), ..Done::ok(format!("[{}]", replies.join(","))) })
    }
}

impl Desk {
    /// The intent a caller asks for, as it stands now; 404 unless it is theirs.
    pub(super) async fn intent_of(&self, caller: &Caller, id: &IntentId) -> Result<(Intent, Moment), Problem> {
        let missing = || Problem::missing("payment intent");
        let intent = self.store.intent(id).await?.ok_or_else(missing)?;
        let theirs = match caller {
            Caller::Merchant(merchant) => merchant.id == intent.merchant,
            Caller::Session(merchant, session) => {
                let email = intent.terms.email.as_deref();
                merchant.id == intent.merchant && email.is_some_and(|email| email.eq_ignore_ascii_case(&session.email))
            }
            Caller::ClientSecret(of) => *of == intent.id,
            Caller::Nobody | Caller::UnknownSession => false,
        };
        let merchant = self.merchants.by_id(&intent.merchant).filter(|_| theirs).ok_or_else(missing)?;
        let now = merchant.now();
        Ok((intent.at(now), now))
    }

    /// What has happened to the newest payments of a merchant.
    pub(in crate::sandbox) async fn events(&self, merchant: &Merchant) -> Result<Vec<Event>, Unavailable> {
        let now = merchant.now();
        let intents = self.store.intents(&merchant.id, None, TOLD).await?;
        Ok(Event::of(&intents.into_iter().map(|intent| intent.at(now)).collect::<Vec<_>>()))
    }

    pub(super) fn reply(&self, intent: &Intent) -> String {
        replies::intent(intent, &self.instance_key, &self.fees, &self.public_origin)
    }
}

/// The rules of an intent that its fields alone do not say; what breaks them is told together.
fn check(operation: &CreatePaymentIntent) -> Result<(), Problem> {
    let mut faults = Vec::new();
    let mut fault =
        |param: &str, code, message: String| faults.push(FieldFault { param: param.to_owned(), code, message });
    let unsupported = |currency: &Currency| format!("{currency} is not supported.");
    if operation.currency.exponent().is_none() {
        fault("currency", "currency_unsupported", unsupported(&operation.currency));
    }
    if let Some(item) = operation.items.iter().flatten().find(|item| item.currency.exponent().is_none()) {
        fault("items", "currency_unsupported", unsupported(&item.currency));
    }
    if let Some(types) = &operation.payment_method_types
        && !types.iter().any(|kind| METHOD_TYPES.contains(&kind.as_str()))
    {
        let message = "None of these types can pay. There are mobile_money and card.";
        fault("payment_method_types", "payment_method_unavailable", message.to_owned());
    }
    if faults.is_empty() { Ok(()) } else { Err(Problem::fields(faults)) }
}

fn new_intent(merchant: &Merchant, operation: CreatePaymentIntent) -> Result<(Intent, Customer), Problem> {
    let body = canonical(operation);
    let terms = Terms::read(&body).map_err(|error| Problem::internal(&error))?;
    let contact = match (&terms.email, &terms.phone) {
        (Some(email), _) => email.to_ascii_lowercase(),
        (None, phone) => phone.clone().unwrap_or_default(),
    };
    let now = merchant.now();
    let intent = Intent {
        id: IntentId::new(tokens::id("pi_")).map_err(|error| Problem::internal(&error))?,
        merchant: merchant.id.clone(),
        payment_ref: tokens::id("gch_"),
        digest: tokens::digest(&body),
        body,
        terms,
        life: Life::new(),
        created_at: now,
        expires_at: Intent::expiry(now),
        version: 1,
    };
    Ok((intent, Customer { id: tokens::id("cus_"), contact }))
}

/// The body as it was understood: parsed, defaults applied, keys in one order. Equal requests have equal ones.
fn canonical(mut operation: CreatePaymentIntent) -> String {
    operation.metadata =
        operation.metadata.map(|metadata| metadata.into_iter().map(|(key, value)| (key, sorted(value))).collect());
    serde_json::to_string(&operation).expect("an operation that was read from JSON is written as JSON")
}

/// The same value, its keys sorted whatever order a map keeps.
fn sorted(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        Value::Object(object) => {
            let mut pairs: Vec<_> = object.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::Object(Map::from_iter(pairs))
        }
        plain => plain,
    }
}
