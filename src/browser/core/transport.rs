//! One call over the browser's `fetch`: it executes the actions of [`Call`] (send, wait, done) and parses the reply.

use super::call_options::CallOptions;
use super::error::{CallError, check_no_secret_key, redact};
use super::events::{Notification, Pending, await_promise, cancel_reason, unless};
use super::page::{now, random_u32};
use super::single_flight::SingleFlight;
use super::value::{get, is_nullish, optional, set, write};
use crate::flow::{Base, Ms};
use crate::protocol::{
    Action, Anyone, AttemptResult, Call, Credential, CredentialKind, Fulfils, Kind, Method, NoCredential, Operation,
    Repeat, Request, Role, Spec, Timeouts, Unwritable, assemble,
};
use crate::values::whole_number;
use js_sys::{Array, Function, JSON, Object};
use serde::Serialize;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;
use wasm_bindgen::prelude::*;
use web_sys::{AbortController, Headers};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_name = fetch)]
    fn global_fetch(url: &str, init: &JsValue) -> Result<JsValue, JsValue>;
}

/// Sends requests to one service.
pub(crate) struct Transport {
    pub(crate) base: Base,
    /// The page's own `fetch`, in place of the browser's.
    pub(crate) fetch: Option<Function>,
    pub(crate) on_call: Option<Box<dyn Fn(CallReport)>>,
    pub(crate) shared_calls: SingleFlight<Reply>,
}

/// One finished attempt, for monitoring. It contains no address and no secret.
pub(crate) struct CallReport {
    pub(crate) operation: &'static str,
    /// The number of the attempt, from 1.
    pub(crate) attempt: u32,
    pub(crate) ms: Ms,
    pub(crate) status: Option<u16>,
    pub(crate) kind: Option<Kind>,
    pub(crate) request_id: Option<String>,
}

/// A request that only a credential of type `C` may send.
pub(crate) struct AuthorizedRequest<C> {
    prepared: Rc<PreparedRequest>,
    credential: PhantomData<C>,
}

struct PreparedRequest {
    spec: &'static Spec,
    request: Request,
    /// Whether the operation needs no credential. Then the HTTP cache may be used.
    is_public: bool,
}

impl<C: Credential> AuthorizedRequest<C> {
    pub(crate) fn new<O: Operation>(operation: &O) -> Result<Self, CallError>
    where
        C: Fulfils<O::Role>,
    {
        let is_public = O::Role::admits(CredentialKind::None);
        let prepared = prepare(const { &O::SPEC }, assemble(operation), is_public)?;
        Ok(Self { prepared, credential: PhantomData })
    }

    pub(crate) fn spec(&self) -> &'static Spec {
        self.prepared.spec
    }
}

#[inline(never)]
fn prepare(
    spec: &'static Spec,
    request: Result<Request, Unwritable>,
    is_public: bool,
) -> Result<Rc<PreparedRequest>, CallError> {
    match request {
        Ok(request) => Ok(Rc::new(PreparedRequest { spec, request, is_public })),
        Err(_) => Err(CallError::new(
            Kind::Input,
            "The request could not be written: an amount is 1 to 999999999999999 whole units.",
        )),
    }
}

impl AuthorizedRequest<NoCredential> {
    /// Allows a request that needs no credential to be sent with one.
    pub(crate) fn with_credential<C: Fulfils<Anyone>>(self) -> AuthorizedRequest<C> {
        AuthorizedRequest { prepared: self.prepared, credential: PhantomData }
    }
}

/// A whole reply, of any status.
pub(crate) type Reply = Rc<ReplyContent>;

pub(crate) struct ReplyContent {
    operation: &'static str,
    pub(crate) status: u16,
    pub(crate) text: JsValue,
    /// The parsed JSON; `undefined` if the text is not JSON.
    pub(crate) body: JsValue,
    /// The service's identifier of the request, without the credential.
    pub(crate) request_id: Option<String>,
    retry_after: Option<String>,
}

