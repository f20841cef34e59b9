//! The leaves of a JSON value.

use serde_json::Value;
use std::collections::BTreeMap;

/// The texts, numbers and truth values of a value, by their paths.
pub(crate) fn leaves(value: &Value) -> BTreeMap<String, Value> {
    fn collect(value: &Value, path: &str, found: &mut BTreeMap<String, Value>) {
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        match value {
            Value::Object(object) => object.iter().for_each(|(name, value)| collect(value, &below(name), found)),
            Value::Array(entries) => {
                entries.iter().enumerate().for_each(|(place, value)| collect(value, &below(&place.to_string()), found));
            }
            Value::Null => {}
            _ => {
                found.insert(path.to_owned(), value.clone());
            }
        }
    }
    let mut found = BTreeMap::new();
    collect(value, "", &mut found);
    found
}

/// A text as it is, and any other value as JSON.
pub(crate) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
