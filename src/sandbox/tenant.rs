//! A merchant of a running sandbox, for tests in Rust.

use super::events::Event;
use super::faults::Fault;
use super::requests::Request;
use super::service::{Merchant, Service};
use super::store::Unavailable;
use crate::values::{Moment, Secret};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use tokio::runtime::Handle;

/// One merchant of a sandbox: its own key, clock, customers and payments. Give each test one.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let sandbox = guichet::sandbox::Sandbox::start().await?;
/// let (one, other) = (sandbox.merchant().await?, sandbox.merchant().await?);
/// one.clock().advance(60).await?;
/// assert!(one.now() > other.now());
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
        &self.clock.merchant.id
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
    /// # Panics
    /// On PostgreSQL, if the database does not answer: this waits for it on the calling thread.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.clock.now()
    }
}

impl Tenant {
    /// Makes the next calls of an operation by this merchant or its customers fail. [`Fault`] has an example.
    ///
    /// # Panics
    /// If 1,000 faults are waiting: use [`Fault::times`] instead. On PostgreSQL also if the database does not answer: this waits for it on
    /// the calling thread.
    pub fn fault(&self, fault: Fault) {
        let merchant = Arc::clone(&self.clock.merchant);
        let added = self.clock.wait(async move { merchant.add_fault(fault).await });
        added.expect("no more than 1,000 faults wait at once, and the database answers");
    }

    /// The waiting faults.
    ///
    /// # Panics
    /// On PostgreSQL, if the database does not answer: this waits for it on the calling thread.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let merchant = Arc::clone(&self.clock.merchant);
        let faults = self.clock.wait(async move { merchant.faults().await });
        faults.expect("the database answers")
    }

    /// Removes all waiting faults.
    ///
    /// # Panics
    /// On PostgreSQL, if the database does not answer: this waits for it on the calling thread.
    pub fn clear_faults(&self) {
        let merchant = Arc::clone(&self.clock.merchant);
        let cleared = self.clock.wait(async move { merchant.clear_faults().await });
        cleared.expect("the database answers");
    }

    /// The newest 1,000 requests of this merchant and its customers, oldest first. If other sandboxes share the database, their requests
    /// are among them a second later at the latest.
    ///
    /// # Panics
    /// On PostgreSQL, if the database does not answer: this waits for it on the calling thread.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        let merchant = Arc::clone(&self.clock.merchant);
        let requests = self.clock.wait(async move { merchant.requests().await });
        requests.expect("the database answers")
    }

    /// The events of its newest 1,000 payments and eSIM orders, and the newest 1,000 events of its subscriptions, in order.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn events(&self) -> Result<Vec<Event>, Unavailable> {
        let (service, merchant) = self.clock.parts();
        run_on(&self.clock.runtime, async move {
            service.catch_up().await;
            let merchant = merchant.current().await?;
            service.events(&merchant).await
        })
        .await
    }

    /// Deletes everything of this merchant but its name and its key, and sets its clock to the service's time.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn reset(&self) -> Result<(), Unavailable> {
        let (service, merchant) = self.clock.parts();
        run_on(&self.clock.runtime, async move { service.merchants.reset(&service.store, &merchant).await.map(drop) })
            .await
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
/// # async fn expire(shop: guichet::sandbox::Tenant) -> Result<(), guichet::sandbox::Unavailable> {
/// shop.clock().advance(30 * 60).await?; // every session has ended
/// # Ok(()) }
/// ```
pub struct Clock {
    merchant: Arc<Merchant>,
    service: Arc<Service>,
    runtime: Handle,
}

impl Clock {
    pub(super) fn new(merchant: Arc<Merchant>, service: Arc<Service>, runtime: Handle) -> Self {
        Self { merchant, service, runtime }
    }

    fn parts(&self) -> (Arc<Service>, Arc<Merchant>) {
        (Arc::clone(&self.service), Arc::clone(&self.merchant))
    }

    fn now(&self) -> Moment {
        let merchant = Arc::clone(&self.merchant);
        let merchant = self.wait(async move { merchant.current().await });
        merchant.expect("the database answers").peek()
    }

    /// Waits on this thread for work that only a shared database makes wait: on this thread if it is done at once, otherwise on the
    /// sandbox's own runtime.
    fn wait<T: Send + 'static, E: From<Unavailable> + Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E> {
        let mut work = Box::pin(work);
        let entered = self.runtime.enter();
        if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return done;
        }
        drop(entered);
        let (done, waiting) = mpsc::channel();
        self.runtime.spawn(async move { done.send(work.await) });
        waiting.recv().unwrap_or_else(|_| Err(Unavailable::stopped().into()))
    }

    /// Moves it forward and returns its new time. Work that becomes due, such as charges of subscriptions, is done before this
    /// returns, each at its own time.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn advance(&self, seconds: u32) -> Result<Moment, Unavailable> {
        let (service, merchant) = self.parts();
        run_on(&self.runtime, async move { service.advance(&merchant, seconds).await }).await
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clock").field("merchant", &self.merchant.id).finish_non_exhaustive()
    }
}

/// Runs work with the store on the sandbox's own runtime.
pub(super) async fn run_on<T: Send + 'static>(
    runtime: &Handle,
    work: impl Future<Output = Result<T, Unavailable>> + Send + 'static,
) -> Result<T, Unavailable> {
    runtime.spawn(work).await.unwrap_or_else(|_| Err(Unavailable::stopped()))
}
