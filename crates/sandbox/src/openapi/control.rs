//! Describes the control API, from the declarations of its calls: `decisions.md` 12.

use super::refusals::{self, decided, reference, request_id};
use super::responses::{Responses, headers, headers_of_refusal, new_response};
use crate::FaultKind;
use crate::control::calls::{Call, Declared};
use crate::rules::OperatorStatus;
use guichet::protocol::{ErrorCode, Method, Source, Spec};
use guichet::values::NOT_BLANK;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The name of the control API's security scheme.
pub(super) const SCHEME: &str = "control_token";

/// The security scheme of the control API.
pub(super) fn scheme() -> Value {
    json!({
        "type": "http", "scheme": "bearer",
        "description": "The control token, `ctl_…`, which the sandbox prints when it starts. It is new at each start, unless `GUICHET_CONTROL_TOKEN` sets it.",
    })
}

/// Adds every call of the control API to the paths.
pub(super) fn add(paths: &mut Map<String, Value>, responses: &mut Responses) {
    for call in Call::ALL {
        let Spec { method, path, .. } = call.spec();
        let path = paths.entry(*path).or_insert_with(|| json!({}));
        path[method.as_str().to_ascii_lowercase()] = operation(*call, responses);
    }
}

fn operation(call: Call, responses: &mut Responses) -> Value {
    let declared = call.declared();
    let Declared { spec, name, summary, description, has_merchant, required, .. } = declared;
    let is_public = call == Call::ReadDescription;
    let has_body = spec.method == Method::Post;
    let merchant = json!({
        "name": "merchant", "in": "query", "required": false, "schema": { "type": "string" }, "description": MERCHANT,
        "x-guichet-source": "decision",
    });
    let mut parameters = Vec::new();
    if spec.method == Method::Get {
        for (field, mut schema) in (declared.fields)().as_object().cloned().unwrap_or_default() {
            let description = schema["description"].take();
            schema.as_object_mut().into_iter().for_each(|schema| drop(schema.remove("description")));
            // A query has no null.
            if let Some(kind) = schema["type"].get(0).cloned() {
                schema["type"] = kind;
            }
            parameters.push(json!({
                "name": field, "in": "query", "required": false, "schema": schema, "description": description,
                "x-guichet-source": "decision",
            }));
        }
    }
    parameters.extend((*has_merchant && !has_body).then_some(merchant));
    let mut operation = json!({
        "operationId": name,
        "summary": summary.trim(),
        "description": description,
        "tags": ["sandbox"],
        "x-guichet-source": "decision",
        "x-guichet-role": "control",
        "security": if is_public { json!([]) } else { json!([{ SCHEME: [] }]) },
        "parameters": parameters,
        "responses": {},
    });
    if has_body {
        let mut fields = (declared.fields)();
        if *has_merchant {
            fields["merchant"] = json!({ "type": ["string", "null"], "pattern": NOT_BLANK, "description": MERCHANT });
        }
        let mut schema = json!({ "type": "object", "properties": decided(fields), "additionalProperties": false });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        if call == Call::AddFault {
            schema["allOf"] = fields_of_kinds();
        }
        operation["requestBody"] = json!({
            "required": !required.is_empty(),
            "content": { "application/json": { "schema": schema, "example": (declared.example)() } },
        });
    }
    let mut success = new_response("Success.", Source::Decision, headers(), reference(declared.reply));
    success["content"]["application/json"]["example"] = (declared.replied)();
    operation["responses"]["200"] = success;
    for (status, codes) in refusals_of(declared, is_public, has_body) {
        responses.add_codes(&codes);
        let body = refusals::body(status, &codes, false);
        let refusal = new_response(why(status), Source::Decision, headers_of_refusal(status, headers()), body);
        operation["responses"][status.to_string()] = responses.share(&format!("ControlError{status}"), refusal);
    }
    operation
}

/// The fields that only one kind of fault has.
fn fields_of_kinds() -> Value {
    let is = |kind: &str| json!({ "required": ["kind"], "properties": { "kind": { "const": kind } } });
    let absent = json!({ "type": "null" });
    let milliseconds = json!({ "required": ["milliseconds"], "properties": { "milliseconds": { "type": "integer" } } });
    json!([
        { "if": is("delay"), "then": milliseconds, "else": { "properties": { "milliseconds": absent } } },
        { "if": is("status"), "else": { "properties": { "status": absent, "retry_after": absent } } },
    ])
}

const MERCHANT: &str = "The merchant's id; default: the first merchant.";

/// The error codes of a call by status.
fn refusals_of(declared: &Declared, is_public: bool, has_body: bool) -> BTreeMap<u16, Vec<&'static str>> {
    let mut codes = vec![&[ErrorCode::HostNotAllowed, ErrorCode::InternalError], declared.codes];
    if !is_public {
        codes.push(&[ErrorCode::AuthenticationRequired, ErrorCode::InvalidKey, ErrorCode::Unavailable]);
        codes.push(&[ErrorCode::ParameterInvalid, ErrorCode::ParameterUnknown]);
    }
    if declared.has_merchant {
        codes.push(&[ErrorCode::ResourceMissing]);
    }
    if has_body {
        codes.push(&[ErrorCode::InvalidJson, ErrorCode::InvalidUtf8, ErrorCode::BodyNotObject]);
        codes.push(&[ErrorCode::BodyTooLarge, ErrorCode::UnsupportedMediaType]);
    }
    refusals::by_status(codes)
}

