//! One call over a socket: the loop of [`Call`], and each attempt's request and reply.

use super::network::Lost;
use crate::operations::CreatePaymentIntent;
use crate::protocol::{
    Action, AttemptResult, Call, Error, FieldError, IDEMPOTENCY_KEY, Kind, Method, Operation, Refusal, Repeat,
    ReplyStatus, Request, Spec,
};
use crate::values::{Moment, printable};
use bytes::Bytes;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
};
use std::time::{Duration, Instant, UNIX_EPOCH};
use tokio::time::{sleep, timeout};
use tracing::field::Empty;
use tracing::{Instrument, Span};
use url::Url;
use zeroize::Zeroizing;

/// The greatest size of a reply. Every reply of the interface is far smaller; a larger one is a mistake or an attack,
/// and is not read to its end.
const LARGEST_REPLY: usize = 8 * 1024 * 1024;

const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

const FOLLOWED: &str = "The HTTP client followed a redirect, and a request that carries a credential follows none. Build the \
                        `reqwest::Client` with `redirect(reqwest::redirect::Policy::none())`.";

/// The HTTP client of one [`Client`](super::Client).
pub(super) struct Fetch {
    http: reqwest::Client,
    /// Whether the application supplied the client, which may follow redirects.
    is_from_application: bool,
}

/// A credential, as a text and as the header that sends it.
#[derive(Clone, Copy)]
pub(super) struct Bearer<'a> {
    /// Its text, which no error and no log may contain.
    pub text: &'a str,
    /// `Authorization: Bearer …`.
    pub header: &'a HeaderValue,
}

/// A reply.
#[derive(Clone)]
pub(super) struct Reply {
    pub status: ReplyStatus,
    pub body: Bytes,
    headers: HeaderMap,
    /// Whether the body was read to its end.
    whole: bool,
    /// Whether it comes from the target of a redirect.
    is_redirected: bool,
    /// Whether its request may be repeated.
    is_repeatable: bool,
}

impl Fetch {
    pub(super) fn new(http: reqwest::Client) -> Self {
        Self { http, is_from_application: false }
    }

    /// Sends over the application's own client. A reply from another address than the request's is an error.
    pub(super) fn with_application_client(http: reqwest::Client) -> Self {
        Self { http, is_from_application: true }
    }

    /// Sends a request, in a tracing span of its own, until there is a final result or the deadline has passed. The
    /// result of each attempt is added to `attempts`.
    pub(super) async fn call(
        &self,
        spec: &'static Spec,
        url: Url,
        request: Request,
        bearer: Option<Bearer<'_>>,
        deadline: Duration,
        attempts: &mut Vec<AttemptResult>,
    ) -> Result<Reply, Error> {
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
        let prepared = Prepared {
            method: http_method(request.method),
            url,
            body: request.body.map(Bytes::from),
            idempotency_key: request.idempotency_key,
            bearer,
            repeat,
        };
        self.attempts(&span, spec, &prepared, deadline, attempts).instrument(span.clone()).await
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "only this loop reads the clock; what it calls takes the time as an argument"
    )]
    async fn attempts(
        &self,
        span: &Span,
        spec: &'static Spec,
        prepared: &Prepared<'_>,
        deadline: Duration,
        attempts: &mut Vec<AttemptResult>,
    ) -> Result<Reply, Error> {
        let bearer = prepared.bearer.map(|bearer| bearer.text);
        let begun = Instant::now();
        let mut call = Call::new(prepared.repeat, deadline);
        let mut last = None;
        loop {
            match call.next(begun.elapsed()) {
                Action::Wait(pause) => sleep(pause).await,
                Action::Send(left) => {
                    let outcome = match timeout(left, self.attempt(prepared)).await {
                        Ok(outcome) => outcome,
                        Err(elapsed) => Err(Lost::Unanswered(
                            Error::new(Kind::Timeout, "The deadline passed before the service answered.")
                                .caused_by(elapsed),
                        )),
                    };
                    let outcome = outcome.map(|reply| reply.redact_request_id(bearer));
                    let result = outcome.as_ref().map_or_else(Lost::result, Reply::result);
                    record_in_span(span, call.attempt(), &outcome);
                    call.record(&result, || getrandom::u32().unwrap_or(u32::MAX));
                    attempts.push(result);
                    last = Some(classify(spec, outcome, &call, prepared.is_repeatable(), bearer));
                }
                Action::Done => {
                    return last.unwrap_or_else(|| {
                        Err(Error::new(Kind::Timeout, "The deadline passed before anything was sent."))
                    });
                }
            }
        }
    }

    /// Sends the request once.
    async fn attempt(&self, prepared: &Prepared<'_>) -> Result<Reply, Lost> {
        let mut sending = self.http.request(prepared.method.clone(), prepared.url.clone()).header(ACCEPT, JSON);
        sending = sending.header(ACCEPT_ENCODING, "identity");
        if let Some(bearer) = prepared.bearer {
            sending = sending.header(AUTHORIZATION, bearer.header);
        }
        if let Some(key) = &prepared.idempotency_key {
            sending = sending.header(IDEMPOTENCY_KEY, key);
        }
        if let Some(body) = &prepared.body {
            sending = sending.header(CONTENT_TYPE, JSON).body(body.clone());
        }
        let mut reply = sending.send().await?;
        let status = reply.status().as_u16();
        let is_redirected = self.is_from_application && *reply.url() != prepared.url;
        let is_repeatable = prepared.is_repeatable();
        let headers = std::mem::take(reply.headers_mut());
        let mut body = reply.chunk().await?.unwrap_or_default();
        if body.len() > LARGEST_REPLY {
            let status = ReplyStatus::read(status, b"");
            return Ok(Reply { status, body, headers, whole: false, is_redirected, is_repeatable });
        }
        // Most replies come in one piece, which is kept without a copy.
        if let Some(second) = reply.chunk().await? {
            let mut all = Vec::from(body);
            let mut next = Some(second);
            while let Some(chunk) = next {
                if all.len() + chunk.len() > LARGEST_REPLY {
                    let (body, status) = (all.into(), ReplyStatus::read(status, b""));
                    return Ok(Reply { status, body, headers, whole: false, is_redirected, is_repeatable });
                }
                all.extend_from_slice(&chunk);
                next = reply.chunk().await?;
            }
            body = all.into();
        }
        let status = ReplyStatus::read(status, &body);
        Ok(Reply { status, body, headers, whole: true, is_redirected, is_repeatable })
    }
}

