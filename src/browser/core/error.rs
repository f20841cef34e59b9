//! The error of a call.

use super::value::{display, get, get_text, merged, object, optional};
#[cfg(not(any(feature = "js-page", feature = "js-hosted")))]
use crate::flow::carries_a_secret_key;
use crate::protocol::{AttemptResult, Kind, Spec};
use crate::values::{Invalid, looks_like_a_secret_key};
use futures_util::future::LocalBoxFuture;
use js_sys::Array;
use wasm_bindgen::prelude::*;

/// A call in progress. Dropping it cancels the call.
pub(crate) type Pending<T> = LocalBoxFuture<'static, Result<T, CallError>>;

/// The error of a call, as a page sees it: a `GuichetError` that is created here, or the value that a function of the
/// page has [thrown](CallError::thrown). In a Rust page a `GuichetError` is a plain object.
#[derive(Clone)]
pub(crate) struct CallError(JsValue);

#[cfg(any(feature = "js-page", feature = "js-hosted"))]
#[wasm_bindgen(raw_module = "../error.js")]
extern "C" {
    type GuichetError;
    #[wasm_bindgen(constructor)]
    fn new(kind: &str, message: &str, details: &JsValue) -> GuichetError;
}

#[cfg(any(feature = "js-page", feature = "js-hosted"))]
#[wasm_bindgen(raw_module = "../arguments.js")]
extern "C" {
    /// Throws the error about a secret key.
    #[wasm_bindgen(catch)]
    fn throw_secret_key() -> Result<(), JsValue>;
    /// Throws it if a text contains a whole secret key. JavaScript has the rule, which it needs before the module is
    /// there.
    #[wasm_bindgen(catch)]
    fn refuse_secret_key_in(text: &str) -> Result<(), JsValue>;
}

impl From<CallError> for JsValue {
    fn from(error: CallError) -> Self {
        error.0
    }
}

impl CallError {
    /// Keeps what a function of the page has thrown: the merchant's, `merchantHeaders`, a getter. What the browser
    /// throws is [replaced](super::browser).
    pub(crate) fn thrown(value: JsValue) -> Self {
        Self(value)
    }

    pub(crate) fn new(kind: Kind, message: &str) -> Self {
        Self::with(kind, message, &[])
    }

    #[inline(never)]
    pub(crate) fn with(kind: Kind, message: &str, details: &[(&str, Option<JsValue>)]) -> Self {
        Self::create(kind, message, &object(details))
    }

    fn create(kind: Kind, message: &str, details: &JsValue) -> Self {
        #[cfg(any(feature = "js-page", feature = "js-hosted"))]
        let error = GuichetError::new(kind.as_str(), message, details).into();
        #[cfg(not(any(feature = "js-page", feature = "js-hosted")))]
        let error =
            merged(details, &object(&[("kind", Some(kind.as_str().into())), ("message", Some(message.into()))]));
        Self(error)
    }

    /// The error of one operation, with the reply if there was one.
    #[inline(never)]
    pub(crate) fn of(kind: Kind, message: &str, operation: &'static str, reply: Option<JsValue>) -> Self {
        Self::with(kind, message, &[("operation", Some(operation.into())), ("reply", reply)])
    }

    /// The error of a call without a reply in time.
    pub(crate) fn timed_out(spec: &Spec) -> Self {
        Self::lost(spec, Kind::Timeout, "The request timed out: see `timeoutMs`.", JsValue::UNDEFINED)
    }

    /// The error of a call without a reply, with the exception of `fetch`. The browser's does not say why there is
    /// none.
    pub(crate) fn offline(spec: &Spec, cause: JsValue) -> Self {
        let remedy = ". Check the connection, the address and CORS.";
        Self::lost(spec, Kind::Offline, &["No reply to ", spec.name, remedy].concat(), cause)
    }

    fn lost(spec: &Spec, kind: Kind, message: &str, cause: JsValue) -> Self {
        let retryable = AttemptResult::NoReply.is_retryable(spec.repeat);
        let details =
            [("operation", Some(spec.name.into())), ("retryable", Some(retryable.into())), ("cause", Some(cause))];
        Self::with(kind, message, &details)
    }

    /// The error of invalid arguments, with the [field errors](field_error).
    pub(crate) fn input(message: &str, fields: &Array) -> Self {
        Self::with(Kind::Input, message, &[("fields", Some(fields.into()))])
    }

