//! The customer's session: a token in memory, asked for when it is first needed, renewed when it ends.

use super::call::How;
use super::client::Inner;
use super::error::{Stop, refuse_secret_key};
use super::fetch::{Ready, Reply};
use super::page::{self, now, today};
use super::read::{at, make, merged, milliseconds, text};
use super::task::{Answer, Flight, Work, joined};
use crate::flow::{Base, Lifetime, State};
use crate::operations::{RevokeSession, ValidateSession};
use crate::protocol::Kind;
use crate::values::SessionToken;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use wasm_bindgen::prelude::*;

/// The word that the page's other tabs hear when one of them signs out.
const SIGNED_OUT: &str = "signed_out";

pub(super) struct Session {
    held: RefCell<Option<Held>>,
    /// Signed out: nothing is asked for until `renew`.
    ended: Cell<bool>,
    /// Counts the sign-outs, so that a token asked for before one is not taken after it.
    age: Cell<u32>,
    asking: Flight,
    tell: JsValue,
    last_told: Cell<State>,
    channel: String,
    say: RefCell<Option<JsValue>>,
}

/// The token at hand.
#[derive(Clone)]
struct Held {
    token: SessionToken,
    life: Lifetime,
    expires_at: Option<f64>,
    email: Option<String>,
    /// The service said that it is no longer good.
    spent: bool,
}

impl Session {
    pub(super) fn new(tell: JsValue, base: &Base) -> Self {
        Self {
            held: RefCell::default(),
            ended: Cell::new(false),
            age: Cell::new(0),
            asking: Flight::default(),
            tell,
            last_told: Cell::new(State::None),
            channel: base.with("#guichet"),
            say: RefCell::default(),
        }
    }

    pub(super) fn hear_other_tabs(inner: &Rc<Inner>) {
        let weak: Weak<Inner> = Rc::downgrade(inner);
        let hear = Closure::<dyn Fn(JsValue)>::new(move |word: JsValue| {
            if let (Some(inner), Some(SIGNED_OUT)) = (weak.upgrade(), word.as_string().as_deref()) {
                inner.session.end();
            }
        });
        let say = page::tabs(&inner.session.channel, &hear.into_js_value());
        inner.session.say.replace(Some(say.into()));
    }

    pub(super) fn state(&self) -> State {
        match &*self.held.borrow() {
            _ if self.ended.get() => State::Revoked,
            None => State::None,
            Some(held) if held.spent => State::Expired,
            Some(held) => held.life.state(now()),
        }
    }

    pub(super) fn expires_at(&self) -> Option<f64> {
        self.held.borrow().as_ref().and_then(|held| held.expires_at)
    }

    pub(super) fn email(&self) -> Option<String> {
        self.held.borrow().as_ref().and_then(|held| held.email.clone())
    }

    fn end(&self) {
        self.held.replace(None);
        self.asking.replace(None);
        self.ended.set(true);
        self.age.set(self.age.get().wrapping_add(1));
        self.changed();
    }

    /// Takes the answer of a session route. The token is checked before anything else is done with it.
    fn take(&self, answer: &JsValue) -> Result<(), Stop> {
        if answer.is_null() || answer.is_undefined() {
            return Err(signed_out());
        }
        let token = answer.as_string().or_else(|| text(answer, "session_token")).unwrap_or_default();
        refuse_secret_key(&token)?;
        if token.is_empty() {
            let said = "The session route answered neither a token nor a session.";
            return Err(Stop::of(Kind::Unreadable, said, super::merchant::SESSION.name, answer));
        }
        let mut held = Held {
            token: SessionToken::new(token),
            life: Lifetime::new(now(), None),
            expires_at: None,
            email: None,
            spent: false,
        };
        held.learn(answer);
        self.held.replace(Some(held));
        self.ended.set(false);
        self.changed();
        Ok(())
    }

    /// The service does not take this token any more.
    fn spend(&self, token: &SessionToken) {
        if let Some(held) = self.held.borrow_mut().as_mut().filter(|held| held.token == *token) {
            held.spent = true;
        }
        self.changed();
    }

    fn changed(&self) {
        let state = self.state();
        if self.last_told.replace(state) != state {
            page::tell(&self.tell, &state.as_str().into());
        }
    }
}

impl Held {
    /// Reads whose session it is and when it ends, as far as it is said.
    fn learn(&mut self, about: &JsValue) {
        self.email = text(about, "customer_email").or(self.email.take());
        if let Some(end) = text(about, "expires_at") {
            self.expires_at = Some(milliseconds(&end)).filter(|end| end.is_finite());
            self.life = Lifetime::new(now(), self.expires_at.map(|end| end - today()));
        }
    }
}

