//! The description of the service says what the service does, and where each of its words is from.

#[path = "support/asking.rs"]
mod asking;

use guichet::operations::*;
use guichet::protocol::{Fields, Served};
use guichet::sandbox::{Sandbox, openapi};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

#[tokio::test]
async fn the_description_is_served_to_anybody() {
    let sandbox = Sandbox::start().await.unwrap();
    let url = format!("{}/sandbox/openapi.json", sandbox.base_url());
    let reply = asking::send(&asking::client(), "GET", &url, None, None, &[]).await;
    assert_eq!((reply.status, reply.body), (200, openapi()));
    let reply = asking::send(&asking::client(), "GET", &url, None, None, &[("host", "evil.example")]).await;
    assert_eq!(reply.status, 403, "a page of another name may have been pointed at this address");
    let reply = asking::send(&asking::client(), "GET", &url.replace("openapi.json", "clock"), None, None, &[]).await;
    assert_eq!(reply.status, 401, "nothing else of the side door is open");
}

#[test]
fn what_is_described_as_required_is_what_the_reader_asks_for() {
    for row in rows() {
        let missing = row.described.iter().filter(|(_, required)| **required).map(|(name, _)| name.clone());
        let missing: BTreeSet<String> = missing.chain(either_of(row.name).map(str::to_owned)).collect();
        assert_eq!(row.missed, missing, "{}", row.name);
    }
}

#[test]
fn every_field_that_is_described_is_read() {
    for row in rows() {
        assert_eq!(row.unread, BTreeSet::new(), "{}", row.name);
    }
}

#[test]
fn every_field_and_answer_says_where_it_is_from() {
    fn check(schema: &Value, place: &str) {
        let Some(object) = schema.as_object() else { return };
        if object.get("type").is_some_and(|kind| kind == "object") {
            for (name, field) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
                let source = field["x-guichet-source"].as_str();
                assert!(matches!(source, Some("documented" | "decision")), "{place}.{name} is not labelled");
            }
        }
        for (key, inner) in object {
            let place = format!("{place}/{key}");
            check(inner, &place);
            inner.as_array().into_iter().flatten().for_each(|inner| check(inner, &place));
        }
    }
    let described = openapi();
    check(&described["components"], "components");
    check(&described["paths"], "paths");
    for (path, method, operation) in operations(&described) {
        assert!(operation["x-guichet-source"].is_string(), "{method} {path}");
        for parameter in operation["parameters"].as_array().unwrap() {
            assert!(parameter["x-guichet-source"].is_string(), "{method} {path}: {parameter}");
        }
    }
}

/// An operation, as it is described and as it is read.
struct Row {
    name: &'static str,
    /// The fields, and whether they are required.
    described: BTreeMap<String, bool>,
    /// What the reader misses where there is nothing.
    missed: BTreeSet<String>,
    /// What the reader does not look for, of what is described.
    unread: BTreeSet<String>,
}

fn rows() -> Vec<Row> {
    let described = openapi();
    let mut rows = Vec::new();
    macro_rules! row {
        ($($operation:ident)*) => { $(rows.push(row::<$operation>(&described));)* };
    }
    guichet::every_operation!(row);
    rows
}

fn row<O: Served>(described: &Value) -> Row {
    let spec = O::SPEC;
    let operation = &described["paths"][spec.path][spec.method.as_str().to_ascii_lowercase()];
    assert_eq!(operation["operationId"], spec.name);
    let parameters = operation["parameters"].as_array().unwrap().iter();
    let mut fields: BTreeMap<String, bool> = parameters
        .filter(|parameter| parameter["in"] != "header")
        .map(|parameter| (parameter["name"].as_str().unwrap().to_owned(), parameter["required"] == true))
        .collect();
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    let required: Vec<&str> = body["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for name in body["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
        fields.insert(name.clone(), required.contains(&name.as_str()));
    }
    let told = |mut read: Fields, code: &str| {
        let _ = O::read(&mut read);
        let _ = read.is_good();
        read.into_faults().into_iter().filter(|fault| fault.code == code).map(|fault| fault.param).collect()
    };
    let all = fields.keys().map(|name| (name.clone(), json!({}))).collect();
    Row {
        name: spec.name,
        missed: told(Fields::new(Map::new()), "parameter_missing"),
        unread: told(Fields::new(all).strict(), "parameter_unknown"),
        described: fields,
    }
}

/// What a reader names where one of several fields is required.
fn either_of(operation: &str) -> Option<&'static str> {
    (operation == "create_payment_intent").then_some("email")
}

fn operations(described: &Value) -> impl Iterator<Item = (&String, &String, &Value)> {
    let paths = described["paths"].as_object().unwrap().iter();
    paths.flat_map(|(path, methods)| methods.as_object().unwrap().iter().map(move |(method, one)| (path, method, one)))
}
