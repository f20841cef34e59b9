//! The merchant's three routes: authorization, responses, and when an order is paid.

mod description;

use crate::support::fake_service::{FakeService, ScriptedResponse, reply};
use crate::support::http::{get, post};
use axum::http::request::Parts;
use guichet::native::{AskAgain, Buyer, Owner, Reason, Refused, Routes, Shop, Sold, settle};
use guichet::operations::{CreatePaymentIntent, CustomerName, DuplicatePayment, PaymentIntent};
use guichet::values::{Amount, Email, IntentStatus, MerchantReference, PaymentRef, Phone, RedirectUrl};
use guichet::{Client, SecretKey};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

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
async fn a_signed_in_customer_gets_a_session_and_a_guest_gets_none() {
    let session = r#"{"success":true,"message":"","data":{"session_token":"cst_test_1","customer_email":"awa@example.com","expires_at":"2026-11-21T10:30:00Z"}}"#;
    let merchant = Merchant::open(vec![reply("201 Created", session)]).await;
    assert_eq!(post(&merchant.at("/session"), &[], "").await.status, 401);
    assert!(merchant.service.requests().is_empty(), "nothing is sent for a guest");
    let answer = post(&merchant.at("/session"), &[AWA], "").await;
    assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-store")));
    assert_eq!(answer.json()["session_token"], "cst_test_1");
    assert_eq!(answer.json()["expires_at"], "2026-11-21T10:30:00Z");
}

