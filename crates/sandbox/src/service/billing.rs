//! Runs the billing: applies what has become due in subscriptions, each event at its own time even if it runs later.

use super::merchants::MerchantLock;
use super::new_intent::new_intent;
use super::{MAX_ROUNDS, Merchant, Service};
use crate::problem::Problem;
use crate::rules::billing::{Charge, Due, Subscription, SubscriptionState};
use crate::rules::{Intent, IntentState, Status};
use crate::store::{Billed, Customer, Write};
use crate::unavailable::Unavailable;
use guichet::operations::{CreatePaymentIntent, CustomerName};
use guichet::values::{Email, MerchantReference, Moment, printable};
use serde_json::Value;

/// How many subscriptions are written in one commit.
const BATCH_SIZE: i64 = 32;
/// How many transitions of one subscription are written in one commit.
const MAX_TRANSITIONS: usize = 16;

impl Service {
    /// Applies everything that is due by now in a merchant's subscriptions.
    ///
    /// The events of one subscription are applied in order. Subscriptions are independent of each other, so several are
    /// written in one commit.
    pub(crate) async fn bill(&self, merchant: &Merchant) -> Result<(), Unavailable> {
        if self.store.due(merchant.id(), merchant.now(), 1).await?.is_empty() {
            return Ok(());
        }
        let lock = merchant.lock().await;
        self.bill_locked(merchant, &lock).await
    }

    /// Applies everything that is due by now. One run at a time: a clock move and a reset wait for it too.
    async fn bill_locked(&self, merchant: &Merchant, _lock: &MerchantLock<'_>) -> Result<(), Unavailable> {
        let mut conflicts_in_a_row = 0;
        while conflicts_in_a_row < MAX_ROUNDS {
            let until = merchant.now();
            let due = self.store.due(merchant.id(), until, BATCH_SIZE).await?;
            if due.is_empty() {
                return Ok(());
            }
            let mut billed = Vec::with_capacity(due.len());
            for subscription in due {
                let mut billing = Billing::of(subscription);
                if let Some(id) = billing.subscription.state.charge_under_way() {
                    billing.stored_intent = self.store.intent(id).await?;
                }
                billing.run(until)?;
                billed.push(billing.into_billed());
            }
            // If another request changed a subscription first, its events are due again in the next round.
            conflicts_in_a_row =
                if self.store.write(Write::SaveBilled(billed)).await? { 0 } else { conflicts_in_a_row + 1 };
        }
        Err(Unavailable::contended())
    }

    /// Moves a merchant's clock forward, applies everything that is due by then, and returns the clock's new time.
    pub(crate) async fn advance(&self, merchant: &Merchant, seconds: u32) -> Result<Moment, Unavailable> {
        self.catch_up().await;
        self.merchants.advance(merchant, seconds).await?;
        let now = merchant.now();
        self.bill(merchant).await?;
        Ok(now)
    }

    /// Applies everything that is due by now for every merchant.
    pub(crate) async fn bill_all(&self) -> Result<(), Unavailable> {
        let due = self.store.merchants_due(self.clock.peek()).await?;
        if !due.is_empty() {
            self.catch_up().await;
        }
        for id in due {
            let Some(merchant) = self.merchants.by_id(&id) else { continue };
            let lock = merchant.lock().await;
            // An error of one merchant does not stop the billing of the others.
            if let Err(error) = self.bill_locked(&merchant, &lock).await {
                tracing::error!(error = %printable(error), merchant = %id, "the due events of subscriptions were not applied");
            }
        }
        Ok(())
    }
}

/// A subscription to which transitions are applied, with the charges and events that they cause.
pub(super) struct Billing {
    subscription: Subscription,
    customer: Option<Customer>,
    /// The stored intent of the charge under way, if there is one.
    stored_intent: Option<Intent>,
    charges: Vec<Intent>,
    events: Vec<(Moment, &'static str)>,
}

impl Billing {
    /// Starts with a stored subscription.
    pub(super) fn of(subscription: Subscription) -> Self {
        Self { subscription, customer: None, stored_intent: None, charges: Vec::new(), events: Vec::new() }
    }

    /// Starts with a new subscription of this customer.
    pub(super) fn of_new(subscription: Subscription, customer: Customer, now: Moment) -> Self {
        Self { customer: Some(customer), events: vec![(now, "created")], ..Self::of(subscription) }
    }

    /// Applies a transition: the next state, with the charge that begins.
    pub(super) fn transition(
        &mut self,
        (state, charge): (SubscriptionState, Option<Charge>),
        at: Moment,
    ) -> Result<(), Unavailable> {
        let state = match charge {
            None => state,
            Some(charge) => {
                let intent = self.intent_of_charge(&charge, at)?;
                let state = state.charging(&charge, intent.id.clone(), at, intent.state.settles_at());
                self.charges.push(intent);
                state
            }
        };
        self.events.extend(state.event_since(&self.subscription.state).map(|word| (at, word)));
        self.subscription.state = state;
        Ok(())
    }

    /// Applies the events that are due until this time, at most [`MAX_TRANSITIONS`] of them.
    pub(super) fn run(&mut self, until: Moment) -> Result<(), Unavailable> {
        for _ in 0..MAX_TRANSITIONS {
            let Some((at, due)) = self.subscription.state.due().filter(|(at, _)| *at <= until) else { break };
            let state = self.subscription.state.clone();
            let transition = match &due {
                Due::Settlement(id) => {
                    let of_charge = |intent: &&Intent| intent.id == *id;
                    let intent = self.charges.iter().chain(&self.stored_intent).find(of_charge);
                    let intent =
                        intent.ok_or_else(|| Unavailable::because("the intent of a charge is missing"))?.clone();
                    let ended = intent.at(at).state;
                    // A charge has only one attempt, so at most one late approval.
                    let late = ended.late_approvals.into_iter().next();
                    state.settled(ended.status == Status::Succeeded, late, at)
                }
                due => state.apply_due(due),
            };
            self.transition(transition, at)?;
        }
        Ok(())
    }

    /// The subscription, its charges and its events, to be stored.
    pub(super) fn into_billed(self) -> Billed {
        let Self { subscription, customer, charges, events, .. } = self;
        Billed { subscription, customer, charges, events }
    }

    /// The intent of a charge, whose only attempt has begun.
    fn intent_of_charge(&self, charge: &Charge, at: Moment) -> Result<Intent, Unavailable> {
        let Subscription { id, terms, .. } = &self.subscription;
        let reference = MerchantReference::new(format!("{id}:{}:{}", charge.period, charge.attempt));
        let reference = reference.map_err(|error| Unavailable::because(error.reason()))?;
        let email = Email::new(terms.email.as_str()).map_err(|error| Unavailable::because(error.reason()))?;
        let offer = &terms.offer;
        let metadata = [("subscription_id".to_owned(), Value::from(id.as_str()))];
        let operation = CreatePaymentIntent::new(
            reference,
            offer.amount,
            &offer.name,
            CustomerName { firstname: &terms.firstname, lastname: &terms.lastname },
        )
        .email(email)
        .currency(offer.currency.clone())
        .metadata(metadata.into());
        let state = IntentState::off_session(charge.with.clone(), charge.attempt, at);
        new_intent(&self.subscription.merchant, operation, state, at)
            .map_err(|problem: Problem| Unavailable::because(&problem.message))
    }
}
