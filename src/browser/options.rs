//! The options of `createGuichet` and `openHostedCheckout`, read once.

use super::doors;
use super::error::{Stop, refuse_secret_key_in};
use super::fetch::Wire;
use super::read::{Sort, any_text, at, is, list, other};
use super::task::flights;
use crate::flow::Base;
use crate::values::Address;
use wasm_bindgen::prelude::*;

/// The way to the service. It is there for as long as the instance, and has no other end.
pub(super) fn wire(options: &JsValue) -> Result<&'static Wire, Stop> {
    if is(options, "baseUrl", Sort::Nothing) {
        return Err(Stop::field("baseUrl", "It is required: https://api.example.com, or a path of this origin."));
    }
    let base = any_text(&at(options, "baseUrl"));
    refuse_secret_key_in(&base)?;
    match Base::new(&base, doors::origin().as_deref()) {
        Ok(base) => Ok(Box::leak(Box::new(Wire {
            base,
            fetcher: at(options, "fetch"),
            on_call: at(options, "onCall"),
            flights: flights(),
        }))),
        Err(invalid) => Err(Stop::field("baseUrl", invalid.reason())),
    }
}

/// Refuses a member that has none of the names which a sentence lists: a mistyped option would be one that is not there.
pub(super) fn only(given: &JsValue, sentence: &str) -> Result<(), Stop> {
    match other(given, sentence) {
        Some(name) => Err(Stop::field(&name, sentence)),
        None => Ok(()),
    }
}

/// A list of origins.
pub(super) fn origins(options: &JsValue, name: &str) -> Result<Vec<String>, Stop> {
    let mut origins = Vec::new();
    if !is(options, name, Sort::Nothing) && !is(options, name, Sort::List) {
        return Err(Stop::field(name, "It is a list of origins: [\"https://pay.example.com\"]."));
    }
    for origin in list(&at(options, name)) {
        let origin = any_text(&origin);
        refuse_secret_key_in(&origin)?;
        // Written as the browser writes it, so that the two compare.
        match Address::new(&origin) {
            Ok(address) => origins.push(address.origin().to_owned()),
            Err(invalid) => return Err(Stop::field(name, invalid.reason())),
        }
    }
    Ok(origins)
}
