use super::{AttemptResult, ErrorCode, Refusal, Repeat, Spec};
use crate::values::{Invalid, printable, words};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The error of one call, the same type for every face: match on [`Error::kind`] and [`Error::code`], show
/// [`fmt::Display`] to a person. Neither `Display` nor `Debug` shows a credential, a query or a body, and both escape
/// the service's texts with [`printable`]. [`source`](std::error::Error::source) is the library's own error, if there
/// is one.
///
/// ```
/// use guichet::protocol::{Error, Kind};
/// fn say(error: &Error) -> &str {
///     match (error.kind(), error.code()) {
///         (Kind::Offline | Kind::Timeout, _) => "Please try again.",
///         (_, Some("plan_code_taken")) => "Choose another code.",
///         _ => error.message(),
///     }
/// }
/// assert_eq!(say(&Error::new(Kind::Offline, "No connection.")), "Please try again.");
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: Kind,
    operation: Option<Cow<'static, str>>,
    status: Option<u16>,
    retryable: bool,
    message: String,
    refusal: Refusal,
    reply: Option<Vec<u8>>,
    network_failure: Option<NetworkFailure>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

words! {
    /// The kinds of error, with the same words in the browser and on the server.
    ///
    /// ```
    /// use guichet::protocol::Kind;
    /// assert_eq!(Kind::of_refusal(401, None), Kind::Session);
    /// assert_eq!(Kind::NotFound.as_str(), "not_found");
    /// ```
    #[non_exhaustive]
    Kind {
        /// An address may not be followed.
        Address = "address",
        /// An argument is not what the operation takes. Nothing was sent.
        Input = "input",
        /// 404: the object does not exist, or is not this caller's.
        NotFound = "not_found",
        /// No reply at all.
        Offline = "offline",
        /// The module has stopped because of a bug. Every call is rejected with this kind until the page is reloaded.
        Panic = "panic",
        /// The service read the request and refused it.
        Refused = "refused",
        /// A merchant's secret key was given to a browser. Nothing was sent.
        SecretKey = "secret_key",
        /// The credential is missing, expired, revoked or unknown.
        Session = "session",
        /// The intent already has a final status.
        Settled = "settled",
        /// No customer is signed in.
        SignedOut = "signed_out",
        /// The deadline passed.
        Timeout = "timeout",
        /// The operation may have been executed: the response was lost, and sending it again could execute it twice or
        /// is refused. Read the current state before you send anything again.
        Uncertain = "uncertain",
        /// A reply that cannot be read; it is kept in [`Error::reply`].
        Unreadable = "unreadable",
        /// The service does not have this operation.
        Unsupported = "unsupported",
        /// The page or the device does not allow WebAssembly.
        WasmBlocked = "wasm_blocked",
        /// The file of the WebAssembly is missing, or is no WebAssembly.
        WasmMissing = "wasm_missing",
    }
}

impl Kind {
    /// The kind of a reply with an error status, by the table of `decisions.md` 1.
    #[must_use]
    pub fn of_refusal(status: u16, code: Option<&str>) -> Self {
        match status {
            401 => Self::Session,
            404 if code == Some("resource_missing") => Self::NotFound,
            404 | 405 => Self::Unsupported,
            _ => Self::Refused,
        }
    }

    /// Whether a refusal of a merchant's route means that nobody is signed in: 401, Laravel's 419, and 403 of the
    /// session route (decisions 15).
    #[must_use]
    pub const fn is_signed_out(status: u16, is_session_route: bool) -> bool {
        matches!(status, 401 | 419) || (is_session_route && status == 403)
    }
}

/// The network failure behind an error of kind [`Kind::Offline`].
///
/// ```
/// use guichet::protocol::{Error, NetworkFailure};
/// fn is_misconfigured(error: &Error) -> bool {
///     matches!(error.network(), Some(NetworkFailure::Dns | NetworkFailure::Certificate))
/// }
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum NetworkFailure {
    /// The service's certificate is not trusted.
    Certificate,
    /// No connection was made in time.
    ConnectTimeout,
    /// The host name could not be resolved.
    Dns,
    /// The connection ended before the reply was whole: the request may have been executed.
    Interrupted,
    /// Nothing listens at the address.
    Refused,
    /// The TLS handshake failed: the server may speak plain HTTP.
    Tls,
    /// No connection could be made, for another reason.
    Unreachable,
}

