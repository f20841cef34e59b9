//! The control API: its description, its commands and its table in `docs/sandbox.md` name the same calls.

use crate::support::api::{client, control, order, send};
use crate::support::service::{Sandbox, on_each_store};
use guichet_sandbox::{Config, openapi};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

on_each_store!(every_described_call_of_the_control_api_answers_as_described,);

#[tokio::test]
async fn the_control_api_has_exactly_the_described_calls() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut methods: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for call in calls() {
        methods.entry(call.path).or_default().insert(call.method);
    }
    assert!(methods.len() >= 7, "{methods:?}");
    for (path, described) in methods {
        let refused = control(&sandbox, "PATCH", &path, Value::Null).await;
        assert_eq!((refused.status, refused.code()), (405, "method_not_allowed"), "{path}");
        let allowed = refused.header("allow").unwrap().split(", ").map(str::to_owned).collect::<BTreeSet<_>>();
        assert_eq!(allowed, described, "{path}");
    }
    for path in ["", "/", "/nowhere", "/clock/", "/merchants/mch_1"] {
        assert_eq!(control(&sandbox, "GET", path, Value::Null).await.code(), "route_not_found", "{path}");
    }
}

/// The test client checks each response against the description.
async fn every_described_call_of_the_control_api_answers_as_described() {
    let sandbox = Sandbox::start_with(Config::default()).await.unwrap();
    for call in calls() {
        if ["/handset", "/thread"].contains(&call.path.as_str()) {
            a_payment_waits_for_the_phone(&sandbox).await;
        }
        let reply = control(&sandbox, &call.method, &call.path, call.example.clone()).await;
        assert_eq!(reply.status, 200, "{} {}: {}", call.method, call.path, reply.text);
        let url = format!("{}{}", sandbox.control_url(), call.path);
        let body = (!call.example.is_null()).then(|| call.example.to_string());
        let foreign = send(&client(), &call.method, &url, None, body.clone(), &[("host", "evil.example")]).await;
        assert_eq!((foreign.status, foreign.code()), (403, "host_not_allowed"), "{url}");
        if call.operation["security"] == json!([]) {
            assert_eq!(send(&client(), &call.method, &url, None, body, &[]).await.status, 200, "{url}");
            continue;
        }
        for (token, code) in [(None, "authentication_required"), (Some("ctl_old"), "invalid_key")] {
            let refused = send(&client(), &call.method, &url, token, body.clone(), &[]).await;
            assert_eq!((refused.status, refused.code()), (401, code), "{url}");
        }
        if !call.example.is_null() {
            let mut misspelt = call.example.clone();
            misspelt["coutn"] = json!(1);
            let refused = control(&sandbox, &call.method, &call.path, misspelt).await;
            assert_eq!((refused.status, refused.code()), (422, "parameter_unknown"), "{url}");
            for wrong in ["[]", "{"] {
                let token = Some(sandbox.control_token().expose());
                let refused = send(&client(), &call.method, &url, token, Some(wrong.to_owned()), &[]).await;
                assert_eq!(refused.status, 400, "{url}");
            }
        }
    }
}

/// The payment of the examples.
async fn a_payment_waits_for_the_phone(sandbox: &Sandbox) {
    assert_eq!(control(sandbox, "DELETE", "/faults", Value::Null).await.status, 200);
    let post = async |path: &str, body: Value| {
        let (url, key) = (format!("{}{path}", sandbox.base_url()), sandbox.secret_key().expose());
        send(&client(), "POST", &url, Some(key), Some(body.to_string()), &[]).await
    };
    let intent = post("/v1/payment-intents", order("ORDER-17")).await.body["data"].clone();
    let path = format!("/v1/payment-intents/{}/payment-method", intent["id"].as_str().unwrap());
    let phone = json!({ "payment_method": { "type": "mobile_money", "phone": "237670000020" } });
    let _ = post(&path, phone).await;
}

#[tokio::test]
async fn a_call_about_an_unknown_merchant_is_refused() {
    let sandbox = Sandbox::start().await.unwrap();
    for call in calls() {
        let takes_a_merchant = call.operation.to_string().contains("\"The merchant's id; default");
        let path = format!("{}?merchant=mch_unknown", call.path);
        let mut fields = call.example.clone();
        let path = match fields.as_object_mut() {
            Some(fields) => {
                fields.insert("merchant".to_owned(), json!("mch_unknown"));
                &call.path
            }
            None => &path,
        };
        if takes_a_merchant {
            let refused = control(&sandbox, &call.method, path, fields).await;
            assert_eq!((refused.status, refused.code()), (404, "resource_missing"), "{} {path}", call.method);
        }
    }
}

