//! The rules of a merchant's server for JavaScript: one request or one payment is a `Task`, which names what JavaScript
//! does next. No socket, no clock and no key are in it.
#![cfg(target_arch = "wasm32")]
#![allow(unnameable_types, unreachable_pub, reason = "wasm-bindgen exports what is `pub`; Rust does not name it")]

mod calls;
mod ledger;
mod value;

use calls::{Response, revoked};
use guichet::flow::payment_names;
use guichet::operations::{CalculateFee, ListPaymentMethods, RevokeSession};
use guichet::protocol::{Error, Operation, Spec};
use guichet::shop::{Buyer, Owner, PublicRead, Reason, Refused, Reply, Sender, is_form, session};
use guichet::values::{Email, Invalid, Language};
use js_sys::Array;
use ledger::{ShopLedger, Work};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use value::{get, get_number, get_text, list, object, optional, refused};
use wasm_bindgen::prelude::*;

/// What is being executed.
#[wasm_bindgen]
pub struct Task {
    work: Pin<Box<dyn Future<Output = JsValue>>>,
    host: Arc<Host>,
}

#[wasm_bindgen]
impl Task {
    /// Continues with the answer to what it has named last. Returns `[name, …arguments]` of what JavaScript does next;
    /// the last is `done`.
    pub fn next(&mut self, answer: JsValue) -> Array {
        *lock(&self.host.answer) = Some(answer);
        match self.work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => Array::of2(&"done".into(), &result),
            Poll::Pending => lock(&self.host.asked).take().unwrap_or_default(),
        }
    }
}

/// Answers a request: `{method, route, origin, site, host, type, language, query, requestedHeaders, publicReads}`. Its
/// result is a reply.
#[wasm_bindgen]
pub fn respond(request: JsValue, origins: Vec<String>, checkout_origins: Vec<String>, ledger: &ShopLedger) -> Task {
    let ledger = ledger.clone();
    task(|host| async move {
        let text = |name| get_text(&request, name);
        let (origin, site, sent_to) = (text("origin"), text("site"), text("host").unwrap_or_default());
        let sender = Sender { origin: origin.as_deref(), site: site.as_deref(), host: &sent_to };
        let language = Language::of_tag(&text("language").unwrap_or_default());
        if (text("method").as_deref(), text("route").as_deref()) == (Some("GET"), Some("return")) {
            return host.written(host.returned(&request, &ledger, language).await, Vec::new(), Some(language));
        }
        let is_form = is_form(&text("type").unwrap_or_default()).unwrap_or_default();
        let page = is_form.then_some(language);
        let reply = match sender.admit(&origins) {
            Err(refused) => return host.written(Err(refused), Vec::new(), page),
            Ok(()) if text("method").as_deref() == Some("OPTIONS") && !origins.is_empty() => {
                let asked = text("requestedHeaders").unwrap_or_default();
                return host.written(Ok(sender.preflight(&origins, &asked)), Vec::new(), None);
            }
            Ok(()) => host.route(&request, &checkout_origins, &ledger).await,
        };
        host.written(reply, sender.cors(&origins), page)
    })
}

/// What a page shows of an order. Its result is `{value}`, as JSON, or `{refused}`.
#[wasm_bindgen]
pub fn read_order(ledger: &ShopLedger, name: String) -> Task {
    let ledger = ledger.clone();
    task(|host| async move { host.worked(Work::new(&host, &ledger).order(&name).await) })
}

/// Begins a round of a ledger. Its result is `{value}`, the round as JSON with what is to be read (`claimed`), or
/// `{refused}`.
#[wasm_bindgen]
pub fn begin_round(ledger: &ShopLedger) -> Task {
    let ledger = ledger.clone();
    task(|host| async move { host.worked(Work::new(&host, &ledger).begin_round().await) })
}