impl Inner {
    /// Whether the token at hand is good. It never renews; with no token yet it asks for the first one.
    pub(super) async fn validate(self: &Rc<Self>, how: How) -> Answer {
        let token = match self.token(how, false).await {
            Err(stop) if stop.is(Kind::SignedOut) => return Ok(not_valid("signed_out")),
            token => token?,
        };
        let said = match self.wire.send(&ValidateSession::new(), &token, how).await {
            Ok(reply) => merged(&make("valid", [true.into()]), &reply.data()),
            Err(stop) if stop.is(Kind::Session) => {
                let code = text(&stop.at("code"), "").unwrap_or_default();
                merged(&not_valid(code.strip_prefix("session_").unwrap_or("unknown")), &stop.at("reply.data"))
            }
            Err(stop) => return Err(stop),
        };
        if at(&said, "valid").is_falsy() {
            self.session.spend(&token);
        } else if let Some(held) = self.session.held.borrow_mut().as_mut().filter(|held| held.token == token) {
            held.learn(&said);
        }
        Ok(said)
    }

    /// Asks the merchant's server for a token, whatever is at hand, and signs in again where it gives one.
    pub(super) async fn renew(self: &Rc<Self>, how: How) -> Answer {
        self.renewed(how).await?;
        Ok(JsValue::UNDEFINED)
    }

    /// Ends the session with the service, and with it every call of every tab until `renew`.
    pub(super) async fn revoke(self: &Rc<Self>, how: How) -> Answer {
        let token = self.session.held.borrow().as_ref().map(|held| held.token.clone());
        if let Some(token) = token {
            match self.wire.send(&RevokeSession::new(), &token, how).await {
                Err(stop) if !stop.is(Kind::Session) => return Err(stop),
                _ => {}
            }
        }
        self.session.end();
        page::tell(self.session.say.borrow().as_ref().unwrap_or(&JsValue::UNDEFINED), &SIGNED_OUT.into());
        Ok(JsValue::UNDEFINED)
    }

    /// Sends with the session's token. A 401 was not executed: one renewal, and it is sent once more.
    pub(super) fn with_session(
        self: &Rc<Self>,
        ready: Result<Ready<SessionToken>, Stop>,
        how: How,
    ) -> Work<'static, Result<Reply, Stop>> {
        let inner = Rc::clone(self);
        Box::pin(async move {
            let ready = ready?;
            let mut is_renewed = false;
            loop {
                let token = inner.token(how, true).await?;
                let answer = inner.wire.send_ready(Ok(ready.clone()), &token, how).await;
                if !matches!(&answer, Err(stop) if stop.is(Kind::Session)) {
                    return answer;
                }
                inner.session.spend(&token);
                if is_renewed {
                    return answer;
                }
                is_renewed = true;
            }
        })
    }

    /// The token to send; with `fresh`, not one that has ended or is about to.
    fn token(self: &Rc<Self>, how: How, fresh: bool) -> Work<'static, Result<SessionToken, Stop>> {
        let inner = Rc::clone(self);
        Box::pin(async move {
            if inner.session.ended.get() {
                return Err(signed_out());
            }
            let held = inner.session.held.borrow().clone();
            let Some(held) = held else { return inner.renewed(how).await };
            if !fresh || !(held.spent || held.life.is_ending(now())) {
                return Ok(held.token);
            }
            match inner.renewed(how).await {
                // It could not be renewed in its last seconds, and is good for these.
                Err(stop) if !held.spent && held.life.state(now()) == State::Expiring && stop.may_have_been_done() => {
                    Ok(held.token)
                }
                renewed => renewed,
            }
        })
    }

    /// Asks for a token; who asks meanwhile waits for the same answer.
    async fn renewed(self: &Rc<Self>, how: How) -> Result<SessionToken, Stop> {
        let inner = Rc::clone(self);
        joined(&self.session.asking, &JsValue::UNDEFINED, || inner.ask_for_a_token(how)).await?;
        let held = self.session.held.borrow();
        held.as_ref().map(|held| held.token.clone()).ok_or_else(signed_out)
    }

    async fn ask_for_a_token(self: Rc<Self>, how: How) -> Answer {
        let age = self.session.age.get();
        let answer = self.merchant.session(&self.wire, how).await;
        // Signed out while this was under way: what came is not taken.
        if self.session.age.get() != age {
            return Err(signed_out());
        }
        self.session.take(&answer?)?;
        Ok(JsValue::UNDEFINED)
    }
}

fn not_valid(reason: &str) -> JsValue {
    make("valid reason", [false.into(), reason.into()])
}

fn signed_out() -> Stop {
    Stop::new(Kind::SignedOut, "Nobody is signed in.")
}
