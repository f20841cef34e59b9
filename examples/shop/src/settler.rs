//! Reads payments without any page: a customer may pay and close the tab.

use crate::open::ShopLedger;
use crate::seller::Seller;
use std::time::Duration;

/// Settles payments, round after round, for as long as the shop is open. The ledger decides which, and how often.
pub(crate) async fn keep_settling(ledger: ShopLedger, seller: Seller, every: Duration) {
    loop {
        // A failure is logged as a `Refused`.
        let is_behind = match ledger.settle_due(&seller).await {
            Ok(round) => {
                for (reference, id) in &round.not_readable {
                    tracing::warn!(?reference, ?id, "a payment cannot be read: look for it at the payment company");
                }
                round.due > round.read && round.read > 0
            }
            Err(_) => false,
        };
        if !is_behind {
            tokio::time::sleep(every).await;
        }
    }
}
