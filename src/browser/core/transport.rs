//! One call over the browser's `fetch`: it executes the actions of [`Call`] (send, wait, done) and reads the reply.

use super::browser::{is_page, random_u32};
use super::error::{CallError, Pending, check_no_secret_key};
use super::flights::SingleFlight;
use super::reply::{Received, Reply, ReplyContent};
use super::time::{CallOptions, DEFAULT_TIMEOUT, Deadline, Notification, cancel_reason, now};
use super::value::{copied, display, set};
use crate::flow::{Base, Ms};
use crate::protocol::{
    Action, Anyone, AttemptResult, Call, Credential, CredentialKind, Fulfils, Kind, Method, NoCredential, Operation,
    Repeat, Request, Role, Spec, Unwritable, assemble_as,
};
use js_sys::{Function, Object};
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;
use wasm_bindgen::prelude::*;
use web_sys::{
    AbortController, AbortSignal, ReferrerPolicy, RequestCache, RequestCredentials, RequestInit, RequestRedirect,
    Response,
};

// Not gloo-net's `Request::send`: it panics if a page has replaced `fetch` and its own rejects without an `Error`, or
// returns another object than a `Response`. With an address and options, as pages call it: a page's own `fetch` may
// take no `Request`.
#[cfg(not(feature = "js-page"))]
#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_name = fetch)]
    fn global_fetch(address: &str, init: &RequestInit) -> Result<JsValue, JsValue>;
}

#[cfg(feature = "js-page")]
#[wasm_bindgen(raw_module = "../early.js")]
extern "C" {
    /// `fetch`, unless the loader has sent this request while the module was loading.
    #[wasm_bindgen(catch, js_name = send)]
    fn global_fetch(address: &str, init: &RequestInit) -> Result<JsValue, JsValue>;
}

/// Sends requests to one service.
pub(crate) struct Transport {
    pub(crate) base: Base,
    /// The page's own `fetch`, in place of the browser's.
    pub(crate) fetch: Option<Function>,
    pub(crate) on_call: Option<Box<dyn Fn(CallReport)>>,
    pub(crate) shared_calls: SingleFlight<Result<Reply, CallError>>,
}

/// One finished attempt, for monitoring. It contains no address and no secret.
pub(crate) struct CallReport {
    pub(crate) operation: &'static str,
    /// The number of the attempt, from 1.
    pub(crate) attempt: u32,
    pub(crate) ms: Ms,
    pub(crate) status: Option<u16>,
    /// The word of its kind, if it failed.
    pub(crate) kind: Option<String>,
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
        Self::with_spec(const { &O::SPEC }, operation)
    }

    /// The request of an operation for another route that does the same.
    pub(crate) fn with_spec<O: Operation>(spec: &'static Spec, operation: &O) -> Result<Self, CallError>
    where
        C: Fulfils<O::Role>,
    {
        let is_public = O::Role::admits(CredentialKind::None);
        let prepared = prepare(spec, assemble_as(spec, operation), is_public)?;
        Ok(Self { prepared, credential: PhantomData })
    }

    pub(crate) fn spec(&self) -> &'static Spec {
        self.prepared.spec
    }

    /// Its path and query.
    pub(crate) fn target(&self) -> &str {
        &self.prepared.request.target
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
        Err(_) => Err(CallError::new(Kind::Input, "An amount is a number in the smallest currency unit: 5000.")),
    }
}

impl AuthorizedRequest<NoCredential> {
    /// Allows a request that needs no credential to be sent with one.
    pub(crate) fn with_credential<C: Fulfils<Anyone>>(self) -> AuthorizedRequest<C> {
        AuthorizedRequest { prepared: self.prepared, credential: PhantomData }
    }
}

/// A request to the service or to the merchant.
pub(crate) struct Outgoing {
    pub(crate) spec: &'static Spec,
    pub(crate) url: String,
    /// An object of names and values, besides those of the credential and the body.
    pub(crate) headers: Option<JsValue>,
    /// The JSON.
    pub(crate) body: Option<String>,
    pub(crate) policy: FetchPolicy,
    /// The credential, which no error may show.
    pub(crate) credential: Option<String>,
}

/// Why there is no reply.
enum NoReply {
    Timeout,
    /// With what `fetch` or the page's own function in its place has thrown.
    Offline(JsValue),
}

