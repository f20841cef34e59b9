//! The process: the routes of the page, the message of the application, the rounds, and what an operator asks.

use super::RunArgs;
use super::admin;
use super::args::FileArgs;
use super::config::{Admin, Config};
use super::deliveries::Deliveries;
use super::metrics::Metrics;
use super::open::{self, Service};
use super::seller::{Seller, with_cookies};
use crate::serve::stop_signal;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use clap::ValueEnum;
use guichet::native::ledger::Store;
use guichet::native::{Ledger, Routes, SecretKey, Sessions};
use guichet_orders::AnyOrders;
use guichet_sandbox::{Config as SandboxConfig, Package, Sandbox};
use serde::Deserialize;
use serde_json::json;
use std::error::Error;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::Instant;

/// The pause between two rounds.
const ROUND: Duration = Duration::from_secs(2);
/// The pause between two deliveries of the events that are due.
const DELIVERY: Duration = Duration::from_secs(1);
/// How long requests in flight may take after SIGTERM.
const GRACE: Duration = Duration::from_secs(4);

/// How the log is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Log {
    /// A line for people.
    Text,
    /// A line of JSON.
    Json,
}

/// What the routes beside the page's share.
struct Process {
    ledger: Ledger<AnyOrders>,
    sessions: Sessions,
    seller: Arc<Seller>,
    orders: AnyOrders,
    metrics: Metrics,
}

pub(super) async fn run(args: RunArgs) -> Result<(), Box<dyn Error>> {
    let RunArgs { file: FileArgs { config }, sandbox, package, checkout, json, log: _ } = args;
    let config = Config::read(&config)?;
    let seller = Arc::new(open::seller(&config)?);
    let sandbox = match sandbox {
        Some(listen) => Some(
            start_sandbox(
                &config,
                SandboxConfig { listen, package: Package::find(package), checkout, ..SandboxConfig::default() },
            )
            .await?,
        ),
        None => None,
    };
    let service = match &sandbox {
        Some(sandbox) => {
            let key = SecretKey::new(sandbox.secret_key().expose())?;
            Service { base_url: sandbox.base_url().to_owned(), key }
        }
        None => Service::of(&config)?,
    };
    let base_url = service.base_url.clone();
    let client = service.client(&config)?;
    // They refuse a PostgreSQL that others on the network could read.
    let sessions = open::sessions(&config, &client).await?;
    let orders = open::orders(&config).await?;
    if let Some(sandbox) = &sandbox {
        let record = Box::new(sandbox.delivery_recorder());
        seller.record_deliveries(Deliveries { orders: orders.clone(), record });
    }
    let ledger = open::ledger(&config, client.clone(), orders.clone())?;
    if !ledger.is_of_its_environment().await? {
        return Err("`database` has the payments of another environment: a test key's, or a live one's. Name another database for this key.".into());
    }
    let shared = orders.shared().await?;
    if !shared.may_be_served() {
        return Err("`database` is a copy, or was restored from one, and not every order was read since: `guichet shop restore declare`.".into());
    }
    for restore in shared.open_restores() {
        tracing::warn!("{}: compare a statement, then `guichet shop restore close`", super::restore::span(restore));
    }
    let process = Arc::new(Process { ledger, sessions, seller, orders, metrics: Metrics::new() });
    let (router, admin) = routers(&config, &process)?;
    let (listener, shop_url) = listen(config.listen, "listen").await?;
    // The page of a person of this machine has a listener of its own, which no proxy leads to.
    let (own_admin, admin_url) = match config.admin {
        Some(Admin::At(address)) => {
            let (listener, url) = listen(address, "admin").await?;
            (Some((listener, admin)), Some(format!("{url}/admin")))
        }
        Some(Admin::Bookkeeper) => (None, Some(format!("{shop_url}{}/admin", config.path))),
        None => (None, None),
    };
    if config.private_network && !config.is_here() && config.app.scheme() == "http" {
        tracing::warn!(
            "logins and prices cross the network to {} unencrypted: private_network",
            config.app.host_str().unwrap_or_default()
        );
    }
    // Before it says that it runs: its reader may stop it at once.
    let (stop, stop_admin, stopped) = (stop_signal()?, stop_signal()?, stop_signal()?);
    tokio::spawn(restart_after_panic("settling", Arc::clone(&process), keep_settling));
    tokio::spawn(restart_after_panic("delivery", Arc::clone(&process), keep_delivering));
    tokio::spawn(restart_after_panic("counting", Arc::clone(&process), keep_counting));
    let addresses = Addresses { shop_url: &shop_url, admin_url: admin_url.as_deref(), base_url: &base_url };
    report(json, &config, &addresses, sandbox.as_ref());
    let serve = async |(listener, router): (TcpListener, Router), stop| {
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        axum::serve(listener, service).with_graceful_shutdown(stop).await
    };
    let serve_admin = async {
        match own_admin {
            Some(admin) => serve(admin, stop_admin).await,
            None => Ok(()),
        }
    };
    tokio::select! {
        served = async { tokio::try_join!(serve((listener, router), stop), serve_admin) } => { served?; }
        // A request that takes longer is dropped; what it has stored goes on with the next round.
        () = async { stopped.await; tokio::time::sleep(GRACE).await } => {}
    }
    Ok(())
}

