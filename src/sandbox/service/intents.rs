//! Payment intents: made, read, listed.

use super::examples::{Example, Examples, page};
use super::{Done, Handle, Merchant, Outcomes, ROUNDS, Service, billing, to_read};
use crate::operations::{CreatePaymentIntent, ListPaymentIntents, ReadPaymentIntent};
use crate::protocol::ErrorCode;
use crate::sandbox::auth::Caller;
use crate::sandbox::events::Event;
use crate::sandbox::problem::Problem;
use crate::sandbox::replies;
use crate::sandbox::rules::{Intent, IntentState, Terms};
use crate::sandbox::store::{Customer, List, Unavailable};
use crate::sandbox::tokens;
use crate::values::{IntentId, Moment, PageLimit};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Of how many payments the events are told, and how many events of subscriptions: the newest.
const TOLD: i64 = 1000;

impl Handle<CreatePaymentIntent> for Service {
    const OUTCOMES: Outcomes = Outcomes::CREATED_ONCE.or(&[
        ErrorCode::MerchantReferenceConflict,
        ErrorCode::AmountOutOfRange,
        ErrorCode::CurrencyUnsupported,
        ErrorCode::PaymentMethodUnavailable,
    ]);

    fn example(examples: &Examples) -> Example<CreatePaymentIntent> {
        Example::new(examples.order(), Done::created(examples.intent_reply(&examples.intent())))
    }

    /// `merchant_reference` makes it safe to repeat: the row is there once, whoever comes first.
    async fn handle(&self, caller: Caller, operation: CreatePaymentIntent) -> Result<Done, Problem> {
        let merchant = caller.merchant()?;
        check(&operation)?;
        let intent = new_intent(&merchant.id, operation, IntentState::new(), merchant.now())?;
        let customer = customer_of(&intent);
        let mut existing = None;
        for _ in 0..ROUNDS {
            if self.store.add_intent(intent.clone(), customer.clone()).await? {
                return Ok(Done::created(self.reply(&intent)));
            }
            // If a reset has come between, the reference is free again.
            let reference = &intent.terms.merchant_reference;
            existing = self.store.intent_by_reference(&merchant.id, reference).await?;
            if existing.is_some() {
                break;
            }
        }
        let existing = existing.ok_or_else(Unavailable::contended)?;
        if existing.digest == intent.digest {
            let existing = self.as_it_stands(existing, merchant.now()).await?;
            let existing = existing.ok_or_else(Unavailable::contended)?;
            return Ok(Done::made(self.reply(&existing), true));
        }
        let message = "This merchant_reference belongs to another payment. Give each payment its own, or send exactly what was sent first.";
        Err(Problem::new(ErrorCode::MerchantReferenceConflict, message).existing(existing.id.as_str()))
    }
}

impl Handle<ReadPaymentIntent> for Service {
    const OUTCOMES: Outcomes = Outcomes::OK;

    fn example(examples: &Examples) -> Example<ReadPaymentIntent> {
        let request = ReadPaymentIntent::new(examples.intent_id());
        Example::new(request, Done::ok(examples.intent_reply(&examples.intent())))
    }

    async fn handle(&self, caller: Caller, operation: ReadPaymentIntent) -> Result<Done, Problem> {
        let (intent, _) = self.intent_of(&caller, &operation.id).await?;
        Ok(Done::ok(self.reply(&intent)))
    }
}

impl Handle<ListPaymentIntents> for Service {
    const OUTCOMES: Outcomes = Outcomes::OK;

    fn example(examples: &Examples) -> Example<ListPaymentIntents> {
        let request = ListPaymentIntents::new().limit(PageLimit::default());
        Example::new(request, page(&[examples.intent_reply(&examples.intent())]))
    }

    async fn handle(&self, caller: Caller, operation: ListPaymentIntents) -> Result<Done, Problem> {
        let merchant = caller.merchant()?;
        self.bill(merchant).await?;
        let starting_after = operation.starting_after.as_ref().map(|id| id.as_str());
        let after = self.after(List::Intents, merchant, starting_after).await?;
        let limit = operation.limit.unwrap_or_default();
        let intents = self.store.intents(&merchant.id, after, to_read(limit)).await?;
        let intents = self.all_as_they_stand(intents, merchant.now()).await?;
        Ok(Done::list(intents, limit, |intent| intent.id.to_string(), |intent| self.reply(&intent)))
    }
}

impl Service {
    /// The intent a caller asks for, as it stands now; 404 unless it is theirs.
    pub(in crate::sandbox) async fn intent_of(
        &self,
        caller: &Caller,
        id: &IntentId,
    ) -> Result<(Intent, Moment), Problem> {
        let missing = || Problem::missing("payment intent");
        let intent = self.store.intent(id).await?.ok_or_else(missing)?;
        let theirs = match caller {
            Caller::Merchant(merchant) => merchant.id == intent.merchant,
            Caller::Session(merchant, session) => {
                let email = intent.terms.email.as_deref();
                merchant.id == intent.merchant && email.is_some_and(|email| email.eq_ignore_ascii_case(&session.email))
            }
            Caller::ClientSecret(_, of) => *of == intent.id,
            Caller::EndedClientSecret | Caller::Anonymous | Caller::UnknownSession => false,
        };
        let merchant = self.merchants.by_id(&intent.merchant).filter(|_| theirs).ok_or_else(missing)?;
        let now = merchant.now();
        let intent = self.as_it_stands(intent, now).await?.ok_or_else(missing)?;
        if matches!(caller, Caller::ClientSecret(..)) && intent.secret_has_ended(now) {
            return Err(missing());
        }
        Ok((intent, now))
    }

