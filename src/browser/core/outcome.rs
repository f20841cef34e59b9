//! Waits until a purchase is settled, or until the caller's time is over. Reads it from the merchant's server, or from
//! the service itself if there is no such route.

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

/// The time limit of the last read, even if the caller's time is over.
const LAST_READ: Ms = 5_000.0;

/// The options of waiting for an outcome.
pub(crate) struct OutcomeOptions {
    /// The time to wait in total.
    pub(crate) budget: Ms,
    /// Called with each new status.
    pub(crate) on_status: Option<Function>,
    /// The time limit of each read.
    pub(crate) options: CallOptions,
    /// The customer has returned from the hosted page: if they have not paid yet, they will not pay now.
    pub(crate) turned_back: bool,
}

impl OutcomeOptions {
    /// Long enough for a customer to pick up a phone and confirm.
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
    /// Reads the purchase with this reference until it is settled.
    pub(crate) async fn follow(
        self: Rc<Self>,
        reference: JsValue,
        OutcomeOptions { budget, on_status, options, turned_back }: OutcomeOptions,
    ) -> Result<Outcome, CallError> {
        // By the wall clock: the page's own clock may stop while the device sleeps.
        let until = wall_clock_ms() + budget;
        let mut found = JsValue::UNDEFINED;
        let mut reads = 0;
        loop {
            reads += 1;
            let options = options.restarted().at_most((until - wall_clock_ms()).max(LAST_READ));
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
                // No further read can change that.
                Err(error) if error.is_one_of(&[Kind::Unsupported, Kind::SignedOut, Kind::SecretKey]) => {
                    return if turned_back { Ok(outcome(found, reference, turned_back)) } else { Err(error) };
                }
                Err(_) => {}
            }
            match pause_within(reads, until - wall_clock_ms()) {
                Some(time) if matches!(state_of(&found, turned_back), None | Some(OutcomeState::Pending)) => {
                    pause(time).await;
                }
                _ => return Ok(outcome(found, reference, turned_back)),
            }
        }
    }

    /// Reads the purchase once. The result has a `status`.
    async fn look(self: &Rc<Self>, reference: &JsValue, options: CallOptions) -> Result<JsValue, CallError> {
        // A URL parser would resolve these as a step in the path.
        let payment_ref = get_text(reference, "payment_ref").unwrap_or_default();
        let has_route = self.merchant.has("status") && !["", ".", ".."].contains(&payment_ref.as_str());
        let mut found =
            if has_route { self.request_status(reference.clone(), options).await } else { Err(no_way_to_read()) };
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
            return Err(no_way_to_read());
        };
        match self.send_with_session(AuthorizedRequest::new(&ReadPaymentIntent::new(id))?, options).await {
            Err(error) if error.is(Kind::Unsupported) => Err(no_way_to_read()),
            reply => Ok(reply?.data()),
        }
    }
}

/// The state of a purchase from the last read.
fn state_of(found: &JsValue, turned_back: bool) -> Option<OutcomeState> {
    let status = IntentStatus::from(get_text(found, "status")?);
    // The customer has done their part if only the merchant's confirmation is missing.
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

fn no_way_to_read() -> CallError {
    CallError::new(
        Kind::Unsupported,
        "There is no way to look up this purchase. Let your server answer GET {merchant}/intents/{payment_ref} with {status}, or pass `merchant.status`.",
    )
}
