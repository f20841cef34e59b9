//! For those who write a backend: the database of a sandbox, what the service stores in it, and what it reads.
//!
//! A [`Database`] opens as a [`Backend`]: the [`Store`] of its records, and the [`Instances`] of the sandbox that use it. Memory and SQLite
//! are in this crate; PostgreSQL, which any number of instances share, is `guichet-sandbox-postgres`. A database in SQL implements
//! `sql::SqlStore`, from which the reads follow. `contract` has the tests that every backend runs.
//!
//! # The contract
//!
//! A backend commits groups of writes and executes reads. Every backend follows this contract exactly.
//!
//! - **Commit.** A group is stored whole or not at all, but a write that waits too long for a lock of another program fails alone. If a
//!   write is stored (durably, if the backend is durable), the backend returns whether it had an effect. A conflict is not an error but a
//!   write without effect. [`Unavailable`] means that the write is not acknowledged: it is not stored, unless the
//!   error says that it may be, because a server's reply to the commit was lost.
//! - **A group's order.** Its writes come from callers who do not know each other's results, so none may depend on another's. New
//!   intents join their list in the group's order, and after them the charges that began, in order of their time. A reset comes last: it
//!   deletes what the same group has created.
//! - **Versions.** An intent or a subscription is saved only if its stored version is the one that was read. The stored version is then
//!   one greater. Only the state is saved: everything else never changes.
//! - **Uniqueness.** A merchant's reference, a plan's code and a secret key are unique: a later write has no effect. A customer's contact
//!   is unique too: if it exists, the stored customer stays, and the write still counts as one with an effect. An inactive plan keeps its
//!   code.
//! - **Idempotency keys.** A key belongs to a merchant and an operation. It is reserved with the object that is created under it. Until
//!   it expires, exclusive, another creation under it has no effect. An expired key is free at once, even before it is deleted. Each
//!   merchant's own clock decides which keys have expired. A deletion removes at most as many keys as the write says: each merchant's
//!   oldest first.
//! - **The order of lists.** Newest first, by a sequence number that the store assigns at creation and never changes: entries of one second
//!   have the order in which they were stored. A page begins after a [`Position`], so that new entries are neither skipped nor repeated. The
//!   intents of an eSIM order are listed oldest first. Due subscriptions are sorted by their due time, then by id; events by time, newest
//!   first, then by sequence number; merchants by place, then by id.
//! - **A subscription's customer** is the one with the same contact when it is read.
//! - **A reset** deletes everything of one merchant but its name and its key, sets the offset of its clock to 0, and lets every operator
//!   work as usual.
//! - **Closing.** After the store is closed, every read and write returns [`Unavailable`].

#[cfg(any(test, feature = "contract"))]
#[cfg_attr(test, allow(unreachable_pub, reason = "a test needs it without the feature"))]
pub mod contract;
mod memory;
mod one_instance;
mod records;
#[cfg(feature = "sql")]
pub mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;
mod write;

pub(super) use memory::Memory;
pub(super) use one_instance::OneInstance;
pub use records::{After, Billed, Customer, List, Made, MerchantRow, Position, SubscriptionEvent};
#[cfg(feature = "sqlite")]
pub(super) use sqlite::Sqlite;
pub use write::Write;

pub use crate::faults::MAX_FAULTS;
pub use crate::requests::MAX_REQUESTS;
pub use crate::rules::billing::{Plan, Subscription};
pub use crate::rules::{EsimOrder, Fulfilment, IdempotentRequest, Intent, OperatorStatus, OperatorStatuses, Session};
pub use crate::unavailable::Unavailable;

use crate::faults::{AddFaultError, Fault, FaultKind};
use crate::requests::Request;
use crate::start_error::StartError;
use async_trait::async_trait;
use guichet::values::{EsimOrderId, IntentId, Moment, PlanKey, SubscriptionId};
use std::pin::Pin;
use std::sync::Arc;

/// A database that one or more instances of a sandbox use.
#[async_trait]
pub trait Database: Send + 'static {
    /// Opens the database. Every instance on it has the same two keys: its own, of which this is the fingerprint, and that of the first
    /// merchant. The first start stores both fingerprints and this merchant.
    ///
    /// # Errors
    /// If the database cannot be used, or was first used with other keys: a sentence with the remedy.
    async fn open(self: Box<Self>, instance_key: &str, first: MerchantRow) -> Result<Backend, StartError>;
}

