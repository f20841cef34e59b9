//! A payment as the inspector shows it: in a list, and as one thread in time with what was reported to its shop.

use crate::openapi;
use crate::redact::redacted;
use crate::requests::{Beside, Delivery, MAX_REQUESTS, Request, Shown};
use crate::rules::{Intent, PayingWith, Status};
use crate::service::{Merchant, Service};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::LazyLock;

/// The name of the event that `guichet shop` delivers to its application.
const ORDER_CHANGED: &str = "order_changed";

/// How many refused requests the list has.
const MAX_REFUSED: usize = 5;

/// An object of JSON. `json!` is the same with more code for each member, and the npm package has a limit.
macro_rules! object {
    ({ $($name:literal: $value:expr),* $(,)? }) => { object(vec![$(($name, Value::from($value))),*]) };
}

fn object(members: Vec<(&str, Value)>) -> Value {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The schemas of the fields of a creation. From the description's text: a second caller of `openapi` would double its
/// code in the wasm.
static FIELDS: LazyLock<Value> = LazyLock::new(|| {
    let create = "/paths/~1v1~1payment-intents/post/requestBody/content/application~1json/schema/properties";
    let described: Value = serde_json::from_slice(&openapi::text()).unwrap_or_default();
    described.pointer(create).cloned().unwrap_or_default()
});

/// Payments as entries of the list.
pub(super) fn list(merchant: &Merchant, intents: &[Intent]) -> Vec<Value> {
    let now = merchant.now().unix();
    merchant.read_requests(|requests| {
        let purchase = |intent: &Intent| {
            let mut shop = Shop::new(requests, intent, now);
            requests.iter().for_each(|request| shop.learn(request, intent));
            purchase(intent, &shop)
        };
        intents.iter().map(purchase).collect()
    })
}

/// What a payment's shop knows of it: by the responses to its requests. Once `guichet shop` has delivered an event of
/// the order, by what its application has received.
struct Shop<'a> {
    last: Option<Report<'a>>,
    has_application: bool,
    /// Whether every request about the payment is known, so that a shop without one knows nothing.
    is_complete: bool,
    /// Whether the operator may still approve a declined attempt.
    is_approvable: bool,
}

struct Report<'a> {
    at: i64,
    operation: &'static str,
    /// The payment's status, or the order's state.
    status: &'a str,
    duplicates: usize,
    /// Whether the application knows that this payment succeeded.
    is_paid: bool,
}

impl<'a> Shop<'a> {
    fn new(requests: &VecDeque<Request>, intent: &Intent, now: i64) -> Self {
        let is_complete =
            requests.len() < MAX_REQUESTS || requests.front().is_some_and(|oldest| oldest.at < intent.created_at);
        let is_approvable = intent.state.approvable_until() > Some(now);
        Self { last: None, has_application: false, is_complete, is_approvable }
    }

    fn learn(&mut self, request: &'a Request, intent: &Intent) {
        let (at, id) = (request.at.unix(), intent.id.as_str());
        if let Some(Beside::Delivery(delivery, _)) = &request.beside
            && request.is_about(intent)
        {
            let before = self.last.take().filter(|_| self.has_application);
            self.has_application = true;
            self.last = if delivery.answer.is_ok() { Some(Report::of(at, delivery, id, before)) } else { before };
        } else if is_shops(request) && !self.has_application {
            let report = |Shown { status, duplicates, .. }: &Shown| {
                let (status, is_paid) = (status.into_str(), false);
                Report { at, operation: request.operation, status, duplicates: *duplicates, is_paid }
            };
            self.last = request.received(id).map(report).or(self.last.take());
        }
    }

    /// Whether it does not know what has become of the money. It is red then.
    fn differs(&self, status: Status, duplicates: usize) -> bool {
        let last = self.last.as_ref();
        let is_known = match last {
            _ if self.has_application => last.is_some_and(|last| last.is_paid) == (status == Status::Succeeded),
            Some(last) => last.status == status.into_str(),
            None if self.is_complete => status == Status::RequiresAction && !self.is_approvable,
            None => return false,
        };
        !is_known || last.map_or(0, |last| last.duplicates) != duplicates
    }
}