impl ReplyContent {
    /// The member `data` of the envelope, or the whole body without one.
    pub(crate) fn data(&self) -> JsValue {
        data_of(self.body.clone())
    }

    /// [`ReplyContent::data`], which must be an array.
    pub(crate) fn array(&self) -> Result<Array, CallError> {
        self.data().dyn_into().map_err(|_| self.unreadable())
    }

    /// [`ReplyContent::data`], which must be an object.
    pub(crate) fn object(&self) -> Result<JsValue, CallError> {
        let data = self.data();
        if data.is_object() { Ok(data) } else { Err(self.unreadable()) }
    }

    /// The content that an error keeps: the body, or the text if it is not JSON.
    pub(crate) fn content(&self) -> JsValue {
        if is_nullish(&self.body) { self.text.clone() } else { self.body.clone() }
    }

    /// The error of a reply that cannot be read.
    pub(crate) fn unreadable(&self) -> CallError {
        let message = if is_nullish(&self.body) {
            "The reply is not JSON: it may be a page of HTML, such as a login form."
        } else {
            "The reply could not be read."
        };
        CallError::of(Kind::Unreadable, message, self.operation, &self.content())
    }

    /// Whether its body says that another attempt can help.
    pub(crate) fn retryable(&self) -> Option<bool> {
        get(&get(&self.body, "error"), "retryable").as_bool()
    }
}

/// The member `data` of a value, or the value itself without one.
pub(crate) fn data_of(value: JsValue) -> JsValue {
    let data = get(&value, "data");
    if is_nullish(&data) { value } else { data }
}

/// A request to the service or to the merchant.
pub(crate) struct Outgoing {
    pub(crate) spec: &'static Spec,
    pub(crate) url: String,
    /// Names and values.
    pub(crate) headers: Vec<(String, String)>,
    /// The JSON.
    pub(crate) body: Option<String>,
    pub(crate) policy: &'static FetchPolicy,
    /// The credential, which no error may show.
    pub(crate) credential: Option<String>,
}

impl Outgoing {
    /// The `RequestInit`. Each attempt has an object of its own, because a caller's `fetch` may change it.
    fn init(&self, signal: JsValue) -> JsValue {
        let headers = Object::new().into();
        for (name, value) in &self.headers {
            set(&headers, name, &value.into());
        }
        let init = write(self.policy);
        let (method, body) = (self.spec.method.as_str().into(), optional(self.body.as_deref()));
        for (name, value) in [("method", method), ("headers", headers), ("body", body), ("signal", signal)] {
            set(&init, name, &value);
        }
        init
    }
}

/// The members of a `RequestInit` other than the request's content.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FetchPolicy {
    credentials: &'static str,
    referrer_policy: &'static str,
    redirect: &'static str,
    cache: &'static str,
    keepalive: bool,
}

impl FetchPolicy {
    /// For the service: no cookie, no referrer, no redirect followed.
    const SERVICE: Self = Self {
        credentials: "omit",
        referrer_policy: "no-referrer",
        redirect: "error",
        cache: "no-store",
        keepalive: false,
    };
    /// Reads without a credential may come from the cache: `no-store` costs a CORS preflight for each of them in Chromium.
    const PUBLIC: Self = Self { cache: "default", ..Self::SERVICE };
    /// For a POST without a body (revoke, cancel, validate): the request is sent even if the page is closed.
    const KEEPALIVE: Self = Self { keepalive: true, ..Self::SERVICE };
    /// For the merchant: with the cookies of the page's own origin.
    pub(crate) const MERCHANT: Self =
        Self { credentials: "same-origin", referrer_policy: "", redirect: "follow", ..Self::SERVICE };
}

