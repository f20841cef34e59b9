//! The fields of the control API's calls.

use super::problem::Problem;
use crate::flow::nearest;
use crate::protocol::ErrorCode;
use serde_json::{Map, Value};

/// Refuses a mistyped field: without it, a test would go on with the default.
pub(super) fn refuse_unknown(method: &str, path: &str, fields: &Map<String, Value>) -> Result<(), Problem> {
    let known = || fields_of(method, path).iter().copied().chain(["merchant"]);
    let Some(name) = fields.keys().find(|name| known().all(|known| known != name.as_str())) else { return Ok(()) };
    let remedy = match nearest(name, known()) {
        Some(meant) => format!("Did you mean `{meant}`?"),
        None => format!("The fields are: {}.", known().collect::<Vec<_>>().join(", ")),
    };
    let message = format!("Unknown field `{name}`. {remedy}");
    Err(Problem::field(name, ErrorCode::ParameterUnknown, message))
}

/// The fields of a call, besides `merchant`.
fn fields_of(method: &str, path: &str) -> &'static [&'static str] {
    match (method, path) {
        ("POST", "/sandbox/clock") => &["advance_seconds"],
        ("POST", "/sandbox/faults") => &["operation", "kind", "count", "status", "milliseconds", "retry_after"],
        ("POST", "/sandbox/merchants") => &["name"],
        _ => &[],
    }
}
