//! Runs a sandbox on its own thread and runtime, so that the caller may use any runtime.

use super::clock::ServiceClock;
use super::config::{Config, StartError};
use super::control::{self, ControlApi};
use super::http;
use super::keys::Keys;
use super::pages::{self, Pages};
use super::rules::{EsimPackages, Fees};
use super::service::{Merchants, Service};
use super::store::{Location, Store, Unavailable};
use super::tenant::{Clock, Tenant, run_on};
use super::tokens::{self, InstanceKey};
use crate::package::Package;
use crate::platform::read_origin;
use crate::server::{Limits, serve};
use crate::values::Secret;
use axum::Router;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

/// A running sandbox: the whole payment service on this machine, until it is stopped or dropped.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use guichet::sandbox::Sandbox;
///
/// let sandbox = Sandbox::start().await?;
/// let shop = sandbox.merchant().await?; // one per test: its own key, clock and payments
/// assert!(shop.secret_key().expose().starts_with("sk_test_"));
///
/// let before = shop.now();
/// shop.clock().advance(30 * 60).await?; // all sessions of this shop have expired now
/// assert!(shop.now().unix() >= before.unix() + 30 * 60);
/// sandbox.stop().await;
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub struct Sandbox {
    service: Arc<Service>,
    runtime: Handle,
    base_url: String,
    control_token: Secret,
    secret_key: Secret,
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
        let runtime = Builder::new_multi_thread().worker_threads(2).thread_name("guichet-sandbox").enable_all().build();
        let runtime =
            runtime.map_err(|error| StartError::System(format!("The sandbox cannot start a thread: {error}.")))?;
        let handle = runtime.handle().clone();
        let (ready, started) = oneshot::channel();
        let (stop, stopped) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let run = move || run(&runtime, config, ready, stopped, end);
        let thread = std::thread::Builder::new().name("guichet-sandbox".into()).spawn(run);
        let thread =
            thread.map_err(|error| StartError::System(format!("The sandbox cannot start a thread: {error}.")))?;
        let started =
            started.await.map_err(|_| StartError::System("The sandbox stopped before it had started.".into()))??;
        Ok(Self {
            service: started.service,
            runtime: handle,
            base_url: started.base_url,
            control_token: started.control_token,
            secret_key: started.secret_key,
            stop: Some(stop),
            thread: Some(thread),
            ended: Some(ended),
        })
    }

    /// Its address, without `/v1`: `http://127.0.0.1:4243`.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The address of the control API: [`Sandbox::base_url`] and `/sandbox`.
    #[must_use]
    pub fn control_url(&self) -> String {
        format!("{}/sandbox", self.base_url)
    }

    /// The token of the control API.
    #[must_use]
    pub fn control_token(&self) -> &Secret {
        &self.control_token
    }

    /// The first merchant's secret key.
    #[must_use]
    pub fn secret_key(&self) -> &Secret {
        &self.secret_key
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
        let (service, name) = (Arc::clone(&self.service), name.to_owned());
        let made = run_on(&self.runtime, async move { service.merchants.make(&service.store, &name).await });
        let (merchant, secret_key) = made.await?;
        let clock = Clock::new(merchant, Arc::clone(&self.service), self.runtime.clone());
        Ok(Tenant::new(clock, secret_key, self.base_url.clone()))
    }

    /// Deletes everything of every merchant but its name and its key: payments, customers, sessions, faults, requests and events.
    /// Their clocks show the service's time again.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub async fn reset(&self) -> Result<(), Unavailable> {
        let service = Arc::clone(&self.service);
        run_on(&self.runtime, async move {
            for merchant in service.merchants.all() {
                service.merchants.reset(&service.store, &merchant).await?;
            }
            Ok(())
        })
        .await
    }

    /// Stops the sandbox. Requests in flight are answered, everything is stored, and the port is free when this returns.
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
        f.debug_struct("Sandbox").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

/// The values that the sandbox's thread returns when it has started.
struct Started {
    service: Arc<Service>,
    base_url: String,
    control_token: Secret,
    secret_key: Secret,
}

