//! Reads and writes JavaScript's values. A read never fails: a member that is missing, `null` or `undefined` is `None`.

use guichet::protocol::FieldError;
use guichet::shop::{Reason, Refused};
use js_sys::{Array, Object, Reflect};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = String)]
    fn to_js_string(value: &JsValue) -> String;
}

pub fn get(object: &JsValue, name: &str) -> Option<JsValue> {
    Reflect::get(object, &name.into()).ok().filter(|member| !member.is_null() && !member.is_undefined())
}

/// A member that is a string or a number, as a string.
pub fn get_text(object: &JsValue, name: &str) -> Option<String> {
    get(object, name).filter(|value| value.is_string() || value.as_f64().is_some()).map(|value| to_js_string(&value))
}

/// A member that is a whole number.
pub fn get_number(object: &JsValue, name: &str) -> Option<u32> {
    get(object, name)?
        .as_f64()
        .filter(|number| number.trunc() == *number && *number >= 0.0 && *number <= u32::MAX.into())
        .map(|number| number as u32)
}

pub fn object(members: &[(&str, &JsValue)]) -> JsValue {
    let object = JsValue::from(Object::new());
    for (name, value) in members {
        let _ = Reflect::set(&object, &(*name).into(), value);
    }
    object
}

pub fn list(values: &[JsValue]) -> JsValue {
    values.iter().collect::<Array>().into()
}

pub fn optional<T: Into<JsValue>>(value: Option<T>) -> JsValue {
    value.map_or(JsValue::UNDEFINED, Into::into)
}

/// A refusal, as JavaScript's `ShopError` takes it.
pub fn refused(refused: &Refused) -> JsValue {
    let fields = refused.fields().iter().map(|FieldError { param, code, message, .. }| {
        object(&[("param", &param.into()), ("code", &code.into()), ("message", &message.into())])
    });
    object(&[
        ("status", &refused.status().into()),
        ("code", &refused.code().into()),
        ("message", &refused.message().into()),
        ("kind", &optional(refused.kind().map(|kind| kind.as_str()))),
        ("retryable", &refused.is_retryable().into()),
        ("requestId", &optional(refused.request_id())),
        ("fields", &fields.collect::<Array>()),
        ("cause", &optional(refused.cause())),
    ])
}

/// A refusal of the shop; without a code, a failure.
pub fn read_refused(refusal: &JsValue) -> Refused {
    let text = |name| get_text(refusal, name).unwrap_or_default();
    match get_text(refusal, "code") {
        Some(code) => {
            let status = get_number(refusal, "status").and_then(|status| status.try_into().ok()).unwrap_or(500);
            Refused::new(status, Reason { code: &code, message: &text("message") })
        }
        None => Refused::broken(text("cause")),
    }
}
