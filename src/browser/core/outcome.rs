//! Waiting until a purchase is settled, or until the caller's budget is spent. The merchant's server is asked first, and
//! the service itself where there is no such route.

use super::call_options::CallOptions;
use super::error::CallError;
use super::page::{notify, pause, wall_clock_ms};
use super::shop::Shop;
use super::transport::AuthorizedRequest;
use super::value::{get, get_text, optional};
use crate::flow::{Ms, OutcomeState, pause_within};
use crate::operations::ReadPaymentIntent;
use crate::protocol::Kind;
use crate::values::{IntentId, IntentStatus};
use js_sys::Function;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// How long the last look may take, though the budget is spent.
const LAST_LOOK: Ms = 5_000.0;

/// How to wait for an outcome.
pub(crate) struct OutcomeOptions {
    /// How long to look.
    pub(crate) budget: Ms,
    /// Called with each new status.
    pub(crate) on_status: Option<Function>,
    /// How long each look may take.
    pub(crate) options: CallOptions,
    /// The customer is back from the hosted page: what they have not paid, they do not pay now.
    pub(crate) turned_back: bool,
}

impl OutcomeOptions {
    /// A customer has a phone to pick up.
    pub(crate) const DEFAULT_BUDGET: Ms = 120_000.0;
}

/// The state of a purchase.
#[derive(Clone)]
pub(crate) struct Outcome {
    pub(crate) state: OutcomeState,
    pub(crate) status: Option<String>,
    pub(crate) reference: JsValue,
    /// The service's own object, or `undefined`.
    pub(crate) last_payment_error: JsValue,
}

impl Shop {
    /// Looks until the purchase of this reference is settled.
    pub(crate) async fn follow(
        self: Rc<Self>,
        reference: JsValue,
        OutcomeOptions { budget, on_status, options, turned_back }: OutcomeOptions,
    ) -> Result<Outcome, CallError> {
        // By the wall clock: a page's own may stand still while the device sleeps.
        let until = wall_clock_ms() + budget;
        let mut found = JsValue::UNDEFINED;
        let mut looks = 0;
        loop {
            looks += 1;
            let options = options.restarted().at_most((until - wall_clock_ms()).max(LAST_LOOK));
            match self.look(&reference, options).await {
                Ok(now) => {
                    let status = get_text(&now, "status");
                    if let Some(on_status) = &on_status
                        && status != get_text(&found, "status")
                    {
                        notify(on_status, &optional(status.as_deref()));
                    }
                    found = now;
                }
                // No further look can change that.
                Err(error) if error.is_one_of(&[Kind::Unsupported, Kind::SignedOut, Kind::SecretKey]) => {
                    return if turned_back { Ok(outcome(found, reference, turned_back)) } else { Err(error) };
                }
                Err(_) => {}
            }
            match pause_within(looks, until - wall_clock_ms()) {
                Some(time) if matches!(state_of(&found, turned_back), None | Some(OutcomeState::Pending)) => {
                    pause(time).await;
                }
                _ => return Ok(outcome(found, reference, turned_back)),
            }
        }
    }

    /// One look. Its result has a `status`.
    async fn look(self: &Rc<Self>, reference: &JsValue, options: CallOptions) -> Result<JsValue, CallError> {
        // A URL parser would take these for a step in the path.
        let payment_ref = get_text(reference, "payment_ref").unwrap_or_default();
        let has_route = self.merchant.has("status") && !["", ".", ".."].contains(&payment_ref.as_str());
        let mut found =
            if has_route { self.ask_status(reference.clone(), options).await } else { Err(nobody_to_ask()) };
        if matches!(&found, Err(error) if error.is(Kind::Unsupported)) {
            found = self.look_with_session(reference, options).await;
        }
        let found = found?;
        if get(&found, "status").is_string() {
            Ok(found)
        } else {
            Err(CallError::new(Kind::Unreadable, "The reply has no `status`."))
        }
    }

    async fn look_with_session(
        self: &Rc<Self>,
        reference: &JsValue,
        options: CallOptions,
    ) -> Result<JsValue, CallError> {
        let Some(Ok(id)) = get_text(reference, "id").map(IntentId::new).filter(|_| self.merchant.has("session")) else {
            return Err(nobody_to_ask());
        };
        match self.send_with_session(AuthorizedRequest::new(&ReadPaymentIntent::new(id))?, options).await {
            Err(error) if error.is(Kind::Unsupported) => Err(nobody_to_ask()),
            reply => Ok(reply?.data()),
        }
    }
}

/// What a purchase has come to, as far as it was seen.
fn state_of(found: &JsValue, turned_back: bool) -> Option<OutcomeState> {
    let status = IntentStatus::from(get_text(found, "status")?);
    // A purchase that its merchant has yet to confirm: the customer has done their part.
    let is_done = get_text(&get(found, "next_action"), "type").as_deref() == Some("confirm");
    Some(OutcomeState::of(&status, turned_back && !is_done))
}

fn outcome(found: JsValue, reference: JsValue, turned_back: bool) -> Outcome {
    let otherwise = if turned_back { OutcomeState::Unknown } else { OutcomeState::Pending };
    let last_payment_error = get(&found, "last_payment_error");
    Outcome {
        state: state_of(&found, turned_back).unwrap_or(otherwise),
        status: get_text(&found, "status"),
        reference,
        last_payment_error: if last_payment_error.is_object() { last_payment_error } else { JsValue::UNDEFINED },
    }
}

fn nobody_to_ask() -> CallError {
    CallError::new(
        Kind::Unsupported,
        "There is no way to look up this purchase. Let your server answer GET {merchant}/intents/{payment_ref} with {status}, or pass `merchant.status`.",
    )
}
