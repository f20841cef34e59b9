//! Faults that the control API injects, and its lists of requests and events.

use crate::support::api::{Merchant, card, control, order, phone};
use crate::support::service::{Sandbox, Service, on_each_service};
use guichet::operations::{AttachPaymentMethod, CreatePaymentIntent, ListPaymentMethods, ReadPaymentIntent};
use guichet_sandbox::{Config, Fault};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

on_each_service!(
    a_dropped_call_is_not_executed_and_gets_no_response,
    an_unauthenticated_call_uses_up_no_fault,
    a_call_with_a_lost_response_is_executed_and_stored,
    a_call_with_a_truncated_response_is_executed,
    a_call_with_a_malformed_response_is_executed_and_gets_html,
    a_call_with_an_injected_status_is_not_executed,
    a_delayed_call_is_executed_after_its_delay,
    faults_apply_in_order_to_their_operation_as_often_as_their_count,
    a_fault_applies_to_its_merchant_and_that_merchants_customers,
    creates_during_a_reset_succeed_without_internal_errors,
    the_control_api_adds_lists_and_removes_faults,
    a_merchant_has_at_most_a_thousand_waiting_faults,
    the_request_list_shows_requests_without_secrets,
    the_event_list_shows_events_in_order,
    a_reset_deletes_everything_of_a_merchant_but_its_key,
);

const CREATE: &str = "/v1/payment-intents";

async fn a_dropped_call_is_not_executed_and_gets_no_response() {
    let (_sandbox, shop) = shop().await;
    shop.tenant.fault(Fault::drop::<CreatePaymentIntent>()).await;
    assert_eq!(raw(&shop, CREATE, &order("ORDER-17")).await, "", "not a byte");
    assert_eq!(shop.call("POST", CREATE, order("ORDER-17")).await.status, 201, "it was not executed");
}

async fn an_unauthenticated_call_uses_up_no_fault() {
    let (sandbox, shop) = shop().await;
    // Requests without a known credential are in the first merchant's list.
    let fault = json!({ "operation": "create_payment_intent", "kind": "status", "status": 503, "count": 1 });
    assert_eq!(control(&sandbox, "POST", "/faults", fault).await.status, 200);
    for unknown in [None, Some("sk_test_unknown000000000000000000000")] {
        assert_eq!(shop.call_as("POST", CREATE, unknown, order("ORDER-17")).await.status, 401);
    }
    let left = control(&sandbox, "GET", "/faults", Value::Null).await;
    assert_eq!(left.body["faults"][0]["count"], 1);
}

async fn a_call_with_a_lost_response_is_executed_and_stored() {
    let (_sandbox, shop) = shop().await;
    shop.tenant.fault(Fault::lost_response::<CreatePaymentIntent>()).await;
    assert_eq!(raw(&shop, CREATE, &order("ORDER-17")).await, "", "not a byte");
    let retried = shop.call("POST", CREATE, order("ORDER-17")).await;
    assert_eq!((retried.status, retried.header("idempotent-replayed")), (200, Some("true")), "it was done");

    shop.tenant.fault(Fault::lost_response::<AttachPaymentMethod>()).await;
    let path = format!("{CREATE}/{}/payment-method", retried.body["data"]["id"].as_str().unwrap());
    assert!(shop.try_call("POST", &path, phone("237670000000")).await.is_err());
    let read = shop.read_intent(&retried.body["data"]).await;
    assert_eq!((&read["status"], &read["attempts"]), (&json!("succeeded"), &json!(1)));
}

async fn a_call_with_a_truncated_response_is_executed() {
    let (_sandbox, shop) = shop().await;
    shop.tenant.fault(Fault::truncate::<CreatePaymentIntent>()).await;
    let response = raw(&shop, CREATE, &order("ORDER-17")).await;
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 201"), "{head}");
    let promised: usize = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
    assert!(body.starts_with("{\"status_code\":201") && body.len() == promised / 2, "{} of {promised}", body.len());
    shop.tenant.fault(Fault::truncate::<CreatePaymentIntent>()).await;
    assert!(
        shop.try_call("POST", CREATE, order("ORDER-17")).await.is_err(),
        "the client sees that the body is incomplete"
    );
    assert_eq!(shop.call("POST", CREATE, order("ORDER-17")).await.status, 200);
}

