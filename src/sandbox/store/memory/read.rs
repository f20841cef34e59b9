//! Reads in memory. They return copies, in the order that the store's contract requires.

use super::table::{Row, Table};
use super::{SubscriptionRow, Tables};
use crate::sandbox::rules::billing::{Plan, Subscription};
use crate::sandbox::rules::{EsimOrder, IdempotentRequest, Intent, Session};
use crate::sandbox::store::{After, Customer, List, Made, MerchantRow, Place, SubscriptionEvent};
use crate::values::{EsimOrderId, IntentId, Moment, PlanId, PlanKey, SubscriptionId};

impl Tables {
    pub(in crate::sandbox::store) fn latest_second(&self) -> i64 {
        self.latest_second
    }

    pub(in crate::sandbox::store) fn made(&self, request: &IdempotentRequest) -> Option<Made> {
        self.keys.made(request)
    }

    pub(in crate::sandbox::store) fn any_expired_keys(&self, wall: Moment) -> bool {
        let mut merchants = self.merchants.values();
        merchants.any(|merchant| self.keys.any_expired(&merchant.id, wall.unix() + merchant.clock_offset))
    }

    pub(in crate::sandbox::store) fn place(&self, list: List, merchant: &str, id: &str) -> After {
        let number = match list {
            List::Customers => self.customers.number(merchant, id),
            List::Intents => self.intents.number(merchant, id),
            List::Plans => self.plans.number(merchant, id),
            List::Subscriptions => self.subscriptions.number(merchant, id),
        };
        number.map(Place)
    }

    pub(in crate::sandbox::store) fn intent(&self, id: &IntentId) -> Option<Intent> {
        self.intents.get(id.as_str()).cloned()
    }

    pub(in crate::sandbox::store) fn intent_by_reference(&self, merchant: &str, reference: &str) -> Option<Intent> {
        self.intents.named(merchant, reference).cloned()
    }

    pub(in crate::sandbox::store) fn intents(&self, merchant: &str, after: After, limit: i64) -> Vec<Intent> {
        page(&self.intents, merchant, after, limit).cloned().collect()
    }

    pub(in crate::sandbox::store) fn intents_of_esim_order(&self, merchant: &str, order: &EsimOrderId) -> Vec<Intent> {
        self.numbered_intents(self.payers(merchant, order))
    }

    pub(in crate::sandbox::store) fn intents_of_open_esim_orders(&self, merchant: &str, limit: i64) -> Vec<Intent> {
        let newest = page(&self.esim_orders, merchant, None, limit);
        let open = newest.filter(|order| order.fulfilment.is_none());
        let mut numbers: Vec<i64> = open.flat_map(|order| self.payers(merchant, &order.id)).copied().collect();
        numbers.sort_unstable();
        self.numbered_intents(&numbers)
    }

    fn payers(&self, merchant: &str, order: &EsimOrderId) -> &[i64] {
        let numbers = self.payers.get(merchant).and_then(|orders| orders.get(order.as_str()));
        numbers.map_or(&[], Vec::as_slice)
    }

    fn numbered_intents(&self, numbers: &[i64]) -> Vec<Intent> {
        numbers.iter().filter_map(|number| self.intents.numbered(*number)).cloned().collect()
    }

    pub(in crate::sandbox::store) fn plan(&self, merchant: &str, id: &PlanId) -> Option<Plan> {
        self.plans.get_of(merchant, id.as_str()).cloned()
    }

    pub(in crate::sandbox::store) fn plan_by_key(&self, merchant: &str, key: &PlanKey) -> Option<Plan> {
        let by_id = self.plans.get_of(merchant, key.as_str());
        by_id.or_else(|| self.plans.named(merchant, key.as_str())).cloned()
    }

    pub(in crate::sandbox::store) fn plans(
        &self,
        merchant: &str,
        include_inactive: bool,
        after: After,
        limit: i64,
    ) -> Vec<Plan> {
        let listed = |plan: &&Plan| include_inactive || plan.active;
        newest(&self.plans, merchant, after).filter(listed).take(entries(limit)).cloned().collect()
    }

