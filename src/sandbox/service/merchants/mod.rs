//! The merchants. In memory and on SQLite this process keeps all of them, since they are few and it alone has the database. A database
//! that instances share keeps them itself: each request reads its merchant's row, and nothing of it is used for another request.

#[cfg(feature = "sandbox-postgres")]
mod reader;
#[cfg(feature = "sandbox-postgres")]
mod shared;

use crate::sandbox::StartError;
use crate::sandbox::clock::ServiceClock;
use crate::sandbox::faults::{AddFaultError, Fault, FaultKind, Faults};
use crate::sandbox::requests::{Request, Requests};
use crate::sandbox::store::{MerchantRow, Store, Unavailable};
use crate::sandbox::tokens::{self, SECRET_KEY, fingerprint};
use crate::values::{Moment, Secret};
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::{Mutex, MutexGuard};

/// One merchant, as a request sees it.
#[derive(Debug)]
pub(in crate::sandbox) struct Merchant {
    pub(in crate::sandbox) id: String,
    pub(in crate::sandbox) name: String,
    clock: Arc<ServiceClock>,
    kept: Kept,
}

/// The rest of a merchant, by the place where it is kept.
#[derive(Debug)]
enum Kept {
    /// In this process.
    Here(Here),
    /// In the database that instances share.
    #[cfg(feature = "sandbox-postgres")]
    Shared(shared::OfRequest),
}

#[derive(Debug)]
struct Here {
    /// The offset of its clock from the service's, in seconds; never negative.
    clock_offset: AtomicI64,
    /// Held while due work runs, while the clock is moved, and while a reset runs.
    billing_lock: Mutex<()>,
    /// Its waiting faults.
    faults: Faults,
    /// Its newest requests.
    requests: Requests,
}

/// Keeps billing, clock moves and resets of one merchant apart, until it is dropped.
pub(in crate::sandbox::service) enum BillingLock<'a> {
    Here {
        _guard: MutexGuard<'a, ()>,
    },
    #[cfg(feature = "sandbox-postgres")]
    Shared {
        _lock: crate::sandbox::store::MerchantLock,
    },
}

impl Merchant {
    fn clock_offset(&self) -> i64 {
        match &self.kept {
            Kept::Here(here) => here.clock_offset.load(Ordering::Acquire),
            #[cfg(feature = "sandbox-postgres")]
            Kept::Shared(shared) => shared.row.clock_offset,
        }
    }

    /// The time on which its responses depend: the service's clock plus its offset. It is stored.
    pub(in crate::sandbox) fn now(&self) -> Moment {
        self.clock.now().plus(self.clock_offset())
    }

    /// The current time of its clock, which may not be stored yet. No response may depend on it.
    #[cfg(feature = "sandbox-serve")]
    pub(in crate::sandbox) fn peek(&self) -> Moment {
        self.clock.peek().plus(self.clock_offset())
    }

    /// The merchant as it is now.
    pub(in crate::sandbox) async fn current(self: &Arc<Self>) -> Result<Arc<Self>, Unavailable> {
        match &self.kept {
            Kept::Here(_) => Ok(Arc::clone(self)),
            #[cfg(feature = "sandbox-postgres")]
            Kept::Shared(shared) => shared.merchants.again(&self.id, &self.clock).await,
        }
    }

    /// The merchant as it is now, for a request that may have waited since it read its merchant. A request that took less than a second
    /// did not wait.
    pub(in crate::sandbox) async fn after_wait(self: Arc<Self>) -> Result<Arc<Self>, Unavailable> {
        match &self.kept {
            Kept::Here(_) => Ok(self),
            #[cfg(feature = "sandbox-postgres")]
            Kept::Shared(shared) if shared.read_at == self.clock.now() => Ok(self),
            #[cfg(feature = "sandbox-postgres")]
            Kept::Shared(_) => self.current().await,
        }
    }

