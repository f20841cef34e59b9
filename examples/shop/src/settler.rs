//! Reads unsettled payments from the service, without any page. A customer may pay and close the tab. An operator may approve an
//! attempt late, so the shop goes on reading a payment for a day after its final status.

use crate::seller::Seller;
use futures_util::future::join_all;
use guichet::Client;
use guichet::native::{AskAgain, Refused, Sold, settle};
use sqlx::any::AnyRow;
use sqlx::{FromRow, Row};
use std::time::Duration;

const HALF_AN_HOUR: f64 = 30.0 * 60.0;
const A_DAY: f64 = 24.0 * 60.0 * 60.0;

/// A payment to read from the service now.
#[derive(Debug)]
pub(crate) struct Claimed {
    pub sold: Sold,
    /// The seconds since it was stored.
    pub age: f64,
    /// The seconds since its final status.
    pub final_for: Option<f64>,
}

impl FromRow<'_, AnyRow> for Claimed {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let sold = serde_json::from_str(row.try_get("sold")?).map_err(|error| sqlx::Error::Decode(error.into()))?;
        Ok(Self { sold, age: row.try_get("age")?, final_for: row.try_get("final_for")? })
    }
}

/// Settles payments, round after round, for as long as the shop is open.
pub(crate) async fn keep_settling(client: Client, seller: Seller, every: Duration) {
    loop {
        // A failure is logged as a `Refused`.
        if round(&client, &seller, every).await.unwrap_or(0) == 0 {
            tokio::time::sleep(every).await;
        }
    }
}

/// Reads the payments that are due, at most eight, all at the same time. Returns how many it has read.
pub(crate) async fn round(client: &Client, seller: &Seller, every: Duration) -> Result<usize, Refused> {
    let claimed = seller.database.claim().await?;
    let reads = join_all(claimed.iter().map(|payment| read(client, seller, payment, every))).await;
    Ok(reads.into_iter().filter(Result::is_ok).count())
}

/// Reads a payment. If it cannot, the claim stays, and the payment is read again in a minute.
async fn read(client: &Client, seller: &Seller, payment: &Claimed, every: Duration) -> Result<(), Refused> {
    let ask_again = match settle(client, seller, &payment.sold).await {
        // The service has no such payment (a sandbox whose database was deleted), or another one under this reference. It
        // counts as final, so that reading it ends.
        Err(refused) if ["resource_missing", "payment_mismatch"].contains(&refused.code()) => {
            seller.database.mark_final(&payment.sold).await?;
            AskAgain::ForADay
        }
        settled => settled?.ask_again,
    };
    seller.database.release(&payment.sold.payment_ref, pause(payment, ask_again, every)).await
}

/// In how many seconds to read a payment again: `every` so often, later more rarely, for a day after its final status and once more.
pub(crate) fn pause(payment: &Claimed, ask_again: AskAgain, every: Duration) -> Option<f64> {
    let every = every.as_secs_f64();
    match ask_again {
        AskAgain::ForADay if payment.final_for.is_none_or(|seconds| seconds < A_DAY) => Some(every * 12.0),
        AskAgain::ForADay | AskAgain::Never => None,
        _ if payment.age >= HALF_AN_HOUR => Some(every * 6.0),
        _ => Some(every),
    }
}
