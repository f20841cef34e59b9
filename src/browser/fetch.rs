//! One call over the browser's `fetch`: the steps of [`Call`], and reading the envelope from the browser's own JSON.

use super::call::How;
use super::doors::{self, luck, now, pause};
use super::error::{Stop, refuse_secret_key, said_retryable};
use super::read::{Sort, at, is, number, text};
use super::task::{Answer, Flow, Next, Work, start, under_way};
use crate::flow::{Base, Ms};
use crate::protocol::{
    Anyone, Call, Credential, CredentialKind, Fulfils, Kind, NoCredential, Operation, Patience, Repeat, Request, Role,
    Seen, Spec, Step, Unwritable, assemble,
};
use crate::values::{digits, number as seconds};
use std::marker::PhantomData;
use std::time::Duration;
use wasm_bindgen::prelude::*;

/// The way to the service.
pub(super) struct Wire {
    pub(super) base: Base,
    pub(super) fetcher: JsValue,
    pub(super) on_call: JsValue,
    /// What is under way and may be joined, by name.
    pub(super) flights: JsValue,
}

/// An operation made into a request, for a credential that may send it and for no other.
pub(super) struct Ready<C> {
    made: Made,
    sender: PhantomData<C>,
}

struct Made {
    spec: &'static Spec,
    request: Request,
    /// Whether anyone may ask.
    is_public: bool,
}

impl<C: Credential> Ready<C> {
    /// Only an operation that a credential of this kind may send.
    pub(super) fn new<O: Operation>(operation: &O) -> Result<Self, Stop>
    where
        C: Fulfils<O::Role>,
    {
        let made = made(const { &O::SPEC }, assemble(operation), O::Role::admits(CredentialKind::None))?;
        Ok(Self { made, sender: PhantomData })
    }

    /// Whether sending it again does no harm.
    #[cfg(feature = "hosted")]
    pub(super) fn is_repeatable(&self) -> bool {
        self.made.spec.repeat == Repeat::Always
    }

    /// The operation's name.
    pub(super) fn name(&self) -> &'static str {
        self.made.spec.name
    }
}

#[inline(never)]
fn made(spec: &'static Spec, request: Result<Request, Unwritable>, is_public: bool) -> Result<Made, Stop> {
    match request {
        Ok(request) => Ok(Made { spec, request, is_public }),
        Err(_) => Err(Stop::new(Kind::Input, "The request could not be written.")),
    }
}

impl Ready<NoCredential> {
    /// What anyone may send may be sent with any credential of theirs.
    pub(super) fn with<C: Fulfils<Anyone>>(self) -> Ready<C> {
        Ready { made: self.made, sender: PhantomData }
    }
}

/// Sends what was made ready for this credential.
pub(super) fn send<C: Credential>(
    wire: &'static Wire,
    ready: &Ready<C>,
    credential: &C,
    how: How,
) -> Result<Work, Stop> {
    let Made { spec, request, .. } = &ready.made;
    // Equal questions that are under way at once are one request. A patience of its own is a question of its own.
    let shared = spec.repeat == Repeat::Always && request.body.is_none();
    send_request(wire, &ready.made, &request.target, credential.bearer(), how, shared)
}

/// The same for an intent's own operations, which the service may have elsewhere. Each is a request of its own: what
/// began before a charge was sent is no answer to what became of it.
#[cfg(feature = "hosted")]
pub(super) fn send_to<C: Credential>(
    wire: &'static Wire,
    ready: &Ready<C>,
    target: Option<&str>,
    credential: &C,
    how: How,
) -> Result<Work, Stop> {
    let target = target.unwrap_or(&ready.made.request.target);
    send_request(wire, &ready.made, target, credential.bearer(), how, false)
}

fn send_request(
    wire: &'static Wire,
    made: &Made,
    target: &str,
    bearer: Option<&str>,
    how: How,
    shared: bool,
) -> Result<Work, Stop> {
    let Made { spec, request, is_public } = made;
    refuse_secret_key(bearer.unwrap_or_default())?;
    // How a payment or a session stands comes from no cache. What anyone may ask may: as the service says.
    let init = doors::to_service(spec.method.as_str(), bearer, request.body.as_deref(), !is_public);
    let url = wire.base.with(target);
    let name = shared.then(|| digits(how.timeout as u64) + &url + bearer.unwrap_or_default());
    let sending = Box::new(Sending::new(wire, spec, url, init, bearer.map(String::from), how));
    Ok(match name {
        Some(name) => Box::new(Shared { wire, name, sending: Some(sending), asked: false }),
        None => sending,
    })
}

/// What several may ask at once. The request ends when nobody waits for it any more.
struct Shared {
    wire: &'static Wire,
    name: String,
    sending: Option<Work>,
    asked: bool,
}