    /// Waits until no billing, clock move or reset of the merchant runs in any instance, and keeps others out.
    pub(super) async fn lock(&self) -> Result<BillingLock<'_>, Unavailable> {
        Ok(match &self.kept {
            Kept::Here(here) => BillingLock::Here { _guard: here.billing_lock.lock().await },
            #[cfg(feature = "sandbox-postgres")]
            Kept::Shared(shared) => BillingLock::Shared { _lock: shared.merchants.database.lock(&self.id).await? },
        })
    }

    /// The lock, unless another instance has it. Where instances share no database, waits for this one's own.
    pub(super) async fn lock_unless_elsewhere(&self) -> Result<Option<BillingLock<'_>>, Unavailable> {
        match &self.kept {
            Kept::Here(_) => self.lock().await.map(Some),
            #[cfg(feature = "sandbox-postgres")]
            Kept::Shared(shared) => {
                let lock = shared.merchants.database.try_lock(&self.id).await?;
                Ok(lock.map(|lock| BillingLock::Shared { _lock: lock }))
            }
        }
    }

    /// Adds a fault after the others.
    pub(in crate::sandbox) async fn add_fault(&self, fault: Fault) -> Result<(), AddFaultError> {
        match &self.kept {
            Kept::Here(here) => here.faults.add(fault),
            #[cfg(feature = "sandbox-postgres")]
            Kept::Shared(shared) => shared.merchants.database.add_fault(&self.id, &fault).await,
        }
    }

    /// Takes the fault of this call, if there is one, and decrements its count.
    pub(in crate::sandbox) async fn take_fault(&self, operation: &str) -> Result<Option<FaultKind>, Unavailable> {
        match &self.kept {
            Kept::Here(here) => Ok(here.faults.take(operation)),
            #[cfg(feature = "sandbox-postgres")]
            Kept::Shared(shared) if shared.row.has_faults => {
                shared.merchants.database.take_fault(&self.id, operation).await
            }
            #[cfg(feature = "sandbox-postgres")]
            Kept::Shared(_) => Ok(None),
        }
    }

    /// The waiting faults, in the order they were added.
    pub(in crate::sandbox) async fn faults(&self) -> Result<Vec<Fault>, Unavailable> {
        match &self.kept {
            Kept::Here(here) => Ok(here.faults.list()),
            #[cfg(feature = "sandbox-postgres")]
            Kept::Shared(shared) => shared.merchants.database.faults(&self.id).await,
        }
    }

    /// Removes the waiting faults.
    pub(in crate::sandbox) async fn clear_faults(&self) -> Result<(), Unavailable> {
        match &self.kept {
            Kept::Here(here) => {
                here.faults.clear();
                Ok(())
            }
            #[cfg(feature = "sandbox-postgres")]
            Kept::Shared(shared) => shared.merchants.database.clear_faults(&self.id).await,
        }
    }

    /// Lists a request that has arrived.
    pub(in crate::sandbox) fn add_request(&self, request: Request) {
        match &self.kept {
            Kept::Here(here) => here.requests.add(request),
            #[cfg(feature = "sandbox-postgres")]
            Kept::Shared(shared) => shared.merchants.unwritten.add(&shared.row, request),
        }
    }

    /// Records the status of a request's response.
    pub(in crate::sandbox) fn record_status(&self, request_id: &str, status: u16) {
        match &self.kept {
            Kept::Here(here) => here.requests.record_status(request_id, status),
            #[cfg(feature = "sandbox-postgres")]
            Kept::Shared(shared) => shared.merchants.unwritten.record_status(shared.row.number, status),
        }
    }

    /// The newest requests, oldest first.
    pub(in crate::sandbox) async fn requests(&self) -> Result<Vec<Request>, Unavailable> {
        match &self.kept {
            Kept::Here(here) => Ok(here.requests.list()),
            #[cfg(feature = "sandbox-postgres")]
            Kept::Shared(shared) => shared.merchants.requests(&self.id).await,
        }
    }
}

/// All merchants.
#[derive(Debug)]
pub(in crate::sandbox) struct Merchants {
    clock: Arc<ServiceClock>,
    kept: AllKept,
}

#[derive(Debug)]
enum AllKept {
    Here {
        first: Arc<Merchant>,
        table: RwLock<Table>,
    },
    #[cfg(feature = "sandbox-postgres")]
    Shared(Arc<shared::SharedMerchants>),
}

#[derive(Debug, Default)]
struct Table {
    by_id: HashMap<String, Arc<Merchant>>,
    by_key: HashMap<String, Arc<Merchant>>,
}

impl Table {
    fn add(&mut self, row: MerchantRow, clock: &Arc<ServiceClock>) -> Arc<Merchant> {
        let here = Here {
            clock_offset: AtomicI64::new(row.clock_offset),
            billing_lock: Mutex::default(),
            faults: Faults::default(),
            requests: Requests::default(),
        };
        let merchant =
            Arc::new(Merchant { id: row.id, name: row.name, clock: Arc::clone(clock), kept: Kept::Here(here) });
        self.by_id.insert(merchant.id.clone(), Arc::clone(&merchant));
        self.by_key.insert(row.key_fingerprint, Arc::clone(&merchant));
        merchant
    }
}

