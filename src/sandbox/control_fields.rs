//! The fields of the control API's calls.

use super::control::Call;
use super::problem::Problem;
use crate::flow::nearest;
use crate::protocol::ErrorCode;
use serde_json::{Map, Value};

/// Refuses a mistyped field: without it, a test would go on with the default.
pub(super) fn refuse_unknown(call: Call, fields: &Map<String, Value>) -> Result<(), Problem> {
    let known = || fields_of(call).iter().copied().chain(["merchant"]);
    let Some(name) = fields.keys().find(|name| known().all(|known| known != name.as_str())) else { return Ok(()) };
    let remedy = match nearest(name, known()) {
        Some(meant) => format!("Did you mean `{meant}`?"),
        None => format!("The fields are: {}.", known().collect::<Vec<_>>().join(", ")),
    };
    let message = format!("Unknown field `{name}`. {remedy}");
    Err(Problem::field(name, ErrorCode::ParameterUnknown, message))
}

/// The fields of a call, besides `merchant`.
fn fields_of(call: Call) -> &'static [&'static str] {
    match call {
        Call::AddFault => &["operation", "kind", "count", "status", "milliseconds", "retry_after"],
        Call::AdvanceClock => &["advance_seconds"],
        Call::CreateMerchant => &["name"],
        Call::ClearFaults
        | Call::ListEvents
        | Call::ListFaults
        | Call::ListRequests
        | Call::ReadClock
        | Call::ReadDescription
        | Call::ResetMerchant => &[],
    }
}
