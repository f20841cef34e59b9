//! The options of `createGuichet` and `openHostedCheckout`, read once.

use super::error::{Stop, refuse_secret_key};
use super::fetch::Wire;
use super::page;
use super::read::{any_text, get, list};
use crate::flow::Base;
use crate::protocol::Kind;
use wasm_bindgen::prelude::*;

/// The way to the service.
pub(super) fn wire(options: &JsValue) -> Result<Wire, Stop> {
    let base = get(options, "baseUrl");
    if base.is_undefined() {
        return Err(Stop::field("baseUrl", "parameter_missing", "baseUrl is required: https://api.example.com, or a path of this origin."));
    }
    let base = any_text(&base);
    if crate::flow::carries_a_secret_key(&base) {
        return Err(super::error::secret_key());
    }
    let base = Base::new(&base, page::origin().as_deref()).map_err(|invalid| Stop::field("baseUrl", "parameter_invalid", invalid.reason()))?;
    Ok(Wire { base, fetcher: get(options, "fetch"), on_call: get(options, "onCall").dyn_into().ok() })
}

/// A list of origins; `None` where it is not given.
pub(super) fn origins(options: &JsValue, name: &str) -> Result<Option<Vec<String>>, Stop> {
    let given = get(options, name);
    if given.is_undefined() {
        return Ok(None);
    }
    let mut origins = Vec::new();
    for origin in list(&given) {
        let origin = any_text(&origin);
        refuse_secret_key(&origin)?;
        // Written as the browser writes it, so that the two compare.
        let address = crate::values::Address::new(&origin).map_err(|invalid| Stop::field(name, "parameter_invalid", invalid.reason()))?;
        origins.push(address.origin().to_owned());
    }
    Ok(Some(origins))
}

/// A word out of a few.
pub(super) fn word(options: &JsValue, name: &str, words: [&str; 2]) -> Result<Option<usize>, Stop> {
    let value = get(options, name);
    if value.is_undefined() {
        return Ok(None);
    }
    let value = value.as_string();
    match words.iter().position(|word| value.as_deref() == Some(*word)) {
        Some(at) => Ok(Some(at)),
        None => Err(Stop::new(Kind::Input, "publicReads is \"session\" or \"none\".")),
    }
}
