//! Checks every response of the service against its OpenAPI description. A field that the description does not name is
//! an error.

use guichet::protocol::IDEMPOTENCY_KEY;
use guichet_sandbox::openapi;
use jsonschema::Validator;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Checks a response, and a request that was accepted, against the description of the operation.
///
/// # Panics
/// If the description does not allow this response.
pub fn check(
    method: &str,
    target: &str,
    sent: Option<&[u8]>,
    status: u16,
    headers: &reqwest::header::HeaderMap,
    body: &Value,
    text: &str,
) {
    let path = target.split('?').next().unwrap_or_default();
    let is_described = ["/v1/", "/sandbox/"].iter().any(|start| path.starts_with(start));
    if !is_described || method == "OPTIONS" || is_a_fault(text, body) {
        return;
    }
    let Some(operation) = operation(if method == "HEAD" { "GET" } else { method }, path) else {
        // The control API checks its token before the path.
        let is_refused = path.starts_with("/sandbox/") && status == 401;
        assert!(
            is_refused || matches!(status, 404 | 405),
            "{method} {path} is not in the description, but the response is {status}: {text}"
        );
        return;
    };
    let response = operation.responses.get(&status);
    let response =
        response.unwrap_or_else(|| panic!("{}: the status {status} is not in the description: {text}", operation.name));
    for (name, schema) in &response.headers {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        let value =
            value.unwrap_or_else(|| panic!("{}: a response {status} without the header {name}", operation.name));
        let value = value.parse().map_or_else(|_| json!(value), |number: u64| json!(number));
        assert!(
            schema.is_valid(&value),
            "{} {status}: the header {name}: {value} does not match the description",
            operation.name
        );
    }
    if method == "HEAD" {
        return;
    }
    let errors: Vec<String> = response.body.iter_errors(body).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(
        errors.is_empty(),
        "{} {status}: the body does not match the description: {errors:#?}\n{text}",
        operation.name
    );
    if let (true, Some(schema), Some(sent)) = ((200..300).contains(&status), &operation.body, sent) {
        let errors: Vec<String> = match serde_json::from_slice(sent) {
            Ok(sent) => schema.iter_errors(&sent).map(|e| format!("{}: {e}", e.instance_path())).collect(),
            Err(_) => Vec::new(),
        };
        assert!(
            errors.is_empty(),
            "{}: the service accepted a body that the description forbids: {errors:#?}",
            operation.name
        );
    }
}

/// Whether the response is an injected fault.
fn is_a_fault(text: &str, body: &Value) -> bool {
    body["message"] == "This fault was injected by the control API. Nothing was done."
        || text.contains("<h1>Bad gateway</h1>")
}

/// The operation of a method and a path.
fn operation(method: &str, path: &str) -> Option<&'static Operation> {
    let matches = |template: &[String], path: &[&str]| {
        template.len() == path.len()
            && template.iter().zip(path).all(|(one, other)| one.starts_with('{') && !other.is_empty() || one == other)
    };
    let path: Vec<&str> = path.split('/').collect();
    // A path without fields takes precedence: `/subscriptions/plans` is not a subscription.
    let mut found: Vec<_> = OPERATIONS.iter().filter(|one| matches(&one.path, &path)).collect();
    let fields = |one: &&Operation| one.path.iter().filter(|segment| segment.starts_with('{')).count();
    let fewest = found.iter().map(fields).min()?;
    found.retain(|one| fields(one) == fewest);
    found.into_iter().find(|one| one.method == method)
}

static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(|| {
    let mut document = openapi();
    close(&mut document["components"]);
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let responses = operation["responses"].as_object().unwrap().iter();
            operations.push(Operation {
                name: operation["operationId"].as_str().unwrap().to_owned(),
                method: method.to_ascii_uppercase(),
                path: path.split('/').map(str::to_owned).collect(),
                body: operation
                    .pointer("/requestBody/content/application~1json/schema")
                    .map(|schema| validator(&with_components(schema.clone(), &document))),
                responses: responses
                    .map(|(status, response)| (status.parse().unwrap(), Response::new(response, &document)))
                    .collect(),
            });
        }
    }
    operations
});

struct Operation {
    name: String,
    method: String,
    path: Vec<String>,
    body: Option<Validator>,
    responses: HashMap<u16, Response>,
}

struct Response {
    headers: Vec<(String, Validator)>,
    body: Validator,
}