    /// The error of one invalid argument. Without a message `pkg-template/explain.js` gives it one: a sentence for a
    /// developer alone would cost every page bytes.
    #[inline(never)]
    pub(crate) fn field(param: &str, message: &str) -> Self {
        Self::input(
            &[param, ": ", message].concat(),
            &[field_error(param, "parameter_invalid", message)].iter().collect(),
        )
    }

    pub(crate) fn is(&self, kind: Kind) -> bool {
        self.is_one_of(&[kind])
    }

    /// Whether it has one of these kinds. A function of the page may throw a `GuichetError`.
    #[inline(never)]
    pub(crate) fn is_one_of(&self, kinds: &[Kind]) -> bool {
        self.text("kind").is_some_and(|kind| kinds.iter().any(|known| known.as_str() == kind))
    }

    /// The status of the reply; 0 without one.
    #[inline(never)]
    pub(crate) fn status(&self) -> u16 {
        self.get("status").and_then(|status| status.as_f64()).unwrap_or_default() as u16
    }

    /// A member of the error: `reply`, `requestId`.
    pub(crate) fn get(&self, name: &str) -> Option<JsValue> {
        get(&self.0, name)
    }

    /// A member that is a text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        get_text(&self.0, name)
    }

    /// Whether the request may have been executed.
    #[inline(never)]
    pub(crate) fn may_have_executed(&self) -> bool {
        let retryable = self
            .get("reply")
            .and_then(|reply| get(&get(&reply, "error")?, "retryable"))
            .map(|retryable| retryable.is_truthy());
        let result = AttemptResult::Reply { status: self.status(), retry_after: None, retryable };
        self.is_one_of(&[Kind::Offline, Kind::Timeout, Kind::Unreadable]) || result.may_have_executed()
    }

    /// Whether the same call may succeed later, whatever it did.
    pub(crate) fn is_transient(&self) -> bool {
        self.may_have_executed() || self.get("retryable").is_some_and(|it| it.is_truthy())
    }

    /// Turns a refusal of the merchant's server into an error of kind `signed_out`, which keeps the reply.
    pub(crate) fn signed_out(self) -> Self {
        let status = self.status();
        let remedy = if status == 401 { "" } else { " If a CSRF rule refused it, see `merchantHeaders`." };
        let message =
            ["Nobody is signed in: the merchant's server answered ", &display(&status.into()), ".", remedy].concat();
        let details = object(&[("reply", self.get("reply")), ("cause", Some(self.0.clone()))]);
        Self::create(Kind::SignedOut, &message, &merged(&self.0, &details))
    }
}

/// One entry of `fields`.
pub(crate) fn field_error(param: &str, code: &str, message: &str) -> JsValue {
    object(&[("param", optional(Some(param))), ("code", optional(Some(code))), ("message", optional(Some(message)))])
}

/// Turns a broken rule for addresses into an error of kind `address`.
pub(crate) fn check_address<T>(checked: Result<T, Invalid>) -> Result<T, CallError> {
    checked.map_err(|invalid| CallError::new(Kind::Address, invalid.reason()))
}

/// Refuses a text that begins like a merchant's secret key, before anything is sent.
pub(crate) fn check_no_secret_key(text: &str) -> Result<(), CallError> {
    if looks_like_a_secret_key(text) { refuse_secret_key() } else { Ok(()) }
}

/// Refuses a text that contains a whole secret key, such as an address.
#[cfg(any(feature = "js-page", feature = "js-hosted"))]
pub(crate) fn check_no_secret_key_in(text: &str) -> Result<(), CallError> {
    refuse_secret_key_in(text).map_err(CallError::thrown)
}

/// Refuses a text that contains a whole secret key, such as an address.
#[cfg(not(any(feature = "js-page", feature = "js-hosted")))]
pub(crate) fn check_no_secret_key_in(text: &str) -> Result<(), CallError> {
    if carries_a_secret_key(text) { refuse_secret_key() } else { Ok(()) }
}

#[cfg(any(feature = "js-page", feature = "js-hosted"))]
fn refuse_secret_key() -> Result<(), CallError> {
    throw_secret_key().map_err(CallError::thrown)
}

#[cfg(not(any(feature = "js-page", feature = "js-hosted")))]
fn refuse_secret_key() -> Result<(), CallError> {
    Err(CallError::new(
        Kind::SecretKey,
        "A merchant's secret key was given to a browser. Replace it, and give the page a session token.",
    ))
}
