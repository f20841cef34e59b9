//! The OpenAPI description matches the service, and labels every field as documented or decided.

use crate::interface::INTERFACE;
use crate::support::api;
use crate::support::openapi::errors;
use crate::support::service::Sandbox;
use guichet::operations::*;
use guichet::protocol::{FieldType, Fields, Served};
use guichet::values::{Country, Email, MerchantReference, Phone, PlanCode};
use guichet_sandbox::openapi;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

#[tokio::test]
async fn the_openapi_description_is_public() {
    let sandbox = Sandbox::start().await.unwrap();
    let url = format!("{}/sandbox/openapi.json", sandbox.base_url());
    let reply = api::send(&api::client(), "GET", &url, None, None, &[]).await;
    assert_eq!((reply.status, reply.body), (200, openapi()));
    let reply = api::send(&api::client(), "GET", &url, None, None, &[("host", "evil.example")]).await;
    assert_eq!(reply.status, 403, "another host name may resolve to this address (DNS rebinding)");
    let reply = api::send(&api::client(), "GET", &url.replace("openapi.json", "clock"), None, None, &[]).await;
    assert_eq!(reply.status, 401, "the rest of the control API requires the token");
}

#[test]
fn required_fields_of_the_description_are_those_of_the_reader() {
    for row in rows() {
        let missing = row.described.iter().filter(|(_, required)| **required).map(|(name, _)| name.clone());
        let missing: BTreeSet<String> = missing.chain(either_of(row.name).map(str::to_owned)).collect();
        assert_eq!(row.missed, missing, "{}", row.name);
    }
}

#[test]
fn every_described_field_is_read() {
    for row in rows() {
        assert_eq!(row.unread, BTreeSet::new(), "{}", row.name);
    }
}

#[test]
fn every_field_and_response_is_labelled_documented_or_decided() {
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

/// The documented fields, from the tables of the interface document.
#[test]
fn fields_labelled_documented_are_those_of_the_document() {
    let described = openapi();
    let documented = |schema: &Value| {
        let fields = schema["properties"].as_object().into_iter().flatten();
        let documented = fields.filter(|(_, field)| field["x-guichet-source"] == "documented");
        documented.map(|(name, _)| name.clone()).collect::<BTreeSet<_>>()
    };
    let expected = |fields: &str| fields.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
    let resources = BTreeMap::from([
        (
            "PaymentIntent",
            "id object amount currency status client_secret payment_ref merchant_reference checkout_url customer metadata",
        ),
        ("IntentCustomer", "firstname lastname email"),
        ("Item", "name price currency quantity"),
        ("Customer", "id firstname lastname email phone balance active created_at"),
        ("CreatedSession", "session_token customer_email expires_at"),
        ("Plan", "id name code amount currency billing_cycle"),
        ("PaymentMethod", "id name active fee_type supported_countries"),
        ("FeeBreakdown", "amount currency fee total_payable"),
        ("EsimOrder", "order_id amount currency"),
        ("EsimPackage", "id"),
    ]);
    let is_envelope = |name: &str| name.ends_with("Response") || ["Error", "SessionError"].contains(&name);
    let schemas = described["components"]["schemas"].as_object().unwrap();
    for name in resources.keys() {
        assert!(schemas.contains_key(*name), "{name}");
    }
    for (name, schema) in schemas {
        if !is_envelope(name) {
            assert_eq!(documented(schema), expected(resources.get(name.as_str()).unwrap_or(&"")), "{name}");
        }
    }
    let inputs: BTreeMap<&str, Option<&str>> = INTERFACE.iter().map(|(name, _, fields)| (*name, *fields)).collect();
    for (path, method, operation) in operations(&described) {
        let name = operation["operationId"].as_str().unwrap();
        let mut fields = documented(&operation["requestBody"]["content"]["application/json"]["schema"]);
        let parameters = operation["parameters"].as_array().unwrap().iter();
        let parameters = parameters.filter(|parameter| parameter["x-guichet-source"] == "documented");
        fields.extend(parameters.map(|parameter| parameter["name"].as_str().unwrap().to_owned()));
        assert_eq!(fields, expected(inputs.get(name).copied().flatten().unwrap_or_default()), "{method} {path}");
    }
}

#[test]
fn every_operation_has_an_example_of_its_request_and_its_reply() {
    let described = openapi();
    for (path, method, operation) in operations(&described) {
        let mut examples = Vec::new();
        for parameter in operation["parameters"].as_array().unwrap() {
            if parameter["required"] == true || parameter.get("example").is_some() {
                examples.push((&parameter["schema"], &parameter["example"]));
            }
        }
        let replies = operation["responses"].as_object().unwrap().values();
        let replies: Vec<_> = replies.filter(|reply| reply.pointer(JSON_EXAMPLE).is_some()).collect();
        assert_eq!(replies.len(), 1, "{method} {path}");
        for json in
            replies.into_iter().chain(operation.get("requestBody")).map(|body| &body["content"]["application/json"])
        {
            examples.push((&json["schema"], &json["example"]));
        }
        for (schema, example) in examples {
            assert_eq!(errors(schema, example), Vec::<String>::new(), "{method} {path}: {example}");
        }
    }
}

const JSON_EXAMPLE: &str = "/content/application~1json/example";

/// Negative control: the check of responses against the description can fail.
#[test]
fn every_response_is_checked_against_its_description() {
    let held = |status: u16, body: Value| {
        let mut headers = reqwest::header::HeaderMap::new();
        headers.insert("request-id", format!("req_{}", "0".repeat(22)).parse().unwrap());
        headers.insert("cache-control", "no-store".parse().unwrap());
        headers.insert("date", "Sat, 21 Nov 2026 10:30:00 GMT".parse().unwrap());
        let check = || {
            crate::support::openapi::check(
                "GET",
                "/v1/payment-methods/fee/card/XAF/5",
                None,
                status,
                &headers,
                &body,
                "",
            )
        };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).is_ok()
    };
    let fee = json!({ "amount": 5, "currency": "XAF", "fee": 1, "total_payable": 6 });
    let answer = json!({ "status_code": 200, "response_type": "success", "data": fee });
    assert!(held(200, answer.clone()));
    assert!(!held(201, answer.clone()), "a status that is not described");
    for (place, value) in [
        ("/data/fee", json!("1")),
        ("/data/hidden", json!(1)),
        ("/data", json!({ "amount": 5 })),
        ("/status_code", json!(201)),
        ("/hidden", json!(1)),
    ] {
        let mut other = answer.clone();
        let (parent, name) = place.rsplit_once('/').unwrap();
        other.pointer_mut(parent).unwrap()[name] = value;
        assert!(!held(200, other), "{place}");
    }
}

