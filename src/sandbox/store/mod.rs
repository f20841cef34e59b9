//! The store: the service's state, and the only interface through which the service reads and writes it.
//!
//! # The contract
//!
//! A backend commits groups of writes and executes reads. Every backend follows this contract exactly, and the module `contract` tests
//! each of them.
//!
//! - **Commit.** A group is stored whole or not at all, but a write that waits too long for a lock of another program fails alone. If a
//!   write is stored (durably, if the backend is durable), the backend returns whether it had an effect. A conflict is not an error but a
//!   write without effect. [`Unavailable`] means that the write is not stored.
//! - **A group's order.** Its writes come from callers who do not know each other's results, so none may depend on another's. New
//!   intents join their list in the group's order, and after them the charges that began, in order of their time. A reset comes last: it
//!   deletes what the same group has created.
//! - **Versions.** An intent or a subscription is saved only if its stored version is the one that was read. The stored version is then
//!   one greater. Only the state is saved: everything else never changes.
//! - **Uniqueness.** A merchant's reference, a plan's code and a secret key are unique: a later write has no effect. A customer's contact
//!   is unique too: if it exists, the stored customer stays, and the write still counts as one with an effect. An inactive plan keeps its
//!   code.
//! - **Idempotency keys.** A key belongs to a merchant and an operation. It is reserved with the object that is created under it. Until
//!   `expires_at`, exclusive, another creation under it has no effect. An expired key is free at once, even before it is deleted. Each
//!   merchant's own clock decides which keys have expired. A deletion removes at most as many keys as the write says.
//! - **The order of lists.** Newest first, by a sequence number that the store assigns at creation and never changes: entries of one second
//!   have the order in which they were stored. A page begins after a [`Place`], so that new entries are neither skipped nor repeated. The
//!   intents of an eSIM order are listed oldest first. Due subscriptions are sorted by their due time, then by id; events by time, newest
//!   first, then by sequence number; merchants by place, then by id.
//! - **A subscription's customer** is the one with the same contact when it is read.
//! - **A reset** deletes everything of one merchant but its name and its key, and sets the offset of its clock to 0.
//! - **Closing.** After the store is closed, every read and write returns [`Unavailable`].

#[cfg(test)]
mod contract;
mod location;
mod memory;
#[cfg(feature = "sandbox-postgres")]
mod postgres;
mod records;
#[cfg(any(feature = "sandbox-postgres", feature = "sandbox-sqlite"))]
mod rows;
#[cfg(all(test, feature = "sandbox-postgres"))]
pub(super) mod servers;
#[cfg(feature = "sandbox-sqlite")]
mod sqlite;
mod write;
#[cfg(any(feature = "sandbox-postgres", feature = "sandbox-sqlite"))]
mod writer;

pub(super) use location::Location;
#[cfg(feature = "sandbox-postgres")]
pub(super) use postgres::{By, KeyFingerprints, MerchantLock, Postgres as SharedStore, SharedMerchant};
pub(super) use records::{After, Billed, Customer, List, Made, MerchantRow, Place, SubscriptionEvent};

use super::StartError;
use super::rules::billing::{Plan, Subscription};
use super::rules::{EsimOrder, Fulfilment, IdempotentRequest, Intent, Session};
use crate::values::{EsimOrderId, IntentId, Moment, PlanId, PlanKey, SubscriptionId};
use memory::Memory;
use std::path::Path;
use tokio::sync::oneshot;
use write::Write;

/// The store.
#[derive(Debug)]
pub(super) struct Store {
    backend: Backend,
}

#[derive(Debug)]
enum Backend {
    /// A commit in memory waits for no disk, so grouping writes saves nothing. Each caller commits its own write under the lock. This needs
    /// no task, and works without a runtime, as in wasm32.
    Memory(Memory),
    #[cfg(feature = "sandbox-postgres")]
    Postgres { reads: postgres::Postgres, writer: writer::Writer },
    #[cfg(feature = "sandbox-sqlite")]
    Sqlite { reads: sqlite::Sqlite, writer: writer::Writer },
}

/// The future result of a write: whether it had an effect.
pub(super) type PendingWrite = oneshot::Receiver<Result<bool, Unavailable>>;

/// The database failed, for example because the disk is full. Nothing was stored.
///
/// ```no_run
/// # async fn advance(shop: guichet::sandbox::Tenant) {
/// if let Err(unavailable) = shop.clock().advance(60).await {
///     let unavailable: guichet::sandbox::Unavailable = unavailable;
///     eprintln!("{unavailable}");
/// }
/// # }
/// ```
#[derive(Clone, Debug)]
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

    /// The store was closed.
    fn closed() -> Self {
        Self("it is closed".into())
    }
}

