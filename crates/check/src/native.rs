//! A check on this machine: a port for the service, and for the shop HTTP and the shell, or functions of this process.

use crate::check::Check;
use crate::environment::{Boxed, CommandError, Environment, Request, Response, SendError};
use crate::options::{Login, Options};
use crate::report::{Report, instructions};
use crate::service::Service;
use axum::body::{Body, to_bytes};
use axum::http;
use guichet::native::Profile;
use guichet_sandbox::{Config, InProcess, Surroundings};
use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

/// Checks a shop, and returns what `guichet check` prints: the verdict on each rule, with its reason.
///
/// The shop is a process of its own at the address of the options, or a function from request to response in this
/// process. In both cases it calls the service at `service.base_url()` with `service.secret_key()`.
///
/// ```no_run
/// # async fn shop_of(base_url: &str, secret_key: &str) -> axum::Router { axum::Router::new() }
/// # async fn test() -> Result<(), Box<dyn std::error::Error>> {
/// use guichet_check::options::{Options, login, rule};
/// use guichet_check::{LocalService, Shop, check};
/// use tower_service::Service;
///
/// let service = LocalService::start(([127, 0, 0, 1], 0).into()).await?;
/// let router = shop_of(service.base_url(), service.secret_key()).await;
///
/// let mut options = Options::new("https://shop.example")?;
/// options.orders.push(serde_json::json!({"id": "17"}));
/// options.logins.push(login(r#"POST /login {"name":"awa"}"#)?);
/// options.only.push(rule("origins")?);
/// let shop = Shop::function(move |request| router.clone().call(request));
/// let report = check(shop, options, &service).await?;
/// assert!(report.has_passed(), "{report}");
/// # Ok(()) }
/// ```
///
/// The future is not `Send`: a test awaits it, and does not spawn it.
///
/// # Errors
/// If the shop does not answer or does not call the service within `options.wait`. A rule that fails is no error: see
/// [`Report`].
pub async fn check(shop: Shop, options: Options, service: &LocalService) -> Result<Report, NotRun> {
    let check = prepare(shop, options, service)?;
    check.shop_is_ready().await.map_err(NotRun)?;
    let mut report = Report::default();
    for rule in check.rules() {
        report.rules.push(check.rule(rule).await);
    }
    Ok(report)
}

/// Prepares a check whose rules the caller checks one by one.
///
/// # Errors
/// If TLS cannot be set up.
pub fn prepare(shop: Shop, options: Options, service: &LocalService) -> Result<Check, NotRun> {
    let mut options = options;
    if let Some(application) = options.logins.first().map(Login::origin).filter(|origin| !origin.is_empty()) {
        // The page is where the customers sign in, if the shop's routes have another port.
        options.page_origin.get_or_insert(application);
    }
    let machine = Machine::new(shop, &options)?;
    Ok(Check::new(Box::new(machine), Arc::clone(&service.service), options))
}

/// Why there is no report: a sentence for the person who checks.
#[derive(Debug)]
pub struct NotRun(String);

impl fmt::Display for NotRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotRun {}

/// The service of one check, on a port of this machine until it is dropped.
pub struct LocalService {
    service: Arc<Service>,
    base_url: String,
    _close: oneshot::Sender<()>,
}

impl LocalService {
    /// Starts it on this address; port 0 takes a free port. It has the secret key of `GUICHET_SECRET_KEY`, or a new
    /// one.
    ///
    /// # Errors
    /// If the port is taken, or the key is no test key.
    pub async fn start(address: SocketAddr) -> Result<Self, NotRun> {
        Self::start_with(address, None).await
    }

