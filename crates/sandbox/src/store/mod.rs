//! For those who write a backend: the database of a sandbox, what the service stores in it, and what it reads.
//!
//! A [`Backend`] has the records of one sandbox, which has it to itself. Memory and SQLite are in this crate, and
//! `Sandbox::start_on` takes another one. `contract` has the tests that every backend runs.
//!
//! # The contract
//!
//! A backend commits groups of writes and executes reads. Every backend follows this contract exactly.
//!
//! - **Commit.** A group is stored whole or not at all. If a write is stored (durably, if the backend is durable), the
//!   backend returns whether it had an effect. A conflict is not an error but a write without effect. [`Unavailable`]
//!   means that the write is not stored.
//! - **A group's order.** Its writes come from callers who do not know each other's results, so none may depend on
//!   another's. New intents join their list in the group's order, and after them the charges that began, in order of
//!   their time. A reset comes last: it deletes what the same group has created.
//! - **Versions.** An intent or a subscription is saved only if its stored version is the one that was read. The stored
//!   version is then one greater. Only the state is saved: everything else never changes. A store does not judge the
//!   state: an intent that was stored as failed may be saved as succeeded, which one test phone's does.
//! - **Uniqueness.** A merchant's reference, a plan's code and a secret key are unique: a later write has no effect. A
//!   customer's contact is unique too: if it exists, the stored customer stays, and the write still counts as one with
//!   an effect. An inactive plan keeps its code.
//! - **Idempotency keys.** A key belongs to a merchant and an operation. It is reserved with the object that is created
//!   under it. Until it expires, exclusive, another creation under it has no effect. An expired key is free at once,
//!   even before it is deleted. Each merchant's own clock decides which keys have expired. A deletion removes at most
//!   as many keys as the write says: each merchant's oldest first.
//! - **The order of lists.** Newest first, by a sequence number that the store assigns at creation and never changes:
//!   entries of one second have the order in which they were stored. A page begins after a [`Position`], so that new
//!   entries are neither skipped nor repeated. The intents of an eSIM order are listed oldest first. Due subscriptions
//!   are sorted by their due time, then by id; events by time, newest first, then by sequence number; merchants by
//!   place, then by id.
//! - **A subscription's customer** is the one with the same contact when it is read.
//! - **A reset** deletes everything of one merchant but its name and its key, sets the offset of its clock to 0, and
//!   lets every operator work as usual.
//! - **Closing.** After the backend is closed, every read and write returns [`Unavailable`].

#[cfg(any(test, feature = "contract"))]
#[cfg_attr(test, allow(unreachable_pub, reason = "a test needs it without the feature"))]
pub mod contract;
mod memory;
mod records;
#[cfg(feature = "sqlite")]
mod sqlite;
mod write;

pub(super) use memory::Memory;
pub use records::{After, Billed, Customer, List, Made, MerchantRow, Position, SubscriptionEvent};
#[cfg(feature = "sqlite")]
pub(super) use sqlite::Sqlite;
pub use write::Write;

pub use crate::rules::billing::{Plan, Subscription};
pub use crate::rules::{EsimOrder, Fulfilment, IdempotentRequest, Intent, OperatorStatus, OperatorStatuses, Session};
pub use crate::unavailable::Unavailable;

use async_trait::async_trait;
use guichet::values::{EsimOrderId, IntentId, Moment, PlanKey, SubscriptionId};
use std::pin::Pin;

/// The future result of a write: whether it had an effect.
pub type PendingWrite = Pin<Box<dyn Future<Output = Result<bool, Unavailable>> + Send>>;

