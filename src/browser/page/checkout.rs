//! Leaving for the hosted page, and coming back.

use super::client::Inner;
use super::merchant::{Ask, INTENT};
use super::wait::Wait;
use crate::browser::call::How;
use crate::browser::doors;
use crate::browser::error::{Stop, not_followed, refuse_secret_key_in};
use crate::browser::options;
use crate::browser::read::{Sort, at, is, make, maybe, merged, picked, text};
use crate::browser::task::{Answer, Flow, Next, Waiting, Work, forget, joined};
use crate::flow::{Match, Purchase, arrival, checkout_address, judge};
use crate::protocol::Kind;
use crate::values::IntentStatus;
use wasm_bindgen::prelude::*;

/// `checkout({order}, {mode})`, as `{what: {order}, popup}`; a double click joins the same flight. With the mode `popup` there is a window, where the
/// browser has opened one.
pub(super) fn checkout(inner: &'static Inner, first: &JsValue, given: &JsValue, how: How) -> Result<Work, Stop> {
    let (what, window) = (at(first, "what"), at(first, "popup"));
    options::only(&what, "field", "order")?;
    if !is(given, "mode", Sort::Nothing) && !matches!(text(given, "mode").as_deref(), Some("popup" | "redirect")) {
        return Err(Stop::field("mode", "It is \"redirect\" or \"popup\"."));
    }
    let order = at(&what, "order");
    let Some(json) = doors::json(&order) else {
        return Err(Stop::field("order", "It is required, and is sent to your server as JSON."));
    };
    options::needs_a_page("checkout")?;
    let flight = String::from("checkout ") + &json;
    // Of a window that was opened now nothing is under way yet: what is waits for another one.
    if !is(&window, "", Sort::Nothing) {
        forget(inner.flights, &flight);
    }
    let wait = Wait::new(inner, given, how, true)?;
    let under_way = joined(inner.flights, &flight, &at(given, "signal"), || -> Work {
        let ask = Ask::intent(inner, order, json, how);
        let state = State::Begun(ask, wait);
        Box::new(Leaving { inner, flight: flight.clone(), window, state })
    });
    Ok(Box::new(Waiting(Some(under_way))))
}

/// Asks the merchant's server for an intent and leaves for its address. It comes to an end when the customer is back on
/// this very page: by the back button, or from the window.
struct Leaving {
    inner: &'static Inner,
    flight: String,
    window: JsValue,
    state: State,
}

enum State {
    Begun(Ask, Wait),
    Asked(Wait),
    Away(Wait),
    Back,
}

impl Flow for Leaving {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        match std::mem::replace(&mut self.state, State::Back) {
            State::Begun(ask, wait) => {
                self.state = State::Asked(wait);
                Ok(Next::Call(Box::new(ask)))
            }
            State::Asked(mut wait) => {
                let left = self.leave(&came?, &mut wait)?;
                self.state = State::Away(wait);
                Ok(Next::Wait(left))
            }
            State::Away(mut wait) => {
                if !is(&came?, "", Sort::True) {
                    wait.look_once();
                }
                Ok(Next::Call(Box::new(wait)))
            }
            State::Back => came.map(Next::Done),
        }
    }
}

impl Leaving {
    /// Follows the address that the merchant's server answered.
    fn leave(&self, answer: &JsValue, wait: &mut Wait) -> Result<JsValue, Stop> {
        let intent = if is(answer, "intent", Sort::Object) { at(answer, "intent") } else { answer.clone() };
        let said = |name| text(&intent, name).unwrap_or_default();
        let stop = |kind, message: &str| Err(Stop::of(kind, message, INTENT.name, answer));
        let reference = picked(&intent, REFERENCE);
        for name in ["id", "client_secret", "checkout_url"] {
            refuse_secret_key_in(&said(name))?;
        }
        if is(&reference, "id", Sort::Nothing) {
            return stop(Kind::Unreadable, "The merchant's server answered no payment intent.");
        }
        let status = IntentStatus::from(said("status"));
        if status.is_final() {
            let message = String::from("This purchase has come to its end already: ")
                + status.as_str()
                + ". Ask your server how it stands; a new attempt needs a new merchant_reference.";
            return stop(Kind::Settled, &message);
        }
        let address = said("checkout_url");
        checkout_address(&address, &self.inner.checkout_origins).map_err(not_followed)?;
        let nonce = text(answer, "return_nonce").unwrap_or_default();
        let in_a_window = !is(&self.window, "", Sort::Nothing);
        if !nonce.is_empty() {
            let kept = merged(&reference, &make("popup", [in_a_window.into()]));
            doors::keep(&key(&nonce), &kept, &self.window);
        }
        // A navigation may be stopped, and nobody is told: who asks again leaves again.
        if !in_a_window {
            forget(self.inner.flights, &self.flight);
        }
        wait.reference = reference;
        Ok(doors::leave(&address, &self.window, &key(&nonce)))
    }
}

/// `returned()`: who has come back, or `null`; the same answer when asked again.
#[inline(never)]
pub(super) fn returned() -> JsValue {
    let known = doors::answered();
    if is(&known, "", Sort::Object) {
        return known;
    }
    let Some(arrival) = doors::href().as_deref().and_then(arrival) else { return JsValue::NULL };
    let key = arrival.nonce.as_deref().map(key);
    let kept = key.as_deref().map(doors::kept).unwrap_or_default();
    let known = is(&kept, "", Sort::Object).then(|| (purchase(&kept), is(&kept, "taken", Sort::True)));
    let (matched, purchase) = judge(arrival.purchase, known);
    let reference = reference(&purchase);
    if let (Match::Matched, Some(key)) = (matched, &key) {
        doors::keep(key, &merged(&reference, &make("taken", [true.into()])), &JsValue::UNDEFINED);
    }
    let _ = doors::rewrite(&doors::state(), &arrival.clean);
    let answer = make("match reference", [matched.as_str().into(), reference]);
    doors::answer(&answer);
    match key {
        // Another page may wait for it: one that opened this window, or whose customer came back in a new tab.
        Some(key) if matched == Match::Unmatched || is(&kept, "popup", Sort::True) => doors::come_back(&key, &answer),
        _ => answer,
    }
}

/// What says which purchase it is.
pub(super) const REFERENCE: &str = "id payment_ref merchant_reference";

/// Which purchase, as JavaScript sees it.
fn reference(purchase: &Purchase) -> JsValue {
    let Purchase { id, payment_ref, merchant_reference } = purchase;
    make(REFERENCE, [maybe(id.as_deref()), maybe(payment_ref.as_deref()), maybe(merchant_reference.as_deref())])
}

fn purchase(of: &JsValue) -> Purchase {
    Purchase {
        id: text(of, "id"),
        payment_ref: text(of, "payment_ref"),
        merchant_reference: text(of, "merchant_reference"),
    }
}

/// The name under which a tab keeps a purchase (and no secret), and by which its return is told to other tabs.
fn key(nonce: &str) -> String {
    String::from("guichet.return.") + nonce
}
