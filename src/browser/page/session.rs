//! The customer's session: a token in memory, asked for when it is first needed, renewed when it ends.

use super::client::Inner;
use super::merchant::{Ask, SESSION};
use crate::browser::call::How;
use crate::browser::doors::{self, milliseconds, now, today};
use crate::browser::error::{Stop, refuse_secret_key};
use crate::browser::fetch::{Ready, data, send};
use crate::browser::read::{Promise, Sort, is, make, maybe, merged, text};
use crate::browser::task::{Answer, Flow, Next, Work, forget, joined, start};
use crate::flow::{Lifetime, State};
use crate::operations::{RevokeSession, ValidateSession};
use crate::protocol::Kind;
use crate::values::SessionToken;
use std::cell::{Cell, RefCell};
use wasm_bindgen::prelude::*;

/// The word that the page's other tabs hear when one of them signs out; when that was follows it.
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
        Self { held: RefCell::default(), ended: Cell::new(false), age: Cell::new(0), tell, say }
    }

    /// Takes the answer of a session route. The token is checked before anything else is done with it.
    fn take(&self, answer: &JsValue) -> Result<(), Stop> {
        let mut held = Held {
            token: token_of(answer)?,
            life: Lifetime::new(0.0, f64::NAN),
            expires_at: f64::NAN,
            email: None,
            spent: false,
        };
        held.learn(answer);
        self.held.replace(Some(held));
        self.ended.set(false);
        self.tell();
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
        self.tell();
    }

    /// Tells the page where the session stands: when it ends in milliseconds since 1970, whose it is, and how long it
    /// stands so.
    pub(super) fn tell(&self) {
        let ended = self.ended.get().then_some(State::Revoked);
        let shown = match &*self.held.borrow() {
            Some(held) => {
                let state = if held.spent { State::Expired } else { held.life.state(now()) };
                let lasts = held.life.lasts(now()).filter(|_| !held.spent);
                make(
                    "state expires_at email lasts",
                    [
                        state.as_str().into(),
                        held.expires_at.into(),
                        maybe(held.email.as_deref()),
                        lasts.map_or(JsValue::UNDEFINED, JsValue::from),
                    ],
                )
            }
            None => make("state", [ended.unwrap_or(State::None).as_str().into()]),
        };
        doors::tell(&self.tell, &shown);
    }
}

impl Held {
    /// Reads whose session it is and when it ends, as far as it is said.
    fn learn(&mut self, about: &JsValue) {
        self.email = text(about, "customer_email").or(self.email.take());
        if let Some(end) = text(about, "expires_at") {
            self.expires_at = milliseconds(&end);
            self.life = Lifetime::new(now(), self.expires_at - today());
        }
    }
}

/// The token that a session route answered.
fn token_of(answer: &JsValue) -> Result<SessionToken, Stop> {
    if is(answer, "", Sort::Nothing) {
        return Err(signed_out());
    }
    let token = text(answer, "").or_else(|| text(answer, "session_token")).unwrap_or_default();
    refuse_secret_key(&token)?;
    if token.is_empty() {
        let said = "The session route answered neither a token nor a session.";
        return Err(Stop::of(Kind::Unreadable, said, SESSION.name, answer));
    }
    Ok(SessionToken::new(token))
}

/// A word of another tab, or the time has come that the session stands otherwise.
pub(super) fn hear(inner: &'static Inner, word: &str) {
    if word.starts_with(SIGNED_OUT) {
        sign_out(inner, None);
    } else {
        inner.session.tell();
    }
}

/// Ends the session of this tab, where the service ended this token of it. A token that it did not end is ended there,
/// too, as well as that can be: nobody waits for it.
fn sign_out(inner: &'static Inner, revoked: Option<SessionToken>) {
    let session = &inner.session;
    let held = session.held.replace(None);
    forget(inner.flights, RENEWAL);
    session.ended.set(true);
    session.age.set(session.age.get().wrapping_add(1));
    session.tell();
    if let Some(held) = held.filter(|held| Some(&held.token) != revoked.as_ref()) {
        put_out(inner, &held.token);
    }
}

fn put_out(inner: &'static Inner, token: &SessionToken) {
    if let Ok(work) = revocation(inner, token, How::usual()) {
        start(inner.flights, "put out", work, &JsValue::UNDEFINED);
    }
}

fn revocation(inner: &'static Inner, token: &SessionToken, how: How) -> Result<Work, Stop> {
    send(inner.wire, &Ready::new(&RevokeSession::new())?, token, how)
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
pub(super) struct Revoke(&'static Inner, How, Option<SessionToken>);

impl Revoke {
    pub(super) fn new(inner: &'static Inner, how: How) -> Self {
        Self(inner, how, None)
    }
}

impl Flow for Revoke {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        let Self(inner, how, asked) = self;
        if asked.is_none() {
            *asked = inner.session.held.borrow().as_ref().map(|held| held.token.clone());
            if let Some(token) = asked {
                return revocation(inner, token, *how).map(Next::Call);
            }
        }
        match came {
            Err(stop) if !stop.is(Kind::Session) => return Err(stop),
            _ => {}
        }
        sign_out(inner, asked.take());
        doors::tell(&inner.session.say, &SIGNED_OUT.into());
        Ok(Next::Done(JsValue::UNDEFINED))
    }
}

/// Asks for a token; who asks meanwhile waits for the same answer, each for as long as they care to.
fn renewal(inner: &'static Inner) -> Promise {
    joined(inner.flights, RENEWAL, &JsValue::UNDEFINED, || -> Work {
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
        // Signed out while this was under way: what came is not taken, and ends with the service, too.
        if self.inner.session.age.get() != self.age {
            if let Ok(token) = came.and_then(|answer| token_of(&answer)) {
                put_out(self.inner, &token);
            }
            return Err(signed_out());
        }
        match came {
            Err(stop) if stop.status() == 403 => Err(stop.signed_out()),
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
