//! The state that instances share beside the store's records: each merchant as of a request, its faults and its newest requests.

use super::locks::MerchantLock;
use super::{Postgres, STATEMENT_DEADLINE, does_not_answer};
use crate::sandbox::faults::{AddFaultError, Fault, FaultKind, MAX_FAULTS, operation_named};
use crate::sandbox::requests::{Batch, MAX_REQUESTS, Request};
use crate::sandbox::store::Unavailable;
use sqlx::postgres::{PgBindIterExt, PgRow};
use sqlx::{Connection, PgConnection, Row};
use std::collections::BTreeSet;

/// A merchant as of one request.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct SharedMerchant {
    pub(in crate::sandbox) id: String,
    pub(in crate::sandbox) name: String,
    /// The offset of its clock from the service's, in seconds.
    pub(in crate::sandbox) clock_offset: i64,
    /// Whether faults wait.
    pub(in crate::sandbox) has_faults: bool,
    /// The number of the request, greater than those of all earlier requests to any instance since the database's last crash.
    pub(in crate::sandbox) number: i64,
    /// The latest stored second of the service's clock.
    pub(in crate::sandbox) latest_second: i64,
}

/// The column by which merchants are found.
#[derive(Clone, Copy, Debug)]
pub(in crate::sandbox) enum By {
    Id,
    /// The fingerprint of the secret key.
    Key,
}

/// Reads merchants with all that a request needs of them: one statement, so one moment. A sequence logs one in 32 of its numbers, and the
/// statement would wait for the disk. It need not: a reset, which depends on a number, is stored by a later commit, which writes the log up to there.
/// After a crash of the database, which empties the list of requests, a number may come again: then one of the two requests is not listed.
macro_rules! merchants {
    ($columns:literal, $condition:expr) => {
        concat!(
            "SELECT id, name, clock_offset, (SELECT latest_second FROM service) AS latest_second, ",
            "nextval('request_numbers') AS number, ",
            "EXISTS (SELECT FROM faults WHERE faults.merchant = merchants.id AND remaining > 0) AS has_faults",
            $columns,
            " FROM merchants CROSS JOIN set_config('synchronous_commit', 'off', true) ",
            $condition
        )
    };
}

/// Reads the merchant of each text in `$1`, with the place of the text among them, from 1.
macro_rules! merchants_by {
    ($column:literal) => {
        merchants!(
            ", nth",
            concat!(
                "JOIN unnest($1::text[]) WITH ORDINALITY AS wanted (text, nth) ON wanted.text = merchants.",
                $column
            )
        )
    };
}

impl Postgres {
    /// The first merchant as of now.
    pub(in crate::sandbox) async fn first_merchant(&self) -> Result<Option<SharedMerchant>, Unavailable> {
        let first = sqlx::query(merchants!("", "WHERE place = 0"));
        self.optional(first).await?.as_ref().map(read_merchant).transpose()
    }

    /// The merchant of each text, as of now, with a number of its own. `None` if there is none.
    pub(in crate::sandbox) async fn merchants_by(
        &self,
        by: By,
        texts: &[String],
    ) -> Result<Vec<Option<SharedMerchant>>, Unavailable> {
        let statement = match by {
            By::Id => merchants_by!("id"),
            By::Key => merchants_by!("key_fingerprint"),
        };
        // The server would refuse U+0000, and with it the texts of the others. No row has it.
        let texts = texts.iter().map(|text| (!text.contains('\0')).then_some(text.as_str()));
        let mut found = vec![None; texts.len()];
        for row in self.all(sqlx::query(statement).bind(texts.bind_iter())).await? {
            let nth = usize::try_from(row.try_get::<i64, _>("nth")?).unwrap_or_default();
            let place = found.get_mut(nth.wrapping_sub(1)).ok_or_else(|| Unavailable::because("a row has no place"))?;
            *place = Some(read_merchant(&row)?);
        }
        Ok(found)
    }

    /// Every merchant.
    pub(in crate::sandbox) async fn all_merchants(&self) -> Result<Vec<SharedMerchant>, Unavailable> {
        self.all(sqlx::query(merchants!("", "ORDER BY place, id"))).await?.iter().map(read_merchant).collect()
    }

    /// Waits for a merchant's lock.
    pub(in crate::sandbox) async fn lock(&self, merchant: &str) -> Result<MerchantLock, Unavailable> {
        self.locks.lock(merchant).await
    }

