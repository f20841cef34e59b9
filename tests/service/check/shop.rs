//! A small shop, written by hand as a merchant would, which can be broken in exactly one point.
#![allow(clippy::result_large_err, reason = "an error is the response of a handler")]

mod calls;
mod guard;
mod logins;
mod pages;
mod sales;
mod settling;

use super::defects::Broken::{self, *};
use crate::support::port;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use guichet::native::reqwest;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;
use tokio::task::JoinSet;

/// The orders of the customer awa.
pub const ORDERS: [&str; 6] = ["17", "18", "19", "20", "21", "22"];
const PRICE: &str = "45000";

/// A running shop.
pub struct ShopServer {
    pub url: String,
    /// The address at which its service must listen.
    pub service: String,
    /// What it did with each payment: a file named by its reference. The files `restart` and `settle` are requests of a
    /// command.
    pub folder: PathBuf,
    _folder: crate::support::folder::Folder,
    /// Ends the server when it is dropped, and with it the timer, which would go on asking a service that has ended.
    _serving: JoinSet<std::io::Result<()>>,
}

struct Server {
    broken: Broken,
    origin: String,
    service: String,
    key: String,
    folder: PathBuf,
    http: reqwest::Client,
    state: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    /// The customer of each login, by the cookie's value.
    logins: HashMap<String, String>,
    /// The token of the session that was created last.
    session: Option<Value>,
    /// The session tokens of each login.
    tokens: HashMap<String, Vec<String>>,
    /// The address of the service, once a redirect has named another one.
    moved_to: Option<String>,
    /// The customer of the request that came last.
    current: String,
    restarts: u32,
    created: u32,
    /// How often each order was declined for good.
    declined: HashMap<String, u32>,
    /// The body that is sent for each reference.
    bodies: HashMap<String, Value>,
    payments: HashMap<String, Payment>,
    /// The references whose payment has ended.
    ended: HashSet<String>,
    /// The references that are stored, and that the service did not confirm yet.
    unsent: HashSet<String>,
    timer_has_ended: bool,
}

impl Books {
    /// What was sent for the payments that have not ended.
    fn open(&self) -> impl Iterator<Item = &Value> {
        self.bodies.iter().filter(|(reference, _)| !self.ended.contains(*reference)).map(|(_, body)| body)
    }

    fn references(&self) -> Vec<String> {
        self.payments.keys().cloned().collect()
    }
}

#[derive(Clone, Default)]
struct Payment {
    id: String,
    reference: String,
    order: String,
    declined: u32,
    paid: bool,
    given_up: bool,
    /// How many were created before it.
    place: usize,
    was_asked: bool,
    reads_since_paid: u32,
    /// Whether the timer and the page have seen that it is paid.
    knows: [bool; 2],
    refunds: Vec<u64>,
}

type Answer<T = Response> = Result<T, Response>;

impl ShopServer {
    pub async fn open(name: &str, broken: Broken, key: &str) -> Self {
        let key = key.to_owned();
        let of = move |url: &str, service: &str, folder: PathBuf| router(broken, url, service, &key, folder);
        Self::serving(name, of).await
    }

    /// Serves the shop that is made of its own address, the service's, and a folder.
    pub async fn serving(name: &str, shop: impl FnOnce(&str, &str, PathBuf) -> Router) -> Self {
        let kept = crate::support::folder::Folder::new(name);
        let folder = kept.path.clone();
        let service = format!("127.0.0.1:{}", port::free());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = shop(&url, &format!("http://{service}"), folder.clone());
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await });
        Self { url, service, folder, _folder: kept, _serving: serving }
    }

    /// A command of the shell that requests a `restart`, or to `settle`, and waits until the shop has done it.
    pub fn command(&self, what: &str) -> String {
        let file = self.folder.join(what).display().to_string();
        format!(": > {file}; while [ -e {file} ]; do sleep 0.05; done")
    }
}

/// The shop as a value, with its timer.
pub fn router(broken: Broken, origin: &str, base_url: &str, key: &str, folder: PathBuf) -> Router {
    let timeout = Duration::from_secs(if broken == WaitsForEver { 3600 } else { 2 });
    let http = reqwest::Client::builder().no_proxy().tls_certs_only([]).redirect(reqwest::redirect::Policy::none());
    let server = Arc::new(Server {
        broken,
        origin: origin.to_owned(),
        service: format!("{base_url}/v1"),
        key: key.to_owned(),
        folder,
        http: http.timeout(timeout).build().unwrap(),
        state: Mutex::default(),
    });
    tokio::spawn(keep_settling(Arc::downgrade(&server)));
    Router::new()
        .route("/", get(pages::page))
        .route("/app.js", get(pages::script))
        .route("/return", get(pages::return_page).post(pages::return_page))
        .route("/webhook", post(pages::notification))
        .route("/login", post(logins::login))
        .route("/logout", post(logins::logout))
        .route("/guichet/session", post(logins::session).get(logins::session_by_get))
        .route("/guichet/intents", post(sales::intents).get(sales::intents_by_get).put(sales::intents_by_put))
        .route("/guichet/intents/{payment_ref}", get(pages::status))
        .fallback(pages::file)
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&server), guard::answer_preflights))
        .with_state(server)
}

/// The timer, until the shop is dropped.
async fn keep_settling(server: Weak<Server>) {
    while let Some(server) = server.upgrade() {
        server.settle_all().await;
        drop(server);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

impl Server {
    fn is(&self, broken: Broken) -> bool {
        self.broken == broken
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.state.lock().unwrap()
    }

    /// Writes a line of the log, which the right shop does not.
    fn log(&self, broken: Broken, line: &str) {
        if self.is(broken) {
            self.write("log", line);
        }
    }

    fn write(&self, reference: &str, line: &str) {
        let file = std::fs::File::options().create(true).append(true).open(self.folder.join(reference));
        writeln!(file.unwrap(), "{line}").unwrap();
    }

    /// Today's price.
    fn price(&self) -> String {
        std::fs::read_to_string(self.folder.join("price")).map_or(PRICE.to_owned(), |price| price.trim().to_owned())
    }

    fn currency(&self) -> &'static str {
        if matches!(self.broken, SellsInUgx | SellsInUgxOrPagesCurrency) { "UGX" } else { "XAF" }
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).map(|value| value.to_str().unwrap().to_owned())
}

/// The last cookie with this name.
fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let cookies = text(headers, "cookie")?;
    let values = cookies.split("; ").filter_map(|cookie| cookie.strip_prefix(name)?.strip_prefix('='));
    values.last().map(str::to_owned)
}

fn query(uri: &Uri, name: &str) -> Option<String> {
    let pairs = url::form_urlencoded::parse(uri.query()?.as_bytes());
    pairs.into_owned().find(|(found, _)| found == name).map(|(_, value)| value)
}

fn content_type(headers: &HeaderMap) -> &str {
    headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn email(customer: &str) -> String {
    format!("{customer}@example.com")
}

fn error(status: u16, code: &str) -> Response {
    let body = json!({
        "status_code": status, "response_type": "error", "message": "The shop did not do it.", "data": null,
        "error": {"type": "api", "code": code, "errors": [], "request_id": null, "retryable": status >= 500},
    });
    (StatusCode::from_u16(status).unwrap(), Json(body)).into_response()
}

fn missing() -> Response {
    error(404, "resource_missing")
}