fn why(status: u16) -> &'static str {
    match status {
        400 => "The request is malformed.",
        401 => "The control token is missing, or is not that of this start.",
        403 => "The request's host is neither a loopback name nor one given with `--allow-host`.",
        404 => "There is no such merchant.",
        413 => "The body is larger than 64 KiB.",
        415 => "The body is not JSON.",
        422 => "Fields or query parameters are invalid. `errors` lists all that were found together.",
        503 => "The sandbox could not store or read what this call needs.",
        _ => "A defect of the sandbox.",
    }
}

/// The schemas of the control API. `operations` are the names of the service's operations.
pub(super) fn schemas(operations: &[&str]) -> Map<String, Value> {
    let object = |description: &str, optional: &[&str], fields: Value| {
        let names = fields.as_object().into_iter().flat_map(Map::keys);
        let required: Vec<&String> = names.filter(|name| !optional.contains(&name.as_str())).collect();
        json!({ "type": "object", "description": description, "required": required, "properties": decided(fields.clone()) })
    };
    let text = |description: &str| json!({ "type": "string", "description": description });
    let integer = |description: &str| json!({ "type": "integer", "description": description });
    let list = |of: &str| json!({ "type": "array", "items": reference(of) });
    let moment = integer("In Unix seconds, by the merchant's clock.");
    let schemas = json!({
        "NewMerchant": object("A merchant that was created.", &[], json!({
            "merchant": text("Its id."),
            "secret_key": { "type": "string", "pattern": "^sk_test_", "description": "Its secret key, which is shown this once." },
        })),
        "MerchantClock": object("A merchant's clock.", &[], json!({ "now": moment })),
        "ResetMerchant": object("A merchant of which everything was deleted but its name and key.", &[], json!({
            "merchant": text("Its id."),
            "now": moment,
        })),
        "OperationName": { "type": "string", "enum": operations, "description": "An operation of the service." },
        "FaultKind": { "type": "string", "enum": FaultKind::names(), "description": "How a call fails." },
        "WaitingFaults": object("A merchant's waiting faults.", &[], json!({ "faults": list("WaitingFault") })),
        "WaitingFault": object(
            "A fault that waits for calls of its operation.",
            &["milliseconds", "status", "retry_after"],
            json!({
                "operation": reference("OperationName"),
                "kind": reference("FaultKind"),
                "count": { "type": "integer", "minimum": 1, "description": "The number of calls that will fail." },
                "milliseconds": integer("The length of a `delay`."),
                "status": integer("The HTTP status of a `status`."),
                "retry_after": { "type": ["integer", "null"], "description": "The header `Retry-After` of a `status`, in seconds." },
            }),
        ),
        "Operators": object("The mobile money operators, for a merchant.", &[], json!({ "operators": list("OperatorNow") })),
        "OperatorNow": object("A mobile money operator, and how it works.", &[], json!({
            "code": text("Its code."),
            "name": text("Its name."),
            "status": { "type": "string", "enum": OperatorStatus::ALL.map(OperatorStatus::as_str), "description": "How it works." },
        })),
        "ReceivedRequests": object("A merchant's newest requests.", &[], json!({ "requests": list("ReceivedRequest") })),
        "ReceivedRequest": object("A request that reached the service.", &[], json!({
            "at": moment,
            "operation": reference("OperationName"),
            "method": text("Its HTTP method."),
            "path": text("The operation's path: `/v1/payment-intents/{id}`."),
            "intent": { "type": ["string", "null"], "description": "The payment intent in its path." },
            "credential": {
                "title": "CredentialKind", "type": "string", "enum": ["client_secret", "none", "secret_key", "session_token"],
                "description": "The kind of its credential.",
            },
            "request_id": request_id(),
            "status": {
                "type": ["integer", "null"],
                "description": "The status of the response. Null if there is none yet, or the connection ended first.",
            },
            "fault": { "anyOf": [reference("FaultKind"), { "type": "null" }] },
            "error": { "type": ["string", "null"], "description": "The error code of a refusal." },
            "reference": { "type": ["string", "null"], "description": "The reference in its body." },
        })),
        "SandboxEvents": object("A merchant's newest events.", &[], json!({ "events": list("SandboxEvent") })),
        "SandboxEvent": object("A change of a payment, a subscription or an eSIM order.", &[], json!({
            "id": text("Its id, the same in every list."),
            "type": text("What changed: `payment_intent.succeeded`, `subscription.renewed`, …"),
            "created_at": moment,
            "data": reference("EventSubject"),
        })),
        "EventSubject": object("The object of an event.", &["merchant_reference"], json!({
            "id": text("The payment intent, subscription or eSIM order."),
            "merchant_reference": text("The reference of a payment intent."),
        })),
        "Description": { "type": "object", "description": "An OpenAPI 3.1 description." },
    });
    let mut schemas: Map<String, Value> = serde_json::from_value(schemas).unwrap_or_default();
    // As text, because the same as code is five times as large in the wasm.
    let mut inspector: Map<String, Value> =
        serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/schemas.json"))).unwrap_or_default();
    for schema in inspector.values_mut() {
        let fields = decided(schema["properties"].take());
        if schema.get("required").is_none() {
            schema["required"] = fields.as_object().into_iter().flat_map(Map::keys).cloned().collect();
        }
        (schema["properties"], schema["type"]) = (fields, "object".into());
    }
    schemas.extend(inspector);
    schemas
}
