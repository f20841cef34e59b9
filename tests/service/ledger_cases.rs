//! The cases of the ledger, `tests/shop/ledger.json`. Nothing decides them yet, so each is pending and counts as not run: `cargo xtask test`
//! prints how many there are.

use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What an object may have, by the member that it or its list is.
const MEMBERS: [(&[&str], &[&str]); 19] = [
    (&["file"], &["about", "row", "click", "data", "decisions", "due", "claims", "start"]),
    (&["decisions"], &["name", "of", "pending", "rows", "known", "event", "now", "then"]),
    (&["due"], &["name", "of", "pending", "row", "now", "is_due"]),
    (&["claims"], &["name", "of", "pending", "until", "now", "is_free"]),
    (&["start"], &["name", "of", "pending", "may_create", "prefix", "tables", "then"]),
    (
        &["row", "rows"],
        &[
            "reference",
            "owner",
            "state",
            "body",
            "sends",
            "intent",
            "status",
            "created_at",
            "expires_at",
            "ended_at",
            "read_at",
            "quote",
        ],
    ),
    (
        &["body", "purchase"],
        &["amount", "currency", "firstname", "lastname", "email", "phone", "fee_bearer", "redirect_url"],
    ),
    (&["sends"], &["at", "reply"]),
    (&["known"], &["open", "purchase", "service", "service_date"]),
    (&["service"], &["finds_by_reference", "found"]),
    (&["event"], &["click", "reply", "reading"]),
    (&["click"], &["owner", "order"]),
    (&["reply"], &["reference", "send", "status"]),
    (&["reading"], &["reference", "asked_at", "data"]),
    (&["data"], &["id", "merchant_reference", "amount", "currency", "status", "expires_at"]),
    (&["then"], &["rows", "effects", "starts", "creates", "names"]),
    (&["effects"], &["send", "find", "answer", "alarm", "order_changed"]),
    (&["answer"], &["status", "code"]),
    (&["order_changed", "refunds_due"], &["paid_by", "refunds_due", "intent", "amount", "fee"]),
];

#[test]
fn the_cases_of_the_ledger_can_be_read_and_none_is_taken_for_passed() {
    let file = file();
    assert_eq!(unknown_members("file", &file), [""; 0]);
    let lists = ["decisions", "due", "claims", "start"].map(|list| file[list].as_array().expect("cases"));
    let cases: Vec<&Value> = lists.into_iter().flatten().collect();
    let names: BTreeSet<&str> = cases.iter().map(|case| case["name"].as_str().expect("a name")).collect();
    assert_eq!(names.len(), cases.len(), "two cases have one name");
    let is_run: Vec<&&Value> = cases.iter().filter(|case| case["pending"] != true).collect();
    assert!(is_run.is_empty(), "no test runs these cases: {is_run:#?}");
}

#[test]
fn a_misspelt_member_of_a_case_is_refused() {
    let mut file = file();
    file["decisions"][0]["pendig"] = json!(true);
    file["decisions"][1]["then"]["effects"][0]["sent"] = json!("ORDER-17");
    file["due"][0]["row"]["readat"] = json!(1);
    assert_eq!(unknown_members("file", &file), ["decisions.pendig", "effects.sent", "row.readat"]);
}

fn file() -> Value {
    serde_json::from_str(include_str!("../shop/ledger.json")).expect("JSON")
}

/// The members that no case may have.
fn unknown_members(name: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Array(list) => list.iter().flat_map(|one| unknown_members(name, one)).collect(),
        // Its members are the names of tables.
        Value::Object(_) if name == "tables" => Vec::new(),
        Value::Object(object) => {
            let known = MEMBERS.iter().find(|(names, _)| names.contains(&name));
            let (_, members) = known.unwrap_or_else(|| panic!("`{name}` is no object"));
            let (known, unknown): (Vec<_>, Vec<_>) =
                object.iter().partition(|(member, _)| members.contains(&member.as_str()));
            let unknown = unknown.into_iter().map(|(member, _)| format!("{name}.{member}"));
            unknown.chain(known.into_iter().flat_map(|(member, value)| unknown_members(member, value))).collect()
        }
        _ => Vec::new(),
    }
}
