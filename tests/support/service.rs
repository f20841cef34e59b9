//! The service that a test asks over HTTP: the sandbox in memory, on an SQLite file, on PostgreSQL, or as the npm package
//! `guichet-sandbox` in a process of Node.js. `GUICHET_TEST_SERVICE` chooses: `memory` (the default), `sqlite`,
//! `postgres`, `postgres-two` (two sandboxes on one database, which take the connections in turn) or `package`.

use super::folder::Folder;
use super::npm_service::{NpmProcess, NpmTenant};
use super::postgres::PostgresServer;
use super::round_robin::RoundRobin;
use guichet::values::{Moment, Secret};
use guichet_sandbox as sandbox;
use guichet_sandbox::{Config, Fault, StartError};
use guichet_sandbox_postgres::Postgres;
use std::sync::Arc;
use std::time::Duration;

/// The kinds of services.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Service {
    Memory,
    Sqlite,
    Postgres,
    PostgresTwo,
    Package,
}

/// How soon a request to one of two sandboxes on one database is listed by the other.
pub const LISTED_ELSEWHERE: Duration = Duration::from_secs(1);

impl Service {
    /// The choice of `GUICHET_TEST_SERVICE`.
    pub fn chosen() -> Self {
        match std::env::var("GUICHET_TEST_SERVICE").as_deref() {
            Err(_) | Ok("memory") => Self::Memory,
            Ok("sqlite") => Self::Sqlite,
            Ok("postgres") => Self::Postgres,
            Ok("postgres-two") => Self::PostgresTwo,
            Ok("package") => Self::Package,
            Ok(other) => {
                panic!(
                    "GUICHET_TEST_SERVICE is `{other}`. The services are: memory, sqlite, postgres, postgres-two, package."
                )
            }
        }
    }
}

/// A running service, with the methods of [`guichet_sandbox::Sandbox`].
#[derive(Debug)]
pub enum Sandbox {
    Native(sandbox::Sandbox, Option<Folder>),
    /// Two sandboxes on one database, behind one address.
    Two {
        one: sandbox::Sandbox,
        other: sandbox::Sandbox,
        front: RoundRobin,
    },
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
            Service::Postgres if config.database == "memory:" => {
                let config = on_postgres(config, &PostgresServer::shared().create_database());
                let started = start_on_postgres(config).await.map_err(|error| error.to_string())?;
                return Ok(Self::Native(started, None));
            }
            Service::PostgresTwo if config.database == "memory:" => return Self::start_two(config).await,
            Service::Sqlite | Service::Postgres | Service::PostgresTwo | Service::Memory => {}
        }
        let started = sandbox::Sandbox::start_with(config).await.map_err(|error| error.to_string())?;
        Ok(Self::Native(started, folder))
    }

    async fn start_two(config: Config) -> Result<Self, String> {
        let (listener, front_url) = RoundRobin::listen().await;
        let mut config = on_postgres(config, &PostgresServer::shared().create_database());
        config.public_url.get_or_insert_with(|| front_url.clone());
        let (one, other) = tokio::join!(start_on_postgres(config.clone()), start_on_postgres(config));
        let (one, other) = (one.map_err(|error| error.to_string())?, other.map_err(|error| error.to_string())?);
        let front = RoundRobin::start(listener, front_url, [one.base_url(), other.base_url()]);
        Ok(Self::Two { one, other, front })
    }

    pub fn base_url(&self) -> &str {
        match self {
            Self::Native(sandbox, _) => sandbox.base_url(),
            Self::Two { front, .. } => &front.url,
            Self::Npm(process) => &process.base_url,
        }
    }

    pub fn control_url(&self) -> String {
        format!("{}/sandbox", self.base_url())
    }

    pub fn control_token(&self) -> &Secret {
        match self {
            Self::Native(sandbox, _) | Self::Two { one: sandbox, .. } => sandbox.control_token(),
            Self::Npm(process) => &process.control_token,
        }
    }

    pub fn secret_key(&self) -> &Secret {
        match self {
            Self::Native(sandbox, _) | Self::Two { one: sandbox, .. } => sandbox.secret_key(),
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
            Self::Two { one, front, .. } => {
                let merchant = one.merchant_named(name).await.map_err(|error| error.to_string())?;
                Ok(Tenant::Native(Arc::new(merchant), Some(front.url.clone())))
            }
            Self::Npm(process) => Ok(Tenant::Npm(NpmTenant::new(process, name))),
        }
    }

    /// Deletes everything of every merchant.
    pub async fn reset(&self) -> Result<(), String> {
        match self {
            Self::Native(sandbox, _) | Self::Two { other: sandbox, .. } => {
                sandbox.reset().await.map_err(|error| error.to_string())
            }
            Self::Npm(process) => {
                process.reset();
                Ok(())
            }
        }
    }

    pub async fn stop(self) {
        match self {
            Self::Native(sandbox, _) => sandbox.stop().await,
            Self::Two { one, other, .. } => {
                one.stop().await;
                other.stop().await;
            }
            Self::Npm(_) => {}
        }
    }
}

