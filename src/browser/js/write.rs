//! Writing what is made here as JavaScript objects.

use serde::Serialize;
use wasm_bindgen::JsValue;

/// A struct as a plain object. Nothing that is written here can fail.
pub(super) fn write<T: Serialize + ?Sized>(value: &T) -> JsValue {
    serde_wasm_bindgen::to_value(value).unwrap_or_default()
}
