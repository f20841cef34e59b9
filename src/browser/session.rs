//! The customer's session: a token in memory, asked for when it is first needed, renewed when it ends.

use super::call::How;
use super::client::{Inner, told};
use super::error::{Stop, refuse_secret_key};
use super::fetch::{Ready, Reply};
use super::page::{self, now};
use super::read::{get, object, plain_text, text};
use crate::flow::{Base, Lifetime, State};
use crate::operations::{RevokeSession, ValidateSession};
use crate::protocol::{Credential, Kind};
use crate::values::SessionToken;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::js_sys::{Date, Function, Promise};
use wasm_bindgen_futures::{JsFuture, future_to_promise};

/// The word that the page's other tabs hear when one of them signs out.
const SIGNED_OUT: &str = "signed_out";

pub(super) struct Session {
    held: RefCell<Option<Held>>,
    /// Signed out: nothing is asked for until `renew`.
    ended: Cell<bool>,
    /// Counts the sign-outs, so that a token asked for before one is not taken after it.
    age: Cell<u32>,
    asking: RefCell<Option<Promise>>,
    tell: Function,
    last_told: Cell<State>,
    channel: String,
    say: RefCell<Option<Function>>,
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
    pub(super) fn new(tell: Function, base: &Base) -> Self {
        Self {
            held: RefCell::default(),
            ended: Cell::new(false),
            age: Cell::new(0),
            asking: RefCell::default(),
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
        inner.session.say.replace(Some(say));
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
        let unreadable = || Stop::new(Kind::Unreadable, "The session route answered neither a token nor a session.");
        let (token, about) = match answer.as_string() {
            Some(token) => (token, &JsValue::UNDEFINED),
            None if answer.is_null() || answer.is_undefined() => return Err(signed_out()),
            None => (text(answer, "session_token").ok_or_else(unreadable)?, answer),
        };
        refuse_secret_key(&token)?;
        if token.is_empty() {
            return Err(unreadable());
        }
        let mut held = Held { token: SessionToken::new(token), life: Lifetime::new(now(), None), expires_at: None, email: None, spent: false };
        held.learn(about);
        self.held.replace(Some(held));
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
            let _ = self.tell.call1(&JsValue::UNDEFINED, &told(state));
        }
    }
}

impl Held {
    /// Reads whose session it is and when it ends, as far as it is said.
    fn learn(&mut self, about: &JsValue) {
        self.email = text(about, "customer_email").or(self.email.take());
        if let Some(end) = text(about, "expires_at") {
            let end = Date::parse(&end);
            self.expires_at = Some(end).filter(|end| end.is_finite());
            self.life = Lifetime::new(now(), self.expires_at.map(|end| end - Date::now()));
        }
    }
}

impl Inner {
    /// Whether the token at hand is good. It never renews; with no token yet it asks for the first one.
    pub(super) async fn validate(self: &Rc<Self>, how: How) -> Result<JsValue, Stop> {
        let token = match self.token(how, false).await {
            Ok(token) => token,
            Err(stop) if stop.is(Kind::SignedOut) => return Ok(not_valid("signed_out")),
            Err(stop) => return Err(stop),
        };
        match self.wire.send(&ValidateSession::new(), &token, how).await {
            Ok(reply) => {
                let data = reply.data();
                let data = if data.is_object() { data } else { object(&[]) };
                if get(&data, "valid").is_undefined() {
                    super::read::set(&data, "valid", &true.into());
                }
                if get(&data, "valid").is_falsy() {
                    self.session.spend(&token);
                } else if let Some(held) = self.session.held.borrow_mut().as_mut().filter(|held| held.token == token) {
                    held.learn(&data);
                }
                Ok(data)
            }
            Err(stop) if stop.is(Kind::Session) => {
                self.session.spend(&token);
                let said = get(&stop.reply(), "data");
                if get(&said, "valid") == JsValue::FALSE {
                    return Ok(said);
                }
                let code = text(&get(&stop.reply(), "error"), "code").unwrap_or_default();
                Ok(not_valid(code.strip_prefix("session_").unwrap_or("unknown")))
            }
            Err(stop) => Err(stop),
        }
    }

