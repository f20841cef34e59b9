//! How a call ends badly, and what JavaScript sees of it.

use super::read::{get, maybe, object};
use crate::protocol::{Error, FieldError, Kind};
use crate::values::{Invalid, looks_like_a_secret_key};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::js_sys::Array;

#[wasm_bindgen(raw_module = "../error.js")]
extern "C" {
    type GuichetError;
    #[wasm_bindgen(constructor)]
    fn new(kind: &str, message: &str, more: &JsValue) -> GuichetError;
}

/// Why a call ended.
pub(super) enum Stop {
    /// An error of ours, with the service's reply where there was one.
    Failed(Error, JsValue),
    /// Another's: the reason of an abort, what a merchant's function threw, an error that JavaScript has seen already.
    Thrown(JsValue),
}

impl Stop {
    pub(super) fn new(kind: Kind, message: &'static str) -> Self {
        Error::new(kind, message).into()
    }

    /// One field of the caller's that is not what it should be.
    pub(super) fn field(param: &str, code: &str, message: &str) -> Self {
        let field = FieldError { param: param.to_owned(), code: code.to_owned(), message: message.to_owned() };
        Error::new(Kind::Input, message.to_owned()).with_fields(vec![field]).into()
    }

    /// The word of its kind.
    pub(super) fn kind(&self) -> String {
        match self {
            Self::Failed(error, _) => error.kind().as_str().to_owned(),
            Self::Thrown(thrown) => get(thrown, "kind").as_string().unwrap_or_default(),
        }
    }

    pub(super) fn is(&self, kind: Kind) -> bool {
        self.kind() == kind.as_str()
    }

    pub(super) fn status(&self) -> Option<u16> {
        match self {
            Self::Failed(error, _) => error.status(),
            Self::Thrown(_) => None,
        }
    }

    /// Whether what was sent may have been done all the same.
    pub(super) fn may_have_been_done(&self) -> bool {
        self.is(Kind::Offline) || self.is(Kind::Timeout) || self.is(Kind::Unreadable) || self.status().is_some_and(|status| status >= 500)
    }

    pub(super) fn reply(&self) -> JsValue {
        match self {
            Self::Failed(_, reply) => reply.clone(),
            Self::Thrown(_) => JsValue::UNDEFINED,
        }
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error, JsValue::UNDEFINED)
    }
}

impl From<Stop> for JsValue {
    fn from(stop: Stop) -> Self {
        let (error, reply) = match stop {
            Stop::Failed(error, reply) => (error, reply),
            Stop::Thrown(thrown) => return thrown,
        };
        let fields: Array = error
            .fields()
            .iter()
            .map(|FieldError { param, code, message }| object(&[("param", param.into()), ("code", code.into()), ("message", message.into())]))
            .collect();
        let more = object(&[
            ("code", maybe(error.code())),
            ("status", error.status().map_or(JsValue::UNDEFINED, JsValue::from)),
            ("requestId", maybe(error.request_id())),
            ("operation", maybe(error.operation())),
            ("retryable", error.is_retryable().into()),
            ("fields", fields.into()),
            ("reply", reply),
        ]);
        GuichetError::new(error.kind().as_str(), error.message(), &more).into()
    }
}

/// The address may not be followed.
pub(super) fn not_followed(invalid: &Invalid) -> Stop {
    Error::new(Kind::Address, invalid.reason().to_owned()).into()
}

/// Refuses what is shaped like a merchant's secret key, wherever it comes in and before anything is sent.
pub(super) fn refuse_secret_key(text: &str) -> Result<(), Stop> {
    if looks_like_a_secret_key(text) { Err(secret_key()) } else { Ok(()) }
}

pub(super) fn secret_key() -> Stop {
    Stop::new(
        Kind::SecretKey,
        "A merchant's secret key was given to a browser. It belongs on the server alone: replace it, since whoever opened this page may have it. Pages use a customer's session token.",
    )
}
