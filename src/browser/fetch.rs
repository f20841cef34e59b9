//! One call over the browser's `fetch`: the loop of [`Call`], and reading the envelope from the browser's own JSON.

use super::call::How;
use super::error::{Stop, refuse_secret_key};
use super::page::{self, luck, ms, now, sleep};
use super::read::{at, make, maybe, text};
use super::task::{Work, wait_for};
use crate::flow::Base;
use crate::protocol::{Call, Credential, Fulfils, Kind, Operation, Patience, Request, Seen, Spec, Step, assemble};
use std::marker::PhantomData;
use std::time::Duration;
use wasm_bindgen::prelude::*;

/// The way to the service.
pub(super) struct Wire {
    pub(super) base: Base,
    pub(super) fetcher: JsValue,
    pub(super) on_call: JsValue,
}

/// An operation made into a request, for a credential that may send it and for no other.
#[derive(Clone)]
pub(super) struct Ready<C> {
    spec: Spec,
    request: Request,
    sender: PhantomData<C>,
}

/// One request, whomever it goes to.
pub(super) struct Errand<'a> {
    pub(super) spec: Spec,
    pub(super) url: String,
    pub(super) init: JsValue,
    /// What no message may show.
    pub(super) secret: Option<&'a str>,
}

/// A reply that is no refusal.
pub(super) struct Reply {
    name: &'static str,
    answer: JsValue,
}

impl<C: Credential> Ready<C> {
    /// Only an operation that a credential of this kind may send.
    pub(super) fn new<O: Operation>(operation: &O) -> Result<Self, Stop>
    where
        C: Fulfils<O::Role>,
    {
        match assemble(operation) {
            Ok(request) => Ok(Self { spec: O::SPEC, request, sender: PhantomData }),
            Err(_) => Err(Stop::new(Kind::Input, "The request could not be written.")),
        }
    }
}

impl Wire {
    /// Sends an operation with a credential that fulfils its role.
    pub(super) fn send<'a, O: Operation, C: Fulfils<O::Role>>(
        &'a self,
        operation: &O,
        credential: &'a C,
        how: How,
    ) -> Work<'a, Result<Reply, Stop>> {
        self.send_ready(Ready::new(operation), credential, how)
    }

    /// Sends what was made ready for this credential.
    pub(super) fn send_ready<'a, C: Credential>(
        &'a self,
        ready: Result<Ready<C>, Stop>,
        credential: &'a C,
        how: How,
    ) -> Work<'a, Result<Reply, Stop>> {
        let ready = ready.map(|Ready { spec, request, .. }| (spec, request));
        self.send_request(ready, credential.bearer(), how)
    }

    /// No cookie, no referrer, no redirect followed, and no header but these two: a service need allow no more.
    fn send_request<'a>(
        &'a self,
        ready: Result<(Spec, Request), Stop>,
        bearer: Option<&'a str>,
        how: How,
    ) -> Work<'a, Result<Reply, Stop>> {
        Box::pin(async move {
            let (spec, request) = ready?;
            let authorization = match bearer {
                Some(bearer) => {
                    refuse_secret_key(bearer)?;
                    JsValue::from_str(&["Bearer ", bearer].concat())
                }
                None => JsValue::UNDEFINED,
            };
            let content = request.body.as_ref().map(|_| "application/json");
            let init = make(
                "method headers body credentials referrerPolicy redirect cache",
                [
                    spec.method.as_str().into(),
                    make("authorization content-type", [authorization, maybe(content)]),
                    maybe(request.body.as_deref()),
                    "omit".into(),
                    "no-referrer".into(),
                    "error".into(),
                    "no-store".into(),
                ],
            );
            self.run(Errand { spec, url: self.base.with(&request.target), init, secret: bearer }, how).await
        })
    }

    /// Step, do what it says, tell it what was seen, step.
    pub(super) fn run<'a>(&'a self, errand: Errand<'a>, how: How) -> Work<'a, Result<Reply, Stop>> {
        Box::pin(async move {
            let name = errand.spec.name;
            let began = now();
            let mut call = Call::new(errand.spec.repeat, Patience { deadline: how.left() });
            let mut last = Err(lost(name, true));
            loop {
                match call.step(now().saturating_sub(began)) {
                    Step::Send(left) => {
                        let sent = now();
                        let answer =
                            wait_for(page::exchange(&self.fetcher, &errand.url, &errand.init, ms(left))).await?;
                        let seen = seen(&answer);
                        last = match seen {
                            Seen::Lost => Err(lost(name, text(&answer, "lost").as_deref() == Some("timeout"))),
                            Seen::Reply { status, .. } if !(200..300).contains(&status) => {
                                Err(Stop::refused(&errand.spec, status, &answer, errand.secret))
                            }
                            Seen::Reply { .. } => Ok(Reply { name, answer: answer.clone() }),
                        };
                        if self.on_call.is_function() {
                            self.tell(name, call.attempt(), now().saturating_sub(sent), &answer, last.as_ref().err());
                        }
                        call.saw(&seen, luck());
                    }
                    Step::Wait(pause) => sleep(pause, false).await,
                    Step::Done => return last,
                }
            }
        })
    }

    fn tell(&self, name: &str, attempt: u32, took: Duration, answer: &JsValue, stop: Option<&Stop>) {
        let of_error = |path| stop.map_or(JsValue::UNDEFINED, |stop| stop.at(path));
        let request_id =
            Some(of_error("requestId")).filter(|id| !id.is_undefined()).unwrap_or_else(|| at(answer, "request_id"));
        let call = make(
            "operation attempt ms status kind requestId",
            [name.into(), attempt.into(), ms(took).into(), at(answer, "status"), of_error("kind"), request_id],
        );
        page::tell(&self.on_call, &call);
    }
}

fn seen(answer: &JsValue) -> Seen {
    match at(answer, "status").as_f64() {
        Some(status) => Seen::Reply {
            status: status as u16,
            retry_after: text(answer, "retry_after").and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs),
            retryable: at(answer, "body.error.retryable").as_bool(),
        },
        None => Seen::Lost,
    }
}

fn lost(name: &str, in_time: bool) -> Stop {
    let (kind, message) = if in_time {
        (Kind::Timeout, "The time was over before an answer came.")
    } else {
        (Kind::Offline, "No answer came. The device may be offline, or the address may not allow this page (CORS).")
    };
    Stop::of(kind, message, name, &JsValue::UNDEFINED)
}

impl Reply {
    /// What it holds: `data` where it is present, the root otherwise.
    pub(super) fn data(&self) -> JsValue {
        unwrapped(&at(&self.answer, "body"))
    }

    /// What it holds, where that is an object.
    pub(super) fn object(&self) -> Result<JsValue, Stop> {
        let data = self.data();
        if data.is_object() { Ok(data) } else { Err(self.unreadable()) }
    }

    /// Whether it says nothing, as a 204 does.
    pub(super) fn is_empty(&self) -> bool {
        text(&self.answer, "text").is_none_or(|text| text.is_empty())
    }

    /// Whether its body is JSON.
    pub(super) fn is_json(&self) -> bool {
        !at(&self.answer, "body").is_undefined()
    }

    /// An error that keeps the reply.
    pub(super) fn unreadable(&self) -> Stop {
        let kept = if self.is_json() { "body" } else { "text" };
        Stop::of(Kind::Unreadable, "The reply could not be read.", self.name, &at(&self.answer, kept))
    }
}

/// `data` where it is present, the value itself otherwise.
pub(super) fn unwrapped(value: &JsValue) -> JsValue {
    let data = at(value, "data");
    if data.is_undefined() || data.is_null() { value.clone() } else { data }
}
