//! From the service's own JavaScript objects to the crate's types.

use super::core::{CallError, stringify};
use crate::protocol::{Error, Kind, Refusal};
use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;

/// Reads a value as serde-wasm-bindgen does.
pub(super) fn decode<T: DeserializeOwned>(value: JsValue) -> Result<T, serde_wasm_bindgen::Error> {
    serde_wasm_bindgen::from_value(value)
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        let failure = match error {
            CallError::Failed(failure) => failure,
            CallError::Thrown(_) => return Self::new(Kind::Input, "A function of the page has thrown."),
        };
        let reply = stringify(&failure.reply).map(String::into_bytes);
        let refusal = Refusal {
            code: failure.code.clone(),
            message: None,
            request_id: failure.request_id.clone(),
            retryable: None,
            fields: failure.fields.clone(),
            existing_id: None,
        };
        Self::of_page(
            failure.kind,
            failure.message.clone(),
            failure.operation,
            failure.status,
            failure.retryable,
            refusal,
            reply,
        )
    }
}
