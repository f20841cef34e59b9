//! One call over the browser's `fetch`: the loop of [`Call`], and reading the envelope from the browser's own JSON.

use super::call::How;
use super::error::{Stop, refuse_secret_key};
use super::page::{self, Guard, Work, now, sleep, within};
use super::read::{get, list, maybe, object, set, text};
use crate::flow::Base;
use crate::protocol::{Call, Error, FieldError, Fulfils, Kind, Method, Operation, Patience, Refusal, Repeat, Request, Seen, Spec, Step, assemble};
use std::time::Duration;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_futures::js_sys::{Function, Math};

/// The way to the service.
pub(super) struct Wire {
    pub(super) base: Base,
    pub(super) fetcher: JsValue,
    pub(super) on_call: Option<Function>,
}

/// An operation made into a request, for a credential that may send it.
pub(super) struct Ready {
    spec: Spec,
    request: Request,
}

/// One request, whomever it goes to.
pub(super) struct Errand {
    pub(super) spec: Spec,
    pub(super) url: String,
    pub(super) init: JsValue,
    /// What no message may show.
    pub(super) secret: Option<String>,
}

/// A reply that is no refusal.
pub(super) struct Reply {
    pub(super) spec: Spec,
    pub(super) status: u16,
    request_id: Option<String>,
    pub(super) body: JsValue,
    text: JsValue,
}

impl Ready {
    /// Only an operation that a credential of kind `C` may send.
    pub(super) fn new<O: Operation, C: Fulfils<O::Role>>(operation: &O) -> Result<Self, Stop> {
        let request = assemble(operation).map_err(|_| Stop::new(Kind::Input, "The request could not be written."))?;
        Ok(Self { spec: O::SPEC, request })
    }
}

impl Wire {
    /// Sends an operation with a credential that fulfils its role.
    pub(super) async fn send<O: Operation, C: Fulfils<O::Role>>(&self, operation: &O, credential: &C, how: How) -> Result<Reply, Stop> {
        let ready = Ready::new::<O, C>(operation)?;
        self.send_ready(&ready, credential.bearer(), how).await
    }

    /// Sends what was made ready for this credential.
    pub(super) fn send_ready<'a>(&'a self, ready: &Ready, bearer: Option<&str>, how: How) -> Work<'a, Result<Reply, Stop>> {
        let errand = self.errand(ready, bearer);
        Box::pin(async move { self.run(errand?, how).await })
    }

    /// No cookie, no referrer, no redirect followed, and no header but these two: a service need allow no more.
    fn errand(&self, ready: &Ready, bearer: Option<&str>) -> Result<Errand, Stop> {
        let headers = object(&[]);
        if let Some(bearer) = bearer {
            refuse_secret_key(bearer)?;
            let mut value = String::from("Bearer ");
            value.push_str(bearer);
            set(&headers, "authorization", &value.into());
        }
        if ready.request.body.is_some() {
            set(&headers, "content-type", &"application/json".into());
        }
        let init = object(&[
            ("method", ready.request.method.as_str().into()),
            ("headers", headers),
            ("body", maybe(ready.request.body.as_deref())),
            ("credentials", "omit".into()),
            ("referrerPolicy", "no-referrer".into()),
            ("redirect", "error".into()),
            ("cache", "no-store".into()),
        ]);
        Ok(Errand { spec: ready.spec, url: self.base.with(&ready.request.target), init, secret: bearer.map(String::from) })
    }

    /// Step, do what it says, tell it what was seen, step.
    pub(super) async fn run(&self, errand: Errand, how: How) -> Result<Reply, Stop> {
        let began = now();
        let mut call = Call::new(errand.spec.repeat, Patience { deadline: how.left() });
        let mut last = Err(timeout().into());
        loop {
            match call.step(now().saturating_sub(began)) {
                Step::Send(left) => {
                    let sent = now();
                    let (seen, result) = self.attempt(&errand, left).await;
                    self.tell(&errand.spec, call.attempt(), sent, &result);
                    call.saw(&seen, (Math::random() * f64::from(u32::MAX)) as u32);
                    last = result.map_err(|stop| match stop {
                        Stop::Failed(error, reply) => Stop::Failed(error.of(errand.spec.name), reply),
                        thrown => thrown,
                    });
                }
                Step::Wait(pause) => sleep(pause, false).await,
                Step::Done => return last,
            }
        }
    }

    async fn attempt(&self, errand: &Errand, left: Duration) -> (Seen, Result<Reply, Stop>) {
        let guard = Guard::new();
        set(&errand.init, "signal", &guard.signal());
        let answer = JsFuture::from(page::exchange(&self.fetcher, &errand.url, &errand.init));
        let answer = match within(left, Box::pin(answer)).await {
            None => return (Seen::Lost, Err(timeout().into())),
            Some(Err(_)) => return (Seen::Lost, Err(Stop::new(Kind::Offline, "No answer came. The device may be offline, or the address may not allow this page (CORS)."))),
            Some(Ok(answer)) => answer,
        };
        let reply = Reply {
            spec: errand.spec,
            status: get(&answer, "status").as_f64().unwrap_or_default() as u16,
            request_id: text(&answer, "request_id"),
            body: get(&answer, "body"),
            text: get(&answer, "text"),
        };
        let retry_after = text(&answer, "retry_after").and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs);
        if (200..300).contains(&reply.status) {
            return (Seen::Reply { status: reply.status, retry_after, retryable: None }, Ok(reply));
        }
        let refusal = reply.refusal(errand.secret.as_deref());
        let seen = Seen::Reply { status: reply.status, retry_after, retryable: refusal.retryable };
        (seen, Err(Stop::Failed(Error::refused(&errand.spec, reply.status, refusal), reply.kept())))
    }

    /// Tells `onCall`; what it throws is its own affair.
    fn tell(&self, spec: &Spec, attempt: u32, sent: Duration, result: &Result<Reply, Stop>) {
        let Some(on_call) = &self.on_call else { return };
        let (status, kind, request_id) = match result {
            Ok(reply) => (Some(reply.status), None, reply.request_id.clone()),
            Err(stop) => (stop.status(), Some(stop.kind()), text(&get(&stop.reply(), "error"), "request_id")),
        };
        let call = object(&[
            ("operation", spec.name.into()),
            ("attempt", attempt.into()),
            ("ms", (now().saturating_sub(sent).as_secs_f64() * 1000.0).into()),
            ("status", status.map_or(JsValue::UNDEFINED, JsValue::from)),
            ("kind", maybe(kind.as_deref())),
            ("requestId", maybe(request_id.as_deref())),
        ]);
        let _ = on_call.call1(&JsValue::UNDEFINED, &call);
    }
}

