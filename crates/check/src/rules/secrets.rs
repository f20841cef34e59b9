//! Secrets, where an attacker looks for them.

use crate::environment::Response;
use crate::leaks::Secrets;
use crate::outcome::{Outcome, RuleError, not_checked};
use crate::page_files::load_page;
use crate::service::{Call, Kind, Target};
use crate::shop::{CheckedShop, Customer, Exchange};
use serde_json::Value;

/// What an attacker could look into.
pub(crate) struct Answers {
    /// Every response of the shop, with its request.
    responses: Vec<(String, Response)>,
    /// Every call of the shop to the service.
    calls: Vec<Call>,
}

impl Answers {
    /// Makes them: those of the three routes, those to what goes wrong, and the files of the page.
    pub(super) async fn provoke(shop: &CheckedShop) -> Result<Self, RuleError> {
        if let Ok(customer) = shop.customer(0).await {
            provoke(shop, &customer).await;
            load_page(shop, &customer).await;
        }
        Ok(Self { responses: shop.responses.borrow().clone(), calls: shop.service.calls_since(0) })
    }

    /// The fields of a payment in which one of these secrets is.
    fn sent_with(&self, secrets: &[&Secrets]) -> Option<String> {
        let mut sent = self.calls.iter().filter(|call| call.is_creation()).map(|call| call.body.to_string());
        sent.find(|sent| secrets.iter().any(|secrets| secrets.is_in(sent)))
    }
}

async fn provoke(shop: &CheckedShop, customer: &Customer) {
    ask(shop, customer).await;
    shop.open_page(customer).await;
    for kind in [Kind::Refuse(401), Kind::Malformed] {
        let _interfering = shop.service.interfere(Target::Every, kind);
        ask(shop, customer).await;
    }
    for body in [
        "{",
        "",
        "null",
        "[]",
        "1",
        "\"17\"",
        "{\"id\":null}",
        "{\"id\":{}}",
        "{\"id\":[\"17\"]}",
        "{\"id\":\"\\u0000\"}",
    ] {
        let odd = shop.route_request(customer, "POST", "/intents").on_own_page();
        odd.body("application/json", body.to_owned()).send().await;
    }
    for path in ["/intents/gch_unknown", "/intents/%00", "/unknown"] {
        shop.route_request(customer, "GET", path).on_own_page().send().await;
    }
}

/// Requests a session, a payment and its status.
async fn ask(shop: &CheckedShop, customer: &Customer) -> Vec<Exchange> {
    let mut exchanges = vec![shop.request_session(customer).await];
    let Some(order) = shop.any_order() else { return exchanges };
    let exchange = shop.send_order(customer, &order).await;
    let payment = shop.payment(&order, exchange.clone());
    exchanges.push(exchange);
    if let Ok(payment) = payment {
        exchanges.push(shop.status(customer, &payment).await);
    }
    exchanges
}

pub(super) async fn token_in_no_url(shop: &CheckedShop, answers: &Answers) -> Outcome {
    let tokens = shop.service.session_tokens();
    if tokens.is_empty() {
        return not_checked("The shop has created no session: see session_needs_login.");
    }
    let tokens = Secrets::new(&tokens);
    let has_token = |text: &str| tokens.is_in(text);
    for call in &answers.calls {
        let return_address = call.body["redirect_url"].as_str().unwrap_or_default();
        if has_token(&call.path) || has_token(&call.referer) || has_token(return_address) {
            let sent = format!("{} {} (Referer: {}) {}", call.method, call.path, call.referer, call.body);
            let why = "The shop's call to the service has a session token in an address.".into();
            let came = "It is a call of the shop to the service.".to_owned();
            return Err(RuleError::Failed { why, sent, came });
        }
    }
    for (sent, response) in &answers.responses {
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

pub(super) async fn secrets_where_needed(shop: &CheckedShop, answers: &Answers) -> Outcome {
    let tokens = Secrets::new(&shop.service.session_tokens());
    let client_secrets = Secrets::new(&shop.service.client_secrets());
    if let Some(came) = answers.sent_with(&[&tokens, &client_secrets]) {
        let why = "The shop put a session token or a client secret into the fields of a payment.".into();
        return Err(RuleError::Failed { why, sent: "POST /v1/payment-intents".into(), came });
    }
    let session = format!("POST {}/session", shop.options.shop.routes);
    let intents = format!("POST {}/intents", shop.options.shop.routes);
    for (sent, response) in &answers.responses {
        let (is_session, is_intents) = (is_to(sent, &session), is_to(sent, &intents));
        let headers: Vec<&str> = response
            .headers
            .iter()
            .filter(|(name, _)| !(is_intents && name.eq_ignore_ascii_case("location")))
            .map(|(_, value)| value.as_str())
            .collect();
        let body = if is_intents { without_checkout_url(&response.body) } else { response.body.clone() };
        let why = if headers.iter().any(|value| tokens.is_in(value) || client_secrets.is_in(value)) {
            "A header of this answer has a session token or a client secret."
        } else if !is_session && tokens.is_in(&body) {
            "This answer has a session token, and only POST /session needs one."
        } else if client_secrets.is_in(&body) {
            "This answer has a client secret, which is needed in the checkout_url of POST /intents alone."
        } else {
            continue;
        };
        let came = format!("{} {}", response.status, response.body);
        return Err(RuleError::Failed { why: why.into(), sent: sent.clone(), came });
    }
    Ok(())
}

/// Whether a request was sent to this method and path.
fn is_to(sent: &str, route: &str) -> bool {
    sent.strip_prefix(route).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '?']))
}

