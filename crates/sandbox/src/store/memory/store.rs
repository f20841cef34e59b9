//! Reads and writes in memory. Reads return copies, in the order that the store's contract requires.
//!
//! A commit in memory waits for no disk, so grouping writes saves nothing. Each caller commits its own write under the
//! lock. This needs no task, and works without a runtime, as in wasm32.

use super::table::{Row, Table};
use super::{Memory, SubscriptionRow, Tables};
use crate::rules::billing::{Plan, Subscription};
use crate::rules::{EsimOrder, IdempotentRequest, Intent, Session};
use crate::store::{
    After, Backend, Customer, List, Made, MerchantRow, PendingWrite, Position, SubscriptionEvent, Unavailable, Write,
};
use async_trait::async_trait;
use guichet::values::{EsimOrderId, IntentId, Moment, PlanKey, SubscriptionId};
use std::future::ready;

#[async_trait]
impl Backend for Memory {
    async fn queue(&self, write: Write) -> Result<PendingWrite, Unavailable> {
        let effect = self.write(write).await?;
        Ok(Box::pin(ready(Ok(effect))))
    }

    async fn write(&self, write: Write) -> Result<bool, Unavailable> {
        Ok(self.change(|tables| tables.commit(vec![write]))? == [true])
    }

    async fn commit(&self, group: Vec<Write>) -> Result<Vec<bool>, Unavailable> {
        self.change(|tables| tables.commit(group))
    }

    async fn latest_second(&self) -> Result<i64, Unavailable> {
        self.read(|tables| tables.latest_second)
    }

    async fn made(&self, request: &IdempotentRequest) -> Result<Option<Made>, Unavailable> {
        self.read(|tables| tables.keys.made(request))
    }

    async fn position(&self, list: List, merchant: &str, id: &str) -> Result<After, Unavailable> {
        let number = self.read(|tables| match list {
            List::Customers => tables.customers.number(merchant, id),
            List::Intents => tables.intents.number(merchant, id),
            List::Plans => tables.plans.number(merchant, id),
            List::Subscriptions => tables.subscriptions.number(merchant, id),
        });
        Ok(number?.map(Position))
    }

    async fn intent(&self, id: &IntentId) -> Result<Option<Intent>, Unavailable> {
        self.read(|tables| tables.intents.get(id.as_str()).cloned())
    }

    async fn intents(&self, merchant: &str, after: After, limit: i64) -> Result<Vec<Intent>, Unavailable> {
        self.read(|tables| page(&tables.intents, merchant, after, limit).cloned().collect())
    }

    async fn intent_by_reference(&self, merchant: &str, reference: &str) -> Result<Option<Intent>, Unavailable> {
        self.read(|tables| tables.intents.named(merchant, reference).cloned())
    }

    async fn intent_by_payment_ref(&self, merchant: &str, payment_ref: &str) -> Result<Option<Intent>, Unavailable> {
        let is_it = |intent: &&Intent| intent.payment_ref == payment_ref;
        self.read(|tables| newest(&tables.intents, merchant, None).find(is_it).cloned())
    }

    async fn intents_of_esim_order(&self, merchant: &str, order: &EsimOrderId) -> Result<Vec<Intent>, Unavailable> {
        self.read(|tables| tables.numbered_intents(tables.payers(merchant, order)))
    }

    async fn intents_of_open_esim_orders(&self, merchant: &str, limit: i64) -> Result<Vec<Intent>, Unavailable> {
        self.read(|tables| {
            let newest = page(&tables.esim_orders, merchant, None, limit);
            let open = newest.filter(|order| order.fulfilment.is_none());
            let mut numbers: Vec<i64> = open.flat_map(|order| tables.payers(merchant, &order.id)).copied().collect();
            numbers.sort_unstable();
            tables.numbered_intents(&numbers)
        })
    }

    async fn plan_by_key(&self, merchant: &str, key: &PlanKey) -> Result<Option<Plan>, Unavailable> {
        self.read(|tables| {
            let by_id = tables.plans.get_of(merchant, key.as_str());
            by_id.or_else(|| tables.plans.named(merchant, key.as_str())).cloned()
        })
    }

    async fn plans(
        &self,
        merchant: &str,
        include_inactive: bool,
        after: After,
        limit: i64,
    ) -> Result<Vec<Plan>, Unavailable> {
        let listed = |plan: &&Plan| include_inactive || plan.active;
        self.read(|tables| {
            newest(&tables.plans, merchant, after).filter(listed).take(entries(limit)).cloned().collect()
        })
    }