/// Reads what is due of one payment that a round has claimed.
#[wasm_bindgen]
pub fn read_due(ledger: &ShopLedger, due: String, until: f64) -> Task {
    let ledger = ledger.clone();
    task(|host| async move { host.worked(Work::new(&host, &ledger).read_due(&due, until as i64).await) })
}

/// Ends a round, if it has claimed something, and brings the shop what it has not received.
#[wasm_bindgen]
pub fn end_round(ledger: &ShopLedger, until: f64, has_claimed: bool) -> Task {
    let ledger = ledger.clone();
    task(|host| async move { host.worked(Work::new(&host, &ledger).end_round(until as i64, has_claimed).await) })
}

/// Sends a read of methods, or of a fee, with the secret key. Its result is a reply.
#[wasm_bindgen]
pub fn read_public(target: String, is_fee: bool) -> Task {
    let spec = if is_fee { const { &CalculateFee::SPEC } } else { const { &ListPaymentMethods::SPEC } };
    call(None, spec, target, |host, sent| {
        host.written(PublicRead::reply(sent.map(|response| response.body)), Vec::new(), None)
    })
}

/// Ends a session of the service. Its result is `{}`, or `{refused}`.
#[wasm_bindgen]
pub fn revoke(token: String) -> Task {
    let spec = const { &RevokeSession::SPEC };
    call(Some(token), spec, spec.path.to_owned(), |_, sent| match revoked(sent) {
        Ok(()) => object(&[]),
        Err(refusal) => object(&[("refused", &refused(&refusal))]),
    })
}

/// One call to the service, with a session token or the secret key.
fn call(
    token: Option<String>,
    spec: &'static Spec,
    target: String,
    result: fn(&Host, Result<Response, Error>) -> JsValue,
) -> Task {
    task(move |host| async move {
        let sent = host.fetch(token.as_deref(), spec, spec.method, &target, None).await.result;
        result(&host, sent)
    })
}

fn task<W: Future<Output = JsValue> + 'static>(work: impl FnOnce(Arc<Host>) -> W) -> Task {
    let host = Arc::<Host>::default();
    Task { work: Box::pin(work(Arc::clone(&host))), host }
}

/// JavaScript, as the rules see it.
#[derive(Default)]
struct Host {
    asked: Mutex<Option<Array>>,
    answer: Mutex<Option<JsValue>>,
    /// What a person must know.
    alarms: Mutex<Vec<String>>,
}

