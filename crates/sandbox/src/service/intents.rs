//! Creates, reads and lists payment intents.

use super::examples::{Examples, page};
use super::new_intent::new_intent;
use super::{Described, Done, Handle, MAX_ROUNDS, Merchant, Outcomes, Service, to_read};
use crate::caller::Caller;
use crate::events::Event;
use crate::problem::Problem;
use crate::replies::{self, Reply};
use crate::requests::Shown;
use crate::rules::billing::is_charge_reference;
use crate::rules::{Intent, IntentState};
use crate::store::{Customer, List, Write};
use crate::tokens;
use crate::unavailable::Unavailable;
use guichet::operations::{CreatePaymentIntent, ListPaymentIntents, ReadPaymentIntent};
use guichet::protocol::ErrorCode;
use guichet::values::{IntentId, Moment, PageLimit};

/// How many of the newest payments, eSIM orders and subscription events the list of events covers.
const MAX_EVENTS: i64 = 1000;
/// How many of the newest payments a search reads.
const MAX_SEARCHED: i64 = 50_000;

impl Handle<CreatePaymentIntent> for Service {
    /// Creates the intent. `merchant_reference` is unique, so repeating the request returns the same intent.
    async fn handle(&self, caller: Caller, operation: CreatePaymentIntent) -> Result<Done, Problem> {
        let merchant = caller.merchant()?;
        check(&operation)?;
        let intent = new_intent(merchant.id(), operation, IntentState::new(), merchant.now())?;
        let customer = customer_of(&intent);
        let mut existing = None;
        for _ in 0..MAX_ROUNDS {
            if self.store.add_intent(intent.clone(), customer.clone()).await? {
                return Ok(Done::created(self.reply(&intent, &caller)).showing([&intent]));
            }
            // If a reset has deleted the other intent meanwhile, the reference is free again.
            let reference = &intent.terms.merchant_reference;
            existing = self.store.intent_by_reference(merchant.id(), reference).await?;
            if existing.is_some() {
                break;
            }
        }
        let existing = existing.ok_or_else(Unavailable::contended)?;
        if existing.digest == intent.digest {
            let existing = self.current_intent(existing, merchant.now()).await?;
            let existing = existing.ok_or_else(Unavailable::contended)?;
            return Ok(Done::created_or_replayed(self.reply(&existing, &caller), true).showing([&existing]));
        }
        let message = "This merchant_reference belongs to another payment. Give each payment its own, or send exactly what was sent first.";
        Err(Problem::new(ErrorCode::MerchantReferenceConflict, message).existing(existing.id.as_str()))
    }
}

impl Described for CreatePaymentIntent {
    const OUTCOMES: Outcomes = Outcomes::CREATED_ONCE.or(&[
        ErrorCode::MerchantReferenceConflict,
        ErrorCode::AmountOutOfRange,
        ErrorCode::CurrencyUnsupported,
        ErrorCode::PaymentMethodUnavailable,
    ]);

    fn example(examples: &Examples) -> (Self, Done) {
        (examples.order(), Done::created(examples.intent_reply(&examples.intent())))
    }
}

impl Handle<ReadPaymentIntent> for Service {
    async fn handle(&self, caller: Caller, operation: ReadPaymentIntent) -> Result<Done, Problem> {
        let (intent, _) = self.intent_of(&caller, &operation.id).await?;
        Ok(Done::ok(self.reply(&intent, &caller)).showing([&intent]))
    }
}

impl Described for ReadPaymentIntent {
    fn example(examples: &Examples) -> (Self, Done) {
        let request = ReadPaymentIntent::new(examples.intent_id());
        (request, Done::ok(examples.intent_reply(&examples.intent())))
    }
}