    pub(in crate::sandbox::store) fn subscription(&self, merchant: &str, id: &SubscriptionId) -> Option<Subscription> {
        self.subscriptions.get_of(merchant, id.as_str()).map(|row| self.read_subscription(row))
    }

    pub(in crate::sandbox::store) fn subscriptions(
        &self,
        merchant: &str,
        after: After,
        limit: i64,
    ) -> Vec<Subscription> {
        page(&self.subscriptions, merchant, after, limit).map(|row| self.read_subscription(row)).collect()
    }

    pub(in crate::sandbox::store) fn due(&self, merchant: &str, until: Moment, limit: i64) -> Vec<Subscription> {
        let due = self.due.get(merchant).into_iter().flatten();
        due.take_while(|(at, _)| *at <= until.unix())
            .take(entries(limit))
            .filter_map(|(_, id)| self.subscription(merchant, id))
            .collect()
    }

    /// A subscription with its customer: the one with its contact.
    fn read_subscription(&self, row: &SubscriptionRow) -> Subscription {
        let customer = self.customers.named(row.merchant(), &row.contact);
        Subscription {
            customer_id: customer.map(|customer| customer.id.clone()).unwrap_or_default(),
            ..row.subscription.clone()
        }
    }

    pub(in crate::sandbox::store) fn merchants_due(&self, wall: Moment) -> Vec<String> {
        let is_due = |merchant: &&MerchantRow| {
            let first = self.due.get(&merchant.id).and_then(|due| due.first());
            first.is_some_and(|(at, _)| *at <= wall.unix() + merchant.clock_offset)
        };
        self.merchants.values().filter(is_due).map(|merchant| merchant.id.clone()).collect()
    }

    pub(in crate::sandbox::store) fn subscription_events(&self, merchant: &str, limit: i64) -> Vec<SubscriptionEvent> {
        let events = self.events.get(merchant).into_iter().flat_map(|events| events.values().rev());
        events.take(entries(limit)).cloned().collect()
    }

    pub(in crate::sandbox::store) fn esim_order(&self, merchant: &str, id: &EsimOrderId) -> Option<EsimOrder> {
        self.esim_orders.get_of(merchant, id.as_str()).cloned()
    }

    pub(in crate::sandbox::store) fn esim_orders(&self, merchant: &str, limit: i64) -> Vec<EsimOrder> {
        page(&self.esim_orders, merchant, None, limit).cloned().collect()
    }

    pub(in crate::sandbox::store) fn customers(&self, merchant: &str, after: After, limit: i64) -> Vec<Customer> {
        page(&self.customers, merchant, after, limit).cloned().collect()
    }

    pub(in crate::sandbox::store) fn session(&self, fingerprint: &str) -> Option<Session> {
        self.sessions.get(fingerprint).cloned()
    }

    pub(in crate::sandbox::store) fn merchants(&self) -> Vec<MerchantRow> {
        let mut merchants: Vec<_> = self.merchants.values().cloned().collect();
        // A stable sort: merchants with the same place stay in the order of their ids.
        merchants.sort_by_key(|merchant| merchant.place);
        merchants
    }
}

/// A merchant's rows after this position, newest first.
fn newest<'a, T: Row>(table: &'a Table<T>, merchant: &str, after: After) -> impl Iterator<Item = &'a T> + use<'a, T> {
    let Place(number) = after.unwrap_or(Place(i64::MAX));
    table.newest_before(merchant, number)
}

/// Copies at most `limit` of the rows.
fn page<'a, T: Row>(
    table: &'a Table<T>,
    merchant: &str,
    after: After,
    limit: i64,
) -> impl Iterator<Item = &'a T> + use<'a, T> {
    newest(table, merchant, after).take(entries(limit))
}

fn entries(limit: i64) -> usize {
    usize::try_from(limit).unwrap_or(0)
}
