//! Moving an intent so that nobody is charged twice, and following it until it is settled or needs its customer.

use super::Open;
use crate::browser::call::How;
use crate::browser::doors::{self, now};
use crate::browser::error::Stop;
use crate::browser::fetch::Ready;
use crate::browser::read::at;
use crate::browser::task::{Answer, Flow, Next, Work};
use crate::flow::{AfterLost, Ms, Standing, after_lost, pause, pause_within};
use crate::operations::ReadPaymentIntent;
use crate::protocol::Kind;
use crate::values::{ClientSecret, IntentStatus};
use wasm_bindgen::prelude::*;

/// How often one move is sent, where each time it is known that the one before never arrived.
const SENDINGS: u32 = 3;

/// What is done before an intent is followed.
pub(super) enum Asked {
    Nothing,
    Look,
    Move(Work),
}

/// Looks until the intent is settled or needs the customer, and comes to the intent.
pub(super) struct Following {
    open: &'static Open,
    first: Option<Work>,
    on_status: JsValue,
    how: How,
    until: Ms,
    looks: u32,
    told: Option<Standing>,
    /// Whether the intent was read since this began; and why it was not, the last time.
    is_seen: bool,
    problem: Option<Stop>,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    Moved,
    Looked,
    Paused,
}

impl Following {
    pub(super) fn new(open: &'static Open, first: Asked, given: &JsValue, budget: Ms, how: How) -> Self {
        let (first, state): (Option<Work>, State) = match first {
            Asked::Nothing => (None, State::Moved),
            Asked::Look => (Some(Box::new(Look::new(open, how))), State::Looked),
            Asked::Move(work) => (Some(work), State::Moved),
        };
        let on_status = at(given, "onStatus");
        let until = now() + budget;
        Self { open, first, on_status, how, until, looks: 1, told: None, is_seen: false, problem: None, state }
    }
}

impl Flow for Following {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        if let Some(first) = self.first.take() {
            return Ok(Next::Call(first));
        }
        let is_known = came.is_ok();
        match (self.state, came) {
            (State::Moved, came) => {
                came?;
                self.is_seen = true;
            }
            (State::Looked, Err(stop)) if stop.is_one_of("session not_found unsupported") => return Err(stop),
            (State::Looked, came) => {
                self.looks += 1;
                self.is_seen |= is_known;
                self.problem = came.err();
            }
            (State::Paused, _) => {
                self.state = State::Looked;
                return Ok(Next::Call(Box::new(Look::new(self.open, self.how.again()))));
            }
        }
        let standing = self.open.standing();
        let intent = self.open.intent.borrow().clone();
        let is_settled = standing.status.is_final() || standing.status == IntentStatus::RequiresAction;
        if self.told.as_ref() != Some(&standing) {
            doors::tell(&self.on_status, &intent);
            self.told = Some(standing);
        }
        match pause_within(self.looks, self.until - now()) {
            Some(pause) if !(is_known && is_settled) => {
                self.state = State::Paused;
                Ok(Next::Wait(doors::pause(pause, true)))
            }
            // What was read before this call is no answer to it.
            _ => match self.problem.take() {
                Some(stop) if !self.is_seen => Err(stop),
                _ => Ok(Next::Done(intent)),
            },
        }
    }
}

/// Reads the intent and keeps it.
pub(super) struct Look {
    open: &'static Open,
    how: How,
    asked: Option<&'static str>,
}

impl Look {
    pub(super) fn new(open: &'static Open, how: How) -> Self {
        Self { open, how, asked: None }
    }
}

impl Flow for Look {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        let open = self.open;
        let Some(name) = self.asked else {
            let ready = Ready::new(&ReadPaymentIntent::new(open.id.clone()))?;
            self.asked = Some(ready.name());
            return open.send(&ready, self.how).map(Next::Call);
        };
        open.keep(&came?, name)?;
        Ok(Next::Done(JsValue::UNDEFINED))
    }
}

