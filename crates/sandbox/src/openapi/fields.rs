//! Describes the request of an operation (its parameters and its body) from the type that the service reads.

use super::{titles, word};
use crate::rules::{Fees, OPERATORS, test_cards};
use guichet::protocol::{FieldLocation, Method, Served, Source, Spec};
use guichet::values::NOT_BLANK;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// The request of an operation, with its documentation.
pub(super) struct Taken {
    pub(super) summary: String,
    pub(super) description: String,
    pub(super) parameters: Vec<Value>,
    pub(super) body: Option<Body>,
}

/// The body of a request: its schema, and an example.
pub(super) struct Body {
    pub(super) schema: Value,
    pub(super) example: Value,
}

impl Taken {
    pub(super) fn has_body(&self) -> bool {
        self.body.is_some()
    }
}

/// Describes the request of the operation `O`, with the values of one request as examples.
pub(super) fn of<O: Served + JsonSchema>(example: &O) -> Taken {
    let example = serde_json::to_value(example).expect("a request is written as JSON");
    taken(generator().into_root_schema_for::<O>().to_value(), &O::SPEC, &example)
}

fn generator() -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator()
}

/// The same of a request with this schema. It is no part of [`of`], so that the wasm has it once and not for each
/// operation.
fn taken(mut schema: Value, spec: &Spec, example: &Value) -> Taken {
    label(&mut schema, spec.source, &mark);
    without_bits(&mut schema);
    complete(&mut schema);
    let (summary, description) = summary_and_description(schema["description"].as_str().unwrap_or_default());
    let mut required: Vec<String> = serde_json::from_value(schema["required"].take()).unwrap_or_default();
    let Value::Object(properties) = schema["properties"].take() else {
        return Taken { summary, description, parameters: Vec::new(), body: None };
    };
    required.retain(|name| properties.get(name).is_some_and(|property| property.get("default").is_none()));
    let (mut parameters, mut body) = (Vec::new(), Map::new());
    for (name, property) in properties {
        match spec.location(&name) {
            FieldLocation::Path => parameters.push(parameter("path", &name, property, true, example)),
            FieldLocation::Query => {
                parameters.push(parameter("query", &name, property, required.contains(&name), example))
            }
            FieldLocation::Header => {
                parameters.push(parameter("header", &name, property, required.contains(&name), example))
            }
            FieldLocation::Body if required.contains(&name) => drop(body.insert(name, property)),
            FieldLocation::Body => drop(body.insert(name, or_null(property))),
        }
    }
    let order = |parameter: &Value| position_in(spec, parameter["name"].as_str().unwrap_or_default());
    parameters.sort_by_key(order);
    let body = (spec.method != Method::Get && !body.is_empty()).then(|| {
        let required: Vec<&String> = required.iter().filter(|name| body.contains_key(*name)).collect();
        let given = body.keys().filter(|name| !example[name.as_str()].is_null());
        let example = given.map(|name| (name.clone(), example[name.as_str()].clone())).collect();
        let mut whole = json!({ "type": "object", "properties": body });
        if !required.is_empty() {
            whole["required"] = json!(required);
        }
        if let Some(refused) = schema.get("not") {
            whole["not"] = refused.clone();
        }
        titles::give(&mut whole);
        Body { schema: whole, example }
    });
    Taken { summary, description, parameters, body }
}

/// Calls `field` with the source of every field of a schema, at any depth. If a type lists its documented fields, all
/// its other fields are decisions. If it has no such list, all its fields have the source of the type.
pub(super) fn label(schema: &mut Value, source: Source, field: &dyn Fn(&mut Value, Source)) {
    match schema {
        Value::Object(object) => {
            let documented: Option<Vec<String>> =
                object.remove("x-guichet-documented").and_then(|names| serde_json::from_value(names).ok());
            let is_object = object.get("type").is_some_and(|kind| kind == "object");
            for (key, inner) in object.iter_mut() {
                match inner {
                    Value::Object(properties) if key == "properties" => {
                        for (name, property) in properties.iter_mut() {
                            let source = match &documented {
                                Some(names) if names.contains(name) => Source::Documented,
                                Some(_) => Source::Decision,
                                None => source,
                            };
                            label(property, source, field);
                            if is_object {
                                field(property, source);
                            }
                        }
                    }
                    Value::Array(_) if matches!(key.as_str(), "anyOf" | "oneOf" | "allOf") => {
                        label(inner, source, field)
                    }
                    Value::Object(_) if key == "items" => label(inner, source, field),
                    _ => {}
                }
            }
        }
        Value::Array(several) => several.iter_mut().for_each(|one| label(one, source, field)),
        _ => {}
    }
}

