//! Reads the fields of a call by its declaration: those of a `GET` from its query, those of others from their body.

use super::calls::Call;
use crate::problem::Problem;
use guichet::flow::nearest;
use guichet::protocol::{ErrorCode, Method, whole};
use serde_json::{Map, Value};

/// The fields of a call, and their schemas.
pub(super) struct Fields {
    values: Map<String, Value>,
    schemas: Value,
}

impl Fields {
    /// The fields of a call. Refuses a mistyped field or query parameter: without it, a test would go on with the
    /// default.
    pub(super) fn of(call: Call, mut values: Map<String, Value>, query: &[(String, String)]) -> Result<Self, Problem> {
        let schemas = (call.declared().fields)();
        let merchant = call.declared().has_merchant.then_some("merchant");
        let names = schemas.as_object().into_iter().flat_map(Map::keys);
        let known: Vec<&str> = names.map(String::as_str).chain(merchant).collect();
        refuse_others("field", values.keys(), &known)?;
        let in_query: &[&str] = if call.spec().method == Method::Get { &known } else { merchant.as_slice() };
        refuse_others("query parameter", query.iter().map(|(name, _)| name), in_query)?;
        for (name, text) in query.iter().filter(|(name, _)| name != "merchant") {
            let is_number = schemas[name.as_str()]["type"].to_string().contains("integer");
            let number = text.parse::<u64>().ok().filter(|_| is_number);
            values.insert(name.clone(), number.map_or_else(|| text.as_str().into(), Value::from));
        }
        Ok(Self { values, schemas })
    }

    /// Whether a field was sent, with a value other than null.
    pub(super) fn has(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|value| !value.is_null())
    }

    /// Reads a text, or its default.
    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, Problem> {
        let schema = &self.schemas[name];
        if !self.has(name) {
            return Ok(schema["default"].as_str());
        }
        let text = self.values[name].as_str().filter(|text| !text.trim().is_empty());
        let text = text.ok_or_else(|| wrong(name, format!("{name} must be a string that is not empty.")))?;
        match schema["maxLength"].as_u64() {
            Some(longest) if text.chars().count() as u64 > longest => {
                Err(wrong(name, format!("{name} must have at most {longest} characters.")))
            }
            _ => Ok(Some(text)),
        }
    }

    /// Reads a text that is required or has a default.
    pub(super) fn required(&self, name: &str) -> Result<&str, Problem> {
        self.text(name)?.ok_or_else(|| missing(name, format!("{name} is required.")))
    }

    /// Reads a whole number within its limits, or its default.
    pub(super) fn whole(&self, name: &str, invalid: &str) -> Result<Option<u32>, Problem> {
        let schema = &self.schemas[name];
        if !self.has(name) {
            return Ok(schema["default"].as_u64().and_then(|default| u32::try_from(default).ok()));
        }
        let (min, max) = (schema["minimum"].as_u64(), schema["maximum"].as_u64());
        let number =
            whole(&self.values[name]).filter(|number| min <= Some(*number) && max.is_none_or(|max| *number <= max));
        number.and_then(|number| u32::try_from(number).ok()).map(Some).ok_or_else(|| wrong(name, invalid))
    }
}

pub(super) fn wrong(name: &str, message: impl Into<String>) -> Problem {
    Problem::field(name, ErrorCode::ParameterInvalid, message)
}

pub(super) fn missing(name: &str, message: impl Into<String>) -> Problem {
    Problem::field(name, ErrorCode::ParameterMissing, message)
}

/// Refuses the first name that is not known. `what` it names.
fn refuse_others<'a>(what: &str, mut names: impl Iterator<Item = &'a String>, known: &[&str]) -> Result<(), Problem> {
    let Some(name) = names.find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
    let remedy = match nearest(name, known.iter().copied()) {
        Some(meant) => format!("Did you mean `{meant}`?"),
        None if known.is_empty() => format!("The call takes no {what}."),
        None => format!("The {what}s are: {}.", known.join(", ")),
    };
    let message = format!("Unknown {what} `{name}`. {remedy}");
    Err(Problem::field(name, ErrorCode::ParameterUnknown, message))
}