impl Transport {
    /// Sends a request with its credential.
    pub(crate) fn send<C: Credential>(
        self: &Rc<Self>,
        request: &AuthorizedRequest<C>,
        credential: &C,
        options: CallOptions,
    ) -> Pending<Reply> {
        let prepared = Rc::clone(&request.prepared);
        let (transport, bearer) = (Rc::clone(self), credential.bearer().map(String::from));
        Box::pin(async move {
            // Equal concurrent repeatable calls without a body share one request. Calls with different timeouts are not
            // equal.
            let is_shared = prepared.spec.repeat == Repeat::Always && prepared.request.body.is_none();
            let outgoing = Rc::new(transport.outgoing(&prepared, None, bearer)?);
            if is_shared {
                let key = [
                    &(options.timeout as u64).to_string(),
                    &*outgoing.url,
                    outgoing.credential.as_deref().unwrap_or_default(),
                ]
                .concat();
                let (read, is_own) = match transport.shared_calls.under_way(&key) {
                    Some(read) => (read, false),
                    None => (transport.shared_calls.start(key, transport.request(Rc::clone(&outgoing), options)), true),
                };
                match read.await {
                    // The shared request began before this call, so its deadline is earlier. Send another request.
                    Err(error) if !is_own && error.is(Kind::Timeout) => {}
                    result => return result,
                }
            }
            transport.request(outgoing, options).await
        })
    }

    /// Sends a request that is never shared: a read that began before a charge does not show that charge.
    /// `path` replaces the operation's own path.
    pub(crate) fn send_alone<C: Credential>(
        self: &Rc<Self>,
        request: &AuthorizedRequest<C>,
        path: Option<&str>,
        credential: &C,
        options: CallOptions,
    ) -> Result<Pending<Reply>, CallError> {
        let outgoing = self.outgoing(&request.prepared, path, credential.bearer().map(String::from))?;
        Ok(self.request(Rc::new(outgoing), options))
    }

    #[inline(never)]
    fn outgoing(
        &self,
        PreparedRequest { spec, request, is_public }: &PreparedRequest,
        path: Option<&str>,
        credential: Option<String>,
    ) -> Result<Outgoing, CallError> {
        check_no_secret_key(credential.as_deref().unwrap_or_default())?;
        let (url, body) = (self.base.with(path.unwrap_or(&request.target)), request.body.clone());
        let mut headers = Vec::new();
        if let Some(bearer) = &credential {
            headers.push((String::from("authorization"), ["Bearer ", bearer].concat()));
        }
        if body.is_some() {
            headers.push((String::from("content-type"), String::from("application/json")));
        }
        let policy = match (is_public, spec.method, &body) {
            (true, ..) => &FetchPolicy::PUBLIC,
            (_, Method::Post, None) => &FetchPolicy::KEEPALIVE,
            _ => &FetchPolicy::SERVICE,
        };
        Ok(Outgoing { spec, url, headers, body, policy, credential })
    }

    /// Sends a request, and retries it as [`Call`] decides.
    pub(crate) fn request(self: &Rc<Self>, outgoing: Rc<Outgoing>, options: CallOptions) -> Pending<Reply> {
        let transport = Rc::clone(self);
        Box::pin(async move {
            let mut call = Call::new(outgoing.spec.repeat, Timeouts { deadline: to_duration(options.remaining()) });
            let began = now();
            let mut last = Err(CallError::timed_out(outgoing.spec, options));
            loop {
                match call.next(to_duration(now() - began)) {
                    Action::Send(left) => {
                        let sent = now();
                        let reply = unless(Notification::after(to_ms(left)), transport.exchange(&outgoing)).await;
                        last = transport.record(&outgoing, options, &mut call, reply, now() - sent);
                    }
                    Action::Wait(pause) => drop(Notification::after(to_ms(pause)).await),
                    Action::Done => return last,
                }
            }
        })
    }

