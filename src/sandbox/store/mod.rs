//! The database: all SQL of the sandbox.
//!
//! **An acknowledged write is durable.** All writes go to one writer, which commits them in groups (`synchronous=FULL`) and only then
//! returns. Readers have their own connections.

mod clock;
mod customers;
mod esim;
mod file;
mod insert;
mod intents;
mod keys;
mod lists;
mod merchants;
mod open;
mod plans;
mod sessions;
mod subscriptions;
mod writer;

pub(super) use customers::Customer;
pub(super) use keys::Made;
pub(super) use lists::{After, List};
pub(super) use merchants::MerchantRow;
pub(super) use open::Location;
pub(super) use subscriptions::{Billed, SubscriptionEvent};
pub(super) use writer::PendingWrite;

use super::rules::billing::{Plan, Subscription};
use super::rules::{EsimOrder, Fulfilment, IdempotentRequest, Intent, Session};
use crate::values::{EsimOrderId, IntentId, Moment, PlanId, PlanKey, SubscriptionId};
use sqlx::SqlitePool;
use std::path::{Path, PathBuf};
use writer::{Write, Writer};

/// The database.
#[derive(Debug)]
pub(super) struct Store {
    readers: SqlitePool,
    writer: Writer,
    path: Option<PathBuf>,
}

/// The database failed, for example because the disk is full. Nothing was stored.
#[derive(Debug)]
pub struct Unavailable(String);

impl Unavailable {
    /// An error with this reason.
    pub(super) fn because(what: &str) -> Self {
        Self(what.to_owned())
    }

    /// Concurrent requests changed the same records at each attempt.
    pub(super) fn contended() -> Self {
        Self("other requests changed the same records each time".into())
    }

    /// The sandbox was stopped.
    pub(super) fn stopped() -> Self {
        Self("the sandbox was stopped".into())
    }
}

impl std::fmt::Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "The sandbox's database is unavailable: {}", self.0)
    }
}

impl std::error::Error for Unavailable {}

impl From<sqlx::Error> for Unavailable {
    fn from(error: sqlx::Error) -> Self {
        Self(error.to_string())
    }
}

impl Store {
    /// Stores a new intent and its customer. `false` if the merchant's reference is taken.
    pub(super) async fn add_intent(&self, intent: Intent, customer: Customer) -> Result<bool, Unavailable> {
        self.writer.write(Write::AddIntent(Box::new((intent, customer)))).await
    }

    /// Stores an intent's next state. `false` if it was changed since it was read.
    pub(super) async fn save_intent(&self, intent: Intent) -> Result<bool, Unavailable> {
        self.writer.write(Write::SaveIntent(Box::new(intent))).await
    }

    /// Stores the next states of intents. `false` if one of them was changed since it was read; that one is not stored.
    pub(super) async fn save_intents(&self, intents: Vec<Intent>) -> Result<bool, Unavailable> {
        self.writer.write(Write::SaveIntents(intents)).await
    }

    /// The latest second of the service's clock that is stored.
    pub(super) async fn latest_second(&self) -> Result<i64, Unavailable> {
        clock::latest(&self.readers).await
    }

    /// Begins to store a second of the service's clock. An earlier one than the stored has no effect.
    pub(super) async fn begin_saving_second(&self, second: i64) -> Result<PendingWrite, Unavailable> {
        self.writer.begin(Write::SaveSecond(second)).await
    }

    /// Stores a new plan. `false` if the merchant's code is taken.
    pub(super) async fn add_plan(&self, plan: Plan) -> Result<bool, Unavailable> {
        self.writer.write(Write::AddPlan(Box::new(plan))).await
    }

    /// Deactivates a plan.
    pub(super) async fn deactivate_plan(&self, id: PlanId) -> Result<(), Unavailable> {
        self.writer.write(Write::DeactivatePlan { id }).await.map(drop)
    }

    /// Stores a new subscription with its first charge. `false` if another was created under its idempotency key.
    pub(super) async fn add_billed(
        &self,
        billed: Billed,
        request: Option<IdempotentRequest>,
    ) -> Result<bool, Unavailable> {
        let made = billed.subscription.id.to_string();
        self.writer.write(Write::SaveBilled(vec![billed]).if_key_is_new(request, made)).await
    }

    /// Stores the next states of subscriptions with the charges that began. `false` if one of them was changed since it was read; that
    /// one is not stored.
    pub(super) async fn save_billed(&self, billed: Vec<Billed>) -> Result<bool, Unavailable> {
        self.writer.write(Write::SaveBilled(billed)).await
    }

