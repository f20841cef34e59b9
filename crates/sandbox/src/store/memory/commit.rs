//! Writes in memory, with the effects that the store's contract requires.

use super::{SubscriptionRow, Tables};
use crate::rules::billing::Subscription;
use crate::rules::{Intent, OperatorStatuses};
use crate::store::{Billed, Customer, MerchantRow, Write};

/// The parts of a group that are written after all others.
#[derive(Default)]
struct Later {
    charges: Vec<Intent>,
    customers: Vec<Customer>,
    resets: Vec<String>,
}

impl Tables {
    /// Writes a group. Returns whether each write had an effect.
    pub(super) fn commit(&mut self, group: Vec<Write>) -> Vec<bool> {
        let mut later = Later::default();
        let effects = group.into_iter().map(|write| self.write(write, &mut later)).collect();
        // Sorted by time, whichever subscription was billed first: lists show charges in this order.
        later.charges.sort_by_key(|charge| charge.created_at);
        for charge in later.charges {
            self.add_intent(charge);
        }
        for customer in later.customers {
            self.customers.add(customer);
        }
        for merchant in later.resets {
            self.reset(&merchant);
        }
        effects
    }

    fn write(&mut self, write: Write, later: &mut Later) -> bool {
        match write {
            Write::AddEsimOrder(order) => self.esim_orders.add(*order).is_some(),
            Write::AddIntent(row) => {
                let (intent, customer) = *row;
                let added = self.add_intent(intent);
                if added {
                    self.customers.add(customer);
                }
                added
            }
            Write::AddMerchant(merchant) => self.add_merchant(merchant),
            Write::AddPlan(plan) => self.plans.add(*plan).is_some(),
            Write::AddSession(session) => {
                self.sessions.add(session);
                true
            }
            Write::AdvanceClock { merchant, seconds } => {
                self.merchants.get_mut(&merchant).map(|merchant| merchant.clock_offset += seconds).is_some()
            }
            Write::SetOperators { merchant, operators } => {
                self.merchants.get_mut(&merchant).map(|merchant| merchant.operators = operators).is_some()
            }
            Write::ChangeKey { merchant, key_fingerprint } => self.change_key(&merchant, key_fingerprint),
            Write::DeactivatePlan { id } => self.plans.get_mut(id.as_str()).map(|plan| plan.active = false).is_some(),
            Write::DeleteExpiredKeys { wall, limit } => self.delete_expired_keys(wall.unix(), limit),
            Write::Fulfil(fulfilled) => {
                for (order, fulfilment) in fulfilled {
                    if let Some(order) = self.esim_orders.get_mut(order.as_str()) {
                        order.fulfilment.get_or_insert(fulfilment);
                    }
                }
                true
            }
            Write::IfKeyIsNew { request, made, write } => self.keys.take(request, made) && self.write(*write, later),
            Write::Reset { merchant } => {
                later.resets.push(merchant);
                true
            }
            Write::RevokeSession { fingerprint, at } => {
                let session = self.sessions.get_mut(&fingerprint).filter(|session| session.revoked_at.is_none());
                session.map(|session| session.revoked_at = Some(at)).is_some()
            }
            Write::SaveBilled(billed) => {
                let mut all = true;
                for billed in billed {
                    all &= self.save_billed(billed, later);
                }
                all
            }
            Write::SaveIntents(intents) => {
                let mut all = true;
                for intent in intents {
                    all &= self.save_intent(intent);
                }
                all
            }
            Write::SaveSecond(second) => {
                let is_later = second > self.latest_second;
                self.latest_second = self.latest_second.max(second);
                is_later
            }
        }
    }

    fn add_intent(&mut self, intent: Intent) -> bool {
        let pays = intent.terms.esim_order().map(|order| (intent.merchant.clone(), order));
        let Some(number) = self.intents.add(intent) else { return false };
        if let Some((merchant, order)) = pays {
            self.payers.entry(merchant).or_default().entry(order).or_default().push(number);
        }
        true
    }

    fn save_intent(&mut self, intent: Intent) -> bool {
        let stored = self.intents.get_mut(intent.id.as_str()).filter(|stored| stored.version == intent.version);
        let Some(stored) = stored else { return false };
        stored.state = intent.state;
        stored.version += 1;
        true
    }

    fn save_billed(&mut self, billed: Billed, later: &mut Later) -> bool {
        let events: Vec<_> = billed.numbered_events().collect();
        let due_at = billed.due_at();
        let Billed { subscription, customer, charges, .. } = billed;
        let (id, merchant) = (subscription.id.clone(), subscription.merchant.clone());
        let was_due = match &customer {
            Some(customer) => {
                let contact = customer.contact.clone();
                if self.subscriptions.add(SubscriptionRow { subscription, contact }).is_none() {
                    return false;
                }
                None
            }
            None => {
                let Subscription { state, version, .. } = subscription;
                let stored = self.subscriptions.get_mut(id.as_str()).map(|row| &mut row.subscription);
                let Some(stored) = stored.filter(|stored| stored.version == version) else { return false };
                let was_due = stored.state.due().map(|(at, _)| at.unix());
                stored.state = state;
                stored.version += 1;
                was_due
            }
        };
        let due = self.due.entry(merchant.clone()).or_default();
        if let Some(at) = was_due {
            due.remove(&(at, id.clone()));
        }
        if let Some(at) = due_at {
            due.insert((at, id));
        }
        let all_events = self.events.entry(merchant).or_default();
        for event in events {
            self.last_event += 1;
            all_events.insert((event.at, self.last_event), event);
        }
        later.charges.extend(charges);
        later.customers.extend(customer);
        true
    }

    fn add_merchant(&mut self, merchant: MerchantRow) -> bool {
        if self.merchants.contains_key(&merchant.id) || self.has_key(&merchant.key_fingerprint) {
            return false;
        }
        self.merchants.insert(merchant.id.clone(), merchant);
        true
    }

    fn change_key(&mut self, merchant: &str, key_fingerprint: String) -> bool {
        let is_same = self.merchants.get(merchant).is_some_and(|row| row.key_fingerprint == key_fingerprint);
        if !is_same && self.has_key(&key_fingerprint) {
            return false;
        }
        self.merchants.get_mut(merchant).map(|merchant| merchant.key_fingerprint = key_fingerprint).is_some()
    }

    fn has_key(&self, key_fingerprint: &str) -> bool {
        self.merchants.values().any(|merchant| merchant.key_fingerprint == key_fingerprint)
    }

    fn delete_expired_keys(&mut self, wall: i64, limit: i64) -> bool {
        let mut deleted = 0;
        for merchant in self.merchants.values() {
            while deleted < limit && self.keys.delete_expired(&merchant.id, wall + merchant.clock_offset) {
                deleted += 1;
            }
        }
        deleted > 0
    }

    fn reset(&mut self, merchant: &str) {
        self.customers.remove_all_of(merchant);
        self.esim_orders.remove_all_of(merchant);
        self.intents.remove_all_of(merchant);
        self.plans.remove_all_of(merchant);
        self.sessions.remove_all_of(merchant);
        self.subscriptions.remove_all_of(merchant);
        self.payers.remove(merchant);
        self.due.remove(merchant);
        self.events.remove(merchant);
        self.keys.remove_all_of(merchant);
        if let Some(merchant) = self.merchants.get_mut(merchant) {
            merchant.clock_offset = 0;
            merchant.operators = OperatorStatuses::default();
        }
    }
}