    /// Records the result of one attempt, and reports it to `on_call`. `reply` is `None` if the deadline passed first,
    /// and `Some(None)` if there was no reply.
    #[inline(never)]
    fn record(
        &self,
        Outgoing { spec, credential, .. }: &Outgoing,
        options: CallOptions,
        call: &mut Call,
        reply: Option<Option<Reply>>,
        ms: Ms,
    ) -> Result<Reply, CallError> {
        let mut report = CallReport {
            operation: spec.name,
            attempt: call.attempt(),
            ms,
            status: None,
            kind: None,
            request_id: None,
        };
        let mut attempt_result = AttemptResult::NoReply;
        let result = match reply {
            None => Err(CallError::timed_out(spec, options)),
            Some(None) => Err(CallError::offline(spec)),
            Some(Some(reply)) => {
                attempt_result = AttemptResult::Reply {
                    status: reply.status,
                    retry_after: reply.retry_after.as_deref().and_then(whole_number).map(Duration::from_secs),
                    retryable: reply.retryable(),
                };
                report.status = Some(reply.status);
                report.request_id = reply.request_id.clone();
                let is_success = (200..300).contains(&reply.status);
                if is_success { Ok(reply) } else { Err(CallError::refused(spec, &reply, credential.as_deref())) }
            }
        };
        if let Some(on_call) = &self.on_call {
            if let Err(CallError::Failed(failure)) = &result {
                report.kind = Some(failure.kind);
                report.request_id = failure.request_id.clone().or(report.request_id);
            }
            on_call(report);
        }
        call.record(&attempt_result, random_u32);
        result
    }

    /// Sends one request and reads the whole reply. `None` if no reply came. Dropping the future aborts `fetch`.
    async fn exchange(&self, outgoing: &Outgoing) -> Option<Reply> {
        let mut aborter = AbortOnDrop::new()?;
        let (url, init) = (&outgoing.url, outgoing.init(aborter.signal()));
        let sent = match &self.fetch {
            Some(fetch) => fetch.call2(&JsValue::UNDEFINED, &url.into(), &init),
            None => global_fetch(url, &init),
        };
        let response = await_promise(&sent.ok()?).await.ok()?;
        let reply = read(outgoing, response).await;
        aborter.disarm();
        reply
    }
}

/// Reads a response of the browser, or an object that a custom `fetch` returns in its place.
async fn read(outgoing: &Outgoing, response: JsValue) -> Option<Reply> {
    if !response.is_object() {
        return None;
    }
    let response: web_sys::Response = response.unchecked_into();
    // Not with gloo-net's `text` and `Headers::get`, which panic if such an object rejects without an `Error` or has no
    // such method.
    let text = await_promise(&response.text().ok()?.into()).await.ok()?;
    let headers = get(&response, "headers");
    let header = |name: &str| {
        let headers: &Headers = headers.unchecked_ref();
        headers.is_object().then(|| headers.get(name).ok().flatten()).flatten()
    };
    let status = gloo_net::http::Response::from(response).status();
    (status > 0).then(|| {
        Rc::new(ReplyContent {
            operation: outgoing.spec.name,
            status,
            body: JSON::parse(&text.as_string().unwrap_or_default()).unwrap_or_default(),
            text,
            request_id: header("request-id").map(|id| redact(id, outgoing.credential.as_deref())),
            retry_after: header("retry-after"),
        })
    })
}

/// An abort signal that fires when this is dropped.
pub(crate) struct AbortOnDrop(Option<AbortController>);

impl AbortOnDrop {
    pub(crate) fn new() -> Option<Self> {
        AbortController::new().ok().map(|controller| Self(Some(controller)))
    }

    pub(crate) fn signal(&self) -> JsValue {
        self.0.as_ref().map_or(JsValue::UNDEFINED, |controller| controller.signal().into())
    }

    /// Prevents the abort, because the request has ended.
    pub(crate) fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if let Some(controller) = &self.0 {
            controller.abort_with_reason(&cancel_reason());
        }
    }
}

/// Milliseconds as the protocol's `Duration`.
fn to_duration(time: Ms) -> Duration {
    Duration::from_millis(time as u32 as u64)
}

/// A `Duration` as milliseconds.
fn to_ms(time: Duration) -> Ms {
    Ms::from(time.as_secs() as u32) * 1000.0 + Ms::from(time.subsec_millis())
}
