//! The options of `createGuichet` and `openHostedCheckout`, and those of a call.

use super::write::write;
use crate::browser::core::{
    CallError, CallOptions, CallReport, MAX_DURATION, Transport, check_no_secret_key_in, display, get, is_nullish, list,
    notify, page_origin,
};
use crate::flow::{Base, Ms};
use crate::protocol::Kind;
use crate::values::Address;
use js_sys::{Array, Function, Object};
use serde::Serialize;
use wasm_bindgen::prelude::*;
use web_sys::AbortSignal;

/// The way to the service: `baseUrl`, `fetch`, `onCall`.
pub(super) fn transport(options: &JsValue) -> Result<Transport, CallError> {
    let base = get(options, "baseUrl");
    if is_nullish(&base) {
        return Err(CallError::field("baseUrl", "It is required: https://api.example.com, or a path of this origin."));
    }
    let base = display(&base);
    check_no_secret_key_in(&base)?;
    let base = Base::new(&base, page_origin().as_deref())
        .map_err(|invalid| CallError::field("baseUrl", invalid.reason()))?;
    let on_call = function(options, "onCall").map(|listener| -> Box<dyn Fn(CallReport)> {
        Box::new(move |report| notify(&listener, &written(&report)))
    });
    Ok(Transport { base, fetch: function(options, "fetch"), on_call, reads: Default::default() })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    operation: &'a str,
    attempt: u32,
    ms: Ms,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
}

fn written(CallReport { operation, attempt, ms, status, kind, request_id }: &CallReport) -> JsValue {
    write(&Report {
        operation,
        attempt: *attempt,
        ms: *ms,
        status: *status,
        kind: kind.map(Kind::as_str),
        request_id: request_id.as_deref(),
    })
}

/// A member that is a function.
pub(super) fn function(options: &JsValue, name: &str) -> Option<Function> {
    get(options, name).dyn_into().ok()
}

/// Refuses a member that the sentence does not list: a mistyped option would be one that is missing.
pub(super) fn only(options: &JsValue, sentence: &str) -> Result<(), CallError> {
    let Some(options) = options.dyn_ref::<Object>() else { return Ok(()) };
    let (_, known) = sentence.split_once(':').unwrap_or_default();
    for name in Object::keys(options).iter() {
        let name = display(&name);
        if !known.split(',').any(|known| known.trim_matches([' ', '.']) == name) {
            return Err(CallError::field(&name, sentence));
        }
    }
    Ok(())
}

/// A list of origins.
pub(super) fn origins(options: &JsValue, name: &str) -> Result<Vec<String>, CallError> {
    let given = get(options, name);
    if !is_nullish(&given) && !Array::is_array(&given) {
        return Err(CallError::field(name, "It is a list of origins: [\"https://pay.example.com\"]."));
    }
    let mut origins = Vec::new();
    for origin in list(&given).iter() {
        let origin = display(&origin);
        check_no_secret_key_in(&origin)?;
        // Written as the browser writes it, so that the two compare.
        let address = Address::new(&origin).map_err(|invalid| CallError::field(name, invalid.reason()))?;
        origins.push(address.origin().to_owned());
    }
    Ok(origins)
}

/// `timeoutMs` of a call.
pub(super) fn call_options(options: &JsValue) -> Result<CallOptions, CallError> {
    match duration(options, "timeoutMs")? {
        Some(timeout) => Ok(CallOptions::with_timeout(timeout)),
        None => Ok(CallOptions::default()),
    }
}

/// A number of milliseconds.
pub(super) fn duration(options: &JsValue, name: &str) -> Result<Option<Ms>, CallError> {
    let given = get(options, name);
    match given.as_f64() {
        Some(ms) if ms > 0.0 => Ok(Some(ms.min(MAX_DURATION))),
        None if is_nullish(&given) => Ok(None),
        _ => Err(CallError::field(name, "It is a number of milliseconds above 0.")),
    }
}

/// `signal` of a call.
pub(super) fn signal(options: &JsValue) -> Option<AbortSignal> {
    let signal = get(options, "signal");
    // Not by `instanceof`: a page may bring its own.
    signal.is_object().then(|| signal.unchecked_into())
}
