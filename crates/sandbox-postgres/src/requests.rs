//! The lists of requests. An instance keeps its newest in memory, and writes them at intervals: no request waits for that.

use crate::Readers;
use guichet::values::printable;
use guichet_sandbox::store::MAX_REQUESTS;
use guichet_sandbox::store::sql::StoredRow as _;
use guichet_sandbox::{Request, Unavailable};
use sqlx::postgres::PgBindIterExt as _;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often the listed requests are written. Another instance shows them so much later.
const WRITING_INTERVAL: Duration = Duration::from_millis(250);
/// How often old requests are deleted. Seldom, because until its next vacuum PostgreSQL passes over all that were deleted before.
const TRIMMING_INTERVAL: Duration = Duration::from_secs(10);
/// The most requests that wait to be written.
pub(crate) const MAX_UNWRITTEN: usize = 10 * MAX_REQUESTS;

/// The requests of an instance, and those of the others in the database.
#[derive(Debug)]
pub(crate) struct Requests {
    readers: Readers,
    unwritten: Mutex<Batch>,
    /// The merchants whose requests were written since the last trimming. Held while requests are written: a list waits for those that
    /// are being written.
    written: tokio::sync::Mutex<BTreeSet<String>>,
}

impl Requests {
    pub(crate) fn new(readers: Readers) -> Self {
        Self { readers, unwritten: Mutex::default(), written: tokio::sync::Mutex::default() }
    }

    /// Lists a request that has arrived. Its number is greater than those of all earlier requests.
    pub(crate) fn add(&self, merchant: &str, number: i64, request: Request) {
        self.unwritten().add(merchant, number, request);
    }

    /// Records the status of a response.
    pub(crate) fn record_status(&self, number: i64, status: u16) {
        self.unwritten().record_status(number, status);
    }

    fn unwritten(&self) -> MutexGuard<'_, Batch> {
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A merchant's newest requests, oldest first. Those of this instance are written first.
    pub(crate) async fn list(&self, merchant: &str) -> Result<Vec<Request>, Unavailable> {
        self.write().await?;
        let text = "SELECT record, status FROM requests JOIN merchants ON merchants.id = merchant AND reset_at_number < number \
            WHERE merchant = $1 ORDER BY number DESC LIMIT $2";
        let limit = i64::try_from(MAX_REQUESTS).unwrap_or(i64::MAX);
        let mut requests = Vec::new();
        for row in self.readers.rows(text, &[merchant.into(), limit.into()]).await?.iter().rev() {
            let record = serde_json::from_str(row.text("record")?).map_err(|_| unreadable())?;
            // A newer version may have operations that this one does not know.
            let Some(mut request) = Request::from_json(&record) else { continue };
            request.status = row.optional_number("status")?.and_then(|status| u16::try_from(status).ok());
            requests.push(request);
        }
        Ok(requests)
    }

    /// Writes the listed requests and deletes old ones, until the future is dropped.
    pub(crate) async fn keep_writing(&self) {
        tokio::join!(
            repeat(WRITING_INTERVAL, "written", || self.write()),
            repeat(TRIMMING_INTERVAL, "trimmed", || self.trim())
        );
    }

    /// Writes the listed requests and deletes old ones before the database is closed.
    pub(crate) async fn finish(&self) {
        if let Err(error) = self.write().await {
            tracing::warn!(error = %printable(&error), "the last requests are not listed");
        } else if let Err(error) = self.trim().await {
            tracing::warn!(error = %printable(&error), "old requests are not deleted");
        }
    }

    async fn write(&self) -> Result<(), Unavailable> {
        let mut merchants = self.written.lock().await;
        let batch = std::mem::take(&mut *self.unwritten());
        if batch.is_empty() {
            return Ok(());
        }
        let written = self.readers.write_requests(&batch).await;
        if written.is_ok() {
            merchants.extend(batch.requests.into_iter().map(|(merchant, _, _)| merchant));
        } else {
            self.unwritten().put_back(batch);
        }
        written
    }

    async fn trim(&self) -> Result<(), Unavailable> {
        let merchants = std::mem::take(&mut *self.written.lock().await);
        if merchants.is_empty() {
            return Ok(());
        }
        let trimmed = self.readers.trim_requests(&merchants).await;
        if trimmed.is_err() {
            self.written.lock().await.extend(merchants);
        }
        trimmed
    }
}