impl Merchants {
    /// Loads the merchants. Creates the first one if there is none. The first merchant's key becomes `first_key`, unless instances share
    /// the database: then the start has compared it with theirs.
    pub(in crate::sandbox) async fn load(
        store: &Store,
        clock: &Arc<ServiceClock>,
        first_key: &Secret,
        first_name: &str,
    ) -> Result<Self, StartError> {
        let database_error = |error: Unavailable| StartError::Database(error.to_string());
        #[cfg(feature = "sandbox-postgres")]
        if let Some(database) = store.shared() {
            let shared = Arc::new(shared::SharedMerchants::new(database.clone()));
            return Ok(Self { clock: Arc::clone(clock), kept: AllKept::Shared(shared) });
        }
        let mut rows = store.merchants().await.map_err(database_error)?;
        let key_fingerprint = fingerprint(first_key.expose());
        if rows.iter().skip(1).any(|another| another.key_fingerprint == key_fingerprint) {
            return Err(StartError::Keys(
                "GUICHET_SECRET_KEY is the key of another merchant of this database, and cannot be the first one's too. Unset it to start the \
                 sandbox, and set it for what that merchant sends."
                    .into(),
            ));
        }
        match rows.first_mut() {
            None => {
                let row = Self::first_row(first_key, first_name);
                store.add_merchant(row.clone()).await.map_err(database_error)?;
                rows.push(row);
            }
            Some(first) if first.key_fingerprint != key_fingerprint => {
                tracing::warn!(merchant = %first.id, "the first merchant's secret key differs from that of the last start");
                store.change_key(first.id.clone(), key_fingerprint.clone()).await.map_err(database_error)?;
                first.key_fingerprint = key_fingerprint;
            }
            Some(_) => {}
        }
        let mut table = Table::default();
        let all: Vec<_> = rows.into_iter().map(|row| table.add(row, clock)).collect();
        let first = all.into_iter().next().expect("there is a first merchant: it was made above");
        Ok(Self { clock: Arc::clone(clock), kept: AllKept::Here { first, table: RwLock::new(table) } })
    }

    /// The row of a new database's first merchant.
    pub(in crate::sandbox) fn first_row(key: &Secret, name: &str) -> MerchantRow {
        MerchantRow {
            id: tokens::id("mch_"),
            name: name.to_owned(),
            key_fingerprint: fingerprint(key.expose()),
            clock_offset: 0,
            place: 0,
        }
    }

    /// Creates a merchant. Its secret key is returned this once.
    pub(in crate::sandbox) async fn make(
        &self,
        store: &Store,
        name: &str,
    ) -> Result<(Arc<Merchant>, Secret), Unavailable> {
        let secret_key = tokens::secret(SECRET_KEY);
        let row = MerchantRow {
            id: tokens::id("mch_"),
            name: name.to_owned(),
            key_fingerprint: fingerprint(secret_key.expose()),
            clock_offset: 0,
            place: 1,
        };
        store.add_merchant(row.clone()).await?;
        let merchant = match &self.kept {
            AllKept::Here { table, .. } => table.write().unwrap_or_else(PoisonError::into_inner).add(row, &self.clock),
            #[cfg(feature = "sandbox-postgres")]
            AllKept::Shared(shared) => shared.again(&row.id, &self.clock).await?,
        };
        Ok((merchant, secret_key))
    }

    /// Moves a merchant's clock forward. Returns the merchant with its new time.
    pub(in crate::sandbox) async fn advance(
        &self,
        store: &Store,
        merchant: &Arc<Merchant>,
        seconds: u32,
    ) -> Result<Arc<Merchant>, Unavailable> {
        let seconds = i64::from(seconds);
        // The database and the memory change together: no reset can run in between.
        let _lock = merchant.lock().await?;
        store.advance_clock(merchant.id.clone(), seconds).await?;
        match &merchant.kept {
            Kept::Here(here) => {
                here.clock_offset.fetch_add(seconds, Ordering::AcqRel);
            }
            #[cfg(feature = "sandbox-postgres")]
            Kept::Shared(_) => {}
        }
        merchant.current().await
    }

    /// Deletes everything of a merchant but its name and its key. Its clock shows the service's time again. Returns the merchant as it is
    /// then.
    pub(in crate::sandbox) async fn reset(
        &self,
        store: &Store,
        merchant: &Arc<Merchant>,
    ) -> Result<Arc<Merchant>, Unavailable> {
        let _lock = merchant.lock().await?;
        store.reset(merchant.id.clone()).await?;
        match &merchant.kept {
            Kept::Here(here) => {
                here.clock_offset.store(0, Ordering::Release);
                here.faults.clear();
                here.requests.clear();
            }
            #[cfg(feature = "sandbox-postgres")]
            Kept::Shared(_) => {}
        }
        merchant.current().await
    }

