//! The customer's session: a token in memory, requested when it is first needed and renewed when it ends.

use super::error::{CallError, Pending, check_no_secret_key};
use super::flights::{Joined, SingleFlight};
use super::merchant::{Answer, MerchantRoutes, SESSION};
use super::reply::Reply;
use super::tabs::Tabs;
use super::time::{CallOptions, Callback, Notification, now, spawn, unless, wall_clock_ms};
use super::transport::{AuthorizedRequest, Transport};
use super::value::{get, get_text, merged, object, optional, text};
use crate::flow::{Lifetime, Ms, State};
use crate::operations::{RevokeSession, ValidateSession};
use crate::protocol::Kind;
use crate::values::SessionToken;
use js_sys::Date;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use wasm_bindgen::prelude::*;

/// The message to other tabs that the customer has signed out. The time of signing out follows it.
const SIGNED_OUT: &str = "signed_out";
/// The key of the renewal, of which only one runs at a time.
const RENEWAL: &str = "renewal";

pub(crate) struct Session {
    transport: Rc<Transport>,
    merchant: Rc<MerchantRoutes>,
    tabs: RefCell<Option<Tabs>>,
    renewals: SingleFlight<Result<(), CallError>>,
    held: RefCell<Option<HeldToken>>,
    /// The customer has signed out: no token is requested until `renew`.
    is_over: Cell<bool>,
    /// Counts the sign-outs and the calls of `renew`: a token that was requested before one is not used after it.
    changes: Cell<u32>,
    /// Counts the sign-outs alone: such a token is revoked. After `renew` the server may send the same once more.
    sign_outs: Cell<u32>,
    on_change: Box<dyn Fn(SessionStatus)>,
    /// Reports the next change that only time makes.
    timer: RefCell<Option<Callback>>,
    is_closed: Cell<bool>,
    own: Weak<Self>,
}

/// The current token.
#[derive(Clone)]
struct HeldToken {
    token: SessionToken,
    lifetime: Lifetime,
    /// In milliseconds since 1970; `None` if it is not known.
    expires_at: Option<f64>,
    email: Option<String>,
    /// The service has refused it.
    is_spent: bool,
}

/// The session's state.
#[derive(Clone, PartialEq)]
pub(crate) struct SessionStatus {
    pub(crate) state: State,
    /// When it ends, in milliseconds since 1970, if that is known.
    pub(crate) expires_at: Option<f64>,
    pub(crate) email: Option<String>,
}

impl Session {
    /// Listens to the other tabs. `on_change` is called when the state may have changed.
    pub(crate) fn open(
        transport: &Rc<Transport>,
        merchant: &Rc<MerchantRoutes>,
        on_change: Box<dyn Fn(SessionStatus)>,
    ) -> Rc<Self> {
        Rc::new_cyclic(|own: &Weak<Self>| {
            let session = own.clone();
            let hear = move |message: &str| {
                if let Some(session) = session.upgrade().filter(|_| message.starts_with(SIGNED_OUT)) {
                    session.sign_out(None);
                }
            };
            Self {
                tabs: RefCell::new(Tabs::open([transport.base.root(), "#guichet"].concat(), hear)),
                transport: Rc::clone(transport),
                merchant: Rc::clone(merchant),
                renewals: SingleFlight::default(),
                held: RefCell::default(),
                is_over: Cell::new(false),
                changes: Cell::new(0),
                sign_outs: Cell::new(0),
                on_change,
                timer: RefCell::default(),
                is_closed: Cell::new(false),
                own: own.clone(),
            }
        })
    }

    /// Stops listening to the other tabs and reporting changes.
    #[cfg(feature = "js-page")]
    pub(crate) fn close(&self) {
        self.is_closed.set(true);
        self.tabs.take();
        self.timer.take();
    }

    #[cfg(feature = "browser")]
    pub(crate) fn status(&self) -> SessionStatus {
        self.status_and_rest().0
    }

    /// The state, and how long it lasts if time will change it. Both are of one moment: else a state that begins
    /// between two readings of the clock would not be reported.
    fn status_and_rest(&self) -> (SessionStatus, Option<Ms>) {
        let Some(held) = &*self.held.borrow() else {
            let state = if self.is_over.get() { State::Revoked } else { State::None };
            return (SessionStatus { state, expires_at: None, email: None }, None);
        };
        let now = now();
        let (state, rest) =
            if held.is_spent { (State::Expired, None) } else { (held.lifetime.state(now), held.lifetime.lasts(now)) };
        (SessionStatus { state, expires_at: held.expires_at, email: held.email.clone() }, rest)
    }

