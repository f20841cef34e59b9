//! Reading a JavaScript value by name, and making one. Nothing here fails: what is not there is `undefined` or `None`.

use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::js_sys::{Array, Object, Reflect};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = String)]
    fn as_text(value: &JsValue) -> String;
}

/// The member of this name.
pub(super) fn get(value: &JsValue, name: &str) -> JsValue {
    if value.is_object() || value.is_function() { Reflect::get(value, &name.into()).unwrap_or_default() } else { JsValue::UNDEFINED }
}

/// The member of this name as text; a number as JavaScript writes it.
pub(super) fn text(value: &JsValue, name: &str) -> Option<String> {
    plain_text(&get(value, name))
}

/// A string, or a number as JavaScript writes it.
pub(super) fn plain_text(value: &JsValue) -> Option<String> {
    value.as_string().or_else(|| value.as_f64().map(|_| as_text(value)))
}

/// The text that JavaScript makes of a value: an `URL` is its address.
pub(super) fn any_text(value: &JsValue) -> String {
    as_text(value)
}

/// The members of an array; none where it is not one.
pub(super) fn list(value: &JsValue) -> Vec<JsValue> {
    if Array::is_array(value) { Array::from(value).iter().collect() } else { Vec::new() }
}

/// An object with these members, without those that are undefined.
pub(super) fn object(members: &[(&str, JsValue)]) -> JsValue {
    let object = Object::new();
    for (name, value) in members.iter().filter(|(_, value)| !value.is_undefined()) {
        set(&object, name, value);
    }
    object.into()
}

/// Sets one member of an object of ours.
pub(super) fn set(object: &JsValue, name: &str, value: &JsValue) {
    let _ = Reflect::set(object, &name.into(), value);
}

/// A text, or undefined.
pub(super) fn maybe(text: Option<&str>) -> JsValue {
    text.map_or(JsValue::UNDEFINED, JsValue::from_str)
}