impl<'a> Report<'a> {
    /// What a delivery says of one payment of its order. What was given back is no longer due, and still known.
    fn of(at: i64, delivery: &'a Delivery, id: &str, before: Option<Self>) -> Self {
        let event = &delivery.event;
        let due = || event["refunds_due"].as_array().into_iter().flatten().filter(|due| due["id"] == id);
        let (was_paid, duplicates) = before.map_or((false, 0), |before| (before.is_paid, before.duplicates));
        Self {
            at,
            operation: ORDER_CHANGED,
            status: event["state"].as_str().unwrap_or_default(),
            duplicates: duplicates.max(due().filter(|due| !due["attempt"].is_null()).count()),
            is_paid: was_paid || event["paid_by"]["id"] == id || due().any(|due| due["attempt"].is_null()),
        }
    }
}

/// The newest requests of the shop that were refused: a refused creation has no payment.
pub(super) fn refused(merchant: &Merchant) -> Vec<Value> {
    let is_refused =
        |request: &&Request| request.error.is_some() && (is_shops(request) || request.credential == "none");
    merchant.read_requests(|requests| {
        requests.iter().rev().filter(is_refused).take(MAX_REFUSED).map(Request::to_json).collect()
    })
}

fn is_shops(request: &Request) -> bool {
    request.credential == "secret_key"
}

/// A payment, with what was last reported to its shop.
fn purchase(intent: &Intent, shop: &Shop<'_>) -> Value {
    let Intent { id, payment_ref, terms, state, created_at, expires_at, .. } = intent;
    let duplicates = state.duplicate_payments.len();
    let reported = shop.last.as_ref().map(|Report { at, operation, status, duplicates, .. }| {
        object!({ "at": *at, "operation": *operation, "status": *status, "duplicates": *duplicates })
    });
    object!({
        "id": id.as_str(), "merchant_reference": &*terms.merchant_reference, "payment_ref": &**payment_ref,
        "amount": terms.amount.to_string(), "currency": terms.currency.to_string(),
        "customer": format!("{} {}", terms.firstname, terms.lastname), "email": terms.email.as_deref(),
        "phone": terms.phone.as_deref(), "status": state.status.into_str(), "attempts": state.attempts,
        "declined": state.declined.map(|decline| decline.into_str()),
        "duplicates": duplicates, "operator": state.paying_with.as_ref().and_then(PayingWith::operator),
        "created_at": created_at.unix(), "reported": reported,
        "differs": shop.differs(state.status, duplicates), "due": state.due(*expires_at).map(|(at, what)| object!({ "at": at, "what": what })),
    })
}

/// One payment: what was created, the newest of what has happened since, and what the customer's phone shows.
pub(super) fn thread(service: &Service, merchant: &Merchant, intent: &Intent, limit: usize) -> Value {
    let (mut entries, purchase) = merchant.read_requests(|requests| entries(intent, requests, merchant.now().unix()));
    let earlier = entries.len().saturating_sub(limit);
    entries.drain(..earlier);
    let body: Value = serde_json::from_str(&intent.body).unwrap_or_default();
    let body = redacted(body).as_object().cloned().unwrap_or_default();
    let fields = body.into_iter().filter(|(_, value)| !value.is_null()).map(|(field, value)| {
        let source = FIELDS[&field]["x-guichet-source"].as_str().unwrap_or("decision");
        // A text for every value: the page shows it as it is.
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        object!({ "field": field, "value": value, "source": source })
    });
    let attempt =
        (1..=intent.state.attempts).rev().find(|attempt| intent.state.is_on_handset(*attempt, merchant.now()));
    let handset = attempt.map(|attempt| {
        let with = &intent.state.attempt_log[attempt as usize - 1].with;
        let amount = intent
            .amount_with(with, &service.fees)
            .map_or_else(|| intent.terms.amount.to_string(), |units| units.to_string());
        let is_open = attempt == intent.state.attempts && intent.state.status == Status::Processing;
        object!({
            "attempt": attempt, "payee": merchant.name(), "amount": amount,
            "currency": intent.terms.currency.to_string(),
            "phone": with.phone(), "operator": with.operator(), "open": is_open,
        })
    });
    object!({
        "purchase": purchase, "fields": fields.collect::<Vec<_>>(), "earlier": earlier, "entries": entries, "handset": handset,
    })
}

