//! `guichet check`: says which rules of a safe shop a merchant's server keeps.

mod machine;

use super::failure::{Failure, NOT_REACHED};
use super::serve::{listen_address, stop_signal};
use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use clap::Args;
use guichet_check::options::{self, Csrf, Login, Options, ShopAddress};
use guichet_check::{Check, Rule, Service, instructions, rules, summary};
use guichet_sandbox::{Config, DropConnection, InProcess, Limits, Surroundings, serve};
use machine::Machine;
use serde_json::Value;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

#[derive(Args)]
#[command(after_long_help = options::HELP)]
pub(super) struct CheckArgs {
    /// The shop's address. A path is that of the three routes; default: /guichet.
    #[arg(value_name = "URL", value_parser = options::shop_address)]
    shop: ShopAddress,
    /// An order of the customer that is not paid yet, as the page sends it. May be repeated.
    #[arg(long = "order", value_name = "JSON", required = true, value_parser = options::order)]
    orders: Vec<Value>,
    /// The request that signs the customer in; the second one, another customer.
    #[arg(long = "login", value_name = "REQUEST", value_parser = options::login)]
    logins: Vec<Login>,
    /// The page that a customer opens first; it sets the cookies.
    #[arg(long, value_name = "PATH", default_value = "/", value_parser = options::path)]
    page: String,
    /// The cookie of the CSRF token and the header that carries it: csrftoken=X-CSRFToken.
    #[arg(long, value_name = "COOKIE=HEADER", value_parser = options::csrf)]
    csrf: Option<Csrf>,
    /// A command that prints what the shop did with an order; `--help` says how.
    #[arg(long = "orders", value_name = "CMD")]
    orders_command: Option<String>,
    /// A command that restarts the shop.
    #[arg(long = "restart", value_name = "CMD")]
    restart_command: Option<String>,
    /// A command that settles payments once, as cron runs it; without it the shop has a timer.
    #[arg(long = "settle", value_name = "CMD")]
    settle_command: Option<String>,
    /// The seconds in which a payment must be settled, and a request answered.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = options::seconds)]
    limit: Duration,
    /// How many seconds to wait for the shop at the start.
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = options::seconds)]
    wait: Duration,
    /// Check only this rule. May be repeated.
    #[arg(long = "only", value_name = "RULE", value_parser = options::rule)]
    only: Vec<&'static Rule>,
    /// The address of the service that the shop calls; port 0 takes a free port.
    #[arg(long, value_name = "ADDRESS", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, 4243)), value_parser = listen_address)]
    listen: SocketAddr,
    /// Print two lines of JSON: the service's address and key, and the report.
    #[arg(long)]
    json: bool,
}

pub(super) async fn check(args: CheckArgs) -> Result<ExitCode, Failure> {
    let stop = stop_signal().map_err(Box::<dyn std::error::Error>::from)?;
    let json = args.json;
    let rules = rules(&args.only);
    let options = Options {
        origin: args.shop.origin,
        page: args.page,
        routes: args.shop.routes,
        logins: args.logins,
        csrf: args.csrf,
        orders: args.orders,
        orders_command: args.orders_command,
        restart_command: args.restart_command,
        settle_command: args.settle_command,
        limit: args.limit,
    };
    let machine = Machine::new(options.limit)?;
    let (service, _listening) = listen(args.listen, json).await?;
    let check = Check::new(Box::new(machine), service, options);
    if !json {
        print(&check.waiting());
    }
    let checking = async {
        if let Err(why) = check.shop_is_ready(args.wait).await {
            return Err(Failure::Message(NOT_REACHED, why));
        }
        let mut reports = Vec::new();
        for rule in rules {
            let report = check.rule(rule).await;
            if !json {
                print(&report.to_string());
            }
            reports.push(report);
        }
        let (text, exit_code) = summary(&reports, json);
        print(&text);
        Ok(ExitCode::from(exit_code))
    };
    tokio::select! {
        checked = checking => checked,
        () = stop => Err(Failure::Message(NOT_REACHED, "The check was stopped.".into())),
    }
}

/// Starts the service on a port, and prints its address and key.
async fn listen(address: SocketAddr, json: bool) -> Result<(Arc<Service>, oneshot::Sender<()>), Failure> {
    let failed = |error: Box<dyn std::error::Error>| Failure::from(error);
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let sentence = format!("The service cannot listen on {address}: {error}. Give another address with --listen.");
        Failure::Message(NOT_REACHED, sentence)
    })?;
    let address = listener.local_addr().map_err(|error| failed(error.into()))?;
    let base_url = format!("http://{address}");
    let config = Config { public_url: Some(base_url.clone()), ..Config::default() };
    let sandbox = InProcess::start(config, Surroundings::system()).await.map_err(|error| failed(error.into()))?;
    let service = Arc::new(Service::new(sandbox));
    print(&instructions(&base_url, service.secret_key(), json));
    let (close, closing) = oneshot::channel();
    let answering = Arc::clone(&service);
    let router = Router::new().fallback(move |request: Request| {
        let service = Arc::clone(&answering);
        async move { service.respond(request).await.unwrap_or_else(|_| dropped()) }
    });
    tokio::spawn(serve(listener, router, Limits::default(), closing));
    Ok((service, close))
}

fn dropped() -> Response {
    let mut response = ().into_response();
    response.extensions_mut().insert(DropConnection);
    response
}

/// Prints a line at once: a rule may take a minute.
fn print(line: &str) {
    let mut stdout = std::io::stdout().lock();
    // A closed pipe means that the reader has enough.
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}