impl Response {
    fn new(response: &Value, document: &Value) -> Self {
        let response = resolve(response, document);
        let headers = response["headers"].as_object().unwrap().iter().filter(|(_, header)| header["required"] == true);
        let mut body = response["content"]["application/json"]["schema"].clone();
        close(&mut body);
        Self {
            headers: headers.map(|(name, header)| (name.clone(), validator(&header["schema"]))).collect(),
            body: validator(&with_components(body, document)),
        }
    }
}

/// Adds the schemas to which a schema refers, and those to which they refer. With all of them, the validators of a
/// process would take seconds to compile.
fn with_components(mut schema: Value, document: &Value) -> Value {
    let mut schemas = Map::new();
    add_references(&schema, document, &mut schemas);
    schema["components"] = json!({ "schemas": schemas });
    schema
}

fn add_references(schema: &Value, document: &Value, schemas: &mut Map<String, Value>) {
    match schema {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            if let Some(name) = reference.and_then(|reference| reference.strip_prefix("#/components/schemas/"))
                && !schemas.contains_key(name)
            {
                let target = &document["components"]["schemas"][name];
                schemas.insert(name.to_owned(), target.clone());
                add_references(target, document, schemas);
            }
            members.values().for_each(|member| add_references(member, document, schemas));
        }
        Value::Array(items) => items.iter().for_each(|item| add_references(item, document, schemas)),
        _ => {}
    }
}

/// Resolves a `$ref` of a description. Returns any other value unchanged.
pub fn resolve<'a>(value: &'a Value, described: &'a Value) -> &'a Value {
    let reference = value["$ref"].as_str().map(|reference| reference.trim_start_matches('#'));
    reference.map_or(value, |reference| described.pointer(reference).unwrap())
}

/// The errors of a value, where nothing is allowed that a schema of the description does not name.
pub fn errors(schema: &Value, value: &Value) -> Vec<String> {
    static COMPONENTS: LazyLock<Value> = LazyLock::new(|| {
        let mut components = openapi()["components"].take();
        close(&mut components);
        components
    });
    let mut schema = schema.clone();
    close(&mut schema);
    schema["components"] = COMPONENTS.clone();
    validator(&schema).iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

fn validator(schema: &Value) -> Validator {
    jsonschema::draft202012::options().should_validate_formats(true).build(schema).unwrap()
}

/// Forbids fields that are not described in every object.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.get("type").is_some_and(|kind| kind == "object") && object.contains_key("properties") {
                object.entry("additionalProperties").or_insert(json!(false));
            }
            object.values_mut().for_each(close);
        }
        Value::Array(several) => several.iter_mut().for_each(close),
        _ => {}
    }
}

/// The example of an operation's request in the description.
pub struct Example {
    /// The values in the path and the query, in the order of the parameters.
    parameters: Vec<(String, String)>,
    pub header: Option<String>,
    pub body: Option<Value>,
}

impl Example {
    pub fn of(described: &Value, method: &str, path: &str) -> Self {
        let operation = &described["paths"][path][method.to_ascii_lowercase()];
        let (mut parameters, mut header) = (Vec::new(), None);
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let Some(example) = parameter.get("example") else { continue };
            let example = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
            match parameter["in"].as_str() {
                Some("header") => header = Some(example),
                _ => parameters.push((parameter["name"].as_str().unwrap().to_owned(), example)),
            }
        }
        let body = operation.pointer("/requestBody/content/application~1json/example");
        Self { parameters, header, body: body.cloned() }
    }

    /// Its path with its query.
    pub fn target(&self, template: &str) -> String {
        let (mut path, mut query) = (template.to_owned(), url::form_urlencoded::Serializer::new(String::new()));
        for (name, value) in &self.parameters {
            let place = format!("{{{name}}}");
            if path.contains(&place) {
                path = path.replace(&place, value);
            } else {
                query.append_pair(name, value);
            }
        }
        let query = query.finish();
        if query.is_empty() { path } else { format!("{path}?{query}") }
    }

    /// All its fields, as the service reads them.
    pub fn fields(&self) -> Map<String, Value> {
        let mut fields = self.body.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
        let header = self.header.iter().map(|key| (IDEMPOTENCY_KEY.to_owned(), key.clone()));
        fields.extend(self.parameters.iter().cloned().chain(header).map(|(name, value)| (name, Value::String(value))));
        fields
    }
}