async fn a_call_with_a_malformed_response_is_executed_and_gets_html() {
    let (_sandbox, shop) = shop().await;
    shop.tenant.fault(Fault::malformed::<CreatePaymentIntent>()).await;
    let response = shop.call("POST", CREATE, order("ORDER-17")).await;
    assert_eq!((response.status, response.header("content-type")), (201, Some("text/html")));
    assert!(response.text.starts_with("<!doctype html>"));
    assert_eq!(shop.call("POST", CREATE, order("ORDER-17")).await.status, 200);
}

async fn a_call_with_an_injected_status_is_not_executed() {
    let (_sandbox, shop) = shop().await;
    let table = [
        (400, "invalid_json"),
        (401, "session_expired"),
        (403, "role_required"),
        (404, "resource_missing"),
        (405, "method_not_allowed"),
        (408, "body_too_slow"),
        (409, "intent_not_confirmable"),
        (422, "parameter_invalid"),
        (429, "rate_limited"),
        (500, "internal_error"),
        (503, "unavailable"),
    ];
    for (status, code) in table {
        shop.tenant.fault(Fault::status::<CreatePaymentIntent>(status).retry_after(7)).await;
        let refused = shop.call("POST", CREATE, order("ORDER-17")).await;
        assert_eq!((refused.status, refused.code()), (status, code));
        assert_eq!(refused.header("retry-after"), Some("7"));
        assert_eq!(refused.body["error"]["retryable"], matches!(status, 429 | 503));
    }
    shop.tenant.fault(Fault::status::<CreatePaymentIntent>(429)).await;
    assert_eq!(shop.call("POST", CREATE, order("ORDER-17")).await.header("retry-after"), Some("1"));
    assert_eq!(shop.call("POST", CREATE, order("ORDER-17")).await.status, 201);
}

async fn a_delayed_call_is_executed_after_its_delay() {
    let (_sandbox, shop) = shop().await;
    shop.tenant.fault(Fault::delay::<ListPaymentMethods>(Duration::from_millis(150))).await;
    #[expect(clippy::disallowed_methods, reason = "this test measures real time")]
    let before = Instant::now();
    assert_eq!(shop.call("GET", "/v1/payment-methods", Value::Null).await.status, 200);
    assert!(before.elapsed() >= Duration::from_millis(150));
}

async fn faults_apply_in_order_to_their_operation_as_often_as_their_count() {
    let (_sandbox, shop) = shop().await;
    shop.tenant.fault(Fault::status::<CreatePaymentIntent>(500).times(2)).await;
    shop.tenant.fault(Fault::status::<CreatePaymentIntent>(503)).await;
    assert_eq!(shop.call("GET", "/v1/payment-methods", Value::Null).await.status, 200);
    for status in [500, 500, 503, 201] {
        assert_eq!(shop.call("POST", CREATE, order("ORDER-17")).await.status, status);
    }
    assert!(shop.tenant.faults().await.is_empty());
    shop.tenant.fault(Fault::drop::<CreatePaymentIntent>()).await;
    shop.tenant.clear_faults().await;
    assert_eq!(shop.call("POST", CREATE, order("ORDER-17")).await.status, 200);
}

async fn a_fault_applies_to_its_merchant_and_that_merchants_customers() {
    let (sandbox, shop) = shop().await;
    let other = Merchant::new(sandbox.merchant().await.unwrap());
    shop.tenant.fault(Fault::status::<ReadPaymentIntent>(503).times(2)).await;
    let (ours, theirs) = (shop.create_intent("ORDER-17").await, other.create_intent("ORDER-17").await);
    let path = |intent: &Value| format!("{CREATE}/{}", intent["id"].as_str().unwrap());
    assert_eq!(other.call_as("GET", &path(&theirs), theirs["client_secret"].as_str(), Value::Null).await.status, 200);
    let struck = shop
        .send("GET", &path(&ours), ours["client_secret"].as_str(), None, &[("origin", "https://shop.example")])
        .await;
    assert_eq!((struck.status, struck.header("access-control-allow-origin")), (503, Some("*")), "a page can read it");
    let created = shop.call("POST", "/v1/sessions/create", json!({ "customer_email": "awa@example.com" })).await;
    let token = created.body["data"]["session_token"].as_str();
    assert_eq!(shop.call_as("GET", &path(&ours), token, Value::Null).await.status, 503);
    assert_eq!(shop.call_as("GET", &path(&ours), token, Value::Null).await.status, 200);
}

