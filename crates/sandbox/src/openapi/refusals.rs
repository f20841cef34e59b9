//! Describes the error responses of an operation: its error codes by status, `decisions.md` 1.

use guichet::protocol::{CredentialKind, ErrorCode, ErrorType, Method, Role, Spec, is_retryable_status};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The error codes of an operation by status: those that follow from its method, path and role, and those of its rules.
pub(super) fn codes<R: Role>(
    spec: &Spec,
    has_fields: bool,
    has_body: bool,
    rules: &'static [ErrorCode],
) -> BTreeMap<u16, Vec<&'static str>> {
    let mut codes: Vec<&'static [ErrorCode]> = vec![rules];
    let mut add = |of: &'static [ErrorCode]| codes.push(of);
    let reads_a_body = spec.method != Method::Get;
    let about_sessions = !R::admits(CredentialKind::SecretKey);

    if reads_a_body {
        add(&[ErrorCode::InvalidJson, ErrorCode::InvalidUtf8, ErrorCode::BodyNotObject]);
        add(&[ErrorCode::BodyTooLarge]);
        add(&[ErrorCode::UnsupportedMediaType]);
        add(&[ErrorCode::ParameterInvalid, ErrorCode::ParameterUnknown]);
    } else if spec.path.contains('{') {
        add(&[ErrorCode::InvalidUtf8]);
    }
    add(&[ErrorCode::AuthenticationRequired, ErrorCode::InvalidKey, ErrorCode::LiveKeyInSandbox]);
    add(&[ErrorCode::SessionUnknown, ErrorCode::SessionExpired, ErrorCode::SessionRevoked]);
    add(&[ErrorCode::SecretKeyInBrowser]);
    if about_sessions {
        add(&[ErrorCode::SessionTokenRequired]);
    } else if !(R::admits(CredentialKind::SessionToken) && R::admits(CredentialKind::ClientSecret)) {
        add(&[ErrorCode::RoleRequired]);
    }
    if spec.path.contains("{id}") || spec.query.contains(&"starting_after") {
        add(&[ErrorCode::ResourceMissing]);
    }
    if has_fields && !reads_a_body {
        add(&[ErrorCode::ParameterInvalid]);
    }
    if has_body {
        add(&[ErrorCode::ParameterMissing]);
    }
    add(&[ErrorCode::RateLimited]);
    add(&[ErrorCode::InternalError]);
    add(&[ErrorCode::Unavailable]);
    by_status(codes)
}

/// Groups error codes by their status.
pub(super) fn by_status(codes: impl IntoIterator<Item = &'static [ErrorCode]>) -> BTreeMap<u16, Vec<&'static str>> {
    let mut grouped: BTreeMap<u16, Vec<&'static str>> = BTreeMap::new();
    for code in codes.into_iter().flatten() {
        grouped.entry(code.status().unwrap_or_default()).or_default().push(code.as_str());
    }
    grouped.values_mut().for_each(|codes| {
        codes.sort_unstable();
        codes.dedup();
    });
    grouped
}

/// The schema of one error response: the shared schema by `$ref`, and the constraints of this status. Code generators
/// read only the `$ref`, validators read both.
pub(super) fn body(status: u16, codes: &[&str], is_of_session: bool) -> Value {
    let has_fields = status == 422;
    let has_existing = codes.contains(&ErrorCode::MerchantReferenceConflict.as_str())
        || codes.contains(&ErrorCode::IdempotencyKeyReused.as_str());
    let one_of = json!({ "enum": codes });
    let mut details = json!({
        "type": { "const": ErrorType::of(status).as_str() },
        "code": one_of,
        "retryable": { "const": is_retryable_status(status) },
    });
    if has_fields {
        details["errors"] = json!({ "items": { "properties": { "code": one_of } } });
    }
    for (name, may_be_there) in [("param", has_fields), ("errors", has_fields), ("existing_id", has_existing)] {
        if !may_be_there {
            details[name] = json!(false);
        }
    }
    let mut narrowed = json!({ "properties": details });
    if has_fields {
        narrowed["required"] = json!(["param", "errors"]);
    }
    json!({
        "$ref": format!("#/components/schemas/{}", if is_of_session { "SessionError" } else { "Error" }),
        "properties": { "status_code": { "const": status }, "error": narrowed },
    })
}

/// The shared schemas of errors, with these codes.
pub(super) fn schemas<'a>(codes: impl IntoIterator<Item = &'a str>) -> [(&'static str, Value); 6] {
    let codes: BTreeSet<&str> = codes.into_iter().collect();
    let types: BTreeSet<&str> =
        codes.iter().filter_map(|code| ErrorCode::from(*code).kind()).map(|kind| kind.as_str()).collect();
    [
        ("Error", error(json!({ "type": "null" }), false)),
        ("SessionError", error(json!({ "anyOf": [reference("EndedSession"), { "type": "null" }] }), true)),
        ("ErrorDetails", details()),
        ("FieldError", field_error()),
        ("ErrorType", json!({ "type": "string", "enum": types, "description": "The kind of the cause." })),
        ("ErrorCode", json!({ "type": "string", "enum": codes, "description": "The stable code of the cause." })),
    ]
}

/// The documented envelope, extended by `error`.
fn error(data: Value, is_of_session: bool) -> Value {
    let mut fields = decided(json!({
        "status_code": { "type": "integer", "description": "The HTTP status." },
        "response_type": { "const": "error" },
        "message": { "type": "string", "minLength": 1, "description": "A message for people." },
        "data": data,
        "error": reference("ErrorDetails"),
    }));
    fields["status_code"]["x-guichet-source"] = "documented".into();
    let mut required = vec!["status_code", "response_type", "message", "data", "error"];
    if is_of_session {
        fields["success"] = json!({ "const": false, "x-guichet-source": "documented" });
        required.push("success");
    }
    json!({ "type": "object", "description": "The response to a refused request.", "required": required, "properties": fields })
}

fn details() -> Value {
    json!({
        "type": "object",
        "description": "The cause of an error.",
        "required": ["type", "code", "request_id", "retryable"],
        "properties": decided(json!({
            "type": reference("ErrorType"),
            "code": reference("ErrorCode"),
            "param": { "type": "string", "description": "The first invalid field." },
            "errors": {
                "type": "array", "minItems": 1, "items": reference("FieldError"),
                "description": "Every invalid field.",
            },
            "request_id": request_id(),
            "retryable": { "type": "boolean", "description": "Whether the same request can succeed later." },
            "existing_id": { "type": "string", "description": "The id of the existing object." },
        })),
    })
}

fn field_error() -> Value {
    json!({
        "type": "object",
        "description": "The error of one field.",
        "required": ["param", "code", "message"],
        "properties": decided(json!({
            "param": { "type": "string" },
            "code": reference("ErrorCode"),
            "message": { "type": "string", "minLength": 1 },
        })),
    })
}

/// Marks fields as decisions.
pub(super) fn decided(mut fields: Value) -> Value {
    for field in fields.as_object_mut().into_iter().flat_map(|fields| fields.values_mut()) {
        field["x-guichet-source"] = "decision".into();
    }
    fields
}

pub(super) fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

/// The schema of a request's id.
pub(super) fn request_id() -> Value {
    json!({ "type": "string", "pattern": "^req_[0-9A-Za-z]{22}$" })
}
