//! A customer pays and closes the tab, and no page ever asks how it went: so the shop asks by itself.

use super::seller::Seller;
use crate::native::{Client, Refused, settle};
use std::time::Duration;

/// How many payments are asked about at once: a shelf of abandoned ones must not become a flood.
const MOST_AT_ONCE: u32 = 20;
/// How long the service is left alone after it did not answer.
const AFTER_A_FAILURE: Duration = Duration::from_secs(60);

/// Asks about the payments that are not settled yet, some at a time and in turns, for as long as the shop is open.
pub(super) async fn keep_settling(client: Client, seller: Seller, every: Duration) {
    let mut after = 0;
    loop {
        let pause = match round(&client, &seller, &mut after).await {
            Ok(()) => every,
            Err(_) => AFTER_A_FAILURE.max(every),
        };
        tokio::time::sleep(pause).await;
    }
}

/// One turn. It ends at the first failure, whose cause is in the log, and the next turn goes on behind it.
async fn round(client: &Client, seller: &Seller, after: &mut i64) -> Result<(), Refused> {
    let payments = seller.orders.unsettled(*after, MOST_AT_ONCE).await.map_err(Refused::broken)?;
    if payments.is_empty() {
        *after = 0;
    }
    for (row, sold) in payments {
        *after = row;
        match settle(client, seller, &sold).await {
            // The service has forgotten it, as a sandbox does whose database was deleted, or has another payment under its
            // name: neither holds up the others.
            Err(refused) if ["resource_missing", "payment_mismatch"].contains(&refused.code()) => {}
            other => drop(other?),
        }
    }
    Ok(())
}
