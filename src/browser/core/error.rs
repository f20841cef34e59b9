//! Why a call failed.

use super::transport::ReplyBody;
use super::value::{display, get, get_text, is_nullish};
use crate::flow::carries_a_secret_key;
use crate::protocol::{FieldError, Kind, Repeat, Spec};
use crate::values::{Invalid, looks_like_a_secret_key};
use js_sys::{Array, JsString};
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// Why a call failed: found out here, or thrown by a function of the page (the merchant's, `merchantHeaders`).
#[derive(Clone)]
pub(crate) enum CallError {
    Failed(Rc<Failure>),
    Thrown(JsValue),
}

/// What is known of a failure.
#[derive(Clone)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    pub(crate) operation: Option<String>,
    pub(crate) retryable: bool,
    pub(crate) status: Option<u16>,
    pub(crate) code: Option<String>,
    pub(crate) request_id: Option<String>,
    pub(crate) fields: Vec<FieldError>,
    /// The service's own object, or its text where that is no JSON. `undefined` without a reply.
    pub(crate) reply: JsValue,
}

impl Failure {
    #[inline(never)]
    fn new(kind: Kind, message: &str) -> Self {
        Self {
            kind,
            message: message.to_owned(),
            operation: None,
            retryable: false,
            status: None,
            code: None,
            request_id: None,
            fields: Vec::new(),
            reply: JsValue::UNDEFINED,
        }
    }
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        Self::Failed(Rc::new(failure))
    }
}

/// What a function of the page threw.
impl From<JsValue> for CallError {
    fn from(thrown: JsValue) -> Self {
        Self::Thrown(thrown)
    }
}

impl CallError {
    #[inline(never)]
    pub(crate) fn new(kind: Kind, message: &str) -> Self {
        Failure::new(kind, message).into()
    }

    /// Of one operation, with the reply where there was one.
    #[inline(never)]
    pub(crate) fn of(kind: Kind, message: &str, operation: &str, reply: &JsValue) -> Self {
        Failure { operation: Some(operation.to_owned()), reply: reply.clone(), ..Failure::new(kind, message) }.into()
    }

    /// No reply came in time.
    pub(crate) fn timed_out(spec: &Spec) -> Self {
        Self::lost(spec, Kind::Timeout, "The time was over before an answer came.")
    }

    /// No reply came.
    pub(crate) fn offline(spec: &Spec) -> Self {
        let message = "No answer came. The device may be offline, or the address may not allow this page (CORS).";
        Self::lost(spec, Kind::Offline, message)
    }

    fn lost(spec: &Spec, kind: Kind, message: &str) -> Self {
        let retryable = spec.repeat == Repeat::Always;
        Failure { operation: Some(spec.name.to_owned()), retryable, ..Failure::new(kind, message) }.into()
    }

    /// The error of a reply whose status is no success, without the credential that the service may repeat in it.
    #[inline(never)]
    pub(crate) fn refused(spec: &Spec, reply: &ReplyBody, credential: Option<&str>) -> Self {
        let redact = |value: &JsValue| -> Option<String> {
            let text = (!is_nullish(value)).then(|| display(value))?;
            Some(match credential {
                Some(secret) if secret.len() > 7 => String::from(JsString::from(text).replace_all(secret, "***")),
                _ => text,
            })
        };
        let error = get(&reply.body, "error");
        let fields = Array::from(&list(&get(&error, "errors")))
            .iter()
            .filter(|field| !get(field, "param").is_undefined())
            .map(|field| {
                let text = |name| redact(&get(&field, name)).unwrap_or_default();
                FieldError { param: text("param"), code: text("code"), message: text("message") }
            })
            .collect();
        Failure {
            kind: Kind::of_refusal(reply.status, get_text(&error, "code").as_deref()),
            message: redact(&get(&reply.body, "message"))
                .unwrap_or_else(|| String::from("The request was refused, and no reason was given.")),
            operation: Some(spec.name.to_owned()),
            retryable: reply
                .retryable()
                .unwrap_or(reply.status == 429 || (reply.status >= 500 && spec.repeat == Repeat::Always)),
            status: Some(reply.status),
            code: redact(&get(&error, "code")),
            request_id: redact(&get(&error, "request_id")).or_else(|| redact(&reply.request_id)),
            fields,
            reply: reply.content(),
        }
        .into()
    }

