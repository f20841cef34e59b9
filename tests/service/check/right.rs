//! A right shop, made of the library as a merchant's is: who asks, what an order costs, and what becomes of it are all
//! that is its own.

use super::shop::{ORDERS, ShopServer};
use crate::orders::sqlite_at;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use guichet::native::ledger::{Changed, OrderState};
use guichet::native::{Buyer, Ledger, Owner, Purchase, Reason, Refused, Routes, Sessions, Shop};
use guichet::operations::{CreatePaymentIntent, CustomerName};
use guichet::values::{Amount, Email, FeeBearer, MerchantReference, RedirectUrl};
use guichet::{Client, SecretKey};
use guichet_orders::SqliteOrders;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tower_service::Service as _;

/// It settles by a timer, or with this false by the command `settle` alone.
pub async fn open(name: &str, key: &str, has_timer: bool) -> ShopServer {
    let key = SecretKey::new(key).unwrap();
    ShopServer::serving(name, move |origin, service, folder| {
        let client = Client::builder(service, key).deadline(Duration::from_secs(5)).build().unwrap();
        let shop = Arc::new(RightShop {
            origin: origin.to_owned(),
            folder: folder.clone(),
            sessions: Sessions::new(client.clone()),
            logins: Mutex::default(),
            told: Mutex::default(),
        });
        let (served, routes) = watch::channel(None);
        tokio::spawn(keep(client, Arc::clone(&shop), served, has_timer));
        Router::new()
            .route("/", get(async || Html("<!doctype html><title>A shop</title>")))
            .route("/return", get(async || Html("<!doctype html><title>Thank you</title>")))
            .route("/login", post(login))
            .route("/logout", post(logout))
            .with_state(shop)
            .fallback(async move |request: Request| {
                // Before the first ones a request waits.
                let served = routes.clone().wait_for(Option::is_some).await.unwrap().clone();
                served.unwrap().call(request).await
            })
    })
    .await
}

/// Serves the routes, and settles, until it is asked for a restart: then everything but the logins is read from the
/// database anew.
async fn keep(client: Client, shop: Arc<RightShop>, routes: watch::Sender<Option<Router>>, has_timer: bool) {
    let asked = |what: &str| shop.folder.join(what);
    loop {
        let orders = SqliteOrders::open(sqlite_at(&shop.folder.join("orders.sqlite")).await, "guichet_").await.unwrap();
        let ledger = Ledger::new(client.clone(), orders);
        let served = Routes::new(ledger.clone(), Arc::clone(&shop)).sessions(shop.sessions.clone());
        let served = served.allow_origin(&shop.origin).unwrap().router();
        routes.send_replace(Some(Router::new().nest("/guichet", served)));
        let _ = std::fs::remove_file(asked("restart"));
        while !asked("restart").exists() {
            if has_timer || asked("settle").exists() {
                drop(ledger.settle_due(&shop).await);
                let _ = std::fs::remove_file(asked("settle"));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

struct RightShop {
    origin: String,
    folder: PathBuf,
    sessions: Sessions,
    logins: Mutex<HashMap<String, String>>,
    /// What the books have of each order: a version, and the lines.
    told: Mutex<HashMap<String, (i64, HashSet<String>)>>,
}

impl Shop for RightShop {
    async fn buyer(&self, request: &Parts) -> Result<Option<Buyer>, Refused> {
        let Some((token, name)) = self.login(&request.headers) else { return Ok(None) };
        Ok(Some(Buyer::customer(&name).login(token).verified_email(email(&name)?)))
    }

    /// An order is named by the page, and is of the customer who is signed in.
    async fn purchase(&self, buyer: &Buyer, order: Value) -> Result<Purchase, Refused> {
        let missing = || Refused::new(404, Reason { code: "order_missing", message: "There is no such order." });
        let Owner::Customer(customer) = &buyer.owner else { return Err(missing()) };
        let id = order["id"].as_str().filter(|id| ORDERS.contains(id) || id.starts_with("N-")).ok_or_else(missing)?;
        let name = MerchantReference::new(format!("ORDER.{id}.{customer}")).map_err(|_| missing())?;
        let price = std::fs::read_to_string(self.folder.join("price")).unwrap_or_else(|_| "45000".to_owned());
        let price = Amount::new(price.trim()).map_err(Refused::broken)?;
        let back = RedirectUrl::new(format!("{}/return", self.origin)).map_err(Refused::broken)?;
        let awa = CustomerName { firstname: customer.as_str(), lastname: "Ngono" };
        let purchase = CreatePaymentIntent::new(name, price, "A pair of shoes", awa);
        Ok(purchase.email(email(customer)?).fee_bearer(FeeBearer::Customer).redirect_url(back).into())
    }

    /// Writes into the books what is new, once.
    async fn order_changed(&self, changed: &Changed) -> Result<(), Refused> {
        let mut told = self.told.lock().unwrap();
        let (version, lines) = told.entry(changed.name.clone()).or_default();
        if *version >= changed.version {
            return Ok(());
        }
        *version = changed.version;
        let paid = (changed.state == OrderState::Paid).then(|| ("paid".to_owned(), "paid".to_owned()));
        let refunds =
            changed.refunds_due.iter().map(|due| (format!("{:?}", due.key), format!("refund_due {}", due.sum.amount)));
        let mut books =
            std::fs::File::options().create(true).append(true).open(self.folder.join(&changed.name)).unwrap();
        for (key, line) in paid.into_iter().chain(refunds) {
            if lines.insert(key) {
                writeln!(books, "{line}").unwrap();
            }
        }
        Ok(())
    }
}

impl RightShop {
    fn login(&self, headers: &HeaderMap) -> Option<(String, String)> {
        let cookies = headers.get(header::COOKIE)?.to_str().ok()?;
        let token = cookies.split("; ").find_map(|cookie| cookie.strip_prefix("login="))?;
        Some((token.to_owned(), self.logins.lock().unwrap().get(token)?.clone()))
    }
}

/// Stands for the shop's own login: it trusts any name.
async fn login(State(shop): State<Arc<RightShop>>, body: String) -> Response {
    let (name, token) = (if body.contains("awa") { "awa" } else { "paul" }, uuid());
    shop.logins.lock().unwrap().insert(token.clone(), name.to_owned());
    ([(header::SET_COOKIE, format!("login={token}; Path=/; HttpOnly; SameSite=Lax"))], "Welcome").into_response()
}

async fn logout(State(shop): State<Arc<RightShop>>, headers: HeaderMap) -> Response {
    if let Some((token, _)) = shop.login(&headers) {
        shop.logins.lock().unwrap().remove(&token);
        let _ = shop.sessions.sign_out(&token).await;
    }
    [(header::SET_COOKIE, "login=; Max-Age=0; Path=/")].into_response()
}

fn email(name: &str) -> Result<Email, Refused> {
    Email::new(format!("{name}@example.com")).map_err(Refused::broken)
}

fn uuid() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).unwrap();
    bytes.map(|byte| format!("{byte:02x}")).concat()
}