    /// The same, as a service of this profile.
    ///
    /// # Errors
    /// As [`LocalService::start`].
    pub async fn start_with(address: SocketAddr, profile: Option<Profile>) -> Result<Self, NotRun> {
        let listener = TcpListener::bind(address).await.map_err(|error| {
            NotRun(format!("The service cannot listen on {address}: {error}. Give another address with --listen."))
        })?;
        let failed = |error: &dyn fmt::Display| NotRun(format!("The service cannot start: {error}"));
        let base_url = format!("http://{}", listener.local_addr().map_err(|error| failed(&error))?);
        let config = Config { public_url: Some(base_url.clone()), ..Config::default() };
        let sandbox = InProcess::start(config, Surroundings::system()).await.map_err(|error| failed(&error))?;
        let service = Arc::new(Service::new(sandbox).with_profile(profile));
        let (close, closing) = oneshot::channel();
        let answering = Arc::clone(&service);
        let respond = move |request| {
            let service = Arc::clone(&answering);
            async move { service.respond(request).await }
        };
        tokio::spawn(guichet_sandbox::serve(listener, respond, closing));
        Ok(Self { service, base_url, _close: close })
    }

    /// Its address, for the shop's settings: `http://127.0.0.1:4243`.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The merchant's key, for the shop's settings. It is a test key.
    #[must_use]
    pub fn secret_key(&self) -> &str {
        self.service.secret_key()
    }

    /// How to start the shop: a text, or a line of JSON.
    #[must_use]
    pub fn instructions(&self, as_json: bool) -> String {
        instructions(&self.base_url, self.secret_key(), as_json)
    }
}

type Respond = Box<dyn Fn(http::Request<Body>) -> Boxed<'static, Result<http::Response<Body>, String>>>;
type Run = Box<dyn Fn(HashMap<&'static str, String>) -> Boxed<'static, Result<String, String>>>;

/// Where a check reaches the shop and its commands.
#[derive(Default)]
pub struct Shop {
    respond: Option<Respond>,
    commands: HashMap<String, Run>,
}

impl Shop {
    /// A shop that answers at the address of the options.
    #[must_use]
    pub fn at_address() -> Self {
        Self::default()
    }

    /// A shop in this process: a function from request to response, such as a clone of an axum router. The address of
    /// the options is the one that it takes for its own. A request has its path and query as URI, and the header
    /// `Host`.
    pub fn function<F, E>(respond: impl Fn(http::Request<Body>) -> F + 'static) -> Self
    where
        F: Future<Output = Result<http::Response<Body>, E>> + 'static,
        E: fmt::Display,
    {
        let respond: Respond = Box::new(move |request| {
            let response = respond(request);
            Box::pin(async move { response.await.map_err(|error| error.to_string()) })
        });
        Self { respond: Some(respond), commands: HashMap::new() }
    }

    /// Lets a function stand for the command of this text in the options. It gets the variables that the command gets,
    /// such as `GUICHET_REFERENCE`, and returns what the command prints, or why it failed.
    #[must_use]
    pub fn command<F>(mut self, text: &str, run: impl Fn(HashMap<&'static str, String>) -> F + 'static) -> Self
    where
        F: Future<Output = Result<String, String>> + 'static,
    {
        self.commands.insert(text.to_owned(), Box::new(move |variables| Box::pin(run(variables))));
        self
    }
}

struct Machine {
    shop: Shop,
    http: reqwest::Client,
    request_timeout: Duration,
    command_timeout: Duration,
    started: Instant,
}

impl Machine {
    fn new(shop: Shop, options: &Options) -> Result<Self, NotRun> {
        let failed = |error: &dyn fmt::Display| NotRun(format!("The HTTP client cannot be set up: {error}."));
        guichet::native::install_crypto_provider().map_err(|error| failed(&error))?;
        let http = reqwest::Client::builder()
            .tls_backend_rustls()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(options.timeout)
            // A restarted shop has closed its connections.
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| failed(&error))?;
        let Options { timeout, limit, .. } = *options;
        Ok(Self { shop, http, request_timeout: timeout, command_timeout: limit, started: Instant::now() })
    }

    async fn send_by_http(&self, request: Request) -> Result<Response, SendError> {
        let Request { method, url, headers, body } = request;
        let method =
            reqwest::Method::from_bytes(method.as_bytes()).map_err(|error| SendError::Broken(error.to_string()))?;
        let mut asked = self.http.request(method, &url);
        for (name, value) in headers {
            asked = asked.header(name, value);
        }
        if !body.is_empty() {
            asked = asked.body(body);
        }
        let response = asked.send().await.map_err(|error| self.broken(&error))?;
        let (status, headers) = (response.status().as_u16(), texts(response.headers()));
        let body = response.bytes().await.map_err(|error| self.broken(&error))?;
        Ok(Response { status, headers, body: String::from_utf8_lossy(&body).into_owned() })
    }

    fn broken(&self, error: &reqwest::Error) -> SendError {
        if error.is_timeout() {
            return SendError::Timeout(self.request_timeout);
        }
        if let Some(why) = certificate_error(error) {
            return SendError::Certificate(why);
        }
        if error.is_connect() { SendError::NoConnection } else { SendError::Broken(error.to_string()) }
    }
}

/// What TLS says of a certificate.
fn certificate_error(error: &reqwest::Error) -> Option<String> {
    let mut causes = std::iter::successors(error.source(), |&cause| cause.source()).map(ToString::to_string);
    causes.find(|cause| cause.contains("certificate"))
}

/// Sends a request to a function.
async fn call(respond: &Respond, request: Request) -> Result<Response, SendError> {
    let broken = |error: String| SendError::Broken(error);
    let url = url::Url::parse(&request.url).map_err(|error| broken(error.to_string()))?;
    let target = format!("{}{}", url.path(), url.query().map(|query| format!("?{query}")).unwrap_or_default());
    let mut called = http::Request::builder().method(request.method).uri(target);
    if !request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        called = called.header(http::header::HOST, &url[url::Position::BeforeHost..url::Position::AfterPort]);
    }
    if !request.body.is_empty() {
        called = called.header(http::header::CONTENT_LENGTH, request.body.len());
    }
    for (name, value) in &request.headers {
        called = called.header(name, value.as_bytes());
    }
    let called = called.body(Body::from(request.body)).map_err(|error| broken(error.to_string()))?;
    let (parts, body) = respond(called).await.map_err(broken)?.into_parts();
    let body = to_bytes(body, usize::MAX).await.map_err(|error| broken(error.to_string()))?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Response { status: parts.status.as_u16(), headers: texts(&parts.headers), body })
}

