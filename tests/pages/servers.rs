//! The servers of `examples/` in Node.js, PHP and Python, each as a process of its own against a sandbox: purchases in Chromium,
//! restarts, other sites' requests, late approvals, and services that do not say the truth.
//!
//! `cargo xtask test` installs what they need, builds the package and then runs these tests.

mod running;

use crate::support::api::{self, Merchant, Reply};
use crate::support::browser::Browser;
use crate::support::port;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::{Json, Router};
use guichet::SecretKey;
use guichet::operations::CreatePaymentIntent;
use guichet::sandbox::{Fault, Sandbox};
use guichet::values::MerchantReference;
use running::{Server, ShopServer, Visitor};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const KEY: &str = "sk_test_0123456789abcdefghijABCDEFGHIJ";
const AWA: &str = "awa@example.com";
const PAUL: &str = "paul@example.com";
const SUCCEEDS: &str = "237670000000";
const FINAL_DECLINE: &str = "237670000009";
/// Times out after 300 seconds, and the operator approves it 300 seconds later.
const APPROVED_LATE: &str = "237670000011";

macro_rules! for_every_server {
    ($($test:ident),+ $(,)?) => {
        for_every_server!(@ express Express $($test)+);
        for_every_server!(@ php Php $($test)+);
        for_every_server!(@ django Django $($test)+);
    };
    (@ $module:ident $server:ident $($test:ident)+) => {
        mod $module {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                #[ignore = "needs files that `cargo xtask test` builds"]
                async fn $test() {
                    super::$test(super::Server::$server).await;
                }
            )+
        }
    };
}

for_every_server!(
    a_customer_buys_by_redirect_and_by_popup,
    an_order_is_one_intent_although_the_server_is_killed_in_the_midst,
    an_order_whose_customer_pays_and_closes_the_tab_is_paid_once,
    other_customers_and_other_sites_are_refused,
    a_final_decline_gives_the_next_reference,
    a_late_approval_pays_the_order_or_is_a_refund_due_once,
    an_order_that_two_payments_pay_is_a_refund_due_once,
    a_missing_key_ends_the_process_with_an_error,
    a_service_that_lies_or_refuses_pays_nothing_and_shows_no_key,
    every_rule_of_the_check_passes,
);

async fn a_customer_buys_by_redirect_and_by_popup(server: Server) {
    let world = World::open(server).await;
    let browser = Browser::start("servers").await;
    browser.open(&world.shop.url).await;
    browser.click("#sign-in button").await;
    browser.screenshot(&format!("servers-{server:?}-shop")).await;

    browser.click(".primary.trainers:enabled").await;
    pay_on_the_hosted_page(&browser).await;
    browser.wait_for_url("the shop", |url| url.as_str().starts_with(&world.shop.url)).await;
    browser.wait_for_text("#message", "you have paid").await;
    browser.wait_for_text("#orders", "Wouri trainers, paid").await;
    browser.screenshot(&format!("servers-{server:?}-paid")).await;

    let opener = browser.current_tab().await;
    browser.click(".popup.sandals:enabled").await;
    browser.switch_to(&browser.wait_for_other_tab(&opener).await).await;
    pay_on_the_hosted_page(&browser).await;
    browser.switch_to(&opener).await;
    browser.wait_for_text("#orders", "Kribi sandals, paid").await;
    assert_eq!(browser.tabs().await, [opener], "the popup is closed");

    let statuses: Vec<Value> = world.intents().await.iter().map(|intent| intent["status"].clone()).collect();
    assert_eq!(statuses, ["succeeded", "succeeded"]);
    browser.close().await;
}

