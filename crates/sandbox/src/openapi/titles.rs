//! Adds titles to inline schemas. Code generators use a title as the name of a type. Without one they number the types:
//! `PaymentMethodType0`.

use serde_json::{Value, json};

/// Gives every enum and every object inside a schema the name of its field as a title.
pub(super) fn give(schema: &mut Value) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, field) in properties.into_iter().flatten() {
        one_choice(field);
        give_one(field, &pascal(name));
    }
}

/// Gives a field, its alternatives and its items their titles.
fn give_one(schema: &mut Value, title: &str) {
    for alternatives in ["anyOf", "oneOf"] {
        for one in schema.get_mut(alternatives).and_then(Value::as_array_mut).into_iter().flatten() {
            let kind = one["properties"]["type"]["const"].as_str().map(pascal).unwrap_or_default();
            give_one(one, &format!("{title}{kind}"));
        }
    }
    if let Some(item) = schema.get_mut("items") {
        give_one(item, title.strip_suffix('s').unwrap_or(title));
    }
    let is_object = ["properties", "additionalProperties"].iter().any(|key| !schema[*key].is_null());
    if is_object || !schema["enum"].is_null() {
        schema["title"] = title.into();
    }
    give(schema);
}

/// Writes a nullable enum as `anyOf` the enum and null. From an enum that contains null, code generators create several
/// types.
fn one_choice(field: &mut Value) {
    let Some(words) = field.get_mut("enum").and_then(Value::as_array_mut) else { return };
    let before = words.len();
    words.retain(|word| !word.is_null());
    if words.len() == before {
        return;
    }
    let choice = json!({ "type": "string", "enum": field["enum"].take() });
    field["anyOf"] = json!([choice, { "type": "null" }]);
    if let Value::Object(field) = field {
        field.remove("enum");
        field.remove("type");
    }
}

/// Converts snake case to Pascal case: `fee_bearer` becomes `FeeBearer`.
fn pascal(name: &str) -> String {
    name.split('_')
        .map(|word| word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect::<String>())
        .collect()
}
