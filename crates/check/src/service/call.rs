//! A call of the shop to the service, as the recorder has it.

use axum::http::header;
use axum::http::request::Parts;
use serde_json::Value;

/// The path of payments, and of their list.
const INTENTS: &str = "/v1/payment-intents";
/// What stands before the path of a call in the address that a redirect names.
pub(crate) const ELSEWHERE: &str = "/elsewhere";

/// A call of the shop to the service.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: String,
    /// The path with its query.
    pub(crate) path: String,
    /// The name and port under which the shop knows the service.
    pub(crate) host: String,
    pub(crate) referer: String,
    pub(crate) body: Value,
    /// Whether it had the merchant's key.
    pub(crate) with_key: bool,
    /// The reply before any change; null if there is none yet.
    pub(crate) reply: Value,
}

impl Call {
    pub(crate) fn new(parts: &Parts, body: &[u8], key: &str) -> Self {
        let text = |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        Self {
            method: parts.method.to_string(),
            path: parts.uri.path_and_query().map_or_else(String::new, ToString::to_string),
            host: text(header::HOST),
            referer: text(header::REFERER),
            body: serde_json::from_slice(body).unwrap_or_default(),
            with_key: text(header::AUTHORIZATION).strip_prefix("Bearer ") == Some(key),
            reply: Value::Null,
        }
    }

    /// Whether it creates a payment.
    pub(crate) fn is_creation(&self) -> bool {
        self.method == "POST" && self.path == INTENTS
    }

    /// The payment that it has created.
    pub(crate) fn created(&self) -> Option<&str> {
        self.reply["data"]["id"].as_str().filter(|_| self.is_creation())
    }

    /// Whether it sends the order of this reference.
    pub(crate) fn creates(&self, reference: &str) -> bool {
        self.is_creation() && self.body["merchant_reference"] == reference
    }

    /// The status that the reply gives of this payment. It is null if the reply has none, or if there is no reply yet.
    pub(crate) fn status_of<'a>(&'a self, intent: &str) -> &'a Value {
        let data = &self.reply["data"];
        let payment = match data {
            Value::Array(entries) => entries.iter().find(|entry| entry["id"] == intent),
            _ => (data["id"] == intent).then_some(data),
        };
        payment.map_or(&Value::Null, |payment| &payment["status"])
    }

    /// Whether it is where a redirect has led.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.path.starts_with(ELSEWHERE)
    }

    /// Whether it creates a session.
    pub(crate) fn is_session(&self) -> bool {
        self.method == "POST" && self.path == "/v1/sessions/create"
    }

    fn path_alone(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }

    /// Whether it is about a list of payments.
    pub(crate) fn is_of_list(&self) -> bool {
        self.path_alone() == INTENTS
    }

    /// Whether it reads this payment, or a list of payments.
    pub(crate) fn reads(&self, intent: &str) -> bool {
        let path = self.path_alone().strip_prefix(INTENTS);
        let of_this = path.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('/') == Some(intent));
        self.method == "GET" && of_this
    }
}
