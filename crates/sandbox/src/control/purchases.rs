//! A payment as the inspector shows it: in a list, and as one thread in time with what was reported to its shop.

use crate::openapi;
use crate::redact::redacted;
use crate::requests::{MAX_REQUESTS, Request, Shown};
use crate::rules::{Intent, PayingWith, Status};
use crate::service::{Merchant, Service};
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::sync::LazyLock;

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
    merchant.read_requests(|requests| {
        let mut reported: HashMap<&str, (&Request, &Shown)> = HashMap::new();
        for request in requests.iter().filter(|request| is_shops(request)) {
            for shown in request.shown.iter().filter_map(|shown| request.received(&shown.id)) {
                reported.insert(&shown.id, (request, shown));
            }
        }
        let is_complete = requests.len() < MAX_REQUESTS;
        intents.iter().map(|intent| purchase(intent, reported.get(intent.id.as_str()).copied(), is_complete)).collect()
    })
}

fn is_shops(request: &Request) -> bool {
    request.credential == "secret_key"
}

/// A payment, with what was last reported to its shop. `is_complete`: whether every request is known, so that the shop without
/// one knows nothing.
fn purchase(intent: &Intent, reported: Option<(&Request, &Shown)>, is_complete: bool) -> Value {
    let Intent { id, payment_ref, terms, state, created_at, expires_at, .. } = intent;
    let duplicates = state.duplicate_payments.len();
    let differs = match reported {
        Some((_, shown)) => (shown.status, shown.duplicates) != (state.status, duplicates),
        None => is_complete && state.status != Status::RequiresAction,
    };
    let reported = reported.map(|(request, shown)| {
        let status = shown.status.into_str();
        let (at, operation, duplicates) = (request.at.unix(), request.operation, shown.duplicates);
        object!({ "at": at, "operation": operation, "status": status, "duplicates": duplicates })
    });
    object!({
        "id": id.as_str(), "merchant_reference": &*terms.merchant_reference, "payment_ref": &**payment_ref,
        "amount": terms.amount.to_string(), "currency": terms.currency.to_string(),
        "customer": format!("{} {}", terms.firstname, terms.lastname), "email": terms.email.as_deref(),
        "phone": terms.phone.as_deref(), "status": state.status.into_str(), "attempts": state.attempts,
        "duplicates": duplicates, "operator": state.paying_with.as_ref().and_then(PayingWith::operator),
        "created_at": created_at.unix(), "reported": reported,
        "differs": differs, "due": state.due(*expires_at).map(|(at, what)| object!({ "at": at, "what": what })),
    })
}

/// One payment: what was created, what has happened since, and what the customer's phone shows.
pub(super) fn thread(service: &Service, merchant: &Merchant, intent: &Intent) -> Value {
    let entries = merchant.read_requests(|requests| entries(intent, requests));
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
            "phone": phone(with), "operator": with.operator(), "open": is_open,
        })
    });
    object!({
        "purchase": list(merchant, std::slice::from_ref(intent)).pop(), "fields": fields.collect::<Vec<_>>(),
        "entries": entries,
        "handset": handset,
    })
}

fn phone(with: &PayingWith) -> Option<&str> {
    match with {
        PayingWith::Card { .. } => None,
        PayingWith::MobileMoney { phone, .. } => Some(phone),
    }
}

/// What has happened to the money, and each request about it, in order.
fn entries(intent: &Intent, requests: &VecDeque<Request>) -> Vec<Value> {
    let id = intent.id.as_str();
    let mut entries = vec![object!({ "at": intent.created_at.unix(), "kind": "created", "status": "requires_action" })];
    let mut money = money(intent).into_iter().peekable();
    let (mut written, mut known) = (0, 0);
    for request in requests.iter().filter(|request| request.is_about(id)) {
        let history = request.shown.iter().find(|shown| shown.id == id).map_or(known, |shown| shown.history);
        // A change comes before what it has caused, a reading after what it shows.
        let is_change = request.method != "GET" && request.operation != "create_payment_intent" && !request.is_page;
        let before = if is_change { known } else { history };
        while let Some((_, entry)) = money.next_if(|(at, _)| *at < request.at.unix() || written < before) {
            entries.push(entry);
            written += 1;
        }
        known = known.max(history);
        entries.push(entry(request, id));
    }
    entries.extend(money.map(|(_, entry)| entry));
    entries
}

fn entry(request: &Request, id: &str) -> Value {
    let at = request.at.unix();
    if request.is_page {
        return object!({ "at": at, "kind": "page_opened" });
    }
    if let Some((attempt, decision)) = request.decision {
        return object!({ "at": at, "kind": "handset", "decision": decision.into_str(), "attempt": attempt });
    }
    let reported = request
        .received(id)
        .map(|shown| object!({ "status": shown.status.into_str(), "duplicates": shown.duplicates }));
    object!({
        "at": at, "kind": "request", "by": if is_shops(request) { "shop" } else { "customer" },
        "operation": request.operation,
        "http_status": request.status, "fault": request.fault, "request_id": &*request.request_id, "reported": reported,
    })
}

/// The statuses of a payment after its creation and its duplicate payments, with their times, in order.
fn money(intent: &Intent) -> Vec<(i64, Value)> {
    let state = &intent.state;
    let mut attempt = 0;
    let mut money: Vec<_> = Vec::new();
    let mut duplicates = state
        .duplicate_payments
        .iter()
        .map(|approval| {
            let logged = state.attempt_log.get(approval.attempt as usize - 1);
            let after = logged.map_or(state.status_history.len(), |attempt| attempt.approved_after);
            let entry = object!({ "at": approval.approved_at, "kind": "duplicate", "attempt": approval.attempt });
            (after, (approval.approved_at, entry))
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
                    object!({ "type": kind, "phone": phone(with), "last4": last4, "operator": with.operator() });
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
        money.push((*at, entry));
    }
    money.extend(duplicates.map(|(_, duplicate)| duplicate));
    money
}
