//! Typed reads of a JavaScript value by name. A read never fails: a member that is missing, `null` or `undefined`, or
//! whose getter throws, is `None`.

use js_sys::{Array, JSON, Object};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// Any value. `Option<Members>` is `None` for `null` and `undefined`, which costs no more calls, and after an
    /// exception, which then keeps no slot of the reference table. `Option<JsValue>` asks for `undefined` by a call.
    pub(crate) type Members;
    #[wasm_bindgen(catch, method, structural, indexing_getter)]
    fn get(this: &Members, name: &str) -> Result<Option<Members>, JsValue>;
    #[wasm_bindgen(catch, method, structural, indexing_getter)]
    fn get_any(this: &Members, name: &str) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method, structural, indexing_setter)]
    fn set(this: &Members, name: &str, value: &JsValue);
    #[wasm_bindgen(catch, js_namespace = Object, js_name = assign)]
    fn assign(object: &JsValue, members: &JsValue) -> Result<JsValue, JsValue>;
    /// Without a copy of the text into the wasm and back.
    #[wasm_bindgen(catch, js_namespace = JSON, js_name = parse)]
    fn json_parse(text: &JsValue) -> Result<Option<Members>, JsValue>;
    #[wasm_bindgen(catch, js_name = String)]
    fn to_js_string(value: &JsValue) -> Result<String, JsValue>;
}

/// A member by its name.
pub(crate) fn get(object: &JsValue, name: &str) -> Option<JsValue> {
    try_get(object, name).ok().flatten()
}

/// The same, or the exception of its getter. It throws for `null` and `undefined`, too.
#[inline(never)]
pub(crate) fn try_get(object: &JsValue, name: &str) -> Result<Option<JsValue>, JsValue> {
    object.unchecked_ref::<Members>().get(name).map(|member| member.map(JsValue::from))
}

/// The same, of which `null` says more than a member that is missing.
pub(crate) fn try_get_any(object: &JsValue, name: &str) -> Result<JsValue, JsValue> {
    object.unchecked_ref::<Members>().get_any(name)
}

/// A member that is an object.
pub(crate) fn get_object(object: &JsValue, name: &str) -> Option<JsValue> {
    get(object, name).filter(JsValue::is_object)
}

/// A member that is a string or a number, as a string.
#[inline(never)]
pub(crate) fn get_text(object: &JsValue, name: &str) -> Option<String> {
    text(&get(object, name)?)
}

/// A member that is a list, or else an empty one.
#[inline(never)]
pub(crate) fn get_list(object: &JsValue, name: &str) -> Array {
    get(object, name).and_then(|value| value.dyn_into().ok()).unwrap_or_default()
}

/// Whether a member is truthy.
pub(crate) fn get_flag(object: &JsValue, name: &str) -> bool {
    get(object, name).is_some_and(|value| value.is_truthy())
}

/// A string, or a number as JavaScript writes it.
#[inline(never)]
pub(crate) fn text(value: &JsValue) -> Option<String> {
    value.as_string().or_else(|| value.as_f64().map(|_| display(value)))
}

/// `String(value)` of any value: the address of a `URL`. Empty if that throws.
#[inline(never)]
pub(crate) fn display(value: &JsValue) -> String {
    to_js_string(value).unwrap_or_default()
}

/// A value as JSON; `None` if JSON cannot express it, as for a function.
pub(crate) fn stringify(value: &JsValue) -> Option<String> {
    JSON::stringify(value).ok()?.as_string()
}

/// The value that a JSON text writes; `None` if it is no JSON, or `null`.
pub(crate) fn parse(text: &JsValue) -> Option<JsValue> {
    json_parse(text).ok().flatten().map(JsValue::from)
}

/// Sets a member of an object that this crate has created.
pub(crate) fn set(object: &JsValue, name: &str, value: &JsValue) {
    object.unchecked_ref::<Members>().set(name, value);
}

/// An object with these members, as far as they have a value.
#[inline(never)]
pub(crate) fn object(members: &[(&str, Option<JsValue>)]) -> JsValue {
    let object = Object::new().into();
    for (name, value) in members {
        if let Some(value) = value {
            set(&object, name, value);
        }
    }
    object
}

/// The value of a member that may be absent.
pub(crate) fn optional<T: Into<JsValue>>(value: Option<T>) -> Option<JsValue> {
    value.map(Into::into)
}

/// A new object with the members of both; the second wins.
#[inline(never)]
pub(crate) fn merged(first: &JsValue, second: &JsValue) -> JsValue {
    let merged = copied(first);
    let _ = assign(&merged, second);
    merged
}

/// A new object with the same members. If a getter throws, it has those before it.
pub(crate) fn copied(members: &JsValue) -> JsValue {
    let copy = Object::new().into();
    let _ = assign(&copy, members);
    copy
}
