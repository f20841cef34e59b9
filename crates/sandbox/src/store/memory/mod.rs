//! The store in memory: maps and ordered indexes behind one lock. It keeps everything until a reset, as a database
//! does.

mod commit;
mod keys;
mod store;
mod table;

use super::{Customer, MerchantRow, SubscriptionEvent, Unavailable};
use crate::rules::billing::{Plan, Subscription};
use crate::rules::{EsimOrder, Intent, Session};
use guichet::values::{Moment, SubscriptionId};
use keys::Keys;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::RwLock;
use table::{Row, RowKeys, Table};

/// The store in memory. `None`: it was closed.
#[derive(Debug)]
pub(crate) struct Memory(RwLock<Option<Box<Tables>>>);

impl Default for Memory {
    fn default() -> Self {
        Self(RwLock::new(Some(Box::default())))
    }
}

impl Memory {
    /// Reads under the lock. `read` must return a copy.
    fn read<T>(&self, read: impl FnOnce(&Tables) -> T) -> Result<T, Unavailable> {
        let tables = self.0.read().map_err(|_| Unavailable::closed())?;
        tables.as_deref().map(read).ok_or_else(Unavailable::closed)
    }

    /// Changes the tables under the lock, so that no other read or write runs meanwhile.
    fn change<T>(&self, change: impl FnOnce(&mut Tables) -> T) -> Result<T, Unavailable> {
        let mut tables = self.0.write().map_err(|_| Unavailable::closed())?;
        tables.as_deref_mut().map(change).ok_or_else(Unavailable::closed)
    }

    /// Deletes everything. Later reads and writes fail.
    fn empty(&self) {
        if let Ok(mut tables) = self.0.write() {
            *tables = None;
        }
    }
}

/// Everything that is stored.
#[derive(Debug, Default)]
pub(super) struct Tables {
    latest_second: i64,
    /// By id. Not indexed otherwise, since merchants are few.
    merchants: BTreeMap<String, MerchantRow>,
    customers: Table<Customer>,
    esim_orders: Table<EsimOrder>,
    intents: Table<Intent>,
    plans: Table<Plan>,
    sessions: Table<Session>,
    subscriptions: Table<SubscriptionRow>,
    /// The sequence numbers of the intents that pay an eSIM order, by merchant and order.
    payers: HashMap<String, HashMap<String, Vec<i64>>>,
    /// When subscriptions are due, in Unix seconds, by merchant.
    due: HashMap<String, BTreeSet<(i64, SubscriptionId)>>,
    /// The events of subscriptions, by merchant, in order.
    events: HashMap<String, BTreeMap<(Moment, i64), SubscriptionEvent>>,
    last_event: i64,
    keys: Keys,
}

/// A subscription and its customer's contact.
#[derive(Debug)]
struct SubscriptionRow {
    subscription: Subscription,
    contact: String,
}

impl Row for Customer {
    fn keys(&self) -> RowKeys<'_> {
        RowKeys { id: &self.id, merchant: &self.merchant, name: Some(&self.contact) }
    }
}

impl Row for EsimOrder {
    fn keys(&self) -> RowKeys<'_> {
        RowKeys { id: self.id.as_str(), merchant: &self.merchant, name: None }
    }
}

impl Row for Intent {
    fn keys(&self) -> RowKeys<'_> {
        RowKeys { id: self.id.as_str(), merchant: &self.merchant, name: Some(&self.terms.merchant_reference) }
    }
}

impl Row for Plan {
    fn keys(&self) -> RowKeys<'_> {
        RowKeys { id: self.id.as_str(), merchant: &self.merchant, name: Some(self.offer.code.as_str()) }
    }
}

impl Row for Session {
    fn keys(&self) -> RowKeys<'_> {
        RowKeys { id: &self.fingerprint, merchant: &self.merchant, name: None }
    }
}

impl Row for SubscriptionRow {
    fn keys(&self) -> RowKeys<'_> {
        RowKeys { id: self.subscription.id.as_str(), merchant: &self.subscription.merchant, name: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Backend, contract};
    use std::sync::Arc;

    #[test]
    fn memory_keeps_the_contract() {
        contract::check(async || Arc::new(Memory::default()) as Arc<dyn Backend>);
    }
}
