//! Merchants in a database that instances share. Nothing of a merchant's row is used for another request.

use super::{Kept, Merchant};
use crate::sandbox::clock::ServiceClock;
use crate::sandbox::requests::{Request, Unwritten};
use crate::sandbox::store::{By, SharedMerchant, SharedStore, Unavailable};
use crate::values::{Moment, printable};
use std::sync::Arc;
use std::time::Duration;

/// How often the listed requests are written. Another instance shows them so much later.
const WRITING_INTERVAL: Duration = Duration::from_millis(250);

/// The merchants of a shared database.
#[derive(Debug)]
pub(super) struct SharedMerchants {
    pub(super) database: SharedStore,
    pub(super) unwritten: Unwritten,
    /// Held while requests are written: a list waits for those that are being written.
    writing: tokio::sync::Mutex<()>,
}

/// A merchant as one request has read it.
#[derive(Debug)]
pub(super) struct OfRequest {
    pub(super) row: SharedMerchant,
    /// When it was read, by the service's clock.
    pub(super) read_at: Moment,
    pub(super) merchants: Arc<SharedMerchants>,
}

impl SharedMerchants {
    pub(super) fn new(database: SharedStore) -> Self {
        Self { database, unwritten: Unwritten::default(), writing: tokio::sync::Mutex::default() }
    }

    fn merchant(self: &Arc<Self>, row: SharedMerchant, clock: &Arc<ServiceClock>) -> Arc<Merchant> {
        // No response may depend on an earlier second than one that another instance has shown.
        clock.observe(row.latest_second);
        let shared = OfRequest { read_at: clock.now(), merchants: Arc::clone(self), row };
        let (id, name) = (shared.row.id.clone(), shared.row.name.clone());
        Arc::new(Merchant { id, name, clock: Arc::clone(clock), kept: Kept::Shared(shared) })
    }

    async fn find(
        self: &Arc<Self>,
        by: By<'_>,
        clock: &Arc<ServiceClock>,
    ) -> Result<Option<Arc<Merchant>>, Unavailable> {
        Ok(self.database.merchant(by).await?.map(|row| self.merchant(row, clock)))
    }

    pub(super) async fn by_id(
        self: &Arc<Self>,
        id: &str,
        clock: &Arc<ServiceClock>,
    ) -> Result<Option<Arc<Merchant>>, Unavailable> {
        self.find(By::Id(id), clock).await
    }

    pub(super) async fn by_key(
        self: &Arc<Self>,
        key_fingerprint: &str,
        clock: &Arc<ServiceClock>,
    ) -> Result<Option<Arc<Merchant>>, Unavailable> {
        self.find(By::Key(key_fingerprint), clock).await
    }

    pub(super) async fn first(self: &Arc<Self>, clock: &Arc<ServiceClock>) -> Result<Arc<Merchant>, Unavailable> {
        self.find(By::First, clock).await?.ok_or_else(|| Unavailable::because("the first merchant is missing"))
    }

    /// A merchant that was read before.
    pub(super) async fn again(
        self: &Arc<Self>,
        id: &str,
        clock: &Arc<ServiceClock>,
    ) -> Result<Arc<Merchant>, Unavailable> {
        self.by_id(id, clock).await?.ok_or_else(|| Unavailable::because("a merchant is missing"))
    }

    pub(super) async fn all(self: &Arc<Self>, clock: &Arc<ServiceClock>) -> Result<Vec<Arc<Merchant>>, Unavailable> {
        let rows = self.database.all_merchants().await?;
        Ok(rows.into_iter().map(|row| self.merchant(row, clock)).collect())
    }

    /// A merchant's newest requests. Those of this instance are written first.
    pub(super) async fn requests(&self, merchant: &str) -> Result<Vec<Request>, Unavailable> {
        self.write_requests().await?;
        self.database.requests(merchant).await
    }

    /// Writes the listed requests until the future is dropped.
    pub(super) async fn keep_writing_requests(&self) {
        let mut ticks = tokio::time::interval(WRITING_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut is_failing = false;
        loop {
            ticks.tick().await;
            match self.write_requests().await {
                Ok(()) => is_failing = false,
                Err(error) if !std::mem::replace(&mut is_failing, true) => {
                    tracing::error!(error = %printable(error), "the list of requests is not written");
                }
                Err(_) => {}
            }
        }
    }

    async fn write_requests(&self) -> Result<(), Unavailable> {
        let _writing = self.writing.lock().await;
        let batch = self.unwritten.take();
        if batch.is_empty() {
            return Ok(());
        }
        let written = self.database.write_requests(&batch).await;
        if written.is_err() {
            self.unwritten.put_back(batch);
        }
        written
    }

    /// Writes the listed requests before the store is closed.
    pub(super) async fn finish(&self) {
        if let Err(error) = self.write_requests().await {
            tracing::warn!(error = %printable(error), "the last requests are not listed");
        }
    }
}
