//! The options of `createGuichet` and `openHostedCheckout`, and those of a call. JavaScript has refused unknown names
//! and secret keys in them (`pkg-template/arguments.js`), and a missing `baseUrl`, before the wasm was there.

use crate::browser::core::browser::{notify, page_origin};
use crate::browser::core::error::CallError;
use crate::browser::core::time::{CallOptions, MAX_DURATION};
use crate::browser::core::transport::{CallReport, Transport};
use crate::browser::core::value::{display, get, get_list, object, optional, try_get};
use crate::flow::{Base, Ms};
use crate::values::Address;
use js_sys::{Array, Function};
use wasm_bindgen::prelude::*;
use web_sys::AbortSignal;

/// The options of the transport: `baseUrl`, `fetch`, `onCall`.
pub(super) fn transport(options: &JsValue) -> Result<Transport, CallError> {
    let base = display(&get(options, "baseUrl").unwrap_or_default());
    let base =
        Base::new(&base, page_origin().as_deref()).map_err(|invalid| CallError::field("baseUrl", invalid.reason()))?;
    let on_call = function(options, "onCall").map(|listener| -> Box<dyn Fn(CallReport)> {
        Box::new(move |report| notify(&listener, &written(report), &JsValue::UNDEFINED))
    });
    Ok(Transport { base, fetch: function(options, "fetch"), on_call, shared_calls: Default::default() })
}

fn written(CallReport { operation, attempt, ms, status, kind, request_id }: CallReport) -> JsValue {
    object(&[
        ("operation", Some(operation.into())),
        ("attempt", Some(attempt.into())),
        ("ms", Some(ms.into())),
        ("status", optional(status)),
        ("kind", optional(kind)),
        ("requestId", optional(request_id)),
    ])
}

/// A member that is a function.
pub(super) fn function(options: &JsValue, name: &str) -> Option<Function> {
    get(options, name)?.dyn_into().ok()
}

/// A list of origins.
pub(super) fn origins(options: &JsValue, name: &str) -> Result<Vec<String>, CallError> {
    if get(options, name).is_some_and(|given| !Array::is_array(&given)) {
        return Err(CallError::field(name, ""));
    }
    let mut origins = Vec::new();
    for origin in get_list(options, name).iter() {
        // Written as the browser writes it, so that the two can be compared.
        let address = Address::new(&display(&origin)).map_err(|invalid| CallError::field(name, invalid.reason()))?;
        origins.push(address.origin().to_owned());
    }
    Ok(origins)
}

/// `timeoutMs` of a call.
pub(super) fn call_options(how: Option<&JsValue>) -> Result<CallOptions, CallError> {
    match duration(how, "timeoutMs")? {
        Some(timeout) => Ok(CallOptions::with_timeout(timeout)),
        None => Ok(CallOptions::default()),
    }
}

/// A number of milliseconds.
pub(super) fn duration(how: Option<&JsValue>, name: &str) -> Result<Option<Ms>, CallError> {
    let Some(given) = how.and_then(|how| get(how, name)) else { return Ok(None) };
    match given.as_f64() {
        Some(ms) if ms > 0.0 => Ok(Some(ms.min(MAX_DURATION))),
        _ => Err(CallError::field(name, "")),
    }
}

/// `signal` of a call, or what its getter throws.
pub(super) fn signal(how: Option<&JsValue>) -> Result<Option<AbortSignal>, JsValue> {
    let Some(how) = how else { return Ok(None) };
    // Not with `instanceof`: a page may bring its own class.
    Ok(try_get(how, "signal")?.filter(JsValue::is_object).map(JsCast::unchecked_into))
}