impl Handle<ListPaymentIntents> for Service {
    async fn handle(&self, caller: Caller, operation: ListPaymentIntents) -> Result<Done, Problem> {
        let merchant = caller.merchant()?;
        self.bill(merchant).await?;
        let after = self.after(List::Intents, merchant, operation.starting_after).await?;
        let limit = operation.limit.unwrap_or_default();
        let intents = self.store.intents(merchant.id(), after, to_read(limit)).await?;
        let intents = self.current_intents(intents, merchant.now()).await?;
        let shown: Vec<_> = intents.iter().take(usize::from(limit.entries())).map(Shown::of).collect();
        let done = Done::list(intents, limit, |intent| intent.id.to_string(), |intent| self.reply(&intent, &caller));
        Ok(Done { shown, ..done })
    }
}

impl Described for ListPaymentIntents {
    fn example(examples: &Examples) -> (Self, Done) {
        let request = ListPaymentIntents::new().limit(PageLimit::default());
        (request, page(&[examples.intent_reply(&examples.intent())]))
    }
}

impl Service {
    /// The current state of an intent, and the time of that state. 404 if the caller may not read it.
    pub(crate) async fn intent_of(&self, caller: &Caller, id: &IntentId) -> Result<(Intent, Moment), Problem> {
        let missing = || Problem::missing("payment intent");
        let intent = self.store.intent(id).await?.ok_or_else(missing)?;
        let theirs = match caller {
            Caller::Merchant(merchant) => merchant.id() == intent.merchant,
            Caller::Session(merchant, session) => {
                let email = intent.terms.email.as_deref();
                merchant.id() == intent.merchant
                    && email.is_some_and(|email| email.eq_ignore_ascii_case(&session.email))
            }
            Caller::ClientSecret(_, of) => *of == intent.id,
            Caller::EndedClientSecret | Caller::Anonymous | Caller::UnknownSession => false,
        };
        let merchant = caller.known_merchant().filter(|_| theirs).ok_or_else(missing)?;
        let now = merchant.now();
        let intent = self.current_intent(intent, now).await?.ok_or_else(missing)?;
        if matches!(caller, Caller::ClientSecret(..)) && intent.secret_has_ended(now) {
            return Err(missing());
        }
        Ok((intent, now))
    }

    /// A merchant's payment by its id, its reference, or `latest`; with its current state.
    pub(crate) async fn find_intent(&self, merchant: &Merchant, key: &str) -> Result<Intent, Problem> {
        let found = match key {
            "latest" => self.store.intents(merchant.id(), None, 1).await?.pop(),
            _ => match IntentId::new(key) {
                Ok(id) if key.starts_with("pi_") => self.store.intent(&id).await?,
                _ => self.store.intent_by_reference(merchant.id(), key).await?,
            },
        };
        let missing = || Problem::missing("payment");
        let found = found.filter(|intent| intent.merchant == merchant.id()).ok_or_else(missing)?;
        self.current_intent(found, merchant.now()).await?.ok_or_else(missing)
    }

    /// A merchant's payments after this one, newest first, at most `limit`; and whether others follow. `search` is a
    /// part of a reference, an id, an e-mail, a name, or a phone: the customer's, or one that paid.
    pub(crate) async fn search_intents(
        &self,
        merchant: &Merchant,
        search: Option<&str>,
        starting_after: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<Intent>, bool), Problem> {
        let mut after = self.after(List::Intents, merchant, starting_after).await?;
        let search = search.map(|search| search.trim().to_lowercase()).filter(|search| !search.is_empty());
        let read = i64::try_from(limit + 1).unwrap_or(MAX_EVENTS);
        let size = if search.is_some() { MAX_EVENTS } else { read };
        let (mut found, mut searched) = (Vec::new(), 0);
        loop {
            let page = self.store.intents(merchant.id(), after, size).await?;
            let (count, last) = (page.len() as i64, page.last().map(|intent| intent.id.to_string()));
            found.extend(page.into_iter().filter(|intent| search.as_deref().is_none_or(|text| has(intent, text))));
            searched += count;
            if found.len() > limit || count < size || searched >= MAX_SEARCHED || search.is_none() {
                break;
            }
            after = self.after(List::Intents, merchant, last).await?;
        }
        let has_more = found.len() > limit;
        found.truncate(limit);
        Ok((self.current_intents(found, merchant.now()).await?, has_more))
    }

