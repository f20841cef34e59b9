//! A shop of shoes that sells through guichet, as a merchant might write it: axum, a database of its own, and the
//! secret key on its server. `cargo xtask demo` starts it beside a sandbox. By hand:
//!
//! ```text
//! cargo xtask pack --quick                                          # the npm package, which its pages import
//! cargo run --package guichet-cli -- sandbox                        # in another terminal; it prints a test key
//! GUICHET_SECRET_KEY=sk_test_… cargo run --package guichet-shop
//! ```
//!
//! Its orders are in SQLite. With the feature `postgres` they are in PostgreSQL, and its customers' session tokens too,
//! so several of its servers can share them: start each with the same `--database postgres://…`, the same key and the
//! same `--public-url`. All run on this machine, because the shop has no passwords.
//!
//! `SHOP_ORIGIN=http://localhost:5173` names the origin of its page, if that is not the server's own: that page, and no
//! other, may call the server with the cookie (docs/two-origins.md). The server answers only under `localhost` and
//! loopback addresses.
//!
//! - [`seller`] is the shop's side of the three routes: who buys, what an order costs, what becomes of it.
//! - [`settler`] reads the payments of customers who closed the page.
//! - [`subscriptions`] is an API of the shop's own, for customers with a session token.
//! - [`database`] has the shop's own tables. Its ledger of payments (`guichet-orders`) is beside them.

mod api;
mod app;
mod catalogue;
mod database;
mod logins;
mod open;
mod orders;
mod own_pages;
mod plain;
mod seller;
mod settler;
mod subscriptions;
#[cfg(test)]
mod tests;

use app::App;
use clap::Parser;
use guichet::native::Ledger;
use guichet::native::{SessionGuard, Sessions};
use guichet::values::Address;
use guichet::{Client, SecretKey};
use seller::Seller;
use serde_json::json;
use settler::settle_for_ever;
use std::error::Error;
use std::io::{self, ErrorKind, IsTerminal};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tokio::net::TcpListener;
use tracing_subscriber::filter::LevelFilter;

/// A shop of shoes. The merchant's secret key at the payment service comes from GUICHET_SECRET_KEY.
#[derive(Parser)]
#[command(name = "guichet-shop", version)]
struct Options {
    /// The address of the shop; port 0 takes a free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4242")]
    listen: SocketAddr,
    /// The address of the payment service.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:4243")]
    base_url: String,
    /// The database of orders and logins: a file, `memory:`, or with the feature `postgres` a `postgres://…` that
    /// servers share.
    #[arg(long, value_name = "URL", default_value = "sqlite:.guichet/shop.sqlite")]
    database: String,
    /// The shop's address as browsers name it, the same on each server that shares a database; default: where it
    /// listens.
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// The folder of the pages.
    #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../www/shop"))]
    pages: PathBuf,
    /// The folder of the npm package, which the pages import.
    #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/npm/package"))]
    package: PathBuf,
    /// How often to look for payments that are to be read, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    settle_every: Duration,
    /// Print one line of JSON when ready, and nothing else on stdout.
    #[arg(long)]
    json: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let log = tracing_subscriber::fmt().with_max_level(LevelFilter::WARN).with_writer(io::stderr);
    log.with_ansi(io::stderr().is_terminal()).init();
    match run(Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("guichet-shop: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<(), Box<dyn Error>> {
    let Options { listen, base_url, database, public_url, pages, package, settle_every, json } = options;
    if !listen.ip().is_loopback() {
        return Err(format!(
            "The shop cannot listen on {listen}: it has no passwords, so it serves this machine alone. Give a loopback address: \
             --listen 127.0.0.1:{}.",
            listen.port()
        )
        .into());
    }
    if !package.join("guichet.js").is_file() {
        let folder = package.display();
        return Err(format!(
            "There is no npm package in {folder}, and the pages need it. Build it with cargo xtask pack --quick, or name its folder: --package DIR."
        )
        .into());
    }
    let key = SecretKey::from_env("GUICHET_SECRET_KEY")?;
    if !key.is_test() {
        return Err("The shop has no passwords, so it takes only a test key (sk_test_…).".into());
    }
    install_tls();
    let client = Client::builder(&base_url, key).build().map_err(|error| error.message().to_owned())?;
    let (sessions, guard) = sessions(&client, &database).await?;
    let own = open::open(&database).await?;
    let ledger = Ledger::new(client.clone(), open::open_orders(&database).await?);

    let listener = TcpListener::bind(listen).await.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => {
            format!(
                "The address {listen} is already in use. Choose another port: --listen 127.0.0.1:0 takes a free one."
            )
        }
        _ => format!("The shop cannot listen on {listen}: {error}."),
    })?;
    let shop_url = format!("http://{}", listener.local_addr()?);
    let url = public_url.unwrap_or_else(|| shop_url.clone());
    let seller = Seller { database: own, url: url.clone() };
    tokio::spawn(settle_for_ever(ledger.clone(), seller.clone(), settle_every)); // every server settles
    let page_origin = std::env::var("SHOP_ORIGIN").ok().filter(|origin| !origin.is_empty());
    let page_origin = page_origin.map(|origin| Address::new(&origin)).transpose();
    let page_origin =
        page_origin.map_err(|invalid| format!("SHOP_ORIGIN: {invalid}"))?.map(|page| page.origin().to_owned());
    let service = Address::new(&base_url)?;
    let app = App { client, seller, ledger, sessions, guard, service, url, page_origin, pages, package };
    let router = app.router()?;
    // Before it says that it runs: its reader may stop it at once.
    let (stop, stopped) = (stop_signal()?, stop_signal()?);
    if json {
        println!("{}", json!({"shop_url": shop_url, "base_url": base_url}));
    } else {
        println!("The shop is running. Put a pair of shoes in the basket and pay; no real money moves.\n");
        println!("  The shop             {shop_url}");
        println!("  The service          {base_url}\n");
        println!("  A phone that pays    237670000000");
        println!("  A phone that fails   237670000009");
        println!("  A phone paid late    237670000014, a minute after it has failed");
        println!("  A card that pays     4242424242424242, any future date, any three digits");
        println!("\nCtrl-C stops it.");
    }
    tokio::select! {
        served = axum::serve(listener, router).with_graceful_shutdown(stop) => served?,
        // A request that takes longer is dropped.
        () = async { stopped.await; tokio::time::sleep(Duration::from_secs(5)).await } => {}
    }
    Ok(())
}

/// Chooses ring for TLS.
fn install_tls() {
    // The error says that a provider is installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// The session tokens of the signed-in customers, and the guard that admits requests with one of them.
#[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "memory has no address"))]
async fn sessions(client: &Client, database: &str) -> Result<(Sessions, SessionGuard), Box<dyn Error>> {
    #[cfg(feature = "postgres")]
    if open::is_postgres(database) {
        let store = guichet_sessions::PostgresSessions::connect(database, client).await;
        let store = store.map_err(|error| error.message().to_owned())?;
        let guard = SessionGuard::with_store(client.clone(), store.clone());
        return Ok((Sessions::with_store(client.clone(), store).guarded_by(guard.clone()), guard));
    }
    let guard = SessionGuard::new(client.clone());
    Ok((Sessions::new(client.clone()).guarded_by(guard.clone()), guard))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds >= 0.01);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "give a number of seconds of at least 0.01".to_owned())
}

/// Resolves on Ctrl-C, and on SIGTERM on Unix.
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    Ok(async move {
        #[cfg(unix)]
        let terminate = terminated.recv();
        #[cfg(not(unix))]
        let terminate = std::future::pending::<Option<()>>();
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate => {}
        }
    })
}