/// The JSON of an answer without the address that the page opens.
fn without_checkout_url(body: &str) -> String {
    let Ok(mut json) = serde_json::from_str::<Value>(body) else { return body.to_owned() };
    if let Some(intent) = json["intent"].as_object_mut() {
        intent.remove("checkout_url");
    }
    json.to_string()
}

pub(super) async fn answers_are_not_stored(shop: &CheckedShop) -> Outcome {
    let customer = shop.customer(0).await?;
    for exchange in ask(shop, &customer).await.iter().filter(|exchange| exchange.is_success()) {
        let Ok(response) = &exchange.response else { continue };
        let control = response.headers("cache-control").collect::<Vec<_>>().join(",").to_ascii_lowercase();
        let has = |directive: &str| control.split(',').any(|found| found.trim() == directive);
        let may_be_kept = |name: &str| {
            let seconds = control.split(',').filter_map(|found| found.trim().strip_prefix(name)?.parse::<u64>().ok());
            seconds.max().is_some_and(|seconds| seconds > 0)
        };
        let is_session = exchange.sent.contains("/session");
        let is_stored = has("public") || may_be_kept("max-age=") || may_be_kept("s-maxage=");
        if !has("no-store") && (is_session || is_stored) {
            let why = if control.is_empty() {
                "The answer has no Cache-Control: no-store.".to_owned()
            } else {
                format!("The answer may be stored: Cache-Control is {control}.")
            };
            return Err(exchange.fail(why));
        }
    }
    Ok(())
}

pub(super) async fn key_in_no_answer(shop: &CheckedShop, answers: &Answers) -> Outcome {
    let key = Secrets::new(&[shop.service.secret_key().to_owned()]);
    if let Some(came) = answers.sent_with(&[&key]) {
        let why = "The secret key is in a field of a payment, and the customer sees these fields.".into();
        return Err(RuleError::Failed { why, sent: "POST /v1/payment-intents".into(), came });
    }
    for (sent, response) in &answers.responses {
        let headers = response.headers.iter().any(|(_, value)| key.is_in(value));
        if headers || key.is_in(&response.body) {
            let why = format!("The secret key is in the {} of this answer.", if headers { "headers" } else { "body" });
            return Err(RuleError::Failed { why, sent: sent.clone(), came: response.status.to_string() });
        }
    }
    Ok(())
}

pub(super) async fn secrets_are_not_logged(shop: &CheckedShop, _: &Answers) -> Outcome {
    let secrets = [
        ("the secret key", vec![shop.service.secret_key().to_owned()]),
        ("a session token", shop.service.session_tokens()),
        ("a client secret", shop.service.client_secrets()),
    ];
    for file in &shop.options.logs {
        let text = shop.environment.read(file).await;
        let text = text.or_else(|why| not_checked(format!("--log: {file} cannot be read: {why}")))?;
        for (name, secrets) in &secrets {
            let secrets = Secrets::new(secrets);
            if let Some(line) = text.lines().find(|line| secrets.is_in(line)) {
                let (why, came) = (format!("{file} has {name}."), line.to_owned());
                return Err(RuleError::Failed { why, sent: "the requests of the check".into(), came });
            }
        }
    }
    Ok(())
}
