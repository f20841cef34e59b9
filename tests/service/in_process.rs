//! The service as a function from request to response: no socket, no runtime of its own, no timer.

use axum::body::{Body, to_bytes};
use axum::http::Request;
use guichet_sandbox::{Config, InProcess, Surroundings};
use serde_json::{Value, json};

async fn start() -> InProcess {
    InProcess::start(Config::default(), Surroundings::system()).await.unwrap()
}

/// Sends a request with the secret key, or to the control API with its token.
async fn send(sandbox: &InProcess, method: &str, path: &str, body: Value) -> (u16, Value) {
    let token = if path.starts_with("/sandbox") { sandbox.control_token() } else { sandbox.secret_key() };
    let request = Request::builder()
        .method(method)
        .uri(format!("{}{path}", sandbox.base_url()))
        .header("authorization", format!("Bearer {}", token.expose()))
        .header("content-type", "application/json");
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    let response = sandbox.respond(request.body(body).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap())
}

#[tokio::test]
async fn a_payment_succeeds_without_a_socket() {
    let sandbox = start().await;
    let order = json!({
        "firstname": "Awa", "lastname": "Ngo", "email": "awa@example.com", "amount": "5000", "description": "Shoes",
        "merchant_reference": "ORDER-17",
    });
    let (status, created) = send(&sandbox, "POST", "/v1/payment-intents", order).await;
    assert_eq!(status, 201, "{created}");
    let path = format!("/v1/payment-intents/{}", created["data"]["id"].as_str().unwrap());
    let phone = json!({"payment_method": {"type": "mobile_money", "phone": "237670000000"}});
    let (status, attached) = send(&sandbox, "POST", &format!("{path}/payment-method"), phone).await;
    assert_eq!(status, 200, "{attached}");
    let (status, moved) = send(&sandbox, "POST", "/sandbox/clock", json!({"advance_seconds": 60})).await;
    assert_eq!(status, 200, "{moved}");
    let (_, paid) = send(&sandbox, "GET", &path, Value::Null).await;
    assert_eq!(paid["data"]["status"], "succeeded");
}

#[tokio::test]
async fn a_dropped_connection_is_an_error_and_a_closed_sandbox_a_503() {
    let sandbox = start().await;
    let (status, set) = send(
        &sandbox,
        "POST",
        "/sandbox/faults",
        json!({"operation": "list_payment_methods", "kind": "drop", "count": 1}),
    )
    .await;
    assert_eq!(status, 200, "{set}");
    let request = || {
        let authorization = format!("Bearer {}", sandbox.secret_key().expose());
        Request::get("/v1/payment-methods").header("authorization", authorization).body(Body::empty()).unwrap()
    };
    assert!(sandbox.respond(request()).await.is_err());
    assert_eq!(sandbox.respond(request()).await.unwrap().status(), 200);
    sandbox.close().await;
    let (status, closed) = send(&sandbox, "GET", "/v1/customers", Value::Null).await;
    assert_eq!((status, &closed["error"]["code"]), (503, &json!("unavailable")), "{closed}");
}