/// Runs a sandbox on its own thread until it is stopped.
fn run(
    runtime: &Runtime,
    config: Config,
    ready: oneshot::Sender<Result<Started, StartError>>,
    stopped: oneshot::Receiver<()>,
    end: oneshot::Sender<()>,
) {
    runtime.block_on(async {
        match open(config).await {
            Err(error) => drop(ready.send(Err(error))),
            Ok((started, listener, router, limits)) => {
                let service = Arc::clone(&started.service);
                if ready.send(Ok(started)).is_ok() {
                    tokio::select! {
                        () = serve(listener, router, limits, stopped) => {}
                        () = service.keep_billing() => {}
                        () = service.keep_deleting_expired_keys() => {}
                    }
                }
                service.store.close().await;
            }
        }
    });
    drop(end);
}

/// Opens the database and the keys, and listens.
async fn open(config: Config) -> Result<(Started, TcpListener, Router, Limits), StartError> {
    let limits = limits(&config)?;
    let mut probe = [0; 1];
    getrandom::fill(&mut probe)
        .map_err(|error| StartError::System(format!("The system provides no randomness: {error}.")))?;
    let location = Location::read(&config.database)?;
    let listener = TcpListener::bind(config.listen).await.map_err(|error| cannot_listen(config.listen, &error))?;
    let address = listener.local_addr().map_err(|error| cannot_listen(config.listen, &error))?;
    let base_url = format!("http://{address}");
    let public_origin = match &config.public_url {
        Some(url) => origin(url)?,
        None => base_url.clone(),
    };
    let allow_origins = config.allow_origins.iter().map(|text| allowed_origin(text)).collect::<Result<_, _>>()?;

    let store = Store::open(&location).await?;
    let (keys, clock, merchants) = match load(&store, &location, &config).await {
        Ok(loaded) => loaded,
        Err(error) => {
            // Unlocks the file before the error is returned, so that the next start can open it.
            store.close().await;
            return Err(error);
        }
    };
    let service = Arc::new(Service {
        store,
        clock,
        merchants,
        fees: Fees::standard(),
        esim_packages: EsimPackages::standard(),
        instance_key: InstanceKey::new(&keys.instance),
        public_origin,
        public_methods: config.public_methods,
        strict: config.strict,
        allow_origins,
    });
    let control_token = tokens::secret("ctl_");
    let control = ControlApi { service: Arc::clone(&service), token: control_token.clone(), hosts: config.allow_hosts };
    let package = Package::find(config.package);
    let router = http::routes()
        .with_state(Arc::clone(&service))
        .merge(control::routes(Arc::new(control)))
        .merge(pages::routes(Pages::new(Arc::clone(&service), package)));
    Ok((Started { service, base_url, control_token, secret_key: keys.secret_key }, listener, router, limits))
}

fn limits(config: &Config) -> Result<Limits, StartError> {
    if config.connections_per_address == 0 {
        return Err(StartError::Config(
            "connections_per_address must be at least 1, otherwise nobody could connect.".into(),
        ));
    }
    Ok(Limits { per_address: config.connections_per_address, ..Limits::default() })
}

/// Loads the keys, the clock and the merchants of a database.
async fn load(
    store: &Store,
    location: &Location,
    config: &Config,
) -> Result<(Keys, Arc<ServiceClock>, Merchants), StartError> {
    let keys = Keys::find(store.path(), location.file())?;
    let clock = ServiceClock::load(store, config.wall_clock.clone()).await;
    let clock = Arc::new(clock.map_err(|error| StartError::Database(error.to_string()))?);
    let merchants = Merchants::load(store, &clock, &keys.secret_key, &config.merchant_name).await?;
    Ok((keys, clock, merchants))
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

/// The origin of a public address. It must have no path, since the hosted page's path is `/checkout`.
fn origin(url: &str) -> Result<String, StartError> {
    let refused =
        || format!("{url} is not an origin. Give the public address as scheme and host: https://pay.example.com.");
    read_origin(url).ok_or_else(|| StartError::Config(refused()))
}

/// Normalizes an allowed origin, as browsers send it.
fn allowed_origin(text: &str) -> Result<String, StartError> {
    let refused = || {
        format!(
            "{text} is not an origin. Give scheme and host, and the port if it is not the default: https://shop.example. Without this option, every origin may call."
        )
    };
    read_origin(text).ok_or_else(|| StartError::Config(refused()))
}
