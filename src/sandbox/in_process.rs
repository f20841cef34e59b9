//! The service as a value: a function from request to response, without a socket.

use super::clock::ServiceClock;
use super::config::{Config, StartError};
use super::control::{self, ControlApi};
use super::http;
use super::keys::{GivenKeys, Keys, control_token};
use super::pages::{self, Pages};
use super::rules::{EsimPackages, Fees};
use super::service::{Merchants, Service};
#[cfg(feature = "sandbox-postgres")]
use super::store::KeyFingerprints;
use super::store::{Location, Store};
use super::surroundings::{self, Surroundings};
use super::tokens::InstanceKey;
#[cfg(feature = "sandbox-postgres")]
use super::tokens::fingerprint;
use crate::package::Package;
use crate::platform::read_origin;
use crate::server::{DropConnection, host};
use crate::values::Secret;
use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use std::sync::Arc;
use tower_service::Service as _;

/// The whole payment service in this process: [`InProcess::respond`] is a function from request to response. It opens no socket and
/// has no timer, so due work, such as charges of subscriptions, is done before each response. On PostgreSQL, another instance lists its
/// requests after this one has listed them or was closed.
#[derive(Clone)]
pub struct InProcess {
    pub(super) service: Arc<Service>,
    pub(super) router: Router,
    pub(super) base_url: String,
    pub(super) control_token: Secret,
    pub(super) secret_key: Secret,
}

/// The response was dropped by a fault: on a socket, the connection would end without a byte of it.
#[derive(Clone, Copy, Debug)]
pub struct Dropped;

impl std::fmt::Display for Dropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("The connection was dropped by an injected fault.")
    }
}

impl std::error::Error for Dropped {}

/// Its address, unless the configuration has another.
pub(super) const BASE_URL: &str = "http://localhost:4243";

impl InProcess {
    /// Starts the service. The surroundings give it time and randomness; those of the first start stay the process's.
    ///
    /// # Errors
    /// If the database or the keys cannot be used. The message says what to do.
    pub async fn start(config: Config, surroundings: Surroundings) -> Result<Self, StartError> {
        surroundings::give(surroundings);
        let location = Location::read(&config.database)?;
        let base_url = config.public_url.clone().unwrap_or_else(|| BASE_URL.to_owned());
        let package = Package::find(config.package.clone());
        Self::open(config, &location, base_url, package).await
    }

    /// Opens the database and the keys.
    pub(super) async fn open(
        config: Config,
        location: &Location,
        base_url: String,
        package: Package,
    ) -> Result<Self, StartError> {
        let public_origin = match &config.public_url {
            Some(url) => origin(url)?,
            None => base_url.clone(),
        };
        let allow_origins = config.allow_origins.iter().map(|text| allowed_origin(text)).collect::<Result<_, _>>()?;
        let hosts = config.allow_hosts.iter().map(|text| allowed_host(text)).collect::<Result<_, _>>()?;
        let control_token = control_token(&config)?;
        let given_keys = GivenKeys::find(&config, location)?;
        let store = Store::open(location).await?;
        let (keys, clock, merchants) = match load(&store, location, &config, given_keys).await {
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
        let control = ControlApi { service: Arc::clone(&service), token: control_token.clone(), hosts };
        let router = http::routes()
            .with_state(Arc::clone(&service))
            .merge(control::routes(Arc::new(control)))
            .merge(pages::routes(Pages::new(Arc::clone(&service), package)));
        Ok(Self { service, router, base_url, control_token, secret_key: keys.secret_key })
    }

    /// Answers a request: the service under `/v1`, the hosted page under `/checkout`, the control API under `/sandbox`.
    ///
    /// # Errors
    /// [`Dropped`] if a fault drops the connection. Before or after the request was executed: the fault says.
    pub async fn respond(&self, request: Request<Body>) -> Result<Response<Body>, Dropped> {
        if let Err(error) = self.do_due_work().await {
            tracing::error!(error = %crate::values::printable(&error), "due work was not executed");
        }
        let Ok(response) = self.router.clone().call(request).await;
        if response.extensions().get::<DropConnection>().is_some() { Err(Dropped) } else { Ok(response) }
    }

    async fn do_due_work(&self) -> Result<(), super::Unavailable> {
        self.service.bill_all().await?;
        self.service.delete_expired_keys().await
    }

    /// Its address, without `/v1`.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
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

    /// Closes the store; a store in memory is deleted. Later, each request that needs the store gets 503.
    pub async fn close(&self) {
        self.service.merchants.finish().await;
        self.service.store.close().await;
    }
}

impl std::fmt::Debug for InProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InProcess").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

/// Loads the keys, the clock and the merchants of a database.
async fn load(
    store: &Store,
    location: &Location,
    config: &Config,
    given_keys: GivenKeys,
) -> Result<(Keys, Arc<ServiceClock>, Merchants), StartError> {
    let keys = given_keys.complete(location, store.path())?;
    #[cfg(feature = "sandbox-postgres")]
    if let Some(database) = store.shared() {
        let instance = InstanceKey::new(&keys.instance).fingerprint();
        let fingerprints = KeyFingerprints { instance, first: fingerprint(keys.secret_key.expose()) };
        database.join(&fingerprints, &Merchants::first_row(&keys.secret_key, &config.merchant_name)).await?;
    }
    let clock = ServiceClock::load(store, config.wall_clock.clone()).await;
    let clock = Arc::new(clock.map_err(|error| StartError::Database(error.to_string()))?);
    let merchants = Merchants::load(store, &clock, &keys.secret_key, &config.merchant_name).await?;
    Ok((keys, clock, merchants))
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

/// Normalizes an allowed host name, as browsers send it.
fn allowed_host(text: &str) -> Result<String, StartError> {
    let refused = || {
        format!(
            "{text:?} is not a host name. Give the name under which the control API is called, without scheme and port: sandbox.test."
        )
    };
    host::read_name(text).ok_or_else(|| StartError::Config(refused()))
}
