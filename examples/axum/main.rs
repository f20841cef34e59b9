//! A whole shop on axum: the three routes for its pages, its own API behind the guard, and the task that settles payments whose
//! customer closed the tab. Its orders and its customers' session tokens are in PostgreSQL, so it runs on any number of servers: start
//! it on each one with the same database, the same key and the same `SHOP_URL`.
//!
//! ```text
//! export DATABASE_URL=postgres://… GUICHET_SECRET_KEY=sk_test_…
//! cargo run --features native,axum,sandbox-serve,sessions-postgres --example axum
//! ```
//!
//! With `cargo test` in place of `cargo run`, its tests run on a sandbox and a PostgreSQL server that they start.

mod orders;
#[cfg(test)]
mod tests;

use axum::extract::{FromRef, Path, Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use futures_util::future::join_all;
use guichet::native::{
    Buyer, CustomerSession, Owner, PostgresSessions, Reason, Refused, Routes, SessionGuard, Sessions, Shop, Sold,
    settle,
};
use guichet::operations::{CreatePaymentIntent, CustomerName, DuplicatePayment, PauseSubscription, PaymentIntent};
use guichet::values::{Amount, Email, IntentStatus, MerchantReference, PaymentRef, RedirectUrl, SubscriptionId};
use guichet::{Client, SecretKey};
use orders::{Claimed, Orders};
use serde_json::{Value, json};
use sqlx::PgPool;
use std::env;
use std::error::Error;
use std::time::Duration;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let or = |variable: &str, default: &str| env::var(variable).unwrap_or_else(|_| default.to_owned());
    let database = env::var("DATABASE_URL")
        .map_err(|_| "Set DATABASE_URL: postgres://user:password@host/database?sslmode=verify-full")?;
    let base_url = or("GUICHET_BASE_URL", "http://127.0.0.1:4243"); // the sandbox
    let client = Client::builder(&base_url, SecretKey::from_env("GUICHET_SECRET_KEY")?).build()?;
    let database = PgPool::connect(&database).await?;
    let sessions = PostgresSessions::new(database.clone(), &client).await?;
    // As browsers name the shop: the same on each server, because it is part of the payment that is created.
    let shop = ShoeShop { orders: Orders::open(database).await?, url: or("SHOP_URL", "http://127.0.0.1:3000") };
    // Every server settles.
    tokio::spawn(settle_regularly(client.clone(), shop.clone(), Duration::from_secs(1)));
    let listener = tokio::net::TcpListener::bind(or("SHOP_LISTEN", "127.0.0.1:3000")).await?;
    println!("The shop listens at http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app(client, shop, sessions)).await?)
}

/// The shop's routes: `/orders` and `/guichet/…` for its pages, `/api/…` for customers with a session token.
fn app(client: Client, shop: ShoeShop, sessions: PostgresSessions) -> Router {
    let guard = SessionGuard::with_store(client.clone(), sessions.clone());
    let sessions = Sessions::with_store(client.clone(), sessions).guarded_by(guard.clone());
    let routes = Routes::new(client.clone(), shop.clone()).sessions(sessions).router();
    let pages = Router::new().route("/orders", post(place_order)).with_state(shop).nest("/guichet", routes);
    let api = Router::new()
        .route("/me", get(me))
        .route("/subscriptions/{id}/pause", post(pause))
        .with_state(Api { client, guard });
    pages.layer(from_fn(sign_in)).nest("/api", api)
}

/// Stands for the shop's own login, such as tower-sessions: it puts the signed-in customer into the request's extensions.
///
/// Do not copy it: it trusts any cookie. A real one looks up a random session id, and names the customer by the id of their
/// account, the login by a hash of the session id, new at each sign-in, and an e-mail address only if the customer has opened a
/// link that was sent there. A login that was signed out gets no further session.
async fn sign_in(mut request: Request, next: Next) -> Response {
    let cookie = request.headers().get(header::COOKIE).and_then(|cookie| cookie.to_str().ok());
    let login = cookie.and_then(|cookie| cookie.strip_prefix("login=")).map(str::to_owned);
    if let Some(login) = login
        && let Ok(email) = Email::new(format!("{login}@example.com"))
    {
        request.extensions_mut().insert(Buyer::customer(&login).login(&login).verified_email(email));
    }
    next.run(request).await
}

/// The name of the shop's product.
const SHOES: &str = "A pair of shoes";

/// Places an order for a pair of shoes. (Only JSON is accepted, which no page of another site can send.)
async fn place_order(
    State(shop): State<ShoeShop>,
    buyer: Option<Extension<Buyer>>,
    Json(_): Json<Value>,
) -> Result<Json<Value>, Refused> {
    let Extension(buyer) = buyer.ok_or_else(nobody_is_signed_in)?;
    let placed = shop.orders.place(&buyer.owner, SHOES).await.map_err(Refused::broken)?;
    let id = placed.ok_or_else(order_ended)?;
    Ok(Json(json!({ "id": id.to_string() })))
}

fn nobody_is_signed_in() -> Refused {
    Refused::new(401, Reason { code: "authentication_required", message: "Nobody is signed in." })
}

/// The shop does not sell the product, or no longer.
fn order_ended() -> Refused {
    Refused::new(409, Reason { code: "order_ended", message: "The shop no longer sells this product." })
}

#[derive(Clone)]
struct ShoeShop {
    orders: Orders,
    url: String,
}

impl Shop for ShoeShop {
    async fn buyer(&self, request: &Parts) -> Result<Option<Buyer>, Refused> {
        Ok(request.extensions.get::<Buyer>().cloned())
    }

    /// The page names the order. The server sets the price, the customer and the reference. Another customer's order gets the
    /// same 404 as an unknown one. For one reference, the whole purchase is the same each time, on each server.
    async fn purchase(&self, buyer: &Buyer, order: Value) -> Result<CreatePaymentIntent, Refused> {
        let missing = || Refused::new(404, Reason { code: "order_missing", message: "There is no such order." });
        let id = order["id"].as_str().and_then(|id| id.parse().ok()).ok_or_else(missing)?;
        let order = self.orders.to_pay(id, &buyer.owner).await.map_err(Refused::broken)?.ok_or_else(missing)?;
        let price = order.price.ok_or_else(order_ended)?;
        let email = buyer.verified_email.clone().ok_or_else(missing)?; // `sign_in` names one
        let purchase = || {
            let awa = CustomerName { firstname: "Awa", lastname: "Ngono" };
            let reference = MerchantReference::new(&order.reference)?;
            let purchase = CreatePaymentIntent::new(reference, Amount::units(price), &order.product, awa);
            let back = RedirectUrl::new(&format!("{}/return", self.url))?;
            Ok::<_, guichet::values::Invalid>(purchase.email(email).redirect_url(back))
        };
        purchase().map_err(Refused::broken)
    }

    async fn open_payments(&self, owner: &Owner, next: &MerchantReference) -> Result<usize, Refused> {
        self.orders.count_open(owner, next).await.map_err(Refused::broken)
    }

    async fn remember(&self, sold: &Sold) -> Result<(), Refused> {
        self.orders.remember(sold).await.map_err(Refused::broken)
    }

    async fn find(&self, payment_ref: &PaymentRef, owner: &Owner) -> Result<Option<Sold>, Refused> {
        self.orders.returned_to(payment_ref, owner).await.map_err(Refused::broken)
    }

    /// Every read of a final payment calls it, on any server.
    async fn settled(&self, sold: &Sold, intent: &PaymentIntent) -> Result<(), Refused> {
        let stored = match intent.status {
            IntentStatus::Succeeded => self.orders.mark_paid(sold).await,
            IntentStatus::Failed | IntentStatus::Canceled => self.orders.count_decline(sold).await,
            _ => Ok(()),
        };
        stored.map_err(Refused::broken)?;
        self.orders.mark_final(sold).await.map_err(Refused::broken)
    }

    /// Every read of the payment calls it, on any server.
    async fn overpaid(&self, sold: &Sold, duplicate: &DuplicatePayment) -> Result<(), Refused> {
        self.orders.refund_due(sold, duplicate).await.map_err(Refused::broken)
    }
}

/// Reads the payments that are due, round after round, because a customer who pays and closes the tab has paid.
async fn settle_regularly(client: Client, shop: ShoeShop, pause: Duration) {
    loop {
        let read = round(&client, &shop).await.unwrap_or_else(|error| {
            eprintln!("{error}");
            0
        });
        if read == 0 {
            tokio::time::sleep(pause).await;
        }
    }
}

/// Reads the payments that are due, at most eight, all at the same time. Returns how many it has read.
async fn round(client: &Client, shop: &ShoeShop) -> Result<usize, sqlx::Error> {
    let claimed = shop.orders.claim().await?;
    let reads = join_all(claimed.iter().map(|payment| read(client, shop, payment))).await;
    Ok(reads.into_iter().filter(|was_read| *was_read).count())
}

/// Reads a payment. Returns whether it could: otherwise the claim stays, and the payment is read again in a minute.
async fn read(client: &Client, shop: &ShoeShop, payment: &Claimed) -> bool {
    let read = async {
        let settled = settle(client, shop, &payment.sold).await?;
        shop.orders.release(payment, settled.ask_again).await.map_err(Refused::broken)
    };
    read.await.inspect_err(|refused| eprintln!("{}: {refused}", payment.sold.merchant_reference)).is_ok()
}

/// The shop's own API, which customers call with their session token.
#[derive(Clone)]
struct Api {
    client: Client,
    guard: SessionGuard,
}

impl FromRef<Api> for SessionGuard {
    fn from_ref(api: &Api) -> Self {
        api.guard.clone()
    }
}

async fn me(customer: CustomerSession) -> Json<Value> {
    Json(json!({ "email": customer.customer_email.as_str() }))
}

async fn pause(
    State(api): State<Api>,
    customer: CustomerSession,
    Path(id): Path<String>,
) -> Result<StatusCode, Refused> {
    let missing = || Refused::new(404, Reason { code: "resource_missing", message: "There is no such subscription." });
    let id = SubscriptionId::new(id).map_err(|_| missing())?;
    let subscription = api.client.read_subscription(&id).await?;
    if !customer.owns(subscription.customer_email.as_deref()) {
        return Err(missing());
    }
    api.client.pause_subscription(&PauseSubscription::new(id)).await?;
    Ok(StatusCode::NO_CONTENT)
}
