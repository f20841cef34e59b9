//! `waitForOutcome`: looking until a purchase has come to its end, or the caller's patience has.

use super::checkout::REFERENCE;
use super::client::Inner;
use super::look::Look;
use crate::browser::call::{How, duration};
use crate::browser::doors::{self, pause, today};
use crate::browser::error::Stop;
use crate::browser::options;
use crate::browser::read::{Sort, at, is, make, maybe, text};
use crate::browser::task::{Answer, Flow, Next};
use crate::flow::{Ms, OutcomeState, pause_within};
use crate::values::IntentStatus;
use wasm_bindgen::prelude::*;

/// How long to look where the caller does not say: a customer has a phone to pick up.
const BUDGET: Ms = 120_000.0;
/// How long the last look may take, though the budget is over.
const LAST_LOOK: Ms = 5_000.0;

/// `waitForOutcome(back, {budgetMs, onStatus})`
pub(super) struct Wait {
    inner: &'static Inner,
    /// Which purchase.
    pub(super) reference: JsValue,
    on_status: JsValue,
    how: How,
    budget: Ms,
    /// The customer is back from the hosted page: what they have not paid they do not pay now.
    turned_back: bool,
    /// By the wall clock, since a page's own may stand still while the device sleeps.
    until: f64,
    looks: u32,
    looking: bool,
    /// What was seen last.
    found: JsValue,
    status: Option<String>,
}

impl Wait {
    pub(super) fn new(inner: &'static Inner, given: &JsValue, how: How, turned_back: bool) -> Result<Self, Stop> {
        Ok(Self {
            inner,
            reference: JsValue::UNDEFINED,
            on_status: at(given, "onStatus"),
            how,
            budget: duration(given, "budgetMs", BUDGET)?,
            turned_back,
            until: 0.0,
            looks: 0,
            looking: false,
            found: JsValue::UNDEFINED,
            status: None,
        })
    }

    /// Of a return, or of a reference itself.
    pub(super) fn of(self, back: JsValue) -> Result<Self, Stop> {
        let reference = if is(&back, "reference", Sort::Object) {
            options::only(&back, "field", "match reference")?;
            at(&back, "reference")
        } else {
            back
        };
        options::only(&reference, "field", REFERENCE)?;
        Ok(Self { reference, ..self })
    }

    /// Looks, and does not wait.
    pub(super) fn look_once(&mut self) {
        self.budget = 0.0;
    }

    fn left(&self) -> Ms {
        self.until - today()
    }

    fn saw(&mut self, found: JsValue) {
        let status = text(&found, "status");
        if status != self.status {
            doors::tell(&self.on_status, &maybe(status.as_deref()));
        }
        self.status = status;
        self.found = found;
    }

    /// What the purchase has come to, as far as it was seen.
    fn state(&self) -> Option<OutcomeState> {
        let status = IntentStatus::from(self.status.clone()?);
        // What its merchant has yet to confirm the customer has done their part of.
        let is_done = text(&self.found, "next_action.type").as_deref() == Some("confirm");
        Some(OutcomeState::of(&status, self.turned_back && !is_done))
    }

    /// As JavaScript sees it.
    fn outcome(&self) -> JsValue {
        let otherwise = if self.turned_back { OutcomeState::Unknown } else { OutcomeState::Pending };
        let problem = at(&self.found, "last_payment_error");
        let problem = if is(&problem, "", Sort::Object) { problem } else { JsValue::UNDEFINED };
        make(
            "state status reference last_payment_error",
            [
                self.state().unwrap_or(otherwise).as_str().into(),
                maybe(self.status.as_deref()),
                self.reference.clone(),
                problem,
            ],
        )
    }
}

impl Flow for Wait {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        self.looking = !self.looking;
        if self.looking {
            if self.looks == 0 {
                self.until = today() + self.budget;
            }
            self.looks += 1;
            let how = self.how.again().at_most(self.left().max(LAST_LOOK));
            return Ok(Next::Call(Box::new(Look::new(self.inner, &self.reference, how))));
        }
        match came {
            Ok(found) => self.saw(found),
            // What no further look can mend.
            Err(stop) if stop.is_one_of("unsupported signed_out secret_key") => {
                return if self.turned_back { Ok(Next::Done(self.outcome())) } else { Err(stop) };
            }
            Err(_) => {}
        }
        match pause_within(self.looks, self.left()) {
            Some(time) if matches!(self.state(), None | Some(OutcomeState::Pending)) => {
                Ok(Next::Wait(pause(time, true)))
            }
            _ => Ok(Next::Done(self.outcome())),
        }
    }
}
