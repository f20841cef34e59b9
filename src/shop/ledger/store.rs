//! What a ledger needs of its store. A store decides nothing: it compares what it is given with what it has, every time
//! is an argument, and no status, age or limit stands in it.

use super::due::{Due, LONGEST_WAIT, Next, due};
use super::event::{Changed, Effect, Service};
use super::order::{Order, Payment, Time};
use super::shared::Shared;
use super::{Decision, Known};
use crate::shop::Owner;
use std::collections::BTreeSet;
use std::error::Error;

/// Where a ledger keeps its orders. Each method is one transaction, which another server's comes before or after.
pub trait Store: Send + Sync {
    /// Why a step was not done.
    type Error: Error + Send + Sync + 'static;

    /// The time: the database's, so that the clocks of two servers do not matter.
    fn now(&self) -> impl Future<Output = Result<Time, Self::Error>> + Send;

    /// An order, and what is known of its owner.
    fn load(&self, name: &str, owner: &Owner, now: Time) -> impl Future<Output = Result<Loaded, Self::Error>> + Send;

    /// An order, whoever its owner is.
    fn order(&self, name: &str) -> impl Future<Output = Result<Option<Order>, Self::Error>> + Send {
        async move { Ok(self.load(name, &Owner::Guest(String::new()), 0).await?.order) }
    }

    /// Stores what was decided, all or nothing. False, and nothing is stored, if the order has another version than it
    /// was decided from, if the owner's count has changed, or if a reference is another order's.
    fn commit(&self, commit: &Commit) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// The names of the orders that have a payment of this reference, id or public reference.
    fn find(&self, payment: &str) -> impl Future<Output = Result<Vec<String>, Self::Error>> + Send;

    /// Notes that the customer of this payment has asked for it.
    fn returned(&self, reference: &str, now: Time) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Every payment that is to be read by now, or only after `beyond`: then a clock was ahead when it was stored.
    fn due(&self, now: Time, beyond: Time) -> impl Future<Output = Result<Vec<Due>, Self::Error>> + Send;

    /// Whether any payment is to be read at some time. A store that can answer without loading them all does so.
    fn has_due(&self) -> impl Future<Output = Result<bool, Self::Error>> + Send {
        async { Ok(!self.due(Time::MAX, Time::MAX).await?.is_empty()) }
    }

    /// Sets when a payment is read again. No order is read for it.
    fn postpone(&self, reference: &str, due_at: Time) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// What all servers of this ledger share.
    fn shared(&self) -> impl Future<Output = Result<Shared, Self::Error>> + Send;

    /// Replaces it. False, and nothing is replaced, if it is not `before` any more.
    fn replace_shared(&self, before: &Shared, after: &Shared)
    -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// Every event of this order that is not closed, or of every order, by version.
    fn events(&self, name: Option<&str>) -> impl Future<Output = Result<Vec<OpenEvent>, Self::Error>> + Send;

    /// Closes an event: the shop has received it.
    fn close(&self, event: &OpenEvent) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// What a store has of an order, and of its owner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// The order, if there is one.
    pub order: Option<Order>,
    /// How many payments of the owner have a `counts_until` after now.
    pub open: usize,
    /// References that other orders have, of those that this order may take.
    pub taken: BTreeSet<String>,
}

/// What is stored as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Commit {
    /// The order, as it was decided.
    pub order: Order,
    /// The version that it was decided from; none: there is no such order.
    pub before: Option<i64>,
    /// If it has a new payment: how many of its owner's counted then, by `now`.
    pub open: Option<usize>,
    /// When it was decided.
    pub now: Time,
    /// What a store looks for in its payments.
    pub rows: Vec<Row>,
    /// What the shop receives.
    pub event: Option<Changed>,
}

/// What a store looks for in a payment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Row {
    /// Its reference, which no other payment of the ledger has.
    pub reference: String,
    /// When it was stored.
    pub created_at: Time,
    /// When it is read again; none: not any more.
    pub due_at: Option<Time>,
    /// Until when it counts as one of its owner's; none: it does not.
    pub counts_until: Option<Time>,
    /// By which a customer or the service names it: its reference, its return nonce, and ids and public references of
    /// the service.
    pub names: BTreeSet<String>,
}

/// An event that is not closed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OpenEvent {
    /// Of which order.
    pub name: String,
    /// Its version.
    pub version: i64,
    /// A `Changed` as JSON.
    pub body: String,
}

impl Commit {
    /// What a decision changes; none if it changes nothing.
    #[must_use]
    pub fn new(before: Option<&Order>, decision: &Decision, known: &Known, now: Time) -> Option<Self> {
        let order = &decision.order;
        if before == Some(order) || (before.is_none() && order.payments.is_empty()) {
            return None;
        }
        let payments_before = before.map_or(0, |before| before.payments.len());
        let event = decision.effects.iter().find_map(|effect| match effect {
            Effect::OrderChanged(changed) => Some(changed.clone()),
            _ => None,
        });
        Some(Self {
            before: before.map(|before| before.version),
            open: (order.payments.len() > payments_before).then_some(known.open),
            now,
            rows: order.payments.iter().map(|payment| Row::new(payment, &known.service, now)).collect(),
            event,
            order: order.clone(),
        })
    }
}

impl Row {
    fn new(payment: &Payment, service: &Service, now: Time) -> Self {
        let found = payment.found.iter();
        let of_the_service = found.flat_map(|found| std::iter::once(found.id.clone()).chain(found.payment_ref.clone()));
        Self {
            reference: payment.reference.clone(),
            created_at: payment.created_at,
            due_at: match due(payment, service, now) {
                Next::At(at) => Some(at.min(now + LONGEST_WAIT)),
                Next::Never => None,
            },
            counts_until: payment.counts_until(),
            names: [payment.reference.clone(), payment.nonce.clone()]
                .into_iter()
                .chain(of_the_service)
                .filter(|name| !name.is_empty())
                .collect(),
        }
    }
}
