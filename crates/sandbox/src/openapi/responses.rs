//! Describes the responses of an operation: the two envelopes, their data, and the headers.
//!
//! The envelopes and the error are named schemas, so that code generators create one type for each. A response refers
//! to them by `$ref` and adds its own constraints beside it, which validators check and generators ignore.

use super::fields::{label, mark, without_bits, without_null};
use super::refusals::{self, decided, request_id};
use super::{titles, word};
use crate::http;
use crate::service::{Described, Done, Outcomes};
use guichet::protocol::{Envelope, Source, Spec, is_retryable_status};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The schemas and the error responses that operations share, collected so far.
pub(super) struct Responses {
    outputs: SchemaGenerator,
    envelopes: Map<String, Value>,
    refusals: Map<String, Value>,
    codes: BTreeSet<&'static str>,
}

impl Responses {
    pub(super) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        Self { outputs: settings.into_generator(), envelopes: Map::new(), refusals: Map::new(), codes: BTreeSet::new() }
    }

    /// The responses of an operation, by status. `done` is the example.
    pub(super) fn of<O>(&mut self, has_body: bool, done: &Done) -> Value
    where
        O: Described,
        O::Output: JsonSchema,
    {
        let (spec, outcomes) = (O::SPEC, O::OUTCOMES);
        let data = self.outputs.subschema_for::<O::Output>().to_value();
        let has_fields = has_body || spec.path.contains('{') || !spec.query.is_empty();
        let refused = refusals::codes::<O::Role>(&spec, has_fields, has_body, outcomes.codes);
        self.described(&spec, &outcomes, data, refused, done)
    }

    /// The same of a successful response with this data. It is no part of [`Self::of`], so that the wasm has it once.
    fn described(
        &mut self,
        spec: &Spec,
        outcomes: &Outcomes,
        data: Value,
        refused: BTreeMap<u16, Vec<&'static str>>,
        done: &Done,
    ) -> Value {
        let is_page = spec.query.contains(&"starting_after");
        let envelope = self.envelope(spec, data, is_page);
        let mut responses = Map::new();
        for status in outcomes.statuses {
            let mut headers = common_headers();
            if outcomes.statuses == [200, 201] && *status == 200 {
                headers["Idempotent-Replayed"] =
                    header(true, json!({ "const": "true" }), "Present if an earlier request created the object.");
            }
            if is_page {
                headers["Link"] =
                    header(false, json!({ "type": "string" }), "The address of the next page, `rel=\"next\"`.");
            }
            let mut body = envelope.clone();
            if spec.envelope == Envelope::Standard {
                body["properties"] = json!({ "status_code": { "const": status } });
            }
            let mut response = new_response("Success.", spec.source, headers, body);
            if *status == done.status.as_u16() {
                response["content"]["application/json"]["example"] =
                    serde_json::from_str(&http::envelope(done, spec)).expect("a reply is JSON");
            }
            responses.insert(status.to_string(), response);
        }
        for (status, codes) in refused {
            self.add_codes(&codes);
            let is_of_session = spec.envelope == Envelope::Session;
            let mut body = refusals::body(status, &codes, is_of_session);
            if is_of_session && !(status == 401 && spec.name == "validate_session") {
                body["properties"]["data"] = json!({ "type": "null" });
            }
            let refusal =
                new_response(why(status), Source::Decision, headers_of_refusal(status, common_headers()), body);
            let of_sessions = if is_of_session { "Session" } else { "" };
            responses.insert(status.to_string(), self.share(&format!("{of_sessions}Error{status}"), refusal));
        }
        Value::Object(responses)
    }

    /// A reference to the schema of an operation's successful response.
    fn envelope(&mut self, spec: &Spec, data: Value, is_page: bool) -> Value {
        let resource =
            |schema: &Value| schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()).map(str::to_owned);
        let name = match resource(&data) {
            Some(one) => format!("{one}Response"),
            None => format!("{}ListResponse", resource(&data["items"]).unwrap_or_default()),
        };
        let reference = json!({ "$ref": format!("#/components/schemas/{name}") });
        self.envelopes.insert(name, envelope(spec.envelope, data, is_page));
        reference
    }

    /// Adds error codes to the shared schema.
    pub(super) fn add_codes(&mut self, codes: &[&'static str]) {
        self.codes.extend(codes);
    }

    /// A reference to an error response. Equal responses of several operations are stored once.
    pub(super) fn share(&mut self, name: &str, refusal: Value) -> Value {
        let name = (1..)
            .map(|number| if number == 1 { name.to_owned() } else { format!("{name}_{number}") })
            .find(|name| self.refusals.get(name).is_none_or(|known| *known == refusal))
            .unwrap_or_default();
        let reference = json!({ "$ref": format!("#/components/responses/{name}") });
        self.refusals.insert(name, refusal);
        reference
    }

    /// The shared schemas and the shared error responses.
    pub(super) fn components(mut self) -> (Value, Value) {
        let mut schemas = Value::Object(self.outputs.take_definitions(false));
        for schema in schemas.as_object_mut().into_iter().flat_map(|schemas| schemas.values_mut()) {
            label(schema, Source::Decision, &|field, source| {
                mark(field, source);
                // The interface's document never says that a field may be null.
                if source == Source::Documented {
                    without_null(field);
                }
            });
            without_bits(schema);
            titles::give(schema);
            // Defaults are what a client reads if a service omits a field. This service does not omit them.
            for field in schema["properties"].as_object_mut().into_iter().flat_map(|fields| fields.values_mut()) {
                field.as_object_mut().map(|field| field.remove("default"));
            }
        }
        if let Value::Object(schemas) = &mut schemas {
            schemas.append(&mut self.envelopes);
            schemas.extend(refusals::schemas(self.codes).map(|(name, schema)| (name.to_owned(), schema)));
            schemas.insert("EndedSession".to_owned(), ended_session());
            schemas.insert("Pagination".to_owned(), pagination());
        }
        (schemas, Value::Object(self.refusals))
    }
}

