//! Reading a JavaScript value by name, and making one. Nothing here fails: what is not there is `undefined` or `None`.

use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::js_sys::Array;

#[wasm_bindgen(raw_module = "../doors.js")]
extern "C" {
    /// The member of this name, or by a path of names: `error.code`.
    pub(super) fn at(value: &JsValue, path: &str) -> JsValue;
    /// The same where it is a text, or a number as JavaScript writes it.
    pub(super) fn text(value: &JsValue, path: &str) -> Option<String>;
    /// The text that JavaScript makes of a value: an `URL` is its address.
    pub(super) fn any_text(value: &JsValue) -> String;
    /// `None` for what JSON has no word for.
    #[wasm_bindgen(catch)]
    pub(super) fn json(value: &JsValue) -> Result<Option<String>, JsValue>;
    #[wasm_bindgen(catch)]
    pub(super) fn parsed(text: &str) -> Result<JsValue, JsValue>;
    pub(super) fn milliseconds(date: &str) -> f64;
    #[wasm_bindgen(variadic)]
    fn object(names: &str, values: Array) -> JsValue;
    pub(super) fn merged(under: &JsValue, over: &JsValue) -> JsValue;
}

/// An object of these names (with a space between) and values, without those that are undefined.
pub(super) fn make<const N: usize>(names: &str, values: [JsValue; N]) -> JsValue {
    object(names, gathered(&values))
}

fn gathered(values: &[JsValue]) -> Array {
    values.iter().collect()
}

/// The members of an array; none where it is not one.
pub(super) fn list(value: &JsValue) -> Vec<JsValue> {
    if Array::is_array(value) { Array::from(value).to_vec() } else { Vec::new() }
}

/// A text, or undefined.
pub(super) fn maybe(text: Option<&str>) -> JsValue {
    text.map_or(JsValue::UNDEFINED, JsValue::from_str)
}