/// One field that was refused.
///
/// ```
/// fn print(error: &guichet::protocol::Error) {
///     for field in error.fields() {
///         println!("{}: {}", field.param, field.message);
///     }
/// }
/// ```
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct FieldError {
    /// The field.
    pub param: String,
    /// The stable code for the cause.
    pub code: String,
    /// The message.
    pub message: String,
}

/// Prints the field and the message. The field's name is not repeated if the message begins with it.
impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = self.message.strip_prefix(&self.param).filter(|_| !self.param.is_empty());
        if rest.is_some_and(|rest| rest.starts_with(' ')) {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.param, self.message)
        }
    }
}

impl FieldError {
    /// Creates the error of a field.
    #[must_use]
    pub fn of(param: &str, code: &ErrorCode, message: impl Into<String>) -> Self {
        Self { param: param.to_owned(), code: code.as_str().to_owned(), message: message.into() }
    }
}

impl Inner {
    fn new(kind: Kind, message: String) -> Self {
        Self {
            kind,
            operation: None,
            status: None,
            retryable: matches!(kind, Kind::Offline | Kind::Timeout),
            message,
            refusal: Refusal::default(),
            reply: None,
            network_failure: None,
            source: None,
        }
    }
}

impl Error {
    /// Creates an error of this kind.
    #[must_use]
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner::new(kind, message.into())))
    }

    /// The error of a reply with an error status, by the table of `decisions.md` 1.
    #[must_use]
    pub fn refused(spec: &Spec, status: u16, refusal: Refusal) -> Self {
        let kind = Kind::of_refusal(status, refusal.code.as_deref());
        // A call that may have been executed, and must not be repeated, becomes `uncertain`.
        let retryable = AttemptResult::Reply { status, retry_after: None, retryable: refusal.retryable }
            .is_retryable(Repeat::Always);
        let message = match (&refusal.message, kind) {
            (Some(message), _) => message.clone(),
            (None, Kind::Session) => "The service does not accept the credential.".into(),
            (None, Kind::Unsupported) => "The service does not have this operation.".into(),
            (None, _) => "The service refused the request and did not say why.".into(),
        };
        Self(Box::new(Inner {
            operation: Some(spec.name.into()),
            status: Some(status),
            retryable,
            refusal,
            ..Inner::new(kind, message)
        }))
    }

    /// Adds what an error does not write: of the reply, which a page's client keeps as an object.
    #[cfg(all(target_arch = "wasm32", feature = "browser"))]
    pub(crate) fn of_page(mut self, existing_id: Option<String>, reply: Option<Vec<u8>>) -> Self {
        self.0.refusal.existing_id = existing_id;
        self.0.reply = reply;
        self
    }

    /// The same failure of a call that may have been executed: read the current state before you send it again.
    #[must_use]
    pub fn uncertain(mut self, message: impl Into<String>) -> Self {
        self.0.kind = Kind::Uncertain;
        self.0.retryable = false;
        self.0.message = message.into();
        self
    }

    /// Sets the operation.
    #[must_use]
    pub fn of(mut self, operation: &'static str) -> Self {
        self.0.operation = Some(operation.into());
        self
    }

    /// Sets the status and the bytes of the reply, so that nothing of it is lost.
    #[must_use]
    pub fn with_reply(mut self, status: u16, request_id: Option<String>, reply: Vec<u8>) -> Self {
        self.0.status = Some(status);
        self.0.refusal.request_id = self.0.refusal.request_id.or(request_id);
        self.0.reply = Some(reply);
        self
    }

    /// Sets the error that caused this one.
    #[cfg(feature = "native-no-provider")]
    pub(crate) fn caused_by(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// Sets the network failure.
    #[cfg(feature = "native-no-provider")]
    pub(crate) fn network_failure(mut self, failure: NetworkFailure) -> Self {
        self.0.network_failure = Some(failure);
        self
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The service's stable code for the cause, such as `merchant_reference_conflict`.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.0.refusal.code.as_deref()
    }

    /// The HTTP status, if there was a reply.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The service's identifier of the request: give it to the service's support.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.refusal.request_id.as_deref()
    }

    /// The network failure: DNS, a refused connection, TLS. `None` in a browser, which does not report it.
    #[must_use]
    pub fn network(&self) -> Option<NetworkFailure> {
        self.0.network_failure
    }

    /// The operation's name.
    #[must_use]
    pub fn operation(&self) -> Option<&str> {
        self.0.operation.as_deref()
    }

    /// Whether the same call can succeed later, and does no harm then. It is false for [`Kind::Uncertain`]: that call
    /// may have been executed and is not safe to repeat.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// Every field that was refused.
    #[must_use]
    pub fn fields(&self) -> &[FieldError] {
        &self.0.refusal.fields
    }

    /// The identifier of the object that exists already, in a conflict.
    #[must_use]
    pub fn existing_id(&self) -> Option<&str> {
        self.0.refusal.existing_id.as_deref()
    }

    /// The bytes of a reply that refuses or cannot be read, if they were kept. They may contain secrets: do not log
    /// them.
    #[must_use]
    pub fn reply(&self) -> Option<&[u8]> {
        self.0.reply.as_deref()
    }

    /// The message without the operation and the fields.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

