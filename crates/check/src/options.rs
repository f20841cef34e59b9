//! The options of `guichet check`, and how each is read.

#![expect(clippy::missing_errors_doc, reason = "the error of each reader says what to give")]

use crate::catalog::Selection;
use serde_json::Value;
use std::time::Duration;

/// The end of the command's help.
pub const HELP: &str = "\
The check starts a payment service of its own, a sandbox whose replies it can change, and prints its address and
key. Start the shop with them; its database should be a fresh one. Without GUICHET_SECRET_KEY the key is new each
time.

Five orders are enough for every rule, because a paid order is used up: --order '{\"id\":\"17\"}' --order
'{\"id\":\"18\"}' and so on. With --order-pattern '{\"id\":\"N-%d\"}' the check takes as many orders as it needs:
N-1, N-2 and so on, each of which the customer could place. More lies are then told, each in an order of its own.

--login 'POST /login {\"name\":\"awa\"}' is a method, a path and a body, which is JSON or a form (name=awa). The
customer of the first one has placed the orders.

The command of --orders gets the order in GUICHET_ORDER (the value of --order), and its payment in GUICHET_REFERENCE
(the merchant_reference) and GUICHET_PAYMENT_REF. It prints what the shop did with the order: a line `paid` for each
time that the shop marked it paid, and a line `refund_due 45900` for each refund that the shop knows to be due, with
its amount. Other lines mean nothing. Every command gets the service in GUICHET_BASE_URL and GUICHET_SECRET_KEY.

Exit codes: 0 every rule passed; 1 a rule failed; 2 none failed, and some were not checked; 3 the check could not
run to its end: the shop did not answer or did not call the service, a port is taken, or it was stopped; 4 the
arguments are invalid.

A shop that passes has not been proved safe: docs/check.md says what the check cannot see from outside.";

/// The options of a check: the shop, its orders and its commands. With the feature `clap` they are the arguments of a
/// command.
///
/// ```
/// # fn main() -> Result<(), String> {
/// use guichet_check::options::{Options, login, order_pattern, rule};
///
/// let mut options = Options::new("http://127.0.0.1:8000")?;
/// options.order_pattern = Some(order_pattern(r#"{"id":"N-%d"}"#)?);
/// options.logins.push(login(r#"POST /login {"name":"awa"}"#)?);
/// options.only.push(rule("origins")?);
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Options {
    /// The shop's address. A path is that of the three routes; default: /guichet.
    #[cfg_attr(feature = "clap", arg(value_name = "URL", value_parser = shop_address))]
    pub shop: ShopAddress,
    /// An order of the customer that is not paid yet, as the page sends it. May be repeated.
    #[cfg_attr(
        feature = "clap",
        arg(long = "order", value_name = "JSON", required_unless_present = "order_pattern", value_parser = order)
    )]
    pub orders: Vec<Value>,
    /// Orders of the customer that are all new, with a number from 1 in place of %d: {"id":"N-%d"}.
    #[cfg_attr(feature = "clap", arg(long, value_name = "JSON", value_parser = order_pattern))]
    pub order_pattern: Option<OrderPattern>,
    /// The request that signs the customer in; the second one, another customer.
    #[cfg_attr(feature = "clap", arg(long = "login", value_name = "REQUEST", value_parser = login))]
    pub logins: Vec<Login>,
    /// The shop also sells to customers without a login.
    #[cfg_attr(feature = "clap", arg(long))]
    pub guests: bool,
    /// The origin of the shop's page, if it is another one than the shop's address: `https://shop.example`.
    #[cfg_attr(feature = "clap", arg(long, value_name = "ORIGIN", value_parser = origin))]
    pub page_origin: Option<String>,
    /// The page that a customer opens first; it sets the cookies.
    #[cfg_attr(feature = "clap", arg(long, value_name = "PATH", default_value = "/", value_parser = path))]
    pub page: String,
    /// The cookie of the CSRF token and the header that carries it: csrftoken=X-CSRFToken.
    #[cfg_attr(feature = "clap", arg(long, value_name = "COOKIE=HEADER", value_parser = csrf))]
    pub csrf: Option<Csrf>,
    /// A command that prints what the shop did with an order; `--help` says how.
    #[cfg_attr(feature = "clap", arg(long = "orders", value_name = "CMD"))]
    pub orders_command: Option<String>,
    /// A command that restarts the shop.
    #[cfg_attr(feature = "clap", arg(long = "restart", value_name = "CMD"))]
    pub restart_command: Option<String>,
    /// A command that settles payments once, as cron runs it; without it the shop has a timer.
    #[cfg_attr(feature = "clap", arg(long = "settle", value_name = "CMD"))]
    pub settle_command: Option<String>,
    /// A command that changes the price of what the customer orders.
    #[cfg_attr(feature = "clap", arg(long = "reprice", value_name = "CMD"))]
    pub reprice_command: Option<String>,
    /// A file to which the shop writes its log; no secret may be in it. May be repeated.
    #[cfg_attr(feature = "clap", arg(long = "log", value_name = "FILE"))]
    pub logs: Vec<String>,
    /// The seconds in which a payment must be settled, and a command of yours must end.
    #[cfg_attr(feature = "clap", arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds))]
    pub limit: Duration,
    /// The seconds in which the shop must answer a request.
    #[cfg_attr(feature = "clap", arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds))]
    pub timeout: Duration,
    /// How many seconds to wait for the shop at the start.
    #[cfg_attr(feature = "clap", arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds))]
    pub wait: Duration,
    /// Check only this rule, or this group of rules. May be repeated.
    #[cfg_attr(feature = "clap", arg(long = "only", value_name = "RULE", value_parser = rule))]
    pub only: Vec<Selection>,
}

