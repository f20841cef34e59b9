//! What is kept: the only SQL of the sandbox.
//!
//! **An answer means stored.** A write is handed to one writer, which commits what has gathered together and only then
//! says so (`synchronous=FULL`). Readers have connections of their own.

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
pub(super) use subscriptions::{Billed, Happening};
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

/// The database did not do what it was asked: the disk is full, or gone. Nothing was stored.
#[derive(Debug)]
pub struct Unavailable(String);

impl Unavailable {
    /// What is stored is not as it should be.
    pub(super) fn because(what: &str) -> Self {
        Self(what.to_owned())
    }

    /// Other requests have changed the same records whenever this one wanted to.
    pub(super) fn contended() -> Self {
        Self("other requests changed the same records each time".into())
    }

    /// The sandbox was stopped before this was asked.
    pub(super) fn stopped() -> Self {
        Self("the sandbox was stopped".into())
    }
}

impl std::fmt::Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "The sandbox's database cannot be used now: {}", self.0)
    }
}

impl std::error::Error for Unavailable {}

impl From<sqlx::Error> for Unavailable {
    fn from(error: sqlx::Error) -> Self {
        Self(error.to_string())
    }
}

impl Store {
    /// Stores an intent and its customer; `false` when the merchant's reference is taken.
    pub(super) async fn add_intent(&self, intent: Intent, customer: Customer) -> Result<bool, Unavailable> {
        self.writer.write(Write::AddIntent(Box::new((intent, customer)))).await
    }

    /// Stores an intent's next state; `false` when someone else has stored one since this was read.
    pub(super) async fn save_intent(&self, intent: Intent) -> Result<bool, Unavailable> {
        self.writer.write(Write::SaveIntent(Box::new(intent))).await
    }

    /// Stores the next states of intents; `false` when someone else has stored one of them since it was read, which is left
    /// out.
    pub(super) async fn save_intents(&self, intents: Vec<Intent>) -> Result<bool, Unavailable> {
        self.writer.write(Write::SaveIntents(intents)).await
    }

    /// The latest second of the service's clock that is stored.
    pub(super) async fn latest_second(&self) -> Result<i64, Unavailable> {
        clock::latest(&self.readers).await
    }

    /// Begins to store a second of the service's clock, where no later one is stored.
    pub(super) async fn begin_saving_second(&self, second: i64) -> Result<PendingWrite, Unavailable> {
        self.writer.begin(Write::SaveSecond(second)).await
    }

    /// Stores a plan; `false` when the merchant's code is taken.
    pub(super) async fn add_plan(&self, plan: Plan) -> Result<bool, Unavailable> {
        self.writer.write(Write::AddPlan(Box::new(plan))).await
    }

    /// Nobody subscribes to a plan any more.
    pub(super) async fn deactivate_plan(&self, id: PlanId) -> Result<(), Unavailable> {
        self.writer.write(Write::DeactivatePlan { id }).await.map(drop)
    }

    /// Stores a new subscription with the charge that began; `false` where another was made under its key.
    pub(super) async fn add_billed(
        &self,
        billed: Billed,
        request: Option<IdempotentRequest>,
    ) -> Result<bool, Unavailable> {
        let made = billed.subscription.id.to_string();
        self.writer.write(Write::SaveBilled(vec![billed]).if_key_is_new(request, made)).await
    }

    /// Stores new subscriptions, or the next states of some, each with the charges that began; `false` when someone else
    /// has stored another of one since this was read, which is left out.
    pub(super) async fn save_billed(&self, billed: Vec<Billed>) -> Result<bool, Unavailable> {
        self.writer.write(Write::SaveBilled(billed)).await
    }

    /// Stores an eSIM order; `false` where another was made under its key.
    pub(super) async fn add_esim_order(
        &self,
        order: EsimOrder,
        request: Option<IdempotentRequest>,
    ) -> Result<bool, Unavailable> {
        let made = order.id.to_string();
        self.writer.write(Write::AddEsimOrder(Box::new(order)).if_key_is_new(request, made)).await
    }

    /// What was made under the key of a request.
    pub(super) async fn made(&self, request: &IdempotentRequest) -> Result<Option<Made>, Unavailable> {
        keys::made(&self.readers, request).await
    }

    /// Whether there are idempotency keys whose time is over at this moment of the service's clock.
    pub(super) async fn any_keys_over(&self, now: Moment) -> Result<bool, Unavailable> {
        keys::any_over(&self.readers, now).await
    }

    /// Forgets the idempotency keys whose time is over at this moment of the service's clock. A few at a time, so that
    /// nobody's write waits long.
    pub(super) async fn forget_keys(&self, now: Moment) -> Result<(), Unavailable> {
        const MOST: i64 = 500;
        while self.any_keys_over(now).await? && self.writer.write(Write::ForgetKeys { wall: now, most: MOST }).await? {}
        Ok(())
    }

    /// Stores by which payments eSIM orders were fulfilled; one of which that is known already keeps it.
    pub(super) async fn fulfil(&self, fulfilled: Vec<(EsimOrderId, Fulfilment)>) -> Result<(), Unavailable> {
        self.writer.write(Write::Fulfil(fulfilled)).await.map(drop)
    }

    /// Stores a session.
    pub(super) async fn add_session(&self, session: Session) -> Result<(), Unavailable> {
        self.writer.write(Write::AddSession(session)).await.map(drop)
    }

