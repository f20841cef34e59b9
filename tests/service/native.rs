//! The native client over a real socket.

pub(super) mod builder;
mod errors;
mod guard;
mod lists;
mod operations;
mod sandbox;
mod session_stores;
mod sessions;

use crate::support::fake_service::{FakeService, ScriptedResponse, reply};
use guichet::operations::{CreateEsimOrder, CreatePaymentIntent, CustomerName, Instrument};
use guichet::protocol::{Error, Kind};
use guichet::values::{Amount, Email, EsimPackageId, IdempotencyKey, IntentId, MerchantReference, Phone, SessionToken};
use guichet::{Client, SecretKey};
use std::time::Duration;

const KEY: &str = "sk_test_0123456789abcdefghijklmn";
const INTENT: &str = r#"{"status_code":200,"response_type":"success","data":{"id":"pi_1","object":"payment_intent","amount":"45000",
    "currency":"XAF","status":"requires_action","client_secret":"pi_1_secret_2","payment_ref":"gch_1","merchant_reference":"ORDER-17",
    "checkout_url":"https://pay.example/checkout/pi_1#client_secret=pi_1_secret_2","customer":{"firstname":"Awa","lastname":"Ngono",
    "email":"awa@example.com"},"metadata":{},"a_field_of_tomorrow":true}}"#;
const CONFLICT: &str = r#"{"status_code":409,"message":"Taken.","data":null,"error":{"code":"merchant_reference_conflict","existing_id":"pi_1"}}"#;

fn key() -> SecretKey {
    SecretKey::new(KEY).expect("a key")
}

fn client(base_url: &str) -> Client {
    Client::builder(base_url, key()).deadline(Duration::from_secs(10)).build().expect("a client")
}

fn order() -> CreatePaymentIntent {
    let reference = MerchantReference::new("ORDER-17").expect("a reference");
    CreatePaymentIntent::new(
        reference,
        Amount::units(45_000),
        "Shoes",
        CustomerName { firstname: "Awa", lastname: "Ngono" },
    )
    .email(email())
}

fn email() -> Email {
    Email::new("awa@example.com").expect("an e-mail")
}

