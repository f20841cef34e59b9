//! Typed reads of a JavaScript value by name. A read never fails: a member that is missing, or whose getter throws, is
//! `undefined` or `None`.

use js_sys::{Array, JSON, Object};
use serde::Serialize;
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = Reflect, js_name = get)]
    fn reflect_get(object: &JsValue, name: &str) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(js_namespace = Reflect, js_name = set)]
    fn reflect_set(object: &JsValue, name: &str, value: &JsValue) -> bool;
    /// The names of an object's own members. A `Proxy` may throw.
    #[wasm_bindgen(catch, js_namespace = Object, js_name = keys)]
    pub(crate) fn keys(object: &JsValue) -> Result<Array, JsValue>;
    #[wasm_bindgen(catch, js_namespace = Object, js_name = assign)]
    fn assign(object: &JsValue, members: &JsValue) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(catch, js_name = String)]
    fn to_js_string(value: &JsValue) -> Result<String, JsValue>;
}

/// A member by its name.
pub(crate) fn get(object: &JsValue, name: &str) -> JsValue {
    try_get(object, name).unwrap_or_default()
}

/// The same, or the exception of its getter.
#[inline(never)]
pub(crate) fn try_get(object: &JsValue, name: &str) -> Result<JsValue, JsValue> {
    // `Reflect.get` throws for a primitive, and each caught exception keeps a slot of the reference table.
    if object.is_object() { reflect_get(object, name) } else { Ok(JsValue::UNDEFINED) }
}

/// A value as JSON; `None` if JSON cannot express it, as for a function.
pub(crate) fn stringify(value: &JsValue) -> Option<String> {
    JSON::stringify(value).ok()?.as_string()
}

/// Sets a member of an object that this crate has created.
pub(crate) fn set(object: &JsValue, name: &str, value: &JsValue) {
    reflect_set(object, name, value);
}

/// A string, or a number as JavaScript writes it.
#[inline(never)]
pub(crate) fn text(value: &JsValue) -> Option<String> {
    (value.is_string() || value.as_f64().is_some()).then(|| display(value))
}

/// A member that is a string or a number, as a string.
#[inline(never)]
pub(crate) fn get_text(object: &JsValue, name: &str) -> Option<String> {
    text(&get(object, name))
}

/// `String(value)` of any value: the address of a `URL`. Empty if that throws.
#[inline(never)]
pub(crate) fn display(value: &JsValue) -> String {
    to_js_string(value).unwrap_or_default()
}

#[inline(never)]
pub(crate) fn is_nullish(value: &JsValue) -> bool {
    value.is_undefined() || value.is_null()
}

/// A string, or `undefined`.
#[inline(never)]
pub(crate) fn optional(text: Option<&str>) -> JsValue {
    text.map_or(JsValue::UNDEFINED, JsValue::from_str)
}

/// Writes a struct or a map as a plain object: JSON would write a `Map` as `{}`. No value that is written here can
/// fail.
pub(crate) fn write<T: Serialize + ?Sized>(value: &T) -> JsValue {
    value.serialize(&Serializer::new().serialize_maps_as_objects(true)).unwrap_or_default()
}

/// An object with these members, without undefined ones.
pub(crate) fn object<const N: usize>(members: [(&str, JsValue); N]) -> JsValue {
    object_of(&members)
}

#[inline(never)]
fn object_of(members: &[(&str, JsValue)]) -> JsValue {
    let object = Object::new().into();
    for (name, value) in members.iter().filter(|(_, value)| !value.is_undefined()) {
        set(&object, name, value);
    }
    object
}

/// A new object with the members of both; the second wins.
#[inline(never)]
pub(crate) fn merged(first: &JsValue, second: &JsValue) -> JsValue {
    let merged = Object::new().into();
    for members in [first, second] {
        if members.is_object() {
            // A getter may throw: the members before it are copied.
            let _ = assign(&merged, members);
        }
    }
    merged
}
