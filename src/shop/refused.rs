use super::{Owner, Reply};
use crate::protocol::{Error, ErrorType, FieldError, Kind, is_retryable_status};
use crate::values::{Invalid, printable};
use serde_json::json;
use std::fmt;

/// The refusal of a page's request by the shop: a status, a stable code and a message for the customer.
///
/// ```
/// use guichet::native::{Reason, Refused};
/// let refused = Refused::new(422, Reason { code: "basket_empty", message: "The basket is empty." });
/// assert_eq!(refused.code(), "basket_empty");
/// ```
#[derive(Clone, Debug)]
pub struct Refused {
    status: u16,
    code: Box<str>,
    message: String,
    fields: Vec<FieldError>,
    request_id: Option<Box<str>>,
    retryable: bool,
    /// The value of `WWW-Authenticate`.
    challenge: Option<&'static str>,
    /// The value of `Retry-After`, in seconds.
    retry_after: Option<u16>,
    /// What failed at the service.
    kind: Option<Kind>,
    /// What the shop's operator must know, and no page.
    cause: Option<Box<str>>,
}

/// The reason of a [`Refused`]. Its two texts are named fields, because they are easily swapped.
///
/// ```
/// use guichet::native::Reason;
/// let reason = Reason { code: "basket_empty", message: "The basket is empty." };
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Reason<'a> {
    /// The stable code, for programs.
    pub code: &'a str,
    /// The message, for the customer.
    pub message: &'a str,
}

impl Refused {
    /// Creates a refusal with its HTTP status (400 to 599).
    #[must_use]
    pub fn new(status: u16, Reason { code, message }: Reason<'_>) -> Self {
        let (code, message) = (code.into(), message.to_owned());
        let retryable = is_retryable_status(status);
        Self {
            status,
            code,
            message,
            fields: Vec::new(),
            request_id: None,
            retryable,
            challenge: None,
            retry_after: None,
            kind: None,
            cause: None,
        }
    }

    /// Creates a refusal for a failure of the shop itself: its cause goes to the log, and the customer reads that
    /// something went wrong.
    #[must_use]
    pub fn broken(cause: impl fmt::Display) -> Self {
        let message = "Something went wrong in the shop. Please try again.";
        let refused = Self::new(500, Reason { code: "internal_error", message });
        Self { retryable: true, ..refused.because("the shop has failed", printable(cause).to_string()) }
    }

    /// Adds the cause, which the shop's operator must know: it goes to the log, and not to the customer.
    pub(crate) fn because(self, event: &str, cause: String) -> Self {
        #[cfg(feature = "native-no-provider")]
        tracing::error!(%cause, "{event}");
        Self { cause: Some([event, ": ", &cause].concat().into()), ..self }
    }

    pub(crate) fn not_signed_in() -> Self {
        Self::new(401, Reason { code: "authentication_required", message: "Nobody is signed in." })
    }

    /// A customer is signed in, whose e-mail address may be another person's.
    pub(super) fn email_not_verified() -> Self {
        let message = "Your e-mail address is not confirmed. Confirm it in the shop, then try again.";
        Self::new(403, Reason { code: "email_not_verified", message })
    }

    /// The same for an address that the shop has verified and that cannot be read. The page is told no more, and the
    /// log says why.
    #[doc(hidden)]
    #[must_use]
    pub fn email_unreadable(owner: &Owner, invalid: &Invalid) -> Self {
        let cause = [&*printable(owner).to_string(), ": ", invalid.reason()].concat();
        Self::email_not_verified().because("no session for the verified e-mail address", cause)
    }

    /// Refuses values of a page's query. The pages of `guichet` send none that are wrong, so each gets the same
    /// sentence.
    pub(super) fn invalid(names: &[&str]) -> Self {
        let reason = Reason { code: "parameter_invalid", message: "A value is missing or invalid." };
        let field = |name: &&str| FieldError {
            param: (*name).to_owned(),
            code: reason.code.to_owned(),
            message: reason.message.to_owned(),
        };
        Self { fields: names.iter().map(field).collect(), ..Self::new(422, reason) }
    }

    /// Another owner's payment is refused like an unknown one.
    pub(super) fn payment_missing() -> Self {
        Self::new(404, Reason { code: "resource_missing", message: "There is no such payment." })
    }