#[tokio::test]
async fn creating_an_intent_ignores_unknown_fields_of_the_reply() {
    let service = FakeService::start(vec![reply("201 Created", INTENT)]).await;
    let intent = client(&service.base_url).create_payment_intent(&order()).await.expect("an intent");
    assert_eq!(intent.id.as_str(), "pi_1");
    let request = &service.requests()[0];
    assert!(request.starts_with("POST /v1/payment-intents HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("authorization: Bearer {KEY}\r\n")));
    assert!(request.contains(r#""amount":"45000""#));
}

#[tokio::test]
async fn creation_goes_to_the_gateway_and_nothing_else_does() {
    let base = FakeService::start(vec![reply("200 OK", INTENT)]).await;
    let gateway = FakeService::start(vec![reply("201 Created", INTENT)]).await;
    let client = Client::builder(&base.base_url, key())
        .gateway_url(&format!("{}/v1/", gateway.base_url))
        .build()
        .expect("a client");
    let intent = client.create_payment_intent(&order()).await.expect("an intent");
    client.read_payment_intent(&intent.id).await.expect("the intent");
    assert!(gateway.requests()[0].starts_with("POST /v1/payment-intents HTTP"));
    assert!(base.requests()[0].starts_with("GET /v1/payment-intents/pi_1 HTTP"));
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_a_key() {
    let elsewhere = FakeService::start(vec![reply("200 OK", INTENT)]).await;
    let location: &'static str = format!("Location: {}/v1/payment-intents/pi_1", elsewhere.base_url).leak();
    let headers: &'static [&'static str] = vec![location].leak();
    let service =
        FakeService::start(vec![ScriptedResponse::Reply("307 Temporary Redirect", headers, String::new())]).await;
    let error = read(&service).await.expect_err("a redirect is an error");
    assert_eq!((error.kind(), error.status()), (Kind::Address, Some(307)));
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn a_reply_that_cannot_be_read_is_kept() {
    let service = FakeService::start(vec![ScriptedResponse::Reply(
        "200 OK",
        &["Request-Id: req_1"],
        "<html>Maintenance</html>".into(),
    )])
    .await;
    let error = read(&service).await.expect_err("no JSON");
    assert_eq!(error.kind(), Kind::Unreadable);
    assert_eq!(error.reply(), Some(b"<html>Maintenance</html>".as_slice()));
    assert_eq!((error.status(), error.request_id()), (Some(200), Some("req_1")));
    assert!(
        !format!("{error} {error:?}").contains("Maintenance"),
        "the error prints the reply, which may contain secrets"
    );
}

#[tokio::test]
async fn a_reply_without_end_is_not_read_to_its_end() {
    let service = FakeService::start(vec![reply("200 OK", "a".repeat(9 * 1024 * 1024))]).await;
    let error = read(&service).await.expect_err("too large");
    assert_eq!(error.kind(), Kind::Unreadable);
    assert!(error.reply().is_some_and(|reply| reply.len() <= 8 * 1024 * 1024));
}

#[tokio::test]
async fn a_refusal_carries_code_status_request_id_and_fields() {
    let body = r#"{"status_code":422,"response_type":"error","message":"An amount is required.","data":null,"error":{"code":"parameter_missing",
        "param":"amount","errors":[{"param":"amount","code":"parameter_missing","message":"amount is required."}],"request_id":"req_7","retryable":false}}"#;
    let service = FakeService::start(vec![reply("422 Unprocessable Content", body)]).await;
    let error = client(&service.base_url).create_payment_intent(&order()).await.expect_err("refused");
    assert_eq!((error.kind(), error.status(), error.code()), (Kind::Refused, Some(422), Some("parameter_missing")));
    assert_eq!((error.request_id(), error.operation()), (Some("req_7"), Some("create_payment_intent")));
    assert_eq!(error.fields()[0].param, "amount");
    assert!(!error.is_retryable());
}

#[tokio::test]
async fn a_create_with_a_lost_response_is_retried_and_makes_one_payment() {
    let service = FakeService::start(vec![ScriptedResponse::CloseConnection, reply("200 OK", INTENT)]).await;
    let intent = client(&service.base_url).create_payment_intent(&order()).await.expect("the intent");
    assert_eq!(intent.id.as_str(), "pi_1");
    let bodies: Vec<String> = service
        .requests()
        .iter()
        .map(|request| request.split("\r\n\r\n").nth(1).unwrap_or_default().to_owned())
        .collect();
    assert_eq!(bodies.len(), 2);
    assert_eq!(bodies[0], bodies[1]);
}

#[tokio::test]
async fn an_esim_order_with_a_lost_response_is_retried_only_under_the_callers_key() {
    let service = FakeService::start(vec![ScriptedResponse::CloseConnection, reply("201 Created", ESIM_ORDER)]).await;
    let order = client(&service.base_url).send(&esim_order().idempotency_key(order_key())).await.expect("the order");
    assert_eq!(order.order_id.as_str(), "eso_1");
    assert_eq!(keys(&service), ["order-17", "order-17"]);

    // A service may ignore idempotency keys, so the client retries only under a key of the caller.
    let service = FakeService::start(vec![ScriptedResponse::CloseConnection, reply("201 Created", ESIM_ORDER)]).await;
    let error = client(&service.base_url).send(&esim_order()).await.expect_err("lost");
    assert_eq!((error.kind(), error.is_retryable()), (Kind::Uncertain, false));
    assert_eq!(keys(&service), [""]);
}

#[tokio::test]
async fn an_uncertain_esim_order_can_be_retried_under_its_key() {
    let lost = vec![
        ScriptedResponse::CloseConnection,
        ScriptedResponse::CloseConnection,
        ScriptedResponse::CloseConnection,
        ScriptedResponse::CloseConnection,
    ];
    let service = FakeService::start(lost).await;
    let error = client(&service.base_url).send(&esim_order().idempotency_key(order_key())).await.expect_err("lost");
    assert_eq!(error.kind(), Kind::Offline, "a caller with the key can retry");
}

#[tokio::test]
async fn an_unreadable_success_of_an_unrepeatable_call_is_uncertain_and_keeps_the_reply() {
    let service = FakeService::start(vec![reply("201 Created", "<html>Made</html>")]).await;
    let error = client(&service.base_url).send(&esim_order()).await.expect_err("no JSON");
    assert_eq!((error.kind(), error.is_retryable(), error.status()), (Kind::Uncertain, false, Some(201)));
    assert_eq!(error.reply(), Some(b"<html>Made</html>".as_slice()));

    let service = FakeService::start(vec![reply("201 Created", "a".repeat(9 * 1024 * 1024))]).await;
    let error = client(&service.base_url).send(&esim_order()).await.expect_err("too large");
    assert_eq!(error.kind(), Kind::Uncertain);

    let service = FakeService::start(vec![reply("201 Created", "<html>Made</html>")]).await;
    let error = client(&service.base_url).send(&esim_order().idempotency_key(order_key())).await.expect_err("no JSON");
    assert_eq!(error.kind(), Kind::Unreadable, "a caller with the key can retry");
    assert_eq!(error.reply(), Some(b"<html>Made</html>".as_slice()));
}

fn order_key() -> IdempotencyKey {
    IdempotencyKey::new("order-17").expect("a key")
}

const ESIM_ORDER: &str = r#"{"data":{"order_id":"eso_1","amount":2500,"currency":"XAF"}}"#;

fn esim_order() -> CreateEsimOrder {
    CreateEsimOrder::new(EsimPackageId::new("esp_1").expect("an id"))
}

/// The idempotency key of every request so far.
fn keys(service: &FakeService) -> Vec<String> {
    let sent = |request: &String| {
        let line = request.lines().find(|line| line.to_ascii_lowercase().starts_with("idempotency-key: "));
        line.map_or(String::new(), |line| line["idempotency-key: ".len()..].to_owned())
    };
    service.requests().iter().map(sent).collect()
}

#[tokio::test]
async fn a_conflict_after_a_lost_response_is_uncertain_and_names_the_existing_id() {
    let service = FakeService::start(vec![ScriptedResponse::CloseConnection, reply("409 Conflict", CONFLICT)]).await;
    let error = client(&service.base_url).create_payment_intent(&order()).await.expect_err("a conflict");
    assert_eq!((error.kind(), error.existing_id()), (Kind::Uncertain, Some("pi_1")));

    let service = FakeService::start(vec![reply("409 Conflict", CONFLICT)]).await;
    let error = client(&service.base_url).create_payment_intent(&order()).await.expect_err("a conflict");
    assert_eq!((error.kind(), error.code()), (Kind::Refused, Some("merchant_reference_conflict")));
}

#[tokio::test]
async fn any_conflict_after_an_uncertain_attempt_is_uncertain() {
    let plain_conflict = r#"{"message":"Taken."}"#;
    let in_doubt = [
        || ScriptedResponse::CloseConnection,
        || reply("500 Internal Server Error", "{}"),
        || reply("503 Service Unavailable", "<html>gateway</html>"),
        || reply("504 Gateway Timeout", ""),
    ];
    for first in in_doubt {
        let service = FakeService::start(vec![first(), reply("409 Conflict", plain_conflict)]).await;
        let error = client(&service.base_url).create_payment_intent(&order()).await.expect_err("a conflict");
        assert_eq!((error.kind(), error.status(), error.is_retryable()), (Kind::Uncertain, Some(409), false));
    }
    let not_done = r#"{"message":"Busy.","error":{"code":"unavailable","retryable":true}}"#;
    let answers = vec![reply("503 Service Unavailable", not_done), reply("409 Conflict", plain_conflict)];
    let service = FakeService::start(answers).await;
    let error = client(&service.base_url).create_payment_intent(&order()).await.expect_err("a conflict");
    assert_eq!(error.kind(), Kind::Refused, "the service reported that the first attempt was not executed");
}

#[tokio::test]
async fn an_unrepeatable_call_is_sent_once_and_is_not_retryable() {
    let service = FakeService::start(vec![
        ScriptedResponse::CloseConnection,
        reply("500 Internal Server Error", r#"{"message":"Oh."}"#),
        reply("503 Service Unavailable", "<html>gateway</html>"),
    ])
    .await;
    let client = client(&service.base_url);
    let id = intent_id("pi_1");
    for (error, status) in [
        (client.attach_payment_method(&id, phone()).await.expect_err("lost"), None),
        (client.confirm_payment_intent(&id).await.expect_err("lost"), Some(500)),
        (client.answer_payment_intent(&id, "123456").await.expect_err("lost"), Some(503)),
    ] {
        assert_eq!((error.kind(), error.status(), error.is_retryable()), (Kind::Uncertain, status, false), "{error}");
    }
    assert_eq!(service.requests().len(), 3);
}

#[tokio::test]
async fn a_call_that_was_not_executed_is_retryable() {
    let error = client("http://127.0.0.1:1")
        .attach_payment_method(&intent_id("pi_1"), phone())
        .await
        .expect_err("no service listens there");
    assert_eq!((error.kind(), error.is_retryable()), (Kind::Offline, true), "there was no connection");

    let busy = r#"{"message":"Busy.","error":{"code":"unavailable","retryable":true}}"#;
    let service = FakeService::start(vec![reply("503 Service Unavailable", busy), reply("200 OK", INTENT)]).await;
    client(&service.base_url).attach_payment_method(&intent_id("pi_1"), phone()).await.expect("the intent");
    assert_eq!(service.requests().len(), 2);

    let service = FakeService::start((0..4).map(|_| ScriptedResponse::CloseConnection).collect()).await;
    let error = read(&service).await.expect_err("lost");
    assert_eq!((error.kind(), error.is_retryable()), (Kind::Offline, true), "a read is retryable");
}

#[tokio::test]
async fn a_credential_that_the_service_echoes_is_not_repeated() {
    let body = format!(
        r#"{{"message":"The key {KEY} is unknown.","error":{{"code":"no:{KEY}","request_id":"req_{KEY}","existing_id":"{KEY}",
        "errors":[{{"param":"{KEY}","code":"{KEY}","message":"{KEY}?"}}]}}}}"#
    );
    let header: &'static [&'static str] = vec![&*format!("Request-Id: {KEY}").leak()].leak();
    let service = FakeService::start(vec![
        reply("401 Unauthorized", body),
        ScriptedResponse::Reply("200 OK", header, "<html>".into()),
    ])
    .await;
    let error = read(&service).await.expect_err("refused");
    let shown = format!("{error} {error:?} {:?} {:?} {:?}", error.code(), error.existing_id(), error.fields());
    assert!(!shown.contains(KEY) && shown.contains("The key *** is unknown."), "{shown}");
    let error = read(&service).await.expect_err("unreadable");
    assert!(!format!("{error} {error:?}").contains(KEY), "{error:?}");
}

