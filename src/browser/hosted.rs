//! The hosted checkout page: one intent, paid with its client secret.

use super::call::{How, duration};
use super::error::{Stop, not_followed};
use super::fetch::{Reply, Wire};
use super::instrument::instrument;
use super::page::{self, now, sleep};
use super::quotes::{Asks, quotes};
use super::read::{at, merged, text};
use super::task::{Answer, Flight, Task, Work, joined};
use super::{intent_address, options};
use crate::flow::{AfterLost, Standing, after_lost, pause, pause_within, redirect_address};
use crate::operations::{AttachPaymentMethod, CalculateFee, Instrument, ListPaymentMethods, ReadPaymentIntent};
use crate::protocol::Kind;
use crate::values::{ClientSecret, IntentId, IntentStatus};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use wasm_bindgen::prelude::*;

/// How long `pay` follows a payment where the caller does not say.
const BUDGET: Duration = Duration::from_secs(600);
/// How often one charge is sent, where each time it is known that the one before never arrived.
const SENDINGS: u32 = 3;

/// The open checkout of one intent.
#[wasm_bindgen]
pub struct HostedPage(Rc<Open>);

struct Open {
    wire: Wire,
    id: IntentId,
    secret: ClientSecret,
    intent: RefCell<JsValue>,
    redirect_origins: Vec<String>,
    paying: Flight,
}

#[wasm_bindgen]
impl HostedPage {
    /// Reads the options, and takes the client secret out of the address bar; nothing is sent.
    #[wasm_bindgen(constructor)]
    pub fn new(given: &JsValue) -> Result<HostedPage, JsValue> {
        let (id, secret) = intent_address::read(&at(given, "intent"))?;
        let (wire, redirect_origins) = (options::wire(given)?, options::origins(given, "redirectOrigins")?);
        Ok(Self(Rc::new(Open {
            wire,
            id,
            secret,
            intent: RefCell::default(),
            redirect_origins,
            paying: Flight::default(),
        })))
    }

    /// One call by its name, with its first argument and how it is to go.
    pub fn call(&self, name: &str, first: JsValue, how: JsValue) -> Task {
        let open = Rc::clone(&self.0);
        let name = name.to_owned();
        Task::new(async move {
            let asked = How::read(&how)?;
            match name.as_str() {
                "open" => open.look(asked).await.map(|()| JsValue::UNDEFINED),
                "quotes" => {
                    let sale = merged(&how, &open.intent.borrow());
                    quotes(open, &sale, asked).await
                }
                _ => {
                    let own = Rc::clone(&open);
                    let instrument = instrument(&first)?;
                    let signal = at(&how, "signal");
                    joined(&open.paying, &signal, || async move { own.pay(&instrument, &how, asked).await }).await
                }
            }
        })
    }

    /// The service's own object, as it was last read.
    pub fn intent(&self) -> JsValue {
        self.0.intent.borrow().clone()
    }

    /// Leaves for the `redirect_url` of the intent's own reply.
    pub fn leave(&self) -> Result<(), JsValue> {
        let intent = self.0.intent.borrow();
        let said = ["payment_ref", "merchant_reference", "status"].map(|name| (name, text(&intent, name)));
        let mut known = vec![("payment_intent", self.0.id.as_str())];
        known.extend(said.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))));
        let address = text(&intent, "redirect_url").unwrap_or_default();
        page::replace(&redirect_address(&address, &self.0.redirect_origins, &known).map_err(not_followed)?)
    }
}

impl Open {
    async fn pay(&self, instrument: &Instrument, given: &JsValue, how: How) -> Answer {
        let until = now() + duration(given, "budgetMs", BUDGET)?;
        let on_status = at(given, "onStatus");
        if self.standing().status == IntentStatus::RequiresAction {
            self.charge(instrument, how).await?;
        }
        let mut told = None;
        let mut looks = 1;
        loop {
            let status = self.standing().status;
            let intent = self.intent.borrow().clone();
            if told.as_ref() != Some(&status) {
                page::tell(&on_status, &intent);
            }
            match pause_within(looks, until.saturating_sub(now())) {
                Some(pause) if !status.is_final() && status != IntentStatus::RequiresAction => sleep(pause, true).await,
                _ => return Ok(intent),
            }
            told = Some(status);
            match self.look(how.again()).await {
                Err(stop) if stop.is_one_of(&[Kind::Session, Kind::NotFound, Kind::Unsupported]) => return Err(stop),
                _ => looks += 1,
            }
        }
    }

    /// Sends the charge. Where its answer is lost the intent is looked at, and the charge sent again only if it is
    /// known never to have arrived.
    async fn charge(&self, instrument: &Instrument, how: How) -> Result<(), Stop> {
        let before = self.standing();
        let operation = AttachPaymentMethod::new(self.id.clone(), instrument.clone());
        let mut sendings = 1;
        loop {
            let stop =
                match self.wire.send(&operation, &self.secret, how.again()).await.and_then(|reply| self.keep(&reply)) {
                    Ok(()) => return Ok(()),
                    Err(stop) => stop,
                };
            let was_refused = !stop.may_have_been_done();
            // A conflict means that another tab was first: what the intent is now says more than the refusal.
            if was_refused && stop.status() != 409 || self.look_again(how.again()).await.is_err() {
                return Err(stop);
            }
            let now = self.standing();
            match after_lost(&before, &now) {
                _ if was_refused && now.status.is_final() => return Err(settled(&stop)),
                AfterLost::Follow if !was_refused => return Ok(()),
                AfterLost::SendAgain if !was_refused && sendings < SENDINGS => sendings += 1,
                _ => return Err(stop),
            }
        }
    }

    /// Reads the intent, again and again where no answer comes, for as long as one call may take.
    async fn look_again(&self, how: How) -> Result<(), Stop> {
        let mut looks = 1;
        loop {
            let pause = pause(looks);
            match self.look(how).await {
                Err(stop) if stop.may_have_been_done() && how.left() > pause => sleep(pause, true).await,
                found => return found,
            }
            looks += 1;
        }
    }

    fn look(&self, how: How) -> Work<'_, Result<(), Stop>> {
        Box::pin(async move {
            let reply = self.wire.send(&ReadPaymentIntent::new(self.id.clone()), &self.secret, how).await?;
            self.keep(&reply)
        })
    }

    /// Keeps the service's object as the intent that is now.
    fn keep(&self, reply: &Reply) -> Result<(), Stop> {
        let intent = reply.data();
        if !at(&intent, "status").is_string() {
            return Err(reply.unreadable());
        }
        self.intent.replace(intent);
        Ok(())
    }

    fn standing(&self) -> Standing {
        let intent = self.intent.borrow();
        Standing {
            status: IntentStatus::from(text(&intent, "status").unwrap_or_default()),
            attempts: text(&intent, "attempts"),
        }
    }
}

/// Methods and fees are asked for with the intent's own secret.
impl Asks for Open {
    fn list(&self, operation: &ListPaymentMethods, how: How) -> Work<'_, Result<Reply, Stop>> {
        self.wire.send(operation, &self.secret, how)
    }

    fn fee(&self, operation: &CalculateFee, how: How) -> Work<'_, Result<Reply, Stop>> {
        self.wire.send(operation, &self.secret, how)
    }
}

fn settled(stop: &Stop) -> Stop {
    Stop::of(Kind::Settled, "This payment has come to its end already.", "attach_payment_method", &stop.at("reply"))
}
