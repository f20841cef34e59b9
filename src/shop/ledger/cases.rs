//! Runs `tests/shop/ledger.json`. Orders are compared whole, effects as the lines that the file writes of them.

use super::due::{is_to_forget, reported_at};
use super::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// `base` with the members of `over`, objects member by member.
pub(super) fn merged(base: &Value, over: &Value) -> Value {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            let mut all = base.clone();
            for (name, value) in over {
                let value = merged(base.get(name).unwrap_or(&Value::Null), value);
                all.insert(name.clone(), value);
            }
            all.retain(|_, value| !value.is_null());
            Value::Object(all)
        }
        _ => over.clone(),
    }
}

pub(super) fn read<T: serde::de::DeserializeOwned>(value: &Value, case: &str) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{case}: {error}: {value}"))
}

/// Refuses a member that no reader of the file would see.
pub(super) fn only(value: &Value, names: &[&str]) {
    for name in value.as_object().into_iter().flat_map(|members| members.keys()) {
        assert!(names.contains(&name.as_str()), "the member {name} is not known: {value}");
    }
}

/// An order with these members and rows, and the members that the file leaves out.
pub(super) fn order_of(file: &Value, members: &Value, rows: &Value, name: &str) -> Order {
    let mut order = merged(&file["order"], members);
    let rows = rows.as_array().unwrap_or_else(|| panic!("{name}: no rows"));
    order["payments"] = rows.iter().map(|row| payment_of(file, row)).collect();
    read(&order, name)
}

fn payment_of(file: &Value, row: &Value) -> Value {
    let mut row = merged(&file["row"], row);
    if let Some(found) = row.get_mut("found").and_then(Value::as_array_mut) {
        for one in found {
            *one = merged(&file["found"], one);
        }
    }
    row
}

fn event_of(file: &Value, event: &Value) -> Value {
    let mut event = event.clone();
    if event.get("click").is_some() {
        event["click"] = merged(&file["click"], &event["click"]);
    }
    for kind in ["reply", "reading"] {
        if let Some(seen) = event.get(kind).and_then(|one| one["got"].get("payment")) {
            event[kind]["got"]["payment"] = merged(&file["seen"], seen);
        }
    }
    if let Some(seen) = event.get("adopt").and_then(|adopt| adopt.get("seen")) {
        event["adopt"]["seen"] = merged(&file["seen"], seen);
    }
    event
}

fn line_of_effect(effect: &Effect) -> String {
    match effect {
        Effect::Send { reference, may_retry, .. } => {
            format!("send {reference}{}", if *may_retry { "" } else { " once" })
        }
        Effect::Ask { asked: Asked::Find, reference, .. } => format!("find {reference}"),
        Effect::Ask { asked: Asked::Read(id), .. } => format!("read {id}"),
        Effect::Ask { asked: Asked::Cancel(id), .. } => format!("cancel {id}"),
        Effect::Answer(Answer::Lead { id, address: Led::Plain(_), .. }) => format!("lead {id}"),
        Effect::Answer(Answer::Lead { id, address: Led::Sealed(_), .. }) => format!("lead {id} sealed"),
        Effect::Answer(Answer::Paid { id, .. }) => format!("paid {id}"),
        Effect::Answer(Answer::Error { status, code }) => format!("answer {status} {code}"),
        Effect::ClickAgain => "click again".to_owned(),
        Effect::StopRepeating => "stop repeating".to_owned(),
        Effect::Alarm(alarm) => format!("alarm {} {}", alarm.what, alarm.about).trim_end().to_owned(),
        Effect::OrderChanged(changed) => {
            let by = changed.paid_by.as_ref().map(|by| {
                let status = by.status.as_deref().map(|status| format!(" now {status}")).unwrap_or_default();
                format!(" by {} {}{status}", by.id, by.sum.amount)
            });
            let refunds: String = changed
                .refunds_due
                .iter()
                .map(|due| {
                    let attempt =
                        due.key.attempt.as_deref().map(|attempt| format!(" attempt {attempt}")).unwrap_or_default();
                    format!(
                        ", refund {}{attempt} {}{}",
                        due.key.id,
                        due.sum.amount,
                        if due.plus_fee { " plus fee" } else { "" }
                    )
                })
                .collect();
            let restored = if changed.restored { ", restored" } else { "" };
            let state = json!(changed.state);
            let state = state.as_str().unwrap_or_default();
            format!("version {} {state}{}{refunds}{restored}", changed.version, by.unwrap_or_default())
        }
    }
}

