//! Merchants in a database that instances share. Nothing of a merchant's row is used for another request.

use super::reader::Reader;
use super::{Kept, Merchant};
use crate::sandbox::clock::ServiceClock;
use crate::sandbox::requests::{Request, Unwritten};
use crate::sandbox::store::{By, SharedMerchant, SharedStore, Unavailable};
use crate::values::{Moment, printable};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How often the listed requests are written. Another instance shows them so much later.
const WRITING_INTERVAL: Duration = Duration::from_millis(250);
/// How often old requests are deleted. Seldom, because until its next vacuum PostgreSQL passes over all that were deleted before.
const TRIMMING_INTERVAL: Duration = Duration::from_secs(10);

/// The merchants of a shared database.
#[derive(Debug)]
pub(super) struct SharedMerchants {
    pub(super) database: SharedStore,
    by_id: Reader,
    by_key: Reader,
    pub(super) unwritten: Unwritten,
    /// The merchants whose requests were written since the last trimming. Held while requests are written: a list waits for those that
    /// are being written.
    written: tokio::sync::Mutex<BTreeSet<String>>,
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
        Self {
            by_id: Reader::start(database.clone(), By::Id),
            by_key: Reader::start(database.clone(), By::Key),
            database,
            unwritten: Unwritten::default(),
            written: tokio::sync::Mutex::default(),
        }
    }

    fn merchant(self: &Arc<Self>, row: SharedMerchant, clock: &Arc<ServiceClock>) -> Arc<Merchant> {
        // No response may depend on an earlier second than one that another instance has shown.
        clock.observe(row.latest_second);
        let shared = OfRequest { read_at: clock.now(), merchants: Arc::clone(self), row };
        let (id, name) = (shared.row.id.clone(), shared.row.name.clone());
        Arc::new(Merchant { id, name, clock: Arc::clone(clock), kept: Kept::Shared(shared) })
    }

    pub(super) async fn by_id(
        self: &Arc<Self>,
        id: &str,
        clock: &Arc<ServiceClock>,
    ) -> Result<Option<Arc<Merchant>>, Unavailable> {
        Ok(self.by_id.read(id).await?.map(|row| self.merchant(row, clock)))
    }

    pub(super) async fn by_key(
        self: &Arc<Self>,
        key_fingerprint: &str,
        clock: &Arc<ServiceClock>,
    ) -> Result<Option<Arc<Merchant>>, Unavailable> {
        Ok(self.by_key.read(key_fingerprint).await?.map(|row| self.merchant(row, clock)))
    }

    pub(super) async fn first(self: &Arc<Self>, clock: &Arc<ServiceClock>) -> Result<Arc<Merchant>, Unavailable> {
        let row = self.database.first_merchant().await?;
        let row = row.ok_or_else(|| Unavailable::because("the first merchant is missing"))?;
        Ok(self.merchant(row, clock))
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

    /// Writes the listed requests and deletes old ones, until the future is dropped.
    pub(super) async fn keep_writing_requests(&self) {
        tokio::join!(
            repeat(WRITING_INTERVAL, "written", || self.write_requests()),
            repeat(TRIMMING_INTERVAL, "trimmed", || self.trim_requests())
        );
    }

    async fn write_requests(&self) -> Result<(), Unavailable> {
        let mut merchants = self.written.lock().await;
        let batch = self.unwritten.take();
        if batch.is_empty() {
            return Ok(());
        }
        let written = self.database.write_requests(&batch).await;
        if written.is_ok() {
            merchants.extend(batch.requests.into_iter().map(|(merchant, _, _)| merchant));
        } else {
            self.unwritten.put_back(batch);
        }
        written
    }

    async fn trim_requests(&self) -> Result<(), Unavailable> {
        let merchants = std::mem::take(&mut *self.written.lock().await);
        if merchants.is_empty() {
            return Ok(());
        }
        let trimmed = self.database.trim_requests(&merchants).await;
        if trimmed.is_err() {
            self.written.lock().await.extend(merchants);
        }
        trimmed
    }

    /// Writes the listed requests and deletes old ones before the store is closed.
    pub(super) async fn finish(&self) {
        if let Err(error) = self.write_requests().await {
            tracing::warn!(error = %printable(error), "the last requests are not listed");
        } else if let Err(error) = self.trim_requests().await {
            tracing::warn!(error = %printable(error), "old requests are not deleted");
        }
    }
}

/// Does something with the list of requests at intervals. Logs when it begins to fail, not each time.
async fn repeat<F: Future<Output = Result<(), Unavailable>>>(interval: Duration, done: &str, work: impl Fn() -> F) {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut is_failing = false;
    loop {
        ticks.tick().await;
        match work().await {
            Ok(()) => is_failing = false,
            Err(error) if !std::mem::replace(&mut is_failing, true) => {
                tracing::error!(error = %printable(error), "the list of requests is not {done}");
            }
            Err(_) => {}
        }
    }
}
