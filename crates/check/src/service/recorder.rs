//! The payment service that a checked shop talks to: a sandbox behind a recorder that can change, withhold and refuse
//! replies.

use super::call::{Call, ELSEWHERE};
use super::interference::{Kind, Target};
use axum::Json;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{Request, Response, StatusCode, header};
use axum::response::IntoResponse;
use guichet::shop::Profile;
use guichet_sandbox::{Documented, Dropped, InProcess};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Test phones of the sandbox.
pub(crate) const PAYS_AT_ONCE: &str = "237670000000";
pub(crate) const DECLINED_FOR_GOOD: &str = "237670000006";
pub(crate) const STAYS_PROCESSING: &str = "237670000005";

/// The most bytes of a recorded body. The sandbox itself accepts less.
const MAX_BODY: usize = 8 << 20;

/// The service of a check.
pub struct Service {
    sandbox: InProcess,
    profile: Option<Profile>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: Vec<Call>,
    /// The interferences that have not ended, with their numbers.
    interferences: Vec<(u64, Interference)>,
    /// The number of interferences until now.
    interfered: u64,
    /// The number of calls that wait for the end of [`Kind::Hold`].
    held: usize,
}

/// What happens to the shop's calls, until it is dropped.
pub(crate) struct Interfering<'a>(&'a Service, u64);

struct Interference {
    target: Target,
    kind: Kind,
    /// Its receivers notice when it is dropped.
    end: watch::Sender<()>,
}

impl Drop for Interfering<'_> {
    fn drop(&mut self) {
        self.0.state().interferences.retain(|(number, _)| *number != self.1);
    }
}

/// A call that is held. It is counted until it is dropped, also if the shop closes the connection.
struct Held<'a>(&'a Service);

impl<'a> Held<'a> {
    fn new(service: &'a Service) -> Self {
        service.state().held += 1;
        Self(service)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.state().held -= 1;
    }
}

impl Service {
    /// The service of a check, on this sandbox.
    #[must_use]
    pub fn new(sandbox: InProcess) -> Self {
        Self { sandbox, profile: None, state: Mutex::default() }
    }

    /// The same, as a service of this profile: payments are read, found and canceled as it says.
    #[must_use]
    pub fn with_profile(self, profile: Option<Profile>) -> Self {
        Self { profile, ..self }
    }

    /// What its requests and words are, if not those of the document.
    pub(crate) fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// Answers a call of the shop, or of a browser on the hosted page.
    ///
    /// # Errors
    /// If a rule or a fault drops the connection.
    pub async fn respond(&self, request: Request<Body>) -> Result<Response<Body>, Dropped> {
        let Some(profile) = &self.profile else { return self.answer(request).await };
        // The rules see the calls as the document has them.
        let Documented { request, reply } = self.sandbox.documented(profile, request).await;
        Ok(reply.apply(profile, self.answer(request).await?).await)
    }

    async fn answer(&self, request: Request<Body>) -> Result<Response<Body>, Dropped> {
        let (parts, body) = request.into_parts();
        let Ok(body) = to_bytes(body, MAX_BODY).await else {
            return Ok(refusal(413));
        };
        let path = parts.uri.path().to_owned();
        let forwarded = |parts| self.sandbox.respond(Request::from_parts(parts, Body::from(body.clone())));
        let call = Call::new(&parts, &body, self.sandbox.secret_key().expose());
        if call.is_elsewhere() {
            self.state().calls.push(call);
            return Ok(refusal(401));
        }
        if !path.starts_with("/v1/") {
            return forwarded(parts).await;
        }
        let target = format!("{ELSEWHERE}{}", call.path);
        let (number, kind, mut end) = self.record(call);
        match kind {
            Some(Kind::Refuse(status)) => return Ok(refusal(status)),
            Some(Kind::Redirect(status, origin)) => return Ok(redirect(status, &format!("{origin}{target}"))),
            Some(Kind::Hold) => {
                let _held = Held::new(self);
                // It ends with an error, because the sender is dropped.
                let _ = end.changed().await;
            }
            _ => {}
        }
        let response = forwarded(parts).await?;
        let (mut parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
        let mut replied: Value = serde_json::from_slice(&body).unwrap_or_default();
        self.state().calls[number].reply = replied.clone();
        let body = match kind {
            Some(Kind::Malformed) => Bytes::from_static(b"<html>The service is being repaired.</html>"),
            Some(Kind::Lie(lies)) => {
                parts.status = lies.tell(parts.status, &mut replied["data"]);
                Bytes::from(replied.to_string())
            }
            Some(Kind::Fields(fields)) => {
                if let (Some(data), Value::Object(fields)) = (replied["data"].as_object_mut(), fields) {
                    data.extend(fields);
                }
                Bytes::from(replied.to_string())
            }
            Some(Kind::Lost) => return Ok(refusal(503)),
            _ => body,
        };
        parts.headers.remove(header::CONTENT_LENGTH);
        Ok(Response::from_parts(parts, Body::from(body)))
    }

    /// Records a call. Returns its number and what happens to it.
    fn record(&self, call: Call) -> (usize, Option<Kind>, watch::Receiver<()>) {
        let mut state = self.state();
        let mut interferences = state.interferences.iter().rev().map(|(_, interference)| interference);
        let interference = interferences.find(|interference| interference.target.has(&call, &interference.kind));
        let kind = interference.map(|interference| interference.kind.clone());
        let end = interference.map_or_else(|| watch::channel(()).1, |interference| interference.end.subscribe());
        state.calls.push(call);
        (state.calls.len() - 1, kind, end)
    }

    /// Interferes with the shop's calls until the returned value is dropped. If two interfere with a call, the later
    /// one does.
    pub(crate) fn interfere(&self, target: Target, kind: Kind) -> Interfering<'_> {
        let mut state = self.state();
        state.interfered += 1;
        let number = state.interfered;
        state.interferences.push((number, Interference { target, kind, end: watch::channel(()).0 }));
        Interfering(self, number)
    }

