//! A small shop, written by hand as a merchant would, which can be broken in exactly one point.
#![allow(clippy::result_large_err, reason = "an error is the response of a handler")]

use super::money::Money;
use crate::support::port;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use guichet::native::reqwest;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
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
    Money(Money),
}

impl Broken {
    /// Each defect, and the rule that it breaks.
    pub fn each() -> impl Iterator<Item = (Self, &'static str)> {
        Self::EACH.into_iter().chain(Money::EACH.iter().map(|(money, rule)| (Self::Money(*money), *rule)))
    }

    const EACH: [(Self, &'static str); 27] = [
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
    /// The body that is sent for each reference.
    bodies: HashMap<String, Value>,
    payments: HashMap<String, Payment>,
    /// The references whose payment has ended.
    ended: HashSet<String>,
    timer_has_ended: bool,
}

#[derive(Clone)]
struct Payment {
    id: String,
    reference: String,
    order: String,
    declined: u32,
    paid: bool,
    given_up: bool,
    /// How many were created before it.
    place: usize,
    was_asked: bool,
    reads_since_paid: u32,
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
            .route("/return", get(return_page))
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
            let references = {
                let books = server.state.lock().unwrap();
                let mut payments: Vec<_> =
                    books.payments.iter().map(|(name, payment)| (payment.place, name.clone())).collect();
                payments.sort();
                payments.into_iter().map(|(_, name)| name)
            };
            for payment_ref in references {
                let (ended, given_up) = {
                    let books = server.state.lock().unwrap();
                    let payment = &books.payments[&payment_ref];
                    (
                        books.timer_has_ended,
                        payment.given_up || (payment.was_asked && server.is(Money::ForgetsReturned)),
                    )
                };
                if ended || given_up {
                    continue;
                }
                if server.settle(&payment_ref, false).await.is_err() {
                    server.state.lock().unwrap().timer_has_ended = server.is(Money::TimerEndsAtError);
                    if server.is(Money::EndsRoundAtError) {
                        break;
                    }
                }
            }
        }
        if settle {
            std::fs::remove_file(server.folder.join("settle")).unwrap();
        }
        if requested("restart") {
            let mut books = server.state.lock().unwrap();
            books.restarts += 1;
            if server.is(Money::ForgetsPaymentsAtRestart) {
                books.payments.clear();
            }
            if server.is(Money::MarksAgainAfterRestart) {
                books.payments.values_mut().for_each(|payment| payment.paid = false);
            }
            drop(books);
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
    let is_sold = |id: &&str| customer == "awa" && (ORDERS.contains(id) || id.starts_with("N-"));
    let id = order["id"].as_str().filter(is_sold).ok_or_else(|| error(404, "order_missing"))?;
    let (declined, reference, body, nonce) = server.sell(id, &order, &customer).await?;
    let known = server.state.lock().unwrap().bodies.contains_key(&reference);
    let created = server.call("POST", "/payment-intents", Some(body.clone())).await;
    if created.is_err() {
        let mut books = server.state.lock().unwrap();
        if server.is(Money::NextReferenceAfterLostReply) {
            *books.declined.entry(id.to_owned()).or_default() += 1;
        }
        if server.is(Money::NumbersReferenceOfFailedCall) && !known {
            books.bodies.remove(&reference);
        }
    }
    let intent = created?["data"].take();
    let text = |name: &str| intent[name].as_str().unwrap_or_default().to_owned();
    let place = server.state.lock().unwrap().payments.len();
    let payment = Payment {
        place,
        id: text("id"),
        reference: reference.clone(),
        order: id.to_owned(),
        declined,
        paid: false,
        given_up: false,
        was_asked: false,
        reads_since_paid: 0,
        refunds: Vec::new(),
    };
    {
        let mut books = server.state.lock().unwrap();
        books.bodies.insert(reference.clone(), body);
        books.payments.entry(text("payment_ref")).or_insert(payment);
    }
    if server.is(Money::MarksAgainAtEachOrder) && intent["status"] == "succeeded" {
        server.write(&reference, "paid");
    }
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

async fn status(
    State(server): State<Arc<Server>>,
    Path(payment_ref): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer {
    server.refuse_other_sites(&headers)?;
    let customer = customer(&headers)?;
    let is_theirs = customer == "awa" || server.broken == Broken::ShowsPaymentsToAll;
    if !is_theirs || !server.state.lock().unwrap().payments.contains_key(&payment_ref) {
        return Err(error(404, "resource_missing"));
    }
    if server.is(Money::PaysByQueryOfStatus) && pairs(query).get("status").is_some_and(|status| status == "succeeded") {
        server.mark_paid(&payment_ref);
    }
    let settled = server.settle(&payment_ref, true).await;
    if settled.is_err() && server.is(Money::TellsFailedWithoutService) {
        return Ok(Json(json!({"status": "failed"})).into_response());
    }
    let intent = settled?;
    let mut told = json!({"status": intent["status"], "last_payment_error": intent["last_payment_error"]});
    if !server.is(Money::OmitsApprovableUntil) {
        told["approvable_until"] = intent["approvable_until"].clone();
    }
    if server.is(Money::OmitsApprovableUntilOfError) && told["last_payment_error"].is_object() {
        told["last_payment_error"].as_object_mut().unwrap().remove("approvable_until");
    }
    let is_declined = server.is(Money::TellsDeclinedAsFailed) && told["last_payment_error"].is_object();
    let is_known = ["requires_action", "processing", "succeeded", "failed", "canceled"];
    let is_unknown = !is_known.iter().any(|known| told["status"] == **known);
    if is_declined || (is_unknown && server.is(Money::TellsFailedForUnknown)) {
        told["status"] = "failed".into();
    }
    Ok(Json(told).into_response())
}

fn pairs(query: Option<String>) -> HashMap<String, String> {
    url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect()
}

/// The page to which the customer returns.
async fn return_page(State(server): State<Arc<Server>>, RawQuery(query): RawQuery) -> &'static str {
    let query = pairs(query);
    let named = |name: &str| query.get(name).cloned().unwrap_or_default();
    let payment_ref = {
        let books = server.state.lock().unwrap();
        let mut payments = books.payments.iter();
        payments.find(|(_, payment)| payment.reference == named("merchant_reference")).map(|(name, _)| name.clone())
    };
    let Some(payment_ref) = payment_ref else { return "Welcome back" };
    let succeeded = named("status") == "succeeded";
    if succeeded && server.is(Money::PaysByReturnAddress) {
        server.mark_paid(&payment_ref);
    }
    if server.is(Money::PaysWithPaymentOfReturn) {
        let path = format!("/payment-intents/{}", named("payment_intent"));
        let read = server.call("GET", &path, None).await;
        if read.is_ok_and(|read| read["data"]["status"] == "succeeded" && read["data"]["amount"] == PRICE) {
            server.mark_paid(&payment_ref);
        }
    }
    "Welcome back"
}

impl Server {
    fn is(&self, money: Money) -> bool {
        self.broken == Broken::Money(money)
    }

    /// Today's price.
    fn price(&self) -> String {
        std::fs::read_to_string(self.folder.join("price")).map_or(PRICE.to_owned(), |price| price.trim().to_owned())
    }

    /// The reference of an order, the body that is sent for it, and its nonce. They are stored before they are sent.
    async fn sell(&self, id: &str, order: &Value, customer: &str) -> Result<(u32, String, Value, String), Response> {
        let (known, open) = {
            let books = self.state.lock().unwrap();
            let known = books.payments.values().any(|payment| payment.order == id);
            (known, books.bodies.keys().filter(|reference| !books.ended.contains(*reference)).count())
        };
        if self.is(Money::ChecksLimitBefore) {
            if open >= 20 && !known {
                return Err(error(409, "too_many_open_payments"));
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let mut books = self.state.lock().unwrap();
        books.created += 1;
        let declined = books.declined.get(id).copied().unwrap_or(0);
        let mut reference = if declined == 0 { format!("ORDER-{id}") } else { format!("ORDER-{id}.{declined}") };
        let is_numbered = match self.broken {
            Broken::MakesNewReferenceEachTime => true,
            Broken::Money(Money::NamesReferenceByTime | Money::InsertsAfterCall) => !known,
            Broken::Money(Money::NumbersReferenceOfFailedCall) => true,
            _ => false,
        };
        let stored = books.payments.values().find(|payment| payment.order == id && payment.declined == declined);
        match stored {
            Some(stored) if self.broken != Broken::MakesNewReferenceEachTime => reference = stored.reference.clone(),
            _ if is_numbered => reference.push_str(&format!("-{}", books.created)),
            _ => {}
        }
        let salt = if self.broken == Broken::ForgetsNonceAtRestart { books.restarts } else { 0 };
        let nonce = nonce(&reference, salt);
        let today = self.price();
        let amount = match order["amount"].as_str() {
            Some(amount) if self.broken == Broken::TakesPriceFromPage => amount,
            _ if self.is(Money::KeepsOldPrice) && declined > 0 => PRICE,
            _ => &today,
        };
        let mut body = json!({
            "firstname": "Awa", "lastname": "Ngono", "email": email(customer), "amount": amount, "description": "A pair of shoes",
            "merchant_reference": reference, "redirect_url": format!("{}/return?guichet_return={nonce}", self.origin),
        });
        if self.is(Money::NumbersDescription) && !known {
            body["description"] = format!("A pair of shoes ({})", books.created).into();
        }
        let is_stored = books.bodies.contains_key(&reference);
        let open = books.bodies.keys().filter(|reference| !books.ended.contains(*reference)).count();
        if open >= 20 && (!is_stored || self.is(Money::RefusesKnownAtLimit)) {
            match self.broken {
                Broken::Money(Money::NoLimit | Money::ChecksLimitBefore) => {}
                Broken::Money(Money::RefusesWith429) => return Err(error(429, "rate_limited")),
                _ => return Err(error(409, "too_many_open_payments")),
            }
        }
        let is_rewritten = self.broken == Broken::ForgetsNonceAtRestart
            || self.broken == Broken::TakesPriceFromPage
            || self.is(Money::SendsNewBody)
            || self.is(Money::NumbersDescription);
        if let Some(stored) = books.bodies.get(&reference).filter(|_| !is_rewritten) {
            body = stored.clone();
        } else if !self.is(Money::InsertsAfterCall) {
            books.bodies.insert(reference.clone(), body.clone());
        }
        Ok((declined, reference, body, nonce))
    }

    fn mark_paid(&self, payment_ref: &str) {
        let mut books = self.state.lock().unwrap();
        let payment = books.payments.get_mut(payment_ref).unwrap();
        if !payment.paid {
            payment.paid = true;
            self.write(&payment.reference, "paid");
        }
    }

    /// Whether the payment that was read is the one that was sold.
    fn is_the_one_sold(&self, intent: &Value, payment: &Payment, sold: &Value) -> bool {
        let text = |name: &str| intent[name].as_str().unwrap_or_default();
        let amount = sold["amount"].as_str().unwrap();
        let has_amount = match self.broken {
            Broken::IgnoresAmount => true,
            Broken::Money(Money::ReadsAmountAsFloat) => text("amount").parse::<f64>().ok() == amount.parse().ok(),
            Broken::Money(Money::CutsAmount) => text("amount").starts_with(amount),
            Broken::Money(Money::AcceptsMore) => text("amount").parse::<u64>().ok() >= amount.parse().ok(),
            Broken::Money(Money::ComparesWithCatalogue) => intent["amount"] == self.price(),
            _ => intent["amount"] == amount,
        };
        let has_currency = match self.broken {
            Broken::IgnoresCurrency => true,
            Broken::Money(Money::AcceptsBothFrancs) => ["XAF", "XOF"].contains(&text("currency")),
            Broken::Money(Money::AcceptsNoCurrency) => intent["currency"].is_null() || intent["currency"] == "XAF",
            _ => intent["currency"] == "XAF",
        };
        let reference = &payment.reference;
        let has_reference = match self.broken {
            Broken::IgnoresReference | Broken::Money(Money::PaysReferenceOfReply) => true,
            Broken::Money(Money::ComparesReferenceWithoutCase) => {
                text("merchant_reference").eq_ignore_ascii_case(reference)
            }
            Broken::Money(Money::TrimsReference) => text("merchant_reference").trim() == reference,
            _ => text("merchant_reference") == reference,
        };
        let has_id = match self.broken {
            Broken::Money(Money::IgnoresId | Money::PaysIdOfReply) => true,
            Broken::Money(Money::AcceptsNoId) => intent["id"].is_null() || intent["id"] == *payment.id,
            _ => intent["id"] == *payment.id,
        };
        let is_awas = &intent["customer"]["email"];
        let has_owner = match self.broken {
            Broken::IgnoresOwner => true,
            Broken::Money(Money::ComparesHostOfEmail) => {
                is_awas.as_str().is_some_and(|email| email.ends_with("@example.com"))
            }
            Broken::Money(Money::AcceptsNoEmail) => is_awas.is_null() || *is_awas == email("awa"),
            _ => *is_awas == email("awa"),
        };
        has_amount && has_currency && has_reference && has_id && has_owner
    }

    /// Whether this status, and nothing else, makes the order paid.
    fn is_paid(&self, intent: &Value) -> bool {
        let status = &intent["status"];
        let is_one_of = |statuses: &[&str]| statuses.iter().any(|one| status == one);
        match self.broken {
            Broken::Money(Money::PaysProcessing) => is_one_of(&["succeeded", "processing"]),
            Broken::Money(Money::PaysUnlessItFailed) => {
                status.is_string() && !is_one_of(&["requires_action", "processing", "failed", "canceled"])
            }
            Broken::Money(Money::ComparesStatusWithoutCase) => {
                status.as_str().is_some_and(|status| status.eq_ignore_ascii_case("succeeded"))
            }
            Broken::Money(Money::PaysByLateApproval) => {
                status == "succeeded" || intent["duplicate_payments"].as_array().is_some_and(|list| !list.is_empty())
            }
            _ => status == "succeeded",
        }
    }

    /// Whether the timer no longer reads the payment, which a right shop never decides here.
    fn gives_up(&self, intent: &Value) -> bool {
        let status = &intent["status"];
        let declined = |code: &str| status == "requires_action" && intent["last_payment_error"]["code"] == code;
        match self.broken {
            Broken::GivesUpDeclined => status == "requires_action" && !intent["last_payment_error"].is_null(),
            Broken::Money(Money::GivesUpAbandoned) => declined("payer_timeout"),
            Broken::Money(Money::GivesUpRejected) => declined("rejected_by_payer"),
            Broken::Money(Money::StopsAtProcessing) => status == "processing",
            Broken::Money(Money::StopsAtUnknown) => status == "under_review" || status == "reversed",
            Broken::Money(Money::StopsAtSucceeded) => status == "succeeded",
            Broken::Money(Money::StopsAtFailed) => status == "failed",
            Broken::Money(Money::StopsAtCanceled) => status == "canceled",
            _ => false,
        }
    }

    /// Reads a payment with the key, compares it with the order, and stores what became of it. Returns what was read.
    async fn settle(&self, payment_ref: &str, for_page: bool) -> Result<Value, Response> {
        let (payment, sold) = {
            let mut books = self.state.lock().unwrap();
            let stored = books.payments.get_mut(payment_ref).ok_or_else(|| error(404, "resource_missing"))?;
            stored.was_asked |= for_page;
            let payment = stored.clone();
            let sold = books.bodies[&payment.reference].clone();
            (payment, sold)
        };
        let read = self.call("GET", &format!("/payment-intents/{}", payment.id), None).await;
        if let Err(refused) = &read {
            let mut books = self.state.lock().unwrap();
            if self.is(Money::TakesFailedReadForFailed) && !payment.paid {
                books.declined.insert(payment.order.clone(), payment.declined + 1);
            }
            if self.is(Money::ForgetsPaymentAfter404) && refused.status() == StatusCode::BAD_GATEWAY && !for_page {
                books.payments.get_mut(payment_ref).unwrap().given_up = true;
            }
        }
        let intent = read?["data"].take();
        if !self.is_the_one_sold(&intent, &payment, &sold) {
            return Err(error(409, "payment_mismatch"));
        }
        let mut paid_ref = payment_ref.to_owned();
        let mut books = self.state.lock().unwrap();
        let field = match self.broken {
            Broken::Money(Money::PaysReferenceOfReply) => "merchant_reference",
            _ => "id",
        };
        if [Money::PaysReferenceOfReply, Money::PaysIdOfReply].map(|money| self.is(money)).contains(&true) {
            let mut payments = books.payments.iter();
            let named = payments.find(|(_, other)| intent[field] == *other.reference || intent[field] == *other.id);
            paid_ref = named.map_or(paid_ref, |(name, _)| name.clone());
        }
        if self.is_paid(&intent) {
            let stored = books.payments.get_mut(&paid_ref).ok_or_else(|| error(404, "resource_missing"))?;
            let was_paid = if self.broken == Broken::MarksTwice { payment.paid } else { stored.paid };
            stored.reads_since_paid += 1;
            let marks_again = (for_page && self.is(Money::MarksAtEachStatus))
                || (stored.reads_since_paid == 10 && self.is(Money::MarksAgainLater));
            if !was_paid || marks_again {
                stored.paid = true;
                self.write(&stored.reference, "paid");
            }
        }
        let stored = books.payments.get_mut(payment_ref).ok_or_else(|| error(404, "resource_missing"))?;
        stored.given_up |= self.gives_up(&intent);
        for duplicate in intent["duplicate_payments"].as_array().into_iter().flatten() {
            let attempt = duplicate["attempt"].as_u64().unwrap_or_default();
            let is_known = match self.broken {
                Broken::IgnoresDuplicates => true,
                Broken::Money(Money::RefundsTwice) => {
                    stored.refunds.iter().filter(|known| **known == attempt).count() > 1
                }
                Broken::Money(Money::RefundsOncePerPayment) => !stored.refunds.is_empty(),
                _ => stored.refunds.contains(&attempt),
            };
            if !is_known {
                stored.refunds.push(attempt);
                self.write(&payment.reference, "refund_due");
            }
        }
        let is_final = intent["status"] == "failed" || intent["status"] == "canceled";
        let is_counted = match self.broken {
            Broken::KeepsDeclinedReference => false,
            Broken::Money(Money::IgnoresCanceled) => intent["status"] == "failed",
            Broken::Money(Money::NextReferenceWhileProcessing) => is_final || intent["status"] == "processing",
            Broken::Money(Money::NextReferenceAfterDecline) => is_final || !intent["last_payment_error"].is_null(),
            Broken::Money(Money::NextReferenceForCode) => is_final || intent["next_action"]["type"] == "otp",
            Broken::Money(Money::TakesUnknownForFailed) => is_final || intent["status"] == "under_review",
            _ => is_final,
        };
        if is_counted && self.is(Money::CountsDeclineEachTime) {
            *books.declined.entry(payment.order).or_default() += 1;
        } else if is_counted {
            let declined = books.declined.entry(payment.order).or_default();
            *declined = (*declined).max(payment.declined + 1);
        }
        if is_final || intent["status"] == "succeeded" {
            books.ended.insert(payment.reference);
        }
        Ok(intent)
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
        if status.as_u16() >= 400 && !self.is(Money::IgnoresHttpStatus) {
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
