//! The merchant's three routes, as an application in Rust uses them. Their rules are in `tests/shop/`, which
//! `shop_rules.rs` runs.

mod description;

use crate::support::fake_service::{FakeService, ScriptedResponse, reply};
use crate::support::http::{get, post};
use crate::support::orders;
use axum::http::request::Parts;
use guichet::native::ledger::Changed;
use guichet::native::{Buyer, Ledger, Owner, Purchase, Reason, Refused, Routes, Shop};
use guichet::operations::{CreatePaymentIntent, CustomerName, PaymentIntent};
use guichet::values::{Amount, Email, MerchantReference, Phone, RedirectUrl};
use guichet::{Client, SecretKey};
use guichet_orders::SqliteOrders;
use serde_json::{Value, json};

const AWA: &str = "Cookie: customer=awa";
const PAUL: &str = "Cookie: customer=paul";
/// Buys by phone, and has no e-mail address.
const NADIA: &str = "Cookie: customer=nadia";
/// Has registered Awa's e-mail address, which the shop has not verified.
const IMPOSTOR: &str = "Cookie: customer=impostor";
/// Types Awa's e-mail address for the receipt.
const GUEST: &str = "Cookie: guest=1";
const OTHER_GUEST: &str = "Cookie: guest=2";

#[tokio::test]
async fn by_default_a_plain_form_is_redirected_only_to_the_services_origin() {
    let form = [AWA, "Content-Type: application/x-www-form-urlencoded", "Sec-Fetch-Site: same-origin"];
    let sandbox = guichet_sandbox::Sandbox::start().await.expect("a sandbox");
    let key = SecretKey::new(sandbox.secret_key().expose()).expect("a key");
    let client = Client::builder(sandbox.base_url(), key).build().expect("a client");
    let url = serve(routes(client).await.router()).await;
    let answer = post(&format!("{url}/intents"), &form, "id=17").await;
    let location = answer.header("location").unwrap_or_default();
    assert!(answer.status == 303 && location.starts_with(sandbox.base_url()), "{} {location}", answer.status);
    sandbox.stop().await;
}

#[test]
fn an_unreadable_duplicate_payment_is_still_reported() {
    let duplicates = json!([{"attempt": "two", "amount": 5}, "odd", {"attempt": 2, "amount": "5", "currency": "XAF"}]);
    let intent = json!({"id": "pi_1", "amount": "1", "currency": "XAF", "status": "succeeded", "duplicate_payments": duplicates});
    let intent: PaymentIntent = serde_json::from_value(intent).expect("an intent");
    let duplicates: Vec<(u32, Option<Amount>)> =
        intent.duplicate_payments.iter().map(|duplicate| (duplicate.attempt, duplicate.amount)).collect();
    // Each has its own number, under which a shop stores it, and keeps its amount.
    assert_eq!(duplicates, [(u32::MAX, Some(Amount::units(5))), (u32::MAX - 1, None), (2, Some(Amount::units(5)))]);
}

#[tokio::test]
async fn an_allowed_origin_may_be_given_with_a_trailing_slash() {
    let client =
        Client::builder("http://127.0.0.1:1", SecretKey::new("sk_live_1").expect("a key")).build().expect("a client");
    let routes = routes(client).await.allow_origin("https://www.shop.example/").expect("an origin");
    let url = serve(routes.router()).await;
    let www = "Origin: https://www.shop.example";
    assert_eq!(get(&format!("{url}/intents/gch_1"), &[AWA, www]).await.status, 404, "it is not refused");
    assert_eq!(get(&format!("{url}/intents/gch_1"), &[AWA, "Origin: https://shop.example"]).await.status, 403);
}