/// Starts a sandbox on the PostgreSQL database that its configuration names.
pub async fn start_on_postgres(config: Config) -> Result<sandbox::Sandbox, StartError> {
    let database = Postgres::at(&config.database)?;
    sandbox::Sandbox::start_on(config, database).await
}

/// The configuration of a sandbox on this database of a PostgreSQL server. All on one database have the same keys.
pub fn on_postgres(config: Config, database: &str) -> Config {
    let key = |prefix: &str| Some(Secret::new(format!("{prefix}4eC39HqLyjWDarjtT1zdp7dc")));
    Config {
        database: database.to_owned(),
        instance_key: config.instance_key.or_else(|| key("an instance key of the tests: ")),
        secret_key: config.secret_key.or_else(|| key("sk_test_")),
        control_token: config.control_token.or_else(|| key("ctl_")),
        ..config
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

/// One merchant of a service, with the methods of [`guichet_sandbox::Tenant`].
#[derive(Debug)]
pub enum Tenant {
    /// The merchant, and the address of its service if that is not the sandbox's own.
    Native(Arc<sandbox::Tenant>, Option<String>),
    Npm(NpmTenant),
}

impl From<sandbox::Tenant> for Tenant {
    fn from(tenant: sandbox::Tenant) -> Self {
        Self::Native(Arc::new(tenant), None)
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
            Self::Native(tenant, _) => tenant.id(),
            Self::Npm(tenant) => &tenant.id,
        }
    }

    pub fn secret_key(&self) -> &Secret {
        match self {
            Self::Native(tenant, _) => tenant.secret_key(),
            Self::Npm(tenant) => &tenant.secret_key,
        }
    }

    pub fn base_url(&self) -> &str {
        match self {
            Self::Native(tenant, front) => front.as_deref().unwrap_or_else(|| tenant.base_url()),
            Self::Npm(tenant) => tenant.base_url(),
        }
    }

    pub fn clock(&self) -> Clock<'_> {
        Clock(self)
    }

    pub async fn now(&self) -> Moment {
        match self {
            Self::Native(tenant, _) => tenant.now().await.unwrap(),
            Self::Npm(tenant) => tenant.now(),
        }
    }

    pub async fn fault(&self, fault: Fault) {
        match self {
            Self::Native(tenant, _) => tenant.fault(fault).await.unwrap(),
            Self::Npm(tenant) => tenant.fault(&fault),
        }
    }

    /// The operations of the waiting faults.
    pub async fn faults(&self) -> Vec<String> {
        match self {
            Self::Native(tenant, _) => {
                tenant.faults().await.unwrap().iter().map(|fault| fault.operation().to_owned()).collect()
            }
            Self::Npm(tenant) => tenant.faults(),
        }
    }

    pub async fn clear_faults(&self) {
        match self {
            Self::Native(tenant, _) => tenant.clear_faults().await.unwrap(),
            Self::Npm(tenant) => tenant.clear_faults(),
        }
    }

    pub async fn requests(&self) -> Vec<Request> {
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
        if Service::chosen() == Service::PostgresTwo {
            tokio::time::sleep(LISTED_ELSEWHERE).await;
        }
        match self {
            Self::Native(tenant, _) => tenant.requests().await.unwrap().into_iter().map(request).collect(),
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
            Self::Native(tenant, _) => {
                let events = tenant.events().await.map_err(|error| error.to_string())?;
                Ok(events.into_iter().map(event).collect())
            }
            Self::Npm(tenant) => Ok(elsewhere(tenant, NpmTenant::events).await),
        }
    }

    pub async fn reset(&self) -> Result<(), String> {
        match self {
            Self::Native(tenant, _) => tenant.reset().await.map_err(|error| error.to_string()),
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
            Tenant::Native(tenant, _) => tenant.clock().advance(seconds).await.map_err(|error| error.to_string()),
            Tenant::Npm(tenant) => Ok(elsewhere(tenant, move |tenant| tenant.advance(seconds)).await),
        }
    }
}
