//! What a bookkeeper looks at.

use super::{Books, Day, Ledger, Mismatch, OrderRefund, Refused};
use crate::shop::ledger::{for_each_order, mismatches, refunds};

/// Each of these reads every order of the store.
impl<T: Books> Ledger<T> {
    /// Every refund that is due, by the name of its order. A person makes it at the payment company, and
    /// [`resolve`](Self::resolve) notes who has.
    ///
    /// # Errors
    /// [`Refused`] if the store fails.
    pub async fn refunds_due(&self) -> Result<Vec<OrderRefund>, Refused> {
        let mut all = Vec::new();
        let each = for_each_order(&self.shared.store, |order| all.extend(refunds(order)));
        each.await.map_err(Refused::broken)?;
        Ok(all)
    }

    /// Every payment that is not what was sent, or that cannot be read, by the name of its order. A person looks for
    /// it at the payment company, and decides with [`resolve`](Self::resolve).
    ///
    /// # Errors
    /// [`Refused`] if the store fails.
    pub async fn mismatches(&self) -> Result<Vec<Mismatch>, Refused> {
        let (now, mut all) = (self.now().await?, Vec::new());
        let each = for_each_order(&self.shared.store, |order| all.extend(mismatches(order, now)));
        each.await.map_err(Refused::broken)?;
        Ok(all)
    }

    /// The sums of what was paid from `from` on and before `to`, both in Unix seconds, by method and currency.
    ///
    /// # Errors
    /// [`Refused`] if the store fails.
    pub async fn day(&self, from: i64, to: i64) -> Result<Day, Refused> {
        let mut day = Day::default();
        for_each_order(&self.shared.store, |order| day.add(order, from, to)).await.map_err(Refused::broken)?;
        Ok(day)
    }
}