    /// A merchant's lock. `None` if other work has it.
    pub(in crate::sandbox) async fn try_lock(&self, merchant: &str) -> Result<Option<MerchantLock>, Unavailable> {
        self.locks.try_lock(merchant).await
    }

    /// Closes the connections of the locks.
    pub(in crate::sandbox::store) async fn close_locks(&self) {
        self.locks.close().await;
    }

    /// Adds a fault after a merchant's others.
    pub(in crate::sandbox) async fn add_fault(&self, merchant: &str, fault: &Fault) -> Result<(), AddFaultError> {
        let mut connection = self.readers.acquire().await.map_err(Unavailable::from)?;
        match tokio::time::timeout(STATEMENT_DEADLINE, add_fault(&mut connection, merchant, fault)).await {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false)) => Err(AddFaultError::TooMany),
            Ok(Err(error)) => Err(Unavailable::from(error).into()),
            Err(_) => {
                connection.close_on_drop();
                Err(does_not_answer().into())
            }
        }
    }

    /// Takes a merchant's oldest fault of this operation, and decrements its count. Another instance that takes the same fault waits, and
    /// then takes what is left.
    pub(in crate::sandbox) async fn take_fault(
        &self,
        merchant: &str,
        operation: &str,
    ) -> Result<Option<FaultKind>, Unavailable> {
        let text = "UPDATE faults SET remaining = remaining - 1 WHERE remaining > 0 AND seq = \
            (SELECT seq FROM faults WHERE merchant = $1 AND operation = $2 AND remaining > 0 ORDER BY seq LIMIT 1 FOR UPDATE) \
            RETURNING fault";
        let taken = self.optional(sqlx::query(text).bind(merchant).bind(operation)).await?;
        let Some(taken) = taken else { return Ok(None) };
        let kind = FaultKind::read(taken.try_get("fault")?);
        kind.map(Some).ok_or_else(|| Unavailable::because("a fault cannot be read"))
    }

    /// A merchant's waiting faults, in the order they were added.
    pub(in crate::sandbox) async fn faults(&self, merchant: &str) -> Result<Vec<Fault>, Unavailable> {
        let text = "SELECT operation, fault, remaining FROM faults WHERE merchant = $1 AND remaining > 0 ORDER BY seq";
        self.all(sqlx::query(text).bind(merchant)).await?.iter().map(read_fault).collect()
    }

    /// Removes a merchant's waiting faults.
    pub(in crate::sandbox) async fn clear_faults(&self, merchant: &str) -> Result<(), Unavailable> {
        self.all(sqlx::query("DELETE FROM faults WHERE merchant = $1").bind(merchant)).await.map(drop)
    }

    /// Writes requests that have arrived and statuses of responses. A request from before its merchant's last reset is left out.
    pub(in crate::sandbox) async fn write_requests(&self, batch: &Batch) -> Result<(), Unavailable> {
        if !batch.requests.is_empty() {
            let new = "INSERT INTO requests (number, merchant, record, status) \
                SELECT new.number, new.merchant, new.record, new.status \
                FROM unnest($1::bigint[], $2::text[], $3::text[], $4::integer[]) AS new (number, merchant, record, status) \
                JOIN merchants ON merchants.id = new.merchant AND merchants.reset_at_number < new.number \
                ON CONFLICT (number) DO UPDATE SET status = coalesce(excluded.status, requests.status) \
                WHERE requests.merchant = excluded.merchant";
            let requests = || batch.requests.iter();
            let status = |request: &Request| request.status.map(i32::from);
            let new = sqlx::query(new)
                .bind(requests().map(|(_, number, _)| *number).bind_iter())
                .bind(requests().map(|(merchant, _, _)| merchant.as_str()).bind_iter())
                .bind(requests().map(|(_, _, request)| request.to_json().to_string()).bind_iter())
                .bind(requests().map(|(_, _, request)| status(request)).bind_iter());
            self.all(new).await?;
        }
        if !batch.statuses.is_empty() {
            let text = "UPDATE requests SET status = new.status FROM unnest($1::bigint[], $2::integer[]) AS new (number, status) \
                WHERE requests.number = new.number";
            let statuses = sqlx::query(text)
                .bind(batch.statuses.iter().map(|(number, _)| *number).bind_iter())
                .bind(batch.statuses.iter().map(|(_, status)| i32::from(*status)).bind_iter());
            self.all(statuses).await?;
        }
        Ok(())
    }

    /// Deletes all but the newest requests of these merchants. Those that another instance is deleting are left to it.
    pub(in crate::sandbox) async fn trim_requests(&self, merchants: &BTreeSet<String>) -> Result<(), Unavailable> {
        let text = "DELETE FROM requests WHERE number IN (SELECT old.number \
            FROM unnest($1::text[]) AS of (merchant) CROSS JOIN LATERAL (SELECT number FROM requests \
            WHERE merchant = of.merchant ORDER BY number DESC OFFSET $2 LIMIT 1) AS edge \
            JOIN requests AS old ON old.merchant = of.merchant AND old.number <= edge.number FOR UPDATE OF old SKIP LOCKED)";
        let old = sqlx::query(text)
            .bind(merchants.iter().map(String::as_str).bind_iter())
            .bind(i64::try_from(MAX_REQUESTS).unwrap_or(i64::MAX));
        self.all(old).await.map(drop)
    }

    /// A merchant's newest requests, oldest first.
    pub(in crate::sandbox) async fn requests(&self, merchant: &str) -> Result<Vec<Request>, Unavailable> {
        let text = "SELECT record, status FROM requests JOIN merchants ON merchants.id = merchant AND reset_at_number < number \
            WHERE merchant = $1 ORDER BY number DESC LIMIT $2";
        let limit = i64::try_from(MAX_REQUESTS).unwrap_or(i64::MAX);
        let rows = self.all(sqlx::query(text).bind(merchant).bind(limit)).await?;
        let requests: Result<Vec<_>, _> = rows.iter().rev().map(read_request).collect();
        // A newer version may have operations that this one does not know.
        Ok(requests?.into_iter().flatten().collect())
    }
}

