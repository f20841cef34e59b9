//! The server of `examples/shop` under Node.js, over a socket: settling, refusals and logs.

use super::NodeShop;
use crate::support::api;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use guichet::sandbox::Sandbox;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn an_order_whose_customer_pays_and_closes_the_tab_is_paid() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let shop = NodeShop::open(sandbox.base_url(), sandbox.secret_key().expose());
    let intent = shop.begin().await;
    pay(&sandbox, &intent, "237670000000").await;
    // From here on no page sends a request.
    shop.prints("ORDER-17 is paid.");
    sandbox.stop().await;
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn pages_of_other_sites_and_bodies_that_are_not_json_are_refused() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let shop = NodeShop::open(sandbox.base_url(), sandbox.secret_key().expose());
    let order = r#"{"id": "17"}"#;
    let large = format!(r#"{{"id": "{}"}}"#, "1".repeat(100_000));
    let own = shop.url.as_str();
    let other_port = own.rsplit_once(':').map(|(host, _)| format!("{host}:1")).expect("an address");
    let upper = "APPLICATION/JSON; charset=utf-8";
    for (headers, body, status) in [
        (&[("origin", "https://evil.example")][..], order, 403),
        (&[("origin", "null")], order, 403),
        (&[("origin", &other_port), ("sec-fetch-site", "same-site")], order, 403),
        (&[("origin", own), ("sec-fetch-site", "cross-site")], order, 403),
        (&[("sec-fetch-site", "cross-site")], order, 403),
        (&[("sec-fetch-site", "same-site")], order, 403),
        (&[("origin", own), ("content-type", "text/plain")], order, 415),
        (&[("origin", own), ("content-type", "application/x-www-form-urlencoded")], "id=17", 415),
        (&[("origin", own)], &large, 413),
    ] {
        let reply = shop.call("POST", "/guichet/intents", Some(body), headers).await;
        assert_eq!(reply.status, status, "{headers:?}: {}", reply.text);
    }
    for headers in [&[("sec-fetch-site", "cross-site")][..], &[("origin", "https://evil.example")]] {
        assert_eq!(shop.call("GET", "/guichet/intents/gch_1", None, headers).await.status, 403, "{headers:?}");
        assert_eq!(shop.call("POST", "/guichet/session", None, headers).await.status, 403, "{headers:?}");
    }
    let requests = api::control(&sandbox, "GET", "/requests", Value::Null).await;
    assert_eq!(requests.body["requests"], json!([]), "no request has reached the service");

    for headers in [&[][..], &[("origin", own)], &[("sec-fetch-site", "same-origin"), ("content-type", upper)]] {
        assert_eq!(shop.call("POST", "/guichet/intents", Some(order), headers).await.status, 200, "{headers:?}");
    }
    sandbox.stop().await;
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn another_customers_order_and_payment_get_the_404_of_unknown_ones() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let by_cookie = r#"const customer = ({ headers }) => headers.cookie && ({ email: headers.cookie, firstname: "A", lastname: "B" });"#;
    let shop = NodeShop::open_with(sandbox.base_url(), sandbox.secret_key().expose(), |text| {
        let line =
            text.lines().find(|line| line.starts_with("const customer = ")).expect("the example names its customer");
        text.replace(line, by_cookie)
    });
    let (awa, bello) = (("cookie", "awa@example.com"), ("cookie", "bello@example.com"));
    let begun = shop.call("POST", "/guichet/intents", Some(r#"{"id": "17"}"#), &[awa]).await;
    let payment_ref = begun.body["intent"]["payment_ref"].as_str().expect("a reference");
    let own = format!("/guichet/intents/{payment_ref}");
    assert_eq!(shop.call("GET", &own, None, &[awa]).await.status, 200);

    let theirs = shop.call("GET", &own, None, &[bello]).await;
    let unknown = shop.call("GET", "/guichet/intents/gch_unknown", None, &[bello]).await;
    assert_eq!((theirs.status, &theirs.text), (404, &unknown.text));
    let theirs = shop.call("POST", "/guichet/intents", Some(r#"{"id": "17"}"#), &[bello]).await;
    let unknown = shop.call("POST", "/guichet/intents", Some(r#"{"id": "18"}"#), &[bello]).await;
    assert_eq!((theirs.status, &theirs.text), (404, &unknown.text));
    assert_eq!(shop.call("GET", &own, None, &[]).await.status, 401, "no customer is signed in");
    sandbox.stop().await;
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn control_characters_of_a_reply_are_escaped_on_its_console() {
    let forged = "No.\n\u{1b}[2KORDER-17 is paid.\u{202e}\u{2028}\u{9b}";
    let refuse = move || async move {
        let reply = json!({"message": forged, "error": {"code": forged, "request_id": forged}});
        (StatusCode::UNPROCESSABLE_ENTITY, Json(reply))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let service = format!("http://{}", listener.local_addr().expect("it listens"));
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(refuse)).await });
    let mut shop = NodeShop::open(&service, "sk_test_1");

    assert_eq!(shop.call("POST", "/guichet/session", Some("{}"), &[]).await.status, 422);
    let console = shop.console();
    assert_eq!(console.lines().count(), 1, "{console:?}");
    let raw =
        |character: &char| (character.is_control() && *character != '\n') || "\u{202e}\u{2028}".contains(*character);
    assert_eq!(console.chars().filter(raw).count(), 0, "{console:?}");
    assert!(console.contains(r"No.\u{a}\u{1b}[2KORDER-17 is paid.\u{202e}\u{2028}\u{9b}"), "{console:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn a_paid_order_is_settled_after_unexpected_replies_of_the_service() {
    let begun = json!({"data": {"id": "pi_1", "payment_ref": "gch_1", "checkout_url": "https://pay.example/", "status": "requires_action"}});
    let paid = json!({"data": {
        "id": "pi_1", "status": "succeeded", "merchant_reference": "ORDER-17", "amount": "45000", "currency": "XAF",
        "customer": {"email": "awa@example.com"}, "attempts": 1, "duplicate_payments": [],
    }});
    let reads = Arc::new(AtomicUsize::new(0));
    let odd = [json!({"data": {}}), json!({"data": null}), Value::Null];
    let read = move || async move { Json(odd.get(reads.fetch_add(1, Ordering::SeqCst)).cloned().unwrap_or(paid)) };
    let router = Router::new()
        .route("/v1/payment-intents", post(move || async move { Json(begun) }))
        .route("/v1/payment-intents/pi_1", get(read));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let service = format!("http://{}", listener.local_addr().expect("it listens"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let mut shop = NodeShop::open_with(&service, "sk_test_1", |text| {
        text.replace("readFinalEvery = 60_000", "readFinalEvery = 100")
            .replace("readOpenEvery = 3_000", "readOpenEvery = 100")
    });
    shop.begin().await;
    shop.prints("ORDER-17 is paid.");
    let console = shop.console();
    assert_eq!(console.matches("is not the one that was sold").count(), 1, "{console}");
    assert_eq!(console.lines().count(), 1, "{console}");
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn an_approval_after_the_order_was_paid_is_recorded_as_a_refund_due() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let merchant = sandbox.merchant().await.expect("the sandbox adds a merchant");
    let mut shop = NodeShop::open_with(merchant.base_url(), merchant.secret_key().expose(), |text| {
        assert!(text.contains("readFinalEvery = 60_000"), "the example says how often it reads a final payment");
        text.replace("readFinalEvery = 60_000", "readFinalEvery = 500")
    });
    let intent = shop.begin().await;
    pay(&sandbox, &intent, "237670000011").await;
    merchant.clock().advance(300).await.expect("the clock moves");
    pay(&sandbox, &intent, "237670000000").await;
    shop.prints("ORDER-17 is paid.");
    merchant.clock().advance(300).await.expect("the clock moves");
    let line = shop.logs();
    assert!(line.starts_with("ORDER-17: a refund of "), "{line}");
    assert!(line.contains(" XAF is due (") && line.contains("attempt 1"), "{line}");
    // Further reads do not record it again.
    let path = format!("/guichet/intents/{}", intent["payment_ref"].as_str().expect("a reference"));
    assert_eq!(shop.call("GET", &path, None, &[]).await.body["status"], "succeeded");
    assert_eq!(shop.console(), "");
    sandbox.stop().await;
}

/// Pays with the client secret of the checkout address, as the customer does.
async fn pay(sandbox: &Sandbox, intent: &Value, phone: &str) -> api::Reply {
    let address = intent["checkout_url"].as_str().expect("an address");
    let (_, secret) = address.split_once("client_secret=").expect("a client secret");
    let path =
        format!("{}/v1/payment-intents/{}/payment-method", sandbox.base_url(), intent["id"].as_str().expect("an id"));
    let reply = api::send(&api::client(), "POST", &path, Some(secret), Some(api::phone(phone).to_string()), &[]).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply
}
