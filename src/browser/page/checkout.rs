//! Leaving for the hosted page, and coming back.

use super::client::Inner;
use super::look::{Look, outcome};
use super::merchant::{Ask, INTENT};
use crate::browser::call::How;
use crate::browser::doors;
use crate::browser::error::{Stop, not_followed, refuse_secret_key_in};
use crate::browser::read::{Sort, at, is, make, maybe, merged, picked, text};
use crate::browser::task::{Answer, Flow, Next, Waiting, Work, joined};
use crate::flow::{Match, OutcomeState, Purchase, arrival, checkout_address, judge};
use crate::protocol::Kind;
use crate::values::IntentStatus;
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// `checkout({order}, {mode: "redirect"})`; a double click joins the same flight.
pub(super) fn checkout(inner: Rc<Inner>, first: JsValue, given: &JsValue, how: How) -> Result<Work, Stop> {
    if !is(given, "mode", Sort::Nothing) && text(given, "mode").as_deref() != Some("redirect") {
        return Err(Stop::field("mode", "This version leaves by \"redirect\" alone."));
    }
    let order = at(&first, "order");
    let Ok(Some(json)) = doors::json(&order) else {
        return Err(Stop::field("order", "It is required, and is sent to your server as JSON."));
    };
    let flight = String::from("checkout ") + &json;
    let under_way = joined(&inner.flights, &flight, &at(given, "signal"), || -> Work {
        let ask = Some(Ask::intent(&inner, order, json, how));
        Box::new(Leaving { inner: Rc::clone(&inner), how, state: State::Asking, ask, reference: JsValue::UNDEFINED })
    });
    Ok(Box::new(Waiting(Some(under_way))))
}

/// Asks the merchant's server for an intent and leaves for its address. It comes to an end only if the customer comes
/// back to this very page, by the back button.
struct Leaving {
    inner: Rc<Inner>,
    how: How,
    state: State,
    ask: Option<Ask>,
    reference: JsValue,
}

enum State {
    Asking,
    Away,
    Looking,
}

impl Flow for Leaving {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        if let Some(ask) = self.ask.take() {
            return Ok(Next::Call(Box::new(ask)));
        }
        match self.state {
            State::Asking => {
                let (address, reference) = self.ticket(&came?)?;
                self.reference = reference;
                let shown_again = doors::shown_again();
                doors::go(&address)?;
                self.state = State::Away;
                Ok(Next::Wait(shown_again))
            }
            State::Away => {
                came?;
                self.state = State::Looking;
                Ok(Next::Call(Box::new(Look::new(&self.inner, &self.reference, self.how.again()))))
            }
            State::Looking => {
                let found = came.unwrap_or_default();
                let status = text(&found, "status");
                let state = OutcomeState::of_one_who_turned_back(status.clone().map(IntentStatus::from).as_ref());
                Ok(Next::Done(outcome(state, status.as_deref(), &self.reference, &found)))
            }
        }
    }
}

impl Leaving {
    /// Reads what the merchant's server answered: where to go, and for which purchase.
    fn ticket(&self, answer: &JsValue) -> Result<(String, JsValue), Stop> {
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
                + ". A new attempt needs a new merchant_reference.";
            return stop(Kind::Settled, &message);
        }
        let address = said("checkout_url");
        checkout_address(&address, &self.inner.checkout_origins).map_err(not_followed)?;
        if let Some(nonce) = text(answer, "return_nonce") {
            remember(&nonce, &reference, false);
        }
        Ok((address, reference))
    }
}

thread_local! {
    /// The return that this page was loaded with: the address it left in the address bar, and the answer.
    static RETURNED: RefCell<(Option<String>, JsValue)> = const { RefCell::new((None, JsValue::NULL)) };
}

/// `returned()`: who has come back, or `null`; the same answer when asked again.
pub(super) fn returned() -> JsValue {
    let address = doors::href();
    let Some(arrival) = address.as_deref().and_then(arrival) else {
        return RETURNED.with_borrow(|(clean, answer)| if *clean == address { answer.clone() } else { JsValue::NULL });
    };
    let kept = arrival.nonce.as_deref().and_then(recall);
    let (matched, purchase) = judge(arrival.purchase, kept);
    if let (Match::Matched, Some(nonce)) = (matched, &arrival.nonce) {
        remember(nonce, &reference(&purchase), true);
    }
    let _ = doors::rewrite(&doors::state(), &arrival.clean);
    let answer = make("match reference", [matched.as_str().into(), reference(&purchase)]);
    RETURNED.set((doors::href(), answer.clone()));
    answer
}

/// What says which purchase it is.
const REFERENCE: &str = "id payment_ref merchant_reference";

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

/// Keeps a purchase under its nonce, in this tab. No secret is kept.
fn remember(nonce: &str, reference: &JsValue, taken: bool) {
    doors::keep(&key(nonce), &merged(reference, &make("taken", [taken.into()])));
}

fn recall(nonce: &str) -> Option<(Purchase, bool)> {
    let kept = doors::kept(&key(nonce));
    is(&kept, "", Sort::Object).then(|| (purchase(&kept), is(&kept, "taken", Sort::True)))
}

fn key(nonce: &str) -> String {
    String::from("guichet.return.") + nonce
}
