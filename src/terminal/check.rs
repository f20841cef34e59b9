//! `guichet check`: says which rules of a safe shop a merchant's server keeps.

mod machine;

use super::failure::{Failure, NOT_REACHED};
use super::serve::{listen_address, stop_signal};
use crate::check::{Check, Csrf, Login, Options, RULES, Report, Rule, Service, Verdict};
use crate::sandbox::{Config, InProcess, Surroundings};
use crate::server::{DropConnection, Limits, serve};
use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use clap::Args;
use machine::Machine;
use serde_json::{Value, json};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

const HELP: &str = "\
The check starts a payment service of its own, a sandbox that it can make lie, and prints its address and key. Start the shop with
them; its database should be a fresh one. Without GUICHET_SECRET_KEY the key is new each time.

Five orders are enough for every rule, because a paid order is used up: --order '{\"id\":\"17\"}' --order '{\"id\":\"18\"}' and so on.

--login 'POST /login {\"name\":\"awa\"}' is a method, a path and a body, which is JSON or a form (name=awa). The customer of the
first one has placed the orders.

The command of --orders gets the order in GUICHET_ORDER (the value of --order), and its payment in GUICHET_REFERENCE (the
merchant_reference) and GUICHET_PAYMENT_REF. It prints what the shop did with the order: a line `paid` for each time that the shop
marked it paid, and a line `refund_due` for each refund that the shop knows to be due. Other lines mean nothing.

Exit codes: 0 every rule passed; 1 a rule failed; 2 none failed, and some were not checked, or the arguments are invalid; 3 the shop
did not answer, or did not call the service.";

#[derive(Args)]
#[command(after_long_help = HELP)]
pub(super) struct CheckArgs {
    /// The shop's address. A path is that of the three routes; default: /guichet.
    #[arg(value_name = "URL", value_parser = shop_address)]
    shop: ShopAddress,
    /// An order of the customer that is not paid yet, as the page sends it. May be repeated.
    #[arg(long = "order", value_name = "JSON", required = true, value_parser = order)]
    orders: Vec<Value>,
    /// The request that signs the customer in; the second one, another customer.
    #[arg(long = "login", value_name = "REQUEST", value_parser = login)]
    logins: Vec<Login>,
    /// The page that a customer opens first; it sets the cookies.
    #[arg(long, value_name = "PATH", default_value = "/", value_parser = path)]
    page: String,
    /// The cookie of the CSRF token and the header that carries it: csrftoken=X-CSRFToken.
    #[arg(long, value_name = "COOKIE=HEADER", value_parser = csrf)]
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
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    limit: u64,
    /// How many seconds to wait for the shop at the start.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3600))]
    wait: u64,
    /// Check only this rule. May be repeated.
    #[arg(long = "only", value_name = "RULE", value_parser = rule)]
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
    let wait = Duration::from_secs(args.wait);
    let rules: Vec<&Rule> =
        RULES.iter().filter(|rule| args.only.is_empty() || args.only.iter().any(|only| only.id == rule.id)).collect();
    let shop = format!("{}{}", args.shop.origin, args.shop.routes);
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
        limit: Duration::from_secs(args.limit),
    };
    let machine = Machine::new(options.limit)?;
    let (service, _listening) = listen(args.listen, json).await?;
    let check = Check::new(Box::new(machine), service, options);
    if !json {
        print(&format!("Waiting for the shop at {shop} to call it.\n"));
    }
    let checking = async {
        if let Err(why) = check.shop_is_ready(wait).await {
            let message = format!("{why} Start the shop at {shop} with the address and the key above.");
            return Err(Failure::Message(NOT_REACHED, message));
        }
        let mut reports = Vec::new();
        for rule in rules {
            let report = check.rule(rule).await;
            if !json {
                print(&report.to_string());
            }
            reports.push(report);
        }
        Ok(summary(&reports, json))
    };
    tokio::select! {
        checked = checking => checked,
        () = stop => Err(Failure::Message(super::failure::NOT_DONE, "The check was stopped.".into())),
    }
}

/// Starts the service on a port, and prints its address and key.
async fn listen(address: SocketAddr, json: bool) -> Result<(Arc<Service>, oneshot::Sender<()>), Failure> {
    let failed = |error: Box<dyn std::error::Error>| Failure::from(error);
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let sentence = format!("The service cannot listen on {address}: {error}. Give another address with --listen.");
        Failure::Message(super::failure::NOT_DONE, sentence)
    })?;
    let address = listener.local_addr().map_err(|error| failed(error.into()))?;
    let base_url = format!("http://{address}");
    let config = Config { public_url: Some(base_url.clone()), ..Config::default() };
    let sandbox = InProcess::start(config, Surroundings::system()).await.map_err(|error| failed(error.into()))?;
    let service = Arc::new(Service::new(sandbox));
    let key = service.secret_key();
    if json {
        print(&json!({"base_url": base_url, "secret_key": key}).to_string());
    } else {
        print("Start the shop with this service. It is a sandbox: no real money moves.\n");
        print(&format!("  The service          {base_url}    (GUICHET_BASE_URL)"));
        print(&format!("  The secret key       {key}    (GUICHET_SECRET_KEY)\n"));
    }
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

