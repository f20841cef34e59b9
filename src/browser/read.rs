//! Reading a JavaScript value by name, and making one. Nothing here fails: what is not there is `undefined` or `None`.

use wasm_bindgen::prelude::*;

#[wasm_bindgen(raw_module = "../doors.js")]
extern "C" {
    /// The member of this name, or by a path of names: `error.code`; of no name, the value itself.
    pub(super) fn at(value: &JsValue, path: &str) -> JsValue;
    /// The same where it is a text, or a number as JavaScript writes it.
    pub(super) fn text(value: &JsValue, path: &str) -> Option<String>;
    /// The same where it is a number; NaN otherwise.
    pub(super) fn number(value: &JsValue, path: &str) -> f64;
    #[wasm_bindgen(js_name = is)]
    fn is_of(value: &JsValue, path: &str, sort: u32) -> bool;
    /// The text that JavaScript makes of a value: an `URL` is its address. Empty where it makes none.
    pub(super) fn any_text(value: &JsValue) -> String;
    fn object(names: &str, values: JsValue) -> JsValue;
    fn empty() -> JsValue;
    fn push(list: &JsValue, value: JsValue);
    /// The members of these names (with a space between) that are texts.
    #[cfg(not(feature = "hosted"))]
    pub(super) fn picked(value: &JsValue, names: &str) -> JsValue;
    pub(super) fn merged(under: &JsValue, over: &JsValue) -> JsValue;
    /// The name of the first of its own members that is none of these names (with a space between).
    pub(super) fn other(value: &JsValue, names: &str) -> Option<String>;
    /// Every text in a value, names included, a line each.
    pub(super) fn texts(value: &JsValue) -> String;
    /// How many members an array has; 0 where it is none.
    fn count(value: &JsValue) -> u32;
    fn item(value: &JsValue, index: u32) -> JsValue;
    /// Whether a list holds this text; a list that is none, or is empty, holds all.
    pub(super) fn has(list: &JsValue, text: &str) -> bool;
}

/// A promise. Only JavaScript waits for it.
pub(super) type Promise = JsValue;

/// What there is.
#[derive(Clone, Copy)]
pub(super) enum Sort {
    /// `undefined` or `null`.
    Nothing,
    Text,
    List,
    Function,
    Object,
    True,
    False,
}

/// Whether a member is of this sort.
pub(super) fn is(value: &JsValue, path: &str, sort: Sort) -> bool {
    is_of(value, path, sort as u32)
}

/// An object of these names (with a space between) and values, without those that are undefined.
pub(super) fn make<const N: usize>(names: &str, values: [JsValue; N]) -> JsValue {
    made(names, &values)
}

#[inline(never)]
fn made(names: &str, values: &[JsValue]) -> JsValue {
    object(names, list_of(values.iter().cloned()))
}

/// An array of these.
pub(super) fn list_of(values: impl Iterator<Item = JsValue>) -> JsValue {
    let list = empty();
    values.for_each(|value| push(&list, value));
    list
}

/// The members of an array; none where it is not one.
pub(super) fn list(value: &JsValue) -> impl Iterator<Item = JsValue> {
    (0..count(value)).map(move |index| item(value, index))
}

/// A text, or undefined.
pub(super) fn maybe(text: Option<&str>) -> JsValue {
    text.map_or(JsValue::UNDEFINED, JsValue::from_str)
}
