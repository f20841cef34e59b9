//! `docs/shop-openapi.json` describes what the three routes respond.

use crate::support::http::{Reply, get, post};
use crate::support::shop_process::ShopProcess;
use guichet_sandbox::Sandbox;
use serde_json::{Value, json};

#[tokio::test]
async fn the_description_of_the_three_routes_is_what_they_respond() {
    let description: Value = serde_json::from_str(include_str!("../../../docs/shop-openapi.json")).expect("JSON");
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let shop = ShopProcess::start(sandbox.base_url(), sandbox.secret_key().expose());
    let sign_in = async |customer: &str| {
        let body = json!({ "customer": customer }).to_string();
        post(&format!("{}/api/sign-in", shop.url()), &[], &body).await.cookie().expect("a cookie")
    };
    let (awa, paul) = (sign_in("awa").await, sign_in("paul").await);
    let at = |path: &str| format!("{}/guichet{path}", shop.url());
    let place = async |cookie: &str, quantity: u32| {
        let basket = json!({ "lines": [{ "sku": "sandals", "quantity": quantity }] }).to_string();
        post(&format!("{}/api/orders", shop.url()), &[cookie], &basket).await.json()["id"].clone()
    };
    let id = place(&awa, 1).await;
    let order = json!({ "id": id }).to_string();

    let ticket = post(&at("/intents"), &[&awa], &order).await;
    let payment = format!("/intents/{}", ticket.json()["intent"]["payment_ref"].as_str().expect("a reference"));
    let form = "Content-Type: application/x-www-form-urlencoded";
    let foreign = "Origin: https://elsewhere.example";
    let text = "Content-Type: text/plain";
    let mut of_paul = Vec::new();
    for quantity in 1..=21 {
        let order = json!({ "id": place(&paul, quantity).await }).to_string();
        of_paul.push(post(&at("/intents"), &[&paul], &order).await);
    }
    let refused = of_paul.pop().expect("the 21st");
    assert!(of_paul.iter().all(|begun| begun.status == 200));
    assert_eq!(refused.json()["error"]["code"], "too_many_open_payments");
    for (method, path, status, reply) in [
        ("post", "/intents", 409, refused),
        ("post", "/session", 200, post(&at("/session"), &[&awa], "").await),
        ("post", "/session", 401, post(&at("/session"), &[], "").await),
        ("post", "/session", 403, post(&at("/session"), &[&awa, foreign], "").await),
        ("post", "/intents", 200, ticket),
        (
            "post",
            "/intents",
            303,
            post(&at("/intents"), &[&awa, form], &format!("id={}", id.as_str().expect("a number"))).await,
        ),
        ("post", "/intents", 401, post(&at("/intents"), &[], &order).await),
        ("post", "/intents", 403, post(&at("/intents"), &[&awa, foreign], &order).await),
        ("post", "/intents", 404, post(&at("/intents"), &[&paul], &order).await),
        ("post", "/intents", 415, post(&at("/intents"), &[&awa, text], &order).await),
        ("get", "/intents/{payment_ref}", 200, get(&at(&payment), &[&awa]).await),
        ("get", "/intents/{payment_ref}", 401, get(&at(&payment), &[]).await),
        ("get", "/intents/{payment_ref}", 403, get(&at(&payment), &[&awa, foreign]).await),
        ("get", "/intents/{payment_ref}", 404, get(&at(&payment), &[&paul]).await),
        ("get", "/return", 200, get(&at(&payment.replace("/intents/", "/return?payment_ref=")), &[&awa]).await),
    ] {
        assert_eq!(reply.status, status, "{method} {path}: {}", reply.body);
        assert_described(&description, method, path, &reply);
    }
    sandbox.stop().await;
}

fn assert_described(description: &Value, method: &str, path: &str, reply: &Reply) {
    let response = &description["paths"][path][method]["responses"][reply.status.to_string()];
    let response = match response["$ref"].as_str() {
        Some(reference) => description.pointer(reference.trim_start_matches('#')).expect("the response is there"),
        None => response,
    };
    assert!(response.is_object(), "{method} {path}: {} is not described", reply.status);
    for name in response["headers"].as_object().into_iter().flat_map(|headers| headers.keys()) {
        assert!(reply.header(name).is_some(), "{method} {path}: {} without {name}", reply.status);
    }
    let mut schema = response["content"]["application/json"]["schema"].clone();
    if schema.is_null() {
        return;
    }
    schema["components"] = description["components"].clone();
    let validator = jsonschema::draft202012::options().should_validate_formats(true).build(&schema).expect("a schema");
    let body = reply.json();
    let errors: Vec<String> = validator.iter_errors(&body).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{method} {path} {}: {errors:#?}\n{body:#}", reply.status);
}