/// A request that every attempt sends in the same form.
struct Prepared<'a> {
    method: reqwest::Method,
    url: Url,
    body: Option<Bytes>,
    idempotency_key: Option<String>,
    bearer: Option<Bearer<'a>>,
    repeat: Repeat,
}

impl Prepared<'_> {
    fn is_repeatable(&self) -> bool {
        self.repeat == Repeat::Always
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
            span.record("status", reply.status.counts_as);
            if let Some(request_id) = reply.request_id() {
                span.record("request_id", tracing::field::display(printable(request_id)));
            }
            tracing::debug!(status = reply.status.counts_as, "the service replied");
        }
        Err(lost) => tracing::debug!(error = %lost.error(), "no reply"),
    }
}

impl Reply {
    /// The error of a success that is unusable. It keeps the reply.
    pub(super) fn rejected(self, spec: &'static Spec, why: &str) -> Error {
        let request_id = self.request_id().map(str::to_owned);
        unreadable(spec, self.is_repeatable, why).with_reply(self.status.counts_as, request_id, self.body.into())
    }

    fn result(&self) -> AttemptResult {
        if self.is_redirected {
            // Whatever the redirect's target replied: the request is not sent again. The server that sent the redirect,
            // or its target, may have executed it.
            return AttemptResult::Final { may_have_executed: true };
        }
        let status = self.status.of_attempt;
        // Only an error reply says whether another attempt can help; the body of a success is not parsed twice.
        let retryable = if status >= 400 { Refusal::read(&self.body).retryable } else { None };
        AttemptResult::Reply { status, retry_after: self.retry_after(), retryable }
    }

    /// Redacts the credential in `Request-Id`, which errors and logs show. The body is kept as received.
    fn redact_request_id(mut self, bearer: Option<&str>) -> Self {
        let echoes = |id: &str| bearer.is_some_and(|bearer| !bearer.is_empty() && id.contains(bearer));
        if self.request_id().is_some_and(echoes) {
            self.headers.insert(REQUEST_ID, HeaderValue::from_static("***"));
        }
        self
    }

    /// `Date`: when the service sent the reply, by its own clock.
    pub(super) fn date(&self) -> Option<Moment> {
        let date = httpdate::parse_http_date(self.header(DATE)?).ok()?;
        let since = date.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_secs()).ok().map(Moment::from_unix)
    }

    /// `Retry-After` in seconds. A date is not read: it would need a clock that agrees with the service's.
    fn retry_after(&self) -> Option<Duration> {
        self.header(RETRY_AFTER)?.trim().parse().ok().map(Duration::from_secs)
    }

    /// The service's identifier of the request.
    pub(super) fn request_id(&self) -> Option<&str> {
        self.header(REQUEST_ID)
    }

    fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Turns the outcome of the last attempt of a call into the caller's result. `is_repeatable`: the caller may repeat the
