//! The shop's pages and files, and the status of a payment.

use super::*;
use axum::body::Bytes;
use axum::extract::{Path, State};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

pub(super) async fn page(State(server): State<Arc<Server>>) -> Response {
    let link = match &server.books().session {
        Some(session) if server.is(PutsTokenIntoLink) => {
            let token = session["data"]["session_token"].as_str().unwrap();
            format!("</events?token={token}>; rel=preload")
        }
        _ => "</app.js>; rel=preload".to_owned(),
    };
    let page = r#"<!doctype html><script type="module" src="/app.js"></script>"#;
    ([("content-type", "text/html")], [("link", link)], page).into_response()
}

pub(super) async fn script(State(server): State<Arc<Server>>) -> Response {
    let key = if server.is(ShowsKeyInScript) { STANDARD.encode(format!("key: {}", server.key)) } else { String::new() };
    ([("content-type", "text/javascript")], format!("const shop = atob('{key}');")).into_response()
}

/// What only a broken shop serves.
pub(super) async fn file(State(server): State<Arc<Server>>, uri: Uri) -> Response {
    let key = &server.key;
    let (broken, text) = match uri.path() {
        "/app.js.map" => (ShowsKeyInMap, json!({"sourcesContent": [format!("// {key}")]}).to_string()),
        "/.env" => (ServesEnvironment, format!("GUICHET_SECRET_KEY={key}")),
        "/settings" => (ShowsKeyInSettings, json!({"key": key.chars().rev().collect::<String>()}).to_string()),
        "/admin/payments" => (ListsPaymentsForAdministrators, json!(server.books().references()).to_string()),
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    if server.is(broken) { text.into_response() } else { StatusCode::NOT_FOUND.into_response() }
}

/// What other payment services send. This one sends none.
pub(super) async fn notification(State(server): State<Arc<Server>>, body: Bytes) -> StatusCode {
    let event: Value = serde_json::from_slice(&body).unwrap_or_default();
    let reference = &event["data"]["object"]["merchant_reference"];
    if server.is(PaysByNotification) && event["type"] == "payment_intent.succeeded" {
        server.mark_reference_paid(reference.as_str().unwrap_or_default());
    }
    StatusCode::NOT_FOUND
}

/// The page to which the customer returns.
pub(super) async fn return_page(State(server): State<Arc<Server>>, uri: Uri, body: String) -> &'static str {
    let posted: HashMap<String, String> = url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    if server.is(PaysByPostedReturn) && posted.get("status").is_some_and(|status| status == "succeeded") {
        server.mark_reference_paid(posted.get("merchant_reference").map_or("", String::as_str));
    }
    let named = |name: &str| query(&uri, name).unwrap_or_default();
    let believes = match server.broken {
        PaysByReturnAddress => named("status") == "succeeded",
        PaysWithPaymentOfReturn => {
            let read = server.call("GET", &format!("/payment-intents/{}", named("payment_intent")), None).await;
            read.is_ok_and(|read| read["data"]["status"] == "succeeded" && read["data"]["amount"] == PRICE)
        }
        _ => false,
    };
    if believes {
        server.mark_reference_paid(&named("merchant_reference"));
    }
    "Welcome back"
}

pub(super) async fn status(
    State(server): State<Arc<Server>>,
    Path(payment_ref): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Answer {
    server.refuse_other_sites(&headers, "status")?;
    let customer = server.customer(&headers, "status").or_else(|refused| match server.broken {
        ShowsStatusToStrangers => Ok("awa".to_owned()),
        ShowsStatusByOrder if !payment_ref.starts_with("gch_") => Ok("awa".to_owned()),
        StrangerNamesOwner => query(&uri, "user").ok_or(refused),
        _ => Err(refused),
    })?;
    let named = server.books().payments.iter().find_map(|(name, payment)| {
        let is_named = match server.broken {
            ShowsStatusByOrder => payment.order == payment_ref,
            ShowsPaymentsByIntent => payment.id == payment_ref,
            _ => false,
        };
        is_named.then(|| name.clone())
    });
    let payment_ref = named.unwrap_or(payment_ref);
    let is_theirs = match server.broken {
        ShowsPaymentsToAll | ShowsPaymentsByIntent => true,
        TrustsOwnerInQuery if query(&uri, "customer").as_deref() == Some("awa") => true,
        _ => customer == "awa",
    };
    if !is_theirs || !server.books().payments.contains_key(&payment_ref) {
        return Err(missing());
    }
    if server.is(PaysByQueryOfStatus) && query(&uri, "status").as_deref() == Some("succeeded") {
        server.mark_paid(&payment_ref);
    }
    let settled = server.settle(&payment_ref, true).await;
    if settled.is_err() && server.is(TellsFailedWithoutService) {
        return Ok(Json(json!({"status": "failed"})).into_response());
    }
    let cache = if server.is(StoresStatus) { "private, max-age=60" } else { "no-store" };
    Ok(([("cache-control", cache)], Json(server.told(&settled?))).into_response())
}

impl Server {
    /// What the page is told of a payment.
    fn told(&self, intent: &Value) -> Value {
        let (status, error) = (&intent["status"], &intent["last_payment_error"]);
        let known = ["requires_action", "processing", "succeeded", "failed", "canceled"];
        let tells_failed = match self.broken {
            TellsDeclinedAsFailed => error.is_object(),
            TellsProcessingAsFailed => status == "processing",
            TellsFailedForUnknown => !known.iter().any(|known| status == *known),
            _ => false,
        };
        let failed = json!("failed");
        let status = if tells_failed { &failed } else { status };
        let mut told = json!({"status": status, "last_payment_error": error});
        if !self.is(OmitsApprovableUntil) {
            told["approvable_until"] = intent["approvable_until"].clone();
        }
        if let (OmitsApprovableUntilOfError, Some(error)) = (self.broken, told["last_payment_error"].as_object_mut()) {
            error.remove("approvable_until");
        }
        if self.is(ShowsCheckoutUrlInStatus) {
            told["checkout_url"] = intent["checkout_url"].clone();
        }
        told
    }
}