/// What has happened to the money, and each request about it, in order; and the payment at the end of it.
fn entries(intent: &Intent, requests: &VecDeque<Request>, now: i64) -> (Vec<Value>, Value) {
    let id = intent.id.as_str();
    let created = object!({ "at": intent.created_at.unix(), "kind": "created", "status": "requires_action" });
    let shop = Shop::new(requests, intent, now);
    let mut thread = Thread { entries: vec![created], shop, status: Status::RequiresAction, duplicates: 0 };
    let mut money = money(intent).into_iter().peekable();
    let (mut written, mut known) = (0, 0);
    for request in requests.iter().filter(|request| request.is_about(intent)) {
        let history = request.shown.iter().find(|shown| shown.id == id).map_or(known, |shown| shown.history);
        // A change comes before what it has caused, a reading after what it shows.
        let is_visit = request.beside == Some(Beside::Visit);
        let is_change = request.method != "GET" && request.operation != "create_payment_intent" && !is_visit;
        let before = if is_change { known } else { history };
        while let Some(change) = money.next_if(|change| change.at < request.at.unix() || written < before) {
            thread.add_change(change);
            written += 1;
        }
        known = known.max(history);
        thread.shop.learn(request, intent);
        thread.add_request(request, id);
    }
    money.for_each(|change| thread.add_change(change));
    let mut is_settled = false;
    for entry in thread.entries.iter_mut().rev() {
        match entry.get("differs").and_then(Value::as_bool) {
            Some(true) if is_settled => entry["settled"] = true.into(),
            Some(differs) => is_settled |= !differs,
            None => {}
        }
    }
    let purchase = purchase(intent, &thread.shop);
    (thread.entries, purchase)
}

/// The thread so far, with the money and the shop's knowledge at its end.
struct Thread<'a> {
    entries: Vec<Value>,
    shop: Shop<'a>,
    status: Status,
    duplicates: usize,
}

impl Thread<'_> {
    fn add_change(&mut self, Change { status, entry, .. }: Change) {
        match status {
            Some(status) => self.status = status,
            None => self.duplicates += 1,
        }
        self.add(entry);
    }

    /// Adds a request. Equal readings without anything else between them are one entry: a page reads every few seconds.
    fn add_request(&mut self, request: &Request, id: &str) {
        let mut new = entry(request, id, &self.shop);
        let is_reading = request.method == "GET";
        let mut readings = self.entries.iter_mut().rev().take_while(|entry| is_reading && entry.get("times").is_some());
        let is_equal = |entry: &&mut Value| OF_A_READING.iter().all(|member| entry[*member] == new[*member]);
        if let Some(equal) = readings.find(is_equal) {
            equal["times"] = (equal["times"].as_u64().unwrap_or_default() + 1).into();
            equal["last_at"] = new["at"].take();
            return;
        }
        if is_reading {
            new["times"] = 1.into();
        }
        if new["by"] == "shop" { self.add(new) } else { self.entries.push(new) }
    }

    /// Adds an entry with what the shop knows then.
    fn add(&mut self, mut entry: Value) {
        entry["differs"] = self.shop.differs(self.status, self.duplicates).into();
        entry["knows"] = self.shop.last.as_ref().map(|last| last.status).into();
        self.entries.push(entry);
    }
}

/// The members by which readings are equal.
const OF_A_READING: [&str; 5] = ["by", "operation", "http_status", "fault", "reported"];