    pub(super) fn payment_mismatch() -> Self {
        let message = "The payment is not the one of this order. Please ask the shop.";
        Self::new(409, Reason { code: "payment_mismatch", message })
    }

    /// The service says that it succeeded, and not how much was paid.
    pub(super) fn payment_unclear() -> Self {
        let message = "The shop cannot confirm your payment yet. Do not pay again: ask the shop.";
        Self::new(502, Reason { code: "payment_unclear", message })
    }

    pub(crate) fn order_missing() -> Self {
        Self::new(404, Reason { code: "order_missing", message: "There is no such order." })
    }

    pub(super) fn unavailable() -> Self {
        let message = "We cannot confirm this payment just now. Nothing is lost: please try again.";
        Self::new(503, Reason { code: "unavailable", message })
    }

    /// The ledger's limit, which the sentence names.
    pub(super) fn too_many_open_payments() -> Self {
        let message = "You have 20 unpaid payments. Pay or cancel one of them first.";
        Self::new(409, Reason { code: "too_many_open_payments", message })
    }

    /// Adds this `WWW-Authenticate` header.
    #[cfg(feature = "native-no-provider")]
    pub(crate) fn challenged(self, challenge: &'static str) -> Self {
        Self { challenge: Some(challenge), ..self }
    }

    /// Adds this `Retry-After` header, in seconds.
    #[must_use]
    pub fn with_retry_after(self, seconds: u16) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The errors of single fields.
    #[must_use]
    pub fn fields(&self) -> &[FieldError] {
        &self.fields
    }

    /// The service's identifier of the request that failed.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// The response's `WWW-Authenticate` header, if it has one.
    #[must_use]
    pub fn challenge(&self) -> Option<&str> {
        self.challenge
    }

    /// The response's `Retry-After` header in seconds, if it has one.
    #[must_use]
    pub fn retry_after(&self) -> Option<u16> {
        self.retry_after
    }

    /// What failed at the service, if it is the reason.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// The cause, which no page may see.
    #[must_use]
    pub fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }
}

/// Turns a failed call to the service into the reply to a page. A 401 of the service is about the shop's key and must
/// not become a 401 for the customer, which would mean that no customer is signed in.
impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        #[cfg(feature = "native-no-provider")]
        {
            let code = error.code().map(printable);
            tracing::warn!(%error, kind = ?error.kind(), status = error.status(), code = ?code, "the service did not do it");
        }
        let ours = |status, code, message| Self::new(status, Reason { code, message });
        let refused = match (error.kind(), error.status()) {
            (Kind::Offline | Kind::Timeout, _) => Self::unavailable(),
            (Kind::Unsupported, _) => ours(404, "unsupported", "The payment service does not have this operation."),
            (Kind::NotFound, _) => Self::payment_missing(),
            (Kind::Uncertain, _) => {
                ours(409, "uncertain", "It is not certain whether the payment was begun. Please ask the shop.")
            }
            (Kind::Refused, Some(status @ (409 | 422 | 429 | 503))) => {
                ours(status, error.code().unwrap_or("refused"), error.message())
            }
            _ => ours(
                502,
                "service_failed",
                "The payment service did not answer the shop as it should. Please try later.",
            ),
        };
        let request_id = error.request_id().map(Into::into);
        let (kind, cause) = (Some(error.kind()), Some(error.to_string().into()));
        Self { fields: error.fields().to_vec(), request_id, retryable: error.is_retryable(), kind, cause, ..refused }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&printable(&self.message), f)
    }
}

impl std::error::Error for Refused {}

/// The reply to a page, in the service's format.
impl From<&Refused> for Reply {
    fn from(refused: &Refused) -> Self {
        let Refused { status, code, message, fields, request_id, retryable, .. } = refused;
        let kind = ErrorType::of(*status).as_str();
        let mut reply = Self::json(
            *status,
            &json!({
                "status_code": status, "response_type": "error", "message": message, "data": null,
                "error": {"type": kind, "code": code, "errors": fields, "request_id": request_id, "retryable": retryable},
            }),
        );
        reply.headers.extend(refused.challenge.map(|challenge| ("www-authenticate", challenge.to_owned())));
        reply.headers.extend(refused.retry_after.map(|seconds| ("retry-after", seconds.to_string())));
        reply
    }
}