/// An open database.
#[derive(Clone)]
pub struct Backend {
    /// The records.
    pub store: Arc<dyn Store>,
    /// What the instances share beside them.
    pub instances: Arc<dyn Instances>,
}

impl Backend {
    /// Closes both.
    pub async fn close(&self) {
        self.instances.close().await;
        self.store.close().await;
    }
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backend").finish_non_exhaustive()
    }
}

/// The future result of a write: whether it had an effect.
pub type PendingWrite = Pin<Box<dyn Future<Output = Result<bool, Unavailable>> + Send>>;

/// The records of a sandbox, by the module's contract.
#[async_trait]
pub trait Store: Send + Sync + 'static {
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

/// By what a merchant is found.
#[derive(Clone, Copy, Debug)]
pub enum By<'a> {
    /// The merchant that a new database begins with.
    First,
    /// Its id.
    Id(&'a str),
    /// The fingerprint of its secret key.
    Key(&'a str),
}

/// What all instances of a sandbox share beside the records.
#[async_trait]
pub trait Instances: Send + Sync + 'static {
    /// Finds a merchant for one request, as it is now.
    async fn merchant(&self, by: By<'_>) -> Result<Option<Arc<dyn SharedMerchant>>, Unavailable>;

    /// Finds every merchant.
    async fn merchants(&self) -> Result<Vec<Arc<dyn SharedMerchant>>, Unavailable>;

    /// A merchant was stored.
    fn merchant_added(&self, _merchant: MerchantRow) {}

    /// Does what is to be done in the background, as long as this is polled.
    async fn run(&self) {
        std::future::pending().await
    }

    /// Finishes. The store is closed afterwards.
    async fn close(&self) {}
}

/// A merchant as one request sees it: nothing of it may be used for another request.
#[async_trait]
pub trait SharedMerchant: Send + Sync + 'static {
    /// Its id.
    fn id(&self) -> &str;

    /// Its name.
    fn name(&self) -> &str;

    /// The offset of its clock from the service's, in seconds; never negative.
    fn clock_offset(&self) -> i64;

    /// How the operators work for it.
    fn operators(&self) -> OperatorStatuses;

    /// The latest second of the service's clock that another instance may have stored before the merchant was read.
    fn latest_second(&self) -> i64 {
        0
    }

    /// Waits until no billing, clock move or reset of the merchant runs in any instance, and keeps others out.
    async fn lock(&self) -> Result<MerchantLock, Unavailable>;

    /// The lock, unless another instance has it.
    async fn lock_unless_elsewhere(&self) -> Result<Option<MerchantLock>, Unavailable> {
        self.lock().await.map(Some)
    }

    /// Its clock was moved in the store, under the lock.
    fn clock_moved(&self, _seconds: i64) {}

    /// How the operators work was changed in the store, under the lock.
    fn operators_changed(&self, _operators: OperatorStatuses) {}

    /// It was reset in the store, under the lock.
    fn was_reset(&self) {}

    /// Adds a fault after the others.
    async fn add_fault(&self, fault: Fault) -> Result<(), AddFaultError>;

    /// Takes the oldest fault of this operation, if there is one, and decrements its count.
    async fn take_fault(&self, operation: &str) -> Result<Option<FaultKind>, Unavailable>;

    /// The waiting faults, in the order they were added.
    async fn faults(&self) -> Result<Vec<Fault>, Unavailable>;

    /// Removes the waiting faults.
    async fn clear_faults(&self) -> Result<(), Unavailable>;

    /// Lists a request that has arrived.
    fn add_request(&self, request: Request);

    /// Records the status of a request's response.
    fn record_status(&self, request_id: &str, status: u16);

    /// The newest [`MAX_REQUESTS`] requests, oldest first.
    async fn requests(&self) -> Result<Vec<Request>, Unavailable>;
}

/// Keeps billing, clock moves and resets of one merchant apart, until it is dropped.
pub type MerchantLock = Box<dyn Send + Sync>;

impl dyn Store {
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

    /// Deletes the idempotency keys that have expired at this time of the service's clock. In small batches, so that other writes do not
    /// wait long.
    pub(super) async fn delete_expired_keys(&self, wall: Moment) -> Result<(), Unavailable> {
        while self.write(Write::DeleteExpiredKeys { wall, limit: 500 }).await? {}
        Ok(())
    }
}
