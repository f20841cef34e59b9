//! Authentication, roles and origins in the sandbox: `decisions.md` 4 and 13, over a real socket.

use crate::support::api::{Merchant, Reply, order, shop};
use crate::support::service::Sandbox;
use guichet_sandbox::Config;
use serde_json::{Value, json};

const ELSEWHERE: (&str, &str) = ("origin", "https://shop.example");

#[tokio::test]
async fn a_session_expires_after_thirty_minutes_of_the_sandboxs_clock() {
    let (_sandbox, shop) = shop().await;
    let created = shop.call("POST", "/v1/sessions/create", json!({ "customer_email": "awa@example.com" })).await;
    assert_eq!((created.status, &created.body["success"]), (201, &json!(true)));
    assert!(created.body["message"].is_string() && created.body.get("status_code").is_none());
    assert_eq!(created.body["data"]["customer_email"], "awa@example.com");
    let token = created.body["data"]["session_token"].as_str().unwrap().to_owned();
    assert!(token.starts_with("cst_test_"));

    let valid = validate(&shop, &token).await;
    assert_eq!(valid.status, 200);
    assert_eq!(valid.body["data"]["valid"], true);
    assert_eq!(valid.body["data"]["expires_at"], created.body["data"]["expires_at"]);

    shop.tenant.clock().advance(30 * 60).await.unwrap();
    let expired = validate(&shop, &token).await;
    assert_eq!((expired.status, expired.code()), (401, "session_expired"));
    assert_eq!(expired.body["data"], json!({ "valid": false, "reason": "expired" }));
    assert_eq!(expired.body["success"], false);
    let reading = shop.call_as("GET", "/v1/payment-methods", Some(&token), Value::Null).await;
    assert_eq!((reading.status, reading.code()), (401, "session_expired"));
}

#[tokio::test]
async fn a_revoked_token_is_refused_and_a_logout_can_be_repeated() {
    let (_sandbox, shop) = shop().await;
    let (token, other) = (session(&shop).await, session(&shop).await);
    let first = shop.call_as("POST", "/v1/sessions/revoke", Some(&token), Value::Null).await;
    assert_eq!((first.status, &first.body["data"]["revoked"]), (200, &json!(true)));
    shop.tenant.clock().advance(5).await.unwrap();
    let repeated = shop.call_as("POST", "/v1/sessions/revoke", Some(&token), Value::Null).await;
    assert_eq!((repeated.status, &repeated.body["data"]["revoked_at"]), (200, &first.body["data"]["revoked_at"]));

    let refused = validate(&shop, &token).await;
    assert_eq!((refused.status, refused.code()), (401, "session_revoked"));
    assert_eq!(refused.body["data"], json!({ "valid": false, "reason": "revoked" }));
    assert_eq!(validate(&shop, &other).await.status, 200, "another session of the same customer stays valid");
    let unknown = shop.call_as("POST", "/v1/sessions/revoke", Some("cst_test_unknown"), Value::Null).await;
    assert_eq!((unknown.status, unknown.code()), (401, "session_unknown"));
}

/// Every operation with every credential is in `sandbox_every_operation.rs`.
#[tokio::test]
async fn a_customers_credentials_read_their_own_payment_and_no_other() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("ORDER-17").await;
    let mut others = order("ORDER-18");
    others["email"] = json!("ngo@example.com");
    let others = shop.call("POST", "/v1/payment-intents", others).await.body["data"].clone();
    let (key, token) = (shop.key(), session(&shop).await);
    let secret = intent["client_secret"].as_str().unwrap();
    for (id, with_the_key, as_the_customer) in
        [(&intent["id"], 200, 200), (&others["id"], 200, 404), (&json!("pi_none"), 404, 404)]
    {
        let path = format!("/v1/payment-intents/{}", id.as_str().unwrap());
        for (credential, status) in [(&*key, with_the_key), (&*token, as_the_customer), (secret, as_the_customer)] {
            let reply = shop.call_as("GET", &path, Some(credential), Value::Null).await;
            let code = if status == 404 { "resource_missing" } else { "" };
            assert_eq!((reply.status, reply.code()), (status, code), "{path}");
        }
    }
}