async fn creates_during_a_reset_succeed_without_internal_errors() {
    let (_sandbox, shop) = shop().await;
    let makers = (0..4).map(|_| {
        let shop = shop.clone();
        tokio::spawn(async move {
            for _ in 0..60 {
                let created = shop.call("POST", "/v1/payment-intents", order("ORDER-17")).await;
                assert!(matches!(created.status, 200 | 201), "{}", created.text);
            }
        })
    });
    let makers: Vec<_> = makers.collect();
    while !makers.iter().all(tokio::task::JoinHandle::is_finished) {
        shop.tenant.reset().await.unwrap();
    }
    for maker in makers {
        maker.await.unwrap();
    }
}

async fn the_control_api_adds_lists_and_removes_faults() {
    let (sandbox, _) = shop().await;
    let first = Merchant::new(sandbox.merchant().await.unwrap());
    let merchant = first.tenant.id();
    let faults = [
        json!({ "merchant": merchant, "operation": "create_payment_intent", "kind": "status", "count": 2, "status": 429, "retry_after": 3 }),
        json!({ "merchant": merchant, "operation": "read_payment_intent", "kind": "delay", "milliseconds": 5 }),
        json!({ "merchant": merchant, "operation": "cancel_payment_intent", "kind": "lost_response", "count": 1 }),
    ];
    let mut listed = Value::Null;
    for fault in faults {
        let reply = control(&sandbox, "POST", "/faults", fault).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        listed = reply.body;
    }
    assert_eq!(
        listed["faults"],
        json!([
            { "operation": "create_payment_intent", "kind": "status", "count": 2, "status": 429, "retry_after": 3 },
            { "operation": "read_payment_intent", "kind": "delay", "count": 1, "milliseconds": 5 },
            { "operation": "cancel_payment_intent", "kind": "lost_response", "count": 1 },
        ])
    );
    let refused = first.call("POST", CREATE, order("ORDER-17")).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("3")));
    let path = format!("/faults?merchant={merchant}");
    assert_eq!(control(&sandbox, "GET", &path, Value::Null).await.body["faults"][0]["count"], 1);
    assert_eq!(
        control(&sandbox, "GET", "/faults", Value::Null).await.body["faults"],
        json!([]),
        "the first merchant has none"
    );
    assert_eq!(control(&sandbox, "DELETE", &path, Value::Null).await.body["faults"], json!([]));
    assert_eq!(first.call("POST", CREATE, order("ORDER-17")).await.status, 201);

    for (wrong, param) in [
        (json!({ "kind": "drop" }), "operation"),
        (json!({ "operation": "pay", "kind": "drop" }), "operation"),
        (json!({ "opperation": "calculate_fee", "kind": "drop" }), "opperation"),
        (json!({ "operation": "calculate_fee" }), "kind"),
        (json!({ "operation": "calculate_fee", "kind": "explode" }), "kind"),
        (json!({ "operation": "calculate_fee", "kind": "drop", "count": 0 }), "count"),
        (json!({ "operation": "calculate_fee", "kind": "status", "status": 200 }), "status"),
        (json!({ "operation": "calculate_fee", "kind": "delay" }), "milliseconds"),
        (json!({ "operation": "calculate_fee", "kind": "delay", "milliseconds": -1 }), "milliseconds"),
    ] {
        let refused = control(&sandbox, "POST", "/faults", wrong.clone()).await;
        assert_eq!((refused.status, refused.body["error"]["param"].as_str()), (422, Some(param)), "{wrong}");
    }
    let wrong = control(&sandbox, "PUT", "/faults", Value::Null).await;
    assert_eq!((wrong.status, wrong.header("allow")), (405, Some("GET, POST, DELETE")));
}

