//! The service that a test asks over HTTP: the sandbox in memory, on an SQLite file, or as the npm package
//! `guichet-sandbox` in a process of Node.js. A test says by `on_each_store!` or `on_each_service!` where it runs;
//! others run in memory, or on the service that `GUICHET_TEST_SERVICE` names: `sqlite` or `package`.

use super::api::{client, control, try_send};
use super::folder::Folder;
use super::npm_service::NpmProcess;
use guichet::values::{Moment, Secret};
use guichet_sandbox as sandbox;
use guichet_sandbox::{Config, Fault, FaultKind};
use serde_json::{Value, json};
use std::sync::Arc;

/// The kinds of services.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Service {
    Memory,
    Sqlite,
    Package,
}

tokio::task_local! {
    /// The service of the test.
    static CHOSEN: Service;
}

/// Makes two tests of each function, `in_memory::…` and `on_sqlite::…`, for what is stored and read again. A function
/// that is not listed is dead code, which does not compile.
#[allow(unused_macros, reason = "each test binary uses a part of it")]
macro_rules! on_each_store {
    ($($test:ident),+ $(,)?) => {
        $crate::support::service::on_service!(in_memory Memory $($test)+);
        $crate::support::service::on_service!(on_sqlite Sqlite $($test)+);
    };
}

/// The same, and `on_the_package::…`.
#[allow(unused_macros, reason = "each test binary uses a part of it")]
macro_rules! on_each_service {
    ($($test:ident),+ $(,)?) => {
        $crate::support::service::on_each_store!($($test),+);
        mod on_the_package {
            $(
                #[tokio::test]
                #[ignore = "needs files that `cargo xtask test` builds"]
                async fn $test() {
                    $crate::support::service::Service::Package.run(super::$test()).await;
                }
            )+
        }
    };
}

#[allow(unused_macros, reason = "each test binary uses a part of it")]
macro_rules! on_service {
    ($module:ident $service:ident $($test:ident)+) => {
        mod $module {
            $(
                #[tokio::test]
                async fn $test() {
                    $crate::support::service::Service::$service.run(super::$test()).await;
                }
            )+
        }
    };
}

#[allow(unused_imports, reason = "each test binary uses a part of it")]
pub(crate) use {on_each_service, on_each_store, on_service};

impl Service {
    /// Runs a test on this service.
    pub async fn run(self, test: impl Future<Output = ()>) {
        CHOSEN.scope(self, test).await;
    }

    /// The service of the test, or the choice of `GUICHET_TEST_SERVICE`.
    pub fn chosen() -> Self {
        if let Ok(chosen) = CHOSEN.try_with(|chosen| *chosen) {
            return chosen;
        }
        match std::env::var("GUICHET_TEST_SERVICE").as_deref() {
            Err(_) | Ok("memory") => Self::Memory,
            Ok("sqlite") => Self::Sqlite,
            Ok("package") => Self::Package,
            Ok(other) => panic!("GUICHET_TEST_SERVICE is `{other}`. The services are: memory, sqlite, package."),
        }
    }
}

/// A running service, with the methods of [`guichet_sandbox::Sandbox`].
#[derive(Debug)]
pub enum Sandbox {
    Native(Box<sandbox::Sandbox>, Option<Folder>),
    Npm(Arc<NpmProcess>),
}

impl Sandbox {
    /// Starts the chosen service, or takes the package's process that the tests share. A test that uses the first
    /// merchant or resets all needs [`Sandbox::start_with`].
    pub async fn start() -> Result<Self, String> {
        if Service::chosen() == Service::Package {
            return Ok(Self::Npm(NpmProcess::shared()));
        }
        Self::start_with(Config::default()).await
    }

    /// Starts the chosen service for this test alone. A test that names a database gets that one, and cannot run on the
    /// package.
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
        Ok(Self::Native(Box::new(started), folder))
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
        Ok(Tenant::new(self, name).await)
    }

    /// Deletes everything of every merchant.
    pub async fn reset(&self) -> Result<(), String> {
        match self {
            Self::Native(sandbox, _) => sandbox.reset().await.map_err(|error| error.to_string()),
            Self::Npm(_) => Err("the package has no call for every merchant".to_owned()),
        }
    }

    pub async fn stop(self) {
        match self {
            Self::Native(sandbox, _) => sandbox.stop().await,
            Self::Npm(_) => {}
        }
    }
}

