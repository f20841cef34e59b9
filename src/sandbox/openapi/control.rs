//! Describes the control API: each call's fields, reply and errors. `decisions.md` 12.

use super::refusals::{self, decided, reference, request_id};
use super::responses::{Responses, header, headers_of_refusal, new_response};
use crate::protocol::{ErrorCode, Source};
use crate::sandbox::control::{Call, LONGEST_NAME, MAX_ADVANCE};
use crate::sandbox::faults::LONGEST_DELAY;
use crate::values::NOT_BLANK;
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

/// One call in words and schemas.
struct Described {
    name: &'static str,
    summary: &'static str,
    description: &'static str,
    /// The fields of the body, without `merchant`.
    fields: Value,
    required: &'static [&'static str],
    example: Value,
    /// The name of the reply's schema.
    reply: &'static str,
    replied: Value,
    /// The error codes of its own rules.
    codes: &'static [ErrorCode],
}

/// A call that takes no field but `merchant`, and has no errors of its own.
impl Default for Described {
    fn default() -> Self {
        Self {
            name: "",
            summary: "",
            description: "",
            fields: json!({}),
            required: &[],
            example: json!({}),
            reply: "",
            replied: json!({}),
            codes: &[],
        }
    }
}

fn described(call: Call) -> Described {
    let fault = json!({ "operation": "create_payment_intent", "kind": "lost_response", "count": 2 });
    match call {
        Call::CreateMerchant => Described {
            name: "create_merchant",
            summary: "Creates a merchant.",
            description: "Each test gets its own: a key, a clock, faults, customers and payments. The secret key is shown this once.",
            fields: json!({ "name": {
                "type": ["string", "null"], "pattern": NOT_BLANK, "maxLength": LONGEST_NAME, "default": "Sandbox shop",
                "description": "Its name, which the hosted checkout page shows.",
            } }),
            example: json!({ "name": "Boutique Awa" }),
            reply: "NewMerchant",
            replied: json!({
                "merchant": "mch_1b0JtiwGBMbGCuuaxI9fAT",
                "secret_key": "sk_test_0000000000000000000000000000000000000000000",
            }),
            ..Described::default()
        },
        Call::ReadClock => Described {
            name: "read_clock",
            summary: "Reads a merchant's clock.",
            reply: "MerchantClock",
            replied: json!({ "now": 1_795_257_000 }),
            ..Described::default()
        },
        Call::AdvanceClock => Described {
            name: "advance_clock",
            summary: "Moves a merchant's clock forward.",
            description: "Work that becomes due, such as the charge of a subscription, is done before the response, each at its own time.",
            fields: json!({ "advance_seconds": {
                "type": "integer", "minimum": 0, "maximum": MAX_ADVANCE,
                "description": "How far. The clock never goes back.",
            } }),
            required: &["advance_seconds"],
            example: json!({ "advance_seconds": 2_678_400 }),
            reply: "MerchantClock",
            replied: json!({ "now": 1_797_935_400 }),
            codes: &[ErrorCode::ParameterInvalid],
        },
        Call::ListFaults => Described {
            name: "list_faults",
            summary: "Lists the faults that wait for a call.",
            reply: "WaitingFaults",
            replied: json!({ "faults": [fault] }),
            ..Described::default()
        },
        Call::AddFault => Described {
            name: "add_fault",
            summary: "Makes the next calls of an operation fail.",
            description: "`delay`, `lost_response`, `malformed` and `truncate` execute the call, but the response is late, lost or broken. \
                          `drop` and `status` do not execute it. The reply lists all waiting faults.",
            fields: json!({
                "operation": reference("OperationName"),
                "kind": reference("FaultKind"),
                "count": {
                    "type": ["integer", "null"], "minimum": 1, "maximum": 10_000, "default": 1,
                    "description": "The number of calls.",
                },
                "milliseconds": {
                    "type": ["integer", "null"], "minimum": 0, "maximum": LONGEST_DELAY,
                    "description": "Required for `delay`: its length.",
                },
                "status": {
                    "type": ["integer", "null"], "minimum": 400, "maximum": 599,
                    "description": "For `status`: the HTTP status; 503 if it is omitted.",
                },
                "retry_after": {
                    "type": ["integer", "null"], "minimum": 0, "maximum": 86_400,
                    "description": "For `status`: the header `Retry-After`, in seconds.",
                },
            }),
            required: &["operation", "kind"],
            example: fault.clone(),
            reply: "WaitingFaults",
            replied: json!({ "faults": [fault] }),
            codes: &[ErrorCode::ParameterInvalid, ErrorCode::ParameterMissing, ErrorCode::TooManyFaults],
        },
        Call::ClearFaults => Described {
            name: "clear_faults",
            summary: "Removes a merchant's waiting faults.",
            reply: "WaitingFaults",
            replied: json!({ "faults": [] }),
            ..Described::default()
        },
        Call::ListRequests => Described {
            name: "list_requests",
            summary: "Lists the newest 1,000 requests of a merchant and its customers, oldest first.",
            description: "No credential, query, body or card is kept. The first merchant's list also has the requests without a known \
                          merchant.",
            reply: "ReceivedRequests",
            replied: json!({ "requests": [{
                "at": 1_795_257_000, "operation": "create_payment_intent", "method": "POST", "path": "/v1/payment-intents",
                "intent": null, "credential": "secret_key", "request_id": "req_6h6rAoXcBZyqAo9gZTkBzi", "status": 201, "fault": null,
            }] }),
            ..Described::default()
        },
        Call::ListEvents => Described {
            name: "list_events",
            summary: "Lists the newest events of a merchant's payments, subscriptions and eSIM orders, in order.",
            reply: "SandboxEvents",
            replied: json!({ "events": [{
                "id": "evt_1aPzGzHvBpDlS6aVKdzUwW_0", "type": "payment_intent.created", "created_at": 1_795_257_000,
                "data": { "id": "pi_1aPzGzHvBpDlS6aVKdzUwW", "merchant_reference": "ORDER-17" },
            }] }),
            ..Described::default()
        },
        Call::ResetMerchant => Described {
            name: "reset_merchant",
            summary: "Deletes everything of a merchant but its name and its key.",
            description: "Its clock then shows the service's time.",
            reply: "ResetMerchant",
            replied: json!({ "merchant": "mch_1b0JtiwGBMbGCuuaxI9fAT", "now": 1_795_257_000 }),
            ..Described::default()
        },
        Call::ReadDescription => Described {
            name: "read_description",
            summary: "Reads this description. It needs no token.",
            reply: "Description",
            replied: json!({ "openapi": "3.1.0" }),
            ..Described::default()
        },
    }
}

