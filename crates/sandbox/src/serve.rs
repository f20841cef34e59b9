//! Runs a sandbox on its own thread and runtime, so that the caller may use any runtime.

use super::config::Config;
use super::in_process::InProcess;
use super::requests::Delivery;
use super::service::Merchant;
use super::start_error::StartError;
use super::store::Backend;
use super::tenant::{Clock, Tenant, run_on};
use super::unavailable::Unavailable;
use crate::server::{Limits, serve_within};
use guichet::values::{Secret, printable};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::time::MissedTickBehavior;

/// How often the service looks for due subscriptions. Requests that list payments or events, or read or change
/// subscriptions, first apply what is due.
const BILLING_INTERVAL: Duration = Duration::from_secs(1);
/// How often expired idempotency keys are deleted.
const DELETION_INTERVAL: Duration = Duration::from_secs(60);

/// A running sandbox: the whole payment service on this machine, until it is stopped or dropped.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use guichet_sandbox::Sandbox;
///
/// let sandbox = Sandbox::start().await?;
/// let shop = sandbox.merchant().await?; // one per test: its own key, clock and payments
/// assert!(shop.secret_key().expose().starts_with("sk_test_"));
///
/// let before = shop.now().await?;
/// shop.clock().advance(30 * 60).await?; // all sessions of this shop have expired now
/// assert!(shop.now().await?.unix() >= before.unix() + 30 * 60);
/// sandbox.stop().await;
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub struct Sandbox {
    in_process: InProcess,
    runtime: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    ended: Option<oneshot::Receiver<()>>,
}

impl Sandbox {
    /// Starts a throwaway sandbox: a free port on loopback, everything in memory.
    ///
    /// # Errors
    /// If the system provides no port, thread or randomness.
    pub async fn start() -> Result<Self, StartError> {
        Self::start_with(Config::default()).await
    }

    /// Starts a sandbox. It accepts requests when this returns.
    ///
    /// # Errors
    /// If the port, the database or the keys cannot be used. The message says what to do.
    pub async fn start_with(config: Config) -> Result<Self, StartError> {
        Self::launch(config, None).await
    }

    /// Starts a sandbox on a backend of your own, which it has to itself and closes at its end. `config.database` is
    /// not read.
    ///
    /// # Errors
    /// As [`Sandbox::start_with`].
    pub async fn start_on(config: Config, backend: Arc<dyn Backend>) -> Result<Self, StartError> {
        Self::launch(config, Some(backend)).await
    }

    async fn launch(config: Config, backend: Option<Arc<dyn Backend>>) -> Result<Self, StartError> {
        let runtime = Builder::new_multi_thread().worker_threads(2).thread_name("guichet-sandbox").enable_all().build();
        let runtime =
            runtime.map_err(|error| StartError::System(format!("The sandbox cannot start a thread: {error}.")))?;
        let handle = runtime.handle().clone();
        let (ready, started) = oneshot::channel();
        let (stop, stopped) = oneshot::channel();
        let (end, ended) = oneshot::channel::<()>();
        let run = move || {
            runtime.block_on(run(config, backend, ready, stopped));
            drop(end);
        };
        let thread = std::thread::Builder::new().name("guichet-sandbox".into()).spawn(run);
        let thread =
            thread.map_err(|error| StartError::System(format!("The sandbox cannot start a thread: {error}.")))?;
        let in_process =
            started.await.map_err(|_| StartError::System("The sandbox stopped before it had started.".into()))??;
        Ok(Self { in_process, runtime: handle, stop: Some(stop), thread: Some(thread), ended: Some(ended) })
    }

    /// Its address, without `/v1`: `http://127.0.0.1:4243`.
    #[must_use]
    pub fn base_url(&self) -> &str {
        self.in_process.base_url()
    }

    /// The address of the control API: [`Sandbox::base_url`] and `/sandbox`.
    #[must_use]
    pub fn control_url(&self) -> String {
        format!("{}/sandbox", self.base_url())
    }

    /// The token of the control API.
    #[must_use]
    pub fn control_token(&self) -> &Secret {
        self.in_process.control_token()
    }

    /// An address of the inspector, a page that shows each payment as one thread. It opens the page once; a second call
    /// makes another.
    #[must_use]
    pub fn inspector_url(&self) -> String {
        self.in_process.inspector_url()
    }

    /// Shows each delivery that it is called with in the threads of the order's payments, of the first merchant.
    pub fn delivery_recorder(&self) -> impl Fn(Delivery) + Send + Sync + use<> {
        let in_process = self.in_process.clone();
        move |delivery| in_process.record_delivery(delivery)
    }