impl Options {
    /// The options of the shop at this address, with the defaults of the command: no order, no login, no command, and
    /// every rule.
    pub fn new(shop: &str) -> Result<Self, String> {
        let seconds = Duration::from_secs;
        Ok(Self {
            shop: shop_address(shop)?,
            orders: Vec::new(),
            order_pattern: None,
            logins: Vec::new(),
            guests: false,
            page_origin: None,
            page: "/".to_owned(),
            csrf: None,
            orders_command: None,
            restart_command: None,
            settle_command: None,
            reprice_command: None,
            logs: Vec::new(),
            limit: seconds(60),
            timeout: seconds(60),
            wait: seconds(300),
            only: Vec::new(),
        })
    }
}

/// An order with `%d` in the place of a number.
#[derive(Clone, Debug)]
pub struct OrderPattern(String);

impl OrderPattern {
    /// The order with this number.
    pub(crate) fn order(&self, number: u32) -> Value {
        serde_json::from_str(&self.0.replace("%d", &number.to_string())).unwrap_or_default()
    }
}

/// A request that signs a customer in: `POST /login {"name":"awa"}`, or `POST http://127.0.0.1:8000/login
/// {"name":"awa"}`.
#[derive(Clone, Debug)]
pub struct Login {
    /// `POST`
    pub method: &'static str,
    /// Its path, or its address.
    pub path: String,
    /// Its body, as JSON.
    pub body: String,
}

impl Login {
    /// The origin of its address; empty for a path of the shop.
    pub(crate) fn origin(&self) -> String {
        url::Url::parse(&self.path).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
    }
}

/// Where a page takes its CSRF token from, and the header that carries it.
#[derive(Clone, Debug)]
pub struct Csrf {
    /// The name of the cookie.
    pub cookie: String,
    /// The name of the header.
    pub header: String,
}

/// Where the shop is.
#[derive(Clone, Debug)]
pub struct ShopAddress {
    /// Its origin.
    pub origin: String,
    /// The path of its three routes.
    pub routes: String,
}

/// Reads the shop's address. A path is that of the three routes.
pub fn shop_address(text: &str) -> Result<ShopAddress, String> {
    let wrong = || "give the shop's address: http://127.0.0.1:8000".to_owned();
    let url = url::Url::parse(text).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || url.query().is_some() || url.fragment().is_some() {
        return Err(wrong());
    }
    let routes = url.path().trim_end_matches('/');
    let routes = if routes.is_empty() { "/guichet" } else { routes }.to_owned();
    Ok(ShopAddress { origin: url.origin().ascii_serialization(), routes })
}