    /// Asks the merchant's server for a token, whatever is at hand, and signs in again where it gives one.
    pub(super) async fn renew(self: &Rc<Self>, how: How) -> Result<JsValue, Stop> {
        self.renewed(how).await?;
        Ok(JsValue::UNDEFINED)
    }

    /// Ends the session with the service, and with it every call of every tab until `renew`.
    pub(super) async fn revoke(self: &Rc<Self>, how: How) -> Result<JsValue, Stop> {
        let token = self.session.held.borrow().as_ref().map(|held| held.token.clone());
        if let Some(token) = token {
            match self.wire.send(&RevokeSession::new(), &token, how).await {
                Err(stop) if !stop.is(Kind::Session) => return Err(stop),
                _ => {}
            }
        }
        self.session.end();
        if let Some(say) = &*self.session.say.borrow() {
            let _ = say.call1(&JsValue::UNDEFINED, &SIGNED_OUT.into());
        }
        Ok(JsValue::UNDEFINED)
    }

    /// Sends with the session's token. A 401 was not executed: one renewal, and it is sent once more.
    pub(super) async fn with_session(self: &Rc<Self>, ready: Ready, how: How) -> Result<Reply, Stop> {
        let token = self.token(how, true).await?;
        let answer = self.wire.send_ready(&ready, token.bearer(), how).await;
        if !matches!(&answer, Err(stop) if stop.is(Kind::Session)) {
            return answer;
        }
        self.session.spend(&token);
        let token = self.token(how, true).await?;
        self.wire.send_ready(&ready, token.bearer(), how).await
    }

    /// The token to send; with `fresh`, not one that has ended or is about to.
    async fn token(self: &Rc<Self>, how: How, fresh: bool) -> Result<SessionToken, Stop> {
        if self.session.ended.get() {
            return Err(signed_out());
        }
        let held = self.session.held.borrow().clone();
        let Some(held) = held else { return self.renewed(how).await };
        if !fresh || !(held.spent || held.life.is_ending(now())) {
            return Ok(held.token);
        }
        match self.renewed(how).await {
            // It could not be renewed in its last seconds, and is good for these.
            Err(stop) if !held.spent && held.life.state(now()) == State::Expiring && stop.may_have_been_done() => Ok(held.token),
            renewed => renewed,
        }
    }

    /// Asks for a token; who asks meanwhile waits for the same answer.
    async fn renewed(self: &Rc<Self>, how: How) -> Result<SessionToken, Stop> {
        let under_way = self.session.asking.borrow().clone();
        let asking = under_way.unwrap_or_else(|| {
            let inner = Rc::clone(self);
            let asking = future_to_promise(async move { inner.ask_for_a_token(how).await.map_err(JsValue::from) });
            self.session.asking.replace(Some(asking.clone()));
            asking
        });
        let answer = JsFuture::from(asking).await.map_err(Stop::Thrown)?;
        plain_text(&answer).map(SessionToken::new).ok_or_else(signed_out)
    }

    async fn ask_for_a_token(self: &Rc<Self>, how: How) -> Result<JsValue, Stop> {
        let age = self.session.age.get();
        let answer = self.merchant.session(&self.wire, how).await;
        // Signed out while this was under way: what came is not taken, and another may be asking now.
        if self.session.age.get() != age {
            return Err(signed_out());
        }
        self.session.asking.replace(None);
        self.session.take(&answer?)?;
        self.session.ended.set(false);
        self.session.changed();
        let held = self.session.held.borrow();
        Ok(held.as_ref().map_or(JsValue::UNDEFINED, |held| held.token.expose().into()))
    }
}

fn not_valid(reason: &str) -> JsValue {
    object(&[("valid", false.into()), ("reason", reason.into())])
}

fn signed_out() -> Stop {
    Stop::new(Kind::SignedOut, "Nobody is signed in.")
}