impl std::fmt::Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "The sandbox's database is unavailable: {}", self.0)
    }
}

impl std::error::Error for Unavailable {}

#[cfg(any(feature = "sandbox-postgres", feature = "sandbox-sqlite"))]
impl From<sqlx::Error> for Unavailable {
    fn from(error: sqlx::Error) -> Self {
        Self(error.to_string())
    }
}

/// Calls a read of the backend in use. A read in memory fails only if the store is closed.
macro_rules! read {
    ($store:expr, $read:ident($($argument:expr),*)) => {
        match &$store.backend {
            Backend::Memory(memory) => memory.read(|tables| tables.$read($($argument),*)),
            #[cfg(feature = "sandbox-postgres")]
            Backend::Postgres { reads, .. } => reads.$read($($argument),*).await,
            #[cfg(feature = "sandbox-sqlite")]
            Backend::Sqlite { reads, .. } => reads.$read($($argument),*).await,
        }
    };
}

impl Store {
    /// Opens the store at this location.
    pub(super) async fn open(location: &Location) -> Result<Self, StartError> {
        match location {
            Location::Memory => Ok(Self::in_memory()),
            #[cfg(feature = "sandbox-postgres")]
            Location::Postgres(address) => Self::open_postgres(address).await,
            #[cfg(not(feature = "sandbox-postgres"))]
            Location::Postgres(address) => Err(StartError::Database(format!(
                "This build of guichet has no PostgreSQL for {address}. Build it with the feature sandbox-postgres (cargo install --path . --features cli,sandbox-postgres), or give sqlite: and a file."
            ))),
            #[cfg(feature = "sandbox-sqlite")]
            Location::Sqlite(path) => Self::open_sqlite(path).await,
            #[cfg(not(feature = "sandbox-sqlite"))]
            Location::Sqlite(path) => Err(StartError::Database(format!(
                "This build of guichet has no SQLite for {}. Build it with the feature sandbox-sqlite, or give memory:.",
                path.display()
            ))),
        }
    }

    /// A new store in memory.
    pub(super) fn in_memory() -> Self {
        Self { backend: Backend::Memory(Memory::default()) }
    }

    /// Writes, waits until the write is durable, and returns whether it had an effect.
    async fn write(&self, write: Write) -> Result<bool, Unavailable> {
        match &self.backend {
            Backend::Memory(memory) => memory.commit_one(write),
            #[cfg(feature = "sandbox-postgres")]
            Backend::Postgres { writer, .. } => writer.queue(write).await?.await.map_err(|_| Unavailable::closed())?,
            #[cfg(feature = "sandbox-sqlite")]
            Backend::Sqlite { writer, .. } => writer.queue(write).await?.await.map_err(|_| Unavailable::closed())?,
        }
    }

    /// Queues a write. It is committed even if the caller drops the returned receiver.
    async fn queue(&self, write: Write) -> Result<PendingWrite, Unavailable> {
        match &self.backend {
            Backend::Memory(memory) => {
                let effect = memory.commit_one(write)?;
                let (done, pending) = oneshot::channel();
                done.send(Ok(effect)).expect("its receiver is the line above's");
                Ok(pending)
            }
            #[cfg(feature = "sandbox-postgres")]
            Backend::Postgres { writer, .. } => writer.queue(write).await,
            #[cfg(feature = "sandbox-sqlite")]
            Backend::Sqlite { writer, .. } => writer.queue(write).await,
        }
    }

    /// Stores a new intent and its customer. `false` if the merchant's reference is taken.
    pub(super) async fn add_intent(&self, intent: Intent, customer: Customer) -> Result<bool, Unavailable> {
        self.write(Write::AddIntent(Box::new((intent, customer)))).await
    }

    /// Stores an intent's next state. `false` if it was changed since it was read.
    pub(super) async fn save_intent(&self, intent: Intent) -> Result<bool, Unavailable> {
        self.write(Write::SaveIntent(Box::new(intent))).await
    }

    /// Stores the next states of intents. `false` if one of them was changed since it was read; that one is not stored.
    pub(super) async fn save_intents(&self, intents: Vec<Intent>) -> Result<bool, Unavailable> {
        self.write(Write::SaveIntents(intents)).await
    }

    /// The latest second of the service's clock that is stored.
    pub(super) async fn latest_second(&self) -> Result<i64, Unavailable> {
        read!(self, latest_second())
    }

    /// Begins to store a second of the service's clock. An earlier one than the stored has no effect.
    pub(super) async fn begin_saving_second(&self, second: i64) -> Result<PendingWrite, Unavailable> {
        self.queue(Write::SaveSecond(second)).await
    }