impl Flow for Shared {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        if !self.asked {
            self.asked = true;
            let signal = doors::ending();
            if let Some(begun) = under_way(&self.wire.flights, &self.name, &signal) {
                return Ok(Next::Wait(begun));
            }
            if let Some(sending) = self.sending.take() {
                return Ok(Next::Wait(start(&self.wire.flights, &self.name, sending, &signal)));
            }
        }
        match (came, self.sending.take()) {
            // Another has begun it, and their time is over; one's own is not.
            (Err(stop), Some(sending)) if stop.is_one_of("timeout") => Ok(Next::Call(sending)),
            (came, _) => came.map(Next::Done),
        }
    }
}

/// One request, whomever it goes to, until it is answered. It comes to the whole answer, where that is no refusal:
/// `{status, body, text, …}`.
pub(super) struct Sending {
    wire: &'static Wire,
    spec: &'static Spec,
    url: String,
    init: JsValue,
    /// What no message may show.
    secret: Option<String>,
    call: Call,
    began: Ms,
    sent: Option<Ms>,
    last: Answer,
}

impl Sending {
    #[inline(never)]
    pub(super) fn new(
        wire: &'static Wire,
        spec: &'static Spec,
        url: String,
        init: JsValue,
        secret: Option<String>,
        how: How,
    ) -> Self {
        Self {
            call: Call::new(spec.repeat, Patience { deadline: duration(how.left()) }),
            wire,
            spec,
            url,
            init,
            secret,
            began: now(),
            sent: None,
            last: Ok(JsValue::UNDEFINED),
        }
    }

    fn saw(&mut self, answer: JsValue, sent: Ms) {
        let status = number(&answer, "status");
        let (seen, error) = if status > 0.0 {
            let status = status as u16;
            let seen = Seen::Reply {
                status,
                retry_after: text(&answer, "retry_after").and_then(|s| seconds(&s)).map(Duration::from_secs),
                retryable: said_retryable(&answer),
            };
            let refused = !(200..300).contains(&status);
            (seen, refused.then(|| Stop::refused(self.spec, status, &answer, self.secret.as_deref())))
        } else {
            (Seen::Lost, Some(lost(self.spec, is(&answer, "late", Sort::True))))
        };
        let problem = error.as_ref().map_or(JsValue::UNDEFINED, |stop| stop.at(""));
        let took = now() - sent;
        doors::told(&self.wire.on_call, self.spec.name, self.call.attempt(), took, &answer, &problem);
        self.last = error.map_or(Ok(answer), Err);
        self.call.saw(&seen, luck);
    }
}

/// Step, do what it says, tell it what was seen, step.
impl Flow for Sending {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        let came = came?;
        if let Some(sent) = self.sent.take() {
            self.saw(came, sent);
        }
        match self.call.step(duration(now() - self.began)) {
            Step::Send(left) => {
                self.sent = Some(now());
                Ok(Next::Wait(doors::exchange(&self.wire.fetcher, &self.url, &self.init, ms(left))))
            }
            Step::Wait(time) => Ok(Next::Wait(pause(ms(time), false))),
            Step::Done => std::mem::replace(&mut self.last, Ok(JsValue::UNDEFINED)).map(Next::Done),
        }
    }
}

/// As the protocol counts time.
fn duration(time: Ms) -> Duration {
    Duration::from_millis(time as u32 as u64)
}

/// As a page does.
fn ms(time: Duration) -> Ms {
    Ms::from(time.as_secs() as u32) * 1000.0 + Ms::from(time.subsec_millis())
}

/// That no answer came. What may have been done is not for sending again without a look.
pub(super) fn lost(spec: &Spec, late: bool) -> Stop {
    let (kind, message) = if late {
        (Kind::Timeout, "The time was over before an answer came.")
    } else {
        (Kind::Offline, "No answer came. The device may be offline, or the address may not allow this page (CORS).")
    };
    Stop::lost(kind, message, spec)
}

/// What an answer holds: `data` where it is present, the root otherwise.
pub(super) fn data(answer: &JsValue) -> JsValue {
    unwrapped(&at(answer, "body"))
}

/// `data` where it is present, the value itself otherwise.
pub(super) fn unwrapped(value: &JsValue) -> JsValue {
    if is(value, "data", Sort::Nothing) { value.clone() } else { at(value, "data") }
}

/// What an answer holds, where that is of this sort.
pub(super) fn data_of(answer: &JsValue, sort: Sort, name: &str) -> Answer {
    let data = data(answer);
    if is(&data, "", sort) { Ok(data) } else { Err(unreadable(answer, name)) }
}

/// An error that keeps the reply.
pub(super) fn unreadable(answer: &JsValue, name: &str) -> Stop {
    let (kept, message) = if is(answer, "body", Sort::Nothing) {
        ("text", "The reply is not JSON: it may be a page of HTML, such as a login form.")
    } else {
        ("body", "The reply could not be read.")
    };
    Stop::of(Kind::Unreadable, message, name, &at(answer, kept))
}
