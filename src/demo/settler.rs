//! A customer pays and closes the tab, and no page ever asks how it went: so the shop asks by itself. An operator approves
//! an attempt late, and the customer has paid twice: so the shop goes on asking for a day after the end.

use super::seller::Seller;
use crate::native::{Client, Refused, settle};
use std::time::Duration;

/// How many payments are asked about at once: a shelf of abandoned ones must not become a flood.
const MOST_AT_ONCE: u32 = 20;
/// How many turns pass between two readings of a payment whose status is final.
const TURNS_OF_A_WATCH: u32 = 12;
/// How long the service is left alone after it did not answer.
const AFTER_A_FAILURE: Duration = Duration::from_secs(60);

/// Asks about the payments that are not settled yet, some at a time and in turns, for as long as the shop is open.
pub(super) async fn keep_settling(client: Client, seller: Seller, every: Duration) {
    let mut after = 0;
    loop {
        let pause = match round(&client, &seller, &mut after, every * TURNS_OF_A_WATCH).await {
            Ok(()) => every,
            Err(_) => AFTER_A_FAILURE.max(every),
        };
        tokio::time::sleep(pause).await;
    }
}

/// One turn. If the service does not answer or asks for patience, the turn ends, and the next one goes on behind that payment.
/// Any other failure concerns one payment: its cause is in the log, and the turn goes on.
async fn round(client: &Client, seller: &Seller, after: &mut i64, watch_every: Duration) -> Result<(), Refused> {
    let payments = seller.orders.to_ask_about(*after, MOST_AT_ONCE, watch_every).await.map_err(Refused::broken)?;
    if payments.is_empty() {
        *after = 0;
    }
    for payment in payments {
        *after = payment.row;
        match settle(client, seller, &payment.sold).await {
            // The service has forgotten it, as a sandbox does whose database was deleted, or has another payment under its
            // name: it counts as read, so that its watch ends.
            Err(refused) if ["resource_missing", "payment_mismatch"].contains(&refused.code()) => {}
            Err(refused) if matches!(refused.status(), 429 | 503) => return Err(refused),
            Err(_) => continue,
            Ok(_) => {}
        }
        seller.orders.was_read(&payment).await.map_err(Refused::broken)?;
    }
    Ok(())
}