/// How the browser sends a request.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum FetchPolicy {
    /// To the service: no cookie, no referrer, no redirect followed.
    Service,
    /// A read without a credential, which may come from the cache: `no-store` costs a CORS preflight for each of them
    /// in Chromium.
    Public,
    /// A POST without a body (revoke, cancel, validate): the request is sent even if the page is closed.
    KeepAlive,
    /// To the merchant: with cookies, of the page's own origin or also of others.
    Merchant { includes_credentials: bool },
}

impl Outgoing {
    #[inline(never)]
    fn headers(&self) -> JsValue {
        let headers = self.headers.as_ref().map_or_else(|| Object::new().into(), copied);
        if let Some(bearer) = &self.credential {
            set(&headers, "authorization", &["Bearer ", bearer].concat().into());
        }
        if self.body.is_some() {
            set(&headers, "content-type", &"application/json".into());
        }
        headers
    }

    /// How an attempt is sent. Every object is new: `fetch` may be the page's own, which may change what it gets.
    fn init(&self, signal: Option<AbortSignal>) -> RequestInit {
        let init = RequestInit::new();
        init.set_method(self.spec.method.as_str());
        init.set_headers(&self.headers());
        if let Some(body) = &self.body {
            init.set_body(&body.into());
        }
        init.set_signal(signal.as_ref());
        // Cloudflare's Workers know neither the former, before November 2024, nor `redirect: "error"`.
        let is_page = is_page();
        if is_page && self.policy != FetchPolicy::Public {
            init.set_cache(RequestCache::NoStore);
        }
        let credentials = match self.policy {
            FetchPolicy::Merchant { includes_credentials: true } => RequestCredentials::Include,
            FetchPolicy::Merchant { .. } => RequestCredentials::SameOrigin,
            _ => RequestCredentials::Omit,
        };
        init.set_credentials(credentials);
        if credentials == RequestCredentials::Omit {
            init.set_referrer_policy(ReferrerPolicy::NoReferrer);
            init.set_redirect(if is_page { RequestRedirect::Error } else { RequestRedirect::Manual });
        }
        if self.policy == FetchPolicy::KeepAlive {
            set(&init, "keepalive", &JsValue::TRUE); // web-sys has no setter for it
        }
        init
    }
}

impl Transport {
    /// Sends a request with its credential.
    pub(crate) fn send<C: Credential>(
        self: &Rc<Self>,
        request: &AuthorizedRequest<C>,
        credential: &C,
        options: CallOptions,
    ) -> Pending<Reply> {
        self.send_shared(self.outgoing(&request.prepared, None, credential.bearer().map(String::from)), options)
    }

