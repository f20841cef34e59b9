//! Which intent a hosted page is about, and its client secret: taken out of the address before anything is sent.

use super::client::no_secret_key_in;
use super::error::{Stop, refuse_secret_key};
use super::page;
use super::read::{any_text, get, object, text};
use crate::flow::open;
use crate::protocol::Kind;
use crate::values::{ClientSecret, IntentId};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::js_sys::{Function, Object};

/// The member of `history.state` where the secret lies, so that a reload and the back button find it.
const STATE: &str = "guichet";

/// Reads the option `intent`: an address, an object with `id` and `client_secret`, or a function from the page's address
/// to one of these.
pub(super) fn read(given: &JsValue) -> Result<(IntentId, ClientSecret), Stop> {
    let given = match given.dyn_ref::<Function>() {
        Some(function) => function.call1(&JsValue::UNDEFINED, &page::href().into()).map_err(Stop::Thrown)?,
        None => given.clone(),
    };
    let (id, secret) = match (text(&given, "id"), text(&given, "client_secret")) {
        (Some(id), Some(secret)) => (Some(id), Some(secret)),
        _ => of_address(&any_text(&given))?,
    };
    let (Some(id), Some(secret)) = (id.and_then(|id| IntentId::new(id).ok()), secret) else {
        return Err(Stop::field("intent", "parameter_missing", "The address names no payment intent, or not its client secret."));
    };
    refuse_secret_key(id.as_str())?;
    refuse_secret_key(&secret)?;
    Ok((id, ClientSecret::new(secret)))
}

fn of_address(address: &str) -> Result<(Option<String>, Option<String>), Stop> {
    no_secret_key_in(address)?;
    let opened = open(address);
    if page::href().as_deref() != Some(address) {
        return Ok((opened.id, opened.client_secret));
    }
    let state = page::state();
    let Some(secret) = opened.client_secret else {
        let kept = get(&state, STATE);
        let is_its_own = text(&kept, "id") == opened.id;
        return Ok((opened.id, text(&kept, "client_secret").filter(|_| is_its_own)));
    };
    let kept = object(&[("id", super::read::maybe(opened.id.as_deref())), ("client_secret", secret.as_str().into())]);
    let fresh = Object::new();
    if state.is_object() {
        Object::assign(&fresh, state.unchecked_ref());
    }
    super::read::set(&fresh, STATE, &kept);
    page::rewrite(&fresh, &opened.clean).map_err(|_| Stop::new(Kind::Address, "The client secret could not be taken out of the address bar."))?;
    Ok((opened.id, Some(secret)))
}