    /// The events of a merchant's newest payments, subscriptions and eSIM orders.
    pub(crate) async fn events(&self, merchant: &Merchant) -> Result<Vec<Event>, Unavailable> {
        self.bill(merchant).await?;
        let now = merchant.now();
        let intents = self.store.intents(merchant.id(), None, MAX_EVENTS).await?;
        let happened = self.store.subscription_events(merchant.id(), MAX_EVENTS).await?;
        let orders = self.esim_orders(merchant, MAX_EVENTS).await?;
        Ok(Event::of(&self.current_intents(intents, now).await?, &happened, &orders))
    }

    /// The state of an intent at this time. `None` if a reset has deleted it meanwhile. If time alone led to a final
    /// status, the status is stored before it is returned.
    pub(super) async fn current_intent(&self, mut intent: Intent, now: Moment) -> Result<Option<Intent>, Unavailable> {
        for _ in 0..MAX_ROUNDS {
            let before = intent.state.status;
            intent = intent.at(now);
            if intent.state.status == before || intent.state.final_since().is_none() {
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

    /// The states of intents at this time, without those that a reset has deleted meanwhile. The statuses that time
    /// alone made final are stored, in one commit, before they are returned.
    pub(super) async fn current_intents(&self, intents: Vec<Intent>, now: Moment) -> Result<Vec<Intent>, Unavailable> {
        let mut ended = Vec::new();
        let mut all = Vec::with_capacity(intents.len());
        for intent in intents {
            let before = intent.state.status;
            let intent = intent.at(now);
            if intent.state.status != before && intent.state.final_since().is_some() {
                ended.push(intent.clone());
            }
            all.push(intent);
        }
        if ended.is_empty() || self.store.write(Write::SaveIntents(ended)).await? {
            return Ok(all);
        }
        // Another request changed one of them first, so each is read again.
        let mut read = Vec::with_capacity(all.len());
        for intent in all {
            if let Some(intent) = self.store.intent(&intent.id).await? {
                read.extend(self.current_intent(intent, now).await?);
            }
        }
        Ok(read)
    }

    /// An intent as the caller, who belongs to its merchant, reads it.
    pub(super) fn reply(&self, intent: &Intent, caller: &Caller) -> Reply {
        let payee = caller.known_merchant().map(|merchant| merchant.name()).unwrap_or_default();
        replies::intent((intent, payee), &self.instance_key, &self.fees, &self.public_origin)
    }
}

/// Whether a payment has this text in lower case, as a person searches for it.
fn has(intent: &Intent, text: &str) -> bool {
    let terms = &intent.terms;
    let name = format!("{} {}", terms.firstname, terms.lastname);
    let contacts = [terms.email.as_deref(), terms.phone.as_deref()].into_iter().flatten();
    let payers = intent.state.attempt_log.iter().filter_map(|attempt| attempt.with.phone());
    let own = [intent.id.as_str(), &intent.payment_ref, &terms.merchant_reference, &name];
    own.into_iter().chain(contacts).chain(payers).any(|field| field.to_lowercase().contains(text))
}

/// Checks that the reference does not have the format of a subscription's charge.
fn check(operation: &CreatePaymentIntent) -> Result<(), Problem> {
    if !is_charge_reference(operation.merchant_reference.as_str()) {
        return Ok(());
    }
    let message = "A merchant_reference like this names a charge of a subscription. Give the payment another.";
    Err(Problem::field("merchant_reference", ErrorCode::ParameterInvalid, message))
}

/// The customer that is created with an intent, unless the merchant has one with the same contact.
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
