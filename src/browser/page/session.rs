//! The customer's session: a token in memory, asked for when it is first needed, renewed when it ends.

use super::client::Inner;
use super::merchant::{Ask, SESSION};
use crate::browser::call::How;
use crate::browser::doors::{self, milliseconds, now, today};
use crate::browser::error::{Stop, refuse_secret_key};
use crate::browser::fetch::{Ready, data, send};
use crate::browser::read::{Promise, Sort, is, make, maybe, merged, text};
use crate::browser::task::{Answer, Flow, Next, Work, forget, joined};
use crate::flow::{Lifetime, State};
use crate::operations::{RevokeSession, ValidateSession};
use crate::protocol::Kind;
use crate::values::SessionToken;
use std::cell::{Cell, RefCell};
use wasm_bindgen::prelude::*;

/// The word that the page's other tabs hear when one of them signs out.
const SIGNED_OUT: &str = "signed_out";
/// The renewal under way, as it is joined.
const RENEWAL: &str = "renewal";

pub(super) struct Session {
    held: RefCell<Option<Held>>,
    /// Signed out: nothing is asked for until `renew`.
    ended: Cell<bool>,
    /// Counts the sign-outs, so that a token asked for before one is not taken after it.
    age: Cell<u32>,
    tell: JsValue,
    say: JsValue,
    last_told: Cell<State>,
}

/// The token at hand.
#[derive(Clone)]
struct Held {
    token: SessionToken,
    life: Lifetime,
    /// NaN where it is not known.
    expires_at: f64,
    email: Option<String>,
    /// The service said that it is no longer good.
    spent: bool,
}

impl Session {
    pub(super) fn new(tell: JsValue, say: JsValue) -> Self {
        Self {
            held: RefCell::default(),
            ended: Cell::new(false),
            age: Cell::new(0),
            tell,
            say,
            last_told: Cell::new(State::None),
        }
    }

    fn state(&self) -> State {
        match &*self.held.borrow() {
            _ if self.ended.get() => State::Revoked,
            None => State::None,
            Some(held) if held.spent => State::Expired,
            Some(held) => held.life.state(now()),
        }
    }

    /// As JavaScript sees it.
    pub(super) fn shown(&self) -> JsValue {
        let state = self.state().as_str().into();
        match &*self.held.borrow() {
            Some(held) => make("state expires_at email", [state, held.expires_at.into(), maybe(held.email.as_deref())]),
            None => make("state", [state]),
        }
    }

    pub(super) fn hear(&self, flights: &JsValue, word: &str) {
        if word == SIGNED_OUT {
            self.end(flights);
        }
    }

    fn end(&self, flights: &JsValue) {
        self.held.replace(None);
        forget(flights, RENEWAL);
        self.ended.set(true);
        self.age.set(self.age.get().wrapping_add(1));
        self.changed();
    }

    /// Takes the answer of a session route. The token is checked before anything else is done with it.
    fn take(&self, answer: &JsValue) -> Result<(), Stop> {
        if is(answer, "", Sort::Nothing) {
            return Err(signed_out());
        }
        let token = text(answer, "").or_else(|| text(answer, "session_token")).unwrap_or_default();
        refuse_secret_key(&token)?;
        if token.is_empty() {
            let said = "The session route answered neither a token nor a session.";
            return Err(Stop::of(Kind::Unreadable, said, SESSION.name, answer));
        }
        let mut held = Held {
            token: SessionToken::new(token),
            life: Lifetime::new(now(), None),
            expires_at: f64::NAN,
            email: None,
            spent: false,
        };
        held.learn(answer);
        self.held.replace(Some(held));
        self.ended.set(false);
        self.changed();
        Ok(())
    }

    /// The service said of this token that it is good, and more of it; or that it is not.
    fn heard(&self, token: &SessionToken, good: Option<&JsValue>) {
        if let Some(held) = self.held.borrow_mut().as_mut().filter(|held| held.token == *token) {
            match good {
                Some(said) => held.learn(said),
                None => held.spent = true,
            }
        }
        self.changed();
    }

    fn changed(&self) {
        let state = self.state();
        if self.last_told.replace(state) != state {
            doors::tell(&self.tell, &state.as_str().into());
        }
    }
}

impl Held {
    /// Reads whose session it is and when it ends, as far as it is said.
    fn learn(&mut self, about: &JsValue) {
        self.email = text(about, "customer_email").or(self.email.take());
        if let Some(end) = text(about, "expires_at") {
            self.expires_at = milliseconds(&end);
            self.life = Lifetime::new(now(), Some(self.expires_at - today()));
        }
    }
}

/// Sends with the session's token, and comes to the answer. A 401 was not executed: one renewal, and it is sent once
/// more.
pub(super) struct WithSession {
    inner: &'static Inner,
    ready: Ready<SessionToken>,
    how: How,
    /// Whether a token is renewed that has ended, or that the service does not take.
    renews: bool,
    renewed: bool,
    state: Sent,
}

enum Sent {
    NotYet,
    /// Waiting for a token.
    Asking,
    With(SessionToken),
}

impl WithSession {
    pub(super) fn new(inner: &'static Inner, ready: Ready<SessionToken>, how: How) -> Self {
        Self { inner, ready, how, renews: true, renewed: false, state: Sent::NotYet }
    }

    fn begin(&mut self) -> Result<Next, Stop> {
        if self.inner.session.ended.get() {
            return Err(signed_out());
        }
        match self.held() {
            Some(held) if !self.renews || !(held.spent || held.life.is_ending(now())) => self.send(held.token),
            _ => {
                self.state = Sent::Asking;
                Ok(Next::Wait(renewal(self.inner)))
            }
        }
    }

