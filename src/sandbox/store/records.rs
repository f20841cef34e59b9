//! The records of every backend that are not objects of `rules`.

use crate::sandbox::rules::Intent;
use crate::sandbox::rules::billing::Subscription;
use crate::values::{Moment, SubscriptionId};

/// A stored merchant.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct MerchantRow {
    pub(in crate::sandbox) id: String,
    pub(in crate::sandbox) name: String,
    pub(in crate::sandbox) key_fingerprint: String,
    /// The offset of its clock from the service's, in seconds.
    pub(in crate::sandbox) clock_offset: i64,
    /// 0 for the first one.
    pub(in crate::sandbox) place: i64,
}

/// A customer, created with the first intent or subscription that has their e-mail or phone.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct Customer {
    pub(in crate::sandbox) id: String,
    pub(in crate::sandbox) merchant: String,
    /// Their e-mail, or their phone if there is none. Unique per merchant.
    pub(in crate::sandbox) contact: String,
    pub(in crate::sandbox) firstname: String,
    pub(in crate::sandbox) lastname: String,
    pub(in crate::sandbox) email: String,
    pub(in crate::sandbox) phone: String,
    pub(in crate::sandbox) created_at: Moment,
}

impl Customer {
    /// The contact that identifies a customer.
    pub(in crate::sandbox) fn contact(email: Option<&str>, phone: Option<&str>) -> String {
        email.map_or_else(|| phone.unwrap_or_default().to_owned(), str::to_ascii_lowercase)
    }
}

/// A subscription's next state, with the charges that began and the events. They are stored in one commit, so that each period is
/// charged once, even if the process ends at any moment.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct Billed {
    pub(in crate::sandbox) subscription: Subscription,
    /// The customer, if the subscription is new.
    pub(in crate::sandbox) customer: Option<Customer>,
    pub(in crate::sandbox) charges: Vec<Intent>,
    pub(in crate::sandbox) events: Vec<(Moment, &'static str)>,
}

/// The most events of a subscription in one write.
const MAX_EVENTS_PER_WRITE: i64 = 1000;

impl Billed {
    /// Its events with their numbers within the subscription, from 0. Two writes of one subscription never use the same number.
    pub(super) fn numbered_events(&self) -> impl Iterator<Item = (i64, Moment, &'static str)> {
        // A new subscription has version 1, and so has the state that its first change replaces.
        let first = if self.customer.is_some() { 0 } else { self.subscription.version * MAX_EVENTS_PER_WRITE };
        (first..first + MAX_EVENTS_PER_WRITE).zip(&self.events).map(|(number, (at, kind))| (number, *at, *kind))
    }

    /// When the subscription is due next, in Unix seconds.
    pub(super) fn due_at(&self) -> Option<i64> {
        self.subscription.state.due().map(|(at, _)| at.unix())
    }
}

/// One event of a subscription.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct SubscriptionEvent {
    pub(in crate::sandbox) subscription: SubscriptionId,
    /// Its number within the subscription, from 0.
    pub(in crate::sandbox) number: i64,
    pub(in crate::sandbox) at: Moment,
    pub(in crate::sandbox) kind: String,
}

/// The object that was created under an idempotency key, and the digest of the request's canonical body.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct Made {
    pub(in crate::sandbox) id: String,
    pub(in crate::sandbox) digest: String,
}

/// A list with pages.
#[derive(Clone, Copy, Debug)]
pub(in crate::sandbox) enum List {
    Customers,
    Intents,
    Plans,
    Subscriptions,
}

/// The position after which a page begins. `None`: the beginning of the list.
pub(in crate::sandbox) type After = Option<Place>;

/// The position of an entry in its list: its sequence number, which the store assigns at creation and never changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::sandbox) struct Place(pub(super) i64);