async fn a_merchant_has_at_most_a_thousand_waiting_faults() {
    let (sandbox, shop) = shop().await;
    for _ in 0..999 {
        shop.tenant.fault(Fault::drop::<ListPaymentMethods>()).await;
    }
    let fault = json!({ "merchant": shop.tenant.id(), "operation": "calculate_fee", "kind": "drop" });
    assert_eq!(control(&sandbox, "POST", "/faults", fault.clone()).await.status, 200, "the thousandth");
    let refused = control(&sandbox, "POST", "/faults", fault).await;
    assert_eq!((refused.status, refused.code()), (422, "too_many_faults"));
    assert!(refused.message().contains("1,000") && refused.message().contains("count"), "{}", refused.message());
    assert_eq!(shop.tenant.faults().await.len(), 1000);
    let other = json!({ "operation": "calculate_fee", "kind": "drop" });
    assert_eq!(control(&sandbox, "POST", "/faults", other).await.status, 200, "another merchant has faults of its own");
    let tenant = std::sync::Arc::clone(&shop.tenant);
    let one_more = tokio::spawn(async move { tenant.fault(Fault::drop::<ListPaymentMethods>()).await });
    assert!(one_more.await.unwrap_err().is_panic(), "adding one more fault panics at the line that adds it");
    shop.tenant.clear_faults().await;
    shop.tenant.fault(Fault::drop::<ListPaymentMethods>()).await;
}

async fn the_request_list_shows_requests_without_secrets() {
    let (sandbox, shop) = shop().await;
    let intent = shop.create_intent("ORDER-17").await;
    let secret = intent["client_secret"].as_str().unwrap();
    shop.attach(&intent, card("4242424242424242")).await;
    shop.call_as("GET", &format!("{CREATE}?starting_after={secret}"), Some(&shop.key()), Value::Null).await;
    shop.call_as("GET", &format!("{CREATE}/{secret}"), Some(&shop.key()), Value::Null).await;
    shop.tenant.fault(Fault::lost_response::<ListPaymentMethods>()).await;
    assert!(shop.try_call("GET", "/v1/payment-methods", Value::Null).await.is_err());

    let seen = shop.tenant.requests().await;
    let recorded: Vec<_> = seen
        .iter()
        .map(|request| {
            let (operation, credential) = (request.operation.as_str(), request.credential.as_str());
            (operation, credential, request.status, request.fault.as_deref())
        })
        .collect();
    assert_eq!(
        recorded,
        [
            ("create_payment_intent", "secret_key", Some(201), None),
            ("attach_payment_method", "client_secret", Some(200), None),
            ("list_payment_intents", "secret_key", Some(404), None),
            ("read_payment_intent", "secret_key", Some(404), None),
            ("list_payment_methods", "secret_key", None, Some("lost_response")),
        ]
    );
    assert_eq!(seen[1].intent.as_deref(), intent["id"].as_str());
    let written = control(&sandbox, "GET", &format!("/requests?merchant={}", shop.tenant.id()), Value::Null).await;
    assert_eq!(written.body["requests"].as_array().unwrap().len(), 5);
    for hidden in [secret, &shop.key(), "_secret_", "42424242"] {
        assert!(!written.text.contains(hidden) && !format!("{seen:?}").contains(hidden));
    }
    shop.call_as("GET", "/v1/payment-methods", Some("cst_test_unknown"), Value::Null).await;
    let firsts = control(&sandbox, "GET", "/requests", Value::Null).await;
    assert_eq!(
        firsts.body["requests"][0]["status"], 401,
        "requests without a known credential are in the first merchant's list"
    );
}

