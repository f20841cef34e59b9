//! What the instances on one database share. Nothing of a merchant's row is used for another request.

use crate::Readers;
use crate::faults::read_fault;
use crate::locks::MerchantLocks;
use crate::merchants::{BY_ID, BY_KEY, MerchantReader, SeenMerchant};
use crate::requests::Requests;
use async_trait::async_trait;
use guichet_sandbox::store::{By, Instances, MerchantLock, OperatorStatuses, SharedMerchant};
use guichet_sandbox::{AddFaultError, Fault, FaultKind, Request, Unavailable};
use std::sync::Arc;

/// The instances on one database.
pub(crate) struct OnPostgres(Arc<Shared>);

/// What every merchant uses.
struct Shared {
    readers: Readers,
    locks: MerchantLocks,
    by_id: MerchantReader,
    by_key: MerchantReader,
    requests: Requests,
}

/// A merchant as one request has read it.
struct OfRequest {
    row: SeenMerchant,
    shared: Arc<Shared>,
}

impl OnPostgres {
    pub(crate) fn new(readers: Readers, locks: MerchantLocks) -> Self {
        Self(Arc::new(Shared {
            by_id: MerchantReader::start(readers.clone(), BY_ID),
            by_key: MerchantReader::start(readers.clone(), BY_KEY),
            requests: Requests::new(readers.clone()),
            readers,
            locks,
        }))
    }

    fn of_request(&self, row: SeenMerchant) -> Arc<dyn SharedMerchant> {
        Arc::new(OfRequest { row, shared: Arc::clone(&self.0) })
    }
}

#[async_trait]
impl Instances for OnPostgres {
    async fn merchant(&self, by: By<'_>) -> Result<Option<Arc<dyn SharedMerchant>>, Unavailable> {
        let found = match by {
            By::First => self.0.readers.first_merchant().await?,
            By::Id(id) => self.0.by_id.read(id).await?,
            By::Key(key_fingerprint) => self.0.by_key.read(key_fingerprint).await?,
        };
        Ok(found.map(|row| self.of_request(row)))
    }

    async fn merchants(&self) -> Result<Vec<Arc<dyn SharedMerchant>>, Unavailable> {
        Ok(self.0.readers.all_merchants().await?.into_iter().map(|row| self.of_request(row)).collect())
    }

    async fn run(&self) {
        self.0.requests.keep_writing().await;
    }

    async fn close(&self) {
        self.0.requests.finish().await;
        self.0.locks.close().await;
    }
}

#[async_trait]
impl SharedMerchant for OfRequest {
    fn id(&self) -> &str {
        &self.row.id
    }

    fn name(&self) -> &str {
        &self.row.name
    }

    fn clock_offset(&self) -> i64 {
        self.row.clock_offset
    }

    fn operators(&self) -> OperatorStatuses {
        self.row.operators.clone()
    }

    fn latest_second(&self) -> i64 {
        self.row.latest_second
    }

    async fn lock(&self) -> Result<MerchantLock, Unavailable> {
        self.shared.locks.lock(&self.row.id).await
    }

    async fn lock_unless_elsewhere(&self) -> Result<Option<MerchantLock>, Unavailable> {
        self.shared.locks.try_lock(&self.row.id).await
    }

    async fn add_fault(&self, fault: Fault) -> Result<(), AddFaultError> {
        self.shared.readers.add_fault(&self.row.id, &fault).await
    }

    async fn take_fault(&self, operation: &str) -> Result<Option<FaultKind>, Unavailable> {
        if !self.row.has_faults {
            return Ok(None);
        }
        // Another instance that takes the same fault waits, and then takes what is left.
        let text = "UPDATE faults SET remaining = remaining - 1 WHERE remaining > 0 AND seq = \
            (SELECT seq FROM faults WHERE merchant = $1 AND operation = $2 AND remaining > 0 ORDER BY seq LIMIT 1 FOR UPDATE) \
            RETURNING fault, remaining";
        let taken = self.shared.readers.rows(text, &[self.id().into(), operation.into()]).await?;
        taken.first().map(|row| Ok(read_fault(row)?.kind())).transpose()
    }

    async fn faults(&self) -> Result<Vec<Fault>, Unavailable> {
        let text = "SELECT fault, remaining FROM faults WHERE merchant = $1 AND remaining > 0 ORDER BY seq";
        self.shared.readers.rows(text, &[self.id().into()]).await?.iter().map(read_fault).collect()
    }

    async fn clear_faults(&self) -> Result<(), Unavailable> {
        let text = "DELETE FROM faults WHERE merchant = $1";
        self.shared.readers.rows(text, &[self.id().into()]).await.map(drop)
    }

    fn add_request(&self, request: Request) {
        self.shared.requests.add(&self.row.id, self.row.number, request);
    }

    fn record_status(&self, _: &str, status: u16) {
        self.shared.requests.record_status(self.row.number, status);
    }

    async fn requests(&self) -> Result<Vec<Request>, Unavailable> {
        self.shared.requests.list(&self.row.id).await
    }
}
