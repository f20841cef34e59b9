//! The hosted page of a payment, as HTML that needs no script: its address, its cookie, and what its forms do.
//! `decisions.md` 10.

use super::document::{self, Asked, Payment};
use super::{LANGUAGE_COOKIE, Pages, cookie, language_of};
use crate::FaultKind;
use crate::auth::client_secret;
use crate::caller::Caller;
use crate::http::{RETRY_AFTER, observe, read_body};
use crate::problem::Problem;
use crate::requests::Request as Received;
use crate::rules::{CAMEROON, Intent, Status};
use crate::service::Service;
use crate::tokens::{self, same};
use crate::words::Language;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, Uri, header};
use guichet::operations::{AbandonPaymentIntent, AnswerPaymentIntent, AttachPaymentMethod, CancelPaymentIntent};
use guichet::protocol::{CredentialKind, ErrorCode, Fields, Operation, Served};
use guichet::values::{IntentId, Moment, normalize_code, normalize_digits, normalize_phone, normalize_year};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use url::form_urlencoded;

/// The cookie of one payment's page: its value is the client secret, its path that page.
const COOKIE: &str = "guichet_checkout";
/// How long that cookie is kept, in seconds, while the payment's status is not final. Each page of the payment renews
/// it.
const COOKIE_WHILE_OPEN: i64 = 2 * 24 * 60 * 60;

/// The parameters of an address, or the fields of a form.
pub(super) type Parameters = HashMap<String, String>;