    /// Reports the state, and again when time changes it.
    fn notify(&self) {
        if self.is_closed.get() {
            return;
        }
        let (status, rest) = self.status_and_rest();
        (self.on_change)(status);
        let own = self.own.clone();
        let report = move |_| {
            if let Some(session) = own.upgrade() {
                session.notify();
            }
        };
        self.timer.replace(rest.map(|time| Callback::after(time, report)));
    }

    /// Takes the token from the reply of a session route, after checking it.
    fn take(&self, answer: &Answer) -> Result<(), CallError> {
        let lifetime = Lifetime::new(0.0, f64::NAN);
        let token = token_of(&answer.data)?;
        let mut held = HeldToken { token, lifetime, expires_at: None, email: None, is_spent: false };
        held.learn(&answer.data, answer.date);
        self.held.replace(Some(held));
        self.is_over.set(false);
        self.notify();
        Ok(())
    }

    /// Stores the service's details about this token; `None` if it refuses the token.
    fn learn(&self, token: &SessionToken, details: Option<(&JsValue, Ms)>) {
        if let Some(held) = self.held.borrow_mut().as_mut().filter(|held| held.token == *token) {
            match details {
                Some((details, date)) => held.learn(details, date),
                None => held.is_spent = true,
            }
        }
        self.notify();
    }

