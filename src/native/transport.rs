//! One call over a socket: the loop of [`Call`], and each attempt's request.

use super::bearer::Bearer;
use super::network::Lost;
use super::reply::{LARGEST_REPLY, Received, Reply};
use super::{ClientBuilder, Profile, SecretKey};
use crate::operations::CreatePaymentIntent;
use crate::protocol::{
    Action, Call, Completed, Credential, Error, IDEMPOTENCY_KEY, Kind, Method, Operation, Repeat, Request, Spec,
    assemble,
};
use crate::values::printable;
use bytes::Bytes;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};
use tracing::field::Empty;
use tracing::{Instrument, Span};
use url::Url;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Whether credentials are a test environment's, which never move real money.
///
/// ```
/// use guichet::native::{Environment, Transport};
/// let transport = Transport::builder("http://127.0.0.1:4243", Environment::Test).build();
/// # #[cfg(feature = "native")]
/// transport?;
/// # Ok::<(), guichet::protocol::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Environment {
    /// Real money: sent by https, or to this machine.
    Live,
    /// A test environment, or a sandbox.
    Test,
}

/// A [`Client`](super::Client) without its secret key: sends requests with whichever credential it is given, retries
/// where that does no harm, and returns the service's reply unparsed. It is for tools that show a reply as it is; a
/// server uses the client.
///
/// ```no_run
/// use guichet::native::{Environment, Transport};
/// use guichet::operations::ValidateSession;
/// use guichet::protocol::Operation;
/// # async fn validate(token: guichet::values::SessionToken) -> Result<(), guichet::protocol::Error> {
/// let transport = Transport::builder("https://api.example.com", Environment::Live).build()?;
/// let request = Transport::request(&ValidateSession::new())?;
/// let reply = transport.send(const { &ValidateSession::SPEC }, request, &token).await?;
/// println!("{}", String::from_utf8_lossy(&reply));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Transport {
    shared: Arc<Shared>,
    pub(super) deadline: Duration,
}

/// Where requests go, and what sends them.
pub(super) struct Shared {
    pub base: Url,
    pub gateway: Url,
    pub profile: Option<Profile>,
    pub http: reqwest::Client,
    /// Whether the application supplied the HTTP client, which may follow redirects: a reply from another address than
    /// the request's is an error.
    pub is_from_application: bool,
}

/// A request that every attempt sends in the same form.
struct Prepared<'a> {
    spec: &'static Spec,
    url: Url,
    request: Request,
    /// Whether it may be repeated.
    is_repeatable: bool,
    bearer: &'a Bearer,
}

impl From<&SecretKey> for Environment {
    /// The environment of a key, by its prefix.
    fn from(key: &SecretKey) -> Self {
        if key.is_test() { Self::Test } else { Self::Live }
    }
}

impl Transport {
    /// Builds a transport to the service at this address. `environment` says which credentials it will be given: a live
    /// one is never sent by plain http to another machine.
    pub fn builder(base_url: &str, environment: Environment) -> ClientBuilder<Environment> {
        ClientBuilder::new(base_url, environment)
    }

    pub(super) fn new(shared: Shared, deadline: Duration) -> Self {
        Self { shared: Arc::new(shared), deadline }
    }

    pub(super) fn profile(&self) -> Option<&Profile> {
        self.shared.profile.as_ref()
    }

    pub(super) fn with_deadline(&self, deadline: Duration) -> Self {
        Self { shared: Arc::clone(&self.shared), deadline }
    }

    /// The request of an operation.
    ///
    /// # Errors
    /// Kind `input` if a value cannot be sent.
    pub fn request<O: Operation>(operation: &O) -> Result<Request, Error> {
        assemble(operation).map_err(|_| {
            let message = "A value of the request cannot be sent. An amount is 1 to 999999999999999 whole units; a value in a \
                path is not empty, \".\" or \"..\".";
            Error::new(Kind::Input, message).of(O::SPEC.name)
        })
    }

    /// Sends the request of an operation. Returns the body of the successful reply.
    ///
    /// The caller chooses a credential that fulfils the operation's role; another one gets the service's own error.
    ///
    /// # Errors
    /// As [`Client::send`](super::Client::send).
    pub async fn send(
        &self,
        spec: &'static Spec,
        request: Request,
        credential: &(dyn Credential + Sync),
    ) -> Result<Bytes, Error> {
        let bearer = Bearer::of(credential, spec)?;
        Ok(self.call(spec, request, &bearer).await.result?.body)
    }