#[tokio::test]
async fn an_invalid_credential_is_refused_by_its_kind() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("ORDER-17").await;
    let forged = format!("{}_secret_{}", intent["id"].as_str().unwrap(), "A".repeat(43));
    let table = [
        ("sk_test_unknown", "invalid_key"),
        ("sk_live_anything", "live_key_in_sandbox"),
        ("sk_anything", "invalid_key"),
        ("rk_test_1", "invalid_key"),
        (forged.as_str(), "invalid_key"),
        ("cst_test_unknown", "session_unknown"),
        ("anything", "session_unknown"),
    ];
    for (credential, code) in table {
        let reply = shop.call_as("GET", "/v1/payment-methods", Some(credential), Value::Null).await;
        assert_eq!((reply.status, reply.code()), (401, code), "{credential}");
        assert!(!reply.text.contains(credential), "a refusal repeats no credential");
    }
    let unknown = validate(&shop, "cst_test_unknown").await;
    assert_eq!(unknown.body["data"], json!({ "valid": false, "reason": "unknown" }));
}

#[tokio::test]
async fn a_secret_key_that_a_browser_sends_is_refused() {
    let (_sandbox, shop) = shop().await;
    for (method, path) in [("POST", "/v1/payment-intents"), ("GET", "/v1/payment-methods")] {
        let reply = shop.send(method, path, Some(&shop.key()), None, &[ELSEWHERE]).await;
        assert_eq!((reply.status, reply.code()), (403, "secret_key_in_browser"));
    }
}

#[tokio::test]
async fn methods_and_fees_are_public_only_with_the_option() {
    let public = Sandbox::start_with(Config { public_methods: true, ..Config::default() }).await.unwrap();
    let shop = Merchant::new(public.merchant().await.unwrap());
    assert_eq!(shop.call_as("GET", "/v1/payment-methods", None, Value::Null).await.status, 200);
    assert_eq!(shop.call_as("GET", "/v1/payment-methods/fee/card/XAF/1", None, Value::Null).await.status, 200);
    assert_eq!(shop.call_as("GET", "/v1/payment-intents/pi_1", None, Value::Null).await.status, 401);
    assert_eq!(
        shop.call_as("GET", "/v1/payment-methods", Some("cst_test_x"), Value::Null).await.status,
        401,
        "a wrong credential is treated as none"
    );
}

#[tokio::test]
async fn a_refused_page_gets_a_message_with_the_remedy() {
    let (_sandbox, shop) = shop().await;
    let origin = [("origin", "https://shop.example")];
    for path in ["/v1/payment-methods", "/v1/payment-methods/fee/mobile_money/XAF/5000"] {
        let of_a_page = shop.send("GET", path, None, None, &origin).await;
        assert_eq!((of_a_page.status, of_a_page.code()), (401, "authentication_required"));
        for word in ["session", "`merchant`", "--public-methods"] {
            assert!(of_a_page.message().contains(word), "{word}: {}", of_a_page.message());
        }
        let of_a_server = shop.send("GET", path, None, None, &[]).await;
        assert!(of_a_server.message().contains("secret key"), "{}", of_a_server.message());
    }
    let merchants = shop.send("GET", "/v1/customers", None, None, &origin).await;
    assert!(!merchants.message().contains("--public-methods"), "no flag allows this: {}", merchants.message());
}