#[tokio::test]
async fn an_order_becomes_a_ticket_and_a_repeat_sends_the_same_bytes() {
    let merchant = Merchant::open(vec![intent("requires_action", "45000"), intent("requires_action", "45000")]).await;
    let first = post(&merchant.at("/intents"), &[AWA], r#"{"id":"17"}"#).await;
    let second = post(&merchant.at("/intents"), &[AWA], r#"{"id":"17"}"#).await;
    let ticket = first.json();
    assert_eq!(ticket, second.json());
    assert_eq!(ticket["intent"]["id"], "pi_1");
    assert_eq!(ticket["intent"]["payment_ref"], "gch_1");
    assert_eq!(ticket["intent"]["checkout_url"], "https://pay.example/checkout/pi_1#client_secret=pi_1_secret_2");
    assert!(ticket["intent"].get("client_secret").is_none());

    let bodies: Vec<Value> = merchant.service.requests().iter().map(|request| body_of(request)).collect();
    assert_eq!(bodies[0], bodies[1]);
    let nonce = ticket["return_nonce"].as_str().expect("a nonce");
    assert_eq!(nonce.len(), 22);
    assert_eq!(bodies[0]["redirect_url"], format!("https://shop.example/return?lang=fr&guichet_return={nonce}#top"));
}

#[tokio::test]
async fn a_plain_form_is_redirected_to_the_checkout() {
    let merchant = Merchant::open(vec![intent("requires_action", "45000")]).await;
    let form = "Content-Type: application/x-www-form-urlencoded";
    let answer =
        post(&merchant.at("/intents"), &[AWA, form, "Sec-Fetch-Site: same-origin", "Origin: null"], "id=17").await;
    assert_eq!(answer.status, 303);
    assert_eq!(answer.header("location"), Some("https://pay.example/checkout/pi_1#client_secret=pi_1_secret_2"));
}

#[tokio::test]
async fn a_plain_form_is_redirected_only_to_an_allowed_origin() {
    let form = [AWA, "Content-Type: application/x-www-form-urlencoded", "Sec-Fetch-Site: same-origin"];
    for (checkout_url, followed) in [
        ("https://pay.example/checkout/pi_1", true),
        ("https://evil.example/checkout/pi_1#client_secret=hush", false),
        ("https://pay.example.evil.example/", false),
        ("https://pay.example:8443/", false),
        ("javascript:alert(1)", false),
    ] {
        let merchant = Merchant::open(vec![intent_at("requires_action", "45000", checkout_url)]).await;
        let answer = post(&merchant.at("/intents"), &form, "id=17").await;
        let location = answer.header("location");
        if followed {
            assert_eq!((answer.status, location), (303, Some(checkout_url)));
        } else {
            assert_eq!((answer.status, location), (502, None), "{checkout_url}");
            assert_eq!(answer.json()["error"]["code"], "address");
            assert!(!answer.body.contains("hush") && !answer.body.contains("evil"), "{}", answer.body);
        }
    }
}

#[tokio::test]
async fn by_default_a_plain_form_is_redirected_only_to_the_services_origin() {
    let form = [AWA, "Content-Type: application/x-www-form-urlencoded", "Sec-Fetch-Site: same-origin"];
    let sandbox = guichet_sandbox::Sandbox::start().await.expect("a sandbox");
    let key = SecretKey::new(sandbox.secret_key().expose()).expect("a key");
    let client = Client::builder(sandbox.base_url(), key).build().expect("a client");
    let url = serve(Routes::new(client, Arc::new(TestShop::default())).router()).await;
    let answer = post(&format!("{url}/intents"), &form, "id=17").await;
    let location = answer.header("location").unwrap_or_default();
    assert!(answer.status == 303 && location.starts_with(sandbox.base_url()), "{} {location}", answer.status);
    sandbox.stop().await;
}

#[tokio::test]
async fn a_cross_site_origin_is_refused() {
    let merchant = Merchant::open(vec![]).await;
    for foreign in
        ["Origin: https://evil.example", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: null"]
    {
        for route in ["/session", "/intents"] {
            let answer = post(&merchant.at(route), &[AWA, foreign], r#"{"id":"17"}"#).await;
            assert_eq!(
                (answer.status, answer.json()["error"]["code"].as_str()),
                (403, Some("cross_site")),
                "{route} {foreign}"
            );
        }
        assert_eq!(get(&merchant.at("/intents/gch_1"), &[AWA, foreign]).await.status, 403, "{foreign}");
    }
    let untyped = post(&merchant.at("/intents"), &[AWA, "Content-Type: text/plain"], r#"{"id":"17"}"#).await;
    assert_eq!(untyped.status, 415, "a content type that needs no preflight is refused");
    assert!(merchant.service.requests().is_empty());
}

#[tokio::test]
async fn an_order_is_paid_only_after_the_intent_was_read_with_the_key() {
    let answers = ["requires_action", "processing", "succeeded"].map(|status| intent(status, "45000"));
    let merchant = Merchant::open(answers.into()).await;
    post(&merchant.at("/intents"), &[AWA], r#"{"id":"17"}"#).await;
    let status = get(&merchant.at("/intents/gch_1"), &[AWA]).await;
    assert_eq!((status.status, &status.json()["status"]), (200, &json!("processing")));
    assert!(merchant.settled().is_empty());

    assert_eq!(get(&merchant.at("/intents/gch_1"), &[AWA]).await.json()["status"], "succeeded");
    assert_eq!(merchant.settled(), ["ORDER-17 succeeded"]);
    let read = &merchant.service.requests()[2];
    assert!(
        read.starts_with("GET /v1/payment-intents/pi_1 ") && read.contains("authorization: Bearer sk_test_1\r\n"),
        "{read}"
    );
}

#[tokio::test]
async fn a_customer_who_pays_and_closes_the_page_has_paid() {
    let answers = ["requires_action", "processing", "succeeded"].map(|status| intent(status, "45000"));
    let merchant = Merchant::open(answers.into()).await;
    post(&merchant.at("/intents"), &[AWA], r#"{"id":"17"}"#).await;
    // From here on no page sends a request: the shop settles the payments that it has stored.
    let sold = merchant.shop.sold.lock().expect("not poisoned")[0].clone();
    let read = settle(&merchant.client, &merchant.shop, &sold).await.expect("the payment");
    assert_eq!((&read.intent.status, read.ask_again), (&IntentStatus::Processing, AskAgain::Soon));
    assert!(merchant.settled().is_empty());
    settle(&merchant.client, &merchant.shop, &sold).await.expect("the payment");
    assert_eq!(merchant.settled(), ["ORDER-17 succeeded"]);
}

#[tokio::test]
async fn every_reading_reports_a_duplicate_payment_until_the_shop_has_stored_it() {
    let twice = json!([
        {"attempt": 1, "amount": "45000", "currency": "XAF", "approved_at": "2026-11-21T10:30:00Z"},
        {"attempt": 2, "amount": "45000", "currency": "XAF", "later": "unknown"},
    ]);
    let paid =
        || changed_intent("succeeded", "45000", &[("attempts", json!(3)), ("duplicate_payments", twice.clone())]);
    let merchant = Merchant::open(vec![intent("requires_action", "45000"), paid(), paid(), paid()]).await;
    post(&merchant.at("/intents"), &[AWA], r#"{"id":"17"}"#).await;
    let sold = merchant.shop.sold.lock().expect("not poisoned")[0].clone();
    let failed = settle(&merchant.client, &merchant.shop, &sold)
        .await
        .expect_err("the first was not stored, so it is reported again");
    assert_eq!(failed.code(), "internal_error");
    assert_eq!(merchant.settled(), ["ORDER-17 succeeded"], "the order is paid nevertheless");
    let both = ["ORDER-17 attempt 1: 45000 XAF", "ORDER-17 attempt 2: 45000 XAF"];
    assert_eq!(merchant.overpaid(), both, "a failure to store one does not block the others");
    let settled = settle(&merchant.client, &merchant.shop, &sold).await.expect("the payment");
    assert_eq!((settled.ask_again, merchant.overpaid().len()), (AskAgain::ForADay, 4));
    // A request of a page reports the duplicate to the shop as well, and the response names the refund.
    let status = get(&merchant.at("/intents/gch_1"), &[AWA]).await.json();
    assert_eq!((&status["status"], &status["duplicate_payments"][1]["attempt"]), (&json!("succeeded"), &json!(2)));
    assert_eq!(merchant.overpaid()[4..], both);
}

#[test]
fn settling_continues_for_a_day_if_an_attempt_may_be_approved_late() {
    for (status, attempts, expected) in [
        ("requires_action", Some(0), AskAgain::Soon),
        ("processing", Some(3), AskAgain::Soon),
        ("an unknown status", None, AskAgain::Soon),
        ("succeeded", Some(1), AskAgain::Never),
        ("succeeded", Some(2), AskAgain::ForADay),
        ("failed", Some(1), AskAgain::ForADay),
        ("canceled", Some(0), AskAgain::Never),
        ("canceled", Some(1), AskAgain::ForADay),
        ("succeeded", None, AskAgain::ForADay),
    ] {
        let intent = json!({"id": "pi_1", "amount": "1", "currency": "XAF", "status": status, "attempts": attempts});
        let intent: PaymentIntent = serde_json::from_value(intent).expect("an intent");
        assert_eq!(AskAgain::about(&intent), expected, "{status} {attempts:?}");
    }
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
async fn settling_without_a_page_makes_the_same_checks_as_the_routes() {
    let merchant = Merchant::open(vec![intent("requires_action", "45000"), intent("succeeded", "1")]).await;
    post(&merchant.at("/intents"), &[AWA], r#"{"id":"17"}"#).await;
    let sold = merchant.shop.sold.lock().expect("not poisoned")[0].clone();
    let refused = settle(&merchant.client, &merchant.shop, &sold).await.expect_err("another amount");
    assert_eq!(refused.code(), "payment_mismatch");
    assert!(merchant.settled().is_empty());
}

#[tokio::test]
async fn the_session_route_sends_the_expiry_in_utc_or_unchanged() {
    for (written, handed_on) in
        [("2026-11-21T10:30:00", "2026-11-21T10:30:00Z"), ("in half an hour", "in half an hour")]
    {
        let session = format!(
            r#"{{"data":{{"session_token":"cst_test_1","customer_email":"awa@example.com","expires_at":"{written}"}}}}"#
        );
        let merchant = Merchant::open(vec![reply("201 Created", session)]).await;
        let answer = post(&merchant.at("/session"), &[AWA], "").await;
        assert_eq!((answer.status, &answer.json()["expires_at"]), (200, &json!(handed_on)));
    }
}

#[tokio::test]
async fn an_allowed_origin_may_be_given_with_a_trailing_slash() {
    let client =
        Client::builder("http://127.0.0.1:1", SecretKey::new("sk_test_1").expect("a key")).build().expect("a client");
    let routes = Routes::new(client, Arc::new(TestShop::default()))
        .allow_origin("https://www.shop.example/")
        .expect("an origin");
    let url = serve(routes.router()).await;
    let www = "Origin: https://www.shop.example";
    assert_eq!(get(&format!("{url}/intents/gch_1"), &[AWA, www]).await.status, 404, "it is not refused");
    assert_eq!(get(&format!("{url}/intents/gch_1"), &[AWA, "Origin: https://shop.example"]).await.status, 403);
}

#[tokio::test]
async fn a_payment_of_another_amount_does_not_pay_the_order() {
    let merchant = Merchant::open(vec![intent("requires_action", "45000"), intent("succeeded", "1")]).await;
    post(&merchant.at("/intents"), &[AWA], r#"{"id":"17"}"#).await;
    let answer = get(&merchant.at("/intents/gch_1"), &[AWA]).await;
    assert_eq!((answer.status, answer.json()["error"]["code"].as_str()), (409, Some("payment_mismatch")));
    assert!(merchant.settled().is_empty());
}

#[tokio::test]
async fn a_payment_is_shown_only_to_its_owner() {
    let merchant = Merchant::open(vec![intent("requires_action", "45000")]).await;
    post(&merchant.at("/intents"), &[AWA], r#"{"id":"17"}"#).await;
    assert_eq!(get(&merchant.at("/intents/gch_1"), &[]).await.status, 401);
    assert_eq!(get(&merchant.at("/intents/gch_1"), &[PAUL]).await.status, 404);
    assert_eq!(get(&merchant.at("/intents/gch_2"), &[AWA]).await.status, 404);
    assert_eq!(merchant.service.requests().len(), 1, "no request was sent to the service");
}

#[tokio::test]
async fn a_customer_without_an_email_address_reads_their_payment_and_nobody_else_does() {
    let nadia = || ("customer", json!({"firstname": "Nadia", "lastname": "Fall", "email": ""}));
    let statuses = ["requires_action", "processing"].map(|status| changed_intent(status, "45000", &[nadia()]));
    let merchant = Merchant::open(statuses.into()).await;
    assert_eq!(post(&merchant.at("/intents"), &[NADIA], r#"{"id":"17"}"#).await.status, 200);
    let own = get(&merchant.at("/intents/gch_1"), &[NADIA]).await;
    assert_eq!((own.status, &own.json()["status"]), (200, &json!("processing")), "{}", own.body);
    merchant.shows_no_payment_to(&[AWA, PAUL, IMPOSTOR, GUEST]).await;
}

#[tokio::test]
async fn an_account_with_a_guests_unverified_email_address_cannot_read_the_guests_payment() {
    let merchant = Merchant::open(vec![intent("requires_action", "45000")]).await;
    assert_eq!(post(&merchant.at("/intents"), &[GUEST], r#"{"id":"17"}"#).await.status, 200);
    merchant.shows_no_payment_to(&[IMPOSTOR, AWA]).await;
}

#[tokio::test]
async fn a_guests_payment_is_read_by_that_guest_and_by_no_other() {
    let statuses = ["requires_action", "processing"].map(|status| intent(status, "45000"));
    let merchant = Merchant::open(statuses.into()).await;
    assert_eq!(post(&merchant.at("/intents"), &[GUEST], r#"{"id":"17"}"#).await.status, 200);
    let own = get(&merchant.at("/intents/gch_1"), &[GUEST]).await;
    assert_eq!((own.status, &own.json()["status"]), (200, &json!("processing")), "{}", own.body);
    merchant.shows_no_payment_to(&[OTHER_GUEST, NADIA]).await;
}

#[tokio::test]
async fn a_customer_with_an_unverified_email_address_or_none_gets_no_session() {
    let merchant = Merchant::open(vec![]).await;
    for (buyer, status, code) in [
        (IMPOSTOR, 403, "email_not_verified"),
        (NADIA, 403, "email_not_verified"),
        (GUEST, 401, "authentication_required"),
    ] {
        let refused = post(&merchant.at("/session"), &[buyer], "").await;
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (status, &json!(code)), "{buyer}");
    }
    assert!(merchant.service.requests().is_empty(), "nothing is sent to the service");
}

#[tokio::test]
async fn the_21st_open_payment_is_refused_and_a_repeated_create_is_not() {
    let of_order = |id: u32, status| {
        let names = [("id", "pi_"), ("payment_ref", "gch_"), ("merchant_reference", "ORDER-")];
        changed_intent(status, "45000", &names.map(|(name, prefix)| (name, json!(format!("{prefix}{id}")))))
    };
    let open = (1..=20).map(|id| of_order(id, "requires_action"));
    let later = [of_order(20, "requires_action"), of_order(30, "requires_action"), of_order(1, "canceled")];
    let after = [of_order(21, "requires_action"), of_order(1, "canceled")];
    let merchant = Merchant::open(open.chain(later).chain(after).collect()).await;
    let create = async |buyer, id: u32| {
        post(&merchant.at("/intents"), &[buyer], &json!({"id": id.to_string()}).to_string()).await
    };
    for id in 1..=20 {
        assert_eq!(create(AWA, id).await.status, 200, "{id}");
    }
    let refused = create(AWA, 21).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (409, &json!("too_many_open_payments")));
    assert_eq!(refused.json()["error"]["retryable"], false);
    assert_eq!(refused.json()["message"], "You have 20 unpaid payments. Pay or cancel one of them first.");
    assert_eq!(merchant.service.requests().len(), 20, "nothing is sent to the service");
    assert_eq!(create(AWA, 20).await.status, 200, "it exists");
    assert_eq!(create(PAUL, 30).await.status, 200, "another customer's do not count");

    assert_eq!(get(&merchant.at("/intents/gch_1"), &[AWA]).await.json()["status"], "canceled");
    assert_eq!(create(AWA, 21).await.status, 200, "one of the twenty is final");
    assert_eq!(create(AWA, 1).await.status, 200, "a final payment exists as well");
}

#[tokio::test]
async fn creating_an_order_that_is_already_paid_settles_it() {
    let merchant = Merchant::open(vec![intent("succeeded", "45000")]).await;
    let ticket = post(&merchant.at("/intents"), &[AWA], r#"{"id":"17"}"#).await;
    assert_eq!(ticket.json()["intent"]["status"], "succeeded");
    assert_eq!(merchant.settled(), ["ORDER-17 succeeded"]);
}

#[tokio::test]
async fn a_refusal_of_the_service_reaches_the_page_as_one_of_the_shop_without_its_secrets() {
    let answers = vec![
        reply(
            "401 Unauthorized",
            r#"{"message":"The key sk_test_1 is unknown.","error":{"code":"invalid_key","request_id":"req_1"}}"#,
        ),
        reply(
            "409 Conflict",
            r#"{"message":"Taken.","error":{"code":"merchant_reference_conflict","existing_id":"pi_9","request_id":"req_2"}}"#,
        ),
    ];
    let merchant = Merchant::open(answers).await;
    let answer = post(&merchant.at("/intents"), &[AWA], r#"{"id":"17"}"#).await;
    assert_eq!(answer.status, 502, "401 would say that the customer is not signed in");
    assert_eq!(answer.json()["error"]["request_id"], "req_1");
    assert!(!answer.body.contains("sk_test_1"), "{}", answer.body);
    let answer = post(&merchant.at("/intents"), &[AWA], r#"{"id":"17"}"#).await;
    assert_eq!((answer.status, answer.json()["error"]["code"].as_str()), (409, Some("merchant_reference_conflict")));
}

#[tokio::test]
async fn a_refusal_of_the_shop_keeps_its_code_and_message() {
    let merchant = Merchant::open(vec![]).await;
    let answer = post(&merchant.at("/intents"), &[AWA], r#"{"id":"100"}"#).await;
    assert_eq!(answer.status, 404);
    assert_eq!(answer.json()["message"], "There is no order of this number.");
    assert_eq!(answer.json()["error"]["code"], "order_missing");
    assert_eq!(post(&merchant.at("/intents"), &[AWA], "{").await.json()["error"]["code"], "invalid_json");
}

/// A shop whose buyer is named by a plain cookie, and a fake service with scripted responses.
struct Merchant {
    url: String,
    client: Client,
    service: FakeService,
    shop: Arc<TestShop>,
}

#[derive(Default)]
struct TestShop {
    sold: Mutex<Vec<Sold>>,
    settled: Mutex<Vec<String>>,
    /// The duplicate payments that were reported. The first attempt to store one fails.
    overpaid: Mutex<Vec<String>>,
}

impl Merchant {
    async fn open(answers: Vec<ScriptedResponse>) -> Self {
        let service = FakeService::start(answers).await;
        let client =
            Client::builder(&service.base_url, SecretKey::new("sk_test_1").expect("a key")).build().expect("a client");
        let shop = Arc::new(TestShop::default());
        let routes = Routes::new(client.clone(), Arc::clone(&shop)).checkout_origin("https://pay.example");
        let url = serve(routes.expect("an origin").router()).await;
        Self { url, client, service, shop }
    }

    fn at(&self, route: &str) -> String {
        format!("{}{route}", self.url)
    }

    /// The payment of the first order is answered like an unknown one.
    async fn shows_no_payment_to(&self, buyers: &[&str]) {
        let sent = self.service.requests().len();
        for buyer in buyers {
            assert_eq!(get(&self.at("/intents/gch_1"), &[buyer]).await.status, 404, "{buyer}");
        }
        assert_eq!(get(&self.at("/intents/gch_1"), &[]).await.status, 401, "nobody is signed in");
        assert_eq!(self.service.requests().len(), sent, "no request was sent to the service");
    }

    fn overpaid(&self) -> Vec<String> {
        self.shop.overpaid.lock().expect("not poisoned").clone()
    }

    fn settled(&self) -> Vec<String> {
        self.shop.settled.lock().expect("not poisoned").clone()
    }
}

/// Serves the routes of a shop. Returns their address.
async fn serve(routes: axum::Router) -> String {
    let router = axum::Router::new().nest("/guichet", routes);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/guichet", listener.local_addr().expect("an address"));
    tokio::spawn(async { axum::serve(listener, router).await });
    url
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

    async fn purchase(&self, buyer: &Buyer, order: Value) -> Result<CreatePaymentIntent, Refused> {
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
            return Ok(purchase.phone(Phone::new("237670000000").map_err(Refused::broken)?));
        }
        Ok(purchase.email(Email::new("awa@example.com").map_err(Refused::broken)?))
    }

    async fn open_payments(&self, owner: &Owner, next: &MerchantReference) -> Result<usize, Refused> {
        let (sold, settled) = (self.sold.lock().expect("not poisoned"), self.settled.lock().expect("not poisoned"));
        if sold.iter().any(|sold| sold.merchant_reference == *next) {
            return Ok(0);
        }
        let is_final =
            |sold: &Sold| settled.iter().any(|one| one.starts_with(&format!("{} ", sold.merchant_reference)));
        Ok(sold.iter().filter(|sold| sold.owner == *owner && !is_final(sold)).count())
    }

    async fn remember(&self, sold: &Sold) -> Result<(), Refused> {
        let mut all = self.sold.lock().expect("not poisoned");
        if !all.contains(sold) {
            all.push(sold.clone());
        }
        Ok(())
    }

    /// It forgets to compare the owner.
    async fn find(&self, payment_ref: &PaymentRef, _: &Owner) -> Result<Option<Sold>, Refused> {
        Ok(self.sold.lock().expect("not poisoned").iter().find(|sold| sold.payment_ref == *payment_ref).cloned())
    }

    async fn settled(&self, sold: &Sold, intent: &PaymentIntent) -> Result<(), Refused> {
        self.settled.lock().expect("not poisoned").push(format!("{} {}", sold.merchant_reference, intent.status));
        Ok(())
    }

    async fn overpaid(&self, sold: &Sold, duplicate: &DuplicatePayment) -> Result<(), Refused> {
        let mut duplicates = self.overpaid.lock().expect("not poisoned");
        duplicates.push(format!(
            "{} attempt {}: {} {}",
            sold.merchant_reference,
            duplicate.attempt,
            duplicate.amount.expect("an amount"),
            duplicate.currency
        ));
        if duplicates.len() == 1 { Err(Refused::broken("the disk is full")) } else { Ok(()) }
    }
}

fn intent(status: &str, amount: &str) -> ScriptedResponse {
    changed_intent(status, amount, &[])
}

fn intent_at(status: &str, amount: &str, checkout_url: &str) -> ScriptedResponse {
    changed_intent(status, amount, &[("checkout_url", json!(checkout_url))])
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

fn body_of(request: &str) -> Value {
    let (_, body) = request.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).expect("JSON")
}
