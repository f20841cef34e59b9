//! Errors in JavaScript: `GuichetError`, a subclass of `Error`.

use crate::browser::core::{CallError, Failure, write};
use crate::protocol::FieldError;
use serde::Serialize;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(raw_module = "../error.js")]
extern "C" {
    type GuichetError;
    #[wasm_bindgen(constructor)]
    fn new(kind: &str, message: &str, details: &JsValue) -> GuichetError;
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Details<'a> {
    operation: Option<&'a str>,
    retryable: bool,
    status: Option<u16>,
    code: Option<&'a str>,
    request_id: Option<&'a str>,
    fields: &'a [FieldError],
    #[serde(with = "serde_wasm_bindgen::preserve")]
    reply: JsValue,
    #[serde(with = "serde_wasm_bindgen::preserve")]
    cause: JsValue,
}

/// A `GuichetError`, or the value that a function of the page has thrown.
#[inline(never)]
pub(super) fn to_js(error: CallError) -> JsValue {
    let failure = match error {
        CallError::Thrown(thrown) => return thrown,
        CallError::Failed(failure) => failure,
    };
    let Failure { kind, message, operation, retryable, status, code, request_id, fields, reply, cause } = &*failure;
    let details = write(&Details {
        operation: *operation,
        retryable: *retryable,
        status: *status,
        code: code.as_deref(),
        request_id: request_id.as_deref(),
        fields,
        reply: reply.clone(),
        cause: cause.clone().map_or(JsValue::UNDEFINED, to_js),
    });
    GuichetError::new(kind.as_str(), message, &details).into()
}

/// The error that an exported function throws.
impl From<CallError> for JsValue {
    fn from(error: CallError) -> Self {
        to_js(error)
    }
}
