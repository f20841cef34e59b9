//! Waits until a purchase is settled, or until the caller's time is over. Reads it from the merchant's server, or from
//! the service itself if there is no such route.

use super::browser::{notify, pause};
use super::error::CallError;
use super::late::late_approval_of_reply;
use super::merchant::MerchantRoutes;
use super::session::Session;
use super::time::{CallOptions, now};
use super::transport::AuthorizedRequest;
use super::value::{get, get_object, get_text, object, optional, set};
use crate::flow::{LateApproval, Ms, OutcomeState, pause_within};
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
    /// Called with each new status, and with what is known then.
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
    pub(crate) reference: JsValue,
    /// The reply that was read last; `undefined` if there is none.
    pub(crate) reply: JsValue,
}

impl Outcome {
    /// As an object of JavaScript. It has these members of the reply alone: that of the service itself has the client
    /// secret.
    pub(crate) fn written(&self) -> JsValue {
        let outcome =
            object(&[("state", optional(Some(self.state.as_str()))), ("reference", Some(self.reference.clone()))]);
        for name in [
            "status",
            "last_payment_error",
            "approvable_until",
            "merchant_reference",
            "amount",
            "amount_payable",
            "as_of",
            "plus_fee",
            "late",
            "delivered",
        ] {
            if let Some(value) = get(&self.reply, name) {
                set(&outcome, name, &value);
            }
        }
        outcome
    }

    /// Whether a declined attempt may still become money. If nothing was read, that is not known.
    pub(crate) fn late_approval(&self) -> LateApproval {
        if self.reply.is_undefined() { LateApproval::Open } else { late_approval_of_reply(&self.reply) }
    }

    /// The last status that was reported.
    pub(crate) fn status(&self) -> Option<String> {
        get_text(&self.reply, "status")
    }
}

/// Reads purchases.
pub(crate) struct Purchases {
    pub(crate) merchant: Rc<MerchantRoutes>,
    pub(crate) session: Rc<Session>,
}

impl Purchases {
    /// Reads the purchase with this reference until it is settled.
    pub(crate) async fn follow(
        self: Rc<Self>,
        reference: JsValue,
        OutcomeOptions { budget, on_status, options, turned_back }: OutcomeOptions,
    ) -> Result<Outcome, CallError> {
        // Not by the device's clock, which may be set meanwhile.
        let until = now() + budget;
        let otherwise = if turned_back { OutcomeState::Unknown } else { OutcomeState::Pending };
        let mut found = Outcome { state: otherwise, reference, reply: JsValue::UNDEFINED };
        let mut is_settled = false;
        let mut reads = 0;
        loop {
            reads += 1;
            let options = options.restarted().at_most((until - now()).max(LAST_READ));
            match self.look(&found.reference, options).await {
                Ok(reply) => {
                    let status = get_text(&reply, "status").unwrap_or_default();
                    let is_new = found.status().as_ref() != Some(&status);
                    found.state = state_of(&reply, &status, turned_back);
                    found.reply = reply;
                    if let Some(on_status) = on_status.as_ref().filter(|_| is_new) {
                        notify(on_status, &(&*status).into(), &found.written());
                    }
                    is_settled = found.state != OutcomeState::Pending;
                }
                // No further read can change that.
                Err(error) if error.is_one_of(&[Kind::Unsupported, Kind::SignedOut, Kind::SecretKey]) => {
                    return if turned_back { Ok(found) } else { Err(error) };
                }
                Err(_) => {}
            }
            match pause_within(reads, until - now()) {
                Some(time) if !is_settled => pause(time).await,
                _ => return Ok(found),
            }
        }
    }

    /// Reads the purchase once. The result has a `status`.
    async fn look(&self, reference: &JsValue, options: CallOptions) -> Result<JsValue, CallError> {
        // A URL parser would resolve these as a step in the path.
        let payment_ref = get_text(reference, "payment_ref").unwrap_or_default();
        let has_route = self.merchant.has("status") && !["", ".", ".."].contains(&payment_ref.as_str());
        let mut found = Err(no_way_to_read());
        if has_route {
            found = self.merchant.request_status(reference.clone(), options).await.map(|answer| answer.data);
        }
        let is_unsupported = |found: &Result<_, CallError>| matches!(found, Err(error) if error.is(Kind::Unsupported));
        if is_unsupported(&found) {
            let other = self.look_with_session(reference, options).await;
            // The first error names the address.
            if !is_unsupported(&other) {
                found = other;
            }
        }
        let found = found?;
        if get(&found, "status").is_some_and(|status| status.is_string()) {
            Ok(found)
        } else {
            Err(CallError::new(Kind::Unreadable, "The reply has no `status`."))
        }
    }

    async fn look_with_session(&self, reference: &JsValue, options: CallOptions) -> Result<JsValue, CallError> {
        let id = get_text(reference, "id").and_then(|id| IntentId::new(id).ok());
        let Some(id) = id.filter(|_| self.merchant.has("session")) else { return Err(no_way_to_read()) };
        let request = AuthorizedRequest::new(&ReadPaymentIntent::new(id))?;
        Ok(Rc::clone(&self.session).send(request, options).await?.data())
    }
}

/// The state of a purchase that was read.
fn state_of(purchase: &JsValue, status: &str, turned_back: bool) -> OutcomeState {
    // The customer has done their part if only the merchant's confirmation is missing.
    let action = get_object(purchase, "next_action").and_then(|action| get_text(&action, "type"));
    let is_done = action.as_deref() == Some("confirm");
    OutcomeState::of(&IntentStatus::from(status.to_owned()), turned_back && !is_done)
}

fn no_way_to_read() -> CallError {
    CallError::new(
        Kind::Unsupported,
        "This purchase cannot be read. Let your server answer GET {merchant}/intents/{payment_ref}.",
    )
}