#[tokio::test]
async fn pages_may_call_all_but_merchant_operations() {
    let (_sandbox, shop) = shop().await;
    let table = [
        ("POST", "/v1/sessions/create", false),
        ("POST", "/v1/sessions/validate", true),
        ("POST", "/v1/sessions/revoke", true),
        ("GET", "/v1/payment-methods", true),
        ("GET", "/v1/payment-methods/fee/card/XAF/1", true),
        ("POST", "/v1/payment-intents", false),
        ("GET", "/v1/payment-intents/pi_1", true),
        ("POST", "/v1/payment-intents/pi_1/payment-method", true),
        ("DELETE", "/v1/payment-methods", false),
        ("GET", "/v1/customers", false),
        ("POST", "/v1/esim/orders", false),
        ("GET", "/v1/esim/orders/eso_1", false),
        ("GET", "/v1/esim/packages", true),
        ("GET", "/v1/nowhere", true),
        ("POST", "/v1/payment-intents/pi_1/refund", true),
        ("GET", "/sandbox/nowhere", false),
        ("GET", "/nowhere", false),
    ];
    for (method, path, open) in table {
        let preflight = preflight(&shop, method, path, ELSEWHERE).await;
        assert_eq!(preflight.status == 204, open, "{method} {path}");
        assert_eq!(preflight.header("access-control-allow-origin"), open.then_some("*"), "{method} {path}");
        assert_eq!(preflight.header("access-control-allow-methods"), open.then_some(method));
        assert_eq!(preflight.header("access-control-allow-headers"), open.then_some("authorization, content-type"));
        assert_eq!(preflight.header("access-control-allow-credentials"), None);

        let refused = shop.send(method, path, Some("cst_test_unknown"), None, &[ELSEWHERE]).await;
        assert!(refused.status >= 400);
        assert_eq!(
            refused.header("access-control-allow-origin"),
            open.then_some("*"),
            "on errors too: {method} {path}"
        );
        assert_eq!(refused.header("access-control-expose-headers"), open.then_some("request-id, retry-after, date"));
    }
}

#[tokio::test]
async fn only_pages_of_allowed_origins_may_call() {
    let config = Config { allow_origins: vec!["https://shop.example".into()], ..Config::default() };
    let sandbox = Sandbox::start_with(config).await.unwrap();
    let shop = Merchant::new(sandbox.merchant().await.unwrap());
    let path = "/v1/payment-methods";
    let named = preflight(&shop, "GET", path, ELSEWHERE).await;
    assert_eq!(named.header("access-control-allow-origin"), Some("https://shop.example"));
    assert_eq!(named.header("vary"), Some("origin"));
    let other = preflight(&shop, "GET", path, ("origin", "https://shop.example.evil")).await;
    assert_eq!(other.header("access-control-allow-origin"), None);
    let response = shop.send("GET", path, None, None, &[("origin", "https://other.example")]).await;
    assert_eq!(response.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn origins_are_normalized_and_invalid_ones_are_refused_at_the_start() {
    let allowing = |origin: &str| Config { allow_origins: vec![origin.into()], ..Config::default() };
    for origin in ["https://shop.example/", "HTTPS://Shop.Example", "https://shop.example:443"] {
        let sandbox = Sandbox::start_with(allowing(origin)).await.unwrap();
        let shop = Merchant::new(sandbox.merchant().await.unwrap());
        let named = preflight(&shop, "GET", "/v1/payment-methods", ELSEWHERE).await;
        assert_eq!(named.header("access-control-allow-origin"), Some("https://shop.example"), "{origin}");
    }
    for wrong in
        ["*", "null", "shop.example", "https://shop.example/path", "https://a@shop.example", "ftp://shop.example"]
    {
        let refused = Sandbox::start_with(allowing(wrong)).await.unwrap_err().to_string();
        assert!(refused.contains(wrong) && refused.contains("https://shop.example"), "{refused}");
    }
}

async fn session(shop: &Merchant) -> String {
    let created = shop.call("POST", "/v1/sessions/create", json!({ "customer_email": "awa@example.com" })).await;
    created.body["data"]["session_token"].as_str().unwrap().to_owned()
}

async fn validate(shop: &Merchant, token: &str) -> Reply {
    shop.call_as("POST", "/v1/sessions/validate", Some(token), Value::Null).await
}

async fn preflight(shop: &Merchant, method: &str, path: &str, origin: (&str, &str)) -> Reply {
    let headers = [
        origin,
        ("access-control-request-method", method),
        ("access-control-request-headers", "authorization,content-type"),
    ];
    shop.send("OPTIONS", path, None, None, &headers).await
}
