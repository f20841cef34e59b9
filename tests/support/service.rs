//! The service that a test asks over HTTP: the sandbox in memory, on an SQLite file, or as the npm package `guichet-sandbox` in a
//! process of Node.js. `GUICHET_TEST_SERVICE` chooses: `memory` (the default), `sqlite` or `package`.

use super::folder::Folder;
use super::npm_service::{NpmProcess, NpmTenant};
use guichet::sandbox::{self, Config, Fault};
use guichet::values::{Moment, Secret};
use std::sync::Arc;

/// What answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Service {
    Memory,
    Sqlite,
    Package,
}

impl Service {
    /// The choice of `GUICHET_TEST_SERVICE`.
    pub fn chosen() -> Self {
        match std::env::var("GUICHET_TEST_SERVICE").as_deref() {
            Err(_) | Ok("memory") => Self::Memory,
            Ok("sqlite") => Self::Sqlite,
            Ok("package") => Self::Package,
            Ok(other) => panic!("GUICHET_TEST_SERVICE is `{other}`. The services are: memory, sqlite, package."),
        }
    }
}

/// A running service, with the methods of [`guichet::sandbox::Sandbox`].
#[derive(Debug)]
pub enum Sandbox {
    Native(sandbox::Sandbox, Option<Folder>),
    Npm(Arc<NpmProcess>),
}

impl Sandbox {
    /// Starts the chosen service, or takes the package's process that the tests share. A test that uses the first merchant or resets all
    /// needs [`Sandbox::start_with`].
    pub async fn start() -> Result<Self, String> {
        if Service::chosen() == Service::Package {
            return Ok(Self::Npm(NpmProcess::shared()));
        }
        Self::start_with(Config::default()).await
    }

    /// Starts the chosen service for this test alone. A test that names a database gets that one, and cannot run on the package.
    pub async fn start_with(mut config: Config) -> Result<Self, String> {
        let mut folder = None;
        match Service::chosen() {
            Service::Package => return Ok(Self::Npm(Arc::new(NpmProcess::start(&config)?))),
            Service::Sqlite if config.database == "memory:" => {
                let new = Folder::new("service");
                config.database = new.database();
                folder = Some(new);
            }
            Service::Sqlite | Service::Memory => {}
        }
        let started = sandbox::Sandbox::start_with(config).await.map_err(|error| error.to_string())?;
        Ok(Self::Native(started, folder))
    }

    pub fn base_url(&self) -> &str {
        match self {
            Self::Native(sandbox, _) => sandbox.base_url(),
            Self::Npm(process) => &process.base_url,
        }
    }

    pub fn control_url(&self) -> String {
        format!("{}/sandbox", self.base_url())
    }

    pub fn control_token(&self) -> &Secret {
        match self {
            Self::Native(sandbox, _) => sandbox.control_token(),
            Self::Npm(process) => &process.control_token,
        }
    }

    pub fn secret_key(&self) -> &Secret {
        match self {
            Self::Native(sandbox, _) => sandbox.secret_key(),
            Self::Npm(process) => &process.secret_key,
        }
    }

    pub async fn merchant(&self) -> Result<Tenant, String> {
        self.merchant_named("Sandbox shop").await
    }

    pub async fn merchant_named(&self, name: &str) -> Result<Tenant, String> {
        match self {
            Self::Native(sandbox, _) => {
                let merchant = sandbox.merchant_named(name).await.map_err(|error| error.to_string())?;
                Ok(merchant.into())
            }
            Self::Npm(process) => Ok(Tenant::Npm(NpmTenant::new(process, name))),
        }
    }

    /// Deletes everything of every merchant.
    pub async fn reset(&self) -> Result<(), String> {
        match self {
            Self::Native(sandbox, _) => sandbox.reset().await.map_err(|error| error.to_string()),
            Self::Npm(process) => {
                process.reset();
                Ok(())
            }
        }
    }

    pub async fn stop(self) {
        if let Self::Native(sandbox, _) = self {
            sandbox.stop().await;
        }
    }
}

impl From<sandbox::Sandbox> for Sandbox {
    fn from(sandbox: sandbox::Sandbox) -> Self {
        Self::Native(sandbox, None)
    }
}

/// A service with a control API.
pub trait Controlled {
    /// The address of its control API, and its token.
    fn control_api(&self) -> (String, &Secret);
}

impl Controlled for Sandbox {
    fn control_api(&self) -> (String, &Secret) {
        (self.control_url(), self.control_token())
    }
}

impl Controlled for sandbox::Sandbox {
    fn control_api(&self) -> (String, &Secret) {
        (self.control_url(), self.control_token())
    }
}