/// The page of a payment.
///
/// If the address has the client secret, the response moves it to a cookie and leads to the address without it. With
/// the cookie it is the payment's own page. Otherwise it is the same for every id, known or not, and its script moves a
/// secret in the fragment to the query.
pub(super) async fn show(
    State(pages): State<Arc<Pages>>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response<Body> {
    let query = parameters(uri.query().unwrap_or_default().as_bytes());
    let language = language_of(&uri, &headers);
    pages.service.catch_up().await;
    let in_address = query.get("client_secret").map(String::as_str);
    let found = match holder(&pages, &id, in_address).await {
        // A link that was cut or changed keeps no customer out who has the cookie.
        Ok(None) => holder(&pages, &id, cookie(&headers, COOKIE)).await,
        found => found,
    };
    let mut response = match found {
        Ok(Some((caller, id))) if in_address.is_some() => exchange(&pages, &caller, &id, language).await,
        Ok(Some((caller, id))) => {
            caller.known_merchant().into_iter().for_each(|merchant| merchant.add_visit(id.as_str()));
            let asked = Asked { choosing: query.contains_key("choose"), ..Asked::of(language) };
            page(&pages, &caller, &id, asked, headers).await
        }
        Ok(None) => link_wrong(&pages, language, StatusCode::NOT_FOUND).await,
        Err(problem) => trouble(&pages, language, &problem).await,
    };
    // It is kept for a payment alone: a path of anyone's is not written into a cookie.
    if query.contains_key("lang") && response.status() != StatusCode::NOT_FOUND {
        set_cookie(&mut response, &format!("{LANGUAGE_COOKIE}={}; Path=/checkout/{id}; SameSite=Lax", language.code()));
    }
    response
}

fn set_cookie(response: &mut Response<Body>, cookie: &str) {
    response.headers_mut().extend(HeaderValue::try_from(cookie).ok().map(|cookie| (header::SET_COOKIE, cookie)));
}

/// Does what a form asks, and leads to the page, which says what has come of it. A form needs the payment's cookie and
/// its own token, so that no other site pays or cancels. The control API lists it, and lets it fail, as the operation
/// that it stands for.
pub(super) async fn act(State(pages): State<Arc<Pages>>, Path(id): Path<String>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let language = language_of(&parts.uri, &parts.headers);
    pages.service.catch_up().await;
    let (caller, id) = match holder(&pages, &id, cookie(&parts.headers, COOKIE)).await {
        Ok(Some(found)) => found,
        Ok(None) => return link_wrong(&pages, language, StatusCode::FORBIDDEN).await,
        Err(problem) => return trouble(&pages, language, &problem).await,
    };
    let form = match read_body(body).await {
        Ok(body) => parameters(&body),
        Err(problem) => return trouble(&pages, language, &problem).await,
    };
    let token = form.get("token").map(String::as_str).unwrap_or_default();
    if !same(pages.service.instance_key.form(&id).expose(), token) {
        return link_wrong(&pages, language, StatusCode::FORBIDDEN).await;
    }
    let spec = match form.get("action").map(String::as_str) {
        Some("pay") => AttachPaymentMethod::SPEC,
        Some("answer") => AnswerPaymentIntent::SPEC,
        Some("cancel") => CancelPaymentIntent::SPEC,
        Some("abandon") => AbandonPaymentIntent::SPEC,
        _ => return see_other(&format!("/checkout/{id}")),
    };
    let Some(merchant) = caller.known_merchant().cloned() else {
        return link_wrong(&pages, language, StatusCode::FORBIDDEN).await;
    };
    let fault = merchant.take_fault(spec.name);
    let kind = Some(CredentialKind::ClientSecret);
    let received = Received::new(merchant.now(), &spec, Some(id.as_str()), kind, &tokens::id("req_"));
    let response = observe(&merchant, received, fault, spec.envelope, async {
        // Reading the body or a fault may have taken time.
        pages.service.catch_up().await;
        match execute(&pages, &caller, &id, &form).await {
            Ok(()) => see_other(&format!("/checkout/{id}")),
            // The intent's status does not allow it: the page shows the status.
            Err(problem) if problem.status == StatusCode::CONFLICT => see_other(&format!("/checkout/{id}")),
            Err(problem) if problem.status == StatusCode::UNPROCESSABLE_ENTITY => {
                let typed = |name| form.get(name).cloned().unwrap_or_default();
                let (kind, phone) = (typed("type"), typed("phone"));
                // The form of a method is also on the page of a customer who wants another one than the one that asks
                // for a step.
                let choosing = spec.name == AttachPaymentMethod::SPEC.name;
                let asked = Asked { problem: Some(problem), kind, phone, choosing, ..Asked::of(language) };
                page(&pages, &caller, &id, asked, parts.headers).await
            }
            Err(problem) => trouble(&pages, language, &problem).await,
        }
    })
    .await;
    match fault {
        // A customer reads a page, not the interface's error.
        Some(FaultKind::Status { .. }) => {
            let (status, retry_after) = (response.status(), response.headers().get(header::RETRY_AFTER).cloned());
            trouble_page(&pages, language, status, retry_after).await
        }
        _ => response,
    }
}

/// Executes the action of a form. An outdated form is not validated: the page says what has become of the payment.
async fn execute(pages: &Pages, caller: &Caller, id: &IntentId, form: &Parameters) -> Result<(), Problem> {
    let service = &pages.service;
    let field = |name: &str| form.get(name).map(|text| text.trim()).unwrap_or_default();
    let version: i64 = field("version").parse().map_err(|_| Problem::missing("form"))?;
    let (Intent { state, version: current, .. }, _) = service.intent_of(caller, id).await?;
    let is_possible = (state.status == Status::RequiresAction) != (field("action") == "abandon");
    if version != current || !is_possible {
        return Ok(());
    }
    match field("action") {
        "pay" => {
            let operation = read::<AttachPaymentMethod>(json!({ "id": id, "payment_method": payment_method(&field) }))?;
            service.attach(caller, &operation, Some(version)).await?;
        }
        "answer" => {
            let operation = read::<AnswerPaymentIntent>(json!({ "id": id, "otp": one_time_code(field("otp")) }))?;
            service.answer(caller, &operation, Some(version)).await?;
        }
        "cancel" => {
            service.cancel(caller, &CancelPaymentIntent::new(id.clone()), Some(version)).await?;
        }
        _ => {
            service.abandon(caller, &AbandonPaymentIntent::new(id.clone(), state.attempts)).await?;
        }
    }
    Ok(())
}

/// The payment method of a form, in the interface's format.
fn payment_method<'a>(field: &impl Fn(&str) -> &'a str) -> Value {
    if field("type") == "card" {
        let (month, year) = (normalize_digits(field("exp_month")), normalize_year(field("exp_year")));
        // A month that was typed with its year: 12 / 34.
        let (month, year) = match month.split_at_checked(2) {
            Some((month, with)) if year.is_empty() => (month.to_owned(), normalize_year(with)),
            _ => (month, year),
        };
        let number = |text: &str| text.parse::<u64>().unwrap_or_default();
        return json!({ "type": "card", "card": {
            "number": normalize_digits(field("number")), "exp_month": number(&month), "exp_year": number(&year),
            "cvc": normalize_digits(field("cvc")),
        } });
    }
    let phone = normalize_phone(field("phone"), Some("CM"));
    // A number of another country has none of these operators.
    let has_operator = !field("operator").is_empty() && phone.starts_with(CAMEROON);
    let mut method = json!({ "type": "mobile_money", "phone": phone });
    if has_operator {
        method["operator"] = field("operator").into();
    }
    method
}