    /// The first merchant's secret key.
    #[must_use]
    pub fn secret_key(&self) -> &Secret {
        self.in_process.secret_key()
    }

    /// Creates a merchant. Use one per test, so that tests are independent.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn merchant(&self) -> Result<Tenant, Unavailable> {
        self.merchant_named("Sandbox shop").await
    }

    /// Creates a merchant with a name, which the hosted checkout page shows.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn merchant_named(&self, name: &str) -> Result<Tenant, Unavailable> {
        let (service, name) = (Arc::clone(&self.in_process.service), name.to_owned());
        let made = run_on(&self.runtime, async move { service.merchants.make(&name).await });
        let (merchant, secret_key) = made.await?;
        let clock = Clock::new(merchant, Arc::clone(&self.in_process.service), self.runtime.clone());
        Ok(Tenant::new(clock, secret_key, self.base_url().to_owned()))
    }

    /// Deletes everything of every merchant but its name and its key: payments, customers, sessions, faults, requests
    /// and events. Their clocks show the service's time again.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn reset(&self) -> Result<(), Unavailable> {
        let service = Arc::clone(&self.in_process.service);
        run_on(&self.runtime, async move {
            for merchant in service.merchants.all() {
                service.merchants.reset(&merchant).await?;
            }
            Ok(())
        })
        .await
    }

    /// Stops the sandbox. Requests in flight are answered, everything is stored, and the port is free when this
    /// returns.
    pub async fn stop(mut self) {
        drop(self.stop.take());
        if let Some(ended) = self.ended.take() {
            // The sender is dropped at the end, even after a panic.
            let _ = ended.await;
        }
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the sandbox's thread has panicked");
        }
    }
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox").field("base_url", &self.base_url()).finish_non_exhaustive()
    }
}

/// Runs a sandbox until it is stopped.
async fn run(
    config: Config,
    backend: Option<Arc<dyn Backend>>,
    ready: oneshot::Sender<Result<InProcess, StartError>>,
    stopped: oneshot::Receiver<()>,
) {
    let (started, listener, limits) = match listen(config, backend).await {
        Ok(listening) => listening,
        Err(error) => return drop(ready.send(Err(error))),
    };
    let (service, in_process) = (Arc::clone(&started.service), started.clone());
    let respond = move |request| {
        let in_process = in_process.clone();
        async move { in_process.answer(request).await }
    };
    if ready.send(Ok(started)).is_ok() {
        let (stop, ended) = oneshot::channel();
        let answer_waiting_calls = async {
            let _ = stopped.await;
            service.merchants.all().iter().for_each(Merchant::changed);
            drop(stop);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = serve_within(limits, listener, respond, ended) => {}
            () = answer_waiting_calls => {}
            () = repeat(BILLING_INTERVAL, || service.bill_all()) => {}
            () = repeat(DELETION_INTERVAL, || service.delete_expired_keys()) => {}
        }
    }
    service.store.close().await;
}

/// Does work in the background, so that no request waits for it, until the future is dropped.
async fn repeat<F: Future<Output = Result<(), Unavailable>>>(interval: Duration, work: impl Fn() -> F) {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = work().await {
            tracing::error!(error = %printable(error), "due work was not executed");
        }
    }
}

/// Listens, then opens the database and the keys.
async fn listen(
    config: Config,
    backend: Option<Arc<dyn Backend>>,
) -> Result<(InProcess, TcpListener, Limits), StartError> {
    let limits = limits(&config)?;
    let mut probe = [0; 1];
    getrandom::fill(&mut probe)
        .map_err(|error| StartError::System(format!("The system provides no randomness: {error}.")))?;
    let listener = TcpListener::bind(config.listen).await.map_err(|error| cannot_listen(config.listen, &error))?;
    let address = listener.local_addr().map_err(|error| cannot_listen(config.listen, &error))?;
    Ok((InProcess::open(config, backend, Some(address)).await?, listener, limits))
}

fn limits(config: &Config) -> Result<Limits, StartError> {
    if config.connections_per_address == 0 {
        return Err(StartError::Config(
            "connections_per_address must be at least 1, otherwise no client could connect.".into(),
        ));
    }
    Ok(Limits { per_address: config.connections_per_address, ..Limits::default() })
}

fn cannot_listen(address: SocketAddr, error: &io::Error) -> StartError {
    StartError::Listen(match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("Another program already listens on {address}. Stop it, or give another port with --listen.")
        }
        io::ErrorKind::AddrNotAvailable => format!("{address} is not an address of this machine."),
        io::ErrorKind::PermissionDenied => {
            format!("This user may not listen on {address}. Give a port above 1023 with --listen.")
        }
        _ => format!("The sandbox cannot listen on {address}: {error}."),
    })
}
