//! How a call ends badly, and what JavaScript sees of it.

use super::read::{at, make, text};
use crate::protocol::{Kind, Spec};
use crate::values::{Invalid, looks_like_a_secret_key};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::js_sys::Array;

#[wasm_bindgen(raw_module = "../error.js")]
extern "C" {
    fn failure(
        kind: &str,
        message: &str,
        operation: Option<&str>,
        retryable: bool,
        fields: Option<Array>,
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
}

/// Why a call ended: a `GuichetError` made here, or what another threw (the reason of an abort, a merchant's function).
pub(super) struct Stop(JsValue);

impl Stop {
    #[inline(never)]
    pub(super) fn new(kind: Kind, message: &str) -> Self {
        Self(failure(kind.as_str(), message, None, is_passing(kind), None, &JsValue::UNDEFINED))
    }

    /// Of one operation, with the reply where there was one.
    #[inline(never)]
    pub(super) fn of(kind: Kind, message: &str, operation: &str, reply: &JsValue) -> Self {
        Self(failure(kind.as_str(), message, Some(operation), is_passing(kind), None, reply))
    }

    /// A reply whose status is no success.
    pub(super) fn refused(spec: &Spec, status: u16, answer: &JsValue, secret: Option<&str>) -> Self {
        let kind = Kind::of_refusal(status, text(answer, "body.error.code").as_deref());
        let retryable = at(answer, "body.error.retryable").as_bool().unwrap_or(status == 429 || status >= 500);
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
    pub(super) fn input(message: &str, fields: Array) -> Self {
        Self(failure(Kind::Input.as_str(), message, None, false, Some(fields), &JsValue::UNDEFINED))
    }

    /// One such field.
    #[inline(never)]
    pub(super) fn field(param: &str, message: &str) -> Self {
        Self::input(message, Array::of1(&field(param, "parameter_invalid", message)))
    }

    pub(super) fn is(&self, kind: Kind) -> bool {
        text(&self.0, "kind").as_deref() == Some(kind.as_str())
    }

    pub(super) fn is_one_of(&self, kinds: &[Kind]) -> bool {
        kinds.iter().any(|kind| self.is(*kind))
    }

    pub(super) fn status(&self) -> u16 {
        at(&self.0, "status").as_f64().unwrap_or_default() as u16
    }

    /// Whether what was sent may have been done all the same.
    pub(super) fn may_have_been_done(&self) -> bool {
        self.is_one_of(&[Kind::Offline, Kind::Timeout, Kind::Unreadable]) || self.status() >= 500
    }

    /// That nobody is signed in, which is why this happened.
    pub(super) fn signed_out(self) -> Self {
        Self::of(
            Kind::SignedOut,
            "Nobody is signed in.",
            &text(&self.0, "operation").unwrap_or_default(),
            &self.at("reply"),
        )
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

/// The address may not be followed.
pub(super) fn not_followed(invalid: Invalid) -> Stop {
    Stop::new(Kind::Address, invalid.reason())
}

/// Refuses what is shaped like a merchant's secret key, wherever it comes in and before anything is sent.
pub(super) fn refuse_secret_key(text: &str) -> Result<(), Stop> {
    if looks_like_a_secret_key(text) { Err(secret_key()) } else { Ok(()) }
}

/// Refuses an address that one is in.
pub(super) fn refuse_secret_key_in(address: &str) -> Result<(), Stop> {
    if crate::flow::carries_a_secret_key(address) { Err(secret_key()) } else { Ok(()) }
}

fn secret_key() -> Stop {
    Stop::new(
        Kind::SecretKey,
        "A merchant's secret key was given to a browser. It belongs on the server alone: replace it, since whoever opened this page may have it. Pages use a customer's session token.",
    )
}

fn is_passing(kind: Kind) -> bool {
    matches!(kind, Kind::Offline | Kind::Timeout)
}