/// The lists of the file, and what a case of each may have. A misspelt member would decide nothing.
const LISTS: [(&str, &[&str]); 6] = [
    ("decisions", &["name", "of", "order", "rows", "known", "event", "now", "then"]),
    ("due", &["name", "of", "row", "service", "now", "is_due"]),
    ("claims", &["name", "of", "until", "now", "is_free"]),
    ("rounds", &["name", "of", "due", "now", "then"]),
    ("holds", &["name", "of", "retry_after", "now", "until"]),
    ("shown", &["name", "of", "row", "now", "then"]),
];

#[test]
fn no_case_of_the_ledger_has_an_unknown_member_or_the_name_of_another() {
    let file: Value = serde_json::from_str(include_str!("../../../tests/shop/ledger.json")).expect("JSON");
    let rest = ["about", "order", "row", "found", "click", "seen"];
    only(&file, &LISTS.iter().map(|(list, _)| *list).chain(rest).collect::<Vec<_>>());
    let mut names = BTreeSet::new();
    for (list, members) in LISTS {
        for case in file[list].as_array().expect("cases") {
            only(case, members);
            let name = case["name"].as_str().expect("a name");
            assert!(names.insert(name), "two cases have the name {name}");
        }
    }
}

#[test]
fn every_case_of_the_ledger() {
    let file: Value = serde_json::from_str(include_str!("../../../tests/shop/ledger.json")).expect("JSON");
    let mut wrong = Vec::new();
    for case in file["decisions"].as_array().expect("cases") {
        let name = case["name"].as_str().expect("a name");
        let [then, none] = [&case["then"], &json!({})];
        only(then, &["order", "rows", "effects"]);
        let members = case.get("order").unwrap_or(none);
        let order = order_of(&file, members, &case["rows"], name);
        let should = order_of(&file, &merged(members, then.get("order").unwrap_or(none)), &then["rows"], name);
        let known: Known = read(&case["known"], name);
        let event: Event = read(&event_of(&file, &case["event"]), name);
        let decision = decide(&order, &known, &event, case["now"].as_i64().expect("now"));
        let effects: Vec<String> = decision.effects.iter().map(line_of_effect).collect();
        if decision.order != should || json!(effects) != then["effects"] {
            let is = json!({"order": decision.order, "effects": effects});
            wrong.push(format!(
                "{name}:\n  is     {is}\n  should {}",
                json!({"order": should, "effects": then["effects"]})
            ));
        }
    }
    for case in file["due"].as_array().expect("cases") {
        let name = case["name"].as_str().expect("a name");
        let payment: Payment = read(&payment_of(&file, &case["row"]), name);
        let (service, now): (Service, _) = (read(&case["service"], name), case["now"].as_i64().expect("now"));
        let is_due = !to_read(&payment, &service, now).is_empty()
            || is_to_forget(&payment, &service, now)
            || reported_at(&payment, &service, now).is_some_and(|at| at <= now);
        assert_eq!(is_due, matches!(due(&payment, &service, now), Next::At(at) if at <= now), "{name}: due differs");
        if json!(is_due) != case["is_due"] {
            wrong.push(format!("{name}: {is_due}"));
        }
    }
    for case in file["claims"].as_array().expect("cases") {
        let is_free = is_free(case["until"].as_i64().expect("until"), case["now"].as_i64().expect("now"));
        assert_eq!(json!(is_free), case["is_free"], "{}", case["name"]);
    }
    for case in file["holds"].as_array().expect("cases") {
        let now = case["now"].as_i64().expect("now");
        let until = hold_until(case["retry_after"].as_i64(), now);
        assert_eq!(json!(until), case["until"], "{}", case["name"]);
        assert!(is_held(until, now) && !is_held(until, until) && !is_held(now + DAY, now), "{}", case["name"]);
    }
    for case in file["shown"].as_array().expect("cases") {
        let name = case["name"].as_str().expect("a name");
        let order = order_of(&file, &json!({}), &json!([case["row"]]), name);
        let (now, payment) = (case["now"].as_i64().expect("now"), &order.payments[0]);
        let named: Vec<&str> =
            not_readable(&order, now).into_iter().map(|(reference, id)| id.unwrap_or(reference)).collect();
        let shown = json!({
            "counts_as_open": payment.counts_as_open(now),
            "is_confirmed": payment.found.iter().all(|found| is_confirmed(found, now)),
            "not_readable": named,
        });
        assert_eq!(shown, case["then"], "{name}");
    }
    for case in file["rounds"].as_array().expect("cases") {
        let due: Vec<Due> = read(&case["due"], "rounds");
        let order: Vec<String> =
            round(due, case["now"].as_i64().expect("now")).into_iter().map(|one| one.reference).collect();
        assert_eq!(json!(order), case["then"], "{}", case["name"]);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
