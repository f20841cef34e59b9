//! The reads.

use super::{Sqlite, Value, rows};
use crate::rules::billing::{Plan, Subscription};
use crate::rules::{EsimOrder, IdempotentRequest, Intent, Session};
use crate::store::{
    After, Backend, Customer, List, Made, MerchantRow, PendingWrite, Position, SubscriptionEvent, Unavailable, Write,
};
use async_trait::async_trait;
use guichet::values::{EsimOrderId, IntentId, Moment, PlanKey, SubscriptionId};
use sqlx::Row as _;

/// The SQL of a list: its columns, table and condition; `$1` is the merchant. Keyset pagination, so that new entries
/// are neither skipped nor repeated.
macro_rules! newest_first {
    ($($what:expr),+) => {
        concat!("SELECT ", $($what),+, " AND seq < $2 ORDER BY seq DESC LIMIT $3")
    };
}

macro_rules! esim_orders {
    () => {
        "id, merchant, package, quantity, amount, currency, created_at, paid_by, fulfilled_at FROM esim_orders WHERE merchant = $1"
    };
}

macro_rules! intents {
    () => {
        "id, merchant, payment_ref, digest, body, state, created_at, expires_at, version FROM intents"
    };
}

macro_rules! plans {
    () => {
        "id, merchant, offer, active, created_at FROM plans WHERE merchant = $1"
    };
}

/// A subscription's customer is the one with the same contact.
macro_rules! subscriptions {
    () => {
        "id, merchant, terms, state, created_at, version, (SELECT customers.id FROM customers \
         WHERE customers.merchant = subscriptions.merchant AND customers.contact = subscriptions.contact) AS customer \
         FROM subscriptions WHERE merchant = $1"
    };
}

/// The merchants with due subscriptions; `$1` is the service's clock, and each merchant has its own offset.
pub(super) const MERCHANTS_DUE: &str = "SELECT id FROM merchants WHERE EXISTS (SELECT 1 FROM subscriptions \
     WHERE subscriptions.merchant = merchants.id AND due_at <= $1 + clock_offset) ORDER BY id";

/// The statement that reads a page of a table, as a test explains it.
#[cfg(test)]
pub(super) fn newest(table: &str) -> String {
    newest_first!("* FROM table WHERE merchant = $1").replace("table", table)
}

#[async_trait]
impl Backend for Sqlite {
    async fn queue(&self, write: Write) -> Result<PendingWrite, Unavailable> {
        self.writer.queue(write).await
    }

    async fn latest_second(&self) -> Result<i64, Unavailable> {
        let row = first(self.rows("SELECT latest FROM service_clock", &[]).await?);
        Ok(row.ok_or_else(|| Unavailable::because("its clock is missing"))?.try_get("latest")?)
    }

    async fn made(&self, request: &IdempotentRequest) -> Result<Option<Made>, Unavailable> {
        let text = "SELECT made, digest FROM idempotency_keys \
                    WHERE merchant = $1 AND operation = $2 AND fingerprint = $3 AND expires_at > $4";
        let IdempotentRequest { merchant, operation, fingerprint, now, .. } = request;
        let values = [merchant.as_str().into(), (*operation).into(), fingerprint.as_str().into(), now.unix().into()];
        first(self.rows(text, &values).await?).map(|row| rows::made(&row)).transpose()
    }

    async fn position(&self, list: List, merchant: &str, id: &str) -> Result<After, Unavailable> {
        let text = match list {
            List::Customers => "SELECT seq FROM customers WHERE merchant = $1 AND id = $2",
            List::Intents => "SELECT seq FROM intents WHERE merchant = $1 AND id = $2",
            List::Plans => "SELECT seq FROM plans WHERE merchant = $1 AND id = $2",
            List::Subscriptions => "SELECT seq FROM subscriptions WHERE merchant = $1 AND id = $2",
        };
        let row = first(self.rows(text, &[merchant.into(), id.into()]).await?);
        row.map(|row| Ok(Position(row.try_get("seq")?))).transpose()
    }

    async fn intent(&self, id: &IntentId) -> Result<Option<Intent>, Unavailable> {
        let text = concat!("SELECT ", intents!(), " WHERE id = $1");
        first(self.rows(text, &[id.as_str().into()]).await?).map(|row| rows::intent(&row)).transpose()
    }

    async fn intents(&self, merchant: &str, after: After, limit: i64) -> Result<Vec<Intent>, Unavailable> {
        let text = newest_first!(intents!(), " WHERE merchant = $1");
        self.rows(text, &page(merchant, after, limit)).await?.iter().map(rows::intent).collect()
    }

    async fn intent_by_reference(&self, merchant: &str, reference: &str) -> Result<Option<Intent>, Unavailable> {
        let text = concat!("SELECT ", intents!(), " WHERE merchant = $1 AND merchant_reference = $2");
        let row = first(self.rows(text, &[merchant.into(), reference.into()]).await?);
        row.map(|row| rows::intent(&row)).transpose()
    }

    async fn intent_by_payment_ref(&self, merchant: &str, payment_ref: &str) -> Result<Option<Intent>, Unavailable> {
        let text =
            concat!("SELECT ", intents!(), " WHERE merchant = $1 AND payment_ref = $2 ORDER BY seq DESC LIMIT 1");
        let row = first(self.rows(text, &[merchant.into(), payment_ref.into()]).await?);
        row.map(|row| rows::intent(&row)).transpose()
    }