/// Listens on an address of the settings, and returns its own address as a URL.
async fn listen(address: SocketAddr, setting: &str) -> Result<(TcpListener, String), Box<dyn Error>> {
    let listener = TcpListener::bind(address).await.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => format!("The address {address} is already in use. Choose another: `{setting}`."),
        _ => format!("The shop cannot listen on {address}: {error}. Choose another: `{setting}`."),
    })?;
    let url = format!("http://{}", listener.local_addr()?);
    Ok((listener, url))
}

/// The service in this process. In memory with the orders, and else beside them.
async fn start_sandbox(config: &Config, of_options: SandboxConfig) -> Result<Sandbox, Box<dyn Error>> {
    let in_memory = config.database == "memory:";
    let database = if in_memory { "memory:" } else { "sqlite:.guichet/sandbox.sqlite" }.to_owned();
    if let Some(problem) = of_options.package.problem() {
        eprintln!("guichet: {problem}");
    }
    let profile = config.company.clone();
    let merchant_name = config.name.clone();
    let config = SandboxConfig { database, profile, merchant_name, ..of_options };
    // Its sentence names the option of `guichet sandbox`.
    let started = Sandbox::start_with(config).await;
    Ok(started.map_err(|error| error.to_string().replace("with --listen", "with --sandbox=127.0.0.1:PORT"))?)
}

/// Where the process answers, and where the service does.
struct Addresses<'a> {
    shop_url: &'a str,
    admin_url: Option<&'a str>,
    base_url: &'a str,
}

fn report(json: bool, config: &Config, addresses: &Addresses<'_>, sandbox: Option<&Sandbox>) {
    let Addresses { shop_url, admin_url, base_url } = addresses;
    if json {
        let mut line = json!({"shop_url": shop_url, "path": config.path, "base_url": base_url});
        if let Some(admin_url) = admin_url {
            line["admin_url"] = json!(admin_url);
        }
        if let Some(sandbox) = sandbox {
            line["secret_key"] = json!(sandbox.secret_key().expose());
            line["control_url"] = json!(sandbox.control_url());
            line["inspector_url"] = json!(sandbox.inspector_url());
            line["control_token"] = json!(sandbox.control_token().expose());
        }
        println!("{line}");
        return;
    }
    println!("The merchant's half of the shop {:?} is running.\n", config.name);
    println!("  The page's routes      {shop_url}{}", config.path);
    if let Some(admin_url) = admin_url {
        println!("  The bookkeeper's page  {admin_url}");
    }
    println!("  The application        {}", config.app);
    println!("  The service            {base_url}");
    if let Some(sandbox) = sandbox {
        println!("  The inspector          {}    (opens it once)", sandbox.inspector_url());
        println!(
            "  The secret key         {}    (GUICHET_SECRET_KEY, for refunds, mismatches and events resend)",
            sandbox.secret_key().expose()
        );
        println!(
            "\nThe service is a test service: no real money moves. The phone 237670000000 pays, 237670000009 declines."
        );
    }
    println!("\nCtrl-C stops it.");
}

