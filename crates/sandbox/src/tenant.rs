//! A merchant of a running sandbox, for tests in Rust.

use super::events::Event;
use super::faults::{AddFaultError, Fault};
use super::requests::Request;
use super::service::{Merchant, Service};
use super::unavailable::Unavailable;
use guichet::values::{Moment, Secret};
use std::sync::Arc;
use tokio::runtime::Handle;

/// One merchant of a sandbox: its own key, clock, customers and payments. Give each test one.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let sandbox = guichet_sandbox::Sandbox::start().await?;
/// let (one, other) = (sandbox.merchant().await?, sandbox.merchant().await?);
/// one.clock().advance(60).await?;
/// assert!(one.now().await? > other.now().await?);
/// assert_eq!(format!("{:?}", one.secret_key()), "***");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub struct Tenant {
    clock: Clock,
    secret_key: Secret,
    base_url: String,
}

impl Tenant {
    pub(super) fn new(clock: Clock, secret_key: Secret, base_url: String) -> Self {
        Self { clock, secret_key, base_url }
    }

    /// Its identifier in the control API.
    #[must_use]
    pub fn id(&self) -> &str {
        self.clock.merchant.id()
    }

    /// Its secret key. Prints as `***`.
    #[must_use]
    pub fn secret_key(&self) -> &Secret {
        &self.secret_key
    }

    /// The sandbox's address, without `/v1`.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Its clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The time on its clock.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn now(&self) -> Result<Moment, Unavailable> {
        Ok(self.clock.merchant.peek())
    }

    /// Makes the next calls of an operation by this merchant or its customers fail. [`Fault`] has an example.
    ///
    /// # Errors
    /// If 1,000 faults are waiting: use [`Fault::times`] instead. Or if the database cannot be written.
    pub async fn fault(&self, fault: Fault) -> Result<(), AddFaultError> {
        self.clock.merchant.add_fault(fault)
    }

    /// The waiting faults.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn faults(&self) -> Result<Vec<Fault>, Unavailable> {
        Ok(self.clock.merchant.faults())
    }

    /// Removes all waiting faults.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn clear_faults(&self) -> Result<(), Unavailable> {
        self.clock.merchant.clear_faults();
        Ok(())
    }

    /// The newest 1,000 requests of this merchant and its customers, oldest first.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn requests(&self) -> Result<Vec<Request>, Unavailable> {
        Ok(self.clock.merchant.requests())
    }

    /// The events of its newest 1,000 payments and eSIM orders, and the newest 1,000 events of its subscriptions, in order.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn events(&self) -> Result<Vec<Event>, Unavailable> {
        let events = |service: Arc<Service>, merchant| async move {
            service.catch_up().await;
            service.events(&merchant).await
        };
        self.clock.run(events).await
    }

    /// Deletes everything of this merchant but its name and its key, and sets its clock to the service's time.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn reset(&self) -> Result<(), Unavailable> {
        self.clock.run(|service, merchant| async move { service.merchants.reset(&merchant).await }).await
    }
}

impl std::fmt::Debug for Tenant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tenant").field("id", &self.id()).field("secret_key", &self.secret_key).finish_non_exhaustive()
    }
}

/// A merchant's clock: the wall clock, moved forward. [`Tenant`] has an example.
///
/// ```no_run
/// # async fn expire(shop: guichet_sandbox::Tenant) -> Result<(), guichet_sandbox::Unavailable> {
/// shop.clock().advance(30 * 60).await?; // every session has ended
/// # Ok(()) }
/// ```
pub struct Clock {
    merchant: Merchant,
    service: Arc<Service>,
    runtime: Handle,
}

impl Clock {
    pub(super) fn new(merchant: Merchant, service: Arc<Service>, runtime: Handle) -> Self {
        Self { merchant, service, runtime }
    }

    /// Runs work for the merchant on the sandbox's own runtime.
    async fn run<T, E, F>(&self, work: impl FnOnce(Arc<Service>, Merchant) -> F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Unavailable> + Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        run_on(&self.runtime, work(Arc::clone(&self.service), self.merchant.clone())).await
    }

    /// Moves it forward and returns its new time. Work that becomes due, such as charges of subscriptions, is done before this
    /// returns, each at its own time.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn advance(&self, seconds: u32) -> Result<Moment, Unavailable> {
        self.run(|service, merchant| async move { service.advance(&merchant, seconds).await }).await
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clock").field("merchant", &self.merchant.id()).finish_non_exhaustive()
    }
}

/// Runs work with the store on the sandbox's own runtime.
pub(super) async fn run_on<T: Send + 'static, E: From<Unavailable> + Send + 'static>(
    runtime: &Handle,
    work: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T, E> {
    runtime.spawn(work).await.unwrap_or_else(|_| Err(Unavailable::stopped().into()))
}