proptest! {
    /// The pattern in the description and the validation of the value must accept the same texts.
    #[test]
    fn value_types_accept_what_is_described(
        text in prop_oneof![
            any::<String>(),
            "[0-9]{0,18}",
            "[A-Za-z]{0,4}",
            "[a-z.é@ \\-\u{85}\u{a0}]{0,4}@?[a-zé.\\-]{0,6}(\\.[a-z\\-]{0,3})?",
            "[0-9A-Za-z._-]{0,70}",
            "\\PC{250,258}",
            "[0-9A-Za-z\u{1}\u{7f}\u{9f}é]{0,3}",
        ],
    ) {
        static DESCRIBED: LazyLock<Vec<Rule>> = LazyLock::new(rules);
        for (name, validator, takes) in DESCRIBED.iter() {
            prop_assert_eq!(validator.is_valid(&json!(text)), takes(&text), "{} {:?}", name, text);
        }
    }
}

/// Whether the service takes this text as the amount of a fee.
fn is_read_as_an_amount(text: &str) -> bool {
    let fee = json!({ "payment_method": "mobile_money", "currency": "XAF", "amount": text });
    let Value::Object(fee) = fee else { unreachable!("it is an object") };
    CalculateFee::read(&mut Fields::new(fee)).is_some()
}