/// The routes of the process, and those of the bookkeeper's page if they have a listener of their own.
fn routers(config: &Config, process: &Arc<Process>) -> Result<(Router, Router), String> {
    let Process { ledger, sessions, seller, orders, .. } = &**process;
    let mut routes = Routes::new(ledger.clone(), Arc::clone(seller)).sessions(sessions.clone());
    for origin in std::iter::once(&config.public_url).chain(&config.origins) {
        routes = routes.allow_origin(origin).map_err(|invalid| format!("{origin}: {invalid}"))?;
    }
    for origin in &config.checkout_origins {
        routes = routes.checkout_origin(origin).map_err(|invalid| format!("{origin}: {invalid}"))?;
    }
    if config.public_reads {
        routes = routes.public_reads();
    }
    let own = Router::new()
        // The page of a payment leads to `/`, which is the shop's where the process has an origin of its own.
        .route("/", get(Redirect::to(&config.public_url)))
        .route("/app", post(message).layer(DefaultBodyLimit::max(64 * 1024)))
        .route("/healthz", get(async || StatusCode::OK))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(Arc::clone(process));
    let admin = admin::router(config, ledger, orders, seller)?;
    let (beside, apart) = match config.admin {
        Some(Admin::Bookkeeper) => (routes.router().merge(admin), Router::new()),
        _ => (routes.router(), admin),
    };
    Ok((own.nest(&config.path, beside.layer(from_fn(with_cookies))), apart))
}

/// A message of the application.
#[derive(Deserialize)]
struct LoginEnded {
    r#type: String,
    audience: String,
    #[serde(default)]
    login: String,
}

/// `POST /app`: a login has ended, so its session tokens are revoked.
async fn message(State(process): State<Arc<Process>>, headers: HeaderMap, body: Bytes) -> Response {
    let refuse = |status: StatusCode, why: &str| (status, [why, "\n"].concat()).into_response();
    let Process { sessions, seller, .. } = &*process;
    if !seller.application.secret().has_signed(&headers, &body) {
        tracing::warn!(
            "a message to /app is not signed by this shop's secret, or older than five minutes: its login goes on"
        );
        return refuse(
            StatusCode::UNAUTHORIZED,
            "The message is not signed by this shop's secret within the last five minutes.",
        );
    }
    let Ok(LoginEnded { r#type, audience, login }) = serde_json::from_slice(&body) else {
        return refuse(StatusCode::BAD_REQUEST, "The message is no object in JSON with `type` and `audience`.");
    };
    if audience != seller.application.audience() {
        return refuse(StatusCode::BAD_REQUEST, "The message is for another shop: `audience`.");
    }
    if r#type != "login_ended" || login.is_empty() {
        return refuse(StatusCode::BAD_REQUEST, "The message's `type` is `login_ended`, and it has a `login`.");
    }
    seller.forget(&login);
    match sessions.sign_out(&login).await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        // The tokens that are left end by themselves within half an hour.
        Err(refused) => refused.into_response(),
    }
}

async fn ready(State(process): State<Arc<Process>>) -> StatusCode {
    if process.metrics.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

async fn metrics(State(process): State<Arc<Process>>) -> Response {
    let Process { ledger, seller, metrics, .. } = &*process;
    let format = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, format)], metrics.text(ledger, seller)).into_response()
}

/// Begins anew after a panic: a shop that sells and does not settle would take money for orders that stay unpaid.
async fn restart_after_panic<F>(what: &'static str, process: Arc<Process>, work: fn(Arc<Process>) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    while let Err(panicked) = tokio::spawn(work(Arc::clone(&process))).await {
        tracing::error!(%panicked, "the {what} has ended, and begins anew");
        tokio::time::sleep(ROUND).await;
    }
}

/// Reads what is due, round after round.
async fn keep_settling(process: Arc<Process>) {
    loop {
        // A failure is logged as a `Refused`.
        let round = process.ledger.read_due(&*process.seller).await;
        process.metrics.set_ready(round.is_ok());
        if let Ok(round) = round {
            process.metrics.set_oldest(round.oldest.map_or(0, |since| round.until - since));
            for (reference, id) in round.not_readable {
                tracing::warn!(?reference, ?id, "a payment cannot be read: look for it at the payment company");
            }
        }
        tokio::time::sleep(ROUND).await;
    }
}

/// Delivers what the application has not received. Apart from the readings, so that one that does not answer delays
/// them less.
async fn keep_delivering(process: Arc<Process>) {
    loop {
        let began = Instant::now();
        if let Ok(waiting) = process.ledger.deliver_due(&*process.seller).await {
            process.metrics.set_waiting(waiting);
        }
        // The more events wait, the longer a look at them takes.
        tokio::time::sleep(DELIVERY.max(began.elapsed())).await;
    }
}

/// Counts what the gauges show.
async fn keep_counting(process: Arc<Process>) {
    process.metrics.keep_counting(&process.orders, &process.ledger).await;
}
