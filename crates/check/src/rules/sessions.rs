//! Sessions and secrets.

use crate::shop::Customer;
use crate::{Check, Outcome, RuleError, not_checked};
use serde_json::{Value, json};

pub(super) async fn session_needs_login(check: &Check) -> Outcome {
    let (mark, visitor) = (check.service.mark(), Customer::default());
    // The page sets the cookie of a CSRF token.
    check.open_page(&visitor).await;
    let exchange = check.route_request(&visitor, "POST", "/session").on_own_page().json(&json!({})).send().await;
    if !exchange.is_sign_in_required() {
        return Err(exchange.fail("A stranger, who is not signed in, was not answered with 401."));
    }
    if check.service.calls_since(mark).iter().any(|call| call.path == "/v1/sessions/create") {
        return Err(exchange.fail("The shop created a session for a stranger."));
    }
    let customer = check.customer(0).await?;
    let exchange = check.route_request(&customer, "POST", "/session").on_own_page().json(&json!({})).send().await;
    if exchange.is_sign_in_required() && check.options.logins.is_empty() {
        return not_checked("Missing option --login: a stranger gets no session, and nobody is signed in.");
    }
    let body = exchange.json();
    let session = if body["data"].is_object() { &body["data"] } else { &body };
    let is_issued = |token: &Value| {
        token.as_str().is_some_and(|token| check.service.session_tokens().iter().any(|issued| issued == token))
    };
    if !exchange.is_success() || !is_issued(&session["session_token"]) || !session["expires_at"].is_string() {
        let why = "A customer who is signed in did not get the service's session_token and expires_at.";
        return Err(exchange.fail(why));
    }
    Ok(())
}

pub(super) async fn token_in_no_url(check: &Check) -> Outcome {
    let customer = check.customer(0).await?;
    check.route_request(&customer, "POST", "/session").on_own_page().json(&json!({})).send().await;
    let tokens = check.service.session_tokens();
    if tokens.is_empty() {
        return not_checked("The shop has created no session: see session_needs_login.");
    }
    let has_token = |text: &str| tokens.iter().any(|token| text.contains(token.as_str()));
    for call in check.service.calls_since(0) {
        let return_address = call.body["redirect_url"].as_str().unwrap_or_default();
        if has_token(&call.path) || has_token(&call.referer) || has_token(return_address) {
            let sent = format!("{} {} (Referer: {}) {}", call.method, call.path, call.referer, call.body);
            let why = "The shop's call to the service has a session token in an address.".into();
            return Err(RuleError::Failed { why, sent, came: String::new() });
        }
    }
    for (sent, response) in check.responses.borrow().iter() {
        for name in ["location", "refresh", "link", "content-location"] {
            if let Some(value) = response.headers(name).find(|value| has_token(value)) {
                let why = "The shop's answer has a session token in an address.".into();
                let came = format!("{} {name}: {value}", response.status);
                return Err(RuleError::Failed { why, sent: sent.clone(), came });
            }
        }
    }
    Ok(())
}

/// It is checked last, on every answer that the other rules got.
pub(super) async fn key_in_no_answer(check: &Check) -> Outcome {
    let key = check.service.secret_key();
    for (sent, response) in check.responses.borrow().iter() {
        let headers = response.headers.iter().any(|(_, value)| value.contains(key));
        if headers || response.body.contains(key) {
            let why = format!("The secret key is in the {} of this answer.", if headers { "headers" } else { "body" });
            return Err(RuleError::Failed { why, sent: sent.clone(), came: response.status.to_string() });
        }
    }
    Ok(())
}
