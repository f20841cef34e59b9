use crate::failure::Failure;
use guichet::native::{SecretKey, Transport};
use guichet::operations::ListCustomers;
use guichet::protocol::{Credential, Method, Operation, Request};
use guichet::values::base62;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde_json::{Value, json};
use std::time::Duration;

/// Sends requests and records which claims hold.
pub(super) struct Prober {
    pub transport: Transport,
    /// Sends each request once.
    http: reqwest::Client,
    pub key: SecretKey,
    /// A unique name that all objects of this run contain.
    pub run: String,
    pub rows: Vec<Row>,
}

/// One claim and whether it holds.
pub(super) struct Row {
    /// The section of `docs/decisions.md`, or `document` or `assumed`.
    decision: &'static str,
    what: &'static str,
    pub holds: bool,
    seen: String,
}

impl Row {
    pub(super) fn cells(&self) -> Vec<String> {
        let seen = if self.holds { String::new() } else { self.seen.clone() };
        vec![self.decision.into(), self.what.into(), if self.holds { "yes" } else { "no" }.into(), seen]
    }

    pub(super) fn to_json(&self) -> Value {
        json!({"decision": self.decision, "what": self.what, "holds": self.holds, "seen": self.seen})
    }
}

/// A response; the default is no response.
#[derive(Default)]
pub(super) struct Reply {
    pub status: u16,
    pub body: Value,
    headers: HeaderMap,
}

impl Reply {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(super) fn data(&self) -> &Value {
        &self.body["data"]
    }

    /// A string field of `data`; empty if it is missing.
    pub(super) fn text(&self, name: &str) -> &str {
        self.data()[name].as_str().unwrap_or_default()
    }

    /// Its status and the code of its error: `404 resource_missing`.
    fn summary(&self) -> String {
        match (self.status, self.body["error"]["code"].as_str().unwrap_or_default()) {
            (0, _) => "no response, or not tried".to_owned(),
            (status, "") => status.to_string(),
            (status, code) => format!("{status} {code}"),
        }
    }

    pub(super) fn is(&self, summary: &str) -> bool {
        self.summary() == summary
    }

    /// Whether it is a success whose object has this status.
    pub(super) fn has_status(&self, status: &str) -> bool {
        self.is_success() && self.text("status") == status
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

impl Prober {
    pub(super) fn new(transport: Transport, key: SecretKey) -> Result<Self, Failure> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(|error| Box::<dyn std::error::Error>::from(error.to_string()))?;
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build();
        let http = http.map_err(Box::<dyn std::error::Error>::from)?;
        Ok(Self { transport, http, key, run: format!("guichet-probe-{}", base62(&bytes, 11)), rows: Vec::new() })
    }

    /// Records whether a claim holds, with the response that shows it.
    pub(super) fn row(&mut self, decision: &'static str, what: &'static str, holds: bool, reply: &Reply) {
        self.rows.push(Row { decision, what, holds, seen: reply.summary() });
    }

    /// Records whether the response is this error.
    pub(super) fn refused(&mut self, decision: &'static str, what: &'static str, error: &str, reply: &Reply) {
        self.row(decision, what, reply.is(error), reply);
    }

    /// Whether the service responds at all.
    pub(super) async fn is_reachable(&self) -> bool {
        self.send_as(ListCustomers::new(), None).await.status != 0
    }

    /// Sends an operation with the secret key.
    pub(super) async fn send<O: Operation>(&self, operation: O) -> Reply {
        self.send_as(operation, Some(self.bearer())).await
    }

    /// Sends an operation with another credential, or none.
    pub(super) async fn send_as<O: Operation>(&self, operation: O, bearer: Option<&str>) -> Reply {
        match Transport::request(&operation) {
            Ok(request) => self.call(request, bearer, &[]).await,
            Err(_) => Reply::default(),
        }
    }

    /// Sends a raw body to an operation's path, with the secret key.
    pub(super) async fn send_body<O: Operation>(&self, body: impl Into<String>, headers: &[(&str, &str)]) -> Reply {
        let mut request = Request::new(O::SPEC.method, O::SPEC.path);
        request.body = Some(body.into());
        self.call(request, Some(self.bearer()), headers).await
    }

    /// Sends a request to any path, with the secret key.
    pub(super) async fn send_to(&self, method: Method, target: impl Into<String>) -> Reply {
        self.call(Request::new(method, target), Some(self.bearer()), &[]).await
    }

    /// Sends the CORS preflight that a browser would send before this operation.
    pub(super) async fn preflight<O: Operation>(&self, operation: &O) -> Reply {
        let Ok(request) = Transport::request(operation) else { return Reply::default() };
        let url = self.transport.url(&request);
        let builder = self.http.request(reqwest::Method::OPTIONS, url);
        let builder = builder.header("origin", "https://shop.example");
        let builder = builder.header("access-control-request-method", request.method.as_str());
        send(builder).await.unwrap_or_default()
    }

    pub(super) fn bearer(&self) -> &str {
        self.key.bearer().unwrap_or_default()
    }

    async fn call(&self, request: Request, bearer: Option<&str>, headers: &[(&str, &str)]) -> Reply {
        let url = self.transport.url(&request);
        let Ok(method) = request.method.as_str().parse() else { return Reply::default() };
        let mut builder = self.http.request(method, url);
        if let Some(bearer) = bearer {
            builder = builder.bearer_auth(bearer);
        }
        if let Some(body) = request.body {
            if !headers.iter().any(|(name, _)| *name == "content-type") {
                builder = builder.header(CONTENT_TYPE, "application/json");
            }
            builder = builder.body(body);
        }
        if let Some(key) = request.idempotency_key {
            builder = builder.header("idempotency-key", key);
        }
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        send(builder).await.unwrap_or_default()
    }
}

async fn send(builder: reqwest::RequestBuilder) -> Option<Reply> {
    let reply = builder.timeout(Duration::from_secs(30)).send().await.ok()?;
    let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
    let body = serde_json::from_slice(&reply.bytes().await.ok()?).unwrap_or_default();
    Some(Reply { status, body, headers })
}