/// One merchant of a service, with the methods of [`guichet::sandbox::Tenant`].
#[derive(Debug)]
pub enum Tenant {
    Native(Arc<sandbox::Tenant>),
    Npm(NpmTenant),
}

impl From<sandbox::Tenant> for Tenant {
    fn from(tenant: sandbox::Tenant) -> Self {
        Self::Native(Arc::new(tenant))
    }
}

/// A request that reached the service.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Request {
    pub operation: String,
    pub method: String,
    pub path: String,
    pub credential: String,
    pub request_id: String,
    pub intent: Option<String>,
    pub status: Option<u16>,
    pub fault: Option<String>,
}

/// A change of a payment, a subscription or an eSIM order.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Event {
    pub id: String,
    pub kind: String,
    pub at: Moment,
    pub subject: String,
    pub merchant_reference: Option<String>,
}

impl Tenant {
    pub fn id(&self) -> &str {
        match self {
            Self::Native(tenant) => tenant.id(),
            Self::Npm(tenant) => &tenant.id,
        }
    }

    pub fn secret_key(&self) -> &Secret {
        match self {
            Self::Native(tenant) => tenant.secret_key(),
            Self::Npm(tenant) => &tenant.secret_key,
        }
    }

    pub fn base_url(&self) -> &str {
        match self {
            Self::Native(tenant) => tenant.base_url(),
            Self::Npm(tenant) => tenant.base_url(),
        }
    }

    pub fn clock(&self) -> Clock<'_> {
        Clock(self)
    }

    pub fn now(&self) -> Moment {
        match self {
            Self::Native(tenant) => tenant.now(),
            Self::Npm(tenant) => tenant.now(),
        }
    }

    pub fn fault(&self, fault: Fault) {
        match self {
            Self::Native(tenant) => tenant.fault(fault),
            Self::Npm(tenant) => tenant.fault(&fault),
        }
    }

    /// The operations of the waiting faults.
    pub fn faults(&self) -> Vec<String> {
        match self {
            Self::Native(tenant) => tenant.faults().iter().map(|fault| fault.operation().to_owned()).collect(),
            Self::Npm(tenant) => tenant.faults(),
        }
    }

    pub fn clear_faults(&self) {
        match self {
            Self::Native(tenant) => tenant.clear_faults(),
            Self::Npm(tenant) => tenant.clear_faults(),
        }
    }

    pub fn requests(&self) -> Vec<Request> {
        let request = |request: sandbox::Request| Request {
            operation: request.operation.to_owned(),
            method: request.method.to_owned(),
            path: request.path.to_owned(),
            credential: request.credential.to_owned(),
            request_id: request.request_id,
            intent: request.intent,
            status: request.status,
            fault: request.fault.map(str::to_owned),
        };
        match self {
            Self::Native(tenant) => tenant.requests().into_iter().map(request).collect(),
            Self::Npm(tenant) => tenant.requests(),
        }
    }

    pub async fn events(&self) -> Result<Vec<Event>, String> {
        let event = |event: sandbox::Event| Event {
            id: event.id,
            kind: event.kind,
            at: event.at,
            subject: event.subject,
            merchant_reference: event.merchant_reference,
        };
        match self {
            Self::Native(tenant) => {
                let events = tenant.events().await.map_err(|error| error.to_string())?;
                Ok(events.into_iter().map(event).collect())
            }
            Self::Npm(tenant) => Ok(elsewhere(tenant, NpmTenant::events).await),
        }
    }

    pub async fn reset(&self) -> Result<(), String> {
        match self {
            Self::Native(tenant) => tenant.reset().await.map_err(|error| error.to_string()),
            Self::Npm(tenant) => {
                elsewhere(tenant, NpmTenant::reset).await;
                Ok(())
            }
        }
    }
}

/// Calls the control API on another thread, so that the tasks of the test go on.
async fn elsewhere<T: Send + 'static>(tenant: &NpmTenant, call: impl FnOnce(&NpmTenant) -> T + Send + 'static) -> T {
    let tenant = tenant.clone();
    tokio::task::spawn_blocking(move || call(&tenant)).await.expect("the control API answers")
}

/// A merchant's clock.
#[derive(Debug)]
pub struct Clock<'a>(&'a Tenant);

impl Clock<'_> {
    pub async fn advance(&self, seconds: u32) -> Result<Moment, String> {
        match self.0 {
            Tenant::Native(tenant) => tenant.clock().advance(seconds).await.map_err(|error| error.to_string()),
            Tenant::Npm(tenant) => Ok(elsewhere(tenant, move |tenant| tenant.advance(seconds)).await),
        }
    }
}