#[tokio::test]
async fn one_unreadable_field_does_not_make_a_reply_unreadable() {
    let odd = r#"{"data":{"id":"pi_1","amount":"45000","currency":"XAF","status":"requires_action","metadata":[],"customer":{"firstname":null,
        "email":"awa@example.com"},"attempts":"two","expires_at":17,"last_payment_error":[],"next_action":"","payment_ref":null,"checkout_url":
        "https://pay.example/checkout/pi_1"}}"#;
    let nothing = r#"{"data":{"id":"pi_1","amount":"45000","currency":"XAF","status":"succeeded","metadata":null,"customer":null}}"#;
    let service = FakeService::start(vec![reply("200 OK", odd), reply("200 OK", nothing)]).await;
    let intent = read(&service).await.expect("the intent");
    assert_eq!((intent.customer.email.as_str(), intent.attempts), ("awa@example.com", None));
    assert_eq!(intent.checkout_url.expect("an address").expose(), "https://pay.example/checkout/pi_1");
    assert!(intent.metadata.is_empty() && intent.next_action.is_none());
    assert_eq!(read(&service).await.expect("the intent").customer.email, "");
}

#[tokio::test]
async fn a_refusal_with_an_unreadable_field_keeps_its_code() {
    let odd = r#"{"message":["No."],"error":{"code":"invalid_key","errors":{},"retryable":"no","request_id":null}}"#;
    let service = FakeService::start(vec![reply("401 Unauthorized", odd)]).await;
    assert_eq!(read(&service).await.expect_err("refused").code(), Some("invalid_key"));
}