/// same request safely, as any read. The service's texts may contain the credential, so it is redacted.
fn classify(
    spec: &Spec,
    outcome: Result<Reply, Lost>,
    call: &Call,
    is_repeatable: bool,
    bearer: Option<&str>,
) -> Result<Reply, Error> {
    const LOST: &str =
        "The service may have executed the request. Read the current state before you send anything again.";
    let is_uncertain = call.may_have_executed() && !is_repeatable;
    let reply = match outcome {
        Ok(reply) => reply,
        Err(lost) => {
            let error = match (lost, is_uncertain) {
                (lost, false) => lost.into_error(),
                (Lost::RefusedByHttpClient { error, .. }, true) => {
                    let message = format!("{} {LOST}", error.message());
                    error.uncertain(message)
                }
                (lost, true) => lost.into_error().uncertain(LOST),
            };
            return Err(error.of(spec.name));
        }
    };
    let status = reply.status.counts_as;
    let error = match status {
        _ if reply.is_redirected && is_uncertain => {
            Error::new(Kind::Address, FOLLOWED).uncertain(format!("{FOLLOWED} {LOST}"))
        }
        _ if reply.is_redirected => Error::new(Kind::Address, FOLLOWED),
        200..300 if reply.whole => return Ok(reply),
        200..300 => unreadable(
            spec,
            is_repeatable,
            &format!("The service's reply is larger than {LARGEST_REPLY} bytes; it was not read to its end."),
        ),
        300..400 => Error::new(
            Kind::Address,
            "The service answered with a redirect, and a request that carries a credential follows none. Set the client's address to the one \
             that answers.",
        ),
        status => {
            let error = call.refused(spec, status, redact_refusal(Refusal::read(&reply.body), bearer));
            if is_uncertain && error.kind() != Kind::Uncertain { error.uncertain(LOST) } else { error }
        }
    };
    let request_id = reply.request_id().map(str::to_owned);
    Err(error.of(spec.name).with_reply(status, request_id, reply.body.into()))
}

/// The error of a success that cannot be read. The request was most likely executed: if it may not be repeated, the
/// error says so.
fn unreadable(spec: &Spec, is_repeatable: bool, why: &str) -> Error {
    let error = Error::new(Kind::Unreadable, why).of(spec.name);
    if is_repeatable {
        return error;
    }
    error.uncertain(format!("{why} It was most likely done: read what is there before anything is sent again."))
}

/// Redacts the credential in an error reply, and escapes its texts for logs.
fn redact_refusal(refusal: Refusal, bearer: Option<&str>) -> Refusal {
    let shown = |text| printable(redact(text, bearer)).to_string();
    let field = |field: FieldError| FieldError {
        param: shown(field.param),
        code: shown(field.code),
        message: shown(field.message),
    };
    Refusal {
        code: refusal.code.map(shown),
        message: refusal.message.map(shown),
        request_id: refusal.request_id.map(shown),
        retryable: refusal.retryable,
        fields: refusal.fields.into_iter().map(field).collect(),
        existing_id: refusal.existing_id.map(shown),
    }
}

pub(super) fn redact(text: String, bearer: Option<&str>) -> String {
    match bearer.filter(|bearer| !bearer.is_empty() && text.contains(bearer)) {
        Some(bearer) => text.replace(bearer, "***"),
        None => text,
    }
}

/// `Authorization: Bearer …`, marked as sensitive so that no log shows it.
pub(super) fn authorization(bearer: &str) -> Result<HeaderValue, Error> {
    sensitive_header(Zeroizing::new(["Bearer ", bearer].concat()))
        .ok_or_else(|| Error::new(Kind::Input, "The credential holds characters that no header can carry."))
}

/// A header that owns the text itself and no copy, so that the text is wiped when the last clone of the header is
/// dropped.
fn sensitive_header(text: impl AsRef<[u8]> + Send + 'static) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_maybe_shared(Bytes::from_owner(text)).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn http_method(method: Method) -> reqwest::Method {
    match method {
        Method::Delete => reqwest::Method::DELETE,
        Method::Get => reqwest::Method::GET,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn the_headers_copy_of_a_credential_is_the_only_one_and_goes_with_the_last_clone() {
        /// Zeroes the text when it is dropped, as `Zeroizing` does.
        struct Owner {
            text: Zeroizing<String>,
            _alive: Arc<()>,
        }
        impl AsRef<[u8]> for Owner {
            fn as_ref(&self) -> &[u8] {
                self.text.as_bytes()
            }
        }
        let (alive, text) = (Arc::new(()), Zeroizing::new("Bearer sk_test_1".to_owned()));
        let address = text.as_ptr();
        let header = sensitive_header(Owner { text, _alive: Arc::clone(&alive) }).expect("a header");
        let clone = header.clone();
        for header in [&header, &clone] {
            assert!(header.is_sensitive() && header == "Bearer sk_test_1");
            assert_eq!(header.as_bytes().as_ptr(), address, "it is a copy, which is never wiped");
        }
        drop(header);
        assert_eq!(Arc::strong_count(&alive), 2);
        drop(clone);
        assert_eq!(Arc::strong_count(&alive), 1, "the text outlives its header");
        assert!(authorization("sk_test_1\n").is_err());
    }
}