    /// Sends a request, in a tracing span of its own, until there is a final result or the deadline has passed. The
    /// caller has checked that the credential fulfils the operation's role.
    #[expect(
        clippy::disallowed_methods,
        reason = "only this loop reads the clock; what it calls takes the time as an argument"
    )]
    pub(super) async fn call(&self, spec: &'static Spec, request: Request, bearer: &Bearer) -> Completed<Reply> {
        let span = tracing::info_span!(
            "guichet",
            operation = spec.name,
            merchant_reference = Empty,
            attempt = Empty,
            status = Empty,
            request_id = Empty
        );
        if !span.is_disabled()
            && let Some(reference) = merchant_reference(spec, &request)
        {
            span.record("merchant_reference", tracing::field::display(printable(reference)));
        }
        // With a key from the caller every retry is safe: the service executes a key's request once.
        let repeat = if request.idempotency_key.is_some() { Repeat::Always } else { spec.repeat };
        let is_repeatable = repeat == Repeat::Always;
        let prepared = Prepared { spec, url: self.url(&request), request, is_repeatable, bearer };
        let begun = Instant::now();
        let attempts = async {
            let mut call = Call::new(repeat, self.deadline);
            let mut attempts = Vec::new();
            let mut result = Err(Error::new(Kind::Timeout, "The deadline passed before anything was sent."));
            loop {
                match call.next(begun.elapsed()) {
                    Action::Wait(pause) => sleep(pause).await,
                    Action::Send(left) => {
                        let outcome = timeout(left, self.attempt(&prepared)).await.unwrap_or_else(|elapsed| {
                            let message = "The deadline passed before the service answered.";
                            Err(Lost::Unanswered(Error::new(Kind::Timeout, message).caused_by(elapsed)))
                        });
                        record_in_span(&span, call.attempt(), &outcome);
                        let attempt = outcome.as_ref().map_or_else(Lost::result, Reply::result);
                        call.record(&attempt, || getrandom::u32().unwrap_or(u32::MAX));
                        attempts.push(attempt);
                        result = outcome
                            .map_err(|lost| lost.into_error(call.may_have_executed() && !is_repeatable).of(spec.name))
                            .and_then(|reply| reply.success(&call));
                    }
                    Action::Done => return Completed { attempts, result },
                }
            }
        };
        attempts.instrument(span.clone()).await
    }

    /// Sends a request once.
    async fn attempt(&self, prepared: &Prepared<'_>) -> Result<Reply, Lost> {
        let Prepared { spec, url, request, is_repeatable, bearer } = prepared;
        let mut sending = self.shared.http.request(http_method(request.method), url.clone()).header(ACCEPT, JSON);
        sending = sending.header(ACCEPT_ENCODING, "identity");
        if let Some(header) = bearer.header() {
            sending = sending.header(AUTHORIZATION, header);
        }
        if let Some(key) = &request.idempotency_key {
            sending = sending.header(IDEMPOTENCY_KEY, key);
        }
        if let Some(body) = &request.body {
            sending = sending.header(CONTENT_TYPE, JSON).body(body.clone());
        }
        let mut reply = sending.send().await?;
        let status = reply.status().as_u16();
        let is_redirected = self.shared.is_from_application && reply.url() != url;
        let headers = std::mem::take(reply.headers_mut());
        let first = reply.chunk().await?.unwrap_or_default();
        let mut more = Vec::new();
        while first.len() + more.len() <= LARGEST_REPLY
            && let Some(chunk) = reply.chunk().await?
        {
            more.extend_from_slice(&chunk);
        }
        // Most replies come in one piece, which is kept without a copy.
        let mut body = if more.is_empty() { first } else { Bytes::from([&*first, &*more].concat()) };
        let is_whole = body.len() <= LARGEST_REPLY;
        body.truncate(LARGEST_REPLY);
        let received = Received { status, headers, body, is_whole, is_redirected };
        Ok(Reply::new(spec, received, *is_repeatable, bearer))
    }

    /// The address of a request. The document shows a gateway address of its own for creating payment intents, and for
    /// nothing else.
    #[must_use]
    pub fn url(&self, request: &Request) -> Url {
        let creation = CreatePaymentIntent::SPEC;
        let is_creation = request.method == creation.method && request.target == creation.path;
        let base = if is_creation { &self.shared.gateway } else { &self.shared.base };
        // The host is not parsed again: that would take as long as reading a small reply.
        let (path, query) = match request.target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (&*request.target, None),
        };
        let mut url = base.clone();
        url.set_path(&[base.path().trim_end_matches('/'), path].concat());
        url.set_query(query);
        url
    }

    /// The address of all operations but the creation of intents, without `/v1`.
    #[cfg(feature = "axum")]
    pub(super) fn base_url(&self) -> &str {
        self.shared.base.as_str()
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("base", &self.shared.base.as_str())
            .field("gateway", &self.shared.gateway.as_str())
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// The merchant's reference of the payment that a request creates.
fn merchant_reference(spec: &Spec, request: &Request) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Body {
        merchant_reference: String,
    }
    let body = request.body.as_ref().filter(|_| spec.name == CreatePaymentIntent::SPEC.name)?;
    serde_json::from_str(body).ok().map(|Body { merchant_reference }| merchant_reference)
}

/// Records the result of an attempt in the call's span.
fn record_in_span(span: &Span, attempt: u32, outcome: &Result<Reply, Lost>) {
    span.record("attempt", attempt);
    match outcome {
        Ok(reply) => {
            span.record("status", reply.status());
            if let Some(request_id) = &reply.request_id {
                span.record("request_id", tracing::field::display(printable(request_id)));
            }
            tracing::debug!(status = reply.status(), "the service replied");
        }
        Err(lost) => tracing::debug!(error = %lost.error(), "no reply"),
    }
}

fn http_method(method: Method) -> reqwest::Method {
    match method {
        Method::Delete => reqwest::Method::DELETE,
        Method::Get => reqwest::Method::GET,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
    }
}