impl From<sandbox::Sandbox> for Sandbox {
    fn from(sandbox: sandbox::Sandbox) -> Self {
        Self::Native(Box::new(sandbox), None)
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

impl Controlled for NpmProcess {
    fn control_api(&self) -> (String, &Secret) {
        (format!("{}/sandbox", self.base_url), &self.control_token)
    }
}

/// One merchant of a service, with the methods of [`guichet_sandbox::Tenant`], over the control API.
#[derive(Debug)]
pub struct Tenant {
    control_url: String,
    control_token: Secret,
    /// Empty for the first merchant, whom the control API takes if none is named.
    id: String,
    secret_key: Secret,
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
    pub async fn new(sandbox: &impl Controlled, name: &str) -> Self {
        let made = control(sandbox, "POST", "/merchants", json!({ "name": name })).await;
        assert!(made.status < 300, "{}", made.text);
        let secret_key = Secret::new(text(&made.body["secret_key"]));
        Self { id: text(&made.body["merchant"]), ..Self::first(sandbox, &secret_key) }
    }

    /// The first merchant, who has this key.
    pub fn first(sandbox: &impl Controlled, secret_key: &Secret) -> Self {
        let (control_url, control_token) = sandbox.control_api();
        let control_token = Secret::new(control_token.expose());
        Self { control_url, control_token, id: String::new(), secret_key: Secret::new(secret_key.expose()) }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn secret_key(&self) -> &Secret {
        &self.secret_key
    }

    pub fn base_url(&self) -> &str {
        self.control_url.trim_end_matches("/sandbox")
    }

    pub fn clock(&self) -> Clock<'_> {
        Clock(self)
    }

    pub async fn now(&self) -> Moment {
        time(&self.control("GET", "clock", json!({})).await.unwrap()["now"])
    }

    pub async fn fault(&self, fault: Fault) {
        let kind = fault.kind();
        let mut fields = json!({ "operation": fault.operation(), "kind": kind.as_str(), "count": fault.count() });
        match kind {
            FaultKind::Delay { milliseconds } => fields["milliseconds"] = json!(milliseconds),
            FaultKind::Status { status, retry_after } => {
                fields["status"] = json!(status);
                if let Some(seconds) = retry_after {
                    fields["retry_after"] = json!(seconds);
                }
            }
            _ => {}
        }
        self.control("POST", "faults", fields).await.unwrap();
    }

    /// The operations of the waiting faults.
    pub async fn faults(&self) -> Vec<String> {
        let waiting = self.control("GET", "faults", json!({})).await.unwrap();
        list(&waiting["faults"]).iter().map(|fault| text(&fault["operation"])).collect()
    }

    pub async fn clear_faults(&self) {
        self.control("DELETE", "faults", json!({})).await.unwrap();
    }

    /// Lets an operator be `operational`, `delayed` or `closed`.
    pub async fn set_operator(&self, code: &str, status: &str) {
        self.control("POST", "operators", json!({ "code": code, "status": status })).await.unwrap();
    }

    pub async fn requests(&self) -> Vec<Request> {
        self.listed_requests().await.unwrap()
    }

    /// The same, or why the service does not say.
    pub async fn listed_requests(&self) -> Result<Vec<Request>, String> {
        let optional = |value: &Value| value.as_str().map(str::to_owned);
        let request = |request: &Value| Request {
            operation: text(&request["operation"]),
            method: text(&request["method"]),
            path: text(&request["path"]),
            credential: text(&request["credential"]),
            request_id: text(&request["request_id"]),
            intent: optional(&request["intent"]),
            status: request["status"].as_u64().and_then(|status| u16::try_from(status).ok()),
            fault: optional(&request["fault"]),
        };
        Ok(list(&self.control("GET", "requests", json!({})).await?["requests"]).iter().map(request).collect())
    }

    pub async fn events(&self) -> Result<Vec<Event>, String> {
        let event = |event: &Value| Event {
            id: text(&event["id"]),
            kind: text(&event["type"]),
            at: time(&event["created_at"]),
            subject: text(&event["data"]["id"]),
            merchant_reference: event["data"]["merchant_reference"].as_str().map(str::to_owned),
        };
        Ok(list(&self.control("GET", "events", json!({})).await?["events"]).iter().map(event).collect())
    }

    pub async fn reset(&self) -> Result<(), String> {
        self.control("POST", "reset", json!({})).await.map(drop)
    }

    /// Calls the control API about this merchant: the fields go into the body, or for GET into the query.
    async fn control(&self, method: &str, call: &str, mut fields: Value) -> Result<Value, String> {
        if !self.id.is_empty() {
            fields["merchant"] = json!(self.id);
        }
        let mut url = format!("{}/{call}", self.control_url);
        let body = (method != "GET").then(|| fields.to_string());
        if body.is_none() && !self.id.is_empty() {
            url = format!("{url}?merchant={}", self.id);
        }
        let body = body.map(Into::into);
        let reply = try_send(&client(), method, &url, Some(self.control_token.expose()), body, &[]).await;
        match reply {
            Ok(reply) if reply.status < 300 => Ok(reply.body),
            Ok(reply) => Err(reply.text),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// A merchant's clock.
#[derive(Debug)]
pub struct Clock<'a>(&'a Tenant);

impl Clock<'_> {
    /// In two steps if it is more than the hundred years that one call takes.
    pub async fn advance(&self, seconds: u32) -> Result<Moment, String> {
        const MAX: u32 = 3_162_240_000;
        let mut now = None;
        for seconds in [seconds.min(MAX), seconds.saturating_sub(MAX)] {
            if seconds > 0 || now.is_none() {
                now = Some(time(&self.0.control("POST", "clock", json!({ "advance_seconds": seconds })).await?["now"]));
            }
        }
        Ok(now.expect("the first step was made"))
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn time(value: &Value) -> Moment {
    Moment::from_unix(value.as_i64().expect("Unix seconds"))
}