/// Sends what moves the intent. Where its answer is lost the intent is looked at, and it is sent again only if it is
/// known never to have arrived.
pub(super) struct Moving {
    open: &'static Open,
    ready: Ready<ClientSecret>,
    how: How,
    before: Standing,
    sendings: u32,
    doing: Doing,
}

enum Doing {
    Begun,
    /// Looking first, since nobody knows what came of the move before.
    Checking,
    Sent,
    /// Looking what became of it: why, for how long yet, how often so far.
    Looking(Stop, How, u32),
    Pausing(Stop, How, u32),
}

impl Moving {
    pub(super) fn new(open: &'static Open, ready: Ready<ClientSecret>, how: How) -> Self {
        Self { open, ready, how, before: open.standing(), sendings: 0, doing: Doing::Begun }
    }

    fn send(&mut self) -> Result<Next, Stop> {
        self.sendings += 1;
        self.open.is_stale.set(true);
        self.doing = Doing::Sent;
        self.open.send(&self.ready, self.how.again()).map(Next::Call)
    }

    fn look(&mut self, stop: Stop, how: How, looks: u32) -> Result<Next, Stop> {
        self.doing = Doing::Looking(stop, how, looks);
        Ok(Next::Call(Box::new(Look::new(self.open, how))))
    }

    /// What to do now that it is known where the intent stands.
    fn judge(&mut self, stop: Stop) -> Result<Next, Stop> {
        let now = self.open.standing();
        let was_refused = !stop.may_have_been_done();
        match after_lost(&self.before, &now) {
            _ if was_refused && now.status.is_final() => {
                let message = String::from("This payment has come to its end already: ")
                    + now.status.as_str()
                    + ". Show the intent as it is, and leave.";
                Err(Stop::of(Kind::Settled, &message, self.ready.name(), &stop.at("reply")))
            }
            AfterLost::Follow if !was_refused => Ok(Next::Done(JsValue::UNDEFINED)),
            // What was answered, however badly, or only late, may still be under way: it is not sent again.
            AfterLost::SendAgain if stop.is_one_of("offline") && self.sendings < SENDINGS => self.send(),
            _ => Err(stop),
        }
    }
}

impl Flow for Moving {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        match (std::mem::replace(&mut self.doing, Doing::Begun), came) {
            (Doing::Begun, _) if self.open.is_stale.get() => {
                self.doing = Doing::Checking;
                Ok(Next::Call(Box::new(Look::new(self.open, self.how.again()))))
            }
            (Doing::Begun, _) => self.send(),
            (Doing::Checking, came) => {
                came?;
                self.before = self.open.standing();
                // The move before has arrived after all: it is followed.
                if self.ready.is_repeatable() || self.before.status == IntentStatus::RequiresAction {
                    self.send()
                } else {
                    Ok(Next::Done(JsValue::UNDEFINED))
                }
            }
            (Doing::Sent, came) => match came.and_then(|answer| self.open.keep(&answer, self.ready.name())) {
                Ok(()) => Ok(Next::Done(JsValue::UNDEFINED)),
                // A conflict means that another tab was first: what the intent is now says more than the refusal.
                Err(stop) if stop.may_have_been_done() || stop.status() == 409 => self.look(stop, self.how.again(), 1),
                Err(stop) => {
                    self.open.is_stale.set(false);
                    Err(stop)
                }
            },
            (Doing::Looking(stop, _, _), Ok(_)) => self.judge(stop),
            // No answer to this either: again and again, for as long as one call may take.
            (Doing::Looking(stop, how, looks), Err(problem)) => {
                let pause = pause(looks);
                if !problem.may_have_been_done() || how.left() <= pause {
                    return Err(stop);
                }
                self.doing = Doing::Pausing(stop, how, looks);
                Ok(Next::Wait(doors::pause(pause, true)))
            }
            (Doing::Pausing(stop, how, looks), _) => self.look(stop, how, looks + 1),
        }
    }
}
