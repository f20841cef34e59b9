//! A whole shop on axum: the three routes for its pages, its own API behind the guard, and the task that settles payments whose
//! customer closed the tab. `cargo test --features native,axum,sandbox-serve --example axum` runs it against a sandbox.
//!
//! ```text
//! GUICHET_SECRET_KEY=sk_test_… cargo run --features native,axum,sandbox-serve --example axum
//! ```

use axum::extract::{FromRef, Path, Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use guichet::native::{AskAgain, CustomerSession, Reason, Refused, Routes, SessionGuard, Sessions, Shop, Sold, settle};
use guichet::operations::{CreatePaymentIntent, CustomerName, DuplicatePayment, PauseSubscription, PaymentIntent};
use guichet::values::{Amount, Email, IntentStatus, MerchantReference, PaymentRef, RedirectUrl, SubscriptionId};
use guichet::{Client, SecretKey};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The pause between two reads of a payment with a final status, because an operator may still approve it late.
const PAUSE_WHEN_FINAL: Duration = Duration::from_secs(5 * 60);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let base_url = std::env::var("GUICHET_BASE_URL").unwrap_or_else(|_| "http://127.0.0.1:4243".to_owned());
    let client = Client::builder(&base_url, SecretKey::from_env("GUICHET_SECRET_KEY")?).build()?;
    let shop = ShoeShop::default();
    tokio::spawn(settle_regularly(client.clone(), shop.clone(), Duration::from_secs(5)));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    println!("The shop listens at http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app(client, shop)).await?)
}

/// The shop's routes: `/guichet/…` for its pages, `/api/…` for customers with a session token.
fn app(client: Client, shop: ShoeShop) -> Router {
    let guard = SessionGuard::new(client.clone());
    let sessions = Sessions::new(client.clone()).guarded_by(guard.clone());
    let routes = Routes::new(client.clone(), shop).sessions(sessions).router();
    let api = Router::new()
        .route("/me", get(me))
        .route("/subscriptions/{id}/pause", post(pause))
        .with_state(Api { client, guard });
    Router::new().nest("/guichet", routes.layer(from_fn(sign_in))).nest("/api", api)
}

/// Stands for the shop's own login, such as tower-sessions: it puts the signed-in customer into the request's extensions.
///
/// Do not copy it: it trusts any cookie. A real one looks up a random session id, and `login` is a hash of that id, new at
/// each sign-in. A login that was signed out gets no further session.
async fn sign_in(mut request: Request, next: Next) -> Response {
    let cookie = request.headers().get(header::COOKIE).and_then(|cookie| cookie.to_str().ok());
    let login = cookie.and_then(|cookie| cookie.strip_prefix("login=")).map(str::to_owned);
    if let Some(login) = login
        && let Ok(email) = Email::new(format!("{login}@example.com"))
    {
        request.extensions_mut().insert(SignedIn { login, email });
    }
    next.run(request).await
}

#[derive(Clone)]
struct SignedIn {
    login: String,
    email: Email,
}

/// Orders in memory; a shop has a database.
#[derive(Clone, Default)]
struct ShoeShop(Arc<Mutex<Orders>>);

#[derive(Default)]
struct Orders {
    sold: HashMap<PaymentRef, Sold>,
    unsettled: HashMap<PaymentRef, Unsettled>,
    paid: Vec<MerchantReference>,
    refunds_due: HashMap<(String, u32), String>,
}

/// A payment to read from the service again.
#[derive(Clone, Copy)]
struct Unsettled {
    ask_at: Instant,
    /// When a final status was first read.
    final_since: Option<Instant>,
}

impl ShoeShop {
    fn orders(&self) -> MutexGuard<'_, Orders> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shop for ShoeShop {
    async fn customer(&self, request: &Parts) -> Result<Option<Email>, Refused> {
        Ok(request.extensions.get::<SignedIn>().map(|signed_in| signed_in.email.clone()))
    }

    async fn login(&self, request: &Parts) -> Result<Option<String>, Refused> {
        Ok(request.extensions.get::<SignedIn>().map(|signed_in| signed_in.login.clone()))
    }

    /// The page names the order. The server sets the price, the customer and the reference. A real shop looks up the order by
    /// its id and its customer, and returns the same 404 for another customer's order. After a final decline it
    /// uses the next reference: `ORDER-17.1`.
    async fn purchase(&self, customer: Option<&Email>, order: Value) -> Result<CreatePaymentIntent, Refused> {
        let id = order["id"].as_str().filter(|id| *id == "17");
        let id =
            id.ok_or_else(|| Refused::new(404, Reason { code: "order_missing", message: "There is no such order." }))?;
        let customer = customer.ok_or_else(|| {
            Refused::new(401, Reason { code: "authentication_required", message: "Nobody is signed in." })
        })?;
        let purchase = || {
            let reference = MerchantReference::new(format!("ORDER-{id}"))?;
            let order = CreatePaymentIntent::new(
                reference,
                Amount::units(45_000),
                "A pair of shoes",
                CustomerName { firstname: "Awa", lastname: "Ngono" },
            );
            let back = RedirectUrl::new("http://127.0.0.1:3000/return")?;
            Ok::<_, guichet::values::Invalid>(order.email(customer.clone()).redirect_url(back))
        };
        purchase().map_err(Refused::broken)
    }

    async fn remember(&self, sold: &Sold) -> Result<(), Refused> {
        let mut orders = self.orders();
        let unsettled = Unsettled { ask_at: Instant::now(), final_since: None };
        orders.unsettled.entry(sold.payment_ref.clone()).or_insert(unsettled);
        orders.sold.insert(sold.payment_ref.clone(), sold.clone());
        Ok(())
    }

    async fn find(&self, payment_ref: &PaymentRef, customer: Option<&Email>) -> Result<Option<Sold>, Refused> {
        let sold = self.orders().sold.get(payment_ref).cloned();
        Ok(sold.filter(|sold| sold.owner.as_ref() == customer))
    }

    async fn settled(&self, sold: &Sold, intent: &PaymentIntent) -> Result<(), Refused> {
        let mut orders = self.orders();
        // It may be called more than once.
        if intent.status == IntentStatus::Succeeded && !orders.paid.contains(&sold.merchant_reference) {
            orders.paid.push(sold.merchant_reference.clone());
        }
        Ok(())
    }

    async fn overpaid(&self, sold: &Sold, duplicate: &DuplicatePayment) -> Result<(), Refused> {
        // Without an amount, the service did not say it: its own pages do.
        let due = duplicate.amount.map(|amount| amount.in_currency(&duplicate.currency)).unwrap_or_default();
        self.orders().refunds_due.insert((sold.intent.to_string(), duplicate.attempt), due);
        Ok(())
    }
}

/// Reads every unsettled payment again and again, because a customer who pays and closes the tab has paid.
async fn settle_regularly(client: Client, shop: ShoeShop, pause: Duration) {
    loop {
        settle_all(&client, &shop).await;
        tokio::time::sleep(pause).await;
    }
}

async fn settle_all(client: &Client, shop: &ShoeShop) {
    let due = due(&shop.orders());
    for (sold, unsettled) in due {
        let began = Instant::now();
        match settle(client, shop, &sold).await {
            Ok(settled) => {
                let mut orders = shop.orders();
                match next(settled.ask_again, unsettled, began) {
                    Some(next) => orders.unsettled.insert(sold.payment_ref, next),
                    None => orders.unsettled.remove(&sold.payment_ref),
                };
            }
            Err(refused) => eprintln!("{}: {refused}", sold.merchant_reference),
        }
    }
}

fn due(orders: &Orders) -> Vec<(Sold, Unsettled)> {
    let now = Instant::now();
    let due = orders.unsettled.iter().filter(|(_, unsettled)| unsettled.ask_at <= now);
    due.filter_map(|(payment_ref, unsettled)| Some((orders.sold.get(payment_ref)?.clone(), *unsettled))).collect()
}

/// When to read a payment again: in the next round until it is final, then every few minutes for a day.
fn next(ask_again: AskAgain, unsettled: Unsettled, began: Instant) -> Option<Unsettled> {
    match ask_again {
        AskAgain::Never => None,
        AskAgain::ForADay => {
            let final_since = unsettled.final_since.unwrap_or(began);
            let is_over = began.duration_since(final_since) >= A_DAY;
            (!is_over).then_some(Unsettled { ask_at: began + PAUSE_WHEN_FINAL, final_since: Some(final_since) })
        }
        _ => Some(unsettled),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use guichet::operations::Instrument;
    use guichet::sandbox::Sandbox;
    use guichet::values::{IntentId, Phone};

    #[tokio::test]
    async fn a_customer_who_pays_and_closes_the_tab_has_paid() -> Result<(), Box<dyn Error>> {
        let sandbox = Sandbox::start().await?;
        let client = Client::builder(sandbox.base_url(), SecretKey::new(sandbox.secret_key().expose())?).build()?;
        let shop = ShoeShop::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let base_url = format!("http://{}", listener.local_addr()?);
        let served = app(client.clone(), shop.clone());
        tokio::spawn(async move { axum::serve(listener, served).await });
        let page = guichet::native::reqwest::Client::builder().no_proxy().build()?;

        let session = page.post(format!("{base_url}/guichet/session"));
        assert_eq!(session.try_clone().expect("no stream").send().await?.status(), 401, "nobody is signed in");
        let session: Value =
            serde_json::from_slice(&session.header("cookie", "login=awa").send().await?.bytes().await?)?;
        let token = session["session_token"].as_str().expect("a token");
        let me = page.get(format!("{base_url}/api/me"));
        assert_eq!(me.try_clone().expect("no stream").send().await?.status(), 401, "no token");
        assert_eq!(me.bearer_auth(token).send().await?.text().await?, r#"{"email":"awa@example.com"}"#);

        let begin = page.post(format!("{base_url}/guichet/intents")).header("cookie", "login=awa");
        let begin = begin.header("content-type", "application/json").body(r#"{"id":"17"}"#);
        let begun: Value = serde_json::from_slice(&begin.send().await?.bytes().await?)?;
        let intent = IntentId::new(begun["intent"]["id"].as_str().expect("an intent"))?;
        assert!(shop.orders().paid.is_empty());

        // The customer pays on the hosted page and never comes back.
        let phone = Instrument::MobileMoney { phone: Phone::new("237670000000")? };
        client.attach_payment_method(&intent, phone).await?;
        settle_all(&client, &shop).await;
        assert_eq!(shop.orders().paid, [MerchantReference::new("ORDER-17")?]);
        assert!(shop.orders().unsettled.is_empty(), "no payment is left to read");
        let payment_ref = begun["intent"]["payment_ref"].as_str().expect("a reference");
        let back = page.get(format!("{base_url}/guichet/intents/{payment_ref}")).header("cookie", "login=awa");
        assert!(
            back.send().await?.text().await?.contains("succeeded"),
            "a customer who comes back later sees the order paid"
        );
        Ok(())
    }
}
