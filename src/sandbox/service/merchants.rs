//! The merchants. This process keeps all of them in memory, since they are few and it alone has the database.

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
pub(super) struct BillingLock<'a> {
    _guard: MutexGuard<'a, ()>,
}

impl Merchant {
    /// The time on which its responses depend: the service's clock plus its offset. It is stored.
    pub(in crate::sandbox) fn now(&self) -> Moment {
        self.clock.now().plus(self.clock_offset.load(Ordering::Acquire))
    }

    /// The current time of its clock, which may not be stored yet. No response may depend on it.
    #[cfg(feature = "sandbox-serve")]
    pub(in crate::sandbox) fn peek(&self) -> Moment {
        self.clock.peek().plus(self.clock_offset.load(Ordering::Acquire))
    }
}

/// All merchants.
#[derive(Debug)]
pub(in crate::sandbox) struct Merchants {
    first: Arc<Merchant>,
    clock: Arc<ServiceClock>,
    table: RwLock<Table>,
}

#[derive(Debug, Default)]
struct Table {
    by_id: HashMap<String, Arc<Merchant>>,
    by_key: HashMap<String, Arc<Merchant>>,
}

impl Table {
    fn add(&mut self, row: MerchantRow, clock: &Arc<ServiceClock>) -> Arc<Merchant> {
        let merchant = Arc::new(Merchant {
            id: row.id,
            name: row.name,
            clock: Arc::clone(clock),
            clock_offset: AtomicI64::new(row.clock_offset),
            billing_lock: Mutex::default(),
            faults: Faults::default(),
            requests: Requests::default(),
        });
        self.by_id.insert(merchant.id.clone(), Arc::clone(&merchant));
        self.by_key.insert(row.key_fingerprint, Arc::clone(&merchant));
        merchant
    }
}

impl Merchants {
    /// Loads the merchants. Creates the first one if there is none. The first merchant's key becomes `first_key`.
    pub(in crate::sandbox) async fn load(
        store: &Store,
        clock: &Arc<ServiceClock>,
        first_key: &Secret,
        first_name: &str,
    ) -> Result<Self, StartError> {
        let database_error = |error: Unavailable| StartError::Database(error.to_string());
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
                let row = MerchantRow {
                    id: tokens::id("mch_"),
                    name: first_name.to_owned(),
                    key_fingerprint,
                    clock_offset: 0,
                    place: 0,
                };
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
        Ok(Self { first, clock: Arc::clone(clock), table: RwLock::new(table) })
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
        let merchant = self.table.write().unwrap_or_else(PoisonError::into_inner).add(row, &self.clock);
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
        let _lock = self.lock(merchant).await?;
        store.advance_clock(merchant.id.clone(), seconds).await?;
        merchant.clock_offset.fetch_add(seconds, Ordering::AcqRel);
        Ok(Arc::clone(merchant))
    }

    /// Deletes everything of a merchant but its name and its key. Its clock shows the service's time again. Returns the merchant as it is
    /// then.
    pub(in crate::sandbox) async fn reset(
        &self,
        store: &Store,
        merchant: &Arc<Merchant>,
    ) -> Result<Arc<Merchant>, Unavailable> {
        let _lock = self.lock(merchant).await?;
        store.reset(merchant.id.clone()).await?;
        merchant.clock_offset.store(0, Ordering::Release);
        merchant.faults.clear();
        merchant.requests.clear();
        Ok(Arc::clone(merchant))
    }

    /// Waits until no billing, clock move or reset of the merchant runs, and keeps others out.
    pub(super) async fn lock<'a>(&self, merchant: &'a Merchant) -> Result<BillingLock<'a>, Unavailable> {
        Ok(BillingLock { _guard: merchant.billing_lock.lock().await })
    }

    /// Every merchant.
    #[cfg(feature = "sandbox-serve")]
    pub(in crate::sandbox) async fn all(&self) -> Result<Vec<Arc<Merchant>>, Unavailable> {
        Ok(self.table.read().unwrap_or_else(PoisonError::into_inner).by_id.values().cloned().collect())
    }

    /// The first merchant.
    pub(in crate::sandbox) async fn first(&self) -> Result<Arc<Merchant>, Unavailable> {
        Ok(Arc::clone(&self.first))
    }

    /// The merchant as it is now: a request that has waited may see an earlier time of its clock.
    pub(in crate::sandbox) async fn current(&self, merchant: &Arc<Merchant>) -> Result<Arc<Merchant>, Unavailable> {
        Ok(Arc::clone(merchant))
    }

    /// A merchant by its id.
    pub(in crate::sandbox) async fn by_id(&self, id: &str) -> Result<Option<Arc<Merchant>>, Unavailable> {
        Ok(self.table.read().unwrap_or_else(PoisonError::into_inner).by_id.get(id).cloned())
    }

    /// A merchant by the fingerprint of its secret key.
    pub(in crate::sandbox) async fn by_key(&self, key_fingerprint: &str) -> Result<Option<Arc<Merchant>>, Unavailable> {
        Ok(self.table.read().unwrap_or_else(PoisonError::into_inner).by_key.get(key_fingerprint).cloned())
    }

    /// Adds a fault after the merchant's others.
    pub(in crate::sandbox) async fn add_fault(&self, merchant: &Merchant, fault: Fault) -> Result<(), AddFaultError> {
        merchant.faults.add(fault)
    }

    /// Takes the fault of this call, if there is one, and decrements its count.
    pub(in crate::sandbox) async fn take_fault(
        &self,
        merchant: &Merchant,
        operation: &str,
    ) -> Result<Option<FaultKind>, Unavailable> {
        Ok(merchant.faults.take(operation))
    }

    /// A merchant's waiting faults, in the order they were added.
    pub(in crate::sandbox) async fn faults(&self, merchant: &Merchant) -> Result<Vec<Fault>, Unavailable> {
        Ok(merchant.faults.list())
    }

    /// Removes a merchant's waiting faults.
    pub(in crate::sandbox) async fn clear_faults(&self, merchant: &Merchant) -> Result<(), Unavailable> {
        merchant.faults.clear();
        Ok(())
    }

    /// Lists a request that has arrived.
    pub(in crate::sandbox) fn add_request(&self, merchant: &Merchant, request: Request) {
        merchant.requests.add(request);
    }

    /// Records the status of a request's response.
    pub(in crate::sandbox) fn record_status(&self, merchant: &Merchant, request_id: &str, status: u16) {
        merchant.requests.record_status(request_id, status);
    }

    /// A merchant's newest requests, oldest first.
    pub(in crate::sandbox) async fn requests(&self, merchant: &Merchant) -> Result<Vec<Request>, Unavailable> {
        Ok(merchant.requests.list())
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
            assert_eq!(merchant.clock_offset.load(Ordering::Acquire), stored);
        }
    }
}
