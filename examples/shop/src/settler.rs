//! Reads payments without any page: a customer may pay and close the tab.

use crate::open::ShopLedger;
use crate::seller::Seller;
use std::time::Duration;

/// Settles, and goes on after a panic: a shop that sells and does not settle would take money for orders that stay
/// unpaid.
pub(crate) async fn settle_for_ever(ledger: ShopLedger, seller: Seller, every: Duration) {
    while let Err(panicked) = tokio::spawn(keep_settling(ledger.clone(), seller.clone(), every)).await {
        tracing::error!(%panicked, "the settling has ended, and begins anew");
        tokio::time::sleep(every).await;
    }
}

/// Settles payments, round after round, for as long as the shop is open. The ledger decides which, and how often.
pub(crate) async fn keep_settling(ledger: ShopLedger, seller: Seller, every: Duration) {
    loop {
        // A failure is logged as a `Refused`.
        if let Ok(round) = ledger.settle_due(&seller).await {
            for (reference, id) in &round.not_readable {
                tracing::warn!(?reference, ?id, "a payment cannot be read: look for it at the payment company");
            }
        }
        tokio::time::sleep(every).await;
    }
}
