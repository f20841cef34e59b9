//! The calls to the service: `protocol` decides when each is sent and reads the replies, JavaScript sends it with the
//! key.

use crate::value::{get, get_number, get_text, optional};
use crate::{Host, nobody};
use guichet::operations::{CreatePaymentIntent, CreateSession, PaymentIntent, RevokeSession};
use guichet::protocol::{
    Action, AttemptResult, Call, Completed, DEFAULT_DEADLINE, Error, Kind, Method, Operation, ParsedReply, Spec,
    assemble, decode,
};
use guichet::shop::{Granted, Grants, Refused};
use guichet::values::Email;
use serde::de::{DeserializeOwned, IgnoredAny};
use std::time::Duration;
use wasm_bindgen::JsValue;

/// A reply that is no refusal.
pub struct Response {
    /// JSON.
    pub body: String,
    /// The service's time, in Unix seconds.
    pub date: Option<i64>,
}

impl Grants for Host {
    async fn session(&self, login: Option<&str>, customer_email: &Email) -> Result<Granted, Refused> {
        let session = self.send(&CreateSession::new(customer_email.clone())).await?;
        let session_token = session.session_token.expose().to_owned();
        if let Some(login) = login {
            self.keep_session(login, &session_token).await?;
        }
        // In UTC if it can be read, so that no page takes a time without an offset for its local time.
        let expires_at = session.ends().map(|end| end.to_string()).or(session.expires_at);
        Ok(Granted { session_token, customer_email: session.customer_email.to_string(), expires_at })
    }
}

impl Host {
    /// Lets the shop keep the token with its login, whose end is then the token's. If the login has ended meanwhile, or
    /// if the shop cannot keep it, no page gets it.
    async fn keep_session(&self, login: &str, token: &str) -> Result<(), Refused> {
        let kept = self.ask("keepSession", &[login.into(), token.into()]).await;
        let refused = match kept {
            Ok(is_kept) if is_kept.is_truthy() => return Ok(()),
            Ok(_) => nobody(),
            Err(refused) => refused,
        };
        // If the service does not revoke it either, it expires by itself.
        let _ = self.revoke(token).await;
        Err(refused)
    }

    /// Ends a session.
    async fn revoke(&self, token: &str) -> Result<(), Refused> {
        let spec = const { &RevokeSession::SPEC };
        revoked(self.fetch(Some(token), spec, spec.method, spec.path, None).await.result)
    }

    /// Executes an operation with the secret key.
    async fn send<O>(&self, operation: &O) -> Result<O::Output, Error>
    where
        O: Operation,
        O::Output: DeserializeOwned,
    {
        let spec = const { &O::SPEC };
        let request = assemble(operation).map_err(|_| unsendable())?;
        self.fetch(None, spec, request.method, &request.target, request.body).await.result?.read(spec)
    }

    /// Sends a request with the secret key, or with `token`, a session token or a client secret, until there is a final
    /// result.
    pub async fn fetch(
        &self,
        token: Option<&str>,
        spec: &'static Spec,
        method: Method,
        target: &str,
        body: Option<String>,
    ) -> Completed<Response> {
        let is_creation = spec.name == CreatePaymentIntent::SPEC.name;
        let request = [method.as_str().into(), target.into(), is_creation.into(), optional(body)];
        let mut attempts = Vec::new();
        let mut call = Call::new(spec.repeat, DEFAULT_DEADLINE);
        let mut elapsed = Duration::ZERO;
        let mut last = Err(Error::new(Kind::Timeout, "The deadline passed before anything was sent."));
        // JavaScript's own functions do not fail here.
        let result = loop {
            match call.next(elapsed) {
                Action::Wait(pause) => {
                    let _ = self.ask("wait", &[millis(pause)]).await;
                    elapsed += pause;
                }
                Action::Send(within) => {
                    let arguments = request.iter().cloned().chain([millis(within), optional(token)]);
                    let answer = match self.ask("send", &arguments.collect::<Vec<_>>()).await {
                        Ok(answer) => answer,
                        Err(refused) => break Err(Error::new(Kind::Offline, refused.message()).of(spec.name)),
                    };
                    elapsed += Duration::from_millis(get_number(&answer, "ms").unwrap_or_default().into());
                    let body = get_text(&answer, "body").unwrap_or_default();
                    let reply = parsed(&answer, &body);
                    let result = match &reply {
                        Some(reply) => reply.result(),
                        None if get(&answer, "notSent").is_some() => AttemptResult::NotSent,
                        None => AttemptResult::NoReply,
                    };
                    call.record(&result, || get_number(&answer, "random").unwrap_or(u32::MAX));
                    attempts.push(result);
                    // After `record`, since a conflict is judged by the attempts before it.
                    last = match reply {
                        Some(reply) => read(spec, &call, &answer, reply, body),
                        None => Err(lost(spec, &answer)),
                    };
                    let kind = optional(last.as_ref().err().map(|error| error.kind().as_str()));
                    let _ = self.ask("called", &[spec.name.into(), call.attempt().into(), answer, kind]).await;
                }
                Action::Done => break last,
            }
        };
        Completed { attempts, result }
    }
}

