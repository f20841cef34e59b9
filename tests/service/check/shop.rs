//! A small shop, written by hand as a merchant would, which can be broken in exactly one point.
#![allow(clippy::result_large_err, reason = "an error is the response of a handler")]

use crate::support::port;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use guichet::native::reqwest;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The orders of the customer awa.
pub const ORDERS: [&str; 6] = ["17", "18", "19", "20", "21", "22"];
const PRICE: &str = "45000";

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Broken {
    Nothing,
    OmitsCheckoutUrl,
    GivesStrangersSessions,
    PutsTokenIntoAddress,
    TakesPriceFromPage,
    MakesNewReferenceEachTime,
    ForgetsNonceAtRestart,
    AnswersAnotherNonce,
    ShowsPaymentsToAll,
    TrustsOrigins,
    TrustsNull,
    TrustsSameSite,
    TrustsCrossSite,
    TakesTextPlain,
    TrustsForms,
    HandsRefusalsOn,
    BreaksOnHtml,
    WaitsForEver,
    IgnoresAmount,
    IgnoresCurrency,
    IgnoresReference,
    IgnoresOwner,
    KeepsDeclinedReference,
    NoTimer,
    MarksTwice,
    GivesUpDeclined,
    IgnoresDuplicates,
    ShowsKey,
}

