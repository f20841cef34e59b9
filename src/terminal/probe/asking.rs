use crate::native::Client;
use crate::operations::ListCustomers;
use crate::protocol::{Credential, Method, Operation, Request};
use crate::terminal::failure::Failure;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde_json::{Value, json};
use std::time::Duration;

/// Asks, and writes down what held.
pub(super) struct Prober {
    client: Client,
    /// In the name of all that this run makes.
    pub run: String,
    pub rows: Vec<Row>,
}

/// One claim, and whether it holds.
pub(super) struct Row {
    /// The section of the decisions.
    decision: &'static str,
    what: &'static str,
    pub holds: bool,
    seen: String,
}

impl Row {
    pub fn cells(&self) -> Vec<String> {
        let seen = if self.holds { String::new() } else { self.seen.clone() };
        vec![self.decision.into(), self.what.into(), if self.holds { "yes" } else { "no" }.into(), seen]
    }

    pub fn written(&self) -> Value {
        json!({"decision": self.decision, "what": self.what, "holds": self.holds, "seen": self.seen})
    }
}

/// What came back; nothing of it where nothing came.
#[derive(Default)]
pub(super) struct Seen {
    pub status: u16,
    pub body: Value,
    headers: HeaderMap,
}

impl Seen {
    pub fn is_good(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub fn data(&self) -> &Value {
        &self.body["data"]
    }

    /// A text of `data`; empty where there is none.
    pub fn text(&self, name: &str) -> &str {
        self.data()[name].as_str().unwrap_or_default()
    }

    pub fn code(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or_default()
    }

    pub fn is(&self, status: u16, code: &str) -> bool {
        self.status == status && self.code() == code
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

impl Prober {
    pub fn new(client: Client) -> Result<Self, Failure> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(|error| Box::<dyn std::error::Error>::from(error.to_string()))?;
        Ok(Self { client, run: format!("guichet-probe-{}", crate::encoding::base62(&bytes, 11)), rows: Vec::new() })
    }

    /// Writes down whether a claim holds, beside what was seen.
    pub fn row(&mut self, decision: &'static str, what: &'static str, holds: bool, seen: &Seen) {
        let said = match (seen.status, seen.code()) {
            (0, _) => "no answer, or not tried".to_owned(),
            (status, "") => status.to_string(),
            (status, code) => format!("{status} {code}"),
        };
        self.rows.push(Row { decision, what, holds, seen: said });
    }

    /// Whether anybody answers there.
    pub async fn reaches(&self) -> bool {
        self.send_as(ListCustomers::new(), None).await.status != 0
    }

    /// Sends an operation with the secret key.
    pub async fn send<O: Operation>(&self, operation: O) -> Seen {
        self.send_as(operation, Some(self.key())).await
    }

    /// Sends an operation with another credential, or none.
    pub async fn send_as<O: Operation>(&self, operation: O, bearer: Option<&str>) -> Seen {
        match Client::request(&operation) {
            Ok(request) => self.ask(request, bearer, &[]).await,
            Err(_) => Seen::default(),
        }
    }

    /// Sends a body that no operation writes, with the secret key.
    pub async fn send_body<O: Operation>(&self, body: impl Into<String>, headers: &[(&str, &str)]) -> Seen {
        let (method, target) = (O::SPEC.method, O::SPEC.path.to_owned());
        let request = Request { method, target, body: Some(body.into()), idempotency_key: None };
        self.ask(request, Some(self.key()), headers).await
    }

    /// Asks for a target that no operation has, with the secret key.
    pub async fn ask_for(&self, method: Method, target: impl Into<String>) -> Seen {
        let request = Request { method, target: target.into(), body: None, idempotency_key: None };
        self.ask(request, Some(self.key()), &[]).await
    }

    /// Asks the browser's question before an operation of another origin.
    pub async fn preflight<O: Operation>(&self, operation: &O) -> Seen {
        let Ok(request) = Client::request(operation) else { return Seen::default() };
        let url = [self.client.address(&request), &request.target].concat();
        let asking = self.client.http().request(reqwest::Method::OPTIONS, url);
        let asking = asking.header("origin", "https://shop.example");
        let asking = asking.header("access-control-request-method", request.method.as_str());
        seen(asking).await.unwrap_or_default()
    }

    pub fn key(&self) -> &str {
        self.client.key().bearer().unwrap_or_default()
    }

    async fn ask(&self, request: Request, bearer: Option<&str>, headers: &[(&str, &str)]) -> Seen {
        let url = [self.client.address(&request), &request.target].concat();
        let Ok(method) = request.method.as_str().parse() else { return Seen::default() };
        let mut asking = self.client.http().request(method, url);
        if let Some(bearer) = bearer {
            asking = asking.bearer_auth(bearer);
        }
        if let Some(body) = request.body {
            if !headers.iter().any(|(name, _)| *name == "content-type") {
                asking = asking.header(CONTENT_TYPE, "application/json");
            }
            asking = asking.body(body);
        }
        if let Some(key) = request.idempotency_key {
            asking = asking.header("idempotency-key", key);
        }
        for (name, value) in headers {
            asking = asking.header(*name, *value);
        }
        seen(asking).await.unwrap_or_default()
    }
}

async fn seen(asking: reqwest::RequestBuilder) -> Option<Seen> {
    let reply = asking.timeout(Duration::from_secs(30)).send().await.ok()?;
    let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
    let body = serde_json::from_slice(&reply.bytes().await.ok()?).unwrap_or_default();
    Some(Seen { status, body, headers })
}
