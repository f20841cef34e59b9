//! Generates the OpenAPI 3.1 description of the service from the operations' types, roles and specifications, and from
//! what each handler adds (`Described`). If an operation lacks it, the service does not compile.

mod control;
mod fields;
mod refusals;
mod responses;
mod titles;

use crate::service::{Described, Examples};
use axum::body::Bytes;
use fields::{Body, Taken};
use guichet::operations::*;
use guichet::protocol::{CredentialKind, Role, Served, Source, Spec};
use responses::Responses;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// Returns the OpenAPI 3.1 description of the service and of the control API, which the sandbox serves at
/// `/sandbox/openapi.json`.
///
/// Every operation, parameter, field, header and response has the member `x-guichet-source`: `documented` if the
/// interface's document shows it, `decision` if it is the sandbox's own rule.
///
/// ```
/// let described = guichet_sandbox::openapi();
/// let create = &described["paths"]["/v1/payment-intents"]["post"];
/// assert_eq!(create["operationId"], "create_payment_intent");
/// assert_eq!(create["x-guichet-source"], "documented");
/// ```
#[must_use]
pub fn openapi() -> Value {
    let mut description = Description {
        operations: Vec::new(),
        paths: Map::new(),
        responses: Responses::new(),
        examples: Examples::new(),
    };
    macro_rules! describe {
        ($($operation:ident)*) => { $(description.add::<$operation>();)* };
    }
    guichet::every_operation!(describe);
    description.written()
}

/// The description as JSON text, generated once and shared by all requests.
pub(super) fn text() -> Bytes {
    static TEXT: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(openapi().to_string()));
    TEXT.clone()
}

/// The description under construction.
struct Description {
    /// The names of the service's operations.
    operations: Vec<&'static str>,
    paths: Map<String, Value>,
    responses: Responses,
    examples: Examples,
}

impl Description {
    fn add<O>(&mut self)
    where
        O: Described + Served + JsonSchema,
        O::Output: JsonSchema,
    {
        let (request, done) = O::example(&self.examples);
        let fields = fields::of::<O>(&request);
        let responses = self.responses.of::<O>(fields.has_body(), &done);
        self.insert(&O::SPEC, (O::Role::NAME, security::<O::Role>()), fields, responses);
    }

    fn insert(&mut self, spec: &Spec, (role, security): (&str, Value), fields: Taken, responses: Value) {
        self.operations.push(spec.name);
        let mut operation = json!({
            "operationId": spec.name,
            "summary": fields.summary,
            "description": fields.description,
            "tags": [family(spec.path)],
            "x-guichet-source": word(spec.source),
            "x-guichet-role": role,
            "security": security,
            "parameters": fields.parameters,
            "responses": responses,
        });
        if let Some(Body { schema, example }) = fields.body {
            operation["requestBody"] = json!({
                "required": schema.get("required").is_some(),
                "content": { "application/json": { "schema": schema, "example": example } },
            });
        }
        let path = self.paths.entry(spec.path).or_insert_with(|| json!({}));
        path[spec.method.as_str().to_ascii_lowercase()] = operation;
    }

    fn written(mut self) -> Value {
        control::add(&mut self.paths, &mut self.responses);
        let (mut schemas, responses) = self.responses.components();
        schemas.as_object_mut().into_iter().for_each(|schemas| schemas.extend(control::schemas(&self.operations)));
        link(&mut self.paths, &schemas);
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Payments, subscriptions, sessions and eSIM",
                "version": "v1",
                "summary": "The interface of the service, as the guichet sandbox serves it.",
                "description": "`x-guichet-source` is `documented` for everything that the interface's document shows. It is \
                    `decision` for the sandbox's own rules, where the document shows none: a real service may have decided otherwise. \
                    The `enum` of a reply's field lists what the sandbox sends: a real service may send other codes and statuses, \
                    and a client should hand those on. The paths under `/sandbox` are the control API of the sandbox, for tests: a real \
                    service has none.",
            },
            "servers": [{ "url": "/", "description": "The sandbox that this description was read from" }],
            "paths": self.paths,
            "components": { "schemas": schemas, "responses": responses, "securitySchemes": schemes() },
        })
    }
}

/// Links the operation that creates an object to those that read or change it: `POST /v1/payment-intents` to
/// `/v1/payment-intents/{id}/cancel`.
fn link(paths: &mut Map<String, Value>, schemas: &Value) {
    let about: Vec<(String, Value)> = paths
        .iter()
        .filter_map(|(path, methods)| Some((path.split_once("/{id}")?.0.to_owned(), methods)))
        .flat_map(|(made_at, methods)| {
            let names = methods.as_object().into_iter().flat_map(|methods| methods.values());
            names.map(move |operation| (made_at.clone(), operation["operationId"].clone()))
        })
        .collect();
    for (made_at, name) in about {
        let responses = paths.get_mut(&made_at).and_then(|methods| methods.pointer_mut("/post/responses"));
        for response in
            responses.and_then(Value::as_object_mut).into_iter().flat_map(|responses| responses.values_mut())
        {
            let named = |schema: Option<&Value>| schemas.get(schema?["$ref"].as_str()?.rsplit('/').next()?);
            let envelope = named(response.pointer("/content/application~1json/schema"));
            let Some(made) = envelope.and_then(|envelope| named(envelope.pointer("/properties/data"))) else {
                continue;
            };
            let id = if made["properties"].get("id").is_some() { "id" } else { "order_id" };
            let id = format!("$response.body#/data/{id}");
            response["links"][name.as_str().unwrap_or_default()] =
                json!({ "operationId": name, "parameters": { "id": id } });
        }
    }
}

/// The name of a source in `x-guichet-source`.
fn word(source: Source) -> &'static str {
    match source {
        Source::Decision => "decision",
        Source::Documented => "documented",
    }
}

/// The tag of a path: its first segment after the version.
fn family(path: &str) -> &str {
    path.split('/').nth(2).unwrap_or_default()
}

const CREDENTIALS: [(CredentialKind, &str, &str); 3] = [
    (
        CredentialKind::SecretKey,
        "secret_key",
        "The merchant's secret key, `sk_test_…`. Use it only on the merchant's server.",
    ),
    (CredentialKind::SessionToken, "session_token", "A customer's session token, `cst_test_…`, valid for 30 minutes."),
    (CredentialKind::ClientSecret, "client_secret", "The client secret of one payment intent, `pi_…_secret_…`."),
];

/// The security requirement of a role: any one of the credentials that it accepts.
fn security<R: Role>() -> Value {
    CREDENTIALS.iter().filter(|(kind, ..)| R::admits(*kind)).map(|(_, name, _)| json!({ *name: [] })).collect()
}

fn schemes() -> Value {
    let scheme = |(_, name, description): &(CredentialKind, &str, &str)| {
        ((*name).to_owned(), json!({ "type": "http", "scheme": "bearer", "description": description }))
    };
    let control = (control::SCHEME.to_owned(), control::scheme());
    Value::Object(CREDENTIALS.iter().map(scheme).chain([control]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_is_generated_once_and_sent_without_a_copy() {
        let (first, second) = (text(), text());
        assert_eq!(first.as_ptr(), second.as_ptr());
        assert_eq!(serde_json::from_slice::<Value>(&first).unwrap(), openapi());
    }
}