#[tokio::test]
async fn a_field_of_another_kind_of_fault_is_refused() {
    let sandbox = Sandbox::start_with(Config::default()).await.unwrap();
    for (kind, field) in
        [("drop", "milliseconds"), ("drop", "status"), ("delay", "retry_after"), ("status", "milliseconds")]
    {
        let mut fault = json!({ "operation": "calculate_fee", "kind": kind });
        if kind == "delay" {
            fault["milliseconds"] = json!(5);
        }
        fault[field] = json!(503);
        let refused = control(&sandbox, "POST", "/faults", fault.clone()).await;
        assert_eq!((refused.status, refused.body["error"]["param"].as_str()), (422, Some(field)), "{}", refused.text);
        fault[field] = Value::Null;
        assert_eq!(control(&sandbox, "POST", "/faults", fault.clone()).await.status, 200, "{fault}");
    }
}

#[tokio::test]
async fn an_unknown_query_parameter_of_the_control_api_is_refused() {
    let sandbox = Sandbox::start_with(Config::default()).await.unwrap();
    let fault = json!({ "operation": "calculate_fee", "kind": "drop" });
    assert_eq!(control(&sandbox, "POST", "/faults", fault).await.status, 200);
    for call in calls().iter().filter(|call| call.path != "/openapi.json") {
        let remedy = match call.path.as_str() {
            "/inspector" | "/merchants" => "The call takes no query parameter.",
            _ => "Did you mean `merchant`?",
        };
        let path = format!("{}?merchnt=mch_1", call.path);
        let refused = control(&sandbox, &call.method, &path, call.example.clone()).await;
        assert_eq!((refused.status, refused.code()), (422, "parameter_unknown"), "{} {path}", call.method);
        assert_eq!(refused.message(), format!("Unknown query parameter `merchnt`. {remedy}"));
    }
    let waiting = control(&sandbox, "GET", "/faults", Value::Null).await;
    assert_eq!(waiting.body["faults"].as_array().unwrap().len(), 1, "nothing was cleared: {}", waiting.text);
    let refused = control(&sandbox, "GET", "/clock?speed=2", Value::Null).await;
    assert_eq!(refused.message(), "Unknown query parameter `speed`. The query parameters are: merchant.");
}

#[tokio::test]
async fn a_call_that_names_two_merchants_is_refused() {
    let sandbox = Sandbox::start().await.unwrap();
    let (one, other) = (sandbox.merchant().await.unwrap(), sandbox.merchant().await.unwrap());
    let (one, other) = (one.id(), other.id());
    let in_both = |id: &str| format!("/reset?merchant={id}");
    for path in [in_both(other), format!("{}&merchant={other}", in_both(one))] {
        let refused = control(&sandbox, "POST", &path, json!({ "merchant": one })).await;
        assert_eq!((refused.status, refused.code()), (422, "parameter_invalid"), "{path}");
        assert_eq!(refused.body["error"]["param"], "merchant", "{path}");
    }
    let reset = control(&sandbox, "POST", &in_both(one), json!({ "merchant": one })).await;
    assert_eq!(reset.body["merchant"], one, "{}", reset.text);
}

#[tokio::test]
async fn a_new_merchant_names_no_merchant() {
    let sandbox = Sandbox::start().await.unwrap();
    for (path, fields) in [("/merchants", json!({ "merchant": "mch_1" })), ("/merchants?merchant=mch_1", json!({}))] {
        let refused = control(&sandbox, "POST", path, fields).await;
        assert_eq!((refused.status, refused.code()), (422, "parameter_unknown"), "{path}: {}", refused.text);
    }
}

#[tokio::test]
async fn an_unknown_field_of_a_fault_is_refused_with_the_described_fields() {
    let sandbox = Sandbox::start().await.unwrap();
    let refused = control(&sandbox, "POST", "/faults", json!({ "millis": 5 })).await;
    assert_eq!(
        refused.message(),
        "Unknown field `millis`. The fields are: count, kind, milliseconds, operation, retry_after, status, merchant."
    );
}

/// If this test fails, write the missing row: the HTTP call, the command, the method of the npm package.
#[test]
fn the_documents_have_a_row_for_each_call_of_the_control_api() {
    let page = std::fs::read_to_string(crate::support::root().join("docs/sandbox.md")).unwrap();
    let listed: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|call| call.split_once(' ').is_some_and(|(_, path)| path.starts_with("/sandbox/")))
        .collect();
    let described: Vec<String> = calls().iter().map(|call| format!("{} /sandbox{}", call.method, call.path)).collect();
    assert_eq!(listed, described.iter().map(String::as_str).collect());
}

/// A described call of the control API.
struct Call {
    method: String,
    /// Its path below `/sandbox`.
    path: String,
    operation: Value,
    /// The body of its example; null if it has no body.
    example: Value,
}

fn calls() -> Vec<Call> {
    let described = openapi();
    let paths = described["paths"].as_object().unwrap().iter();
    let of_the_control_api = paths.filter_map(|(path, methods)| Some((path.strip_prefix("/sandbox")?, methods)));
    of_the_control_api
        .flat_map(|(path, methods)| {
            methods.as_object().unwrap().iter().map(|(method, operation)| Call {
                method: method.to_ascii_uppercase(),
                path: path.to_owned(),
                operation: operation.clone(),
                example: operation["requestBody"]["content"]["application/json"]["example"].clone(),
            })
        })
        .collect()
}
