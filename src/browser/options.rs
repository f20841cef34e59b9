//! The options of `createGuichet` and `openHostedCheckout`, read once.

use super::doors;
use super::error::{Stop, field};
use super::fetch::Wire;
use super::read::{Sort, any_text, at, is, list, list_of, other};
use super::task::flights;
use crate::flow::{Base, nearest};
use crate::protocol::Kind;
use crate::values::{Address, parts};
use wasm_bindgen::prelude::*;

/// The way to the service. It is there for as long as the instance, and has no other end.
pub(super) fn wire(options: &JsValue) -> Result<&'static Wire, Stop> {
    if is(options, "baseUrl", Sort::Nothing) {
        return Err(Stop::field("baseUrl", "It is required: https://api.example.com, or a path of this origin."));
    }
    let base = any_text(&at(options, "baseUrl"));
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

/// Refuses an object with a name that is none of `known` (with a space between): a mistyped name would pass for one that
/// was left out. `what` is the word for such a name: `option`, `field`.
#[inline(never)]
pub(super) fn only(given: &JsValue, what: &str, known: &str) -> Result<(), Stop> {
    if !is(given, "", Sort::Nothing) && !is(given, "", Sort::Object) {
        return Err(Stop::input(&(String::from("Pass an object. ") + &listed(what, known)), JsValue::UNDEFINED));
    }
    let Some(name) = other(given, known) else { return Ok(()) };
    let remedy = match nearest(&name, parts(known, b' ')) {
        Some(meant) => String::from("Did you mean `") + meant + "`?",
        None => listed(what, known),
    };
    let message = String::from("Unknown ") + what + " `" + &name + "`. " + &remedy;
    Err(Stop::input(&message, list_of([field(&name, "parameter_unknown", &message)].into_iter())))
}

/// `The fields are: amount, currency.`
fn listed(what: &str, known: &str) -> String {
    let mut sentence = String::from("The ") + what + "s are";
    for (place, name) in parts(known, b' ').enumerate() {
        sentence.push_str(if place == 0 { ": " } else { ", " });
        sentence.push_str(name);
    }
    sentence + "."
}

/// Refuses what only a browser's page can do, where there is none: Node.js has no page, and jsdom's cannot leave.
pub(super) fn needs_a_page(call: &str) -> Result<(), Stop> {
    if doors::has_page() {
        return Ok(());
    }
    let message = String::from(call)
        + " needs a page in a browser: Node.js has none, and that of jsdom cannot go to another address. In a test without a browser, put a function of your own in its place.";
    Err(Stop::new(Kind::Unsupported, &message))
}

/// A list of origins.
pub(super) fn origins(options: &JsValue, name: &str) -> Result<Vec<String>, Stop> {
    let mut origins = Vec::new();
    if !is(options, name, Sort::Nothing) && !is(options, name, Sort::List) {
        return Err(Stop::field(name, "It is a list of origins: [\"https://pay.example.com\"]."));
    }
    for origin in list(&at(options, name)) {
        let origin = any_text(&origin);
        // Written as the browser writes it, so that the two compare.
        match Address::new(&origin) {
            Ok(address) => origins.push(address.origin().to_owned()),
            Err(invalid) => return Err(Stop::field(name, invalid.reason())),
        }
    }
    Ok(origins)
}
