//! How an operation may be refused: its codes by status, `decisions.md` 1.

use crate::protocol::{CredentialKind, Envelope, ErrorCode, ErrorType, Method, Role, Spec};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The codes with which an operation may be refused, by status: those that follow from what it is, and those of its rules.
pub(super) fn codes<R: Role>(
    spec: &Spec,
    has_fields: bool,
    has_body: bool,
    rules: &'static [ErrorCode],
) -> BTreeMap<u16, Vec<&'static str>> {
    let mut codes: BTreeMap<u16, Vec<&'static str>> = BTreeMap::new();
    let mut add = |of: &'static [ErrorCode]| {
        for code in of {
            codes.entry(code.status().unwrap_or_default()).or_default().push(code.as_str());
        }
    };
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
    add(rules);
    codes.values_mut().for_each(|codes| {
        codes.sort_unstable();
        codes.dedup();
    });
    codes
}

/// The body of a refusal: the documented envelope, extended by `error`.
pub(super) fn body(status: u16, codes: &[&str], envelope: Envelope, data: Value) -> Value {
    let mut fields = json!({
        "status_code": { "const": status, "x-guichet-source": "documented" },
        "response_type": { "const": "error", "x-guichet-source": "decision" },
        "message": { "type": "string", "minLength": 1, "x-guichet-source": "decision" },
        "data": data,
        "error": error(status, codes),
    });
    let mut required = vec!["status_code", "response_type", "message", "data", "error"];
    if envelope == Envelope::Session {
        fields["success"] = json!({ "const": false, "x-guichet-source": "documented" });
        required.push("success");
    }
    json!({ "type": "object", "required": required, "properties": fields })
}

fn error(status: u16, codes: &[&str]) -> Value {
    let mut fields = json!({
        "type": { "const": ErrorType::of(status).as_str() },
        "code": { "enum": codes, "description": "The stable word for the cause: switch on it." },
        "request_id": request_id(),
        "retryable": { "const": matches!(status, 429 | 503), "description": "Whether the same request can succeed later." },
    });
    if codes.contains(&ErrorCode::MerchantReferenceConflict.as_str())
        || codes.contains(&ErrorCode::IdempotencyKeyReused.as_str())
    {
        fields["existing_id"] = json!({ "type": "string", "description": "What is there already." });
    }
    let mut required = vec!["type", "code", "request_id", "retryable"];
    if status == 422 {
        fields["param"] = json!({ "type": "string", "description": "The first field that was refused." });
        let one = json!({
            "type": "object",
            "required": ["param", "code", "message"],
            "properties": {
                "param": { "type": "string", "x-guichet-source": "decision" },
                "code": { "enum": codes, "x-guichet-source": "decision" },
                "message": { "type": "string", "minLength": 1, "x-guichet-source": "decision" },
            },
        });
        fields["errors"] =
            json!({ "type": "array", "minItems": 1, "items": one, "description": "Every field that was refused." });
        required.extend(["param", "errors"]);
    }
    for field in fields.as_object_mut().into_iter().flat_map(|fields| fields.values_mut()) {
        field["x-guichet-source"] = "decision".into();
    }
    json!({ "type": "object", "required": required, "properties": fields, "x-guichet-source": "decision" })
}

/// The name of a request.
pub(super) fn request_id() -> Value {
    json!({ "type": "string", "pattern": "^req_[0-9A-Za-z]{22}$" })
}