    /// Stores a new plan. `false` if the merchant's code is taken.
    pub(super) async fn add_plan(&self, plan: Plan) -> Result<bool, Unavailable> {
        self.write(Write::AddPlan(Box::new(plan))).await
    }

    /// Deactivates a plan.
    pub(super) async fn deactivate_plan(&self, id: PlanId) -> Result<(), Unavailable> {
        self.write(Write::DeactivatePlan { id }).await.map(drop)
    }

    /// Stores a new subscription with its first charge. `false` if another was created under its idempotency key.
    pub(super) async fn add_billed(
        &self,
        billed: Billed,
        request: Option<IdempotentRequest>,
    ) -> Result<bool, Unavailable> {
        let made = billed.subscription.id.to_string();
        self.write(Write::SaveBilled(vec![billed]).if_key_is_new(request, made)).await
    }

    /// Stores the next states of subscriptions with the charges that began. `false` if one of them was changed since it was read; that
    /// one is not stored.
    pub(super) async fn save_billed(&self, billed: Vec<Billed>) -> Result<bool, Unavailable> {
        self.write(Write::SaveBilled(billed)).await
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

    /// The object that was created under a request's idempotency key.
    pub(super) async fn made(&self, request: &IdempotentRequest) -> Result<Option<Made>, Unavailable> {
        read!(self, made(request))
    }

    /// Whether there are expired idempotency keys at this time of the service's clock.
    pub(super) async fn any_expired_keys(&self, now: Moment) -> Result<bool, Unavailable> {
        read!(self, any_expired_keys(now))
    }

    /// Deletes the expired idempotency keys. In small batches, so that other writes do not wait long.
    pub(super) async fn delete_expired_keys(&self, now: Moment) -> Result<(), Unavailable> {
        const BATCH: i64 = 500;
        while self.any_expired_keys(now).await?
            && self.write(Write::DeleteExpiredKeys { wall: now, limit: BATCH }).await?
        {}
        Ok(())
    }

    /// Stores the fulfilments of eSIM orders. An order that is already fulfilled does not change.
    pub(super) async fn fulfil(&self, fulfilled: Vec<(EsimOrderId, Fulfilment)>) -> Result<(), Unavailable> {
        self.write(Write::Fulfil(fulfilled)).await.map(drop)
    }

    /// Stores a session.
    pub(super) async fn add_session(&self, session: Session) -> Result<(), Unavailable> {
        self.write(Write::AddSession(session)).await.map(drop)
    }

    /// Revokes a session.
    pub(super) async fn revoke_session(&self, fingerprint: String, at: Moment) -> Result<(), Unavailable> {
        self.write(Write::RevokeSession { fingerprint, at }).await.map(drop)
    }

    /// Stores a merchant.
    pub(super) async fn add_merchant(&self, merchant: MerchantRow) -> Result<(), Unavailable> {
        self.write(Write::AddMerchant(merchant)).await.map(drop)
    }

    /// Changes a merchant's secret key.
    pub(super) async fn change_key(&self, merchant: String, key_fingerprint: String) -> Result<(), Unavailable> {
        self.write(Write::ChangeKey { merchant, key_fingerprint }).await.map(drop)
    }

    /// Moves a merchant's clock forward.
    pub(super) async fn advance_clock(&self, merchant: String, seconds: i64) -> Result<(), Unavailable> {
        self.write(Write::AdvanceClock { merchant, seconds }).await.map(drop)
    }

    /// Deletes everything of a merchant but its name and its key.
    pub(super) async fn reset(&self, merchant: String) -> Result<(), Unavailable> {
        self.write(Write::Reset { merchant }).await.map(drop)
    }

    /// The position of an entry in one of a merchant's lists.
    pub(super) async fn place(&self, list: List, merchant: &str, id: &str) -> Result<After, Unavailable> {
        read!(self, place(list, merchant, id))
    }

    /// An intent by its id.
    pub(super) async fn intent(&self, id: &IntentId) -> Result<Option<Intent>, Unavailable> {
        read!(self, intent(id))
    }

    /// A merchant's intents after this position, newest first.
    pub(super) async fn intents(&self, merchant: &str, after: After, limit: i64) -> Result<Vec<Intent>, Unavailable> {
        read!(self, intents(merchant, after, limit))
    }

    /// An intent by its merchant's reference.
    pub(super) async fn intent_by_reference(
        &self,
        merchant: &str,
        reference: &str,
    ) -> Result<Option<Intent>, Unavailable> {
        read!(self, intent_by_reference(merchant, reference))
    }

    /// A merchant's plan by its id.
    pub(super) async fn plan(&self, merchant: &str, id: &PlanId) -> Result<Option<Plan>, Unavailable> {
        read!(self, plan(merchant, id))
    }

    /// A merchant's plan by its id or its code.
    pub(super) async fn plan_by_key(&self, merchant: &str, key: &PlanKey) -> Result<Option<Plan>, Unavailable> {
        read!(self, plan_by_key(merchant, key))
    }

    /// A merchant's plans after this position, newest first.
    pub(super) async fn plans(
        &self,
        merchant: &str,
        include_inactive: bool,
        after: After,
        limit: i64,
    ) -> Result<Vec<Plan>, Unavailable> {
        read!(self, plans(merchant, include_inactive, after, limit))
    }

    /// A merchant's subscription by its id.
    pub(super) async fn subscription(
        &self,
        merchant: &str,
        id: &SubscriptionId,
    ) -> Result<Option<Subscription>, Unavailable> {
        read!(self, subscription(merchant, id))
    }

    /// A merchant's intents that pay this eSIM order, oldest first.
    pub(super) async fn intents_of_esim_order(
        &self,
        merchant: &str,
        order: &EsimOrderId,
    ) -> Result<Vec<Intent>, Unavailable> {
        read!(self, intents_of_esim_order(merchant, order))
    }

    /// A merchant's intents that pay one of its newest unfulfilled eSIM orders, oldest first.
    pub(super) async fn intents_of_open_esim_orders(
        &self,
        merchant: &str,
        limit: i64,
    ) -> Result<Vec<Intent>, Unavailable> {
        read!(self, intents_of_open_esim_orders(merchant, limit))
    }

    /// A merchant's eSIM order by its id.
    pub(super) async fn esim_order(&self, merchant: &str, id: &EsimOrderId) -> Result<Option<EsimOrder>, Unavailable> {
        read!(self, esim_order(merchant, id))
    }

    /// A merchant's newest eSIM orders, newest first.
    pub(super) async fn esim_orders(&self, merchant: &str, limit: i64) -> Result<Vec<EsimOrder>, Unavailable> {
        read!(self, esim_orders(merchant, limit))
    }

    /// A merchant's customers after this position, newest first.
    pub(super) async fn customers(
        &self,
        merchant: &str,
        after: After,
        limit: i64,
    ) -> Result<Vec<Customer>, Unavailable> {
        read!(self, customers(merchant, after, limit))
    }

    /// A merchant's subscriptions after this position, newest first.
    pub(super) async fn subscriptions(
        &self,
        merchant: &str,
        after: After,
        limit: i64,
    ) -> Result<Vec<Subscription>, Unavailable> {
        read!(self, subscriptions(merchant, after, limit))
    }

    /// A merchant's subscriptions that are due until this time, in order.
    pub(super) async fn due(
        &self,
        merchant: &str,
        until: Moment,
        limit: i64,
    ) -> Result<Vec<Subscription>, Unavailable> {
        read!(self, due(merchant, until, limit))
    }

    /// The merchants with subscriptions that are due at this time of the service's clock.
    pub(super) async fn merchants_due(&self, wall: Moment) -> Result<Vec<String>, Unavailable> {
        read!(self, merchants_due(wall))
    }

    /// The events of a merchant's subscriptions, newest first.
    pub(super) async fn subscription_events(
        &self,
        merchant: &str,
        limit: i64,
    ) -> Result<Vec<SubscriptionEvent>, Unavailable> {
        read!(self, subscription_events(merchant, limit))
    }

    /// A session by its token's fingerprint.
    pub(super) async fn session(&self, fingerprint: &str) -> Result<Option<Session>, Unavailable> {
        read!(self, session(fingerprint))
    }

    /// All merchants, the first one first.
    pub(super) async fn merchants(&self) -> Result<Vec<MerchantRow>, Unavailable> {
        read!(self, merchants())
    }

    /// The database, if instances share it.
    #[cfg(feature = "sandbox-postgres")]
    pub(super) fn shared(&self) -> Option<&SharedStore> {
        match &self.backend {
            Backend::Postgres { reads, .. } => Some(reads),
            _ => None,
        }
    }

    /// The canonical path of the database, if it is a file.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.backend {
            Backend::Memory(_) => None,
            #[cfg(feature = "sandbox-postgres")]
            Backend::Postgres { .. } => None,
            #[cfg(feature = "sandbox-sqlite")]
            Backend::Sqlite { reads, .. } => reads.path(),
        }
    }

    /// Finishes queued writes and closes the database.
    pub(super) async fn close(&self) {
        match &self.backend {
            Backend::Memory(memory) => memory.close(),
            #[cfg(feature = "sandbox-postgres")]
            Backend::Postgres { reads, writer } => {
                writer.close().await;
                reads.close_locks().await;
            }
            #[cfg(feature = "sandbox-sqlite")]
            Backend::Sqlite { writer, .. } => writer.close().await,
        }
    }
}