/// The names of a call's fields, without `merchant`.
pub(in crate::sandbox) fn fields_of(call: Call) -> Vec<String> {
    let fields = described(call).fields;
    fields.as_object().into_iter().flat_map(Map::keys).cloned().collect()
}

/// Adds every call of the control API to the paths.
pub(super) fn add(paths: &mut Map<String, Value>, responses: &mut Responses) {
    for call in Call::ALL {
        let (method, path) = call.endpoint();
        let path = paths.entry(path).or_insert_with(|| json!({}));
        path[method.to_ascii_lowercase()] = operation(call, method, responses);
    }
}

fn operation(call: Call, method: &str, responses: &mut Responses) -> Value {
    let Described { name, summary, description, fields, required, example, reply, replied, codes } = described(call);
    let is_public = call == Call::ReadDescription;
    let has_merchant = call.has_merchant();
    let has_body = method == "POST";
    let mut body = decided(fields);
    let mut parameters = Vec::new();
    if has_merchant && has_body {
        body["merchant"] = json!({
            "type": ["string", "null"], "pattern": NOT_BLANK, "description": MERCHANT, "x-guichet-source": "decision",
        });
    } else if has_merchant {
        parameters.push(json!({
            "name": "merchant", "in": "query", "required": false, "schema": { "type": "string" }, "description": MERCHANT,
            "x-guichet-source": "decision",
        }));
    }
    let mut operation = json!({
        "operationId": name,
        "summary": summary,
        "description": description,
        "tags": ["sandbox"],
        "x-guichet-source": "decision",
        "x-guichet-role": "control",
        "security": if is_public { json!([]) } else { json!([{ SCHEME: [] }]) },
        "parameters": parameters,
        "responses": {},
    });
    if has_body {
        let mut schema = json!({ "type": "object", "properties": body, "additionalProperties": false });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        if call == Call::AddFault {
            schema["allOf"] = fields_of_kinds();
        }
        operation["requestBody"] = json!({
            "required": !required.is_empty(),
            "content": { "application/json": { "schema": schema, "example": example } },
        });
    }
    let mut success = new_response("Success.", Source::Decision, headers(), reference(reply));
    success["content"]["application/json"]["example"] = replied;
    operation["responses"]["200"] = success;
    for (status, codes) in refusals_of(is_public, has_merchant, has_body, codes) {
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
fn refusals_of(
    is_public: bool,
    has_merchant: bool,
    has_body: bool,
    rules: &'static [ErrorCode],
) -> BTreeMap<u16, Vec<&'static str>> {
    let mut codes: Vec<&'static [ErrorCode]> = vec![&[ErrorCode::HostNotAllowed, ErrorCode::InternalError], rules];
    if !is_public {
        codes.push(&[ErrorCode::AuthenticationRequired, ErrorCode::InvalidKey, ErrorCode::Unavailable]);
        codes.push(&[ErrorCode::ParameterInvalid, ErrorCode::ParameterUnknown]);
    }
    if has_merchant {
        codes.push(&[ErrorCode::ResourceMissing]);
    }
    if has_body {
        codes.push(&[ErrorCode::InvalidJson, ErrorCode::InvalidUtf8, ErrorCode::BodyNotObject]);
        codes.push(&[ErrorCode::BodyTooLarge, ErrorCode::UnsupportedMediaType]);
    }
    refusals::by_status(codes)
}

fn headers() -> Value {
    json!({
        "Request-Id": header(true, request_id(), "The id of the request."),
        "Cache-Control": header(true, json!({ "const": "no-store" }), "Responses must not be cached."),
    })
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
pub(super) fn schemas(operations: &[&str]) -> impl Iterator<Item = (String, Value)> {
    let moment = || json!({ "type": "integer", "description": "In Unix seconds, by the merchant's clock." });
    let object = |description: &str, fields: Value, optional: &[&str]| {
        let required: Vec<String> = fields.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        let required: Vec<String> = required.into_iter().filter(|name| !optional.contains(&name.as_str())).collect();
        json!({ "type": "object", "description": description, "required": required, "properties": decided(fields) })
    };
    let list = |of: &str| json!({ "type": "array", "items": reference(of) });
    let or_null = |schema: Value| json!({ "anyOf": [schema, { "type": "null" }] });
    let schemas = [
        (
            "NewMerchant",
            object(
                "A merchant that was created.",
                json!({
                    "merchant": { "type": "string", "description": "Its id." },
                    "secret_key": { "type": "string", "pattern": "^sk_test_", "description": "Its secret key, which is shown this once." },
                }),
                &[],
            ),
        ),
        ("MerchantClock", object("A merchant's clock.", json!({ "now": moment() }), &[])),
        (
            "ResetMerchant",
            object(
                "A merchant of which everything was deleted but its name and key.",
                json!({ "merchant": { "type": "string", "description": "Its id." }, "now": moment() }),
                &[],
            ),
        ),
        (
            "OperationName",
            json!({ "type": "string", "enum": operations, "description": "An operation of the service." }),
        ),
        (
            "FaultKind",
            json!({
                "type": "string", "enum": ["delay", "drop", "lost_response", "malformed", "status", "truncate"],
                "description": "How a call fails.",
            }),
        ),
        ("WaitingFaults", object("A merchant's waiting faults.", json!({ "faults": list("WaitingFault") }), &[])),
        (
            "WaitingFault",
            object(
                "A fault that waits for calls of its operation.",
                json!({
                    "operation": reference("OperationName"),
                    "kind": reference("FaultKind"),
                    "count": { "type": "integer", "minimum": 1, "description": "The number of calls that will fail." },
                    "milliseconds": { "type": "integer", "description": "The length of a `delay`." },
                    "status": { "type": "integer", "description": "The HTTP status of a `status`." },
                    "retry_after": { "type": ["integer", "null"], "description": "The header `Retry-After` of a `status`, in seconds." },
                }),
                &["milliseconds", "status", "retry_after"],
            ),
        ),
        (
            "ReceivedRequests",
            object("A merchant's newest requests.", json!({ "requests": list("ReceivedRequest") }), &[]),
        ),
        (
            "ReceivedRequest",
            object(
                "A request that reached the service.",
                json!({
                    "at": moment(),
                    "operation": reference("OperationName"),
                    "method": { "type": "string", "description": "Its HTTP method." },
                    "path": { "type": "string", "description": "The operation's path: `/v1/payment-intents/{id}`." },
                    "intent": { "type": ["string", "null"], "description": "The payment intent in its path." },
                    "credential": {
                        "title": "CredentialKind", "type": "string",
                        "enum": ["client_secret", "none", "secret_key", "session_token"], "description": "The kind of its credential.",
                    },
                    "request_id": request_id(),
                    "status": {
                        "type": ["integer", "null"],
                        "description": "The status of the response. Null if there is none yet, or the connection ended first.",
                    },
                    "fault": or_null(reference("FaultKind")),
                }),
                &[],
            ),
        ),
        ("SandboxEvents", object("A merchant's newest events.", json!({ "events": list("SandboxEvent") }), &[])),
        (
            "SandboxEvent",
            object(
                "A change of a payment, a subscription or an eSIM order.",
                json!({
                    "id": { "type": "string", "description": "Its id, the same in every list." },
                    "type": { "type": "string", "description": "What changed: `payment_intent.succeeded`, `subscription.renewed`, …" },
                    "created_at": moment(),
                    "data": reference("EventSubject"),
                }),
                &[],
            ),
        ),
        (
            "EventSubject",
            object(
                "The object of an event.",
                json!({
                    "id": { "type": "string", "description": "The payment intent, subscription or eSIM order." },
                    "merchant_reference": { "type": "string", "description": "The reference of a payment intent." },
                }),
                &["merchant_reference"],
            ),
        ),
        ("Description", json!({ "type": "object", "description": "An OpenAPI 3.1 description." })),
    ];
    schemas.into_iter().map(|(name, schema)| (name.to_owned(), schema))
}
