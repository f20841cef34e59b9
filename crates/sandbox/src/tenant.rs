//! A merchant of a running sandbox, for tests in Rust.

use super::events::Event;
use super::faults::{AddFaultError, Fault};
use super::requests::Request;
use super::rules::HandsetDecision;
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

    /// The events of its newest 1,000 payments and eSIM orders, and the newest 1,000 events of its subscriptions, in
    /// order.
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

    /// The customer's phone of this merchant's payments: it decides those by a test phone that ends in 0000020.
    #[must_use]
    pub fn handset(&self) -> Handset<'_> {
        Handset(&self.clock)
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

    /// Moves it forward and returns its new time. Work that becomes due, such as charges of subscriptions, is done
    /// before this returns, each at its own time.
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

/// The customer's phone, which waits until a test decides: [`Tenant::handset`]. A payment is named by its reference, or
/// its id.
///
/// ```no_run
/// # async fn approve(shop: guichet_sandbox::Tenant) -> Result<(), guichet_sandbox::HandsetError> {
/// // The customer pays ORDER-17 by the phone 237670000020.
/// shop.handset().approve("ORDER-17").await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Handset<'a>(&'a Clock);

impl Handset<'_> {
    /// The payer approves: the payment succeeds. If the operator has reported a timeout before, this is a late
    /// approval.
    ///
    /// # Errors
    /// If no attempt of the payment waits for it, or the database cannot be used.
    pub async fn approve(&self, payment: &str) -> Result<(), HandsetError> {
        self.decide(payment, HandsetDecision::Approve).await
    }

    /// The operator reports a timeout, and approves 60 seconds later.
    ///
    /// # Errors
    /// As [`Handset::approve`].
    pub async fn approve_late(&self, payment: &str) -> Result<(), HandsetError> {
        self.decide(payment, HandsetDecision::ApproveLate).await
    }

    /// The payer does not react, and the operator reports a timeout.
    ///
    /// # Errors
    /// As [`Handset::approve`].
    pub async fn ignore(&self, payment: &str) -> Result<(), HandsetError> {
        self.decide(payment, HandsetDecision::Ignore).await
    }

    /// The payer refuses.
    ///
    /// # Errors
    /// As [`Handset::approve`].
    pub async fn refuse(&self, payment: &str) -> Result<(), HandsetError> {
        self.decide(payment, HandsetDecision::Refuse).await
    }

    async fn decide(&self, payment: &str, decision: HandsetDecision) -> Result<(), HandsetError> {
        let payment = payment.to_owned();
        self.0
            .run(|service, merchant| async move {
                service.catch_up().await;
                let decided = service.decide_on_handset(&merchant, &payment, None, decision).await;
                decided.map(drop).map_err(|problem| HandsetError(problem.message))
            })
            .await
    }
}

/// Why the customer's phone decides nothing.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct HandsetError(String);

impl From<Unavailable> for HandsetError {
    fn from(error: Unavailable) -> Self {
        Self(error.to_string())
    }
}

/// Runs work with the store on the sandbox's own runtime.
pub(super) async fn run_on<T: Send + 'static, E: From<Unavailable> + Send + 'static>(
    runtime: &Handle,
    work: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T, E> {
    runtime.spawn(work).await.unwrap_or_else(|_| Err(Unavailable::stopped().into()))
}