async fn the_event_list_shows_events_in_order() {
    let (sandbox, shop) = shop().await;
    let paid = shop.create_intent("ORDER-1").await;
    shop.attach(&paid, phone("237670000002")).await;
    shop.tenant.clock().advance(60).await.unwrap();
    let canceled = shop.create_intent("ORDER-2").await;
    shop.intent_action(&canceled, "cancel", Value::Null).await;
    shop.tenant.clock().advance(60).await.unwrap();
    shop.attach(&paid, phone("237670000001")).await;
    shop.tenant.clock().advance(60).await.unwrap();

    let events = shop.tenant.events().await.unwrap();
    let listed: Vec<_> = events
        .iter()
        .map(|event| (event.merchant_reference.as_deref().unwrap_or_default(), event.kind.as_str()))
        .collect();
    assert_eq!(
        listed,
        [
            ("ORDER-1", "payment_intent.created"),
            ("ORDER-1", "payment_intent.processing"),
            ("ORDER-1", "payment_intent.requires_action"),
            ("ORDER-2", "payment_intent.created"),
            ("ORDER-2", "payment_intent.canceled"),
            ("ORDER-1", "payment_intent.processing"),
            ("ORDER-1", "payment_intent.succeeded"),
        ]
    );
    assert_eq!(
        events[6].at.unix() - events[5].at.unix(),
        30,
        "the event has the time of the payment, not of the reading"
    );
    assert_eq!(shop.tenant.events().await.unwrap(), events, "every reading returns the same");
    let written = control(&sandbox, "GET", &format!("/events?merchant={}", shop.tenant.id()), Value::Null).await;
    assert_eq!(written.body["events"][6]["type"], "payment_intent.succeeded");
    assert_eq!(written.body["events"][6]["data"]["id"], paid["id"]);
    assert!(written.body["events"][6]["id"].as_str().unwrap().starts_with("evt_"));
}

async fn a_reset_deletes_everything_of_a_merchant_but_its_key() {
    let (sandbox, shop) = shop().await;
    let other = Merchant::new(sandbox.merchant().await.unwrap());
    let (ours, theirs) = (shop.create_intent("ORDER-17").await, other.create_intent("ORDER-17").await);
    let created = shop.call("POST", "/v1/sessions/create", json!({ "customer_email": "awa@example.com" })).await;
    shop.tenant.fault(Fault::drop::<CreatePaymentIntent>()).await;
    shop.tenant.clock().advance(5_000).await.unwrap();
    let before = shop.tenant.now().await;
    let reset = control(&sandbox, "POST", "/reset", json!({ "merchant": shop.tenant.id() })).await;
    assert_eq!(reset.status, 200, "{}", reset.text);

    assert!(
        shop.tenant.now().await < before
            && shop.tenant.requests().await.is_empty()
            && shop.tenant.faults().await.is_empty()
    );
    assert!(shop.tenant.events().await.unwrap().is_empty());
    let path = format!("{CREATE}/{}", ours["id"].as_str().unwrap());
    assert_eq!(shop.call("GET", &path, Value::Null).await.status, 404);
    assert_eq!(shop.call_as("GET", &path, ours["client_secret"].as_str(), Value::Null).await.status, 404);
    let token = created.body["data"]["session_token"].as_str();
    assert_eq!(shop.call_as("POST", "/v1/sessions/validate", token, Value::Null).await.code(), "session_unknown");
    assert_eq!(
        shop.call("POST", CREATE, order("ORDER-17")).await.status,
        201,
        "the key works and the reference is free"
    );
    assert_eq!(other.read_intent(&theirs).await["id"], theirs["id"], "another merchant keeps everything");
    if Service::chosen() == Service::Package {
        return; // it has no call for every merchant
    }
    sandbox.reset().await.unwrap();
    assert_eq!(other.read_intent(&theirs).await, Value::Null);
    assert_eq!(other.call("GET", CREATE, Value::Null).await.body["data"], json!([]));
}

/// Sends a request on its own connection. Returns everything received until the connection ends.
async fn raw(shop: &Merchant, path: &str, fields: &Value) -> String {
    let host = shop.base_url.trim_start_matches("http://");
    let body = fields.to_string();
    let mut socket = TcpStream::connect(host).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n",
        shop.key()
    );
    socket.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).await.unwrap();
    let mut response = Vec::new();
    let _ = socket.read_to_end(&mut response).await;
    String::from_utf8(response).unwrap()
}

/// A service for one test, because some use its first merchant, and one resets all.
async fn shop() -> (Sandbox, Merchant) {
    let sandbox = Sandbox::start_with(Config::default()).await.unwrap();
    let shop = Merchant::new(sandbox.merchant().await.unwrap());
    (sandbox, shop)
}