    async fn intents_of_esim_order(&self, merchant: &str, order: &EsimOrderId) -> Result<Vec<Intent>, Unavailable> {
        let text = concat!("SELECT ", intents!(), " WHERE merchant = $1 AND esim_order = $2 ORDER BY seq");
        self.rows(text, &[merchant.into(), order.as_str().into()]).await?.iter().map(rows::intent).collect()
    }

    async fn intents_of_open_esim_orders(&self, merchant: &str, limit: i64) -> Result<Vec<Intent>, Unavailable> {
        let text = concat!(
            "SELECT ",
            intents!(),
            " WHERE merchant = $1 AND esim_order IN (SELECT id FROM (SELECT id, paid_by FROM esim_orders WHERE merchant = $1 ",
            "ORDER BY seq DESC LIMIT $2) AS newest WHERE paid_by IS NULL) ORDER BY seq"
        );
        self.rows(text, &[merchant.into(), limit.into()]).await?.iter().map(rows::intent).collect()
    }

    async fn plan_by_key(&self, merchant: &str, key: &PlanKey) -> Result<Option<Plan>, Unavailable> {
        let text = concat!("SELECT ", plans!(), " AND (id = $2 OR code = $2) ORDER BY id = $2 DESC LIMIT 1");
        let row = first(self.rows(text, &[merchant.into(), key.as_str().into()]).await?);
        row.map(|row| rows::plan(&row)).transpose()
    }

    async fn plans(
        &self,
        merchant: &str,
        include_inactive: bool,
        after: After,
        limit: i64,
    ) -> Result<Vec<Plan>, Unavailable> {
        let text = if include_inactive { newest_first!(plans!()) } else { newest_first!(plans!(), " AND active") };
        self.rows(text, &page(merchant, after, limit)).await?.iter().map(rows::plan).collect()
    }

    async fn subscription(&self, merchant: &str, id: &SubscriptionId) -> Result<Option<Subscription>, Unavailable> {
        let text = concat!("SELECT ", subscriptions!(), " AND id = $2");
        let row = first(self.rows(text, &[merchant.into(), id.as_str().into()]).await?);
        row.map(|row| rows::subscription(&row)).transpose()
    }

    async fn subscriptions(&self, merchant: &str, after: After, limit: i64) -> Result<Vec<Subscription>, Unavailable> {
        let text = newest_first!(subscriptions!());
        self.rows(text, &page(merchant, after, limit)).await?.iter().map(rows::subscription).collect()
    }

    async fn due(&self, merchant: &str, until: Moment, limit: i64) -> Result<Vec<Subscription>, Unavailable> {
        let text = concat!("SELECT ", subscriptions!(), " AND due_at <= $2 ORDER BY due_at, id LIMIT $3");
        let values = [merchant.into(), until.unix().into(), limit.into()];
        self.rows(text, &values).await?.iter().map(rows::subscription).collect()
    }

    async fn merchants_due(&self, wall: Moment) -> Result<Vec<String>, Unavailable> {
        let rows = self.rows(MERCHANTS_DUE, &[wall.unix().into()]).await?;
        rows.iter().map(|row| Ok(row.try_get("id")?)).collect()
    }

    async fn subscription_events(&self, merchant: &str, limit: i64) -> Result<Vec<SubscriptionEvent>, Unavailable> {
        let text = "SELECT subscription, number, kind, at FROM subscription_events WHERE merchant = $1 \
                    ORDER BY at DESC, seq DESC LIMIT $2";
        self.rows(text, &[merchant.into(), limit.into()]).await?.iter().map(rows::subscription_event).collect()
    }

    async fn esim_order(&self, merchant: &str, id: &EsimOrderId) -> Result<Option<EsimOrder>, Unavailable> {
        let text = concat!("SELECT ", esim_orders!(), " AND id = $2");
        let row = first(self.rows(text, &[merchant.into(), id.as_str().into()]).await?);
        row.map(|row| rows::esim_order(&row)).transpose()
    }

    async fn esim_orders(&self, merchant: &str, limit: i64) -> Result<Vec<EsimOrder>, Unavailable> {
        let text = newest_first!(esim_orders!());
        self.rows(text, &page(merchant, None, limit)).await?.iter().map(rows::esim_order).collect()
    }

    async fn customers(&self, merchant: &str, after: After, limit: i64) -> Result<Vec<Customer>, Unavailable> {
        let text = newest_first!(
            "id, merchant, contact, firstname, lastname, email, phone, created_at FROM customers WHERE merchant = $1"
        );
        self.rows(text, &page(merchant, after, limit)).await?.iter().map(rows::customer).collect()
    }

    async fn session(&self, fingerprint: &str) -> Result<Option<Session>, Unavailable> {
        let text = "SELECT fingerprint, merchant, email, created_at, expires_at, revoked_at FROM sessions WHERE fingerprint = $1";
        first(self.rows(text, &[fingerprint.into()]).await?).map(|row| rows::session(&row)).transpose()
    }

    async fn merchants(&self) -> Result<Vec<MerchantRow>, Unavailable> {
        let text = "SELECT id, name, key_fingerprint, clock_offset, operators, place FROM merchants ORDER BY place, id";
        self.rows(text, &[]).await?.iter().map(rows::merchant).collect()
    }

    async fn close(&self) {
        self.writer.close().await;
    }
}

fn first<T>(rows: Vec<T>) -> Option<T> {
    rows.into_iter().next()
}

/// The values of a list.
fn page(merchant: &str, after: After, limit: i64) -> [Value<'_>; 3] {
    let Position(seq) = after.unwrap_or(Position(i64::MAX));
    [merchant.into(), seq.into(), limit.into()]
}