impl Reply {
    /// What it holds: `data` where it is present, the root otherwise.
    pub(super) fn data(&self) -> JsValue {
        unwrapped(&self.body)
    }

    /// What it holds, where that is an object.
    pub(super) fn object(&self) -> Result<JsValue, Stop> {
        let data = self.data();
        if data.is_object() { Ok(data) } else { Err(self.unreadable()) }
    }

    /// An error that keeps the reply.
    pub(super) fn unreadable(&self) -> Stop {
        let error = Error::new(Kind::Unreadable, "The reply could not be read.").of(self.spec.name);
        Stop::Failed(error.with_reply(self.status, self.request_id.clone(), Vec::new()), self.kept())
    }

    fn kept(&self) -> JsValue {
        if self.body.is_undefined() { self.text.clone() } else { self.body.clone() }
    }

    fn refusal(&self, secret: Option<&str>) -> Refusal {
        let error = get(&self.body, "error");
        // A service that repeats a credential in its sentence does not put it into a log of ours.
        let hushed = |said: Option<String>| match secret.filter(|secret| !secret.is_empty()) {
            Some(secret) => said.map(|said| said.replace(secret, "***")),
            None => said,
        };
        let field = |field: &JsValue| FieldError {
            param: text(field, "param").unwrap_or_default(),
            code: text(field, "code").unwrap_or_default(),
            message: hushed(text(field, "message")).unwrap_or_default(),
        };
        Refusal {
            code: text(&error, "code"),
            message: hushed(text(&self.body, "message")),
            request_id: text(&error, "request_id").or_else(|| self.request_id.clone()),
            retryable: get(&error, "retryable").as_bool(),
            fields: list(&get(&error, "errors")).iter().map(field).collect(),
            existing_id: text(&error, "existing_id"),
        }
    }
}

/// `data` where it is present, the value itself otherwise.
pub(super) fn unwrapped(value: &JsValue) -> JsValue {
    let data = get(value, "data");
    if data.is_undefined() || data.is_null() { value.clone() } else { data }
}

/// A call that is no operation of the interface: one of the merchant's three routes.
pub(super) const fn route(name: &'static str, method: Method, repeat: Repeat) -> Spec {
    let spec = match method {
        Method::Get => Spec::get(name, ""),
        _ => Spec::post(name, ""),
    };
    match repeat {
        Repeat::Always => spec.repeatable(),
        Repeat::Never => spec,
    }
}

fn timeout() -> Error {
    Error::new(Kind::Timeout, "The time was over before an answer came.")
}