fn texts(headers: &http::HeaderMap) -> Vec<(String, String)> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
}

impl Environment for Machine {
    fn send(&self, request: Request) -> Boxed<'_, Result<Response, SendError>> {
        Box::pin(async move {
            let Some(respond) = &self.shop.respond else { return self.send_by_http(request).await };
            let limit = self.request_timeout;
            timeout(limit, call(respond, request)).await.unwrap_or(Err(SendError::Timeout(limit)))
        })
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn sleep(&self, time: Duration) -> Boxed<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn read<'a>(&'a self, path: &'a str) -> Boxed<'a, Result<String, String>> {
        Box::pin(async move {
            let bytes = tokio::fs::read(path).await.map_err(|error| error.to_string())?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        })
    }

    fn run<'a>(
        &'a self,
        command: &'a str,
        variables: Vec<(&'static str, String)>,
        is_output_wanted: bool,
    ) -> Boxed<'a, Result<String, CommandError>> {
        Box::pin(async move {
            let limit = self.command_timeout;
            if let Some(run) = self.shop.commands.get(command) {
                let printed = timeout(limit, run(variables.into_iter().collect())).await;
                return printed.map_err(|_| CommandError::Timeout(limit))?.map_err(CommandError::NotRun);
            }
            // A shop that the command leaves running would hold a pipe open.
            let stdio = if is_output_wanted { Stdio::piped } else { Stdio::null };
            let (program, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
            let mut shell = Command::new(program);
            shell.arg(option).arg(command).envs(variables).stdin(Stdio::null()).stdout(stdio()).stderr(stdio());
            let output = timeout(limit, shell.kill_on_drop(true).output()).await;
            let output = output.map_err(|_| CommandError::Timeout(limit))?;
            let output = output.map_err(|error| CommandError::NotRun(error.to_string()))?;
            let [stdout, stderr] =
                [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
            if output.status.success() {
                return Ok(stdout);
            }
            Err(CommandError::Failed { status: output.status.to_string(), stderr })
        })
    }
}