impl Broken {
    /// Each defect, and the rule that it breaks.
    pub const EACH: [(Self, &'static str); 27] = [
        (Self::OmitsCheckoutUrl, "order_becomes_payment"),
        (Self::GivesStrangersSessions, "session_needs_login"),
        (Self::PutsTokenIntoAddress, "token_in_no_url"),
        (Self::TakesPriceFromPage, "server_decides"),
        (Self::MakesNewReferenceEachTime, "same_order_same_payment"),
        (Self::ForgetsNonceAtRestart, "same_payment_after_restart"),
        (Self::AnswersAnotherNonce, "return_nonce_agrees"),
        (Self::ShowsPaymentsToAll, "other_customer_sees_nothing"),
        (Self::TrustsOrigins, "foreign_origin_refused"),
        (Self::TrustsNull, "null_origin_refused"),
        (Self::TrustsSameSite, "same_site_refused"),
        (Self::TrustsCrossSite, "cross_site_refused"),
        (Self::TakesTextPlain, "text_plain_refused"),
        (Self::TrustsForms, "foreign_form_refused"),
        (Self::HandsRefusalsOn, "refusing_service"),
        (Self::BreaksOnHtml, "unreadable_service"),
        (Self::WaitsForEver, "slow_service"),
        (Self::IgnoresAmount, "wrong_amount_pays_nothing"),
        (Self::IgnoresCurrency, "wrong_currency_pays_nothing"),
        (Self::IgnoresReference, "wrong_reference_pays_nothing"),
        (Self::IgnoresOwner, "wrong_owner_pays_nothing"),
        (Self::KeepsDeclinedReference, "decline_gets_next_reference"),
        (Self::NoTimer, "paid_without_return"),
        (Self::MarksTwice, "paid_once"),
        (Self::GivesUpDeclined, "late_approval_pays"),
        (Self::IgnoresDuplicates, "duplicate_is_refunded"),
        (Self::ShowsKey, "key_in_no_answer"),
    ];
}

/// A running shop.
pub struct Shop {
    pub url: String,
    /// The address at which its service must listen.
    pub service: String,
    /// What it did with each payment: a file named by its reference. The files `restart` and `settle` are requests of a command.
    pub folder: PathBuf,
    _folder: crate::support::folder::Folder,
}

struct Server {
    broken: Broken,
    origin: String,
    service: String,
    key: String,
    folder: PathBuf,
    http: reqwest::Client,
    state: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    restarts: u32,
    created: u32,
    /// How often each order was declined for good.
    declined: HashMap<String, u32>,
    payments: HashMap<String, Payment>,
}

#[derive(Clone)]
struct Payment {
    id: String,
    reference: String,
    order: String,
    declined: u32,
    paid: bool,
    given_up: bool,
    refunds: Vec<u64>,
}

type Answer = Result<Response, Response>;

impl Shop {
    pub async fn open(name: &str, broken: Broken, key: &str) -> Self {
        let kept = crate::support::folder::Folder::new(name);
        let folder = kept.path.clone();
        let service = format!("127.0.0.1:{}", port::free());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let timeout = Duration::from_secs(if broken == Broken::WaitsForEver { 3600 } else { 2 });
        let server = Arc::new(Server {
            broken,
            origin: url.clone(),
            service: format!("http://{service}/v1"),
            key: key.to_owned(),
            folder: folder.clone(),
            http: reqwest::Client::builder().no_proxy().tls_certs_only([]).timeout(timeout).build().unwrap(),
            state: Mutex::default(),
        });
        let router = Router::new()
            .route("/", get(async || "The shop"))
            .route("/login", post(login))
            .route("/guichet/session", post(session))
            .route("/guichet/intents", post(intents))
            .route("/guichet/intents/{payment_ref}", get(status))
            .with_state(Arc::clone(&server));
        tokio::spawn(async move { axum::serve(listener, router).await });
        tokio::spawn(keep_settling(server));
        Self { url, service, folder, _folder: kept }
    }
}

/// The timer. It also does what the commands `--restart` and `--settle` request.
async fn keep_settling(server: Arc<Server>) {
    loop {
        let requested = |name: &str| server.folder.join(name).exists();
        let settle = requested("settle");
        if settle || server.broken != Broken::NoTimer {
            let references: Vec<String> = server.state.lock().unwrap().payments.keys().cloned().collect();
            for payment_ref in references {
                server.settle(&payment_ref, false).await.ok();
            }
        }
        if settle {
            std::fs::remove_file(server.folder.join("settle")).unwrap();
        }
        if requested("restart") {
            server.state.lock().unwrap().restarts += 1;
            std::fs::remove_file(server.folder.join("restart")).unwrap();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Stands for the shop's own login: it trusts any name.
async fn login(body: String) -> Response {
    let name = if body.contains("awa") { "awa" } else { "paul" };
    ([("set-cookie", format!("login={name}; Path=/; HttpOnly; SameSite=Lax"))], "Welcome").into_response()
}

async fn session(State(server): State<Arc<Server>>, headers: HeaderMap) -> Answer {
    server.refuse_other_sites(&headers)?;
    let customer = match customer(&headers) {
        Err(_) if server.broken == Broken::GivesStrangersSessions => "guest".to_owned(),
        customer => customer?,
    };
    let body = json!({"customer_email": email(&customer)});
    let session = server.call("POST", "/sessions/create", Some(body)).await?;
    let token = session["data"]["session_token"].as_str().unwrap_or_default().to_owned();
    let mut response = Json(session).into_response();
    if server.broken == Broken::PutsTokenIntoAddress {
        response.headers_mut().insert("content-location", format!("/sessions/{token}").parse().unwrap());
    }
    Ok(response)
}

async fn intents(State(server): State<Arc<Server>>, headers: HeaderMap, body: Bytes) -> Answer {
    server.refuse_other_sites(&headers)?;
    let customer = customer(&headers)?;
    let (order, by_form) = match content_type(&headers) {
        "application/x-www-form-urlencoded" => {
            let id = String::from_utf8_lossy(&body).trim_start_matches("id=").to_owned();
            (json!({"id": id}), true)
        }
        "application/json" => (serde_json::from_slice(&body).unwrap_or_default(), false),
        _ if server.broken == Broken::TakesTextPlain => (serde_json::from_slice(&body).unwrap_or_default(), false),
        _ => return Err(error(415, "unsupported_media_type")),
    };
    let id = order["id"].as_str().filter(|id| customer == "awa" && ORDERS.contains(id));
    let id = id.ok_or_else(|| error(404, "order_missing"))?;

    let (declined, reference, restarts) = {
        let mut books = server.state.lock().unwrap();
        books.created += 1;
        let declined = books.declined.get(id).copied().unwrap_or(0);
        let mut reference = if declined == 0 { format!("ORDER-{id}") } else { format!("ORDER-{id}.{declined}") };
        if server.broken == Broken::MakesNewReferenceEachTime {
            reference.push_str(&format!("-{}", books.created));
        }
        (declined, reference, books.restarts)
    };
    let salt = if server.broken == Broken::ForgetsNonceAtRestart { restarts } else { 0 };
    let nonce = nonce(&reference, salt);
    let amount = match order["amount"].as_str() {
        Some(amount) if server.broken == Broken::TakesPriceFromPage => amount,
        _ => PRICE,
    };
    let created = json!({
        "firstname": "Awa", "lastname": "Ngono", "email": email(&customer), "amount": amount, "description": "A pair of shoes",
        "merchant_reference": reference, "redirect_url": format!("{}/return?guichet_return={nonce}", server.origin),
    });
    let intent = server.call("POST", "/payment-intents", Some(created)).await?["data"].take();
    let text = |name: &str| intent[name].as_str().unwrap_or_default().to_owned();
    let payment = Payment {
        id: text("id"),
        reference: reference.clone(),
        order: id.to_owned(),
        declined,
        paid: false,
        given_up: false,
        refunds: Vec::new(),
    };
    server.state.lock().unwrap().payments.entry(text("payment_ref")).or_insert(payment);
    if by_form {
        return Ok((StatusCode::SEE_OTHER, [("location", text("checkout_url"))]).into_response());
    }
    let checkout_url = (server.broken != Broken::OmitsCheckoutUrl).then(|| text("checkout_url"));
    let debug = (server.broken == Broken::ShowsKey).then(|| server.key.clone());
    let return_nonce = if server.broken == Broken::AnswersAnotherNonce { self::nonce("another", 0) } else { nonce };
    let intent = json!({
        "id": text("id"), "checkout_url": checkout_url, "payment_ref": text("payment_ref"), "merchant_reference": reference,
        "status": text("status"),
    });
    Ok(Json(json!({"intent": intent, "return_nonce": return_nonce, "debug": debug})).into_response())
}

async fn status(State(server): State<Arc<Server>>, Path(payment_ref): Path<String>, headers: HeaderMap) -> Answer {
    server.refuse_other_sites(&headers)?;
    let customer = customer(&headers)?;
    let is_theirs = customer == "awa" || server.broken == Broken::ShowsPaymentsToAll;
    if !is_theirs || !server.state.lock().unwrap().payments.contains_key(&payment_ref) {
        return Err(error(404, "resource_missing"));
    }
    let status = server.settle(&payment_ref, true).await?;
    Ok(Json(json!({"status": status})).into_response())
}

impl Server {
    /// Reads a payment with the key, compares it with the order, and stores what became of it. Returns its status.
    async fn settle(&self, payment_ref: &str, for_page: bool) -> Result<String, Response> {
        let payment = self.state.lock().unwrap().payments[payment_ref].clone();
        if payment.given_up {
            return Ok("requires_action".to_owned());
        }
        let intent = self.call("GET", &format!("/payment-intents/{}", payment.id), None).await?["data"].take();
        let is_the_one_sold = (intent["amount"] == PRICE || self.broken == Broken::IgnoresAmount)
            && (intent["currency"] == "XAF" || self.broken == Broken::IgnoresCurrency)
            && (intent["merchant_reference"] == *payment.reference || self.broken == Broken::IgnoresReference)
            && (intent["customer"]["email"] == email("awa") || self.broken == Broken::IgnoresOwner);
        if !is_the_one_sold {
            return Err(error(409, "payment_mismatch"));
        }
        let mut books = self.state.lock().unwrap();
        let stored = books.payments.get_mut(payment_ref).unwrap();
        let was_paid = if self.broken == Broken::MarksTwice { payment.paid } else { stored.paid };
        if intent["status"] == "succeeded" && !was_paid {
            stored.paid = true;
            self.write(&payment.reference, "paid");
        }
        if for_page && intent["status"] == "requires_action" && !intent["last_payment_error"].is_null() {
            stored.given_up = self.broken == Broken::GivesUpDeclined;
        }
        for duplicate in intent["duplicate_payments"].as_array().into_iter().flatten() {
            let attempt = duplicate["attempt"].as_u64().unwrap_or_default();
            if self.broken != Broken::IgnoresDuplicates && !stored.refunds.contains(&attempt) {
                stored.refunds.push(attempt);
                self.write(&payment.reference, "refund_due");
            }
        }
        if intent["status"] == "failed" && self.broken != Broken::KeepsDeclinedReference {
            books.declined.insert(payment.order, payment.declined + 1);
        }
        Ok(intent["status"].as_str().unwrap_or_default().to_owned())
    }

    fn write(&self, reference: &str, line: &str) {
        let file = std::fs::File::options().create(true).append(true).open(self.folder.join(reference));
        writeln!(file.unwrap(), "{line}").unwrap();
    }

    /// Calls the service with the key.
    async fn call(&self, method: &str, path: &str, body: Option<Value>) -> Result<Value, Response> {
        let request =
            self.http.request(method.parse().unwrap(), format!("{}{path}", self.service)).bearer_auth(&self.key);
        let request = request.header("content-type", "application/json");
        let sent = request.body(body.map(|body| body.to_string()).unwrap_or_default()).send().await;
        let unavailable = |_| error(503, "unavailable");
        let response = sent.map_err(unavailable)?;
        let status = response.status();
        let reply = response.bytes().await.map_err(unavailable)?;
        if status.as_u16() >= 400 {
            if self.broken == Broken::HandsRefusalsOn {
                return Err((status, reply).into_response());
            }
            return Err(error(502, "service_failed"));
        }
        serde_json::from_slice(&reply).map_err(|_| {
            if self.broken == Broken::BreaksOnHtml {
                return (StatusCode::INTERNAL_SERVER_ERROR, "SyntaxError: Unexpected token '<'").into_response();
            }
            error(502, "service_failed")
        })
    }

    fn refuse_other_sites(&self, headers: &HeaderMap) -> Result<(), Response> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        let trusts_form = self.broken == Broken::TrustsForms && content_type(headers).contains("form");
        let origin_is_ours = text("origin").is_none_or(|origin| {
            origin == self.origin
                || (self.broken == Broken::TrustsOrigins && origin.starts_with("https:"))
                || (self.broken == Broken::TrustsNull && origin == "null")
        });
        let site_is_ours = match text("sec-fetch-site").as_deref() {
            None | Some("same-origin" | "none") => true,
            Some("same-site") => self.broken == Broken::TrustsSameSite,
            Some(_) => self.broken == Broken::TrustsCrossSite,
        };
        if trusts_form || (origin_is_ours && site_is_ours) { Ok(()) } else { Err(error(403, "cross_site")) }
    }
}

fn customer(headers: &HeaderMap) -> Result<String, Response> {
    let cookie = headers.get("cookie").and_then(|cookie| cookie.to_str().ok()).unwrap_or_default();
    let name = cookie.strip_prefix("login=").ok_or_else(|| error(401, "authentication_required"))?;
    Ok(name.to_owned())
}

fn content_type(headers: &HeaderMap) -> &str {
    headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn email(customer: &str) -> String {
    format!("{customer}@example.com")
}

/// Stands for an HMAC with a key of the shop.
fn nonce(reference: &str, salt: u32) -> String {
    let hash = |part: u8| {
        let mut hasher = DefaultHasher::new();
        (part, reference, salt).hash(&mut hasher);
        hasher.finish()
    };
    format!("{:016x}{:016x}", hash(1), hash(2))[..22].to_owned()
}

fn error(status: u16, code: &str) -> Response {
    let body = json!({
        "status_code": status, "response_type": "error", "message": "The shop did not do it.", "data": null,
        "error": {"type": "api", "code": code, "errors": [], "request_id": null, "retryable": status >= 500},
    });
    (StatusCode::from_u16(status).unwrap(), Json(body)).into_response()
}