    async fn subscription(&self, merchant: &str, id: &SubscriptionId) -> Result<Option<Subscription>, Unavailable> {
        self.read(|tables| tables.subscription(merchant, id))
    }

    async fn subscriptions(&self, merchant: &str, after: After, limit: i64) -> Result<Vec<Subscription>, Unavailable> {
        self.read(|tables| {
            let page = page(&tables.subscriptions, merchant, after, limit);
            page.map(|row| tables.read_subscription(row)).collect()
        })
    }

    async fn due(&self, merchant: &str, until: Moment, limit: i64) -> Result<Vec<Subscription>, Unavailable> {
        self.read(|tables| {
            let due = tables.due.get(merchant).into_iter().flatten();
            due.take_while(|(at, _)| *at <= until.unix())
                .take(entries(limit))
                .filter_map(|(_, id)| tables.subscription(merchant, id))
                .collect()
        })
    }

    async fn merchants_due(&self, wall: Moment) -> Result<Vec<String>, Unavailable> {
        self.read(|tables| {
            let is_due = |merchant: &&MerchantRow| {
                let first = tables.due.get(&merchant.id).and_then(|due| due.first());
                first.is_some_and(|(at, _)| *at <= wall.unix() + merchant.clock_offset)
            };
            tables.merchants.values().filter(is_due).map(|merchant| merchant.id.clone()).collect()
        })
    }

    async fn subscription_events(&self, merchant: &str, limit: i64) -> Result<Vec<SubscriptionEvent>, Unavailable> {
        self.read(|tables| {
            let events = tables.events.get(merchant).into_iter().flat_map(|events| events.values().rev());
            events.take(entries(limit)).cloned().collect()
        })
    }

    async fn esim_order(&self, merchant: &str, id: &EsimOrderId) -> Result<Option<EsimOrder>, Unavailable> {
        self.read(|tables| tables.esim_orders.get_of(merchant, id.as_str()).cloned())
    }

    async fn esim_orders(&self, merchant: &str, limit: i64) -> Result<Vec<EsimOrder>, Unavailable> {
        self.read(|tables| page(&tables.esim_orders, merchant, None, limit).cloned().collect())
    }

    async fn customers(&self, merchant: &str, after: After, limit: i64) -> Result<Vec<Customer>, Unavailable> {
        self.read(|tables| page(&tables.customers, merchant, after, limit).cloned().collect())
    }

    async fn session(&self, fingerprint: &str) -> Result<Option<Session>, Unavailable> {
        self.read(|tables| tables.sessions.get(fingerprint).cloned())
    }

    async fn merchants(&self) -> Result<Vec<MerchantRow>, Unavailable> {
        let mut merchants: Vec<_> = self.read(|tables| tables.merchants.values().cloned().collect())?;
        // A stable sort: merchants with the same place stay in the order of their ids.
        merchants.sort_by_key(|merchant| merchant.place);
        Ok(merchants)
    }

    async fn close(&self) {
        self.empty();
    }
}

impl Tables {
    fn payers(&self, merchant: &str, order: &EsimOrderId) -> &[i64] {
        let numbers = self.payers.get(merchant).and_then(|orders| orders.get(order.as_str()));
        numbers.map_or(&[], Vec::as_slice)
    }

    fn numbered_intents(&self, numbers: &[i64]) -> Vec<Intent> {
        numbers.iter().filter_map(|number| self.intents.numbered(*number)).cloned().collect()
    }

    fn subscription(&self, merchant: &str, id: &SubscriptionId) -> Option<Subscription> {
        self.subscriptions.get_of(merchant, id.as_str()).map(|row| self.read_subscription(row))
    }

    /// A subscription with its customer: the one with its contact.
    fn read_subscription(&self, row: &SubscriptionRow) -> Subscription {
        let customer = self.customers.named(&row.subscription.merchant, &row.contact);
        Subscription {
            customer_id: customer.map(|customer| customer.id.clone()).unwrap_or_default(),
            ..row.subscription.clone()
        }
    }
}

/// A merchant's rows after this position, newest first.
fn newest<'a, T: Row>(table: &'a Table<T>, merchant: &str, after: After) -> impl Iterator<Item = &'a T> + use<'a, T> {
    let Position(number) = after.unwrap_or(Position(i64::MAX));
    table.newest_before(merchant, number)
}

/// At most `limit` of the rows.
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
