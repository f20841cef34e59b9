//! The merchants of a database that one instance has to itself, as in memory or on SQLite: all of them, since they are few.

use super::{By, Instances, MerchantLock, MerchantRow, OperatorStatuses, SharedMerchant, Store, Unavailable, Write};
use crate::faults::{AddFaultError, Fault, FaultKind, MAX_FAULTS};
use crate::requests::{MAX_REQUESTS, Request};
use crate::start_error::StartError;
use async_trait::async_trait;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// The merchants of a database.
pub(crate) struct OneInstance {
    first: Arc<Merchant>,
    table: RwLock<Table>,
}

#[derive(Default)]
struct Table {
    by_id: HashMap<String, Arc<Merchant>>,
    by_key: HashMap<String, Arc<Merchant>>,
}

/// A merchant. Every request sees the same one.
struct Merchant {
    id: String,
    name: String,
    clock_offset: AtomicI64,
    operators: RwLock<OperatorStatuses>,
    /// Held while due work runs, while the clock is moved, and while a reset runs.
    billing: Arc<tokio::sync::Mutex<()>>,
    faults: Mutex<Vec<Fault>>,
    requests: Mutex<VecDeque<Request>>,
}

impl Merchant {
    fn lock_faults(&self) -> MutexGuard<'_, Vec<Fault>> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_requests(&self) -> MutexGuard<'_, VecDeque<Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn add(&mut self, row: MerchantRow) -> Arc<Merchant> {
        let merchant = Arc::new(Merchant {
            id: row.id,
            name: row.name,
            clock_offset: AtomicI64::new(row.clock_offset),
            operators: RwLock::new(row.operators),
            billing: Arc::default(),
            faults: Mutex::default(),
            requests: Mutex::default(),
        });
        self.by_id.insert(merchant.id.clone(), Arc::clone(&merchant));
        self.by_key.insert(row.key_fingerprint, Arc::clone(&merchant));
        merchant
    }
}

impl OneInstance {
    /// Loads the merchants. Stores this first one if there is none; otherwise the first one gets this one's key.
    pub(crate) async fn load(store: &dyn Store, first: MerchantRow) -> Result<Self, StartError> {
        let database_error = |error: Unavailable| StartError::Database(error.to_string());
        let mut rows = store.merchants().await.map_err(database_error)?;
        if rows.iter().skip(1).any(|another| another.key_fingerprint == first.key_fingerprint) {
            return Err(StartError::Keys(
                "GUICHET_SECRET_KEY is the key of another merchant of this database, and cannot be the first one's too. Unset it to start the \
                 sandbox, and set it for what that merchant sends."
                    .into(),
            ));
        }
        let write = match rows.first_mut() {
            None => {
                rows.push(first.clone());
                Some(Write::AddMerchant(first))
            }
            Some(stored) if stored.key_fingerprint != first.key_fingerprint => {
                tracing::warn!(merchant = %stored.id, "the first merchant's secret key differs from that of the last start");
                stored.key_fingerprint.clone_from(&first.key_fingerprint);
                Some(Write::ChangeKey { merchant: stored.id.clone(), key_fingerprint: first.key_fingerprint })
            }
            Some(_) => None,
        };
        if let Some(write) = write {
            store.write(write).await.map_err(database_error)?;
        }
        let mut table = Table::default();
        let all: Vec<_> = rows.into_iter().map(|row| table.add(row)).collect();
        let first = all.into_iter().next().expect("there is a first merchant: it was added above");
        Ok(Self { first, table: RwLock::new(table) })
    }
}

#[async_trait]
impl Instances for OneInstance {
    async fn merchant(&self, by: By<'_>) -> Result<Option<Arc<dyn SharedMerchant>>, Unavailable> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let found = match by {
            By::First => Some(&self.first),
            By::Id(id) => table.by_id.get(id),
            By::Key(fingerprint) => table.by_key.get(fingerprint),
        };
        Ok(found.map(|merchant| Arc::clone(merchant) as Arc<dyn SharedMerchant>))
    }

    async fn merchants(&self) -> Result<Vec<Arc<dyn SharedMerchant>>, Unavailable> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        Ok(table.by_id.values().map(|merchant| Arc::clone(merchant) as Arc<dyn SharedMerchant>).collect())
    }

    fn merchant_added(&self, merchant: MerchantRow) {
        self.table.write().unwrap_or_else(PoisonError::into_inner).add(merchant);
    }
}

#[async_trait]
impl SharedMerchant for Merchant {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn clock_offset(&self) -> i64 {
        self.clock_offset.load(Ordering::Acquire)
    }

    fn operators(&self) -> OperatorStatuses {
        self.operators.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn operators_changed(&self, operators: OperatorStatuses) {
        *self.operators.write().unwrap_or_else(PoisonError::into_inner) = operators;
    }

    async fn lock(&self) -> Result<MerchantLock, Unavailable> {
        Ok(Box::new(Arc::clone(&self.billing).lock_owned().await))
    }

    fn clock_moved(&self, seconds: i64) {
        self.clock_offset.fetch_add(seconds, Ordering::AcqRel);
    }

    fn was_reset(&self) {
        self.clock_offset.store(0, Ordering::Release);
        self.operators_changed(OperatorStatuses::default());
        self.lock_faults().clear();
        self.lock_requests().clear();
    }

    async fn add_fault(&self, fault: Fault) -> Result<(), AddFaultError> {
        let mut faults = self.lock_faults();
        if faults.len() >= MAX_FAULTS {
            return Err(AddFaultError::TooMany);
        }
        if fault.count > 0 {
            faults.push(fault);
        }
        Ok(())
    }

    async fn take_fault(&self, operation: &str) -> Result<Option<FaultKind>, Unavailable> {
        let mut faults = self.lock_faults();
        let Some(position) = faults.iter().position(|fault| fault.operation == operation) else { return Ok(None) };
        let kind = faults[position].kind;
        faults[position].count -= 1;
        if faults[position].count == 0 {
            faults.remove(position);
        }
        Ok(Some(kind))
    }

    async fn faults(&self) -> Result<Vec<Fault>, Unavailable> {
        Ok(self.lock_faults().clone())
    }

    async fn clear_faults(&self) -> Result<(), Unavailable> {
        self.lock_faults().clear();
        Ok(())
    }

    fn add_request(&self, request: Request) {
        let mut requests = self.lock_requests();
        if requests.len() == MAX_REQUESTS {
            requests.pop_front();
        }
        requests.push_back(request);
    }

    fn record_status(&self, request_id: &str, status: u16) {
        let mut requests = self.lock_requests();
        if let Some(request) = requests.iter_mut().rev().find(|request| request.request_id == request_id) {
            request.status = Some(status);
        }
    }

    async fn requests(&self) -> Result<Vec<Request>, Unavailable> {
        Ok(self.lock_requests().iter().cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Backend, Memory, contract};

    #[test]
    fn memory_keeps_the_contract() {
        contract::check(async |first| {
            let store: Arc<dyn Store> = Arc::new(Memory::default());
            let instances = Arc::new(OneInstance::load(&*store, first).await.unwrap());
            vec![Backend { store, instances }]
        });
    }
}