/// Reads a path of the shop, or the address of its application: if that has another port, its cookies go to both.
pub fn path(text: &str) -> Result<String, String> {
    let is_path = (text.starts_with('/') || shop_address(text).is_ok()).then(|| text.to_owned());
    is_path.ok_or_else(|| "give a path of the shop, /login, or an address, http://127.0.0.1:8000/login".to_owned())
}

/// Reads an order.
pub fn order(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|_| r#"give the order as JSON: '{"id":"17"}'"#.to_owned())
}

/// Reads the pattern of new orders.
pub fn order_pattern(text: &str) -> Result<OrderPattern, String> {
    let pattern = OrderPattern(text.to_owned());
    let is_pattern = text.contains("%d") && !pattern.order(1).is_null();
    is_pattern
        .then_some(pattern)
        .ok_or_else(|| r#"give an order as JSON, with %d for its number: '{"id":"N-%d"}'"#.to_owned())
}

/// Reads an origin: a scheme, a host and perhaps a port.
pub fn origin(text: &str) -> Result<String, String> {
    let url = url::Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let origin = url.map(|url| url.origin().ascii_serialization());
    let is_whole = |origin: &String| origin == text.trim_end_matches('/') && !origin.contains('*');
    origin.filter(is_whole).ok_or_else(|| "give an origin without a path: https://shop.example".to_owned())
}

/// Reads the request that signs a customer in.
pub fn login(text: &str) -> Result<Login, String> {
    let wrong = || r#"give a method, a path and a body: 'POST /login {"name":"awa"}'"#.to_owned();
    let mut parts = text.trim().splitn(3, ' ');
    let method = match parts.next() {
        Some("GET") => "GET",
        Some("POST") => "POST",
        _ => return Err(wrong()),
    };
    let path = path(parts.next().unwrap_or_default()).map_err(|_| wrong())?;
    let body = parts.next().unwrap_or_default().trim().to_owned();
    Ok(Login { method, path, body })
}

/// Reads the cookie of a CSRF token and its header.
pub fn csrf(text: &str) -> Result<Csrf, String> {
    let (cookie, header) = text.split_once('=').unwrap_or_default();
    if cookie.is_empty() || axum::http::HeaderName::from_bytes(header.as_bytes()).is_err() {
        return Err("give the cookie and the header: csrftoken=X-CSRFToken".to_owned());
    }
    Ok(Csrf { cookie: cookie.to_owned(), header: header.to_owned() })
}

/// Reads the name of a rule or of a group of rules.
pub fn rule(text: &str) -> Result<Selection, String> {
    Selection::named(text).ok_or_else(|| format!("the groups and their rules are {}", Selection::names()))
}

/// Reads seconds: 1 to 3600.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (1..=3600).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| "give a whole number of seconds, 1 to 3600".to_owned())
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
    fn a_pattern_of_orders_is_json_with_a_number() {
        assert_eq!(order_pattern(r#"{"id":"N-%d"}"#).unwrap().order(7), serde_json::json!({"id": "N-7"}));
        assert_eq!(order_pattern(r#"{"id":%d}"#).unwrap().order(7), serde_json::json!({"id": 7}));
        for text in ["", "N-%d", r#"{"id":"N-1"}"#, r#"{"id":N-%d}"#] {
            assert!(order_pattern(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_origin_of_a_page_has_no_path() {
        assert_eq!(origin("https://shop.example/").unwrap(), "https://shop.example");
        assert_eq!(origin("http://localhost:5173").unwrap(), "http://localhost:5173");
        for text in [
            "",
            "shop.example",
            "https://shop.example/page",
            "https://awa@shop.example",
            "https://*.shop.example",
            "null",
        ] {
            assert!(origin(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_login_is_a_method_a_path_and_a_body() {
        let read = login(r#"POST /login {"name": "awa"}"#).unwrap();
        assert_eq!((read.method, read.path.as_str(), read.body.as_str()), ("POST", "/login", r#"{"name": "awa"}"#));
        assert_eq!(login("GET /login/awa").unwrap().body, "");
        assert_eq!(login("POST http://127.0.0.1:8000/login").unwrap().path, "http://127.0.0.1:8000/login");
        for text in ["", "/login", "PUT /login", "POST login name=awa"] {
            assert!(login(text).is_err(), "{text}");
        }
    }
}