    /// What has happened to the newest payments, subscriptions and eSIM orders of a merchant.
    pub(in crate::sandbox) async fn events(&self, merchant: &Merchant) -> Result<Vec<Event>, Unavailable> {
        self.bill(merchant).await?;
        let now = merchant.now();
        let intents = self.store.intents(&merchant.id, None, TOLD).await?;
        let happened = self.store.subscription_events(&merchant.id, TOLD).await?;
        let orders = self.esim_orders(merchant, TOLD).await?;
        Ok(Event::of(&self.all_as_they_stand(intents, now).await?, &happened, &orders))
    }

    /// An intent as it stands at a moment; none where a reset has come between. A final status that time alone has brought
    /// is stored before anyone is told of it.
    pub(super) async fn as_it_stands(&self, mut intent: Intent, now: Moment) -> Result<Option<Intent>, Unavailable> {
        for _ in 0..ROUNDS {
            let was_final = intent.state.final_since().is_some();
            intent = intent.at(now);
            if was_final || intent.state.final_since().is_none() {
                return Ok(Some(intent));
            }
            if self.store.save_intent(intent.clone()).await? {
                return Ok(Some(Intent { version: intent.version + 1, ..intent }));
            }
            let Some(read) = self.store.intent(&intent.id).await? else { return Ok(None) };
            intent = read;
        }
        Err(Unavailable::contended())
    }

    /// Intents as they stand at a moment, without those that a reset has taken meanwhile. The final statuses that time alone
    /// has brought are stored, by one commit, before anyone is told of them.
    pub(super) async fn all_as_they_stand(
        &self,
        intents: Vec<Intent>,
        now: Moment,
    ) -> Result<Vec<Intent>, Unavailable> {
        let mut ended = Vec::new();
        let mut all = Vec::with_capacity(intents.len());
        for intent in intents {
            let was_final = intent.state.final_since().is_some();
            let intent = intent.at(now);
            if !was_final && intent.state.final_since().is_some() {
                ended.push(intent.clone());
            }
            all.push(intent);
        }
        if ended.is_empty() || self.store.save_intents(ended).await? {
            return Ok(all);
        }
        // Someone else was faster with one of them: what is stored now is told.
        let mut read = Vec::with_capacity(all.len());
        for intent in all {
            if let Some(intent) = self.store.intent(&intent.id).await? {
                read.extend(self.as_it_stands(intent, now).await?);
            }
        }
        Ok(read)
    }

    pub(super) fn reply(&self, intent: &Intent) -> String {
        replies::intent(intent, &self.instance_key, &self.fees, &self.public_origin)
    }
}

/// What the fields of an intent alone do not say.
fn check(operation: &CreatePaymentIntent) -> Result<(), Problem> {
    if !billing::is_reference(operation.merchant_reference.as_str()) {
        return Ok(());
    }
    let message = "A merchant_reference like this names a charge of a subscription. Give the payment another.";
    Err(Problem::field("merchant_reference", ErrorCode::ParameterInvalid, message))
}

/// An intent of these terms.
pub(super) fn new_intent(
    merchant: &str,
    operation: CreatePaymentIntent,
    state: IntentState,
    now: Moment,
) -> Result<Intent, Problem> {
    let body = canonical(operation);
    let terms = Terms::read(&body).map_err(|error| Problem::internal(&error))?;
    Ok(Intent {
        id: IntentId::new(tokens::id("pi_")).map_err(|error| Problem::internal(&error))?,
        merchant: merchant.to_owned(),
        payment_ref: tokens::id("gch_"),
        digest: tokens::digest(&body),
        body,
        terms,
        state,
        created_at: now,
        expires_at: Intent::expiry(now),
        version: 1,
    })
}

/// The customer whom an intent makes, where they are not known yet.
fn customer_of(intent: &Intent) -> Customer {
    let terms = &intent.terms;
    Customer {
        id: tokens::id("cus_"),
        merchant: intent.merchant.clone(),
        contact: Customer::contact(terms.email.as_deref(), terms.phone.as_deref()),
        firstname: terms.firstname.clone(),
        lastname: terms.lastname.clone(),
        email: terms.email.clone().unwrap_or_default(),
        phone: terms.phone.clone().unwrap_or_default(),
        created_at: intent.created_at,
    }
}

/// The body as it was understood: parsed, defaults applied, keys in one order. Equal requests have equal ones.
fn canonical(mut operation: CreatePaymentIntent) -> String {
    operation.metadata = operation.metadata.map(in_one_order);
    serde_json::to_string(&operation).expect("an operation that was read from JSON is written as JSON")
}

/// The same metadata, its keys sorted at every depth.
pub(super) fn in_one_order(metadata: BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    metadata.into_iter().map(|(key, value)| (key, sorted(value))).collect()
}

/// The same value, its keys sorted whatever order a map keeps.
pub(super) fn sorted(value: Value) -> Value {
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
