//! Leaving for the hosted page, and coming back.

use super::call::{How, signal};
use super::client::{Inner, no_secret_key_in};
use super::error::{Stop, not_followed, refuse_secret_key};
use super::page::{self, unless_called_off};
use super::read::{get, maybe, object, text};
use super::wait::{look, outcome};
use crate::flow::{Match, OutcomeState, Purchase, arrival, checkout_address, judge};
use crate::protocol::{Error, Kind};
use crate::values::IntentStatus;
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::js_sys::{JSON, Promise};
use wasm_bindgen_futures::{JsFuture, future_to_promise};

/// The checkout under way: its order and its promise. A double click joins it.
pub(super) type Leaving = RefCell<Option<(String, Promise)>>;

/// `checkout({order}, {mode: "redirect"})`
pub(super) async fn checkout(inner: Rc<Inner>, first: JsValue, given: JsValue) -> Result<JsValue, Stop> {
    let how = How::read(&given)?;
    let mode = get(&given, "mode");
    if !mode.is_undefined() && mode.as_string().as_deref() != Some("redirect") {
        return Err(Stop::field("mode", "parameter_invalid", "This version leaves by \"redirect\" alone."));
    }
    let order = get(&first, "order");
    let json = JSON::stringify(&order).ok().and_then(|json| json.as_string());
    let Some(json) = json.filter(|_| !order.is_undefined()) else {
        return Err(Stop::field("order", "parameter_missing", "order is required, and is sent to your server as JSON."));
    };
    let under_way = inner.leaving.borrow().as_ref().filter(|(order, _)| *order == json).map(|(_, leaving)| leaving.clone());
    let leaving = match under_way {
        Some(leaving) => leaving,
        None => {
            let work = leave(Rc::clone(&inner), order, json.clone(), how);
            let called_off = signal(&given)?;
            let own = Rc::clone(&inner);
            let leaving = future_to_promise(async move {
                let answer = unless_called_off(Box::pin(work), called_off).await;
                own.leaving.replace(None);
                answer.map_err(JsValue::from)
            });
            inner.leaving.replace(Some((json, leaving.clone())));
            leaving
        }
    };
    JsFuture::from(leaving).await.map_err(Stop::Thrown)
}

/// Asks the merchant's server for an intent and leaves for its address. Answers only if the customer comes back to this
/// very page, by the back button.
async fn leave(inner: Rc<Inner>, order: JsValue, json: String, how: How) -> Result<JsValue, Stop> {
    let answer = inner.merchant.intent(&inner.wire, &order, &json, how).await?;
    let intent = Some(get(&answer, "intent")).filter(JsValue::is_object).unwrap_or_else(|| answer.clone());
    let (Some(id), status) = (text(&intent, "id"), text(&intent, "status")) else {
        let error = Error::new(Kind::Unreadable, "The merchant's server answered no payment intent.").of("merchant_intent");
        return Err(Stop::Failed(error, answer));
    };
    for secret in [Some(&id), text(&intent, "client_secret").as_ref()].into_iter().flatten() {
        refuse_secret_key(secret)?;
    }
    let purchase = Purchase { id: Some(id), payment_ref: text(&intent, "payment_ref"), merchant_reference: text(&intent, "merchant_reference") };
    if let Some(status) = status.map(IntentStatus::from).filter(IntentStatus::is_final) {
        let mut message = String::from("This purchase has come to its end already: ");
        message.push_str(status.as_str());
        message.push_str(". A new attempt needs a new merchant_reference.");
        return Err(Stop::Failed(Error::new(Kind::Settled, message).of("merchant_intent"), answer));
    }
    let address = text(&intent, "checkout_url").unwrap_or_default();
    no_secret_key_in(&address)?;
    let address = checkout_address(&address, &inner.checkout_origins).map_err(|invalid| not_followed(&invalid))?;
    if let Some(nonce) = text(&answer, "return_nonce") {
        remember(&nonce, &purchase, false);
    }
    let shown_again = page::shown_again();
    page::go(address.as_str()).map_err(|_| Stop::new(Kind::Address, "The browser did not go to the checkout_url."))?;
    let _ = JsFuture::from(shown_again).await;
    let reference = reference(&purchase);
    let status = look(&inner, &reference, how.again()).await.ok();
    let word = status.as_ref().and_then(|found| text(found, "status"));
    let state = OutcomeState::of_one_who_turned_back(word.clone().map(IntentStatus::from).as_ref());
    Ok(outcome(state, word.as_deref(), &reference, &status.map_or(JsValue::UNDEFINED, |found| get(&found, "last_payment_error"))))
}

thread_local! {
    /// The return that this page was loaded with: the address it left in the address bar, and the answer.
    static RETURNED: RefCell<Option<(String, JsValue)>> = const { RefCell::new(None) };
}

/// `returned()`: who has come back, or `null`; the same answer when asked again.
pub(super) fn returned() -> Result<JsValue, Stop> {
    let Some(address) = page::href() else { return Ok(JsValue::NULL) };
    let Some(arrival) = arrival(&address) else {
        let before = RETURNED.with_borrow(|returned| returned.as_ref().filter(|(clean, _)| *clean == address).map(|(_, answer)| answer.clone()));
        return Ok(before.unwrap_or(JsValue::NULL));
    };
    let kept = arrival.nonce.as_deref().and_then(recall);
    let (matched, purchase) = judge(arrival.purchase, kept);
    if let (Match::Matched, Some(nonce)) = (matched, &arrival.nonce) {
        remember(nonce, &purchase, true);
    }
    let _ = page::rewrite(&page::state(), &arrival.clean);
    let answer = object(&[("match", matched.as_str().into()), ("reference", reference(&purchase))]);
    RETURNED.set(Some((page::href().unwrap_or(arrival.clean), answer.clone())));
    Ok(answer)
}

/// Which purchase, as JavaScript sees it.
pub(super) fn reference(purchase: &Purchase) -> JsValue {
    object(&[
        ("id", maybe(purchase.id.as_deref())),
        ("payment_ref", maybe(purchase.payment_ref.as_deref())),
        ("merchant_reference", maybe(purchase.merchant_reference.as_deref())),
    ])
}

/// Keeps a purchase under its nonce, in this tab. No secret is kept.
fn remember(nonce: &str, purchase: &Purchase, taken: bool) {
    let kept = reference(purchase);
    super::read::set(&kept, "taken", &taken.into());
    if let Some(json) = JSON::stringify(&kept).ok().and_then(|json| json.as_string()) {
        page::keep(&key(nonce), &json);
    }
}

fn recall(nonce: &str) -> Option<(Purchase, bool)> {
    let kept = JSON::parse(&page::kept(&key(nonce))?).ok()?;
    let purchase = Purchase { id: text(&kept, "id"), payment_ref: text(&kept, "payment_ref"), merchant_reference: text(&kept, "merchant_reference") };
    Some((purchase, get(&kept, "taken").is_truthy()))
}

fn key(nonce: &str) -> String {
    let mut key = String::from("guichet.return.");
    key.push_str(nonce);
    key
}
