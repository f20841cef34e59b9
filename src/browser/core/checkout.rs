//! Going to the hosted page, and the return from it.

use super::browser::{self, End, Place};
use super::error::{CallError, check_address, check_no_secret_key_in};
use super::flights::SingleFlight;
use super::merchant::{INTENT, MerchantRoutes};
use super::outcome::{Outcome, OutcomeOptions, Purchases};
use super::time::{CallOptions, spawn};
use super::value::{get, get_flag, get_object, get_text, merged, object, optional, set};
use crate::flow::{Match, Purchase, arrival, checkout_address, classify, is_return_nonce};
use crate::protocol::Kind;
use crate::values::IntentStatus;
use js_sys::Array;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use web_sys::console::warn_1;

/// The arguments of a checkout.
pub(crate) struct Checkout {
    /// The order for which the merchant's server creates an intent.
    pub(crate) order: JsValue,
    /// The same as JSON.
    pub(crate) json: String,
    /// Where to follow the address.
    pub(crate) place: Place,
    pub(crate) outcome: OutcomeOptions,
    pub(crate) options: CallOptions,
}

/// Starts checkouts.
pub(crate) struct Checkouts {
    pub(crate) merchant: Rc<MerchantRoutes>,
    pub(crate) purchases: Rc<Purchases>,
    /// The origins that a `checkout_url` may have.
    pub(crate) origins: Vec<String>,
    pub(crate) under_way: SingleFlight<Result<Outcome, CallError>>,
    /// Whether the console already says that the return nonce is missing.
    pub(crate) warned: Cell<bool>,
}

/// The console message for a developer whose server leaves out the nonce.
const MISSING_NONCE: &str =
    "guichet: the popup cannot close. Answer a `return_nonce`, and `redirect_url` with guichet_return=<the same>.";

impl Checkouts {
    /// Starts a checkout. A second click on an order waits for the first checkout; a new popup starts a new one.
    pub(crate) async fn start_or_join(self: Rc<Self>, checkout: Checkout) -> Result<Outcome, CallError> {
        let under_way = match &checkout.place {
            Place::Popup(_) => None,
            _ => self.under_way.under_way(&checkout.json),
        };
        match under_way {
            Some(under_way) => under_way.await,
            None => {
                let key = checkout.json.clone();
                self.under_way.start(key, Box::pin(Rc::clone(&self).leave_and_wait(checkout))).await
            }
        }
    }

    /// Requests an intent from the merchant's server and goes to its address. Ends when the customer returns to this
    /// page: by the back button, or from the popup.
    async fn leave_and_wait(self: Rc<Self>, checkout: Checkout) -> Result<Outcome, CallError> {
        let Checkout { order, json, place, mut outcome, options } = checkout;
        let answer = self.merchant.request_intent(order, json.clone(), options).await?.data;
        let intent = get_object(&answer, "intent").unwrap_or_else(|| answer.clone());
        let reference = reference(&purchase_of(&intent));
        let address = self.address(&intent, &answer)?;
        let nonce = get_text(&answer, "return_nonce").unwrap_or_default();
        let is_popup = matches!(place, Place::Popup(_));
        let kept = merged(&reference, &object(&[("popup", Some(is_popup.into()))]));
        if !is_popup {
            // A navigation may be stopped without an event, so the next click starts it again.
            self.under_way.forget(&json);
        } else if !is_return_nonce(&nonce) && !self.warned.replace(true) {
            warn_1(&MISSING_NONCE.into());
        }
        match browser::leave(&address, &place, &storage_key(&nonce), &kept).await? {
            End::Returned => {}
            End::TurnedBack => outcome.budget = 0.0,
            End::CutOff => outcome.turned_back = false,
        }
        Rc::clone(&self.purchases).follow(reference, outcome).await
    }

    /// The address in the reply of the merchant's server, if it may be followed.
    fn address(&self, intent: &JsValue, answer: &JsValue) -> Result<String, CallError> {
        let text_of = |name| get_text(intent, name).unwrap_or_default();
        let error = |kind, message: &str| Err(CallError::of(kind, message, INTENT.name, Some(answer.clone())));
        for name in ["id", "client_secret", "checkout_url"] {
            check_no_secret_key_in(&text_of(name))?;
        }
        if get_text(intent, "id").is_none() {
            return error(Kind::Unreadable, "The merchant's server answered no payment intent.");
        }
        let status = IntentStatus::from(text_of("status"));
        if status.is_final() {
            let message = ["This purchase is finished: ", status.as_str(), ". Another needs a new merchant_reference."];
            return error(Kind::Settled, &message.concat());
        }
        let address = text_of("checkout_url");
        check_address(checkout_address(&address, &self.origins))?;
        Ok(address)
    }
}

