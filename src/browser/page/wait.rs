//! `waitForOutcome`: looking until a purchase has come to its end, or the caller's patience has.

use super::client::Inner;
use super::look::{Look, outcome};
use crate::browser::call::{How, duration};
use crate::browser::doors::{self, sleep, today};
use crate::browser::error::Stop;
use crate::browser::read::{Sort, at, is, maybe, text};
use crate::browser::task::{Answer, Flow, Next};
use crate::flow::{OutcomeState, pause_within};
use crate::values::IntentStatus;
use std::rc::Rc;
use std::time::Duration;
use wasm_bindgen::prelude::*;

/// How long to look where the caller does not say: a customer has a phone to pick up.
const BUDGET: Duration = Duration::from_secs(120);

/// `waitForOutcome(back, {budgetMs, onStatus})`
pub(super) struct Wait {
    inner: Rc<Inner>,
    reference: JsValue,
    on_status: JsValue,
    how: How,
    /// By the wall clock, since a page's own may stand still while the device sleeps.
    until: f64,
    looks: u32,
    looking: bool,
    /// What was seen last.
    found: JsValue,
    status: Option<String>,
}

impl Wait {
    pub(super) fn new(inner: Rc<Inner>, back: JsValue, given: &JsValue, how: How) -> Result<Self, Stop> {
        let until = today() + doors::ms(duration(given, "budgetMs", BUDGET)?);
        // A return, or a reference itself.
        let reference = if is(&back, "reference", Sort::Object) { at(&back, "reference") } else { back };
        let on_status = at(given, "onStatus");
        let found = JsValue::UNDEFINED;
        Ok(Self { inner, reference, on_status, how, until, looks: 0, looking: false, found, status: None })
    }

    fn left(&self) -> Duration {
        Duration::from_millis((self.until - today()) as u64)
    }

    fn saw(&mut self, found: JsValue) {
        let status = text(&found, "status");
        if status != self.status {
            doors::tell(&self.on_status, &maybe(status.as_deref()));
        }
        self.status = status;
        self.found = found;
    }
}

impl Flow for Wait {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        self.looking = !self.looking;
        if self.looking {
            came?;
            self.looks += 1;
            let how = self.how.again().at_most(self.left());
            return Ok(Next::Call(Box::new(Look::new(&self.inner, &self.reference, how))));
        }
        match came {
            Ok(found) => self.saw(found),
            // What no further look can mend.
            Err(stop) if stop.is_one_of("unsupported signed_out secret_key") => return Err(stop),
            Err(_) => {}
        }
        let state = OutcomeState::of(&IntentStatus::from(self.status.clone().unwrap_or_default()));
        match pause_within(self.looks, self.left()) {
            Some(pause) if state == OutcomeState::Pending => Ok(Next::Wait(sleep(pause, true))),
            _ => Ok(Next::Done(outcome(state, self.status.as_deref(), &self.reference, &self.found))),
        }
    }
}