/// Nothing panics while it is locked, and a module that has panicked is not used again.
fn lock<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Host {
    /// Lets JavaScript do this.
    async fn ask(&self, name: &str, arguments: &[JsValue]) -> Result<JsValue, Refused> {
        let asked: Array = [JsValue::from(name)].iter().chain(arguments).collect();
        *lock(&self.answer) = None;
        *lock(&self.asked) = Some(asked);
        let answer = std::future::poll_fn(|_| lock(&self.answer).take().map_or(Poll::Pending, Poll::Ready)).await;
        match get(&answer, "refused") {
            Some(refusal) => Err(value::read_refused(&refusal)),
            None => Ok(get(&answer, "value").unwrap_or_default()),
        }
    }

    /// `{status, headers, body, cause, alarms}`, with more headers. An error is a page if `page` names its language.
    fn written(
        &self,
        reply: Result<Reply, Refused>,
        more: Vec<(&'static str, String)>,
        page: Option<Language>,
    ) -> JsValue {
        let cause = optional(reply.as_ref().err().and_then(Refused::cause));
        let reply = reply.unwrap_or_else(|refused| refused.reply(page));
        let headers = reply.headers.iter().chain(&more).map(|(name, value)| list(&[(*name).into(), value.into()]));
        let headers: Array = headers.collect();
        object(&[
            ("status", &reply.status.into()),
            ("headers", &headers),
            ("body", &reply.body.into()),
            ("cause", &cause),
            ("alarms", &self.alarms()),
        ])
    }

    /// `{value, alarms}`, the value as JSON, or `{refused, alarms}`.
    fn worked(&self, result: Result<serde_json::Value, Refused>) -> JsValue {
        let (name, value) = match result {
            Ok(value) => ("value", value.to_string().into()),
            Err(refusal) => ("refused", refused(&refusal)),
        };
        object(&[(name, &value), ("alarms", &self.alarms())])
    }

    fn alarms(&self) -> JsValue {
        lock(&self.alarms).iter().map(JsValue::from).collect::<Array>().into()
    }

    async fn route(
        &self,
        request: &JsValue,
        checkout_origins: &[String],
        ledger: &ShopLedger,
    ) -> Result<Reply, Refused> {
        let work = Work::new(self, ledger);
        let text = |name| get_text(request, name).unwrap_or_default();
        let missing = |status, code, message| Err(Refused::new(status, Reason { code, message }));
        let route = text("route");
        let is_read = matches!(&*route, "payment-methods" | "fee")
            && get(request, "publicReads").is_some_and(|is_on| is_on.is_truthy());
        match (&*text("method"), &*route) {
            ("POST", "session") => {
                let customer = self.ask("customer", &[]).await?;
                let buyer = buyer(&customer)?;
                match verified_email(&customer) {
                    Some(Err(invalid)) => Err(Refused::email_unreadable(&buyer.owner, &invalid)),
                    _ => session(self, buyer).await,
                }
            }
            ("POST", "intents") => {
                let buyer = self.buyer().await?;
                let is_form = is_form(&text("type"))?;
                work.click(buyer, is_form, checkout_origins).await
            }
            ("GET", route) if route.starts_with("intents/") => {
                let buyer = self.buyer().await?;
                work.status(&buyer, route.trim_start_matches("intents/")).await
            }
            ("GET", _) if is_read => {
                let (is_fee, query) = (route == "fee", text("query"));
                let read = if is_fee { PublicRead::fee(&query) } else { PublicRead::methods(&query) }?;
                let reply = self.ask("readPublic", &[read.request.target.into(), is_fee.into()]).await?;
                let status = get_number(&reply, "status").and_then(|status| status.try_into().ok());
                Ok(Reply::of_json(status.unwrap_or(500), get_text(&reply, "body").unwrap_or_default()))
            }
            (_, route) if is_read || route == "return" => missing(405, "method_not_allowed", "This address takes GET."),
            (_, "session" | "intents") => missing(405, "method_not_allowed", "This address takes POST."),
            _ => missing(404, "route_missing", "There is no such address."),
        }
    }

    /// The page of a payment.
    async fn returned(&self, request: &JsValue, ledger: &ShopLedger, language: Language) -> Result<Reply, Refused> {
        let buyer = self.buyer().await?;
        let names = payment_names(&get_text(request, "query").unwrap_or_default());
        Work::new(self, ledger).payment(&buyer, &names, language).await
    }

    /// Who sent the request.
    async fn buyer(&self) -> Result<Buyer, Refused> {
        buyer(&self.ask("customer", &[]).await?)
    }
}

fn buyer(customer: &JsValue) -> Result<Buyer, Refused> {
    let text = |name| get_text(customer, name);
    let mut buyer = match (text("id"), text("login")) {
        (None, login) => return login.map(Buyer::guest).ok_or_else(nobody),
        (Some(id), _) => Buyer::customer(id),
    };
    buyer.login = text("login");
    buyer.visit = text("visit").map(Owner::Guest);
    // An address that no session can be created for ends no purchase.
    buyer.verified_email = verified_email(customer).and_then(Result::ok);
    Ok(buyer)
}

/// The e-mail address that the customer has proved to be theirs.
fn verified_email(customer: &JsValue) -> Option<Result<Email, Invalid>> {
    let is_verified = get(customer, "emailVerified").and_then(|verified| verified.as_bool()) == Some(true);
    get_text(customer, "email").filter(|_| is_verified).map(Email::new)
}

fn nobody() -> Refused {
    Refused::new(401, Reason { code: "authentication_required", message: "Nobody is signed in." })
}