/// Prints the count of each verdict, and returns the exit code.
fn summary(reports: &[Report], as_json: bool) -> ExitCode {
    let count = |verdict| reports.iter().filter(|report| report.verdict == verdict).count();
    let (passed, failed, not_checked) = (count(Verdict::Pass), count(Verdict::Fail), count(Verdict::NotChecked));
    if as_json {
        let rules: Vec<Value> = reports.iter().map(Report::to_json).collect();
        print(&json!({"rules": rules, "passed": passed, "failed": failed, "not_checked": not_checked}).to_string());
    } else {
        print(&format!("\n{passed} passed, {failed} failed, {not_checked} not checked"));
    }
    ExitCode::from(match (failed, not_checked) {
        (0, 0) => 0,
        (0, _) => 2,
        _ => 1,
    })
}

/// Prints a line at once: a rule may take a minute.
fn print(line: &str) {
    let mut stdout = std::io::stdout().lock();
    // A closed pipe means that the reader has enough.
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

#[derive(Clone, Debug)]
struct ShopAddress {
    origin: String,
    routes: String,
}

fn shop_address(text: &str) -> Result<ShopAddress, String> {
    let wrong = || "give the shop's address: http://127.0.0.1:8000".to_owned();
    let url = url::Url::parse(text).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || url.query().is_some() || url.fragment().is_some() {
        return Err(wrong());
    }
    let routes = url.path().trim_end_matches('/');
    let routes = if routes.is_empty() { "/guichet" } else { routes }.to_owned();
    Ok(ShopAddress { origin: url.origin().ascii_serialization(), routes })
}

fn path(text: &str) -> Result<String, String> {
    let is_path = text.starts_with('/').then(|| text.to_owned());
    is_path.ok_or_else(|| "give a path of the shop: /login".to_owned())
}

fn order(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|_| r#"give the order as JSON: '{"id":"17"}'"#.to_owned())
}

fn login(text: &str) -> Result<Login, String> {
    let wrong = || r#"give a method, a path and a body: 'POST /login {"name":"awa"}'"#.to_owned();
    let mut parts = text.trim().splitn(3, ' ');
    let method = match parts.next() {
        Some("GET") => "GET",
        Some("POST") => "POST",
        _ => return Err(wrong()),
    };
    let path = parts.next().filter(|path| path.starts_with('/')).ok_or_else(wrong)?.to_owned();
    let body = parts.next().unwrap_or_default().trim().to_owned();
    Ok(Login { method, path, body })
}

fn csrf(text: &str) -> Result<Csrf, String> {
    let (cookie, header) = text.split_once('=').unwrap_or_default();
    if cookie.is_empty() || reqwest::header::HeaderName::from_bytes(header.as_bytes()).is_err() {
        return Err("give the cookie and the header: csrftoken=X-CSRFToken".to_owned());
    }
    Ok(Csrf { cookie: cookie.to_owned(), header: header.to_owned() })
}

fn rule(text: &str) -> Result<&'static Rule, String> {
    let names = || RULES.iter().map(|rule| rule.id).collect::<Vec<_>>().join(", ");
    RULES.iter().find(|rule| rule.id == text).ok_or_else(|| format!("the rules are {}", names()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_the_shop_is_that_of_its_routes() {
        for (text, origin, routes) in [
            ("http://127.0.0.1:8000", "http://127.0.0.1:8000", "/guichet"),
            ("http://127.0.0.1:8000/", "http://127.0.0.1:8000", "/guichet"),
            ("https://shop.example/pay/", "https://shop.example", "/pay"),
        ] {
            let read = shop_address(text).unwrap();
            assert_eq!((read.origin.as_str(), read.routes.as_str()), (origin, routes));
        }
        for text in ["", "127.0.0.1:8000", "ftp://127.0.0.1", "http://127.0.0.1/?m=1"] {
            assert!(shop_address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_login_is_a_method_a_path_and_a_body() {
        let read = login(r#"POST /login {"name": "awa"}"#).unwrap();
        assert_eq!((read.method, read.path.as_str(), read.body.as_str()), ("POST", "/login", r#"{"name": "awa"}"#));
        assert_eq!(login("GET /login/awa").unwrap().body, "");
        for text in ["", "/login", "PUT /login", "POST login name=awa"] {
            assert!(login(text).is_err(), "{text}");
        }
    }
}
