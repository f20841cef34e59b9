//! The service as a value: a function from request to response, without a socket.

use super::clock::ServiceClock;
use super::config::Config;
use super::control::{self, ControlApi};
use super::http;
use super::inspector::{self, access::Access};
use super::keys::control_token;
use super::open::open;
use super::pages::{self, OwnPage, Pages};
use super::profile::Documented;
use super::requests::Delivery;
use super::rules::{EsimPackages, Fees};
use super::server::{DropConnection, Dropped, host};
use super::service::{Merchants, Service};
use super::start_error::StartError;
use super::store::Backend;
use super::surroundings::{self, Surroundings};
use super::tokens::InstanceKey;
use super::unavailable::Unavailable;
use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use guichet::shop::Profile;
use guichet::values::{Secret, printable, read_origin};
use std::net::SocketAddr;
use std::sync::Arc;
use tower_service::Service as _;

/// The whole payment service in this process: [`InProcess::respond`] is a function from request to response. It opens
/// no socket and has no timer, so due work, such as charges of subscriptions, is done before each response.
#[derive(Clone)]
pub struct InProcess {
    pub(super) service: Arc<Service>,
    access: Arc<Access>,
    router: Router,
    pub(super) base_url: String,
    pub(super) control_token: Secret,
    pub(super) secret_key: Secret,
    profile: Option<Arc<Profile>>,
}

/// Its address, unless the configuration has another.
const BASE_URL: &str = "http://localhost:4243";

impl InProcess {
    /// Starts the service in memory or on a file, as `config.database` says. The surroundings give it time and
    /// randomness; those of the first start stay the process's.
    ///
    /// # Errors
    /// If the database or the keys cannot be used. The message says what to do.
    pub async fn start(config: Config, surroundings: Surroundings) -> Result<Self, StartError> {
        surroundings::give(surroundings);
        Self::open(config, None, None).await
    }

    /// Checks the configuration, and then opens the database, unless a backend is given, and the keys. `address` is
    /// where it listens.
    pub(super) async fn open(
        config: Config,
        backend: Option<Arc<dyn Backend>>,
        address: Option<SocketAddr>,
    ) -> Result<Self, StartError> {
        let base_url = match address {
            Some(address) => format!("http://{address}"),
            None => config.base_url.as_ref().or(config.public_url.as_ref()).map_or(BASE_URL, String::as_str).to_owned(),
        };
        let public_origin = match &config.public_url {
            Some(url) => origin(url)?,
            None => base_url.clone(),
        };
        let allow_origins = config.allow_origins.iter().map(|text| allowed_origin(text)).collect::<Result<_, _>>()?;
        let hosts = config.allow_hosts.iter().map(|text| allowed_host(text)).collect::<Result<_, _>>()?;
        let own_page = config.checkout.clone().map(OwnPage::new).transpose()?;
        let control_token = control_token(&config)?;
        let (keys, store) = open(&config, backend).await?;
        let load = async {
            let clock = ServiceClock::load(&*store, config.wall_clock.clone()).await;
            let clock = Arc::new(clock.map_err(|error| StartError::Database(error.to_string()))?);
            let first = keys.first_merchant(&config);
            let merchants = Merchants::load(Arc::clone(&store), Arc::clone(&clock), first).await?;
            Ok((clock, merchants))
        };
        let (clock, merchants) = match load.await {
            Ok(loaded) => loaded,
            Err(error) => {
                // Unlocks a file before the error is returned, so that the next start can open it.
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
        let access = Arc::new(Access::default());
        let token = control_token.clone();
        let site = inspector::site(&config.package);
        let control =
            Arc::new(ControlApi { service: Arc::clone(&service), token, hosts, access: Arc::clone(&access), site });
        let router = http::routes()
            .with_state(Arc::clone(&service))
            .merge(control::routes(Arc::clone(&control)))
            .merge(inspector::routes(control))
            .merge(pages::routes(Pages::new(Arc::clone(&service), config.package, own_page)));
        Ok(Self {
            service,
            access,
            router,
            base_url,
            control_token,
            secret_key: keys.secret_key,
            profile: config.profile.map(Arc::new),
        })
    }

    /// Answers a request: the service under `/v1`, the hosted page under `/checkout`, the control API under `/sandbox`.
    ///
    /// # Errors
    /// [`Dropped`] if a fault drops the connection. Before or after the request was executed: the fault says.
    pub async fn respond(&self, request: Request<Body>) -> Result<Response<Body>, Dropped> {
        if let Err(error) = self.do_due_work().await {
            tracing::error!(error = %printable(&error), "due work was not executed");
        }
        self.answer(request).await
    }

    /// Answers a request without the due work, which a running sandbox does by its timer.
    pub(super) async fn answer(&self, request: Request<Body>) -> Result<Response<Body>, Dropped> {
        let Some(profile) = &self.profile else { return self.route(request).await };
        let Documented { request, reply } = Documented::of(&self.service, profile, request).await;
        Ok(reply.apply(profile, self.route(request).await?).await)
    }

    /// The request by the document that a request to a service of this profile is.
    pub async fn documented(&self, profile: &Profile, request: Request<Body>) -> Documented {
        Documented::of(&self.service, profile, request).await
    }

    async fn route(&self, request: Request<Body>) -> Result<Response<Body>, Dropped> {
        let Ok(response) = self.router.clone().call(request).await;
        if response.extensions().get::<DropConnection>().is_some() { Err(Dropped) } else { Ok(response) }
    }

    async fn do_due_work(&self) -> Result<(), Unavailable> {
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

    /// An address of the inspector, which opens it once.
    #[must_use]
    pub fn inspector_url(&self) -> String {
        self.access.address(&self.base_url.replacen("//0.0.0.0:", "//127.0.0.1:", 1).replacen("//[::]:", "//[::1]:", 1))
    }

    /// Shows a delivery of the first merchant's shop to its application in the threads of the order's payments.
    pub fn record_delivery(&self, delivery: Delivery) {
        self.service.merchants.first().add_delivery(delivery);
    }

    /// The first merchant's secret key.
    #[must_use]
    pub fn secret_key(&self) -> &Secret {
        &self.secret_key
    }

    /// Closes the store; a store in memory is deleted. Later, each request that needs the store gets 503.
    pub async fn close(&self) {
        self.service.store.close().await;
    }
}

impl std::fmt::Debug for InProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InProcess").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

/// The origin of a public address. It must have no path, since the hosted page's path is `/checkout`.
fn origin(url: &str) -> Result<String, StartError> {
    read_origin(url).ok_or_else(|| {
        StartError::Config(format!(
            "{url} is not an origin. Give the public address as scheme and host: https://pay.example.com."
        ))
    })
}

/// Normalizes an allowed origin, as browsers send it.
fn allowed_origin(text: &str) -> Result<String, StartError> {
    read_origin(text).ok_or_else(|| {
        StartError::Config(format!(
            "{text} is not an origin. Give scheme and host, and the port if it is not the default: https://shop.example. Without this option, every origin may call."
        ))
    })
}

/// Normalizes an allowed host name, as browsers send it.
fn allowed_host(text: &str) -> Result<String, StartError> {
    host::read_name(text).ok_or_else(|| {
        StartError::Config(format!(
            "{text:?} is not a host name. Give the name under which the control API is called, without scheme and port: sandbox.test."
        ))
    })
}
