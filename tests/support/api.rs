//! Calls the sandbox over HTTP with a plain reqwest client, without this crate's own client.

use super::diagnostics;
use super::service::{Controlled, Sandbox, Tenant};
use serde_json::{Value, json};
use std::sync::{Arc, Once};
use std::time::Duration;

/// One merchant of a sandbox, and an HTTP client.
#[derive(Clone)]
pub struct Merchant {
    pub base_url: String,
    pub tenant: Arc<Tenant>,
    client: reqwest::Client,
}

/// A response.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub text: String,
    /// The body as JSON; null if it is not JSON.
    pub body: Value,
    headers: reqwest::header::HeaderMap,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Every value of a header.
    pub fn header_values(&self, name: &str) -> Vec<&str> {
        self.headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect()
    }

    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    pub fn code(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or_default()
    }

    /// The fields that were refused.
    pub fn params(&self) -> Vec<&str> {
        let errors = self.body["error"]["errors"].as_array().into_iter().flatten();
        errors.map(|error| error["param"].as_str().unwrap()).collect()
    }
}

impl Merchant {
    pub fn new(tenant: Tenant) -> Self {
        let tenant = Arc::new(tenant);
        diagnostics::print_requests_on_panic(&tenant);
        Self { base_url: tenant.base_url().to_owned(), tenant, client: client() }
    }

    /// A merchant of a sandbox that was started without this module's help.
    pub async fn of(sandbox: &impl Controlled, name: &str) -> Self {
        Self::new(Tenant::new(sandbox, name).await)
    }

    pub fn key(&self) -> String {
        self.tenant.secret_key().expose().to_owned()
    }

    /// Sends a request with the secret key.
    pub async fn call(&self, method: &str, path: &str, fields: Value) -> Reply {
        self.call_as(method, path, Some(&self.key()), fields).await
    }

    /// Sends a request with a credential, or none; `null` means no body.
    pub async fn call_as(&self, method: &str, path: &str, bearer: Option<&str>, fields: Value) -> Reply {
        let body = (!fields.is_null()).then(|| body(&fields));
        self.send(method, path, bearer, body, &[]).await
    }

    /// Sends a raw body.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        bearer: Option<&str>,
        body: Option<String>,
        headers: &[(&str, &str)],
    ) -> Reply {
        send(&self.client, method, &format!("{}{path}", self.base_url), bearer, body, headers).await
    }

    /// Sends a request with the secret key. An error if the connection ends before the response.
    pub async fn try_call(&self, method: &str, path: &str, fields: Value) -> Result<Reply, reqwest::Error> {
        let body = (!fields.is_null()).then(|| body(&fields).into());
        try_send(&self.client, method, &format!("{}{path}", self.base_url), Some(&self.key()), body, &[]).await
    }

    /// Creates an intent.
    pub async fn create_intent(&self, reference: &str) -> Value {
        self.call("POST", "/v1/payment-intents", order(reference)).await.body["data"].clone()
    }

    /// Attaches a payment method with the intent's client secret, as its customer does.
    pub async fn attach(&self, intent: &Value, fields: Value) -> Reply {
        let path = format!("/v1/payment-intents/{}/payment-method", intent["id"].as_str().unwrap());
        self.call_as("POST", &path, intent["client_secret"].as_str(), fields).await
    }

    /// Calls `confirm`, `cancel` or `answer` with the intent's client secret, as its customer does.
    pub async fn intent_action(&self, intent: &Value, verb: &str, fields: Value) -> Reply {
        let path = format!("/v1/payment-intents/{}/{verb}", intent["id"].as_str().unwrap());
        self.call_as("POST", &path, intent["client_secret"].as_str(), fields).await
    }

    /// Reads an intent.
    pub async fn read_intent(&self, intent: &Value) -> Value {
        let path = format!("/v1/payment-intents/{}", intent["id"].as_str().unwrap());
        self.call("GET", &path, Value::Null).await.body["data"].clone()
    }
}

/// A merchant of the chosen service.
pub async fn shop() -> (Sandbox, Merchant) {
    let sandbox = Sandbox::start().await.unwrap();
    let shop = Merchant::new(sandbox.merchant().await.unwrap());
    (sandbox, shop)
}

/// A body that attaches a phone.
pub fn phone(number: &str) -> Value {
    json!({ "payment_method": { "type": "mobile_money", "phone": number } })
}

/// A body that attaches a card.
pub fn card(number: &str) -> Value {
    json!({ "payment_method": { "type": "card", "card": { "number": number, "exp_month": 12, "exp_year": 2034, "cvc": "123" } } })
}

/// A plain reqwest client. It sends plain http, so it does not load the machine's certificates: an unoptimized build
/// takes long for that.
pub fn client() -> reqwest::Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    // Shorter than a server's, so that no request is sent on a connection that the server has just closed: a test may
    // block its runtime for long.
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).pool_idle_timeout(Duration::from_secs(10));
    client.build().unwrap()
}

/// Sends one request and expects a response.
pub async fn send(
    client: &reqwest::Client,
    method: &str,
    url: &str,
    bearer: Option<&str>,
    body: Option<String>,
    headers: &[(&str, &str)],
) -> Reply {
    try_send(client, method, url, bearer, body.map(Into::into), headers).await.unwrap()
}

/// Sends one request, which may get no response.
pub async fn try_send(
    client: &reqwest::Client,
    method: &str,
    url: &str,
    bearer: Option<&str>,
    body: Option<reqwest::Body>,
    headers: &[(&str, &str)],
) -> Result<Reply, reqwest::Error> {
    let mut request = client.request(method.parse().unwrap(), url);
    if let Some(bearer) = bearer {
        request = request.bearer_auth(bearer);
    }
    if !headers.iter().any(|(name, _)| *name == "content-type") && body.is_some() {
        request = request.header("content-type", "application/json");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let sent = body.as_ref().and_then(|body| body.as_bytes()).map(<[u8]>::to_vec);
    if let Some(body) = body {
        request = request.body(body);
    }
    let response = request.send().await?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await?;
    let body = serde_json::from_str(&text).unwrap_or_default();
    if let Ok(url) = url::Url::parse(url) {
        super::recording::record(method, url.path(), status, &text);
        super::openapi::check(method, url.path(), sent.as_deref(), status, &headers, &body, &text);
    }
    Ok(Reply { status, body, text, headers })
}

/// The smallest valid body of a create.
pub fn order(reference: &str) -> Value {
    json!({
        "firstname": "Awa", "lastname": "Ngo", "email": "awa@example.com", "amount": "5000", "description": "Shoes",
        "merchant_reference": reference,
    })
}

/// The body as text.
pub fn body(fields: &Value) -> String {
    fields.to_string()
}

/// Calls the control API.
pub async fn control(sandbox: &impl Controlled, method: &str, path: &str, fields: Value) -> Reply {
    let body = (!fields.is_null()).then(|| fields.to_string());
    let (url, token) = sandbox.control_api();
    send(&client(), method, &format!("{url}{path}"), Some(token.expose()), body, &[]).await
}