/// The error of an invalid value: nothing was sent.
impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Self::new(Kind::Input, invalid.reason())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(operation) = &self.0.operation {
            write!(f, "{operation}: ")?;
        }
        // The message of a refusal is often that of its first field, which is printed below with the field's name.
        let is_of_a_field = self.fields().iter().any(|field| field.message == self.0.message);
        let mut separator = "";
        if !is_of_a_field {
            write!(f, "{}", printable(&self.0.message))?;
            separator = " ";
        }
        for field in self.fields() {
            write!(f, "{separator}{}", printable(field))?;
            separator = " ";
        }
        if let Some(request_id) = self.request_id() {
            write!(f, " (request {})", printable(request_id))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.kind())
            .field("operation", &self.0.operation)
            .field("status", &self.0.status)
            .field("code", &self.0.refusal.code)
            .field("request_id", &self.0.refusal.request_id)
            .field("retryable", &self.0.retryable)
            .field("message", &self.0.message)
            .finish_non_exhaustive()
    }
}

/// By all that it says, without its source and its reply.
impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        let facts = |error: &Self| {
            let Inner { kind, status, retryable, network_failure, .. } = *error.0;
            (kind, status, retryable, network_failure)
        };
        let texts = |error: &Self| (error.0.message.clone(), error.0.operation.clone());
        facts(self) == facts(other) && texts(self) == texts(other) && self.0.refusal == other.0.refusal
    }
}

/// An error as the npm package's `GuichetError` writes itself: without the reply.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    #[serde(default)]
    name: Cow<'a, str>,
    message: Cow<'a, str>,
    kind: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_id: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operation: Option<Cow<'a, str>>,
    #[serde(default)]
    retryable: bool,
    #[serde(default)]
    fields: Cow<'a, [FieldError]>,
}

impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written {
            name: "GuichetError".into(),
            message: self.message().into(),
            kind: self.kind().as_str().into(),
            code: self.code().map(Into::into),
            status: self.status(),
            request_id: self.request_id().map(Into::into),
            operation: self.operation().map(Into::into),
            retryable: self.is_retryable(),
            fields: self.fields().into(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Error {
    /// Reads what [`Serialize`] writes. An unknown kind is read as [`Kind::Refused`].
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Written::deserialize(deserializer)?;
        let refusal = Refusal {
            code: written.code.map(Cow::into_owned),
            request_id: written.request_id.map(Cow::into_owned),
            fields: written.fields.into_owned(),
            ..Refusal::default()
        };
        Ok(Self(Box::new(Inner {
            operation: written.operation.map(|operation| Cow::Owned(operation.into_owned())),
            status: written.status,
            retryable: written.retryable,
            refusal,
            ..Inner::new(Kind::of_word(&written.kind).unwrap_or(Kind::Refused), written.message.into_owned())
        })))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_field_is_printed_once() {
        let refused = |message: &str| FieldError::of("amount", &ErrorCode::ParameterInvalid, message).to_string();
        assert_eq!(refused("amount is required."), "amount is required.");
        assert_eq!(refused("It must be a string."), "amount: It must be a string.");
        assert_eq!(refused("amounts are strings."), "amount: amounts are strings.");
        let fields = ["amount", "email"].map(|param| FieldError {
            param: param.to_owned(),
            message: format!("{param} is required."),
            ..FieldError::default()
        });
        let refusal =
            Refusal { message: Some(fields[0].message.clone()), fields: fields.to_vec(), ..Refusal::default() };
        let error = Error::refused(&Spec::post("create", "/v1/x"), 422, refusal);
        assert_eq!(error.to_string(), "create: amount is required. email is required.");
    }
}