/// Adds a fault after a merchant's others. `false` if too many wait.
async fn add_fault(connection: &mut PgConnection, merchant: &str, fault: &Fault) -> Result<bool, sqlx::Error> {
    let mut transaction = connection.begin().await?;
    // Others who add wait here, so that the number of faults is exact.
    let merchants = sqlx::query("SELECT FROM merchants WHERE id = $1 FOR UPDATE").bind(merchant);
    merchants.execute(&mut *transaction).await?;
    let done = sqlx::query("DELETE FROM faults WHERE merchant = $1 AND remaining = 0").bind(merchant);
    done.execute(&mut *transaction).await?;
    let waiting = sqlx::query_scalar("SELECT count(*) FROM faults WHERE merchant = $1").bind(merchant);
    let waiting: i64 = waiting.fetch_one(&mut *transaction).await?;
    if usize::try_from(waiting).is_ok_and(|waiting| waiting >= MAX_FAULTS) {
        return Ok(false);
    }
    if fault.count > 0 {
        let text = "INSERT INTO faults (merchant, operation, fault, remaining) VALUES ($1, $2, $3, $4)";
        let added = sqlx::query(text)
            .bind(merchant)
            .bind(fault.operation)
            .bind(fault.to_json().to_string())
            .bind(i64::from(fault.count));
        added.execute(&mut *transaction).await?;
    }
    transaction.commit().await.map(|()| true)
}

fn read_merchant(row: &PgRow) -> Result<SharedMerchant, Unavailable> {
    Ok(SharedMerchant {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        clock_offset: row.try_get("clock_offset")?,
        has_faults: row.try_get("has_faults")?,
        number: row.try_get("number")?,
        latest_second: row.try_get("latest_second")?,
    })
}

fn read_fault(row: &PgRow) -> Result<Fault, Unavailable> {
    let unreadable = || Unavailable::because("a fault cannot be read");
    Ok(Fault {
        operation: operation_named(row.try_get("operation")?).map_err(|_| unreadable())?,
        kind: FaultKind::read(row.try_get("fault")?).ok_or_else(unreadable)?,
        count: u32::try_from(row.try_get::<i64, _>("remaining")?).map_err(|_| unreadable())?,
    })
}

fn read_request(row: &PgRow) -> Result<Option<Request>, Unavailable> {
    let status: Option<i32> = row.try_get("status")?;
    let request = Request::read(row.try_get("record")?);
    Ok(request.map(|request| Request { status: status.and_then(|status| u16::try_from(status).ok()), ..request }))
}