    /// Sends a request, or joins an equal one that is under way.
    pub(crate) fn send_shared(
        self: &Rc<Self>,
        outgoing: Result<Outgoing, CallError>,
        options: CallOptions,
    ) -> Pending<Reply> {
        let transport = Rc::clone(self);
        Box::pin(async move {
            let outgoing = Rc::new(outgoing?);
            // Equal concurrent repeatable calls without a body share one request. Calls with different timeouts are not
            // equal.
            if outgoing.spec.repeat == Repeat::Always && outgoing.body.is_none() {
                // The usual one is not written: JavaScript would be called twice more.
                let is_usual = options.timeout == DEFAULT_TIMEOUT;
                let timeout = if is_usual { String::new() } else { display(&options.timeout.into()) };
                let credential = outgoing.credential.as_deref().unwrap_or_default();
                let key = [&*timeout, outgoing.spec.method.as_str(), &outgoing.url, credential].concat();
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
    #[cfg(feature = "js-hosted")]
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
        let policy = match (is_public, spec.method, &body) {
            (true, ..) => FetchPolicy::Public,
            (_, Method::Post, None) => FetchPolicy::KeepAlive,
            _ => FetchPolicy::Service,
        };
        Ok(Outgoing { spec, url, headers: None, body, policy, credential })
    }

    /// Sends a request, and retries it as [`Call`] decides.
    pub(crate) fn request(self: &Rc<Self>, outgoing: Rc<Outgoing>, options: CallOptions) -> Pending<Reply> {
        let transport = Rc::clone(self);
        Box::pin(async move {
            let began = now();
            let mut time = began;
            let deadline = to_duration(options.remaining_at(began));
            let mut call = Call::new(outgoing.spec.repeat, deadline);
            let mut last = None;
            loop {
                match call.next(to_duration(time - began)) {
                    Action::Send(left) => {
                        let outcome = transport.exchange(&outgoing, to_ms(left), time).await;
                        let ms = now() - time;
                        time += ms;
                        last = Some(transport.record(&outgoing, &mut call, outcome, ms));
                    }
                    Action::Wait(pause) => {
                        Notification::after(to_ms(pause)).wait().await;
                        time = now();
                    }
                    Action::Done => {
                        let timed_out = || Err(CallError::timed_out(outgoing.spec));
                        return last.unwrap_or_else(timed_out);
                    }
                }
            }
        })
    }

    /// Turns the outcome of an attempt into the result of the call so far, tells `call` about it, and reports it.
    #[inline(never)]
    fn record(
        &self,
        outgoing: &Outgoing,
        call: &mut Call,
        outcome: Result<Reply, NoReply>,
        ms: Ms,
    ) -> Result<Reply, CallError> {
        let mut attempt_result = AttemptResult::NoReply;
        let mut status = None;
        let result = match outcome {
            Ok(reply) => {
                attempt_result = reply.result();
                status = Some(reply.status);
                if reply.is_success() { Ok(reply) } else { Err(reply.refused(&attempt_result)) }
            }
            Err(NoReply::Timeout) => Err(CallError::timed_out(outgoing.spec)),
            Err(NoReply::Offline(cause)) => Err(CallError::offline(outgoing.spec, cause)),
        };
        if let Some(on_call) = &self.on_call {
            let (kind, request_id) = match &result {
                Ok(reply) => (None, reply.request_id()),
                Err(error) => (error.text("kind"), error.text("requestId")),
            };
            on_call(CallReport {
                operation: outgoing.spec.name,
                attempt: call.attempt(),
                ms,
                status,
                kind,
                request_id,
            });
        }
        call.record(&attempt_result, random_u32);
        result
    }

    /// Sends one request and reads the whole reply within this time from now. Dropping the future aborts `fetch`.
    ///
    /// # Errors
    /// [`NoReply`] if there is none.
    async fn exchange(&self, outgoing: &Outgoing, left: Ms, now: Ms) -> Result<Reply, NoReply> {
        let mut aborter = AbortOnDrop::new();
        let deadline = Deadline::within(left, now);
        let init = outgoing.init(aborter.signal());
        let sent = match &self.fetch {
            Some(fetch) => fetch.call2(&JsValue::UNDEFINED, &(&*outgoing.url).into(), &init),
            None => global_fetch(&outgoing.url, &init),
        };
        let response = deadline.result(&sent.map_err(NoReply::Offline)?).await.ok_or(NoReply::Timeout)?;
        let response = response.map_err(NoReply::Offline)?;
        // What a page's own `fetch` returns may lack anything.
        if !response.is_object() {
            return Err(NoReply::Offline(JsValue::UNDEFINED));
        }
        let is_browsers = self.fetch.is_none() && response.has_type::<Response>();
        let response: Response = response.unchecked_into();
        // Not gloo-net's `text`, which adds 2.3 KB (brotli) to the wasm, and panics if the body of a page's own
        // response ends with another value than an `Error`.
        let text = response.text().map_err(NoReply::Offline)?;
        let text = deadline.result(&text).await.ok_or(NoReply::Timeout)?.map_err(NoReply::Offline)?;
        aborter.disarm();
        let response = Received::new(response, is_browsers);
        match response.status() {
            0 => Err(NoReply::Offline(JsValue::UNDEFINED)),
            status => Ok(ReplyContent::new(outgoing.spec, status, text, response, outgoing.credential.clone())),
        }
    }
}

/// An abort signal that fires when this is dropped. Without an `AbortController` there is none, and the request runs to
/// its end.
pub(crate) struct AbortOnDrop(Option<AbortController>);

impl AbortOnDrop {
    pub(crate) fn new() -> Self {
        Self(AbortController::new().ok())
    }

    pub(crate) fn signal(&self) -> Option<AbortSignal> {
        self.0.as_ref().map(AbortController::signal)
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
