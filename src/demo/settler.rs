//! Reads unsettled payments from the service, without any page. A customer may pay and close the tab. An operator may approve an
//! attempt late, so the shop goes on reading a payment for a day after its final status.

use super::seller::Seller;
use crate::native::{Client, Refused, settle};
use crate::protocol::is_retryable_status;
use std::time::Duration;

/// The most payments per round, so that many abandoned payments do not flood the service.
const MAX_PER_ROUND: u32 = 20;
/// A payment whose status is final is read once in this many rounds.
const ROUNDS_PER_FINAL_READ: u32 = 12;
/// The pause after the service did not respond.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(60);

/// Settles pending payments in rounds, for as long as the shop is open.
pub(super) async fn keep_settling(client: Client, seller: Seller, every: Duration) {
    let mut after = 0;
    loop {
        let pause = match round(&client, &seller, &mut after, every * ROUNDS_PER_FINAL_READ).await {
            Ok(()) => every,
            Err(_) => PAUSE_AFTER_FAILURE.max(every),
        };
        tokio::time::sleep(pause).await;
    }
}

/// One round. If the service does not respond, or responds with 429 or 503, the round ends, and the next one continues after that
/// payment. Any other error concerns one payment: it is logged, and the round continues.
async fn round(client: &Client, seller: &Seller, after: &mut i64, final_every: Duration) -> Result<(), Refused> {
    let payments = seller.orders.pending_payments(*after, MAX_PER_ROUND, final_every).await.map_err(Refused::broken)?;
    if payments.is_empty() {
        *after = 0;
    }
    for payment in payments {
        *after = payment.row;
        match settle(client, seller, &payment.sold).await {
            // The service has no such payment (a sandbox whose database was deleted), or another one under this reference. It
            // counts as read, so that reading it ends.
            Err(refused) if ["resource_missing", "payment_mismatch"].contains(&refused.code()) => {}
            Err(refused) if is_retryable_status(refused.status()) => return Err(refused),
            Err(_) => continue,
            Ok(_) => {}
        }
        seller.orders.mark_read(&payment).await.map_err(Refused::broken)?;
    }
    Ok(())
}
