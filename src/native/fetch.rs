//! One call over a socket: the loop of [`Call`], and what one attempt sends and reads.

use crate::protocol::{
    Action, AttemptResult, Call, Error, FieldError, IDEMPOTENCY_KEY, Kind, Method, Refusal, Repeat, Request, Spec,
    Timeouts,
};
use crate::values::{Moment, printable};
use axum::body::Bytes;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};
use tokio::time::{sleep, timeout};
use zeroize::Zeroizing;

/// No reply of the interface comes near it; a larger one is a mistake or an attack, and is not read to its end.
const LARGEST_REPLY: usize = 8 * 1024 * 1024;

const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// The sockets of one client.
pub(super) struct Fetch {
    http: reqwest::Client,
}

/// A reply.
pub(super) struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    headers: HeaderMap,
    /// Whether the body was read to its end.
    whole: bool,
}

/// Why there is no reply.
enum Lost {
    /// The request did not leave: nothing was done.
    NotSent(Error),
    /// It left, and may have been done.
    Unanswered(Error),
}

impl Fetch {
    /// No redirect is followed, since it would carry the credential elsewhere; no proxy is taken from the environment,
    /// since it would read what is sent over plain http.
    pub fn new(encrypted: bool) -> Result<Self, Error> {
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(encrypted)?)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .user_agent(concat!("guichet/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|_| Error::new(Kind::Input, "The HTTP client of this machine cannot be set up."))?;
        Ok(Self { http })
    }

    /// The client of one request, with neither further attempts nor a credential.
    #[cfg(feature = "cli")]
    pub fn http(&self) -> &reqwest::Client {
        &self.http
    }

    /// Sends a request until it is answered or its time is over.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the fetch room: it alone reads the clock, and hands time on as an argument"
    )]
    pub async fn call(
        &self,
        spec: &Spec,
        address: &str,
        request: &Request,
        bearer: Option<&str>,
        timeouts: Timeouts,
    ) -> Result<Answer, Error> {
        let url = [address, request.target.as_str()].concat();
        let authorization = bearer.map(authorization).transpose().map_err(|error| error.of(spec.name))?;
        // A key of the caller's own says that the service knows keys: under it, the request is one however often it is sent.
        let repeat = if request.idempotency_key.is_some() { Repeat::Always } else { spec.repeat };
        let begun = Instant::now();
        let mut call = Call::new(repeat, timeouts);
        let mut last = None;
        let mut may_have_been_done = false;
        loop {
            match call.next(begun.elapsed()) {
                Action::Wait(pause) => sleep(pause).await,
                Action::Send(left) => {
                    let attempt = self.attempt(&url, request, authorization.as_ref());
                    let outcome = match timeout(left, attempt).await {
                        Ok(outcome) => outcome,
                        Err(_) => Err(Lost::Unanswered(Error::new(
                            Kind::Timeout,
                            "The deadline passed before the service answered.",
                        ))),
                    };
                    let result = outcome.as_ref().map_or(AttemptResult::NoReply, Answer::result);
                    tracing::debug!(operation = spec.name, attempt = call.attempt(), ?result, elapsed = ?begun.elapsed(), "call");
                    call.record(&result, || getrandom::u32().unwrap_or(u32::MAX));
                    let doubtful = leaves_doubt(spec, &outcome);
                    last = Some(judge(spec, outcome, may_have_been_done, doubtful, repeat == Repeat::Always, bearer));
                    may_have_been_done |= doubtful;
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
    async fn attempt(&self, url: &str, request: &Request, authorization: Option<&HeaderValue>) -> Result<Answer, Lost> {
        let mut sending = self.http.request(http_method(request.method), url).header(ACCEPT, "application/json");
        if let Some(authorization) = authorization {
            sending = sending.header(AUTHORIZATION, authorization.clone());
        }
        if let Some(key) = &request.idempotency_key {
            sending = sending.header(IDEMPOTENCY_KEY, key);
        }
        if let Some(body) = &request.body {
            sending = sending.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        let mut reply = sending.send().await.map_err(|error| lost(&error))?;
        let status = reply.status().as_u16();
        let headers = std::mem::take(reply.headers_mut());
        let mut body = Vec::new();
        while let Some(chunk) = reply.chunk().await.map_err(|error| lost(&error))? {
            if body.len() + chunk.len() > LARGEST_REPLY {
                return Ok(Answer { status, body, headers, whole: false });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Answer { status, body, headers, whole: true })
    }
}

impl Answer {
    fn result(&self) -> AttemptResult {
        // A refusal alone says whether another attempt can help; the body of a success is not read twice.
        let retryable = if self.status >= 400 { Refusal::read(&self.body).retryable } else { None };
        AttemptResult::Reply { status: self.status, retry_after: self.retry_after(), retryable }
    }

    /// Without the credential in what errors and logs say of it. The body is kept as it came.
    fn without(mut self, bearer: Option<&str>) -> Self {
        let echoes = |id: &str| bearer.is_some_and(|bearer| !bearer.is_empty() && id.contains(bearer));
        if self.request_id().is_some_and(echoes) {
            self.headers.insert(REQUEST_ID, HeaderValue::from_static("***"));
        }
        self
    }

    /// `Date`: when the service wrote the reply, by its own clock.
    pub fn date(&self) -> Option<Moment> {
        let date = httpdate::parse_http_date(self.header(DATE)?).ok()?;
        let since = date.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_secs()).ok().map(Moment::from_unix)
    }

    /// `Retry-After` in seconds. Its other form, a date, would need a clock that agrees with the service's.
    fn retry_after(&self) -> Option<Duration> {
        self.header(RETRY_AFTER)?.trim().parse().ok().map(Duration::from_secs)
    }

    /// The service's name of the request.
    pub fn request_id(&self) -> Option<&str> {
        self.header(REQUEST_ID)
    }

    fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Whether the service may have done what it was asked although the outcome does not say so. Of a 5xx, only a 503 that
/// says so itself was not executed: a gateway may answer 502, 503 or 504 for a request that went through.
fn leaves_doubt(spec: &Spec, outcome: &Result<Answer, Lost>) -> bool {
    if spec.method == Method::Get {
        return false;
    }
    match outcome.as_ref().map(Answer::result) {
        Ok(AttemptResult::Reply { status: 503, retryable: Some(true), .. }) | Err(Lost::NotSent(_)) => false,
        Ok(AttemptResult::Reply { status, .. }) => status >= 500,
        Ok(AttemptResult::NoReply) | Err(Lost::Unanswered(_)) => true,
    }
}

/// What an outcome means for the caller: `was_in_doubt` before it, `is_in_doubt` by it, and whether they can send it
/// again as what it was. What the service says is handed on without the credential, which it may repeat.
fn judge(
    spec: &Spec,
    outcome: Result<Answer, Lost>,
    was_in_doubt: bool,
    is_in_doubt: bool,
    can_be_sent_again: bool,
    bearer: Option<&str>,
) -> Result<Answer, Error> {
    const LOST: &str = "The answer was lost, and it may have been done all the same. Read what is there before anything is sent again.";
    const CONFLICT: &str = "The answer to a first attempt was lost, and the service now refuses to repeat it. Read what is there (existing_id) \
                            before anything is sent again.";
    let answer = match outcome {
        Ok(answer) => answer.without(bearer),
        Err(Lost::NotSent(error) | Lost::Unanswered(error)) => {
            let must_be_read_first = (was_in_doubt || is_in_doubt) && !can_be_sent_again;
            let error = if must_be_read_first { error.uncertain(LOST) } else { error };
            return Err(error.of(spec.name));
        }
    };
    let error = match answer.status {
        200..300 if answer.whole => return Ok(answer),
        200..300 => unreadable(
            spec,
            &format!("The service's reply is larger than {LARGEST_REPLY} bytes; it was not read to its end."),
        ),
        300..400 => Error::new(
            Kind::Address,
            "The service answered with a redirect, and a request that carries a credential follows none. Set the client's address to the one \
             that answers.",
        ),
        status => {
            let error = Error::refused(spec, status, without(Refusal::read(&answer.body), bearer));
            if status == 409 && was_in_doubt {
                error.uncertain(CONFLICT)
            } else if (is_in_doubt || was_in_doubt && status == 429) && !can_be_sent_again {
                error.uncertain(LOST)
            } else {
                error
            }
        }
    };
    let request_id = answer.request_id().map(str::to_owned);
    Err(error.of(spec.name).with_reply(answer.status, request_id, answer.body))
}

/// A success that cannot be read: what may not be repeated was most likely done.
pub(super) fn unreadable(spec: &Spec, why: &str) -> Error {
    let error = Error::new(Kind::Unreadable, why).of(spec.name);
    if spec.repeat == Repeat::Always {
        return error;
    }
    error.uncertain(format!("{why} It was most likely done: read what is there before anything is sent again."))
}

/// What a refusal says, without the credential that it was sent with, and as a log may print it.
fn without(said: Refusal, bearer: Option<&str>) -> Refusal {
    let hushed = |text| printable(hushed(text, bearer)).to_string();
    let field = |field: FieldError| FieldError {
        param: hushed(field.param),
        code: hushed(field.code),
        message: hushed(field.message),
    };
    Refusal {
        code: said.code.map(hushed),
        message: said.message.map(hushed),
        request_id: said.request_id.map(hushed),
        retryable: said.retryable,
        fields: said.fields.into_iter().map(field).collect(),
        existing_id: said.existing_id.map(hushed),
    }
}

fn hushed(text: String, bearer: Option<&str>) -> String {
    match bearer.filter(|bearer| !bearer.is_empty() && text.contains(bearer)) {
        Some(bearer) => text.replace(bearer, "***"),
        None => text,
    }
}

/// Why there is no reply, in our words: a library's own would repeat the whole address.
fn lost(error: &reqwest::Error) -> Lost {
    if !error.is_connect() {
        return Lost::Unanswered(Error::new(
            Kind::Offline,
            "The connection to the service ended before its reply was whole.",
        ));
    }
    Lost::NotSent(Error::new(
        Kind::Offline,
        match tls_error(error) {
            None => "The service cannot be reached: no connection could be made to its address.",
            Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => {
                "The service's certificate is not trusted by this machine: no connection was made."
            }
            Some(_) => {
                "No encrypted connection could be made: what answers at this address speaks no https, or no version of it that this machine \
                 speaks. Check the address, its port too."
            }
        },
    ))
}

/// The error of TLS, however deep it is wrapped: an `io::Error` does not name what it wraps as its source.
fn tls_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a rustls::Error> {
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    let inside = wrapped.and_then(|inner| tls_error(inner));
    error.downcast_ref().or(inside).or_else(|| error.source().and_then(tls_error))
}

/// `Authorization: Bearer …`, marked so that no log shows it.
fn authorization(bearer: &str) -> Result<HeaderValue, Error> {
    header_of(Zeroizing::new(["Bearer ", bearer].concat()))
        .ok_or_else(|| Error::new(Kind::Input, "The credential holds characters that no header can carry."))
}

/// A header that holds the text itself and no copy, so that the text is wiped when the last clone of the header is dropped.
fn header_of(text: impl AsRef<[u8]> + Send + 'static) -> Option<HeaderValue> {
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

/// TLS with the machine's own trust, and without a default of the whole process, which belongs to the program. Where
/// every address is plain http nothing is trusted, and the machine's certificates are not read.
fn tls(encrypted: bool) -> Result<rustls::ClientConfig, Error> {
    let unusable =
        |_| Error::new(Kind::Input, "This machine has no certificates to trust: install its CA certificates.");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let config = if encrypted {
        let verifier = rustls_platform_verifier::Verifier::new(provider).map_err(unusable)?;
        config.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
    } else {
        config.with_root_certificates(rustls::RootCertStore::empty())
    };
    Ok(config.with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::{CertificateError, InvalidMessage};

    #[test]
    fn the_headers_copy_of_a_credential_is_the_only_one_and_goes_with_the_last_clone() {
        /// What `Zeroizing` wipes when it is dropped.
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
        let place = text.as_ptr();
        let header = header_of(Owner { text, _alive: Arc::clone(&alive) }).expect("a header");
        let clone = header.clone();
        for header in [&header, &clone] {
            assert!(header.is_sensitive() && header == "Bearer sk_test_1");
            assert_eq!(header.as_bytes().as_ptr(), place, "it is a copy, which nobody wipes");
        }
        drop(header);
        assert_eq!(Arc::strong_count(&alive), 2);
        drop(clone);
        assert_eq!(Arc::strong_count(&alive), 1, "the text outlives its header");
        assert!(authorization("sk_test_1\n").is_err());
    }

    #[test]
    fn only_a_certificate_is_called_untrusted() {
        let wrapped = |error| std::io::Error::other(std::io::Error::new(std::io::ErrorKind::InvalidData, error));
        let untrusted = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        assert_eq!(tls_error(&wrapped(untrusted.clone())), Some(&untrusted));
        let no_tls = rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType);
        assert_eq!(tls_error(&wrapped(no_tls.clone())), Some(&no_tls));
        assert_eq!(tls_error(&std::io::Error::other("refused")), None);
    }
}
