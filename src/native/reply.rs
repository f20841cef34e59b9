//! The service's reply to a call: what an error shows of it, and what the caller reads from it.

use super::bearer::Bearer;
use super::network::MAY_HAVE_EXECUTED;
use crate::operations::PaymentIntent;
use crate::protocol::{
    AttemptResult, Call, Error, FieldError, Kind, Page, ParsedReply, Refusal, Spec, decode, decode_page, payload,
};
use crate::values::{Moment, printable};
use bytes::Bytes;
use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};
use serde::de::DeserializeOwned;
use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

/// The greatest size of a reply. Every reply of the interface is far smaller; a larger one is a mistake or an attack,
/// and is not read to its end.
pub(super) const LARGEST_REPLY: usize = 8 * 1024 * 1024;

const FOLLOWED: &str = "The HTTP client followed a redirect, and a request that carries a credential follows none. \
                        Build the `reqwest::Client` with `redirect(reqwest::redirect::Policy::none())`.";

/// A reply. The service may repeat the credential in it: only the body has that still.
#[derive(Clone)]
pub(super) struct Reply {
    pub spec: &'static Spec,
    pub body: Bytes,
    /// The service's identifier of the request.
    pub request_id: Option<String>,
    /// When the service sent the reply, by its own clock.
    pub date: Option<Moment>,
    parsed: ParsedReply,
    /// Whether the body was read to its end.
    is_whole: bool,
    /// Whether it comes from the target of a redirect.
    is_redirected: bool,
    /// Whether its request may be repeated.
    is_repeatable: bool,
}

/// A reply as it was received.
pub(super) struct Received {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Whether the body was read to its end.
    pub is_whole: bool,
    /// Whether it comes from the target of a redirect.
    pub is_redirected: bool,
}

impl Reply {
    /// Parses the reply to a request with this credential. `is_repeatable`: the request may be repeated.
    pub(super) fn new(spec: &'static Spec, received: Received, is_repeatable: bool, bearer: &Bearer) -> Self {
        let Received { status, headers, body, is_whole, is_redirected } = received;
        let header = |name: HeaderName| headers.get(name)?.to_str().ok();
        // In seconds. A date is not read: it would need a clock that agrees with the service's.
        let retry_after = header(RETRY_AFTER).and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
        let mut parsed = ParsedReply::new(status, retry_after, &body);
        parsed.refusal = parsed.refusal.map(|refusal| redacted(refusal, bearer));
        let request_id = header(HeaderName::from_static("request-id"));
        let request_id = request_id.map(|id| if bearer.is_in(id) { "***" } else { id }.to_owned());
        let date = header(DATE).and_then(moment);
        Self { spec, body, request_id, date, parsed, is_whole, is_redirected, is_repeatable }
    }

    /// The status that it counts as.
    pub(super) fn status(&self) -> u16 {
        self.parsed.status.counts_as
    }

    /// The result for the retry table.
    pub(super) fn result(&self) -> AttemptResult {
        if self.is_redirected {
            // Whatever the redirect's target replied: the request is not sent again. The server that sent the redirect,
            // or its target, may have executed it.
            return AttemptResult::Final { may_have_executed: true };
        }
        self.parsed.result()
    }

    /// The reply to the last attempt of a call if it is a success, or else its error.
    pub(super) fn success(mut self, call: &Call) -> Result<Self, Error> {
        let is_uncertain = call.may_have_executed() && !self.is_repeatable;
        let error = match self.status() {
            _ if self.is_redirected && is_uncertain => {
                Error::new(Kind::Address, FOLLOWED).uncertain(format!("{FOLLOWED} {MAY_HAVE_EXECUTED}"))
            }
            _ if self.is_redirected => Error::new(Kind::Address, FOLLOWED),
            200..300 if self.is_whole => return Ok(self),
            200..300 => {
                return Err(self.rejected(&format!(
                    "The service's reply is larger than {LARGEST_REPLY} bytes; it was not read to its end."
                )));
            }
            300..400 => Error::new(
                Kind::Address,
                "The service answered with a redirect, and a request that carries a credential follows none. Set the \
                 client's address to the one that answers.",
            ),
            status => {
                let refusal = self.parsed.refusal.take().unwrap_or_default();
                let error = call.refused(self.spec, status, refusal);
                if is_uncertain && error.kind() != Kind::Uncertain { error.uncertain(MAY_HAVE_EXECUTED) } else { error }
            }
        };
        Err(self.keep_in(error))
    }

    /// The error of a success that is unusable. The request was most likely executed: if it may not be repeated, the
    /// error says so.
    pub(super) fn rejected(self, why: &str) -> Error {
        let error = Error::new(Kind::Unreadable, why);
        let error = match self.is_repeatable {
            true => error,
            false => error
                .uncertain(format!("{why} It was most likely done: read what is there before anything is sent again.")),
        };
        self.keep_in(error)
    }

    fn keep_in(self, error: Error) -> Error {
        let status = self.status();
        error.of(self.spec.name).with_reply(status, self.request_id, self.body.into())
    }