    /// A token that is valid now; with `renews`, renews one that has ended or is about to. A renewal that takes longer
    /// than the call may continues in the background.
    async fn token(self: &Rc<Self>, renews: bool, options: CallOptions) -> Result<SessionToken, CallError> {
        if self.is_over.get() {
            return Err(signed_out());
        }
        match &*self.held.borrow() {
            Some(held) if !renews || !(held.is_spent || held.lifetime.is_ending(now())) => {
                return Ok(held.token.clone());
            }
            _ => {}
        }
        let renewal = unless(Notification::after(options.remaining()), self.renewal()).await;
        let renewal = renewal.unwrap_or_else(|| Err(CallError::timed_out(&SESSION)));
        match (renewal, &*self.held.borrow()) {
            (Ok(()), Some(held)) => Ok(held.token.clone()),
            (Ok(()), None) => Err(signed_out()),
            // It could not be renewed in its last seconds, and is valid until they have passed.
            (Err(error), Some(held))
                if !held.is_spent && held.lifetime.state(now()) == State::Expiring && error.is_transient() =>
            {
                Ok(held.token.clone())
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Sends a request with the session's token. If the service refuses the token with 401, the request was not
    /// executed: renews the token once and sends it again.
    pub(crate) async fn send(
        self: Rc<Self>,
        request: AuthorizedRequest<SessionToken>,
        options: CallOptions,
    ) -> Result<Reply, CallError> {
        let mut is_renewed = false;
        loop {
            let token = self.token(true, options).await?;
            match self.transport.send(&request, &token, options).await {
                Err(error) if error.is(Kind::Session) => {
                    self.learn(&token, None);
                    if std::mem::replace(&mut is_renewed, true) {
                        return Err(error);
                    }
                }
                result => return result,
            }
        }
    }

    /// Whether the current token is valid. Requests the first one, and renews none.
    pub(crate) async fn validate(self: Rc<Self>, options: CallOptions) -> Result<JsValue, CallError> {
        let request = AuthorizedRequest::new(&ValidateSession::new())?;
        let token = match self.token(false, options).await {
            Ok(token) => token,
            Err(error) if error.is(Kind::SignedOut) => return Ok(not_valid("signed_out")),
            Err(error) => return Err(error),
        };
        match self.transport.send(&request, &token, options).await {
            Ok(reply) => {
                let details = reply.data();
                let is_valid = get(&details, "valid").is_none_or(|valid| valid.is_truthy());
                self.learn(&token, is_valid.then(|| (&details, reply.date())));
                Ok(merged(&details, &object(&[("valid", Some(is_valid.into()))])))
            }
            Err(error) if error.is(Kind::Session) => {
                self.learn(&token, None);
                let code = error.text("code").unwrap_or_default();
                let reason = code.strip_prefix("session_").unwrap_or("unknown");
                let details = error.get("reply").and_then(|reply| get(&reply, "data")).unwrap_or_default();
                Ok(merged(&not_valid(reason), &details))
            }
            Err(error) => Err(error),
        }
    }

    /// Requests a new token, also if the current one is valid, and signs in again if the merchant's server sends one.
    /// It joins no request under way: another customer may have been signed in when that was sent.
    pub(crate) async fn renew(self: Rc<Self>) -> Result<(), CallError> {
        self.ignore_requested();
        self.renewal().await?;
        if self.held.borrow().is_some() { Ok(()) } else { Err(signed_out()) }
    }

    /// Ends the session at the service, and every call of every tab until `renew`.
    pub(crate) async fn revoke(self: Rc<Self>, options: CallOptions) -> Result<(), CallError> {
        let token = self.held.borrow().as_ref().map(|held| held.token.clone());
        if let Some(token) = &token {
            match self.revocation(token, options)?.await {
                Err(error) if !error.is(Kind::Session) => return Err(error),
                _ => {}
            }
        }
        self.sign_out(token);
        if let Some(tabs) = &*self.tabs.borrow() {
            tabs.post(SIGNED_OUT);
        }
        Ok(())
    }

    fn revocation(&self, token: &SessionToken, options: CallOptions) -> Result<Pending<Reply>, CallError> {
        Ok(self.transport.send(&AuthorizedRequest::new(&RevokeSession::new())?, token, options))
    }

    /// Ends the session of this tab. If its token is not the one that the service has revoked, it is revoked in the
    /// background.
    fn sign_out(&self, revoked: Option<SessionToken>) {
        let held = self.held.replace(None);
        self.ignore_requested();
        self.sign_outs.set(self.sign_outs.get().wrapping_add(1));
        self.is_over.set(true);
        self.notify();
        if let Some(held) = held.filter(|held| Some(&held.token) != revoked.as_ref()) {
            self.revoke_in_background(&held.token);
        }
    }

    /// Lets no call wait for the token that has been requested, or use it.
    fn ignore_requested(&self) {
        self.renewals.forget(RENEWAL);
        self.changes.set(self.changes.get().wrapping_add(1));
    }

    fn revoke_in_background(&self, token: &SessionToken) {
        if let Ok(call) = self.revocation(token, CallOptions::default()) {
            spawn(call);
        }
    }

    /// Requests a token; concurrent calls wait for the same one. It continues even if no call waits for it any more.
    fn renewal(self: &Rc<Self>) -> Joined<Result<(), CallError>> {
        self.renewals.under_way(RENEWAL).unwrap_or_else(|| {
            let session = Rc::clone(self);
            let renewal = self.renewals.start(
                String::from(RENEWAL),
                Box::pin(async move {
                    let (changes, sign_outs) = (session.changes.get(), session.sign_outs.get());
                    let answer = session.merchant.request_session(CallOptions::default()).await;
                    // The customer has signed out meanwhile, or another one in: this token is not used.
                    if session.changes.get() != changes {
                        if session.sign_outs.get() != sign_outs
                            && let Ok(token) = answer.and_then(|answer| token_of(&answer.data))
                        {
                            session.revoke_in_background(&token);
                        }
                        if session.is_over.get() {
                            return Err(signed_out());
                        }
                        let is_renewed =
                            session.renewals.under_way(RENEWAL).is_none() && session.held.borrow().is_some();
                        return if is_renewed { Ok(()) } else { session.renewal().await };
                    }
                    match answer {
                        Err(error) if error.status() == 403 => Err(error.signed_out()),
                        answer => session.take(&answer?),
                    }
                }),
            );
            spawn(renewal.clone());
            renewal
        })
    }
}

impl HeldToken {
    /// Reads the customer's e-mail and the end of the session, as far as the reply has them. `date` is the reply's own
    /// time, from which the rest is measured. Where it cannot be read, the device's clock stands in: if that is wrong,
    /// a token is only renewed earlier.
    fn learn(&mut self, about: &JsValue, date: Ms) {
        self.email = get_text(about, "customer_email").or(self.email.take());
        let end = get_text(about, "expires_at").map(|end| Date::parse(&end));
        // The end of a token does not change: it is measured once.
        if let Some(end) = end.filter(|end| self.expires_at != Some(*end)) {
            self.expires_at = (end > 0.0).then_some(end);
            let date = if date.is_nan() { wall_clock_ms() } else { date };
            self.lifetime = Lifetime::new(now(), end - date);
        }
    }
}

/// The token in the reply of a session route.
fn token_of(answer: &JsValue) -> Result<SessionToken, CallError> {
    if answer.is_null() || answer.is_undefined() {
        return Err(signed_out());
    }
    let token = text(answer).or_else(|| get_text(answer, "session_token")).unwrap_or_default();
    check_no_secret_key(&token)?;
    if token.is_empty() {
        let message = "The session route sent no session.";
        return Err(CallError::of(Kind::Unreadable, message, SESSION.name, Some(answer.clone())));
    }
    Ok(SessionToken::new(token))
}

fn not_valid(reason: &str) -> JsValue {
    object(&[("valid", Some(false.into())), ("reason", optional(Some(reason)))])
}

fn signed_out() -> CallError {
    CallError::new(Kind::SignedOut, "Nobody is signed in.")
}
