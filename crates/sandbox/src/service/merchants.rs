//! The merchants of the service. The instances that share the database keep them: each request reads its merchant, and uses nothing of it
//! for another request.

use crate::clock::ServiceClock;
use crate::rules::OperatorStatus;
use crate::store::{Backend, By, MerchantRow, SharedMerchant, Write};
use crate::tokens::{self, SECRET_KEY};
use crate::unavailable::Unavailable;
use guichet::values::{Moment, Secret};
use std::ops::Deref;
use std::sync::Arc;

/// One merchant, as a request sees it.
#[derive(Clone)]
pub(crate) struct Merchant {
    shared: Arc<dyn SharedMerchant>,
    clock: Arc<ServiceClock>,
    /// When it was read, by the service's clock.
    read_at: Moment,
}

impl Deref for Merchant {
    type Target = dyn SharedMerchant;

    fn deref(&self) -> &Self::Target {
        &*self.shared
    }
}

impl Merchant {
    /// The time on which its responses depend: the service's clock plus its offset. It is stored.
    pub(crate) fn now(&self) -> Moment {
        self.clock.now().plus(self.clock_offset())
    }

    /// The current time of its clock, which may not be stored yet. No response may depend on it.
    #[cfg(feature = "serve")]
    pub(crate) fn peek(&self) -> Moment {
        self.clock.peek().plus(self.clock_offset())
    }
}

/// All merchants.
pub(crate) struct Merchants {
    clock: Arc<ServiceClock>,
    database: Backend,
}

impl Merchants {
    pub(crate) fn new(database: Backend, clock: Arc<ServiceClock>) -> Self {
        Self { clock, database }
    }

    fn of_request(&self, shared: Arc<dyn SharedMerchant>) -> Merchant {
        // No response may depend on an earlier second than one that another instance has shown.
        self.clock.observe(shared.latest_second());
        Merchant { shared, clock: Arc::clone(&self.clock), read_at: self.clock.now() }
    }

    async fn find(&self, by: By<'_>) -> Result<Option<Merchant>, Unavailable> {
        Ok(self.database.instances.merchant(by).await?.map(|shared| self.of_request(shared)))
    }

    /// The first merchant.
    pub(crate) async fn first(&self) -> Result<Merchant, Unavailable> {
        self.find(By::First).await?.ok_or_else(|| Unavailable::because("the first merchant is missing"))
    }

    /// A merchant by its id.
    pub(crate) async fn by_id(&self, id: &str) -> Result<Option<Merchant>, Unavailable> {
        self.find(By::Id(id)).await
    }

    /// A merchant by the fingerprint of its secret key.
    pub(crate) async fn by_key(&self, key_fingerprint: &str) -> Result<Option<Merchant>, Unavailable> {
        self.find(By::Key(key_fingerprint)).await
    }

    /// Every merchant.
    #[cfg(feature = "serve")]
    pub(crate) async fn all(&self) -> Result<Vec<Merchant>, Unavailable> {
        let all = self.database.instances.merchants().await?;
        Ok(all.into_iter().map(|shared| self.of_request(shared)).collect())
    }

    /// A merchant that was read before, as it is now.
    pub(crate) async fn again(&self, merchant: &Merchant) -> Result<Merchant, Unavailable> {
        self.stored(merchant.id()).await
    }

    /// A merchant as it is now, for a request that may have waited since it read its merchant. A request that took less than a second
    /// did not wait.
    pub(crate) async fn after_wait(&self, merchant: Merchant) -> Result<Merchant, Unavailable> {
        if merchant.read_at == self.clock.now() { Ok(merchant) } else { self.again(&merchant).await }
    }

    async fn stored(&self, id: &str) -> Result<Merchant, Unavailable> {
        self.by_id(id).await?.ok_or_else(|| Unavailable::because("a merchant is missing"))
    }

    /// Creates a merchant. Its secret key is returned this once.
    pub(crate) async fn make(&self, name: &str) -> Result<(Merchant, Secret), Unavailable> {
        let secret_key = tokens::secret(SECRET_KEY);
        let row = MerchantRow::new(name, &secret_key);
        let id = row.id.clone();
        self.database.store.write(Write::AddMerchant(row.clone())).await?;
        self.database.instances.merchant_added(row);
        Ok((self.stored(&id).await?, secret_key))
    }

    /// Moves a merchant's clock forward. Returns the merchant with its new time.
    pub(crate) async fn advance(&self, merchant: &Merchant, seconds: u32) -> Result<Merchant, Unavailable> {
        let seconds = i64::from(seconds);
        // The database and the memory change together: no reset can run in between.
        let _lock = merchant.lock().await?;
        self.database.store.write(Write::AdvanceClock { merchant: merchant.id().to_owned(), seconds }).await?;
        merchant.clock_moved(seconds);
        self.again(merchant).await
    }

    /// Changes how an operator works for a merchant. Returns the merchant with its new statuses.
    pub(crate) async fn set_operator(
        &self,
        merchant: &Merchant,
        code: &str,
        status: OperatorStatus,
    ) -> Result<Merchant, Unavailable> {
        let _lock = merchant.lock().await?;
        let operators = self.again(merchant).await?.operators().with(code, status);
        let merchant_id = merchant.id().to_owned();
        self.database.store.write(Write::SetOperators { merchant: merchant_id, operators: operators.clone() }).await?;
        merchant.operators_changed(operators);
        self.again(merchant).await
    }

    /// Deletes everything of a merchant but its name and its key. Its clock shows the service's time again. Returns the merchant as it is
    /// then.
    pub(crate) async fn reset(&self, merchant: &Merchant) -> Result<Merchant, Unavailable> {
        let _lock = merchant.lock().await?;
        self.database.store.write(Write::Reset { merchant: merchant.id().to_owned() }).await?;
        merchant.was_reset();
        self.again(merchant).await
    }

    /// Does what the instances do in the background, as long as this is polled.
    #[cfg(feature = "serve")]
    pub(crate) async fn run(&self) {
        self.database.instances.run().await;
    }

    /// Closes the database.
    pub(crate) async fn close(&self) {
        self.database.close().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WallClock;
    use crate::store::{Memory, OneInstance, Sqlite, Store};

    #[tokio::test]
    async fn a_clock_moved_during_a_reset_shows_the_stored_time() {
        a_clock_moved_during_a_reset(Arc::new(Memory::default())).await;
        a_clock_moved_during_a_reset(Arc::new(Sqlite::without_file().await)).await;
    }

    async fn a_clock_moved_during_a_reset(store: Arc<dyn Store>) {
        let clock = Arc::new(ServiceClock::load(&*store, WallClock::default()).await.unwrap());
        let first = MerchantRow::new("Shop", &Secret::new("sk_test_1"));
        let instances = Arc::new(OneInstance::load(&*store, first).await.unwrap());
        let merchants = Merchants::new(Backend { store: Arc::clone(&store), instances }, clock);
        let merchant = merchants.first().await.unwrap();
        for reset_first in [true, false] {
            let (reset, advance) = (merchants.reset(&merchant), merchants.advance(&merchant, 1_000));
            if reset_first {
                let (reset, advanced) = tokio::join!(reset, advance);
                assert!(reset.is_ok() && advanced.is_ok());
            } else {
                let (advanced, reset) = tokio::join!(advance, reset);
                assert!(reset.is_ok() && advanced.is_ok());
            }
            let stored = store.merchants().await.unwrap()[0].clock_offset;
            assert_eq!(merchant.clock_offset(), stored);
        }
    }
}