async fn an_order_is_one_intent_although_the_server_is_killed_in_the_midst(server: Server) {
    let mut world = World::open(server).await;
    let awa = Visitor::signed_in(&world.shop, AWA).await;

    // The service has created the intent, and the server gets no reply.
    world.merchant.tenant.fault(Fault::lost_response::<CreatePaymentIntent>());
    let lost = awa.order("17").await;
    assert_eq!((lost.status, lost.code(), &lost.body["error"]["retryable"]), (503, "unavailable", &json!(true)));
    world.shop.restart().await;
    let begun = awa.order("17").await;
    assert_eq!(begun.status, 200, "the cookie holds after a restart: {}", begun.text);

    // The server is killed while it waits for the service.
    world.merchant.tenant.fault(Fault::delay::<CreatePaymentIntent>(Duration::from_secs(30)));
    let tenant = &world.merchant.tenant;
    let is_delayed = || {
        let requests = tenant.requests();
        let mut created = requests.iter().filter(|request| request.operation == "create_payment_intent");
        created.nth(2).is_some_and(|request| request.status.is_none())
    };
    let kill = async {
        let begun = Instant::now();
        while !is_delayed() {
            assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", tenant.requests());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        world.shop.kill();
    };
    let (unanswered, ()) = tokio::join!(awa.try_order("18"), kill);
    assert!(unanswered.is_err(), "{unanswered:?}");
    world.shop.restart().await;
    let (again, other) = (awa.order("17").await, awa.order("18").await);
    assert_eq!(again.text, begun.text, "the same order gets the same answer");
    assert_eq!(other.status, 200, "{}", other.text);
    let intents = world.intents().await;
    assert_eq!(intents.len(), 2, "{intents:?}");

    for answer in [&begun.body, &other.body] {
        let intent = intents.iter().find(|intent| intent["id"] == answer["intent"]["id"]).expect("it is the service's");
        let nonce = answer["return_nonce"].as_str().expect("a nonce");
        let reference = answer["intent"]["merchant_reference"].as_str().expect("a reference");
        assert_eq!(nonce, world.nonce(reference), "the nonce is that of the Rust routes");
        assert!(intent["redirect_url"].as_str().unwrap().ends_with(&format!("/?guichet_return={nonce}")), "{intent}");
        assert_eq!((&intent["amount"], &intent["merchant_reference"]), (&json!("45000"), &json!(reference)));
        assert_eq!(intent["customer"]["email"], AWA);
    }
}

async fn an_order_whose_customer_pays_and_closes_the_tab_is_paid_once(server: Server) {
    let mut world = World::open(server).await;
    let awa = Visitor::signed_in(&world.shop, AWA).await;
    let begun = awa.order("17").await.body;
    world.pay(&begun, SUCCEEDS).await;
    let line = format!("{} is paid.", begun["intent"]["merchant_reference"].as_str().unwrap());
    // From here on no page sends a request.
    world.shop.settles(&line).await;
    world.shop.restart().await;

    let path = status_path(&begun);
    let asks = (0..8).map(|_| awa.request("GET", &path, None, &[]));
    let answers = futures_util::future::join_all(asks).await;
    assert!(answers.iter().all(|answer| answer.body["status"] == "succeeded"), "{answers:?}");
    world.shop.settle();
    assert_eq!(world.shop.count(&line), 1, "{}", world.shop.log());
    let shown = awa.request("GET", "/shop", None, &[]).await.body;
    assert_eq!(shown["orders"][0]["paid_by"], begun["intent"]["merchant_reference"], "{shown}");
}

async fn other_customers_and_other_sites_are_refused(server: Server) {
    let world = World::open(server).await;
    let (stranger, awa) = (Visitor::of(&world.shop).await, Visitor::signed_in(&world.shop, AWA).await);
    let paul = Visitor::signed_in(&world.shop, PAUL).await;
    let begun = awa.order("17").await.body;
    let path = status_path(&begun);
    let order = r#"{"id":"18","product":"trainers"}"#;

    for (method, path, body) in
        [("POST", "/guichet/session", None), ("POST", "/guichet/intents", Some(order)), ("GET", &path, None)]
    {
        let reply = stranger.request(method, path, body, &[]).await;
        assert_eq!((reply.status, reply.code()), (401, "authentication_required"), "{path}: {}", reply.text);
    }
    let (theirs, unknown) =
        (paul.request("GET", &path, None, &[]).await, paul.request("GET", "/guichet/intents/gch_1", None, &[]).await);
    assert_eq!((theirs.status, &theirs.text), (404, &unknown.text));
    let session = awa.request("POST", "/guichet/session", None, &[]).await;
    assert!(is_not_stored(&session), "{session:?}");
    assert!(session.body["session_token"].as_str().unwrap().starts_with("cst_test_"), "{}", session.text);

    let (own, json) = (world.shop.url.as_str(), "application/json");
    let other_port = own.rsplit_once(':').map(|(host, _)| format!("{host}:1")).unwrap();
    for (headers, body, status) in [
        (&[("origin", "https://evil.example")][..], order, 403),
        (&[("origin", "null")], order, 403),
        (&[("origin", &other_port), ("sec-fetch-site", "same-site")], order, 403),
        (&[("origin", own), ("sec-fetch-site", "cross-site")], order, 403),
        (&[("sec-fetch-site", "cross-site")], order, 403),
        (&[("sec-fetch-site", "same-site")], order, 403),
        (&[("origin", own), ("content-type", "text/plain")], order, 415),
        (&[("origin", own), ("content-type", "application/x-www-form-urlencoded")], "id=18&product=trainers", 415),
        (&[("origin", own)], "{\"id\"", 400),
        (&[("origin", own)], r#"{"id":"18","product":"constructor"}"#, 404),
        (&[("origin", own)], r#"{"id":"18","product":["trainers"]}"#, 404),
        (&[("origin", own), ("sec-fetch-site", "same-origin"), ("content-type", json)], order, 200),
    ] {
        let reply = awa.request("POST", "/guichet/intents", Some(body), headers).await;
        assert_eq!(reply.status, status, "{headers:?}: {}", reply.text);
        assert!(status != 200 || is_not_stored(&reply), "{headers:?}");
        let shape = (&reply.body["status_code"], &reply.body["response_type"]);
        assert!(status == 200 || shape == (&json!(status), &json!("error")), "{}", reply.text);
        if status == 403 {
            assert_eq!(awa.request("GET", &path, None, headers).await.status, 403, "{headers:?}");
            assert_eq!(awa.request("POST", "/guichet/session", None, headers).await.status, 403, "{headers:?}");
        }
    }
    assert_eq!(world.intents().await.len(), 2);
    let signing_in = awa.request("POST", "/sign-in", Some(r#"{"email":["awa@example.com"]}"#), &[]).await;
    assert_eq!(signing_in.status, 422, "{}", signing_in.text);
    if server == Server::Php {
        let empty = awa.request("GET", &path, None, &[("content-type", "")]).await;
        assert_eq!(empty.status, 200, "nginx passes an empty type for each GET request: {}", empty.text);
    }
}

async fn a_final_decline_gives_the_next_reference(server: Server) {
    let world = World::open(server).await;
    let awa = Visitor::signed_in(&world.shop, AWA).await;
    let first = awa.order("17").await.body;
    world.pay(&first, FINAL_DECLINE).await;
    world.advance(10).await;
    let status = awa.request("GET", &status_path(&first), None, &[]).await.body;
    assert_eq!(status["status"], "failed", "{status}");

    let second = awa.order("17").await.body;
    let reference = first["intent"]["merchant_reference"].as_str().unwrap();
    assert_eq!(second["intent"]["merchant_reference"], format!("{reference}.1"));
    assert_ne!(second["return_nonce"], first["return_nonce"]);
    world.pay(&second, SUCCEEDS).await;
    world.shop.settles(&format!("{reference}.1 is paid.")).await;
    assert_eq!(awa.order("17").await.body["intent"]["status"], "succeeded", "a paid order keeps its payment");
}

async fn a_late_approval_pays_the_order_or_is_a_refund_due_once(server: Server) {
    let world = World::open(server).await;
    let awa = Visitor::signed_in(&world.shop, AWA).await;
    let (alone, twice) = (awa.order("17").await.body, awa.order("18").await.body);
    for begun in [&alone, &twice] {
        world.pay(begun, APPROVED_LATE).await;
    }
    world.advance(300).await;
    world.pay(&twice, SUCCEEDS).await;
    let reference = |begun: &Value| begun["intent"]["merchant_reference"].as_str().unwrap().to_owned();
    world.shop.settles(&format!("{} is paid.", reference(&twice))).await;
    world.advance(300).await;

    world.shop.settles(&format!("{} is paid.", reference(&alone))).await;
    // The page's own question settles too, so that the test does not wait until the next reading of a final payment.
    for _ in 0..2 {
        let answer = awa.request("GET", &status_path(&twice), None, &[]).await;
        assert_eq!(answer.body["status"], "succeeded", "{}", answer.text);
    }
    let refund = format!("{}: a refund of ", reference(&twice));
    assert_eq!((world.shop.count(&refund), world.shop.count("a refund of ")), (1, 1), "{}", world.shop.log());
    let orders = awa.request("GET", "/shop", None, &[]).await.body["orders"].clone();
    assert_eq!((&orders[0]["refunds"], &orders[1]["refunds"]), (&json!(0), &json!(1)), "{orders}");
}

async fn an_order_that_two_payments_pay_is_a_refund_due_once(server: Server) {
    let service = FalseService::start().await;
    let shop = ShopServer::start(server, &service.url, KEY).await;
    let awa = Visitor::signed_in(&shop, AWA).await;
    service.says(200, &json!({}));
    let first = awa.order("17").await.body;
    service.says(200, &json!({"status": "failed", "attempts": 1}));
    assert_eq!(awa.request("GET", &status_path(&first), None, &[]).await.body["status"], "failed");
    let next = json!({"id": "pi_2", "payment_ref": "gch_2", "status": "succeeded", "attempts": 1});
    service.says(200, &next);
    let second = awa.order("17").await.body;
    let reference = |begun: &Value| begun["intent"]["merchant_reference"].as_str().unwrap().to_owned();
    assert_eq!(reference(&second), format!("{}.1", reference(&first)));
    assert_eq!((shop.count(&format!("{} is paid.", reference(&second))), shop.count("a refund of ")), (1, 0));

    service.says(200, &json!({"merchant_reference": reference(&first), "status": "succeeded", "attempts": 1}));
    for _ in 0..2 {
        let reply = awa.request("GET", &status_path(&first), None, &[]).await;
        assert_eq!(reply.body["status"], "succeeded", "{}", reply.text);
    }
    let refund = format!("{}: a refund of 45000 XAF is due (pi_1, ", reference(&first));
    assert_eq!((shop.count(&refund), shop.count("a refund of ")), (1, 1), "{}", shop.log());
    let order = awa.request("GET", "/shop", None, &[]).await.body["orders"][0].clone();
    assert_eq!((&order["refunds"], &order["paid_by"]), (&json!(1), &json!(reference(&second))), "{order}");
}

async fn a_missing_key_ends_the_process_with_an_error(server: Server) {
    let (status, log) = running::start_without_a_key(server);
    assert!(!status.success() && log.contains("GUICHET_SECRET_KEY"), "{status}: {log}");
}

async fn every_rule_of_the_check_passes(server: Server) {
    let service = format!("127.0.0.1:{}", port::free());
    let mut shop = ShopServer::start(server, &format!("http://{service}"), KEY).await;
    let (all_passed, report) = shop.check(&service).await;
    assert!(all_passed && report.contains(" passed, 0 failed, 0 not checked"), "{report}");
}

async fn a_service_that_lies_or_refuses_pays_nothing_and_shows_no_key(server: Server) {
    let service = FalseService::start().await;
    let shop = ShopServer::start(server, &service.url, KEY).await;
    let awa = Visitor::signed_in(&shop, AWA).await;
    let lies = [
        json!({"amount": "1"}),
        json!({"currency": "XOF"}),
        json!({"merchant_reference": "ORDER-1"}),
        json!({"customer": {"email": PAUL}}),
        json!({"customer": null}),
        json!({"id": null}),
    ];
    for lie in &lies {
        service.says(200, lie);
        let reply = awa.order("17").await;
        assert_eq!((reply.status, reply.code()), (409, "payment_mismatch"), "{lie}: {}", reply.text);
    }
    service.says(200, &json!({}));
    let begun = awa.order("17").await;
    assert_eq!(begun.status, 200, "{}", begun.text);
    let path = status_path(&begun.body);
    for lie in lies.iter().chain([&json!({"id": "pi_other"})]) {
        let mut lie = lie.clone();
        lie["status"] = json!("succeeded");
        service.says(200, &lie);
        let reply = awa.request("GET", &path, None, &[]).await;
        assert_eq!((reply.status, reply.code()), (409, "payment_mismatch"), "{lie}: {}", reply.text);
        shop.settle();
    }
    let forged = format!("{KEY}\n\u{1b}[2KORDER-1 is paid.\u{202e}\u{2028}\u{9b}");
    for (status, expected) in [(400, 502), (401, 502), (403, 502), (409, 502), (429, 429), (500, 502), (503, 503)] {
        service.says(status, &json!({"message": forged, "error": {"code": forged, "request_id": forged}}));
        for (method, path) in [("GET", path.as_str()), ("POST", "/guichet/session")] {
            let reply = awa.request(method, path, None, &[]).await;
            assert_eq!(reply.status, expected, "{status}: {}", reply.text);
            assert_eq!(reply.body["response_type"], "error", "{}", reply.text);
            assert!(!reply.text.contains(KEY), "{}", reply.text);
        }
    }
    service.says(200, &json!({"last_payment_error": {"code": "generic_decline", "message": KEY}}));
    let reply = awa.request("GET", &path, None, &[]).await;
    assert!(reply.status == 200 && !reply.text.contains(KEY), "{}", reply.text);

    let forged = "[2KORDER-1 is paid.";
    assert_eq!(shop.count(" is paid."), shop.count(forged), "{}", shop.log());
    let raw =
        |character: &char| (character.is_control() && *character != '\n') || "\u{202e}\u{2028}".contains(*character);
    assert_eq!(shop.log().chars().filter(raw).count(), 0, "{:?}", shop.log());
    assert!(!shop.log().contains(KEY), "{}", shop.log());

    service.says(200, &json!({"status": "succeeded", "attempts": 1}));
    assert_eq!(awa.request("GET", &path, None, &[]).await.body["status"], "succeeded");
    assert_eq!(shop.count(" is paid."), shop.count(forged) + 1, "{}", shop.log());
}

/// A sandbox with one merchant, and a shop that sells through it.
struct World {
    shop: ShopServer,
    merchant: Merchant,
    _sandbox: Sandbox,
}

impl World {
    async fn open(server: Server) -> Self {
        let sandbox = Sandbox::start().await.expect("a sandbox");
        let merchant = Merchant::new(sandbox.merchant().await.expect("the sandbox adds a merchant"));
        let shop = ShopServer::start(server, &merchant.base_url, &merchant.key()).await;
        Self { shop, merchant, _sandbox: sandbox }
    }

    /// Moves the merchant's clock forward.
    async fn advance(&self, seconds: u32) {
        self.merchant.tenant.clock().advance(seconds).await.expect("the clock moves");
    }

    /// Every intent of the merchant, newest first.
    async fn intents(&self) -> Vec<Value> {
        let listed = self.merchant.call("GET", "/v1/payment-intents", Value::Null).await;
        listed.body["data"].as_array().expect("a list").clone()
    }

    /// Pays with the client secret of the checkout address, as the customer does on the hosted page.
    async fn pay(&self, begun: &Value, phone: &str) {
        let address = begun["intent"]["checkout_url"].as_str().expect("an address");
        let (_, secret) = address.split_once("client_secret=").expect("a client secret");
        let path = format!("/v1/payment-intents/{}/payment-method", begun["intent"]["id"].as_str().expect("an id"));
        let reply = self.merchant.call_as("POST", &path, Some(secret), api::phone(phone)).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
    }

    /// The nonce of a reference, as the Rust routes derive it.
    fn nonce(&self, reference: &str) -> String {
        let key = SecretKey::new(self.merchant.key()).expect("a secret key");
        let client = guichet::Client::builder(&self.merchant.base_url, key).build().expect("a client");
        client.return_key().nonce(&MerchantReference::new(reference).expect("a reference"))
    }
}

/// A service that answers with one payment, changed as the test says.
struct FalseService {
    url: String,
    says: Arc<Mutex<Says>>,
}

/// The status of every answer, and what is changed in it. The payment is that of the latest request that created one.
#[derive(Default)]
struct Says {
    status: u16,
    change: Value,
    created: Value,
}

impl FalseService {
    async fn start() -> Self {
        let says = Arc::new(Mutex::new(Says::default()));
        let router = Router::new().fallback(answer).with_state(Arc::clone(&says));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it listens"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, says }
    }

    fn says(&self, status: u16, change: &Value) {
        let mut says = self.says.lock().unwrap();
        (says.status, says.change) = (status, change.clone());
    }
}

async fn answer(State(says): State<Arc<Mutex<Says>>>, uri: Uri, body: String) -> (StatusCode, Json<Value>) {
    let mut says = says.lock().unwrap();
    let status = StatusCode::from_u16(says.status).unwrap();
    if says.status >= 300 {
        return (status, Json(says.change.clone()));
    }
    if uri.path() == "/v1/payment-intents" {
        says.created = serde_json::from_str(&body).unwrap();
    }
    let created = &says.created;
    let mut data = json!({
        "id": "pi_1", "payment_ref": "gch_1", "checkout_url": "https://pay.example/", "status": "requires_action",
        "merchant_reference": created["merchant_reference"], "amount": created["amount"], "currency": created["currency"],
        "customer": {"email": created["email"]},
    });
    for (name, value) in says.change.as_object().into_iter().flatten() {
        data[name] = value.clone();
    }
    (status, Json(json!({ "status_code": 200, "data": data })))
}

fn is_not_stored(reply: &Reply) -> bool {
    reply.header("cache-control").is_some_and(|value| value.split(", ").any(|directive| directive == "no-store"))
}

fn status_path(begun: &Value) -> String {
    format!("/guichet/intents/{}", begun["intent"]["payment_ref"].as_str().expect("a reference"))
}

/// Pays on the hosted page by phone, and leaves it.
async fn pay_on_the_hosted_page(browser: &Browser) {
    browser.wait_for_url("the hosted page", |url| url.path().starts_with("/checkout/")).await;
    browser.click("[data-test='method-mobile_money']").await;
    browser.fill("[data-test='phone']", SUCCEEDS).await;
    browser.click("[data-test='pay']").await;
    browser.click("[data-test='leave']").await;
}
