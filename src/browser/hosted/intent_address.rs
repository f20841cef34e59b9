//! Which intent a hosted page is about, and its client secret: taken out of the address before anything is sent.

use crate::browser::doors;
use crate::browser::error::{Stop, refuse_secret_key, refuse_secret_key_in};
use crate::browser::read::{Sort, any_text, is, make, maybe, merged, text};
use crate::flow::open;
use crate::values::{ClientSecret, IntentId};
use wasm_bindgen::prelude::*;

/// Reads the option `intent`: an address, an object with `id` and `client_secret`, or a function from the page's address
/// to one of these.
pub(super) fn read(given: &JsValue) -> Result<(IntentId, ClientSecret), Stop> {
    let given =
        if is(given, "", Sort::Function) { doors::made_by(given, &doors::href().into())? } else { given.clone() };
    let (id, secret) = match (text(&given, "id"), text(&given, "client_secret")) {
        (Some(id), Some(secret)) => (Some(id), Some(secret)),
        _ => of_address(&any_text(&given))?,
    };
    let (Some(id), Some(secret)) = (id.and_then(|id| IntentId::new(id).ok()), secret) else {
        return Err(Stop::field("intent", "The address names no payment intent, or not its client secret."));
    };
    refuse_secret_key(id.as_str())?;
    refuse_secret_key(&secret)?;
    Ok((id, ClientSecret::new(secret)))
}

/// The secret lies in `history.state`, so that a reload and the back button find it.
fn of_address(address: &str) -> Result<(Option<String>, Option<String>), Stop> {
    refuse_secret_key_in(address)?;
    let opened = open(address);
    if doors::href().as_deref() != Some(address) {
        return Ok((opened.id, opened.client_secret));
    }
    let state = doors::state();
    match opened.client_secret {
        Some(secret) => {
            let kept = make("id client_secret", [maybe(opened.id.as_deref()), secret.as_str().into()]);
            doors::rewrite(&merged(&state, &make("guichet", [kept])), &opened.clean)?;
            Ok((opened.id, Some(secret)))
        }
        None if text(&state, "guichet.id") == opened.id => Ok((opened.id, text(&state, "guichet.client_secret"))),
        None => Ok((opened.id, None)),
    }
}