    /// Ends a session, once and for ever.
    pub(super) async fn revoke_session(&self, fingerprint: String, at: Moment) -> Result<(), Unavailable> {
        self.writer.write(Write::RevokeSession { fingerprint, at }).await.map(drop)
    }

    /// Stores a merchant.
    pub(super) async fn add_merchant(&self, merchant: MerchantRow) -> Result<(), Unavailable> {
        self.writer.write(Write::AddMerchant(merchant)).await.map(drop)
    }

    /// Gives a merchant another secret key.
    pub(super) async fn change_key(&self, merchant: String, key_fingerprint: String) -> Result<(), Unavailable> {
        self.writer.write(Write::ChangeKey { merchant, key_fingerprint }).await.map(drop)
    }

    /// Moves a merchant's clock forward.
    pub(super) async fn advance_clock(&self, merchant: String, seconds: i64) -> Result<(), Unavailable> {
        self.writer.write(Write::AdvanceClock { merchant, seconds }).await.map(drop)
    }

    /// Forgets everything of a merchant but its name and its key.
    pub(super) async fn reset(&self, merchant: String) -> Result<(), Unavailable> {
        self.writer.write(Write::Reset { merchant }).await.map(drop)
    }

    /// The place of an entry in one of a merchant's lists.
    pub(super) async fn place(&self, list: List, merchant: &str, id: &str) -> Result<After, Unavailable> {
        lists::place(&self.readers, list, merchant, id).await
    }

    /// An intent by its id.
    pub(super) async fn intent(&self, id: &IntentId) -> Result<Option<Intent>, Unavailable> {
        intents::by_id(&self.readers, id).await
    }

    /// A merchant's intents, the newest first, after this one.
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

    /// A merchant's plans, the newest first, after this place.
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

    /// A merchant's intents that name this eSIM order as what they pay, the first made first.
    pub(super) async fn intents_of_esim_order(
        &self,
        merchant: &str,
        order: &EsimOrderId,
    ) -> Result<Vec<Intent>, Unavailable> {
        intents::of_esim_order(&self.readers, merchant, order).await
    }

    /// A merchant's intents that name one of its newest eSIM orders which is not known to be fulfilled, the first made
    /// first.
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

    /// A merchant's newest eSIM orders, the newest first.
    pub(super) async fn esim_orders(&self, merchant: &str, limit: i64) -> Result<Vec<EsimOrder>, Unavailable> {
        esim::of_merchant(&self.readers, merchant, limit).await
    }

    /// A merchant's customers, the newest first, after this place.
    pub(super) async fn customers(
        &self,
        merchant: &str,
        after: After,
        limit: i64,
    ) -> Result<Vec<Customer>, Unavailable> {
        customers::of_merchant(&self.readers, merchant, after, limit).await
    }

    /// A merchant's subscriptions, the newest first, after this place.
    pub(super) async fn subscriptions(
        &self,
        merchant: &str,
        after: After,
        limit: i64,
    ) -> Result<Vec<Subscription>, Unavailable> {
        subscriptions::of_merchant(&self.readers, merchant, after, limit).await
    }

    /// A merchant's subscriptions to which something happens of itself until then, in the order it does.
    pub(super) async fn due(
        &self,
        merchant: &str,
        until: Moment,
        limit: i64,
    ) -> Result<Vec<Subscription>, Unavailable> {
        subscriptions::due(&self.readers, merchant, until, limit).await
    }

    /// The merchants to whose subscriptions something happens of itself by this moment of the wall clock.
    pub(super) async fn merchants_due(&self, wall: Moment) -> Result<Vec<String>, Unavailable> {
        subscriptions::merchants_due(&self.readers, wall).await
    }

    /// What has happened to a merchant's subscriptions, the newest first.
    pub(super) async fn subscription_events(&self, merchant: &str, limit: i64) -> Result<Vec<Happening>, Unavailable> {
        subscriptions::events(&self.readers, merchant, limit).await
    }

    /// A session by its token's fingerprint.
    pub(super) async fn session(&self, fingerprint: &str) -> Result<Option<Session>, Unavailable> {
        sessions::by_fingerprint(&self.readers, fingerprint).await
    }

    /// Every merchant, the first one first.
    pub(super) async fn merchants(&self) -> Result<Vec<MerchantRow>, Unavailable> {
        merchants::all(&self.readers).await
    }

    /// Lets every statement of this kind on a table do this instead, by a trigger of the database itself.
    #[cfg(test)]
    pub(super) async fn intercept(&self, table: &str, event: &str, action: &str) {
        let text = format!("CREATE TRIGGER intercepted BEFORE {event} ON {table} BEGIN SELECT {action}; END");
        sqlx::raw_sql(sqlx::AssertSqlSafe(text)).execute(&self.readers).await.expect("the trigger is made");
    }

    /// Ends what [`Store::intercept`] began.
    #[cfg(test)]
    pub(super) async fn stop_intercepting(&self) {
        sqlx::raw_sql("DROP TRIGGER intercepted").execute(&self.readers).await.expect("the trigger is there");
    }

    /// The canonical path of the database, where it is a file.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Writes what has gathered, closes every connection, and unlocks the file.
    pub(super) async fn close(&self) {
        self.writer.close().await;
    }
}