/// The code that the customer received. The sandbox's codes are digits.
fn one_time_code(typed: &str) -> Option<String> {
    normalize_code(typed).ok().filter(|code| code.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reads an operation as from a request.
fn read<O: Served>(fields: Value) -> Result<O, Problem> {
    let Value::Object(fields) = fields else { return Err(Problem::missing("form")) };
    O::parse(Fields::new(fields)).map_err(Problem::fields)
}

/// The holder of the client secret of this very payment. `None` if there is no secret, or it is another's or has ended.
async fn holder(pages: &Pages, id: &str, secret: Option<&str>) -> Result<Option<(Caller, IntentId)>, Problem> {
    let service = &pages.service;
    let of = secret.and_then(|secret| service.instance_key.intent_of(secret));
    let Some(id) = of.filter(|of| of.as_str() == id) else { return Ok(None) };
    let caller = client_secret(service, id.clone()).await?;
    Ok(matches!(caller, Caller::ClientSecret(..)).then_some((caller, id)))
}

/// Moves the secret of the address to the payment's cookie.
async fn exchange(pages: &Pages, caller: &Caller, id: &IntentId, language: Language) -> Response<Body> {
    let service = &pages.service;
    let (intent, now) = match service.intent_of(caller, id).await {
        Ok(read) => read,
        Err(problem) => return trouble(pages, language, &problem).await,
    };
    let mut response = see_other(&format!("/checkout/{id}"));
    set_cookie(&mut response, &secret_cookie(service, &intent, now));
    response
}

/// The payment's cookie, which ends with the client secret that it holds.
fn secret_cookie(service: &Service, intent: &Intent, now: Moment) -> String {
    let secret = service.instance_key.client_secret(&intent.id);
    let lasts = intent.secret_ends_at().map_or(COOKIE_WHILE_OPEN, |end| end.unix() - now.unix());
    let secure = if service.public_origin.starts_with("https:") { "; Secure" } else { "" };
    let path = format!("/checkout/{}", intent.id);
    format!("{COOKIE}={}; Path={path}; Max-Age={lasts}; HttpOnly; SameSite=Lax{secure}", secret.expose())
}

/// The payment's own page.
async fn page(pages: &Pages, caller: &Caller, id: &IntentId, asked: Asked, headers: HeaderMap) -> Response<Body> {
    let service = Arc::clone(&pages.service);
    let (intent, now) = match service.intent_of(caller, id).await {
        Ok(read) => read,
        Err(problem) => return trouble(pages, asked.language, &problem).await,
    };
    let payment = Payment {
        merchant: caller.known_merchant().map(|merchant| merchant.name().to_owned()).unwrap_or_default(),
        operators: caller.known_merchant().map(|merchant| merchant.operators()).unwrap_or_default(),
        intent,
        now,
    };
    let cookie = secret_cookie(&service, &payment.intent, now);
    let mut response =
        pages.site.respond(move |files| document::respond(&service, &payment, &asked, files, &headers)).await;
    set_cookie(&mut response, &cookie);
    response
}

pub(super) async fn link_wrong(pages: &Pages, language: Language, status: StatusCode) -> Response<Body> {
    pages.site.respond(move |files| document::link_wrong(language, status, files)).await
}

async fn trouble(pages: &Pages, language: Language, problem: &Problem) -> Response<Body> {
    if problem.code == ErrorCode::ResourceMissing {
        return link_wrong(pages, language, StatusCode::NOT_FOUND).await;
    }
    if problem.closes_connection {
        return crate::http::refuse(
            Problem::new(problem.code.clone(), problem.message.clone()).without_response(),
            "",
            guichet::protocol::Envelope::Standard,
        );
    }
    let retry_after = problem.retryable().then_some(HeaderValue::from_static(RETRY_AFTER));
    trouble_page(pages, language, problem.status, retry_after).await
}

async fn trouble_page(
    pages: &Pages,
    language: Language,
    status: StatusCode,
    retry_after: Option<HeaderValue>,
) -> Response<Body> {
    let mut response = pages.site.respond(move |files| document::trouble(language, status, files)).await;
    response.headers_mut().extend(retry_after.map(|seconds| (header::RETRY_AFTER, seconds)));
    response
}

pub(super) fn see_other(address: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().extend(HeaderValue::try_from(address).ok().map(|address| (header::LOCATION, address)));
    response
}

pub(super) fn parameters(text: &[u8]) -> Parameters {
    form_urlencoded::parse(text).into_owned().collect()
}

impl Asked {
    fn of(language: Language) -> Self {
        Self { language, choosing: false, problem: None, kind: String::new(), phone: String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guichet::protocol::FieldError;

    /// The country of the forms is Cameroon.
    #[test]
    fn forms_read_what_people_type_and_paste_as_the_package_does() {
        let cases: Value = serde_json::from_str(include_str!("../../../../tests/typed.json")).unwrap();
        let cases = |of: &str| cases[of].as_array().unwrap();
        for case in cases("phones").iter().filter(|case| case.get("country").is_none_or(|country| country == "CM")) {
            let phone = case["phone"].as_str().map(|phone| json!({ "type": "mobile_money", "phone": phone }));
            assert_eq!(method(&json!({ "phone": case["typed"] })).ok(), phone, "{case}");
        }
        for case in cases("codes") {
            let digits = case["otp"].as_str().filter(|otp| otp.bytes().all(|byte| byte.is_ascii_digit()));
            assert_eq!(one_time_code(case["typed"].as_str().unwrap()).as_deref(), digits, "{case}");
        }
        for case in cases("cards").iter().chain(cases("months_with_a_year")) {
            let typed = json!({ "type": "card", "number": "4242424242424242", "exp_month": "12", "exp_year": "2034", "cvc": "123" });
            match method(&with(typed, &case["typed"])) {
                Ok(method) => {
                    let card = json!({ "number": "4242424242424242", "exp_month": 12, "exp_year": 2034, "cvc": "123" });
                    let card = with(card, case.get("card").unwrap_or_else(|| panic!("{case}")));
                    assert_eq!(method, json!({ "type": "card", "card": card }), "{case}");
                }
                Err(errors) => {
                    let params = errors.iter().map(|error| error.param.replace("payment_method.card.", ""));
                    assert_eq!(json!(params.collect::<Vec<_>>()), case["wrong"], "{case}");
                }
            }
        }
    }

    /// The payment method that the service reads of a form's fields.
    fn method(fields: &Value) -> Result<Value, Vec<FieldError>> {
        let method = payment_method(&|name: &str| fields[name].as_str().unwrap_or_default());
        let Value::Object(fields) = json!({ "id": "pi_1", "payment_method": method }) else { unreachable!() };
        AttachPaymentMethod::parse(Fields::new(fields)).map(|attach| json!(attach.payment_method))
    }

    fn with(mut members: Value, others: &Value) -> Value {
        members.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        members
    }
}
