//! The blocks of JSON in the documents. Behind `json`, a block names what describes it: `shop` and a schema of
//! `docs/shop-openapi.json`, or `service` and a schema of `docs/openapi.json` or one of its operations, whose request
//! it is. `unchecked` is for what neither describes.

use super::{documents, read};
use serde_json::Value;

#[test]
fn every_block_of_json_is_as_described() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for document in documents() {
        for (info, code) in blocks(&read(&document)) {
            let parsed = serde_json::from_str::<Value>(&code);
            let words: Vec<&str> = info.split_whitespace().collect();
            let errors = match (&*words, parsed) {
                (["json", "unchecked"], Ok(_)) => continue,
                (["json", judge, name], Ok(value)) => errors(judge, name, &value),
                (["json", ..], Ok(_)) => vec!["name what describes it: `json shop Error`".to_owned()],
                (["json", ..], Err(error)) => vec![error.to_string()],
                (_, Ok(Value::Object(_) | Value::Array(_))) => vec!["begin its fence by `json`".to_owned()],
                _ => continue,
            };
            count += 1;
            wrong.extend(errors.into_iter().map(|error| format!("{document}, {info}: {error}")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 0, "no document shows JSON");
}

/// What a description finds wrong in a value.
fn errors(judge: &str, name: &str, value: &Value) -> Vec<String> {
    let file = match judge {
        "shop" => "docs/shop-openapi.json",
        "service" => "docs/openapi.json",
        _ => return vec![format!("{judge} is neither `shop` nor `service`")],
    };
    let description: Value = serde_json::from_str(&read(file)).expect("JSON");
    let Some(mut schema) = schema(&description, name) else { return vec![format!("{file} has no {name}")] };
    schema["components"] = description["components"].clone();
    let options = jsonschema::draft202012::options().should_validate_formats(true);
    let validator = options.build(&schema).expect("a schema");
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// A schema by its name, or that of the request of an operation.
fn schema(description: &Value, name: &str) -> Option<Value> {
    let named = &description["components"]["schemas"][name];
    if !named.is_null() {
        return Some(named.clone());
    }
    let mut operations =
        description["paths"].as_object()?.values().filter_map(Value::as_object).flat_map(|path| path.values());
    let operation = operations.find(|operation| operation["operationId"] == name)?;
    operation.pointer("/requestBody/content/application~1json/schema").cloned()
}

/// The blocks of code of a document: what is behind the fence, and the code.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.trim_start().strip_prefix("```") else { continue };
        let code: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != "```").collect();
        found.push((info.to_owned(), code.join("\n")));
    }
    found
}

#[test]
fn a_block_that_breaks_its_description_is_found() {
    let shown = blocks("1. It answers\n   ```json shop Error\n   {\"error\": 1}\n   ```\n");
    assert_eq!(shown, [("json shop Error".to_owned(), "   {\"error\": 1}".to_owned())]);
    let value = serde_json::from_str(&shown[0].1).expect("JSON");
    assert!(!errors("shop", "Error", &value).is_empty());
    assert_eq!(errors("shop", "Nothing", &value), ["docs/shop-openapi.json has no Nothing"]);
    assert!(errors("service", "create_payment_intent", &value).len() > 1);
}