/// The schema of a successful response.
fn envelope(envelope: Envelope, mut data: Value, is_page: bool) -> Value {
    let documented = |schema: Value| {
        let mut schema = schema;
        mark(&mut schema, Source::Documented);
        schema
    };
    mark(&mut data, Source::Documented);
    let message = documented(json!({ "type": "string", "minLength": 1 }));
    match envelope {
        Envelope::Session => json!({
            "type": "object",
            "required": ["success", "message", "data"],
            "properties": { "success": documented(json!({ "const": true })), "message": message, "data": data },
        }),
        Envelope::Standard => {
            let mut body = json!({
                "type": "object",
                "required": ["status_code", "response_type", "data"],
                "properties": {
                    "status_code": documented(json!({ "type": "integer", "description": "The HTTP status." })),
                    "response_type": documented(json!({ "const": "success" })),
                    "data": data,
                    "message": message,
                },
            });
            if is_page {
                body["properties"]["pagination"] =
                    json!({ "$ref": "#/components/schemas/Pagination", "x-guichet-source": "decision" });
                body["required"] = json!(["status_code", "response_type", "data", "pagination"]);
            }
            body
        }
    }
}

/// The member `pagination` beside a list's `data`: `decisions.md` 5.
fn pagination() -> Value {
    let fields = decided(json!({
        "has_more": { "type": "boolean" },
        "next_cursor": { "type": ["string", "null"], "description": "Pass it as `starting_after` to read the next page." },
        "limit": { "type": "integer", "minimum": 1, "maximum": 100 },
    }));
    json!({ "type": "object", "required": ["has_more", "next_cursor", "limit"], "properties": fields })
}

/// The `data` of the 401 of `validate_session`.
fn ended_session() -> Value {
    json!({
        "type": "object",
        "description": "The state of a session that is not valid.",
        "required": ["valid", "reason"],
        "properties": decided(json!({
            "valid": { "const": false },
            "reason": { "enum": ["expired", "revoked", "unknown"] },
        })),
    })
}

pub(super) fn new_response(description: &str, source: Source, headers: Value, body: Value) -> Value {
    json!({
        "description": description, "headers": headers, "content": { "application/json": { "schema": body } },
        "x-guichet-source": word(source),
    })
}

/// The headers of every response.
pub(super) fn headers() -> Value {
    json!({
        "Request-Id": header(true, request_id(), "The id of the request."),
        "Cache-Control": header(true, json!({ "const": "no-store" }), "Responses must not be cached."),
    })
}

/// The headers of every response of an operation.
fn common_headers() -> Value {
    let mut headers = headers();
    headers["Date"] = header(
        true,
        json!({ "type": "string", "pattern": "^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT$" }),
        "The time of the response on the merchant's clock, or on the service's clock if no merchant is known.",
    );
    headers
}

/// Adds the headers of a refusal with this status.
pub(super) fn headers_of_refusal(status: u16, mut headers: Value) -> Value {
    if status == 401 {
        let challenge =
            json!({ "type": "string", "pattern": "^Bearer realm=\"guichet\"(, error=\"invalid_token\")?$" });
        headers["WWW-Authenticate"] = header(true, challenge, "Without `error` if no credential was sent.");
    }
    if is_retryable_status(status) {
        let seconds = json!({ "type": "integer", "minimum": 0 });
        headers["Retry-After"] = header(true, seconds, "How many seconds to wait.");
    }
    headers
}

pub(super) fn header(required: bool, schema: Value, description: &str) -> Value {
    json!({ "required": required, "schema": schema, "description": description, "x-guichet-source": "decision" })
}

fn why(status: u16) -> &'static str {
    match status {
        400 => "The request is malformed.",
        401 => "The credential is missing, unknown, expired or revoked.",
        403 => "The credential does not permit this request.",
        404 => "The object does not exist or is not the caller's. The response does not say which.",
        409 => "Another object, or the object's status, does not allow it. The message says which.",
        413 => "The body is larger than 64 KiB.",
        415 => "The body is not JSON.",
        422 => "Fields are invalid. `errors` lists all that were found together.",
        429 => "Too many requests. The sandbox sends this only as an injected fault.",
        503 => "The service cannot execute the request now: it could not store or read what it needs.",
        _ => "A defect of the service.",
    }
}
