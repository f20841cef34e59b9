//! The hosted page of a payment, as HTML that needs no script: its address, its cookie, and what its forms do. `decisions.md` 10.

use super::document::{self, Asked, Payment};
use super::front::is_french;
use super::{CHECKOUT, Pages};
use crate::auth::{Caller, client_secret};
use crate::http::read_body;
use crate::problem::Problem;
use crate::rules::{NextAction, Status};
use crate::tokens::same;
use crate::words::Language;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, Uri, header};
use guichet::flow::normalize_phone;
use guichet::operations::{AbandonPaymentIntent, AnswerPaymentIntent, AttachPaymentMethod, CancelPaymentIntent};
use guichet::protocol::{ErrorCode, Fields, Served};
use guichet::values::{IntentId, Moment};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use url::form_urlencoded;

/// The cookie of one payment's page: its value is the client secret, its path that page.
const COOKIE: &str = "guichet_checkout";
/// How long the cookie is kept after the payment has expired, in seconds.
const COOKIE_AFTER_EXPIRY: i64 = 24 * 60 * 60;

/// The parameters of an address, or the fields of a form.
type Parameters = HashMap<String, String>;

/// The page of a payment.
///
/// If the address has the client secret, the response moves it to a cookie and leads to the address without it. With the cookie it is the
/// payment's own page. Otherwise it is the same for every id, known or not: the secret may be in the fragment, which reaches no server.
pub(super) async fn show(
    State(pages): State<Arc<Pages>>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response<Body> {
    let query = parameters(uri.query().unwrap_or_default().as_bytes());
    let language = language(&uri, &headers);
    pages.service.catch_up().await;
    if let Some(secret) = query.get("client_secret") {
        return match holder(&pages, &id, secret).await {
            Ok(Some((caller, id))) => exchange(&pages, &caller, &id, &query).await,
            Ok(None) => link_wrong(&pages, language, StatusCode::NOT_FOUND).await,
            Err(problem) => trouble(&pages, language, &problem).await,
        };
    }
    let Some(secret) = cookie(&headers) else { return pages.site.page(CHECKOUT.name, headers).await };
    match holder(&pages, &id, secret).await {
        Ok(Some((caller, id))) => page(&pages, &caller, &id, Asked::of(&query, language), headers).await,
        Ok(None) => link_wrong(&pages, language, StatusCode::NOT_FOUND).await,
        Err(problem) => trouble(&pages, language, &problem).await,
    }
}

/// Does what a form asks, and leads to the page, which says what has come of it. A form needs the payment's cookie and its own token, so
/// that no other site pays or cancels.
pub(super) async fn act(State(pages): State<Arc<Pages>>, Path(id): Path<String>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let language = language(&parts.uri, &parts.headers);
    let query = parameters(parts.uri.query().unwrap_or_default().as_bytes());
    let form = match read_body(body).await {
        Ok(body) => parameters(&body),
        Err(problem) => return trouble(&pages, language, &problem).await,
    };
    pages.service.catch_up().await;
    let found = match cookie(&parts.headers) {
        Some(secret) => holder(&pages, &id, secret).await,
        None => Ok(None),
    };
    let (caller, id) = match found {
        Ok(Some(found)) => found,
        Ok(None) => return link_wrong(&pages, language, StatusCode::FORBIDDEN).await,
        Err(problem) => return trouble(&pages, language, &problem).await,
    };
    let token = form.get("token").map(String::as_str).unwrap_or_default();
    if !same(pages.service.instance_key.form(&id).expose(), token) {
        return link_wrong(&pages, language, StatusCode::FORBIDDEN).await;
    }
    match execute(&pages, &caller, &id, &form).await {
        Ok(()) => see_other(&format!("/checkout/{id}{}", with_language(&query, &[("plain", "1")]))),
        // The intent's status does not allow it: the page shows the status.
        Err(problem) if problem.status == StatusCode::CONFLICT => {
            see_other(&format!("/checkout/{id}{}", with_language(&query, &[("plain", "1")])))
        }
        Err(problem) if problem.status == StatusCode::UNPROCESSABLE_ENTITY => {
            let phone = form.get("phone").cloned().unwrap_or_default();
            let asked = Asked { problem: Some(problem), phone, ..Asked::of(&query, language) };
            page(&pages, &caller, &id, asked, parts.headers).await
        }
        Err(problem) => trouble(&pages, language, &problem).await,
    }
}

/// Executes the action of a form.
async fn execute(pages: &Pages, caller: &Caller, id: &IntentId, form: &Parameters) -> Result<(), Problem> {
    let service = &pages.service;
    let field = |name: &str| form.get(name).map(|text| text.trim()).unwrap_or_default();
    let attempts: u32 = field("attempts").parse().map_err(|_| Problem::missing("form"))?;
    match field("action") {
        "pay" => {
            let operation = read::<AttachPaymentMethod>(json!({ "id": id, "payment_method": payment_method(&field) }))?;
            service.attach(caller, &operation, Some(attempts)).await?;
        }
        "answer" => {
            let operation = read::<AnswerPaymentIntent>(json!({ "id": id, "otp": digits(field("otp")) }))?;
            service.answer(caller, &operation, Some(attempts)).await?;
        }
        "cancel" => {
            service.cancel(caller, &CancelPaymentIntent::new(id.clone()), Some(attempts)).await?;
        }
        "abandon" => {
            service.abandon(caller, &AbandonPaymentIntent::new(id.clone(), attempts)).await?;
        }
        _ => return Err(Problem::field("action", ErrorCode::ParameterInvalid, "The form has no such action.")),
    }
    Ok(())
}

/// The payment method of a form, in the interface's format.
fn payment_method<'a>(field: &impl Fn(&str) -> &'a str) -> Value {
    if field("type") == "card" {
        let number = |name: &str| digits(field(name)).parse::<u64>().unwrap_or_default();
        let year = number("exp_year");
        let year = if year < 100 { year + 2000 } else { year };
        return json!({ "type": "card", "card": {
            "number": digits(field("number")), "exp_month": number("exp_month"), "exp_year": year, "cvc": field("cvc"),
        } });
    }
    let phone = normalize_phone(field("phone"), Some("CM"));
    let mut method = json!({ "type": "mobile_money", "phone": phone });
    if !field("operator").is_empty() {
        method["operator"] = field("operator").into();
    }
    method
}

