//! `waitForOutcome`: looking until a purchase has come to its end, or the caller's patience has.

use super::call::{How, duration};
use super::client::Inner;
use super::error::Stop;
use super::fetch::Ready;
use super::page::{self, sleep, today};
use super::read::{at, make, maybe, text};
use super::task::{Answer, Work};
use crate::flow::{OutcomeState, pause_within};
use crate::operations::ReadPaymentIntent;
use crate::protocol::Kind;
use crate::values::{IntentId, IntentStatus};
use std::rc::Rc;
use std::time::Duration;
use wasm_bindgen::prelude::*;

/// How long to look where the caller does not say: a customer has a phone to pick up.
const BUDGET: Duration = Duration::from_secs(120);

/// `waitForOutcome(back, {budgetMs, onStatus})`
pub(super) async fn wait_for_outcome(inner: &Rc<Inner>, back: JsValue, given: &JsValue, how: How) -> Answer {
    let until = Clock::begin(duration(given, "budgetMs", BUDGET)?);
    let on_status = at(given, "onStatus");
    // A return, or a reference itself.
    let reference = at(&back, "reference");
    let reference = if reference.is_object() { reference } else { back };
    let (mut last, mut problem) = (None, JsValue::UNDEFINED);
    let mut looks = 1;
    loop {
        match look(inner, &reference, how.again().at_most(until.left())).await {
            Ok(found) => {
                problem = at(&found, "last_payment_error");
                let status = text(&found, "status");
                if status != last {
                    page::tell(&on_status, &maybe(status.as_deref()));
                    last = status;
                }
            }
            // What no further look can mend.
            Err(stop) if stop.is_one_of(&[Kind::Unsupported, Kind::SignedOut, Kind::SecretKey]) => return Err(stop),
            Err(_) => {}
        }
        let state = OutcomeState::of(&IntentStatus::from(last.clone().unwrap_or_default()));
        match pause_within(looks, until.left()) {
            Some(pause) if state == OutcomeState::Pending => sleep(pause, true).await,
            _ => return Ok(outcome(state, last.as_deref(), &reference, problem)),
        }
        looks += 1;
    }
}

/// What a purchase has come to, as JavaScript sees it.
pub(super) fn outcome(state: OutcomeState, status: Option<&str>, reference: &JsValue, problem: JsValue) -> JsValue {
    let problem = if problem.is_object() { problem } else { JsValue::UNDEFINED };
    make(
        "state status reference last_payment_error",
        [state.as_str().into(), maybe(status), reference.clone(), problem],
    )
}

/// Asks where a purchase stands: the merchant's server first, and where there is none the service itself.
pub(super) fn look<'a>(inner: &'a Rc<Inner>, reference: &'a JsValue, how: How) -> Work<'a, Answer> {
    Box::pin(async move {
        let mut found = None;
        if inner.merchant.has("status") && text(reference, "payment_ref").is_some() {
            found = match inner.merchant.status(&inner.wire, reference, how).await {
                Err(stop) if stop.is(Kind::Unsupported) => None,
                found => Some(found?),
            };
        }
        let found = match (found, text(reference, "id")) {
            (Some(found), _) => found,
            (None, Some(id)) if inner.merchant.has("session") => {
                let ready = IntentId::new(id)
                    .map_err(|_| nobody_to_ask())
                    .and_then(|id| Ready::new(&ReadPaymentIntent::new(id)));
                match inner.with_session(ready, how).await {
                    Err(stop) if stop.is(Kind::Unsupported) => return Err(nobody_to_ask()),
                    reply => reply?.data(),
                }
            }
            _ => return Err(nobody_to_ask()),
        };
        if at(&found, "status").is_string() {
            Ok(found)
        } else {
            Err(Stop::new(Kind::Unreadable, "The reply says no status."))
        }
    })
}

fn nobody_to_ask() -> Stop {
    Stop::new(
        Kind::Unsupported,
        "Nobody can say how this purchase stands: let your server answer GET {merchant}/intents/{payment_ref} with {status}, or pass merchant.status.",
    )
}

/// The wall clock, since a page's own may stand still while the device sleeps.
struct Clock(f64);

impl Clock {
    fn begin(budget: Duration) -> Self {
        Self(today() + page::ms(budget))
    }

    fn left(&self) -> Duration {
        Duration::from_millis((self.0 - today()) as u64)
    }
}
