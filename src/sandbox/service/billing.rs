//! Billing that runs: what comes of itself, each at its own moment, whenever it is done.

use super::intents::new_intent;
use super::{Merchant, ROUNDS, Service};
use crate::operations::{CreatePaymentIntent, CustomerName};
use crate::sandbox::problem::Problem;
use crate::sandbox::rules::billing::{Charge, Due, Subscription, SubscriptionState};
use crate::sandbox::rules::{Intent, IntentState, Status};
use crate::sandbox::store::{Billed, Customer, Unavailable};
use crate::values::{Email, MerchantReference, Moment, printable};
use serde_json::Value;

/// How many subscriptions are written together.
const TOGETHER: i64 = 32;
/// How often it is looked for what has come due. Whoever asks for a subscription has it looked for at once.
#[cfg(feature = "sandbox-serve")]
const TICK: std::time::Duration = std::time::Duration::from_secs(1);
/// How many turns of one subscription are written together.
const TURNS: usize = 16;

impl Service {
    /// Does what has come due for a merchant by now.
    ///
    /// Each subscription goes through its own time in order. Subscriptions do not know of each other, so that several are
    /// written together.
    pub(in crate::sandbox) async fn bill(&self, merchant: &Merchant) -> Result<(), Unavailable> {
        // One at a time, so that nobody rules about what another is writing.
        let _turn = merchant.billing.lock().await;
        let mut lost = 0;
        while lost < ROUNDS {
            let until = merchant.now();
            let due = self.store.due(&merchant.id, until, TOGETHER).await?;
            if due.is_empty() {
                return Ok(());
            }
            let mut billed = Vec::with_capacity(due.len());
            for subscription in due {
                let mut billing = Billing::of(subscription);
                if let Some(id) = billing.subscription.state.charge_under_way() {
                    billing.known = self.store.intent(id).await?;
                }
                billing.run(until)?;
                billed.push(billing.into_billed());
            }
            // What was not stored, since someone else was faster, is due again.
            lost = if self.store.save_billed(billed).await? { 0 } else { lost + 1 };
        }
        Err(Unavailable::contended())
    }

    /// Moves a merchant's clock forward, does what has come due by then, and says what the clock shows.
    pub(in crate::sandbox) async fn advance(&self, merchant: &Merchant, seconds: u32) -> Result<Moment, Unavailable> {
        self.catch_up().await;
        let now = self.merchants.advance(&self.store, merchant, seconds).await?;
        self.bill(merchant).await?;
        Ok(now)
    }

    /// Does what comes due, for as long as this is polled.
    #[cfg(feature = "sandbox-serve")]
    pub(in crate::sandbox) async fn keep_billing(&self) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.bill_all().await {
                tracing::error!(error = %printable(error), "what has come due was not billed");
            }
        }
    }

    /// Does what has come due for every merchant by now.
    pub(in crate::sandbox) async fn bill_all(&self) -> Result<(), Unavailable> {
        let due = self.store.merchants_due(self.clock.peek()).await?;
        if !due.is_empty() {
            self.catch_up().await;
        }
        for id in due {
            // What keeps one merchant's from being done keeps nobody else's.
            if let Some(merchant) = self.merchants.by_id(&id)
                && let Err(error) = self.bill(&merchant).await
            {
                tracing::error!(error = %printable(error), merchant = %id, "what has come due was not billed");
            }
        }
        Ok(())
    }
}

/// Whether a reference names a charge of a subscription: `{subscription}:{period}:{attempt}`.
pub(super) fn is_reference(reference: &str) -> bool {
    let mut parts = reference.split(':');
    let number =
        |part: Option<&str>| part.is_some_and(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    parts.next().is_some_and(|id| id.starts_with("sub_"))
        && number(parts.next())
        && number(parts.next())
        && parts.next().is_none()
}

/// A subscription on its way through time, with what begins and happens on the way.
pub(super) struct Billing {
    subscription: Subscription,
    customer: Option<Customer>,
    /// The intent of the charge under way, as far as it was read.
    known: Option<Intent>,
    charges: Vec<Intent>,
    events: Vec<(Moment, &'static str)>,
}

impl Billing {
    /// Of a subscription that is there.
    pub(super) fn of(subscription: Subscription) -> Self {
        Self { subscription, customer: None, known: None, charges: Vec::new(), events: Vec::new() }
    }

    /// Of a subscription that this customer makes now.
    pub(super) fn begin(subscription: Subscription, customer: Customer, now: Moment) -> Self {
        Self { customer: Some(customer), events: vec![(now, "created")], ..Self::of(subscription) }
    }

    /// It comes to this, with the charge that begins.
    pub(super) fn turn(
        &mut self,
        (state, charge): (SubscriptionState, Option<Charge>),
        at: Moment,
    ) -> Result<(), Unavailable> {
        let state = match charge {
            None => state,
            Some(charge) => {
                let intent = self.charged(&charge, at)?;
                let state = state.charging(&charge, intent.id.clone(), at, intent.state.settles_at());
                self.charges.push(intent);
                state
            }
        };
        self.events.extend(state.event_since(&self.subscription.state).map(|word| (at, word)));
        self.subscription.state = state;
        Ok(())
    }

    /// Goes on with what comes of itself until then.
    pub(super) fn run(&mut self, until: Moment) -> Result<(), Unavailable> {
        for _ in 0..TURNS {
            let Some((at, due)) = self.subscription.state.due().filter(|(at, _)| *at <= until) else { break };
            let state = self.subscription.state.clone();
            let turn = match &due {
                Due::Settlement(id) => {
                    let of_charge = |intent: &&Intent| intent.id == *id;
                    let intent = self.charges.iter().chain(&self.known).find(of_charge);
                    let intent = intent.ok_or_else(|| Unavailable::because("a charge is not there"))?.clone();
                    let ended = intent.at(at).state;
                    // A charge has one attempt: the one that may be approved late.
                    let late = ended.late_approvals.into_iter().next();
                    state.settled(ended.status == Status::Succeeded, late, at)
                }
                due => state.apply_due(due),
            };
            self.turn(turn, at)?;
        }
        Ok(())
    }

    /// What is to be stored.
    pub(super) fn into_billed(self) -> Billed {
        let Self { subscription, customer, charges, events, .. } = self;
        Billed { subscription, customer, charges, events }
    }

    /// The intent of a charge. Its one attempt has begun.
    fn charged(&self, charge: &Charge, at: Moment) -> Result<Intent, Unavailable> {
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
