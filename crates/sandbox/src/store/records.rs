//! The records of every backend that are not objects of `rules`.

use crate::rules::billing::Subscription;
use crate::rules::{Intent, OperatorStatuses};
use crate::tokens;
use guichet::values::{Moment, Secret, SubscriptionId};

/// A stored merchant.
#[derive(Clone, Debug)]
pub struct MerchantRow {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The fingerprint of its secret key.
    pub key_fingerprint: String,
    /// The offset of its clock from the service's, in seconds.
    pub clock_offset: i64,
    /// How the operators work for it.
    pub operators: OperatorStatuses,
    /// 0 for the first one.
    pub place: i64,
}

impl MerchantRow {
    /// A new merchant with this key, which is not the first one.
    pub(crate) fn new(name: &str, key: &Secret) -> Self {
        Self {
            id: tokens::id("mch_"),
            name: name.to_owned(),
            key_fingerprint: tokens::fingerprint(key.expose()),
            clock_offset: 0,
            operators: OperatorStatuses::default(),
            place: 1,
        }
    }
}

/// A customer, created with the first intent or subscription that has their e-mail or phone.
#[derive(Clone, Debug)]
pub struct Customer {
    /// Its id.
    pub id: String,
    /// Its merchant's id.
    pub merchant: String,
    /// Their e-mail, or their phone if there is none. Unique per merchant.
    pub contact: String,
    /// Their first name.
    pub firstname: String,
    /// Their last name.
    pub lastname: String,
    /// Their e-mail. Empty if they have none.
    pub email: String,
    /// Their phone. Empty if they have none.
    pub phone: String,
    /// When it was created.
    pub created_at: Moment,
}

impl Customer {
    /// The contact that identifies a customer.
    pub(crate) fn contact(email: Option<&str>, phone: Option<&str>) -> String {
        email.map_or_else(|| phone.unwrap_or_default().to_owned(), str::to_ascii_lowercase)
    }
}

/// A subscription's next state, with the charges that began and the events. They are stored in one commit, so that each
/// period is charged once, even if the process ends at any moment.
#[derive(Clone, Debug)]
pub struct Billed {
    /// The subscription, with its next state.
    pub subscription: Subscription,
    /// The customer, if the subscription is new.
    pub customer: Option<Customer>,
    /// The charges that began.
    pub charges: Vec<Intent>,
    pub(crate) events: Vec<(Moment, &'static str)>,
}

/// The most events of a subscription in one write.
const MAX_EVENTS_PER_WRITE: i64 = 1000;

impl Billed {
    /// Its events with their numbers within the subscription, from 0. Two writes of one subscription never use the same
    /// number.
    pub fn numbered_events(&self) -> impl Iterator<Item = SubscriptionEvent> {
        // A new subscription has version 1, and so has the state that its first change replaces.
        let first = if self.customer.is_some() { 0 } else { self.subscription.version * MAX_EVENTS_PER_WRITE };
        (first..first + MAX_EVENTS_PER_WRITE).zip(&self.events).map(|(number, (at, kind))| SubscriptionEvent {
            subscription: self.subscription.id.clone(),
            number,
            at: *at,
            kind: (*kind).to_owned(),
        })
    }

    /// When the subscription is due next, in Unix seconds.
    #[must_use]
    pub fn due_at(&self) -> Option<i64> {
        self.subscription.state.due().map(|(at, _)| at.unix())
    }
}

/// One event of a subscription.
#[derive(Clone, Debug)]
pub struct SubscriptionEvent {
    /// The subscription's id.
    pub subscription: SubscriptionId,
    /// Its number within the subscription, from 0.
    pub number: i64,
    /// When it happened.
    pub at: Moment,
    /// Its kind: a word of [`Billed::numbered_events`].
    pub kind: String,
}

/// The object that was created under an idempotency key.
#[derive(Clone, Debug)]
pub struct Made {
    /// Its id.
    pub id: String,
    /// The digest of the request's canonical body.
    pub digest: String,
}

/// A list with pages.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "a list has the name of its records")]
pub enum List {
    Customers,
    Intents,
    Plans,
    Subscriptions,
}

/// The position after which a page begins. `None`: the beginning of the list.
pub type After = Option<Position>;

/// The position of an entry in its list: its sequence number, which the store assigns at creation and never changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Position(pub i64);
