//! The error of a call.

use super::call_options::CallOptions;
use super::transport::ReplyContent;
use super::value::{display, get, get_text, text};
use crate::flow::carries_a_secret_key;
use crate::protocol::{FieldError, Kind, Repeat, Spec};
use crate::values::{Invalid, looks_like_a_secret_key};
use js_sys::{Array, JsString};
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// The error of a call: created here, or thrown by a function of the page (the merchant's, `merchantHeaders`).
#[derive(Clone)]
pub(crate) enum CallError {
    Failed(Rc<Failure>),
    Thrown(JsValue),
}

/// The facts about a failed call.
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    pub(crate) operation: Option<&'static str>,
    pub(crate) retryable: bool,
    pub(crate) status: Option<u16>,
    pub(crate) code: Option<String>,
    pub(crate) request_id: Option<String>,
    pub(crate) fields: Vec<FieldError>,
    /// The service's own object, or its text if that is no JSON. `undefined` without a reply.
    pub(crate) reply: JsValue,
    /// The failure that led to this one.
    pub(crate) cause: Option<CallError>,
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
            cause: None,
        }
    }
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        Self::Failed(Rc::new(failure))
    }
}

/// Keeps the value that a function of the page threw.
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

    /// The error of one operation, with the reply if there was one.
    #[inline(never)]
    pub(crate) fn of(kind: Kind, message: &str, operation: &'static str, reply: &JsValue) -> Self {
        Failure { operation: Some(operation), reply: reply.clone(), ..Failure::new(kind, message) }.into()
    }

    /// The error of a call without a reply in time.
    pub(crate) fn timed_out(spec: &Spec, options: CallOptions) -> Self {
        let seconds = display(&(options.timeout / 1000.0).into());
        Self::lost(spec, Kind::Timeout, &["The request timed out after ", &seconds, " s."].concat())
    }

    /// The error of a call without a reply.
    pub(crate) fn offline(spec: &Spec) -> Self {
        let message = "No reply came. The device may be offline, or the address may not allow this page (CORS).";
        Self::lost(spec, Kind::Offline, message)
    }

    fn lost(spec: &Spec, kind: Kind, message: &str) -> Self {
        let retryable = spec.repeat == Repeat::Always;
        Failure { operation: Some(spec.name), retryable, ..Failure::new(kind, message) }.into()
    }

    /// The error of a reply with an error status, without the credential.
    #[inline(never)]
    pub(crate) fn refused(spec: &Spec, reply: &ReplyContent, credential: Option<&str>) -> Self {
        // A reply is untrusted JSON: if a text is expected, an object or a list counts as absent.
        let redact = |value: &JsValue| -> Option<String> {
            let text = text(value).or_else(|| value.as_bool().map(|_| display(value)))?;
            Some(redact(text, credential))
        };
        let error = get(&reply.body, "error");
        let fields = Array::from(&list(&get(&error, "errors")))
            .iter()
            .filter_map(|field| {
                let text = |name| redact(&get(&field, name));
                let (code, message) = (text("code").unwrap_or_default(), text("message").unwrap_or_default());
                Some(FieldError { param: text("param")?, code, message })
            })
            .collect();
        Failure {
            kind: Kind::of_refusal(reply.status, get_text(&error, "code").as_deref()),
            message: redact(&get(&reply.body, "message"))
                .unwrap_or_else(|| String::from("The request was refused, and no reason was given.")),
            operation: Some(spec.name),
            retryable: reply
                .retryable()
                .unwrap_or(reply.status == 429 || (reply.status >= 500 && spec.repeat == Repeat::Always)),
            status: Some(reply.status),
            code: redact(&get(&error, "code")),
            request_id: redact(&get(&error, "request_id")).or_else(|| reply.request_id.clone()),
            fields,
            reply: reply.content(),
            cause: None,
        }
        .into()
    }

    /// The error of invalid arguments.
    pub(crate) fn input(message: &str, fields: Vec<FieldError>) -> Self {
        Failure { fields, ..Failure::new(Kind::Input, message) }.into()
    }

    /// The error of one invalid argument.
    #[inline(never)]
    pub(crate) fn field(param: &str, message: &str) -> Self {
        Self::input(&[param, ": ", message].concat(), vec![field_error(param, "parameter_invalid", message)])
    }

    /// The error of an unknown name.
    pub(crate) fn unknown(name: &str, message: &str) -> Self {
        Self::input(message, vec![field_error(name, "parameter_unknown", message)])
    }

    pub(crate) fn is(&self, kind: Kind) -> bool {
        self.is_one_of(&[kind])
    }

    /// Whether it has one of these kinds. A function of the page may throw a `GuichetError`.
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

    /// The reply that the error keeps.
    pub(crate) fn reply(&self) -> JsValue {
        match self {
            Self::Failed(failure) => failure.reply.clone(),
            Self::Thrown(thrown) => get(thrown, "reply"),
        }
    }

    /// Whether the request may have been executed.
    pub(crate) fn may_have_executed(&self) -> bool {
        self.is_one_of(&[Kind::Offline, Kind::Timeout, Kind::Unreadable]) || self.status() >= 500
    }

    /// Turns a refusal of the merchant's server into an error of kind `signed_out`, which keeps the reply.
    pub(crate) fn signed_out(self) -> Self {
        let status = self.status();
        let remedy = if status == 401 {
            ""
        } else {
            " If it refused the request itself (a CSRF rule), pass what it asks for by `merchantHeaders`."
        };
        let message =
            ["Nobody is signed in: the merchant's server answered ", &status.to_string(), ".", remedy].concat();
        let mut failure = Failure::new(Kind::SignedOut, &message);
        if let Self::Failed(cause) = &self {
            failure.operation = cause.operation;
            failure.request_id = cause.request_id.clone();
        }
        (failure.status, failure.code, failure.reply) = (Some(status), self.code(), self.reply());
        failure.cause = Some(self);
        failure.into()
    }
}

/// A text of a reply without the credential, which the service may repeat.
pub(crate) fn redact(text: String, credential: Option<&str>) -> String {
    match credential {
        Some(secret) if secret.len() > 7 => JsString::from(text).replace_all(secret, "***").into(),
        _ => text,
    }
}

pub(crate) fn field_error(param: &str, code: &str, message: &str) -> FieldError {
    FieldError { param: param.to_owned(), code: code.to_owned(), message: message.to_owned() }
}

/// The array, or an empty one if the value is no array.
pub(crate) fn list(value: &JsValue) -> Array {
    value.dyn_ref().cloned().unwrap_or_default()
}

/// Turns a broken rule for addresses into an error of kind `address`.
pub(crate) fn check_address<T>(checked: Result<T, Invalid>) -> Result<T, CallError> {
    checked.map_err(|invalid| CallError::new(Kind::Address, invalid.reason()))
}

/// Refuses a text that begins like a merchant's secret key, before anything is sent.
pub(crate) fn check_no_secret_key(text: &str) -> Result<(), CallError> {
    if looks_like_a_secret_key(text) { Err(secret_key()) } else { Ok(()) }
}

/// Refuses a text that contains a whole secret key, such as an address.
pub(crate) fn check_no_secret_key_in(text: &str) -> Result<(), CallError> {
    if carries_a_secret_key(text) { Err(secret_key()) } else { Ok(()) }
}

fn secret_key() -> CallError {
    CallError::new(
        Kind::SecretKey,
        "A merchant's secret key was given to a browser. Replace the key, since whoever opened this page may have it, and give the page a customer's session token.",
    )
}
