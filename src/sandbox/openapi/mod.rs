//! The description of the service, OpenAPI 3.1, made from what reads and writes it: the operations' own types, roles and
//! fixed halves, and what their handlers may come to. An operation that does not describe itself does not compile.

mod answers;
mod fields;
mod refusals;

use super::desk::{Desk, Handle};
use crate::operations::*;
use crate::protocol::{CredentialKind, Role, Served, Source};
use answers::Answers;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

/// The description of the service, OpenAPI 3.1, as the sandbox serves it at `/sandbox/openapi.json`.
///
/// Every operation, parameter, field, header and answer says in `x-guichet-source` whether the document shows it
/// (`documented`) or the sandbox has decided it (`decision`).
///
/// ```
/// let described = guichet::sandbox::openapi();
/// let create = &described["paths"]["/v1/payment-intents"]["post"];
/// assert_eq!(create["operationId"], "create_payment_intent");
/// assert_eq!(create["x-guichet-source"], "documented");
/// ```
#[must_use]
pub fn openapi() -> Value {
    let mut description = Description { paths: Map::new(), answers: Answers::new() };
    macro_rules! describe {
        ($($operation:ident)*) => { $(description.add::<$operation>();)* };
    }
    crate::every_operation!(describe);
    description.written()
}

/// What is described so far.
struct Description {
    paths: Map<String, Value>,
    answers: Answers,
}

impl Description {
    fn add<O>(&mut self)
    where
        O: Served + JsonSchema,
        O::Output: JsonSchema,
        Desk: Handle<O>,
    {
        let spec = O::SPEC;
        let fields = fields::of::<O>();
        let responses = self.answers.of::<O>(fields.has_body());
        let mut operation = json!({
            "operationId": spec.name,
            "summary": fields.summary,
            "description": fields.description,
            "tags": [family(spec.path)],
            "x-guichet-source": word(spec.source),
            "x-guichet-role": O::Role::NAME,
            "security": security::<O::Role>(),
            "parameters": fields.parameters,
            "responses": responses,
        });
        if let Some(body) = fields.body {
            operation["requestBody"] = json!({
                "required": body.get("required").is_some(),
                "content": { "application/json": { "schema": body } },
            });
        }
        let path = self.paths.entry(spec.path).or_insert_with(|| json!({}));
        path[spec.method.as_str().to_ascii_lowercase()] = operation;
    }

    fn written(self) -> Value {
        let (schemas, responses) = self.answers.components();
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Payments, subscriptions, sessions and eSIM",
                "version": "v1",
                "summary": "The interface of the service, as the guichet sandbox serves it.",
                "description": "What `x-guichet-source` calls `documented` is shown by the interface's document. What it calls \
                    `decision` is the sandbox's own rule, where the document shows none: a real service may have decided otherwise.",
            },
            "servers": [{ "url": "/", "description": "The sandbox that this description was read from" }],
            "paths": self.paths,
            "components": { "schemas": schemas, "responses": responses, "securitySchemes": schemes() },
        })
    }
}

/// Documented, or a decision.
fn word(source: Source) -> &'static str {
    match source {
        Source::Decision => "decision",
        Source::Documented => "documented",
    }
}

/// The family of a path: its first segment after the version.
fn family(path: &str) -> &str {
    path.split('/').nth(2).unwrap_or_default()
}

const CREDENTIALS: [(CredentialKind, &str, &str); 3] = [
    (
        CredentialKind::SecretKey,
        "secret_key",
        "The merchant's secret key, `sk_test_…`: on the merchant's server alone.",
    ),
    (CredentialKind::SessionToken, "session_token", "A customer's session token, `cst_test_…`, good for 30 minutes."),
    (CredentialKind::ClientSecret, "client_secret", "The client secret of one payment intent, `pi_…_secret_…`."),
];

/// Any one of the credentials that fulfil a role.
fn security<R: Role>() -> Value {
    CREDENTIALS.iter().filter(|(kind, ..)| R::admits(*kind)).map(|(_, name, _)| json!({ *name: [] })).collect()
}

fn schemes() -> Value {
    let scheme = |(_, name, description): &(CredentialKind, &str, &str)| {
        ((*name).to_owned(), json!({ "type": "http", "scheme": "bearer", "description": description }))
    };
    Value::Object(CREDENTIALS.iter().map(scheme).collect())
}
