//! Decisions 1, 4 and 13: how a request is refused, and who may ask from a page.

use super::asking::{Prober, Seen};
use super::intents::order;
use crate::operations::{CreatePaymentIntent, ListCustomers, ReadPaymentIntent};
use crate::protocol::{Method, Operation};
use crate::values::IntentId;
use serde_json::Value;

pub(super) async fn rows(probe: &mut Prober) {
    let nobody = probe.send_as(ListCustomers::new(), None).await;
    let challenge = nobody.header("www-authenticate").to_owned();
    probe.row("1", "no credential: 401 authentication_required", nobody.is(401, "authentication_required"), &nobody);
    let plain = challenge.starts_with("Bearer") && !challenge.contains("error=");
    probe.row("1", "… with WWW-Authenticate: Bearer, and no error in it", plain, &nobody);
    let enveloped = nobody.body["status_code"] == 401
        && nobody.body["response_type"] == "error"
        && nobody.body["message"].is_string()
        && nobody.body.get("data").is_some_and(Value::is_null)
        && nobody.body["error"]["request_id"].is_string()
        && nobody.body["error"]["retryable"] == false;
    probe.row("1", "a refusal has the document's envelope and an error member", enveloped, &nobody);
    probe.row("1", "every answer has a Request-Id", !nobody.header("request-id").is_empty(), &nobody);
    probe.row("1", "no answer is kept by caches", nobody.header("cache-control").contains("no-store"), &nobody);
    let stranger = probe.send_as(ListCustomers::new(), Some("sk_test_guichet_probe_nobody")).await;
    probe.row("1", "an unknown key: 401 invalid_key", stranger.is(401, "invalid_key"), &stranger);

    let Ok(id) = IntentId::new("pi_guichet_probe_nobody") else { return };
    let missing = probe.send(ReadPaymentIntent::new(id.clone())).await;
    probe.row("1", "an unknown id: 404 resource_missing", missing.is(404, "resource_missing"), &missing);
    let nowhere = probe.ask_for(Method::Get, "/v1/guichet-probe").await;
    probe.row("1", "an unknown path: 404 route_not_found", nowhere.is(404, "route_not_found"), &nowhere);
    let wrong = probe.ask_for(Method::Delete, CreatePaymentIntent::SPEC.path).await;
    let told = wrong.is(405, "method_not_allowed") && wrong.header("allow").contains("POST");
    probe.row("1", "a wrong method: 405, and Allow says which", told, &wrong);

    let malformed = probe.send_body::<CreatePaymentIntent>("{", &[]).await;
    probe.row("1", "a body that is no JSON: 400 invalid_json", malformed.is(400, "invalid_json"), &malformed);
    let array = probe.send_body::<CreatePaymentIntent>("[]", &[]).await;
    probe.row("1", "a body that is no object: 400 body_not_object", array.is(400, "body_not_object"), &array);
    let text = probe.send_body::<CreatePaymentIntent>("{}", &[("content-type", "text/plain")]).await;
    probe.row("1", "another content type: 415", text.is(415, "unsupported_media_type"), &text);
    let many = probe.send_body::<CreatePaymentIntent>(r#"{"amount":5000,"currency":"francs"}"#, &[]).await;
    let together = many.status == 422 && many.body["error"]["errors"].as_array().is_some_and(|errors| errors.len() > 3);
    probe.row("1", "all wrong fields come together: 422", together, &many);
    let page = probe.send_body::<CreatePaymentIntent>("{}", &[("origin", "https://shop.example")]).await;
    probe.row("4", "a secret key from a page: 403", page.is(403, "secret_key_in_browser"), &page);

    let open = probe.preflight(&ReadPaymentIntent::new(id)).await;
    probe.row("13", "a page may read an intent: CORS", allows(&open), &open);
    let closed = match order(probe, 0) {
        Ok(order) => probe.preflight(&order).await,
        Err(_) => Seen::default(),
    };
    probe.row("13", "no page may create one: no CORS", closed.status != 0 && !allows(&closed), &closed);
}

fn allows(seen: &Seen) -> bool {
    !seen.header("access-control-allow-origin").is_empty()
}