/// The records of a sandbox, by the module's contract.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// Queues a write. It is committed even if the caller drops the returned future.
    async fn queue(&self, write: Write) -> Result<PendingWrite, Unavailable>;

    /// Writes, waits until the write is durable, and returns whether it had an effect.
    async fn write(&self, write: Write) -> Result<bool, Unavailable> {
        self.queue(write).await?.await
    }

    /// Commits these writes as one group, as far as the backend can tell that they belong together.
    async fn commit(&self, group: Vec<Write>) -> Result<Vec<bool>, Unavailable> {
        let mut pending = Vec::with_capacity(group.len());
        for write in group {
            pending.push(self.queue(write).await?);
        }
        let mut effects = Vec::with_capacity(pending.len());
        for pending in pending {
            effects.push(pending.await?);
        }
        Ok(effects)
    }

    /// The latest second of the service's clock that is stored.
    async fn latest_second(&self) -> Result<i64, Unavailable>;

    /// The object that was created under a request's idempotency key.
    async fn made(&self, request: &IdempotentRequest) -> Result<Option<Made>, Unavailable>;

    /// The position of an entry in one of a merchant's lists.
    async fn position(&self, list: List, merchant: &str, id: &str) -> Result<After, Unavailable>;

    /// An intent by its id.
    async fn intent(&self, id: &IntentId) -> Result<Option<Intent>, Unavailable>;

    /// A merchant's intents after this position, newest first.
    async fn intents(&self, merchant: &str, after: After, limit: i64) -> Result<Vec<Intent>, Unavailable>;

    /// An intent by its merchant's reference.
    async fn intent_by_reference(&self, merchant: &str, reference: &str) -> Result<Option<Intent>, Unavailable>;

    /// A merchant's newest intent with this reference of the service's own.
    async fn intent_by_payment_ref(&self, merchant: &str, payment_ref: &str) -> Result<Option<Intent>, Unavailable>;

    /// A merchant's intents that pay this eSIM order, oldest first.
    async fn intents_of_esim_order(&self, merchant: &str, order: &EsimOrderId) -> Result<Vec<Intent>, Unavailable>;

    /// A merchant's intents that pay one of its newest unfulfilled eSIM orders, oldest first.
    async fn intents_of_open_esim_orders(&self, merchant: &str, limit: i64) -> Result<Vec<Intent>, Unavailable>;

    /// A merchant's plan by its id, otherwise by its code.
    async fn plan_by_key(&self, merchant: &str, key: &PlanKey) -> Result<Option<Plan>, Unavailable>;

    /// A merchant's plans after this position, newest first.
    async fn plans(
        &self,
        merchant: &str,
        include_inactive: bool,
        after: After,
        limit: i64,
    ) -> Result<Vec<Plan>, Unavailable>;

    /// A merchant's subscription by its id.
    async fn subscription(&self, merchant: &str, id: &SubscriptionId) -> Result<Option<Subscription>, Unavailable>;

    /// A merchant's subscriptions after this position, newest first.
    async fn subscriptions(&self, merchant: &str, after: After, limit: i64) -> Result<Vec<Subscription>, Unavailable>;

    /// A merchant's subscriptions that are due until this time, in order.
    async fn due(&self, merchant: &str, until: Moment, limit: i64) -> Result<Vec<Subscription>, Unavailable>;

    /// The merchants with subscriptions that are due at this time of the service's clock.
    async fn merchants_due(&self, wall: Moment) -> Result<Vec<String>, Unavailable>;

    /// The events of a merchant's subscriptions, newest first.
    async fn subscription_events(&self, merchant: &str, limit: i64) -> Result<Vec<SubscriptionEvent>, Unavailable>;

    /// A merchant's eSIM order by its id.
    async fn esim_order(&self, merchant: &str, id: &EsimOrderId) -> Result<Option<EsimOrder>, Unavailable>;

    /// A merchant's newest eSIM orders, newest first.
    async fn esim_orders(&self, merchant: &str, limit: i64) -> Result<Vec<EsimOrder>, Unavailable>;

    /// A merchant's customers after this position, newest first.
    async fn customers(&self, merchant: &str, after: After, limit: i64) -> Result<Vec<Customer>, Unavailable>;

    /// A session by its token's fingerprint.
    async fn session(&self, fingerprint: &str) -> Result<Option<Session>, Unavailable>;

    /// All merchants, the first one first.
    async fn merchants(&self) -> Result<Vec<MerchantRow>, Unavailable>;

    /// Finishes queued writes and closes the database.
    async fn close(&self);
}

impl dyn Backend {
    /// Stores a new intent and its customer. `false` if the merchant's reference is taken.
    pub(super) async fn add_intent(&self, intent: Intent, customer: Customer) -> Result<bool, Unavailable> {
        self.write(Write::AddIntent(Box::new((intent, customer)))).await
    }

    /// Stores an intent's next state. `false` if it was changed since it was read.
    pub(super) async fn save_intent(&self, intent: Intent) -> Result<bool, Unavailable> {
        self.write(Write::SaveIntents(vec![intent])).await
    }

    /// Stores a new eSIM order. `false` if another was created under its idempotency key.
    pub(super) async fn add_esim_order(
        &self,
        order: EsimOrder,
        request: Option<IdempotentRequest>,
    ) -> Result<bool, Unavailable> {
        let made = order.id.to_string();
        self.write(Write::AddEsimOrder(Box::new(order)).if_key_is_new(request, made)).await
    }

    /// Deletes the idempotency keys that have expired at this time of the service's clock. In small batches, so that
    /// other writes do not wait long.
    pub(super) async fn delete_expired_keys(&self, wall: Moment) -> Result<(), Unavailable> {
        while self.write(Write::DeleteExpiredKeys { wall, limit: 500 }).await? {}
        Ok(())
    }
}