/// The return of a customer.
pub(crate) struct Return {
    pub(crate) matched: Match,
    pub(crate) purchase: Purchase,
}

thread_local! {
    /// The last return of this page, as [`KEPT`] is: every client of the page gets the same result.
    static LAST_RETURN: RefCell<JsValue> = const { RefCell::new(JsValue::UNDEFINED) };
}

/// The member of `history.state` that keeps a return, with the page's address after it: the page may be loaded again,
/// and may have a second copy of the package. A router may take its state along to another address.
const KEPT: &str = "guichetReturn";

/// The return of a customer to this page, if there is one.
pub(crate) fn returned() -> Option<Return> {
    let address = browser::current_address()?;
    let is_of_it = |kept: &JsValue| get_text(kept, "address").as_ref() == Some(&address);
    let last = LAST_RETURN.with_borrow(Clone::clone);
    if is_of_it(&last) {
        return Some(read(&last, false));
    }
    let state = browser::history_state();
    let Some(arrival) = arrival(&address) else {
        return get(&state, KEPT).filter(is_of_it).map(|kept| read(&kept, true));
    };
    let key = arrival.nonce.as_deref().map(storage_key);
    let stored = key.as_deref().and_then(browser::stored);
    let known = stored.as_ref().map(|stored| (purchase_of(stored), get_flag(stored, "taken")));
    let (matched, purchase) = classify(arrival.purchase, known);
    let kept = reference(&purchase);
    if let (Match::Matched, Some(key)) = (matched, &key) {
        browser::store(key, &merged(&kept, &object(&[("taken", Some(true.into()))])), None);
    }
    set(&kept, "match", &matched.as_str().into());
    set(&kept, "address", &(&*arrival.clean).into());
    // The application's own state stays, and does not become an object of another kind.
    let is_plain = state.is_null() || state.is_object() && !Array::is_array(&state);
    let state = if is_plain { merged(&state, &object(&[(KEPT, Some(kept.clone()))])) } else { state };
    let _ = browser::replace_address(&state, &arrival.clean);
    set(&kept, "address", &optional(browser::current_address()).unwrap_or_default());
    let found = read(&kept, false);
    LAST_RETURN.replace(kept);
    // Another page may wait for this return: the one that opened this window, or one whose customer returned in a new
    // tab. If one answers, the checkout continues there and this window closes; no caller waits for the answer.
    let is_awaited = matched == Match::Unmatched || stored.is_some_and(|stored| get_flag(&stored, "popup"));
    if let Some(key) = key.filter(|_| is_awaited) {
        spawn(browser::announce_return(key));
    }
    Some(found)
}

/// Reads a kept return. `again`: this page has been loaded again since.
fn read(kept: &JsValue, again: bool) -> Return {
    let matched = match get_text(kept, "match").as_deref() {
        Some("matched") if !again => Match::Matched,
        Some("unmatched") => Match::Unmatched,
        _ => Match::Replayed,
    };
    Return { matched, purchase: purchase_of(kept) }
}

/// The references of a purchase, as a JavaScript object.
pub(crate) fn reference(purchase: &Purchase) -> JsValue {
    let Purchase { id, payment_ref, merchant_reference } = purchase;
    object(&[
        ("id", optional(id.as_deref())),
        ("payment_ref", optional(payment_ref.as_deref())),
        ("merchant_reference", optional(merchant_reference.as_deref())),
    ])
}

pub(crate) fn purchase_of(object: &JsValue) -> Purchase {
    Purchase {
        id: get_text(object, "id"),
        payment_ref: get_text(object, "payment_ref"),
        merchant_reference: get_text(object, "merchant_reference"),
    }
}

/// The key under which a tab stores a purchase (and no secret), and the channel on which its return is announced.
fn storage_key(nonce: &str) -> String {
    ["guichet.return.", nonce].concat()
}
