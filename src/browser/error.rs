//! How a call ends badly, and what JavaScript sees of it.

use super::read::{Sort, at, is, list_of, make, number, text, texts};
use crate::protocol::{Kind, Repeat, Spec};
use crate::values::{Invalid, looks_like_a_secret_key};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(raw_module = "../error.js")]
extern "C" {
    /// Whether an error is of one of these kinds, with a space between.
    #[wasm_bindgen(js_name = is_one_of)]
    fn is_error_of(error: &JsValue, kinds: &str) -> bool;
    fn failure(
        kind: &str,
        message: &str,
        operation: Option<&str>,
        retryable: bool,
        fields: JsValue,
        reply: &JsValue,
    ) -> JsValue;
    fn refusal(
        kind: &str,
        otherwise: &str,
        operation: &str,
        retryable: bool,
        answer: &JsValue,
        secret: Option<&str>,
    ) -> JsValue;
    fn secret_key() -> JsValue;
    /// The same error as one of kind `signed_out`: its status, its code and its reply are kept.
    #[cfg(not(feature = "hosted"))]
    #[wasm_bindgen(js_name = signed_out)]
    fn as_signed_out(error: &JsValue) -> JsValue;
}

/// Why a call ended: a `GuichetError` made here, or what another threw (the reason of an abort, a merchant's function).
pub(super) struct Stop(JsValue);

impl Stop {
    #[inline(never)]
    pub(super) fn new(kind: Kind, message: &str) -> Self {
        Self(failure(kind.as_str(), message, None, false, JsValue::UNDEFINED, &JsValue::UNDEFINED))
    }

    /// Of one operation, with the reply where there was one.
    #[inline(never)]
    pub(super) fn of(kind: Kind, message: &str, operation: &str, reply: &JsValue) -> Self {
        Self(failure(kind.as_str(), message, Some(operation), false, JsValue::UNDEFINED, reply))
    }

    /// That no answer came to one operation.
    pub(super) fn lost(kind: Kind, message: &str, spec: &Spec) -> Self {
        let retryable = spec.repeat == Repeat::Always;
        Self(failure(kind.as_str(), message, Some(spec.name), retryable, JsValue::UNDEFINED, &JsValue::UNDEFINED))
    }

    /// A reply whose status is no success.
    pub(super) fn refused(spec: &Spec, status: u16, answer: &JsValue, secret: Option<&str>) -> Self {
        let kind = Kind::of_refusal(status, text(answer, "body.error.code").as_deref());
        let retryable =
            said_retryable(answer).unwrap_or(status == 429 || (status >= 500 && spec.repeat == Repeat::Always));
        Self(refusal(
            kind.as_str(),
            "The request was refused, and no reason was given.",
            spec.name,
            retryable,
            answer,
            secret,
        ))
    }

    /// Fields of the caller's that are not what they should be.
    pub(super) fn input(message: &str, fields: JsValue) -> Self {
        Self(failure(Kind::Input.as_str(), message, None, false, fields, &JsValue::UNDEFINED))
    }

    /// One such field.
    #[inline(never)]
    pub(super) fn field(param: &str, message: &str) -> Self {
        let said = String::from(param) + ": " + message;
        Self::input(&said, list_of([field(param, "parameter_invalid", message)].into_iter()))
    }

    #[cfg(not(feature = "hosted"))]
    pub(super) fn is(&self, kind: Kind) -> bool {
        self.is_one_of(kind.as_str())
    }

    /// Kinds with a space between.
    pub(super) fn is_one_of(&self, kinds: &str) -> bool {
        is_error_of(&self.0, kinds)
    }

    pub(super) fn status(&self) -> u16 {
        number(&self.0, "status") as u16
    }

    /// Whether what was sent may have been done all the same.
    pub(super) fn may_have_been_done(&self) -> bool {
        self.is_one_of("offline timeout unreadable") || self.status() >= 500
    }

    /// The same refusal as one of kind `signed_out`: what was answered is kept.
    #[cfg(not(feature = "hosted"))]
    pub(super) fn signed_out(self) -> Self {
        Self(as_signed_out(&self.0))
    }

    /// A member of the error or of what it keeps: `reply.data`.
    pub(super) fn at(&self, path: &str) -> JsValue {
        at(&self.0, path)
    }
}

impl From<JsValue> for Stop {
    fn from(thrown: JsValue) -> Self {
        Self(thrown)
    }
}

impl From<Stop> for JsValue {
    fn from(stop: Stop) -> Self {
        stop.0
    }
}

/// One field, as an error lists it.
pub(super) fn field(param: &str, code: &str, message: &str) -> JsValue {
    make("param code message", [param.into(), code.into(), message.into()])
}

/// What a reply says of sending the request again.
pub(super) fn said_retryable(answer: &JsValue) -> Option<bool> {
    let says = |sort| is(answer, "body.error.retryable", sort);
    if says(Sort::True) { Some(true) } else { says(Sort::False).then_some(false) }
}

/// The glue asks for what there is not.
pub(super) fn no_such_call() -> Stop {
    Stop::new(Kind::Unsupported, "There is no such call.")
}

/// The address may not be followed.
pub(super) fn not_followed(invalid: Invalid) -> Stop {
    Stop::new(Kind::Address, invalid.reason())
}

/// Refuses what is shaped like a merchant's secret key, wherever it comes in and before anything is sent.
pub(super) fn refuse_secret_key(text: &str) -> Result<(), Stop> {
    if looks_like_a_secret_key(text) { Err(Stop(secret_key())) } else { Ok(()) }
}

/// Refuses a text that one stands in, such as an address.
pub(super) fn refuse_secret_key_in(text: &str) -> Result<(), Stop> {
    if crate::flow::carries_a_secret_key(text) { Err(Stop(secret_key())) } else { Ok(()) }
}

/// Refuses an option or an argument that one stands in, at any depth, in a value or in a name.
pub(super) fn refuse_secret_key_within(given: &JsValue) -> Result<(), Stop> {
    refuse_secret_key_in(&texts(given))
}
