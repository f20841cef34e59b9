//! Decisions 1, 4 and 13: errors, and which requests a page may send.

use super::intents::order;
use super::prober::{Prober, Reply};
use guichet::operations::{CreatePaymentIntent, ListCustomers, ReadPaymentIntent};
use guichet::protocol::{Method, Operation};
use guichet::values::IntentId;
use serde_json::Value;

pub(super) async fn rows(probe: &mut Prober) {
    let anonymous = probe.send_as(ListCustomers::new(), None).await;
    let challenge = anonymous.header("www-authenticate").to_owned();
    probe.refused("1", "no credential: 401 authentication_required", "401 authentication_required", &anonymous);
    let plain = challenge.starts_with("Bearer") && !challenge.contains("error=");
    probe.row("1", "… with WWW-Authenticate: Bearer, without error=", plain, &anonymous);
    let enveloped = anonymous.body["status_code"] == 401
        && anonymous.body["response_type"] == "error"
        && anonymous.body["message"].is_string()
        && anonymous.body.get("data").is_some_and(Value::is_null)
        && anonymous.body["error"]["request_id"].is_string()
        && anonymous.body["error"]["retryable"] == false;
    probe.row("1", "an error has the documented envelope and an error member", enveloped, &anonymous);
    probe.row("1", "every response has a Request-Id", !anonymous.header("request-id").is_empty(), &anonymous);
    probe.row("1", "no response is cached", anonymous.header("cache-control").contains("no-store"), &anonymous);
    let unknown_key = probe.send_as(ListCustomers::new(), Some("sk_test_guichet_probe_nobody")).await;
    probe.refused("1", "an unknown key: 401 invalid_key", "401 invalid_key", &unknown_key);

    let Ok(id) = IntentId::new("pi_guichet_probe_nobody") else { return };
    let missing = probe.send(ReadPaymentIntent::new(id.clone())).await;
    probe.refused("1", "an unknown id: 404 resource_missing", "404 resource_missing", &missing);
    let unknown_path = probe.send_to(Method::Get, "/v1/guichet-probe").await;
    probe.refused("1", "an unknown path: 404 route_not_found", "404 route_not_found", &unknown_path);
    let wrong_method = probe.send_to(Method::Delete, CreatePaymentIntent::SPEC.path).await;
    let named = wrong_method.is("405 method_not_allowed") && wrong_method.header("allow").contains("POST");
    probe.row("1", "a wrong method: 405 with Allow", named, &wrong_method);

    let malformed = probe.send_body::<CreatePaymentIntent>("{", &[]).await;
    probe.refused("1", "a body that is not JSON: 400 invalid_json", "400 invalid_json", &malformed);
    let array = probe.send_body::<CreatePaymentIntent>("[]", &[]).await;
    probe.refused("1", "a body that is not an object: 400 body_not_object", "400 body_not_object", &array);
    let text = probe.send_body::<CreatePaymentIntent>("{}", &[("content-type", "text/plain")]).await;
    probe.refused("1", "another content type: 415", "415 unsupported_media_type", &text);
    let many = probe.send_body::<CreatePaymentIntent>(r#"{"amount":5000,"currency":"francs"}"#, &[]).await;
    let together = many.status == 422 && many.body["error"]["errors"].as_array().is_some_and(|errors| errors.len() > 3);
    probe.row("1", "all field errors are reported together: 422", together, &many);
    let page = probe.send_body::<CreatePaymentIntent>("{}", &[("origin", "https://shop.example")]).await;
    probe.refused("4", "a secret key from a page: 403", "403 secret_key_in_browser", &page);

    let open = probe.preflight(&ReadPaymentIntent::new(id)).await;
    probe.row("13", "a page may read an intent: CORS", allows(&open), &open);
    let closed = match order(probe, 0) {
        Ok(order) => probe.preflight(&order).await,
        Err(_) => Reply::default(),
    };
    probe.row("13", "a page may not create an intent: no CORS", closed.status != 0 && !allows(&closed), &closed);
}

fn allows(reply: &Reply) -> bool {
    !reply.header("access-control-allow-origin").is_empty()
}