    fn send(&mut self, token: SessionToken) -> Result<Next, Stop> {
        let work = send(self.inner.wire, &self.ready, &token, self.how)?;
        self.state = Sent::With(token);
        Ok(Next::Call(work))
    }

    fn held(&self) -> Option<Held> {
        self.inner.session.held.borrow().clone()
    }
}

impl Flow for WithSession {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        match (&self.state, came) {
            (Sent::NotYet, _) => self.begin(),
            (Sent::Asking, came) => match (came, self.held()) {
                (Ok(_), Some(held)) => self.send(held.token),
                // It could not be renewed in its last seconds, and is good for these.
                (Err(stop), Some(held))
                    if !held.spent && held.life.state(now()) == State::Expiring && stop.may_have_been_done() =>
                {
                    self.send(held.token)
                }
                (Err(stop), _) => Err(stop),
                (Ok(_), None) => Err(signed_out()),
            },
            (Sent::With(token), Err(stop)) if stop.is(Kind::Session) => {
                self.inner.session.heard(token, None);
                if !self.renews || self.renewed {
                    return Err(stop);
                }
                self.renewed = true;
                self.begin()
            }
            (Sent::With(token), came) => {
                let answer = came?;
                if !self.renews {
                    let said = data(&answer);
                    self.inner.session.heard(token, (!is(&said, "valid", Sort::False)).then_some(&said));
                }
                Ok(Next::Done(answer))
            }
        }
    }
}

/// Whether the token at hand is good. It never renews; with no token yet it asks for the first one.
pub(super) struct Validate(&'static Inner, How, bool);

impl Validate {
    pub(super) fn new(inner: &'static Inner, how: How) -> Self {
        Self(inner, how, false)
    }
}

impl Flow for Validate {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        let Self(inner, how, begun) = self;
        if !*begun {
            *begun = true;
            let with_session = WithSession::new(inner, Ready::new(&ValidateSession::new())?, *how);
            return Ok(Next::Call(Box::new(WithSession { renews: false, ..with_session })));
        }
        match came {
            Ok(answer) => Ok(Next::Done(merged(&make("valid", [true.into()]), &data(&answer)))),
            Err(stop) if stop.is(Kind::SignedOut) => Ok(Next::Done(not_valid("signed_out"))),
            Err(stop) if stop.is(Kind::Session) => {
                let code = text(&stop.at("code"), "").unwrap_or_default();
                let said = stop.at("reply.data");
                Ok(Next::Done(merged(&not_valid(code.strip_prefix("session_").unwrap_or("unknown")), &said)))
            }
            Err(stop) => Err(stop),
        }
    }
}

/// Asks the merchant's server for a token, whatever is at hand, and signs in again where it gives one.
pub(super) struct Renew(&'static Inner, bool);

impl Renew {
    pub(super) fn new(inner: &'static Inner) -> Self {
        Self(inner, false)
    }
}

impl Flow for Renew {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        let Self(inner, begun) = self;
        if !*begun {
            *begun = true;
            return Ok(Next::Wait(renewal(inner)));
        }
        came?;
        let is_held = inner.session.held.borrow().is_some();
        if is_held { Ok(Next::Done(JsValue::UNDEFINED)) } else { Err(signed_out()) }
    }
}

/// Ends the session with the service, and with it every call of every tab until `renew`.
pub(super) struct Revoke(&'static Inner, How, bool);

impl Revoke {
    pub(super) fn new(inner: &'static Inner, how: How) -> Self {
        Self(inner, how, false)
    }
}

impl Flow for Revoke {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        let Self(inner, how, begun) = self;
        let token = inner.session.held.borrow().as_ref().map(|held| held.token.clone());
        match (token, came) {
            (Some(token), _) if !*begun => {
                *begun = true;
                return Ok(Next::Call(send(inner.wire, &Ready::new(&RevokeSession::new())?, &token, *how)?));
            }
            (_, Err(stop)) if !stop.is(Kind::Session) => return Err(stop),
            _ => {}
        }
        inner.session.end(&inner.flights);
        doors::tell(&inner.session.say, &SIGNED_OUT.into());
        Ok(Next::Done(JsValue::UNDEFINED))
    }
}

/// Asks for a token; who asks meanwhile waits for the same answer, each for as long as they care to.
fn renewal(inner: &'static Inner) -> Promise {
    joined(&inner.flights, RENEWAL, &JsValue::UNDEFINED, || -> Work {
        let ask: Work = Box::new(Ask::session(inner, How::usual()));
        Box::new(Renewing { inner, ask: Some(ask), age: inner.session.age.get() })
    })
}

struct Renewing {
    inner: &'static Inner,
    ask: Option<Work>,
    age: u32,
}

impl Flow for Renewing {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        if let Some(ask) = self.ask.take() {
            return Ok(Next::Call(ask));
        }
        // Signed out while this was under way: what came is not taken.
        if self.inner.session.age.get() != self.age {
            return Err(signed_out());
        }
        match came {
            Err(stop) if stop.status() == 403 => Err(signed_out()),
            came => {
                self.inner.session.take(&came?)?;
                Ok(Next::Done(JsValue::UNDEFINED))
            }
        }
    }
}

fn not_valid(reason: &str) -> JsValue {
    make("valid reason", [false.into(), reason.into()])
}

fn signed_out() -> Stop {
    Stop::new(Kind::SignedOut, "Nobody is signed in.")
}