type Rule = (&'static str, jsonschema::Validator, fn(&str) -> bool);

fn rules() -> Vec<Rule> {
    let described = openapi();
    let intent = &described["paths"]["/v1/payment-intents"]["post"];
    let intent = &intent["requestBody"]["content"]["application/json"]["schema"]["properties"];
    let plan = &described["paths"]["/v1/subscriptions/plans"]["post"];
    let plan = &plan["requestBody"]["content"]["application/json"]["schema"]["properties"];
    let methods = &described["paths"]["/v1/payment-methods"]["get"]["parameters"][0]["schema"];
    let rule = |name, schema, takes| (name, jsonschema::validator_for(schema).unwrap(), takes);
    vec![
        rule("amount", &intent["amount"], is_read_as_an_amount as fn(&str) -> bool),
        rule("country", methods, |text| Country::new(text).is_ok()),
        rule("email", &intent["email"], |text| Email::new(text).is_ok()),
        rule("merchant_reference", &intent["merchant_reference"], |text| MerchantReference::new(text).is_ok()),
        rule("phone", &intent["phone"], |text| Phone::new(text).is_ok()),
        rule("plan code", &plan["code"], |text| PlanCode::new(text).is_ok()),
        rule("a text", &intent["description"], |text| String::read(&json!(text)).is_ok()),
    ]
}

#[test]
fn items_accept_what_is_described() {
    let described = openapi();
    let body =
        &described["paths"]["/v1/payment-intents"]["post"]["requestBody"]["content"]["application/json"]["schema"];
    let item = jsonschema::validator_for(&body["properties"]["items"]["items"]).unwrap();
    let whole = [
        json!(0),
        json!(1),
        json!(1.0),
        json!(1.5),
        json!(-1),
        json!("12"),
        json!(""),
        json!("x"),
        json!(null),
        json!(1_u64 << 53),
        json!((1_u64 << 53) + 1),
        json!(u64::MAX),
    ];
    let more = [json!("1".repeat(18)), json!("1".repeat(19)), json!(" 1"), json!([1])];
    let texts = [json!("Shoes"), json!(" "), json!(""), json!(1), json!(null)];
    let currencies = [json!("XAF"), json!("xaf"), json!(""), json!(null)];
    for price in whole.iter().chain(&more) {
        for quantity in &whole {
            for (name, currency) in
                texts.iter().flat_map(|name| currencies.iter().map(move |currency| (name, currency)))
            {
                let one = json!({ "name": name, "price": price, "currency": currency, "quantity": quantity });
                assert_eq!(item.is_valid(&one), Item::read(&one).is_ok(), "{one}");
            }
        }
    }
}

#[test]
fn payment_methods_accept_what_is_described() {
    let described = openapi();
    let body = &described["paths"]["/v1/payment-intents/{id}/payment-method"]["post"]["requestBody"];
    let body = &body["content"]["application/json"]["schema"]["properties"]["payment_method"];
    let method = jsonschema::validator_for(body).unwrap();
    let months = [json!(0), json!(1), json!(12), json!(13), json!(12.0), json!(1.5), json!("12"), json!(268)];
    let years = [json!(1999), json!(2000), json!(2999), json!(3000), json!(67_534)];
    let cvcs = [json!("12"), json!("123"), json!("1234"), json!("12345"), json!("12x"), json!(123)];
    for (month, year) in months.iter().flat_map(|month| years.iter().map(move |year| (month, year))) {
        for cvc in &cvcs {
            let card = json!({ "number": "4242424242424242", "exp_month": month, "exp_year": year, "cvc": cvc });
            let one = json!({ "type": "card", "card": card });
            assert_eq!(method.is_valid(&one), Instrument::read(&one).is_ok(), "{one}");
        }
    }
    for one in [
        json!({ "type": "mobile_money", "phone": "237670000000" }),
        json!({ "type": "mobile_money", "phone": "+237670000000" }),
        json!({ "type": "mobile_money", "phone": null }),
        json!({ "type": "mobile_money" }),
        json!({ "type": "card" }),
        json!({ "type": "cash", "phone": "237670000000" }),
        json!({ "phone": "237670000000" }),
        json!("card"),
        json!([]),
    ] {
        assert_eq!(method.is_valid(&one), Instrument::read(&one).is_ok(), "{one}");
    }
}

/// An operation as described, and as the service reads it.
struct Row {
    name: &'static str,
    /// The fields, and whether they are required.
    described: BTreeMap<String, bool>,
    /// The fields that the reader reports as missing from an empty body.
    missed: BTreeSet<String>,
    /// The described fields that the reader does not read.
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
    let errors_of = |fields: Fields, code: &str| {
        let errors = O::parse(fields).err().unwrap_or_default();
        errors.into_iter().filter(|error| error.code == code).map(|error| error.param).collect()
    };
    let all = fields.keys().map(|name| (name.clone(), json!({}))).collect();
    Row {
        name: spec.name,
        missed: errors_of(Fields::new(Map::new()), "parameter_missing"),
        unread: errors_of(Fields::new(all).strict(), "parameter_unknown"),
        described: fields,
    }
}

/// The field that a reader names if one of several fields is required.
fn either_of(operation: &str) -> Option<&'static str> {
    (operation == "create_payment_intent").then_some("email")
}

fn operations(described: &Value) -> impl Iterator<Item = (&String, &String, &Value)> {
    let paths = described["paths"].as_object().unwrap().iter();
    paths.flat_map(|(path, methods)| methods.as_object().unwrap().iter().map(move |(method, one)| (path, method, one)))
}