fn entry(request: &Request, id: &str, shop: &Shop<'_>) -> Value {
    let at = request.at.unix();
    let report = |status: &str, duplicates: usize| object!({ "status": status, "duplicates": duplicates });
    match &request.beside {
        Some(Beside::Visit) => object!({ "at": at, "kind": "page_opened" }),
        Some(Beside::Decision(attempt, decision)) => {
            object!({ "at": at, "kind": "handset", "decision": decision.into_str(), "attempt": *attempt })
        }
        Some(Beside::Delivery(Delivery { event, answer, .. }, attempt)) => {
            let reported = shop.last.as_ref().filter(|_| answer.is_ok());
            object!({
                "at": at, "kind": "delivery", "by": "shop", "operation": ORDER_CHANGED, "attempt": *attempt,
                "status": event["state"].clone(), "http_status": answer.as_ref().ok().copied(),
                "error": answer.as_ref().err().map(String::as_str),
                "reported": reported.map(|last| report(last.status, last.duplicates)),
            })
        }
        None => object!({
            "at": at, "kind": "request", "by": if is_shops(request) { "shop" } else { "customer" },
            "operation": request.operation, "http_status": request.status, "fault": request.fault,
            "request_id": &*request.request_id,
            "reported": request.received(id).map(|shown| report(shown.status.into_str(), shown.duplicates)),
        }),
    }
}

/// A status of a payment after its creation, or without one a duplicate payment.
struct Change {
    at: i64,
    status: Option<Status>,
    entry: Value,
}

/// The statuses of a payment after its creation and its duplicate payments, with their times, in order.
fn money(intent: &Intent) -> Vec<Change> {
    let state = &intent.state;
    let mut attempt = 0;
    let mut money: Vec<_> = Vec::new();
    let mut duplicates = state
        .duplicate_payments
        .iter()
        .map(|approval| {
            let logged = state.attempt_log.get(approval.attempt as usize - 1);
            let after = logged.map_or(state.status_history.len(), |attempt| attempt.approved_after);
            let at = approval.approved_at;
            let entry = object!({ "at": at, "kind": "duplicate", "attempt": approval.attempt });
            (after, Change { at, status: None, entry })
        })
        .peekable();
    for (index, (at, status)) in state.status_history.iter().enumerate() {
        while let Some((_, duplicate)) = duplicates.next_if(|(after, _)| *after <= index) {
            money.push(duplicate);
        }
        let mut entry = object!({ "at": *at, "kind": "status", "status": status.into_str() });
        attempt += usize::from(*status == Status::Processing);
        let logged = attempt.checked_sub(1).and_then(|index| state.attempt_log.get(index));
        let is_duplicate = |attempt: usize| state.duplicate_payments.iter().any(|one| one.attempt as usize == attempt);
        let late = state.attempt_log.iter().position(|one| one.approved_at.is_some() && one.approved_after == index);
        let late = late.map(|index| index + 1).filter(|attempt| !is_duplicate(*attempt));
        match (status, logged, late) {
            (Status::Processing, Some(logged), _) => {
                let (kind, with) = (logged.with.kind(), &logged.with);
                let last4 = if let PayingWith::Card { last4, .. } = with { Some(&**last4) } else { None };
                entry["attempt"] = attempt.into();
                entry["method"] =
                    object!({ "type": kind, "phone": with.phone(), "last4": last4, "operator": with.operator() });
            }
            (Status::Succeeded, _, Some(late)) => {
                (entry["kind"], entry["attempt"]) = ("late_approval".into(), late.into())
            }
            (Status::Canceled, ..) => entry["reason"] = state.cancellation.map(|reason| reason.into_str()).into(),
            (_, Some(logged), _) if logged.ended_at == Some(*at) => {
                (entry["attempt"], entry["reason"]) =
                    (attempt.into(), logged.decline.map(|decline| decline.into_str()).into());
            }
            _ => {}
        }
        money.push(Change { at: *at, status: Some(*status), entry });
    }
    money.extend(duplicates.map(|(_, duplicate)| duplicate));
    money
}
