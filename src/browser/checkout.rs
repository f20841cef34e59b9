//! Leaving for the hosted page, and coming back.

use super::call::How;
use super::client::Inner;
use super::error::{Stop, not_followed, refuse_secret_key, refuse_secret_key_in};
use super::merchant::INTENT;
use super::page;
use super::read::{at, json, make, maybe, merged, parsed, text};
use super::task::{Answer, joined, wait_for};
use super::wait::{look, outcome};
use crate::flow::{Match, OutcomeState, Purchase, arrival, checkout_address, judge};
use crate::protocol::Kind;
use crate::values::IntentStatus;
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// `checkout({order}, {mode: "redirect"})`; a double click joins the same flight.
pub(super) async fn checkout(inner: Rc<Inner>, first: JsValue, given: &JsValue, how: How) -> Answer {
    let mode = at(given, "mode");
    if !mode.is_undefined() && mode != "redirect" {
        return Err(Stop::field("mode", "This version leaves by \"redirect\" alone."));
    }
    let order = at(&first, "order");
    let Ok(Some(sent)) = json(&order) else {
        return Err(Stop::field("order", "It is required, and is sent to your server as JSON."));
    };
    let (of, flight) = &inner.leaving;
    if *of.borrow() != sent {
        of.replace(sent.clone());
        flight.replace(None);
    }
    let own = Rc::clone(&inner);
    joined(flight, &at(given, "signal"), || leave(own, order, sent, how)).await
}

async fn leave(inner: Rc<Inner>, order: JsValue, sent: String, how: How) -> Answer {
    let reference = reference(&go_and_pay(&inner, &order, &sent, how).await?);
    let found = look(&inner, &reference, how.again()).await.unwrap_or_default();
    let status = text(&found, "status");
    let state = OutcomeState::of_one_who_turned_back(status.clone().map(IntentStatus::from).as_ref());
    Ok(outcome(state, status.as_deref(), &reference, at(&found, "last_payment_error")))
}

/// Asks the merchant's server for an intent and leaves for its address. Answers only if the customer comes back to this
/// very page, by the back button.
async fn go_and_pay(inner: &Inner, order: &JsValue, sent: &str, how: How) -> Result<Purchase, Stop> {
    let answer = inner.merchant.intent(&inner.wire, order, sent, how).await?;
    let intent = at(&answer, "intent");
    let intent = if intent.is_object() { &intent } else { &answer };
    let purchase = purchase(intent);
    let Some(id) = &purchase.id else {
        return Err(Stop::of(
            Kind::Unreadable,
            "The merchant's server answered no payment intent.",
            INTENT.name,
            &answer,
        ));
    };
    refuse_secret_key(id)?;
    refuse_secret_key(&text(intent, "client_secret").unwrap_or_default())?;
    let status = IntentStatus::from(text(intent, "status").unwrap_or_default());
    if status.is_final() {
        let message = [
            "This purchase has come to its end already: ",
            status.as_str(),
            ". A new attempt needs a new merchant_reference.",
        ]
        .concat();
        return Err(Stop::of(Kind::Settled, &message, INTENT.name, &answer));
    }
    let address = text(intent, "checkout_url").unwrap_or_default();
    refuse_secret_key_in(&address)?;
    let address = checkout_address(&address, &inner.checkout_origins).map_err(not_followed)?;
    if let Some(nonce) = text(&answer, "return_nonce") {
        remember(&nonce, &purchase, false);
    }
    let shown_again = page::shown_again();
    page::go(address.as_str())?;
    wait_for(shown_again).await?;
    Ok(purchase)
}

thread_local! {
    /// The return that this page was loaded with: the address it left in the address bar, and the answer.
    static RETURNED: RefCell<(Option<String>, JsValue)> = const { RefCell::new((None, JsValue::NULL)) };
}

/// `returned()`: who has come back, or `null`; the same answer when asked again.
pub(super) fn returned() -> JsValue {
    let address = page::href();
    let Some(arrival) = address.as_deref().and_then(arrival) else {
        return RETURNED.with_borrow(|(clean, answer)| if *clean == address { answer.clone() } else { JsValue::NULL });
    };
    let kept = arrival.nonce.as_deref().and_then(recall);
    let (matched, purchase) = judge(arrival.purchase, kept);
    if let (Match::Matched, Some(nonce)) = (matched, &arrival.nonce) {
        remember(nonce, &purchase, true);
    }
    let _ = page::rewrite(&page::state(), &arrival.clean);
    let answer = make("match reference", [matched.as_str().into(), reference(&purchase)]);
    RETURNED.set((page::href(), answer.clone()));
    answer
}

/// Which purchase, as JavaScript sees it.
fn reference(purchase: &Purchase) -> JsValue {
    let Purchase { id, payment_ref, merchant_reference } = purchase;
    make(
        "id payment_ref merchant_reference",
        [maybe(id.as_deref()), maybe(payment_ref.as_deref()), maybe(merchant_reference.as_deref())],
    )
}

fn purchase(of: &JsValue) -> Purchase {
    Purchase {
        id: text(of, "id"),
        payment_ref: text(of, "payment_ref"),
        merchant_reference: text(of, "merchant_reference"),
    }
}

/// Keeps a purchase under its nonce, in this tab. No secret is kept.
fn remember(nonce: &str, purchase: &Purchase, taken: bool) {
    let kept = merged(&reference(purchase), &make("taken", [taken.into()]));
    if let Ok(Some(kept)) = json(&kept) {
        page::keep(&key(nonce), &kept);
    }
}

fn recall(nonce: &str) -> Option<(Purchase, bool)> {
    let kept = parsed(&page::kept(&key(nonce))?).ok()?;
    Some((purchase(&kept), at(&kept, "taken").is_truthy()))
}

fn key(nonce: &str) -> String {
    ["guichet.return.", nonce].concat()
}
