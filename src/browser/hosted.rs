//! The hosted checkout page: one intent, paid with its client secret.

use super::call::{How, duration, promise, signal};
use super::error::{Stop, not_followed};
use super::fetch::{Ready, Reply, Wire};
use super::inputs::Inputs;
use super::page::{self, now, sleep, unless_called_off};
use super::quotes::{Asker, Asks, quotes};
use super::read::{get, object, text};
use super::{intent_address, options};
use crate::flow::{AfterLost, Standing, after_lost, pause, redirect_address, tidy_phone};
use crate::operations::{AttachPaymentMethod, Card, Instrument, ReadPaymentIntent};
use crate::protocol::{Anyone, Credential, Error, Kind, Operation};
use crate::values::{ClientSecret, IntentId, IntentStatus, Invalid, Phone};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::js_sys::{Function, Promise};
use wasm_bindgen_futures::{JsFuture, future_to_promise};

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
    paying: RefCell<Option<Promise>>,
}

/// Opens the checkout that an address names, and reads its intent.
#[wasm_bindgen]
pub fn open_hosted(given: JsValue, how: JsValue) -> Promise {
    let called = how.clone();
    promise(
        &called,
        Box::pin(async move {
            let (id, secret) = intent_address::read(&get(&given, "intent"))?;
            let open = Open {
                wire: options::wire(&given)?,
                id,
                secret,
                intent: RefCell::default(),
                redirect_origins: options::origins(&given, "redirectOrigins")?.unwrap_or_default(),
                paying: RefCell::default(),
            };
            open.look(How::read(&how)?).await?;
            Ok(HostedPage(Rc::new(open)).into())
        }),
    )
}

#[wasm_bindgen]
impl HostedPage {
    /// The service's own object, as it was last read.
    pub fn intent(&self) -> JsValue {
        self.0.intent.borrow().clone()
    }

    /// What each way of paying this intent costs.
    pub fn quotes(&self, how: JsValue) -> Promise {
        let open = Rc::clone(&self.0);
        let called = how.clone();
        promise(
            &called,
            Box::pin(async move {
                let intent = open.intent.borrow().clone();
                let sale = object(&["amount", "currency", "fee_bearer", "payment_method_types"].map(|name| (name, get(&intent, name))));
                for name in ["country_code", "codes"] {
                    super::read::set(&sale, name, &get(&how, name));
                }
                quotes(&*open, &sale, How::read(&how)?).await
            }),
        )
    }

    /// Pays with a phone or a card; a second call joins the first.
    pub fn pay(&self, method: JsValue, how: JsValue) -> Promise {
        let open = Rc::clone(&self.0);
        let called = how.clone();
        promise(
            &called,
            Box::pin(async move {
                let under_way = open.paying.borrow().clone();
                let paying = match under_way {
                    Some(paying) => paying,
                    None => open.begin(&method, &how)?,
                };
                JsFuture::from(paying).await.map_err(Stop::Thrown)
            }),
        )
    }

    /// Leaves for the `redirect_url` of the intent's own reply.
    pub fn leave(&self) -> Result<(), JsValue> {
        Ok(self.0.leave()?)
    }
}

impl Open {
    fn begin(self: &Rc<Self>, method: &JsValue, given: &JsValue) -> Result<Promise, Stop> {
        let instrument = instrument(method)?;
        let how = How::read(given)?;
        let budget = duration(given, "budgetMs")?.unwrap_or(BUDGET);
        let on_status: Option<Function> = get(given, "onStatus").dyn_into().ok();
        let called_off = signal(given)?;
        let open = Rc::clone(self);
        let paying = future_to_promise(async move {
            let work = async { open.pay(instrument, on_status, how, now() + budget).await };
            let paid = unless_called_off(Box::pin(work), called_off).await;
            open.paying.replace(None);
            paid.map_err(JsValue::from)
        });
        self.paying.replace(Some(paying.clone()));
        Ok(paying)
    }

    async fn pay(&self, instrument: Instrument, on_status: Option<Function>, how: How, until: Duration) -> Result<JsValue, Stop> {
        if self.standing().status == IntentStatus::RequiresAction {
            self.charge(&instrument, how).await?;
        }
        let mut told = None;
        for looks in 1.. {
            let Standing { status, .. } = self.standing();
            let intent = self.intent.borrow().clone();
            if told.as_ref() != Some(&status) {
                if let Some(tell) = &on_status {
                    let _ = tell.call1(&JsValue::UNDEFINED, &intent);
                }
                told = Some(status.clone());
            }
            let pause = pause(looks);
            if status.is_final() || status == IntentStatus::RequiresAction || now() + pause >= until {
                return Ok(intent);
            }
            sleep(pause, true).await;
            match self.look(how.again()).await {
                Err(stop) if [Kind::Session, Kind::NotFound, Kind::Unsupported].iter().any(|kind| stop.is(*kind)) => return Err(stop),
                _ => {}
            }
        }
        Err(Stop::new(Kind::Timeout, "The time was over."))
    }

