//! Every operation of the interface with wrong credentials, unknown ids and invalid bodies:
//! `decisions.md` 1 and 4, over a real socket.

use crate::support::api::{self, Merchant, Reply, order, shop};
use crate::support::openapi::Example;
use crate::support::service::on_each_service;
use guichet::operations::*;
use guichet::protocol::{IDEMPOTENCY_KEY, Method, Operation, Role, Spec, decode};
use guichet_sandbox::openapi;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

on_each_service!(
    every_credential_is_authorized_for_every_operation_as_the_table_says,
    unknown_ids_and_ids_of_other_merchants_get_equal_responses,
    no_list_shows_objects_of_another_merchant,
    every_path_reports_its_allowed_methods,
    every_body_is_checked_by_the_same_rules,
    every_operation_accepts_its_example_and_the_client_reads_the_reply,
);

/// The expected status and code of an operation that requires this role, with: the secret key, a session, the client
/// secret of another intent, none.
fn expected_responses(role: &str) -> [(u16, &'static str); 4] {
    const FORBIDDEN: (u16, &str) = (403, "role_required");
    const ANONYMOUS: (u16, &str) = (401, "authentication_required");
    const NO_SESSION: (u16, &str) = (401, "session_token_required");
    const ADMITTED: (u16, &str) = (0, "");
    match role {
        "merchant" => [ADMITTED, FORBIDDEN, FORBIDDEN, ANONYMOUS],
        "session" => [NO_SESSION, ADMITTED, NO_SESSION, ANONYMOUS],
        "customer" => [ADMITTED, ADMITTED, FORBIDDEN, ANONYMOUS],
        "payer" => [ADMITTED, ADMITTED, ADMITTED, ANONYMOUS],
        "anyone" => [ADMITTED, ADMITTED, ADMITTED, ANONYMOUS],
        other => panic!("the table has no role {other}"),
    }
}

async fn every_credential_is_authorized_for_every_operation_as_the_table_says() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("ORDER-17").await;
    let session = shop.call("POST", "/v1/sessions/create", json!({ "customer_email": "awa@example.com" })).await;
    let (key, token) = (shop.key(), session.body["data"]["session_token"].as_str().unwrap().to_owned());
    // A session that an operation revokes is used for that operation only.
    let credentials = [Some(key.as_str()), Some(token.as_str()), intent["client_secret"].as_str(), None];
    for (spec, role) in operations().into_iter().filter(|(spec, _)| spec.name != "revoke_session") {
        for (credential, (status, code)) in credentials.into_iter().zip(expected_responses(role)) {
            let reply = shop.call_as(spec.method.as_str(), &path(&spec, "unknown"), credential, Value::Null).await;
            if status == 0 {
                assert!(!matches!(reply.status, 401 | 403), "{} with {credential:?}: {}", spec.name, reply.text);
            } else {
                assert_eq!((reply.status, reply.code()), (status, code), "{} with {credential:?}", spec.name);
            }
            let challenge = match (reply.status, credential) {
                (401, None) => Some(r#"Bearer realm="guichet""#),
                (401, Some(_)) => Some(r#"Bearer realm="guichet", error="invalid_token""#),
                _ => None,
            };
            assert_eq!(reply.header("www-authenticate"), challenge, "{} with {credential:?}", spec.name);
            let names_role = reply.code() != "role_required" || reply.message().contains("merchant");
            assert!(names_role || role != "merchant", "{}: {}", spec.name, reply.message());
        }
    }
}

async fn unknown_ids_and_ids_of_other_merchants_get_equal_responses() {
    let (sandbox, shop) = shop().await;
    let other = Merchant::new(sandbox.merchant().await.unwrap());
    let described = openapi();
    for (spec, _) in operations() {
        let (by_path, by_cursor) = (spec.path.contains("{id}"), spec.query.contains(&"starting_after"));
        // Packages are public.
        if !by_path && (!by_cursor || spec.name == "list_esim_packages") {
            continue;
        }
        let theirs = theirs(&other, spec.path).await;
        let body = Example::of(&described, spec.method.as_str(), spec.path).body.unwrap_or_default();
        let mut messages = Vec::new();
        for id in [theirs.as_str(), "unknown", "17", "%F0%9F%A5%BF", "..%2F.."] {
            let path = if by_path { path(&spec, id) } else { format!("{}?starting_after={id}", spec.path) };
            let reply = shop.call(spec.method.as_str(), &path, body.clone()).await;
            assert_eq!(
                (reply.status, reply.code()),
                (404, "resource_missing"),
                "{} of {id}: {}",
                spec.name,
                reply.text
            );
            messages.push(reply.message().to_owned());
        }
        messages.dedup();
        assert_eq!(messages.len(), 1, "{} tells unknown and foreign ids apart: {messages:?}", spec.name);
    }
}

async fn no_list_shows_objects_of_another_merchant() {
    let (sandbox, shop) = shop().await;
    let other = Merchant::new(sandbox.merchant().await.unwrap());
    for (spec, _) in operations().into_iter().filter(|(spec, _)| spec.query.contains(&"starting_after")) {
        if spec.name == "list_esim_packages" {
            continue;
        }
        theirs(&other, spec.path).await;
        let count = async |shop: &Merchant| {
            shop.call("GET", spec.path, Value::Null).await.body["data"].as_array().unwrap().len()
        };
        assert!(count(&other).await > 0, "{}", spec.name);
        assert_eq!(count(&shop).await, 0, "{}", spec.name);
    }
}

async fn every_path_reports_its_allowed_methods() {
    let (_sandbox, shop) = shop().await;
    for (spec, _) in operations() {
        let refused = shop.call_as("PATCH", &path(&spec, "unknown"), Some(&shop.key()), Value::Null).await;
        assert_eq!((refused.status, refused.code()), (405, "method_not_allowed"), "{}", spec.name);
        let mut allowed: Vec<_> = refused.header("allow").unwrap().split(", ").collect();
        allowed.sort_unstable();
        let of_the_path = operations().into_iter().filter(|(other, _)| other.path == spec.path);
        let mut expected: Vec<_> = of_the_path.map(|(other, _)| other.method.as_str()).collect();
        if expected.contains(&"GET") {
            expected.push("HEAD");
        }
        expected.sort_unstable();
        assert_eq!(allowed, expected, "{}", spec.name);
    }
}

async fn every_body_is_checked_by_the_same_rules() {
    let (_sandbox, shop) = shop().await;
    for (spec, role) in operations().into_iter().filter(|(spec, _)| spec.method != Method::Get) {
        if role == "session" {
            continue;
        }
        let send = async |body: &str, kind: &str| -> Reply {
            let headers = [("content-type", kind)];
            let path = path(&spec, "unknown");
            shop.send(spec.method.as_str(), &path, Some(&shop.key()), Some(body.to_owned()), &headers).await
        };
        for (body, kind, status, code) in [
            ("[]", "application/json", 400, "body_not_object"),
            ("{\"a\":", "application/json", 400, "invalid_json"),
            ("{}", "text/plain", 415, "unsupported_media_type"),
        ] {
            let refused = send(body, kind).await;
            assert_eq!((refused.status, refused.code()), (status, code), "{}: {body}", spec.name);
        }
        let large = format!("{{\"a\":\"{}\"}}", "x".repeat(64 * 1024));
        assert_eq!(send(&large, "application/json").await.status, 413, "{}", spec.name);
    }
}

async fn every_operation_accepts_its_example_and_the_client_reads_the_reply() {
    let described = openapi();
    macro_rules! check {
        ($($operation:ident)*) => {$(accepts_its_example::<$operation>(&described).await;)*};
    }
    guichet::every_operation!(check);
}

async fn accepts_its_example<O: Operation>(described: &Value)
where
    O::Output: DeserializeOwned,
{
    let (_sandbox, shop) = shop().await;
    let (spec, key) = (O::SPEC, shop.key());
    let example = Example::of(described, spec.method.as_str(), spec.path);
    let mut target = example.target(spec.path);
    // What the example names must exist, in a state that allows the operation.
    let example_of = |path| Example::of(described, "POST", path).body.unwrap();
    let is_of_a_plan = spec.path == "/v1/subscriptions" || spec.path.contains("/{id}");
    if is_of_a_plan && spec.path.starts_with("/v1/subscriptions") {
        shop.call("POST", "/v1/subscriptions/plans", example_of("/v1/subscriptions/plans")).await;
    }
    if let Some((collection, action)) = spec.path.split_once("/{id}") {
        let id = if collection == "/v1/subscriptions/plans" {
            shop.call("GET", collection, Value::Null).await.body["data"][0]["id"].clone()
        } else {
            let mut create = example_of(collection);
            if action == "/confirm" {
                create["confirmation_method"] = json!("manual");
            }
            let created = shop.call("POST", collection, create).await.body["data"].clone();
            created.get("id").unwrap_or(&created["order_id"]).clone()
        };
        let id = id.as_str().unwrap();
        let before = match action {
            "/abandon" => Some(("payment-method", api::phone("237670000005"))),
            "/answer" => Some(("payment-method", api::phone("237670000010"))),
            "/confirm" => Some(("payment-method", api::phone("237670000000"))),
            "/resume" => Some(("pause", json!({ "immediately": true }))),
            _ => None,
        };
        if let Some((step, fields)) = before {
            shop.call("POST", &format!("{collection}/{id}/{step}"), fields).await;
        }
        target = spec.path.replace("{id}", id);
    }
    let session = shop.call("POST", "/v1/sessions/create", json!({ "customer_email": "awa@example.com" })).await;
    let token = session.body["data"]["session_token"].as_str().unwrap();
    let credential = if O::Role::NAME == "session" { token } else { &key };
    let mut headers = vec![("content-type", "application/json")];
    headers.extend(example.header.as_deref().map(|key| (IDEMPOTENCY_KEY, key)));
    let body = example.body.map(|body| body.to_string());
    let reply = shop.send(spec.method.as_str(), &target, Some(credential), body, &headers).await;
    assert!(reply.status < 300, "{} refuses its example: {}", spec.name, reply.text);
    if let Err(error) = decode::<O::Output>(reply.text.as_bytes()) {
        panic!("the client cannot read the reply of {}: {error}: {}", spec.name, reply.text);
    }
}

/// Every operation with the role that it requires.
fn operations() -> Vec<(Spec, &'static str)> {
    macro_rules! all {
        ($($operation:ident)*) => {
            vec![$((<$operation as Operation>::SPEC, <$operation as Operation>::Role::NAME)),*]
        };
    }
    guichet::every_operation!(all)
}

/// The path of an operation with this id.
fn path(spec: &Spec, id: &str) -> String {
    let path = spec.path.replace("{id}", id);
    path.replace("{payment_method}", "card").replace("{currency}", "XAF").replace("{amount}", "5000")
}

/// The id of one of the merchant's objects, of the kind that the path names.
async fn theirs(shop: &Merchant, path: &str) -> String {
    let plan = json!({ "name": "Gold", "code": "gold", "amount": 5000, "billing_cycle": "monthly" });
    let subscription = json!({
        "plan": "gold", "customer_email": "awa@example.com", "firstname": "Awa", "lastname": "Ngo",
        "payment_method": api::phone("237670000000")["payment_method"],
    });
    let esims = json!({ "package_id": "esp_cm_1gb" });
    shop.call("POST", "/v1/subscriptions/plans", plan).await;
    let id = |data: &Value, name: &str| data[name].as_str().unwrap().to_owned();
    let first = async |path: &str| id(&shop.call("GET", path, Value::Null).await.body["data"][0], "id");
    if path.starts_with("/v1/subscriptions/plans") {
        first("/v1/subscriptions/plans").await
    } else if path.starts_with("/v1/subscriptions") {
        id(&shop.call("POST", "/v1/subscriptions", subscription).await.body["data"], "id")
    } else if path.starts_with("/v1/esim") {
        id(&shop.call("POST", "/v1/esim/orders", esims).await.body["data"], "order_id")
    } else {
        shop.call("POST", "/v1/payment-intents", order("ORDER-17")).await;
        first(path.split("/{id}").next().unwrap()).await
    }
}