/// Adds the source of a field to its schema.
pub(super) fn mark(field: &mut Value, source: Source) {
    if let Value::Object(field) = field {
        field.insert("x-guichet-source".into(), word(source).into());
    }
}

/// Removes the formats of integers, such as `int64`: their ranges are more exact.
pub(super) fn without_bits(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.retain(|key, value| key != "format" || !value.as_str().is_some_and(|format| format.contains("int")));
            object.values_mut().for_each(without_bits);
        }
        Value::Array(several) => several.iter_mut().for_each(without_bits),
        _ => {}
    }
}

/// Adds the constraints that a type's schema lacks: the values of the sandbox's tables, and the pattern of a text that
/// must not be blank.
fn complete(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            // Only the command uses it.
            object.remove("x-guichet-secret");
            if let Some(known) = object.remove("x-guichet-known") {
                object.remove("minLength");
                object.remove("pattern");
                object.insert("enum".into(), known_values(known.as_str().unwrap_or_default()));
            }
            let says_more =
                ["const", "enum", "format", "minLength", "pattern"].iter().any(|key| object.contains_key(*key));
            if !says_more
                && object.get("type").is_some_and(|kind| *kind == json!("string") || *kind == json!(["string", "null"]))
            {
                object.insert("pattern".into(), NOT_BLANK.into());
            }
            object.iter_mut().filter(|(key, _)| *key != "default").for_each(|(_, inner)| complete(inner));
        }
        Value::Array(several) => several.iter_mut().for_each(complete),
        _ => {}
    }
}

/// The values of one of the sandbox's tables.
fn known_values(table: &str) -> Value {
    match table {
        "countries" => json!(Fees::standard().countries()),
        "method_codes" => json!(["card", "mobile_money"]),
        // Null and no operator are the same.
        "operators" => OPERATORS.iter().map(|operator| json!(operator.code)).chain([Value::Null]).collect(),
        "test_cards" => json!(test_cards()),
        _ => json!([]),
    }
}

fn parameter(location: &str, name: &str, mut schema: Value, required: bool, example: &Value) -> Value {
    without_null(&mut schema);
    let source = schema["x-guichet-source"].take();
    let description = schema["description"].take();
    if let Value::Object(schema) = &mut schema {
        schema.remove("x-guichet-source");
        schema.remove("description");
    }
    let mut parameter = json!({
        "name": name, "in": location, "required": required, "description": description, "schema": schema,
        "x-guichet-source": source,
    });
    if !example[name].is_null() {
        parameter["example"] = example[name].clone();
    }
    parameter
}

/// The sort position of a parameter: first those of the path, then those of the query, in the operation's order.
fn position_in(spec: &Spec, name: &str) -> usize {
    let in_path = spec.path.find(&format!("{{{name}}}"));
    in_path.unwrap_or_else(|| spec.path.len() + spec.query.iter().position(|field| *field == name).unwrap_or_default())
}

/// Allows null for an optional field: the service treats null as absent.
fn or_null(mut schema: Value) -> Value {
    const NULL: &str = "null";
    match schema.get_mut("type") {
        Some(Value::Array(_)) => {}
        Some(kind) => {
            *kind = json!([kind.take(), NULL]);
            if let Some(Value::Array(words)) = schema.get_mut("enum")
                && !words.contains(&Value::Null)
            {
                words.push(Value::Null);
            }
        }
        None => {
            let shapes = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)).and_then(Value::as_array);
            let has_null = shapes.is_some_and(|shapes| shapes.iter().any(|shape| shape["type"] == NULL));
            if !has_null {
                let source = schema["x-guichet-source"].clone();
                schema = json!({ "anyOf": [schema, { "type": NULL }], "x-guichet-source": source });
            }
        }
    }
    schema
}

/// Disallows null, for example for a parameter, which is present or absent.
pub(super) fn without_null(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    if let Some(Value::Array(kinds)) = object.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            object.insert("type".into(), kind);
        }
    }
    if let Some(Value::Array(words)) = object.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(Value::Array(shapes)) = object.get_mut("anyOf") {
        shapes.retain(|shape| shape["type"] != "null");
        if let [Value::Object(shape)] = shapes.as_slice() {
            let shape = shape.clone();
            object.remove("anyOf");
            for (key, value) in shape {
                object.entry(key).or_insert(value);
            }
        }
    }
}

/// The summary and the description of an operation, from its documentation. Removes the method and the path with which
/// it begins, since the OpenAPI description has them already: `` `POST /v1/sessions/create`: create a token that… ``.
fn summary_and_description(documentation: &str) -> (String, String) {
    let text = documentation.split_once("`: ").map_or(documentation, |(_, rest)| rest);
    let sentence = text.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    let mut letters = sentence.chars();
    let summary = letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default();
    (summary, text.replace("[`", "`").replace("`]", "`"))
}