    /// Every merchant.
    #[cfg(feature = "sandbox-serve")]
    pub(in crate::sandbox) async fn all(&self) -> Result<Vec<Arc<Merchant>>, Unavailable> {
        match &self.kept {
            AllKept::Here { table, .. } => {
                Ok(table.read().unwrap_or_else(PoisonError::into_inner).by_id.values().cloned().collect())
            }
            #[cfg(feature = "sandbox-postgres")]
            AllKept::Shared(shared) => shared.all(&self.clock).await,
        }
    }

    /// The first merchant.
    pub(in crate::sandbox) async fn first(&self) -> Result<Arc<Merchant>, Unavailable> {
        match &self.kept {
            AllKept::Here { first, .. } => Ok(Arc::clone(first)),
            #[cfg(feature = "sandbox-postgres")]
            AllKept::Shared(shared) => shared.first(&self.clock).await,
        }
    }

    /// A merchant by its id.
    pub(in crate::sandbox) async fn by_id(&self, id: &str) -> Result<Option<Arc<Merchant>>, Unavailable> {
        match &self.kept {
            AllKept::Here { table, .. } => {
                Ok(table.read().unwrap_or_else(PoisonError::into_inner).by_id.get(id).cloned())
            }
            #[cfg(feature = "sandbox-postgres")]
            AllKept::Shared(shared) => shared.by_id(id, &self.clock).await,
        }
    }

    /// A merchant by the fingerprint of its secret key.
    pub(in crate::sandbox) async fn by_key(&self, key_fingerprint: &str) -> Result<Option<Arc<Merchant>>, Unavailable> {
        match &self.kept {
            AllKept::Here { table, .. } => {
                Ok(table.read().unwrap_or_else(PoisonError::into_inner).by_key.get(key_fingerprint).cloned())
            }
            #[cfg(feature = "sandbox-postgres")]
            AllKept::Shared(shared) => shared.by_key(key_fingerprint, &self.clock).await,
        }
    }

    /// Writes the listed requests to the database that instances share, until the future is dropped.
    #[cfg(feature = "sandbox-serve")]
    pub(in crate::sandbox) async fn keep_writing_requests(&self) {
        match &self.kept {
            AllKept::Here { .. } => std::future::pending().await,
            #[cfg(feature = "sandbox-postgres")]
            AllKept::Shared(shared) => shared.keep_writing_requests().await,
        }
    }

    /// Writes the listed requests before the store is closed.
    pub(in crate::sandbox) async fn finish(&self) {
        #[cfg(feature = "sandbox-postgres")]
        if let AllKept::Shared(shared) = &self.kept {
            shared.finish().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::WallClock;

    #[tokio::test]
    async fn a_clock_moved_during_a_reset_shows_the_stored_time() {
        for store in [Store::in_memory(), Store::on_sqlite().await] {
            a_clock_moved_during_a_reset(&store).await;
        }
    }

    async fn a_clock_moved_during_a_reset(store: &Store) {
        let clock = Arc::new(ServiceClock::load(store, WallClock::default()).await.unwrap());
        let merchants = Merchants::load(store, &clock, &Secret::new("sk_test_1"), "Shop").await.unwrap();
        let merchant = merchants.first().await.unwrap();
        for reset_first in [true, false] {
            let (reset, advance) = (merchants.reset(store, &merchant), merchants.advance(store, &merchant, 1_000));
            if reset_first {
                let (reset, advanced) = tokio::join!(reset, advance);
                assert!(reset.is_ok() && advanced.is_ok());
            } else {
                let (advanced, reset) = tokio::join!(advance, reset);
                assert!(reset.is_ok() && advanced.is_ok());
            }
            let stored = store.merchants().await.unwrap()[0].clock_offset;
            assert_eq!(merchant.clock_offset(), stored);
        }
    }

    #[cfg(feature = "sandbox-postgres")]
    #[tokio::test]
    async fn a_merchant_read_after_a_change_shows_it_however_many_others_are_read_meanwhile() {
        let [store, other] = Store::two_on_postgres().await;
        let clock = Arc::new(ServiceClock::load(&store, WallClock::default()).await.unwrap());
        let merchants = Merchants::load(&store, &clock, &Secret::new("sk_test_1"), "Shop").await.unwrap();
        let (merchant, _) = merchants.make(&store, "Shop").await.unwrap();
        for moved in 1..=20 {
            let mut reads = tokio::task::JoinSet::new();
            for _ in 0..100 {
                let merchant = Arc::clone(&merchant);
                reads.spawn(async move { merchant.current().await.unwrap().clock_offset() });
            }
            other.advance_clock(merchant.id.clone(), 1).await.unwrap();
            assert_eq!(merchant.current().await.unwrap().clock_offset(), moved);
            assert!(reads.join_all().await.into_iter().all(|offset| offset == moved || offset == moved - 1));
        }
    }
}