/// Whether a session has ended. One that the service does not know needs no end.
pub fn revoked(sent: Result<Response, Error>) -> Result<(), Refused> {
    match sent {
        Err(error) if error.kind() != Kind::Session => Err(error.into()),
        _ => Ok(()),
    }
}

impl Response {
    /// Reads its output.
    pub fn read<T: DeserializeOwned>(&self, spec: &'static Spec) -> Result<T, Error> {
        decode(self.body.as_bytes()).map_err(|_| unreadable(spec))
    }

    /// Reads the payment that it has, if it has one.
    pub fn payment(
        &self,
        spec: &'static Spec,
        payment_of: impl FnOnce(&[u8]) -> Result<Option<PaymentIntent>, serde_json::Error>,
    ) -> Result<Option<PaymentIntent>, Error> {
        payment_of(self.body.as_bytes()).map_err(|_| unreadable(spec))
    }
}

fn unsendable() -> Error {
    Error::new(Kind::Input, "A value in a path cannot be sent.")
}

fn unreadable(spec: &'static Spec) -> Error {
    Error::new(Kind::Unreadable, "The service's reply cannot be read.").of(spec.name)
}

fn millis(duration: Duration) -> JsValue {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX).into()
}

/// The reply to an attempt, if JavaScript has one.
fn parsed(answer: &JsValue, body: &str) -> Option<ParsedReply> {
    let status = get_number(answer, "status")?.try_into().ok()?;
    let retry_after = get_number(answer, "retryAfter").map(|seconds| Duration::from_secs(seconds.into()));
    Some(ParsedReply::new(status, retry_after, body.as_bytes()))
}

/// The response, or the error of a reply that is none.
fn read(
    spec: &'static Spec,
    call: &Call,
    answer: &JsValue,
    reply: ParsedReply,
    body: String,
) -> Result<Response, Error> {
    let status = reply.status.counts_as;
    let error = match status {
        200..300 if serde_json::from_str::<IgnoredAny>(&body).is_ok() => {
            return Ok(Response { body, date: get_number(answer, "date").map(Into::into) });
        }
        200..300 => unreadable(spec),
        300..400 => Error::new(
            Kind::Address,
            "The service answered with a redirect, which is not followed. Set `baseUrl` to the address that answers.",
        ),
        _ => call.refused(spec, status, reply.refusal.unwrap_or_default()),
    };
    Err(error.with_reply(status, get_text(answer, "requestId"), Vec::new()))
}

/// The error of an attempt without a reply.
fn lost(spec: &'static Spec, answer: &JsValue) -> Error {
    let (kind, message) = match get(answer, "timeout") {
        Some(_) => (Kind::Timeout, "The deadline passed before the service answered."),
        None => (Kind::Offline, "The service does not answer."),
    };
    let cause = get_text(answer, "cause").unwrap_or_default();
    Error::new(kind, [message, " ", &cause].concat().trim_end()).of(spec.name)
}
