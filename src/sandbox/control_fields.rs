//! The fields and the query parameters of the control API's calls.

use super::control::Call;
use super::openapi;
use super::problem::Problem;
use crate::flow::nearest;
use crate::protocol::ErrorCode;
use serde_json::{Map, Value};

/// Refuses a mistyped field or query parameter: without it, a test would go on with the default.
pub(super) fn refuse_unknown(
    call: Call,
    fields: &Map<String, Value>,
    query: &[(String, String)],
) -> Result<(), Problem> {
    let merchant = call.has_merchant().then_some("merchant");
    let described = openapi::control_fields(call);
    let known: Vec<&str> = described.iter().map(String::as_str).chain(merchant).collect();
    refuse_others("field", fields.keys(), &known)?;
    refuse_others("query parameter", query.iter().map(|(name, _)| name), merchant.as_slice())
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