    /// Sends the charge. Where its answer is lost the intent is looked at, and the charge sent again only if it is
    /// known never to have arrived.
    async fn charge(&self, instrument: &Instrument, how: How) -> Result<(), Stop> {
        let before = self.standing();
        let mut sendings = 1;
        loop {
            let operation = AttachPaymentMethod::new(self.id.clone(), instrument.clone());
            let stop = match self.wire.send(&operation, &self.secret, how.again()).await.and_then(|reply| self.keep(&reply)) {
                Ok(()) => return Ok(()),
                Err(stop) => stop,
            };
            if stop.status() == Some(409) {
                // Another tab was first. What the intent is now says more than the refusal.
                let _ = self.look(how.again()).await;
                return Err(if self.standing().status.is_final() { settled(stop) } else { stop });
            }
            if !stop.may_have_been_done() {
                return Err(stop);
            }
            if self.look_again(how.again()).await.is_err() {
                return Err(stop);
            }
            match after_lost(&before, &self.standing()) {
                AfterLost::Follow => return Ok(()),
                AfterLost::SendAgain if sendings < SENDINGS => sendings += 1,
                _ => return Err(stop),
            }
        }
    }

    /// Reads the intent, again and again where no answer comes, for as long as one call may take.
    async fn look_again(&self, how: How) -> Result<(), Stop> {
        for looks in 1.. {
            let found = self.look(how).await;
            let is_lost = matches!(&found, Err(stop) if stop.may_have_been_done());
            if !is_lost || how.left() <= pause(looks) {
                return found;
            }
            sleep(pause(looks), true).await;
        }
        Ok(())
    }

    async fn look(&self, how: How) -> Result<(), Stop> {
        let reply = self.wire.send(&ReadPaymentIntent::new(self.id.clone()), &self.secret, how).await?;
        self.keep(&reply)
    }

    /// Keeps the service's object as the intent that is now.
    fn keep(&self, reply: &Reply) -> Result<(), Stop> {
        let intent = reply.object()?;
        if !get(&intent, "status").is_string() {
            return Err(reply.unreadable());
        }
        self.intent.replace(intent);
        Ok(())
    }

    fn standing(&self) -> Standing {
        let intent = self.intent.borrow();
        Standing { status: IntentStatus::from(text(&intent, "status").unwrap_or_default()), attempts: text(&intent, "attempts") }
    }

    fn leave(&self) -> Result<(), Stop> {
        let intent = self.intent.borrow();
        let redirect_url = text(&intent, "redirect_url").unwrap_or_default();
        let known = [("payment_intent", Some(self.id.as_str().to_owned())), ("payment_ref", text(&intent, "payment_ref")), ("merchant_reference", text(&intent, "merchant_reference")), ("status", text(&intent, "status"))];
        let said: Vec<(&str, &str)> = known.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))).collect();
        let address = redirect_address(&redirect_url, &self.redirect_origins, &said).map_err(|invalid| not_followed(&invalid))?;
        page::replace(&address).map_err(|_| Stop::new(Kind::Address, "The browser did not go to the redirect_url."))
    }
}

/// Methods and fees are asked for with the intent's own secret.
impl Asks for Open {
    fn read<O: Operation<Role = Anyone>>(&self, operation: &O, how: How) -> Result<Asker<'_>, Stop> {
        let ready = Ready::new::<O, ClientSecret>(operation)?;
        Ok(self.wire.send_ready(&ready, self.secret.bearer(), how))
    }
}

/// What the customer typed. A phone or a card is taken as people write it.
fn instrument(given: &JsValue) -> Result<Instrument, Stop> {
    match text(given, "type").as_deref() {
        Some("mobile_money") => {
            let mut inputs = Inputs::of(given);
            match inputs.required("phone", |text| Phone::new(tidy_phone(text))) {
                Some(phone) => Ok(Instrument::MobileMoney { phone }),
                None => Err(inputs.refused()),
            }
        }
        Some("card") => {
            let card = get(given, "card");
            let mut inputs = Inputs::of(&card);
            let number = inputs.required("number", |text| digits(text, 12, 19, "A card number has 12 to 19 digits."));
            let exp_month = inputs.required("exp_month", |text| whole(text, 1, 12, "A month is a number from 1 to 12."));
            let exp_year = inputs.required("exp_year", |text| whole(text, 2000, 2999, "A year has four digits."));
            let cvc = inputs.required("cvc", |text| digits(text, 3, 4, "A security code has 3 or 4 digits."));
            match (number, exp_month, exp_year, cvc) {
                (Some(number), Some(exp_month), Some(exp_year), Some(cvc)) => {
                    Ok(Instrument::Card { card: Card { number, exp_month: exp_month as u8, exp_year, cvc } })
                }
                _ => Err(inputs.refused()),
            }
        }
        _ => Err(Stop::field("type", "parameter_invalid", "It is mobile_money or card.")),
    }
}

fn digits(text: &str, least: usize, most: usize, otherwise: &'static str) -> Result<String, Invalid> {
    let tidy: String = text.chars().filter(|c| !c.is_whitespace() && *c != '-').collect();
    let shaped = (least..=most).contains(&tidy.len()) && tidy.bytes().all(|b| b.is_ascii_digit());
    if shaped { Ok(tidy) } else { Err(Invalid::because(otherwise)) }
}

fn whole(text: &str, least: u16, most: u16, otherwise: &'static str) -> Result<u16, Invalid> {
    text.trim().parse().ok().filter(|number| (least..=most).contains(number)).ok_or(Invalid::because(otherwise))
}

fn settled(stop: Stop) -> Stop {
    Stop::Failed(Error::new(Kind::Settled, "This payment has come to its end already."), stop.reply())
}