    /// The number of calls that are held.
    pub(crate) fn held(&self) -> usize {
        self.state().held
    }

    /// The number of calls until now.
    pub(crate) fn mark(&self) -> usize {
        self.state().calls.len()
    }

    /// The calls after a mark.
    pub(crate) fn calls_since(&self, mark: usize) -> Vec<Call> {
        self.state().calls[mark..].to_vec()
    }

    /// The number of these calls after a mark. A rule that waits asks often, so that they are not copied.
    pub(crate) fn count_since(&self, mark: usize, counts: impl Fn(&Call) -> bool) -> usize {
        self.state().calls[mark..].iter().filter(|call| counts(call)).count()
    }

    /// The creations of payments after a mark, without those that repeat an earlier one: a shop's timer may send again
    /// what is stored.
    pub(crate) fn creations_since(&self, mark: usize) -> Vec<Call> {
        let state = self.state();
        let (before, after) = state.calls.split_at(mark);
        let is_new = |call: &&Call| !before.iter().any(|known| known.is_creation() && known.body == call.body);
        after.iter().filter(|call| call.is_creation()).filter(is_new).cloned().collect()
    }

    /// The call that created a payment, with its reply.
    pub(crate) fn creation(&self, intent: &str) -> Option<Call> {
        let state = self.state();
        state.calls.iter().find(|call| call.is_creation() && call.reply["data"]["id"] == intent).cloned()
    }

    /// The payments that the shop has created and that can still be paid, the oldest first: each with its
    /// `payment_ref`.
    pub(crate) async fn open_payments(&self) -> Vec<(String, String)> {
        let mut open = Vec::new();
        for id in self.created() {
            let intent = self.intent(&id).await;
            if intent["status"] == "requires_action" {
                let payment_ref = intent["payment_ref"].as_str().unwrap_or_default().to_owned();
                open.push((id, payment_ref));
            }
        }
        open
    }

    /// How many payments the shop has created that have not ended.
    pub(crate) async fn unfinished(&self) -> usize {
        let mut count = 0;
        for id in self.created() {
            let status = self.status(&id).await;
            count += usize::from(["requires_action", "processing"].contains(&status.as_str()));
        }
        count
    }

    /// The payments that the shop has created, the oldest first.
    fn created(&self) -> Vec<String> {
        let state = self.state();
        let mut known = BTreeSet::new();
        let created = state.calls.iter().filter_map(Call::created);
        created.filter(|id| known.insert(*id)).map(str::to_owned).collect()
    }

    /// Another origin at which the service answers, by its other name; `None` if the shop knows it by a name that has
    /// no other.
    pub(crate) fn other_origin(&self) -> Option<String> {
        let state = self.state();
        let (name, port) = state.calls.last()?.host.rsplit_once(':')?;
        let other = match name {
            "localhost" => "127.0.0.1",
            "127.0.0.1" | "[::1]" => "localhost",
            _ => return None,
        };
        Some(format!("http://{other}:{port}"))
    }

    /// The session tokens that the shop was given.
    pub(crate) fn session_tokens(&self) -> Vec<String> {
        self.replied("session_token")
    }

    /// The addresses of the hosted page that the shop was given.
    pub(crate) fn checkout_urls(&self) -> Vec<String> {
        self.replied("checkout_url")
    }

    /// The client secrets of the payments that the shop was given.
    pub(crate) fn client_secrets(&self) -> Vec<String> {
        self.replied("client_secret")
    }