fn digits(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace() && *letter != '-').collect()
}

/// Reads an operation as from a request.
fn read<O: Served>(fields: Value) -> Result<O, Problem> {
    let Value::Object(fields) = fields else { return Err(Problem::missing("form")) };
    O::parse(Fields::new(fields)).map_err(Problem::fields)
}

/// The holder of the client secret of this very payment. `None` if the secret is another's or has ended.
async fn holder(pages: &Pages, id: &str, secret: &str) -> Result<Option<(Caller, IntentId)>, Problem> {
    let service = &pages.service;
    let Some(id) = service.instance_key.intent_of(secret).filter(|of| of.as_str() == id) else { return Ok(None) };
    let caller = client_secret(service, id.clone()).await?;
    Ok(matches!(caller, Caller::ClientSecret(..)).then_some((caller, id)))
}

/// Moves the secret of the address to the payment's cookie.
async fn exchange(pages: &Pages, caller: &Caller, id: &IntentId, query: &Parameters) -> Response<Body> {
    let service = &pages.service;
    let (intent, now) = match service.intent_of(caller, id).await {
        Ok(read) => read,
        Err(problem) => return trouble(pages, Language::English, &problem).await,
    };
    let mut response = see_other(&format!("/checkout/{id}{}", with_language(query, &[])));
    let secret = service.instance_key.client_secret(id);
    let lasts = (intent.expires_at.unix() - now.unix() + COOKIE_AFTER_EXPIRY).max(0);
    let secure = if service.public_origin.starts_with("https:") { "; Secure" } else { "" };
    let path = format!("/checkout/{id}");
    let cookie = format!("{COOKIE}={}; Path={path}; Max-Age={lasts}; HttpOnly; SameSite=Lax{secure}", secret.expose());
    response.headers_mut().extend(HeaderValue::try_from(cookie).ok().map(|cookie| (header::SET_COOKIE, cookie)));
    response
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
    pages.site.written(move |assets| document::respond(&service, &payment, &asked, assets, &headers)).await
}

async fn link_wrong(pages: &Pages, language: Language, status: StatusCode) -> Response<Body> {
    pages.site.written(move |assets| document::link_wrong(language, status, assets)).await
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
    let status = problem.status;
    pages.site.written(move |assets| document::trouble(language, status, assets)).await
}

fn see_other(address: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().extend(HeaderValue::try_from(address).ok().map(|address| (header::LOCATION, address)));
    response
}

fn parameters(text: &[u8]) -> Parameters {
    form_urlencoded::parse(text).into_owned().collect()
}

/// The query of an address of the page, which keeps the language that the customer has chosen.
fn with_language(query: &Parameters, more: &[(&str, &str)]) -> String {
    let language = query.get("lang").map(|language| ("lang", if language.starts_with("fr") { "fr" } else { "en" }));
    let all: Vec<String> = language.iter().chain(more).map(|(name, value)| format!("{name}={value}")).collect();
    if all.is_empty() { String::new() } else { format!("?{}", all.join("&")) }
}

fn language(uri: &Uri, headers: &HeaderMap) -> Language {
    if is_french(uri.query(), headers) { Language::French } else { Language::English }
}

/// The value of the payment's cookie.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let sent = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    sent.flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(name, value)| (name == COOKIE).then_some(value))
}

impl Asked {
    fn of(query: &Parameters, language: Language) -> Self {
        Self {
            language,
            chosen_language: query.contains_key("lang"),
            without_script: query.contains_key("plain"),
            choosing: query.contains_key("choose"),
            problem: None,
            phone: String::new(),
        }
    }

    /// The address of the payment's page for the same customer.
    pub(super) fn address(&self, id: &IntentId, more: &[(&str, &str)]) -> String {
        let language = self.chosen_language.then(|| ("lang".to_owned(), self.language.code().to_owned()));
        format!("/checkout/{id}{}", with_language(&language.into_iter().collect(), more))
    }
}

impl Payment {
    /// Until when an operator may still take the money of a declined attempt, in Unix seconds.
    pub(super) fn is_open_until(&self) -> Option<i64> {
        self.intent.state.approvable_until().filter(|until| *until > self.now.unix())
    }

    /// Whether the customer may choose a method now.
    pub(super) fn is_payable(&self, choosing: bool) -> bool {
        let state = &self.intent.state;
        let step = state.next_action.filter(|_| !choosing || state.next_action == Some(NextAction::Confirm));
        state.status == Status::RequiresAction && step.is_none()
    }
}

/// A time of today at the customer's: the operators' country is one hour ahead of UTC all year.
pub(super) fn time_of(unix: i64) -> String {
    let minutes = Moment::from_unix(unix).unix().div_euclid(60) + 60;
    format!("{:02}:{:02} (UTC+1)", minutes.div_euclid(60).rem_euclid(24), minutes.rem_euclid(60))
}