    /// Decodes the output of an operation. If the reply cannot be read, the error keeps it.
    pub(super) fn into_output<T: DeserializeOwned>(self) -> Result<T, Error> {
        // A reply without content says no more than that it was done.
        let decoded = match self.body.trim_ascii() {
            [] => decode(b"null").or_else(|_| decode(b"{}")),
            body => decode(body),
        };
        decoded.map_err(|error| self.unreadable::<T>(&error))
    }

    /// Decodes the payment that it has, if it has one.
    pub(super) fn payment(
        self,
        payment_of: impl FnOnce(&[u8]) -> Result<Option<PaymentIntent>, serde_json::Error>,
    ) -> Result<Option<PaymentIntent>, Error> {
        payment_of(&self.body).map_err(|error| self.unreadable::<PaymentIntent>(&error))
    }

    /// Decodes one page of a list.
    pub(super) fn into_page<T: DeserializeOwned>(self) -> Result<Page<T>, Error> {
        decode_page(&self.body).map_err(|error| self.unreadable::<Vec<T>>(&error))
    }

    /// The error of a reply that cannot be read as `T`. It keeps the reply.
    pub(super) fn unreadable<T: DeserializeOwned>(self, error: &serde_json::Error) -> Error {
        let cause = UnreadableReply::new::<T>(&self.body, error);
        let why = format!("The service's reply cannot be read ({cause}). It is kept in the error's `reply`.");
        self.rejected(&why).caused_by(cause)
    }
}

/// The time in a `Date`.
fn moment(date: &str) -> Option<Moment> {
    let since = httpdate::parse_http_date(date).ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok().map(Moment::from_unix)
}

/// Redacts the credential in an error reply, and escapes its texts for logs.
fn redacted(refusal: Refusal, bearer: &Bearer) -> Refusal {
    let shown = |text| printable(bearer.redact(text)).to_string();
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

/// The field of a reply that cannot be read, and the type that was expected: the cause of an
/// [`unreadable`](crate::protocol::Kind::Unreadable) error. It repeats no value of the reply, which may contain
/// secrets.
///
/// ```
/// use guichet::native::UnreadableReply;
/// use std::error::Error as _;
/// fn field(error: &guichet::protocol::Error) -> Option<&str> {
///     error.source()?.downcast_ref::<UnreadableReply>()?.field()
/// }
/// ```
#[derive(Debug)]
pub struct UnreadableReply {
    field: Option<String>,
    problem: String,
}

impl UnreadableReply {
    /// Decodes the body again, which failed with this error, to find the field.
    fn new<T: DeserializeOwned>(body: &[u8], error: &serde_json::Error) -> Self {
        let mut json = serde_json::Deserializer::from_slice(payload(body));
        let found = serde_path_to_error::deserialize::<_, T>(&mut json).err();
        let field = found.map(|found| found.path().to_string()).filter(|path| path != ".");
        Self { field, problem: problem(error) }
    }

    /// The path of the field within the reply's `data`, such as `customer.email` or `[3].amount`. `None` if the reply
    /// is no JSON, or if its root has an unexpected shape.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }
}

/// The decoder's message, without the value that it quotes.
fn problem(error: &serde_json::Error) -> String {
    use serde_json::error::Category;
    match error.classify() {
        Category::Syntax => return format!("not JSON at line {} column {}", error.line(), error.column()),
        Category::Eof => return "the JSON breaks off".to_owned(),
        Category::Io | Category::Data => {}
    }
    let text = error.to_string();
    // The name of a missing field and the expected type are this crate's own words, so they may be shown.
    if text.starts_with("missing field") {
        return text;
    }
    match text.rsplit_once(", expected ") {
        Some((_, expected)) => format!("expected {expected}"),
        None => "not a value that the field can have".to_owned(),
    }
}

impl fmt::Display for UnreadableReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "{}: {}", crate::values::printable(field), self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

impl std::error::Error for UnreadableReply {}

#[cfg(test)]
mod tests {
    use super::*;
    fn unreadable(body: &str) -> UnreadableReply {
        let error = decode::<PaymentIntent>(body.as_bytes()).expect_err("it cannot be read");
        UnreadableReply::new::<PaymentIntent>(body.as_bytes(), &error)
    }

    #[test]
    fn the_field_is_named_and_its_value_is_not_shown() {
        let body = r#"{"data":{"id":{"cst_test_secret":1},"amount":"1","currency":"XAF","status":"succeeded"}}"#;
        let error = unreadable(body);
        assert_eq!(error.field(), Some("id"));
        assert!(error.to_string().contains("expected") && !format!("{error:?}").contains("cst_test_secret"), "{error}");
        for body in [r#""cst_test_secret""#, r#"{"data":"cst_test_secret"}"#, "cst_test_secret"] {
            assert!(!format!("{:?}", unreadable(body)).contains("cst_test"), "{body}");
        }
    }

    #[test]
    fn a_missing_field_is_named() {
        let error = unreadable(r#"{"data":{"amount":"1","currency":"XAF","status":"succeeded"}}"#);
        assert!(error.to_string().contains("missing field `id`"), "{error}");
    }
}
