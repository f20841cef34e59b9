//! How an operation may be refused: its codes by status, `decisions.md` 1.

use crate::protocol::{CredentialKind, Envelope, Method, Role, Spec};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The codes of the rules, and the statuses that they come with.
const RULES: [(u16, &[&str]); 4] = [
    (403, &["role_required"]),
    (404, &["resource_missing"]),
    (
        409,
        &[
            "intent_not_cancelable",
            "intent_not_confirmable",
            "merchant_reference_conflict",
            "plan_code_taken",
            "subscription_state",
        ],
    ),
    (
        422,
        &[
            "amount_out_of_range",
            "currency_unsupported",
            "idempotency_key_reused",
            "payment_method_unavailable",
            "plan_inactive",
            "quantity_out_of_range",
            "test_card_required",
        ],
    ),
];

/// The codes with which an operation may be refused, by status: those that follow from what it is, and those of its rules.
pub(super) fn codes<R: Role>(
    spec: &Spec,
    has_fields: bool,
    has_body: bool,
    rules: &[&'static str],
) -> BTreeMap<u16, Vec<&'static str>> {
    let mut codes: BTreeMap<u16, Vec<&'static str>> = BTreeMap::new();
    let mut add = |status: u16, of: &[&'static str]| codes.entry(status).or_default().extend(of);
    let reads_a_body = spec.method != Method::Get;
    let about_sessions = !R::admits(CredentialKind::SecretKey);

    if reads_a_body {
        add(400, &["invalid_json", "invalid_utf8", "body_not_object"]);
        add(413, &["body_too_large"]);
        add(415, &["unsupported_media_type"]);
        add(422, &["parameter_invalid", "parameter_unknown"]);
    } else if spec.path.contains('{') {
        add(400, &["invalid_utf8"]);
    }
    add(401, &["authentication_required", "invalid_key", "live_key_in_sandbox"]);
    add(401, &["session_unknown", "session_expired", "session_revoked"]);
    add(403, &["secret_key_in_browser"]);
    if about_sessions {
        add(401, &["session_token_required"]);
    } else if !(R::admits(CredentialKind::SessionToken) && R::admits(CredentialKind::ClientSecret)) {
        add(403, &["role_required"]);
    }
    if spec.path.contains("{id}") || spec.query.contains(&"starting_after") {
        add(404, &["resource_missing"]);
    }
    if has_fields && !reads_a_body {
        add(422, &["parameter_invalid"]);
    }
    if has_body {
        add(422, &["parameter_missing"]);
    }
    add(429, &["rate_limited"]);
    add(500, &["internal_error"]);
    add(503, &["unavailable"]);
    for rule in rules {
        let status = RULES.iter().find(|(_, of)| of.contains(rule)).map(|(status, _)| *status);
        add(
            status.expect("a code of a handler stands in the table of codes: a test describes every operation"),
            &[rule],
        );
    }
    codes.values_mut().for_each(|codes| {
        codes.sort_unstable();
        codes.dedup();
    });
    codes
}

/// The family of a status.
fn kind(status: u16) -> &'static str {
    match status {
        401 => "authentication",
        403 => "permission",
        404 => "not_found",
        409 => "conflict",
        429 => "rate_limit",
        500.. => "api",
        _ => "invalid_request",
    }
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
        "type": { "const": kind(status) },
        "code": { "enum": codes, "description": "The stable word for the cause: switch on it." },
        "request_id": request_id(),
        "retryable": { "const": matches!(status, 429 | 503), "description": "Whether the same request can succeed later." },
    });
    if codes.contains(&"merchant_reference_conflict") || codes.contains(&"idempotency_key_reused") {
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
