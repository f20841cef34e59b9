//! The options of `createGuichet` and `openHostedCheckout`, and those of a call.

use crate::browser::core::{
    CallError, CallOptions, CallReport, MAX_DURATION, Transport, check_no_secret_key_in, display, get, is_nullish,
    keys, list, notify, page_origin, try_get, write,
};
use crate::flow::{Base, Ms, nearest};
use crate::protocol::Kind;
use crate::values::Address;
use js_sys::{Array, Function};
use serde::Serialize;
use wasm_bindgen::prelude::*;
use web_sys::AbortSignal;

#[wasm_bindgen(raw_module = "../texts.js")]
extern "C" {
    /// Every text in a value, names included, one per line.
    fn texts(value: &JsValue) -> String;
}

/// The options of the transport: `baseUrl`, `fetch`, `onCall`.
pub(super) fn transport(options: &JsValue) -> Result<Transport, CallError> {
    let base = get(options, "baseUrl");
    if is_nullish(&base) {
        return Err(CallError::field("baseUrl", "It is required: https://api.example.com, or a path of this origin."));
    }
    let base = display(&base);
    let base =
        Base::new(&base, page_origin().as_deref()).map_err(|invalid| CallError::field("baseUrl", invalid.reason()))?;
    let on_call = function(options, "onCall")
        .map(|listener| -> Box<dyn Fn(CallReport)> { Box::new(move |report| notify(&listener, &written(&report))) });
    Ok(Transport { base, fetch: function(options, "fetch"), on_call, shared_calls: Default::default() })
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

/// Refuses a secret key and unknown names in the arguments of a call: `fields` are the known names of the first
/// argument, `options` those of the last.
pub(super) fn check_call(
    first: &JsValue,
    fields: Option<&[&str]>,
    how: &JsValue,
    options: &[&str],
) -> Result<(), CallError> {
    check_no_secret_key_within(first)?;
    check_no_secret_key_within(how)?;
    only(how, "option", options)?;
    fields.map_or(Ok(()), |fields| only(first, "field", fields))
}

/// Refuses a value that contains a secret key, at any depth, in a value or in a name.
pub(super) fn check_no_secret_key_within(given: &JsValue) -> Result<(), CallError> {
    check_no_secret_key_in(&texts(given))
}

/// Refuses an object with a name that is not in `known`, because a mistyped option would be ignored. `what` is the word
/// for such a name: `option`, `field`.
#[inline(never)]
pub(super) fn only(given: &JsValue, what: &str, known: &[&str]) -> Result<(), CallError> {
    let listed = || ["The ", what, "s are: ", &known.join(", "), "."].concat();
    if is_nullish(given) {
        return Ok(());
    }
    if !given.is_object() {
        return Err(CallError::input(&["Pass an object. ", &listed()].concat(), Vec::new()));
    }
    for name in keys(given)?.iter() {
        let name = display(&name);
        // A member that cannot be read does not count as absent.
        try_get(given, &name)?;
        if !known.contains(&&*name) {
            let remedy = match nearest(&name, known.iter().copied()) {
                Some(meant) => ["Did you mean `", meant, "`?"].concat(),
                None => listed(),
            };
            return Err(CallError::unknown(&name, &["Unknown ", what, " `", &name, "`. ", &remedy].concat()));
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
        // Written as the browser writes it, so that the two can be compared.
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
pub(super) fn signal(options: &JsValue) -> Result<Option<AbortSignal>, JsValue> {
    let signal = try_get(options, "signal")?;
    // Not with `instanceof`: a page may bring its own class.
    Ok(signal.is_object().then(|| signal.unchecked_into()))
}
