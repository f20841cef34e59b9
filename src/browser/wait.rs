//! `waitForOutcome`: looking until a purchase has come to its end, or the caller's patience has.

use super::call::{How, duration};
use super::client::Inner;
use super::error::Stop;
use super::fetch::{Ready, Reply};
use super::page::sleep;
use super::read::{get, maybe, object, text};
use crate::flow::{OutcomeState, pause};
use crate::operations::ReadPaymentIntent;
use crate::protocol::Kind;
use crate::values::{IntentId, IntentStatus, SessionToken};
use std::rc::Rc;
use std::time::Duration;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::js_sys::{Date, Function};

/// How long to look where the caller does not say: a customer has a phone to pick up.
const BUDGET: Duration = Duration::from_secs(120);

/// `waitForOutcome(back, {budgetMs, onStatus})`
pub(super) async fn wait_for_outcome(inner: Rc<Inner>, back: JsValue, given: JsValue) -> Result<JsValue, Stop> {
    let how = How::read(&given)?;
    let until = Clock::begin(duration(&given, "budgetMs")?.unwrap_or(BUDGET));
    let on_status: Option<Function> = get(&given, "onStatus").dyn_into().ok();
    // A return, or a reference itself.
    let reference = Some(get(&back, "reference")).filter(JsValue::is_object).unwrap_or(back);
    let (mut last, mut problem): (Option<String>, _) = (None, JsValue::UNDEFINED);
    for looks in 1.. {
        match look(&inner, &reference, how.again().at_most(until.left())).await {
            Ok(found) => {
                problem = get(&found, "last_payment_error");
                let word = text(&found, "status");
                if word != last {
                    if let (Some(tell), Some(word)) = (&on_status, &word) {
                        let _ = tell.call1(&JsValue::UNDEFINED, &word.into());
                    }
                    last = word;
                }
            }
            Err(stop) if is_the_end(&stop) => return Err(stop),
            Err(_) => {}
        }
        let status = last.clone().map(IntentStatus::from);
        let state = status.as_ref().map_or(OutcomeState::Pending, OutcomeState::of);
        let pause = pause(looks);
        if state != OutcomeState::Pending || until.left() <= pause {
            return Ok(outcome(state, last.as_deref(), &reference, &problem));
        }
        sleep(pause, true).await;
    }
    Err(Stop::new(Kind::Timeout, "The time was over."))
}

/// What a purchase has come to, as JavaScript sees it.
pub(super) fn outcome(state: OutcomeState, status: Option<&str>, reference: &JsValue, problem: &JsValue) -> JsValue {
    let problem = if problem.is_object() { problem.clone() } else { JsValue::UNDEFINED };
    object(&[("state", state.as_str().into()), ("status", maybe(status)), ("reference", reference.clone()), ("last_payment_error", problem)])
}

/// Asks where a purchase stands: the merchant's server first, and where there is none the service itself.
pub(super) async fn look(inner: &Rc<Inner>, reference: &JsValue, how: How) -> Result<JsValue, Stop> {
    if inner.merchant.has("status") && text(reference, "payment_ref").is_some() {
        match inner.merchant.status(&inner.wire, reference, how).await {
            Err(stop) if stop.is(Kind::Unsupported) => {}
            answer => return with_a_status(answer?),
        }
    }
    let id = text(reference, "id").and_then(|id| IntentId::new(id).ok());
    let (Some(id), true) = (id, inner.merchant.has("session")) else { return Err(nobody_to_ask()) };
    let ready = Ready::new::<ReadPaymentIntent, SessionToken>(&ReadPaymentIntent::new(id))?;
    let reply: Reply = inner.with_session(ready, how).await.map_err(|stop| if stop.is(Kind::Unsupported) { nobody_to_ask() } else { stop })?;
    with_a_status(reply.data())
}

fn with_a_status(found: JsValue) -> Result<JsValue, Stop> {
    if get(&found, "status").is_string() { Ok(found) } else { Err(Stop::new(Kind::Unreadable, "The reply says no status.")) }
}

fn nobody_to_ask() -> Stop {
    Stop::new(
        Kind::Unsupported,
        "Nobody can say how this purchase stands: let your server answer GET {merchant}/intents/{payment_ref} with {status}, or pass merchant.status.",
    )
}

/// What no further look can mend.
fn is_the_end(stop: &Stop) -> bool {
    [Kind::Unsupported, Kind::SignedOut, Kind::SecretKey].iter().any(|kind| stop.is(*kind))
}

/// The wall clock, since a page's own may stand still while the device sleeps.
struct Clock(f64);

impl Clock {
    fn begin(budget: Duration) -> Self {
        Self(Date::now() + budget.as_secs_f64() * 1000.0)
    }

    fn left(&self) -> Duration {
        Duration::from_secs_f64(((self.0 - Date::now()) / 1000.0).clamp(0.0, 1e9))
    }
}