#[tokio::test]
async fn a_session_is_usable_though_its_expiry_cannot_be_read() {
    for (expiry, ends) in [
        (r#""2026-11-21T10:30:00Z""#, Some("2026-11-21T10:30:00Z")),
        (r#""2026-11-21T10:30:00""#, Some("2026-11-21T10:30:00Z")),
        (r#""2026-11-21 11:30:00+01:00""#, Some("2026-11-21T10:30:00Z")),
        (r#""in half an hour""#, None),
        ("1795257000", None),
        ("null", None),
    ] {
        let body =
            format!(r#"{{"data":{{"session_token":"cst_test_1","customer_email":null,"expires_at":{expiry}}}}}"#);
        let service = FakeService::start(vec![reply("201 Created", body)]).await;
        let session = client(&service.base_url).create_session(&email()).await.expect("a session");
        assert_eq!(session.session_token.expose(), "cst_test_1");
        assert_eq!(session.ends().map(|end| end.to_string()).as_deref(), ends, "{expiry}");
    }
}

#[tokio::test]
async fn the_address_of_a_next_action_is_not_printed() {
    let body = INTENT.replace(
        r#""metadata":{}"#,
        r#""next_action":{"type":"redirect","url":"https://issuer.example/3ds#token=t0ken"},"metadata":{}"#,
    );
    let service = FakeService::start(vec![reply("200 OK", body)]).await;
    let intent = read(&service).await.expect("the intent");
    let shown = format!("{intent:?}");
    assert!(!shown.contains("t0ken") && !shown.contains("issuer.example") && !shown.contains("secret_2"), "{shown}");
    let action = intent.next_action.expect("an action");
    assert_eq!(action.kind, "redirect");
    assert_eq!(action.url.expect("an address").expose(), "https://issuer.example/3ds#token=t0ken");
}

#[tokio::test]
async fn a_call_to_a_silent_service_ends_at_the_deadline() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let base_url = format!("http://{}", listener.local_addr().expect("an address"));
    let client = Client::builder(&base_url, key()).deadline(Duration::from_millis(50)).build().expect("a client");
    let error = client.read_payment_intent(&intent_id("pi_1")).await.expect_err("silence");
    assert_eq!((error.kind(), error.is_retryable()), (Kind::Timeout, true), "a read is retryable");
    let error = client.attach_payment_method(&intent_id("pi_1"), phone()).await.expect_err("silence");
    assert_eq!((error.kind(), error.is_retryable()), (Kind::Uncertain, false), "the charge may have been executed");
}

#[tokio::test]
async fn an_ended_session_is_a_result_and_any_other_401_is_an_error() {
    let ended = r#"{"success":false,"status_code":401,"message":"Ended.","data":{"valid":false,"reason":"revoked"},"error":{"code":"session_revoked"}}"#;
    let service = FakeService::start(vec![
        reply("401 Unauthorized", ended),
        reply("401 Unauthorized", r#"{"message":"No.","data":null}"#),
    ])
    .await;
    let customer = client(&service.base_url).customer(&SessionToken::new("cst_test_1"));
    let state = customer.validate().await.expect("an answer");
    assert_eq!((state.valid, state.reason.as_deref()), (false, Some("revoked")));
    assert_eq!(customer.validate().await.expect_err("no answer").kind(), Kind::Session);
    assert!(
        service.requests()[0].contains("authorization: Bearer cst_test_1\r\n"),
        "the session token is sent, not the key"
    );
}

#[tokio::test]
async fn a_secret_key_is_never_printed() {
    let unreachable = client("http://127.0.0.1:1");
    let error = unreachable.read_payment_intent(&intent_id("pi_1")).await.expect_err("no service listens there");
    assert_eq!(error.kind(), Kind::Offline);
    let builder = Client::builder("https://api.example.com", key());
    let shown = format!("{:?} {builder:?} {unreachable:?} {error} {error:?} {:?}", key(), unreachable.return_key());
    assert!(!shown.contains("01234"), "{shown}");
}

#[tokio::test]
async fn an_identifier_cannot_change_the_path() {
    let service = FakeService::start(vec![reply("200 OK", INTENT)]).await;
    let client = client(&service.base_url);
    let error = client.read_payment_intent(&intent_id("..")).await.expect_err("a step up");
    assert_eq!(error.kind(), Kind::Input);
    assert!(service.requests().is_empty());
    client.read_payment_intent(&intent_id("../sessions/create?x#y")).await.expect("an answer");
    assert!(service.requests()[0].starts_with("GET /v1/payment-intents/..%2Fsessions%2Fcreate%3Fx%23y HTTP"));
}

async fn read(service: &FakeService) -> Result<guichet::operations::PaymentIntent, Error> {
    client(&service.base_url).read_payment_intent(&intent_id("pi_1")).await
}

fn phone() -> Instrument {
    Instrument::mobile_money(Phone::new("237670000000").expect("a phone"))
}

fn intent_id(text: &str) -> IntentId {
    IntentId::new(text).expect("an identifier")
}