    /// Stores a new eSIM order. `false` if another was created under its idempotency key.
    pub(super) async fn add_esim_order(
        &self,
        order: EsimOrder,
        request: Option<IdempotentRequest>,
    ) -> Result<bool, Unavailable> {
        let made = order.id.to_string();
        self.writer.write(Write::AddEsimOrder(Box::new(order)).if_key_is_new(request, made)).await
    }

    /// The object that was created under a request's idempotency key.
    pub(super) async fn made(&self, request: &IdempotentRequest) -> Result<Option<Made>, Unavailable> {
        keys::made(&self.readers, request).await
    }

    /// Whether there are expired idempotency keys at this time of the service's clock.
    pub(super) async fn any_expired_keys(&self, now: Moment) -> Result<bool, Unavailable> {
        keys::any_expired(&self.readers, now).await
    }

    /// Deletes the expired idempotency keys. In small batches, so that other writes do not wait long.
    pub(super) async fn delete_expired_keys(&self, now: Moment) -> Result<(), Unavailable> {
        const BATCH: i64 = 500;
        while self.any_expired_keys(now).await?
            && self.writer.write(Write::DeleteExpiredKeys { wall: now, limit: BATCH }).await?
        {}
        Ok(())
    }

    /// Stores the fulfilments of eSIM orders. An order that is already fulfilled does not change.
    pub(super) async fn fulfil(&self, fulfilled: Vec<(EsimOrderId, Fulfilment)>) -> Result<(), Unavailable> {
        self.writer.write(Write::Fulfil(fulfilled)).await.map(drop)
    }

    /// Stores a session.
    pub(super) async fn add_session(&self, session: Session) -> Result<(), Unavailable> {
        self.writer.write(Write::AddSession(session)).await.map(drop)
    }

    /// Revokes a session.
    pub(super) async fn revoke_session(&self, fingerprint: String, at: Moment) -> Result<(), Unavailable> {
        self.writer.write(Write::RevokeSession { fingerprint, at }).await.map(drop)
    }

    /// Stores a merchant.
    pub(super) async fn add_merchant(&self, merchant: MerchantRow) -> Result<(), Unavailable> {
        self.writer.write(Write::AddMerchant(merchant)).await.map(drop)
    }

    /// Changes a merchant's secret key.
    pub(super) async fn change_key(&self, merchant: String, key_fingerprint: String) -> Result<(), Unavailable> {
        self.writer.write(Write::ChangeKey { merchant, key_fingerprint }).await.map(drop)
    }

    /// Moves a merchant's clock forward.
    pub(super) async fn advance_clock(&self, merchant: String, seconds: i64) -> Result<(), Unavailable> {
        self.writer.write(Write::AdvanceClock { merchant, seconds }).await.map(drop)
    }

    /// Deletes everything of a merchant but its name and its key.
    pub(super) async fn reset(&self, merchant: String) -> Result<(), Unavailable> {
        self.writer.write(Write::Reset { merchant }).await.map(drop)
    }

    /// The position of an entry in one of a merchant's lists.
    pub(super) async fn place(&self, list: List, merchant: &str, id: &str) -> Result<After, Unavailable> {
        lists::place(&self.readers, list, merchant, id).await
    }

    /// An intent by its id.
    pub(super) async fn intent(&self, id: &IntentId) -> Result<Option<Intent>, Unavailable> {
        intents::by_id(&self.readers, id).await
    }

    /// A merchant's intents after this position, newest first.
    pub(super) async fn intents(&self, merchant: &str, after: After, limit: i64) -> Result<Vec<Intent>, Unavailable> {
        intents::of_merchant(&self.readers, merchant, after, limit).await
    }

    /// An intent by its merchant's reference.
    pub(super) async fn intent_by_reference(
        &self,
        merchant: &str,
        reference: &str,
    ) -> Result<Option<Intent>, Unavailable> {
        intents::by_reference(&self.readers, merchant, reference).await
    }

    /// A merchant's plan by its id.
    pub(super) async fn plan(&self, merchant: &str, id: &PlanId) -> Result<Option<Plan>, Unavailable> {
        plans::by_id(&self.readers, merchant, id).await
    }

    /// A merchant's plan by its id or its code.
    pub(super) async fn plan_by_key(&self, merchant: &str, key: &PlanKey) -> Result<Option<Plan>, Unavailable> {
        plans::by_key(&self.readers, merchant, key).await
    }