impl Readers {
    /// Writes requests that have arrived and statuses of responses. A request from before its merchant's last reset is left out.
    pub(crate) async fn write_requests(&self, batch: &Batch) -> Result<(), Unavailable> {
        if !batch.requests.is_empty() {
            let new = "INSERT INTO requests (number, merchant, record, status) \
                SELECT new.number, new.merchant, new.record, new.status \
                FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS new (number, merchant, record, status) \
                JOIN merchants ON merchants.id = new.merchant AND merchants.reset_at_number < new.number \
                ON CONFLICT (number) DO UPDATE SET status = coalesce(excluded.status, requests.status) \
                WHERE requests.merchant = excluded.merchant";
            let requests = || batch.requests.iter();
            let new = sqlx::query(new)
                .bind(requests().map(|(_, number, _)| *number).bind_iter())
                .bind(requests().map(|(merchant, _, _)| merchant.as_str()).bind_iter())
                .bind(requests().map(|(_, _, request)| request.to_json().to_string()).bind_iter())
                .bind(requests().map(|(_, _, request)| request.status.map(i64::from)).bind_iter());
            self.all(new).await?;
        }
        if !batch.statuses.is_empty() {
            let text = "UPDATE requests SET status = new.status FROM unnest($1::bigint[], $2::bigint[]) AS new (number, status) \
                WHERE requests.number = new.number";
            let statuses = sqlx::query(text)
                .bind(batch.statuses.iter().map(|(number, _)| *number).bind_iter())
                .bind(batch.statuses.iter().map(|(_, status)| i64::from(*status)).bind_iter());
            self.all(statuses).await?;
        }
        Ok(())
    }

    /// Deletes all but the newest requests of these merchants. Those that another instance is deleting are left to it.
    pub(crate) async fn trim_requests(&self, merchants: &BTreeSet<String>) -> Result<(), Unavailable> {
        let text = "DELETE FROM requests WHERE number IN (SELECT old.number \
            FROM unnest($1::text[]) AS of (merchant) CROSS JOIN LATERAL (SELECT number FROM requests \
            WHERE merchant = of.merchant ORDER BY number DESC OFFSET $2 LIMIT 1) AS edge \
            JOIN requests AS old ON old.merchant = of.merchant AND old.number <= edge.number FOR UPDATE OF old SKIP LOCKED)";
        let old = sqlx::query(text)
            .bind(merchants.iter().map(String::as_str).bind_iter())
            .bind(i64::try_from(MAX_REQUESTS).unwrap_or(i64::MAX));
        self.all(old).await.map(drop)
    }
}

/// The requests and statuses of this instance that are not in the database yet.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The merchant and the number of each request, in order of arrival.
    pub(crate) requests: VecDeque<(String, i64, Request)>,
    /// The numbers of requests that were written before, and the statuses of their responses.
    pub(crate) statuses: VecDeque<(i64, u16)>,
}

impl Batch {
    pub(crate) fn add(&mut self, merchant: &str, number: i64, request: Request) {
        self.requests.push_back((merchant.to_owned(), number, request));
        self.keep_newest();
    }

    pub(crate) fn record_status(&mut self, number: i64, status: u16) {
        match self.requests.iter_mut().rev().find(|(_, of, _)| *of == number) {
            Some((_, _, request)) => request.status = Some(status),
            None => self.statuses.push_back((number, status)),
        }
        self.keep_newest();
    }

    /// Puts back what could not be written.
    pub(crate) fn put_back(&mut self, failed: Self) {
        let newer = std::mem::replace(self, failed);
        self.requests.extend(newer.requests);
        self.statuses.extend(newer.statuses);
        self.keep_newest();
    }

    fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.statuses.is_empty()
    }

    /// Drops the oldest, so that the memory is bounded while the database fails.
    fn keep_newest(&mut self) {
        self.requests.drain(..self.requests.len().saturating_sub(MAX_UNWRITTEN));
        self.statuses.drain(..self.statuses.len().saturating_sub(MAX_UNWRITTEN));
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
                tracing::error!(error = %printable(&error), "the list of requests is not {done}");
            }
            Err(_) => {}
        }
    }
}

fn unreadable() -> Unavailable {
    Unavailable::because("a request cannot be read")
}