    /// Arguments that the call does not take.
    pub(crate) fn input(message: &str, fields: Vec<FieldError>) -> Self {
        Failure { fields, ..Failure::new(Kind::Input, message) }.into()
    }

    /// One such argument.
    #[inline(never)]
    pub(crate) fn field(param: &str, message: &str) -> Self {
        let error = FieldError {
            param: param.to_owned(),
            code: String::from("parameter_invalid"),
            message: message.to_owned(),
        };
        Self::input(&[param, ": ", message].concat(), vec![error])
    }

    pub(crate) fn is(&self, kind: Kind) -> bool {
        self.is_one_of(&[kind])
    }

    /// Whether it is of one of these kinds. A function of the page may throw an error of ours.
    pub(crate) fn is_one_of(&self, kinds: &[Kind]) -> bool {
        match self {
            Self::Failed(failure) => kinds.contains(&failure.kind),
            Self::Thrown(thrown) => {
                get_text(thrown, "kind").is_some_and(|kind| kinds.iter().any(|known| known.as_str() == kind))
            }
        }
    }

    /// The status of the reply; 0 without one.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Failed(failure) => failure.status.unwrap_or_default(),
            Self::Thrown(thrown) => get(thrown, "status").as_f64().unwrap_or_default() as u16,
        }
    }

    /// The code of the reply.
    pub(crate) fn code(&self) -> Option<String> {
        match self {
            Self::Failed(failure) => failure.code.clone(),
            Self::Thrown(thrown) => get_text(thrown, "code"),
        }
    }

    /// The reply that it keeps.
    pub(crate) fn reply(&self) -> JsValue {
        match self {
            Self::Failed(failure) => failure.reply.clone(),
            Self::Thrown(thrown) => get(thrown, "reply"),
        }
    }

    /// Whether the request may have been executed all the same.
    pub(crate) fn may_have_executed(&self) -> bool {
        self.is_one_of(&[Kind::Offline, Kind::Timeout, Kind::Unreadable]) || self.status() >= 500
    }

    /// The same failure, because nobody is signed in.
    pub(crate) fn signed_out(self) -> Self {
        let operation = match &self {
            Self::Failed(failure) => failure.operation.clone(),
            Self::Thrown(thrown) => get_text(thrown, "operation"),
        };
        Self::of(Kind::SignedOut, "Nobody is signed in.", &operation.unwrap_or_default(), &self.reply())
    }
}

/// An array, or an empty one in the place of anything else.
pub(crate) fn list(value: &JsValue) -> Array {
    value.dyn_ref().cloned().unwrap_or_default()
}

/// An address that breaks a rule is not followed.
pub(crate) fn check_address<T>(checked: Result<T, Invalid>) -> Result<T, CallError> {
    checked.map_err(|invalid| CallError::new(Kind::Address, invalid.reason()))
}

/// Refuses a text that is shaped like a merchant's secret key, before anything is sent.
pub(crate) fn check_no_secret_key(text: &str) -> Result<(), CallError> {
    if looks_like_a_secret_key(text) { Err(secret_key()) } else { Ok(()) }
}

/// Refuses an address that has one in it.
pub(crate) fn check_no_secret_key_in(address: &str) -> Result<(), CallError> {
    if carries_a_secret_key(address) { Err(secret_key()) } else { Ok(()) }
}

fn secret_key() -> CallError {
    CallError::new(
        Kind::SecretKey,
        "A merchant's secret key was given to a browser: replace it, since whoever opened this page may have it. Pages use a customer's session token.",
    )
}