    /// A merchant's plans after this position, newest first.
    pub(super) async fn plans(
        &self,
        merchant: &str,
        include_inactive: bool,
        after: After,
        limit: i64,
    ) -> Result<Vec<Plan>, Unavailable> {
        plans::of_merchant(&self.readers, merchant, include_inactive, after, limit).await
    }

    /// A merchant's subscription by its id.
    pub(super) async fn subscription(
        &self,
        merchant: &str,
        id: &SubscriptionId,
    ) -> Result<Option<Subscription>, Unavailable> {
        subscriptions::by_id(&self.readers, merchant, id).await
    }

    /// A merchant's intents that pay this eSIM order, oldest first.
    pub(super) async fn intents_of_esim_order(
        &self,
        merchant: &str,
        order: &EsimOrderId,
    ) -> Result<Vec<Intent>, Unavailable> {
        intents::of_esim_order(&self.readers, merchant, order).await
    }

    /// A merchant's intents that pay one of its newest unfulfilled eSIM orders, oldest first.
    pub(super) async fn intents_of_open_esim_orders(
        &self,
        merchant: &str,
        limit: i64,
    ) -> Result<Vec<Intent>, Unavailable> {
        intents::of_open_esim_orders(&self.readers, merchant, limit).await
    }

    /// A merchant's eSIM order by its id.
    pub(super) async fn esim_order(&self, merchant: &str, id: &EsimOrderId) -> Result<Option<EsimOrder>, Unavailable> {
        esim::by_id(&self.readers, merchant, id).await
    }

    /// A merchant's newest eSIM orders, newest first.
    pub(super) async fn esim_orders(&self, merchant: &str, limit: i64) -> Result<Vec<EsimOrder>, Unavailable> {
        esim::of_merchant(&self.readers, merchant, limit).await
    }

    /// A merchant's customers after this position, newest first.
    pub(super) async fn customers(
        &self,
        merchant: &str,
        after: After,
        limit: i64,
    ) -> Result<Vec<Customer>, Unavailable> {
        customers::of_merchant(&self.readers, merchant, after, limit).await
    }

    /// A merchant's subscriptions after this position, newest first.
    pub(super) async fn subscriptions(
        &self,
        merchant: &str,
        after: After,
        limit: i64,
    ) -> Result<Vec<Subscription>, Unavailable> {
        subscriptions::of_merchant(&self.readers, merchant, after, limit).await
    }

    /// A merchant's subscriptions that are due until this time, in order.
    pub(super) async fn due(
        &self,
        merchant: &str,
        until: Moment,
        limit: i64,
    ) -> Result<Vec<Subscription>, Unavailable> {
        subscriptions::due(&self.readers, merchant, until, limit).await
    }

    /// The merchants with subscriptions that are due at this time of the service's clock.
    pub(super) async fn merchants_due(&self, wall: Moment) -> Result<Vec<String>, Unavailable> {
        subscriptions::merchants_due(&self.readers, wall).await
    }

    /// The events of a merchant's subscriptions, newest first.
    pub(super) async fn subscription_events(
        &self,
        merchant: &str,
        limit: i64,
    ) -> Result<Vec<SubscriptionEvent>, Unavailable> {
        subscriptions::events(&self.readers, merchant, limit).await
    }

    /// A session by its token's fingerprint.
    pub(super) async fn session(&self, fingerprint: &str) -> Result<Option<Session>, Unavailable> {
        sessions::by_fingerprint(&self.readers, fingerprint).await
    }

    /// All merchants, the first one first.
    pub(super) async fn merchants(&self) -> Result<Vec<MerchantRow>, Unavailable> {
        merchants::all(&self.readers).await
    }

    /// Replaces the effect of every statement of this kind on a table, by a trigger.
    #[cfg(test)]
    pub(super) async fn intercept(&self, table: &str, event: &str, action: &str) {
        let text = format!("CREATE TRIGGER intercepted BEFORE {event} ON {table} BEGIN SELECT {action}; END");
        sqlx::raw_sql(sqlx::AssertSqlSafe(text)).execute(&self.readers).await.expect("the trigger is made");
    }

    /// Removes the trigger of [`Store::intercept`].
    #[cfg(test)]
    pub(super) async fn stop_intercepting(&self) {
        sqlx::raw_sql("DROP TRIGGER intercepted").execute(&self.readers).await.expect("the trigger is there");
    }

    /// The canonical path of the database, if it is a file.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Finishes queued writes, closes all connections, and unlocks the file.
    pub(super) async fn close(&self) {
        self.writer.close().await;
    }
}