    /// Everything that no report may show: the key, and the secrets that the shop was given.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let mut secrets = vec![self.secret_key().to_owned()];
        secrets.extend(self.session_tokens());
        secrets.extend(self.client_secrets());
        secrets
    }

    fn replied(&self, field: &str) -> Vec<String> {
        let state = self.state();
        let texts = state.calls.iter().filter_map(|call| call.reply["data"][field].as_str());
        texts.map(str::to_owned).collect()
    }

    /// The key that the shop calls it with.
    #[must_use]
    pub fn secret_key(&self) -> &str {
        self.sandbox.secret_key().expose()
    }

    /// The service's address and its key, as the shop's commands read them.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let base_url = self.sandbox.base_url().to_owned();
        vec![("GUICHET_BASE_URL", base_url), ("GUICHET_SECRET_KEY", self.secret_key().to_owned())]
    }

    /// Pays as the customer does on the hosted page, with a test phone. Returns the payment.
    pub(crate) async fn pay(&self, intent: &str, phone: &str) -> Value {
        let method = json!({"payment_method": {"type": "mobile_money", "phone": phone}});
        let path = format!("/v1/payment-intents/{intent}/payment-method");
        self.call("POST", &path, self.secret_key(), Some(method)).await["data"].take()
    }

    /// Cancels the payment, as the customer does on the hosted page.
    pub(crate) async fn cancel(&self, intent: &str) -> Value {
        let path = format!("/v1/payment-intents/{intent}/cancel");
        self.call("POST", &path, self.secret_key(), Some(json!({}))).await["data"].take()
    }

    /// Stops waiting for the phone, as the customer does on the hosted page.
    pub(crate) async fn abandon(&self, intent: &str, attempt: u64) -> Value {
        let path = format!("/v1/payment-intents/{intent}/abandon");
        self.call("POST", &path, self.secret_key(), Some(json!({"attempt": attempt}))).await["data"].take()
    }

    /// The payment, as it is.
    pub(crate) async fn intent(&self, id: &str) -> Value {
        self.call("GET", &format!("/v1/payment-intents/{id}"), self.secret_key(), None).await["data"].take()
    }

    /// The status of the payment, as it is.
    pub(crate) async fn status(&self, id: &str) -> String {
        self.intent(id).await["status"].as_str().unwrap_or_default().to_owned()
    }

    /// Whether the service accepts a session token.
    pub(crate) async fn accepts(&self, token: &str) -> bool {
        self.call("POST", "/v1/sessions/validate", token, None).await["data"]["valid"] == true
    }

    /// Moves the service's clock forward.
    pub(crate) async fn advance(&self, seconds: u32) {
        let token = self.sandbox.control_token().expose();
        self.call("POST", "/sandbox/clock", token, Some(json!({"advance_seconds": seconds}))).await;
    }

    /// A call of the check itself, which is not recorded.
    async fn call(&self, method: &str, path: &str, token: &str, body: Option<Value>) -> Value {
        let request = Request::builder().method(method).uri(format!("http://localhost{path}"));
        let request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        let request = request.header(header::CONTENT_TYPE, "application/json");
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let request = request.body(body).expect("its parts are constants and identifiers of the sandbox");
        let Ok(response) = self.sandbox.respond(request).await else { return Value::Null };
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn redirect(status: u16, address: &str) -> Response<Body> {
    let response = Response::builder().status(status).header(header::LOCATION, address);
    response.body(Body::empty()).expect("the host of a call is the value of a header")
}

fn refusal(status: u16) -> Response<Body> {
    let (kind, code) = match status {
        401 => ("authentication", "invalid_key"),
        409 => ("conflict", "merchant_reference_conflict"),
        _ => ("api", "unavailable"),
    };
    let body = json!({
        "status_code": status, "response_type": "error", "message": "The check refused this call.", "data": null,
        "error": {"type": kind, "code": code, "errors": [], "request_id": "req_check", "retryable": status >= 500},
    });
    (StatusCode::from_u16(status).unwrap_or_default(), Json(body)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use guichet_sandbox::{Config, Surroundings};

    #[tokio::test]
    async fn a_held_call_is_counted_until_the_shop_closes_its_connection() {
        let sandbox = InProcess::start(Config::default(), Surroundings::system()).await.expect("a sandbox");
        let service = Service::new(sandbox);
        let holding = service.interfere(Target::Every, Kind::Hold);
        let request = Request::get("http://localhost/v1/payment-intents").body(Body::empty()).expect("a request");
        let mut call = Box::pin(service.respond(request));
        tokio::select! {
            biased;
            _ = &mut call => panic!("the call is held"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(service.held(), 1);
        drop(call);
        assert_eq!(service.held(), 0);
        drop(holding);
    }
}