#[tokio::test]
async fn a_payment_is_read_by_the_customer_or_guest_who_bought_and_by_nobody_else() {
    let of_nadia = [("customer", json!({"firstname": "Nadia", "lastname": "Fall", "email": ""}))];
    for (buyer, changes, others) in [
        (NADIA, &of_nadia[..], [AWA, PAUL, IMPOSTOR, GUEST]),
        // The guest has typed Awa's e-mail address.
        (GUEST, &[], [IMPOSTOR, AWA, OTHER_GUEST, NADIA]),
    ] {
        let statuses = ["requires_action", "processing"].map(|status| changed_intent(status, "45000", changes));
        let merchant = Merchant::open(statuses.into()).await;
        assert_eq!(post(&merchant.at("/intents"), &[buyer], r#"{"id":"17"}"#).await.status, 200);
        let own = get(&merchant.at("/intents/gch_1"), &[buyer]).await;
        assert_eq!((own.status, &own.json()["status"]), (200, &json!("processing")), "{}", own.body);
        let sent = merchant.service.requests().len();
        for other in others {
            assert_eq!(get(&merchant.at("/intents/gch_1"), &[other]).await.status, 404, "{other}");
        }
        assert_eq!(get(&merchant.at("/intents/gch_1"), &[]).await.status, 401, "nobody is signed in");
        assert_eq!(merchant.service.requests().len(), sent, "no request was sent to the service");
    }
}

/// guichet-server does the same: `tests/shop/run.mjs`.
#[tokio::test]
async fn equal_reads_of_pages_are_one_request_with_nothing_of_theirs_whose_answer_is_kept() {
    let fee = reply("200 OK", r#"{"data": {"fee": 1}}"#);
    let refusals = [
        reply("429 Too Many Requests", r#"{"error": {"retryable": false}}"#),
        reply("422 Unprocessable Content", r#"{"message": "No."}"#),
    ];
    let service = FakeService::start([fee].into_iter().chain(refusals).collect()).await;
    let key = SecretKey::new("sk_live_1").expect("a key");
    let client = Client::builder(&service.base_url, key).build().expect("a client");
    let url = serve(routes(client).await.public_reads().router()).await;
    let of = |query: &str| format!("{url}/fee?payment_method=card&currency=XAF&{query}");
    let addresses = [of("amount=1"), of("amount=1&x=1"), of("amount=2&amount=%31")];
    let headers = ["Cookie: customer=awa", "Authorization: Bearer cst_1", "X-Other: 1"];
    let reads = addresses.iter().map(|address| get(address, &headers));
    for answer in futures_util::future::join_all(reads).await {
        let expected = json!({"status_code": 200, "response_type": "success", "data": {"fee": 1}});
        assert_eq!((answer.status, answer.json()), (200, expected));
    }
    assert_eq!(get(&of("amount=1"), &[]).await.status, 200);
    let [request] = service.requests().try_into().expect("one request");
    let request = request.to_lowercase();
    assert!(request.starts_with("get /v1/payment-methods/fee/card/xaf/1 http/1.1"), "{request}");
    assert!(["cookie", "cst_1", "x-other"].iter().all(|word| !request.contains(word)), "{request}");
    for status in [429, 422, 422] {
        assert_eq!(get(&of("amount=2"), &[]).await.status, status, "only what another attempt cannot change is kept");
    }
    assert_eq!(service.requests().len(), 3);
}

/// A shop whose buyer is named by a plain cookie, and a fake service with scripted responses.
struct Merchant {
    url: String,
    service: FakeService,
}

struct TestShop;

impl Merchant {
    async fn open(answers: Vec<ScriptedResponse>) -> Self {
        let service = FakeService::start(answers).await;
        let client =
            Client::builder(&service.base_url, SecretKey::new("sk_live_1").expect("a key")).build().expect("a client");
        let routes = routes(client).await.checkout_origin("https://pay.example");
        let url = serve(routes.expect("an origin").router()).await;
        Self { url, service }
    }

    fn at(&self, route: &str) -> String {
        format!("{}{route}", self.url)
    }
}

/// The routes of a shop with an empty ledger.
async fn routes(client: Client) -> Routes<TestShop, SqliteOrders> {
    Routes::new(Ledger::new(client, orders::in_memory().await), TestShop)
}

/// Serves the routes of a shop. Returns their address.
async fn serve(routes: axum::Router) -> String {
    let router = axum::Router::new().nest("/guichet", routes);
    format!("{}/guichet", crate::support::http::serve(router).await)
}

/// Its orders have the numbers 1 to 99.
impl Shop for TestShop {
    async fn buyer(&self, request: &Parts) -> Result<Option<Buyer>, Refused> {
        let cookie = request.headers.get("cookie").and_then(|cookie| cookie.to_str().ok()?.split_once('='));
        Ok(match cookie {
            Some(("customer", id @ ("awa" | "paul"))) => {
                let email = Email::new(format!("{id}@example.com")).map_err(Refused::broken)?;
                Some(Buyer::customer(id).verified_email(email))
            }
            Some(("customer", id)) => Some(Buyer::customer(id)),
            Some((_, login)) => Some(Buyer::guest(login)),
            None => None,
        })
    }

    async fn purchase(&self, buyer: &Buyer, order: Value) -> Result<Purchase, Refused> {
        let id = order["id"].as_str().filter(|id| id.len() <= 2);
        let missing = Reason { code: "order_missing", message: "There is no order of this number." };
        let id = id.ok_or_else(|| Refused::new(404, missing))?;
        let reference = MerchantReference::new(format!("ORDER-{id}")).map_err(Refused::broken)?;
        let amount = Amount::units(45_000);
        let back = RedirectUrl::new("https://shop.example/return?lang=fr#top").map_err(Refused::broken)?;
        let purchase =
            CreatePaymentIntent::new(reference, amount, "Shoes", CustomerName { firstname: "Awa", lastname: "Ngono" })
                .redirect_url(back);
        if buyer.owner == Owner::Customer("nadia".to_owned()) {
            return Ok(purchase.phone(Phone::new("237670000000").map_err(Refused::broken)?).into());
        }
        Ok(purchase.email(Email::new("awa@example.com").map_err(Refused::broken)?).into())
    }

    async fn order_changed(&self, _: &Changed) -> Result<(), Refused> {
        Ok(())
    }
}

fn changed_intent(status: &str, amount: &str, more: &[(&str, Value)]) -> ScriptedResponse {
    let mut intent = json!({
        "id": "pi_1", "object": "payment_intent", "amount": amount, "currency": "XAF", "status": status, "client_secret": "pi_1_secret_2",
        "payment_ref": "gch_1", "merchant_reference": "ORDER-17", "metadata": {},
        "checkout_url": "https://pay.example/checkout/pi_1#client_secret=pi_1_secret_2",
        "customer": {"firstname": "Awa", "lastname": "Ngono", "email": "awa@example.com"},
    });
    for (name, value) in more {
        intent[*name] = value.clone();
    }
    reply("200 OK", json!({"status_code": 200, "response_type": "success", "data": intent}).to_string())
}
