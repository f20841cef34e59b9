//! The hosted checkout page: one intent, paid with its client secret. The module of `guichet/hosted`.

mod instrument;
mod intent_address;
mod paying;

use self::paying::{Asked, Following, Look, Moving};
use super::call::{How, duration};
use super::doors;
use super::error::{Stop, no_such_call, not_followed, refuse_secret_key_in, refuse_secret_key_within};
use super::fetch::{Ready, Wire, data, send, send_to, unreadable};
use super::options;
use super::quotes::{Asks, quotes};
use super::read::{Sort, at, is, merged, text};
use super::task::{Task, Waiting, Work, joined};
use crate::flow::{Ms, Standing, path_of, redirect_address};
use crate::operations::{AnswerPaymentIntent, AttachPaymentMethod, CancelPaymentIntent, ReadPaymentIntent};
use crate::protocol::{NoCredential, Operation};
use crate::values::{Address, ClientSecret, IntentId, IntentStatus};
use std::cell::{Cell, RefCell};
use wasm_bindgen::prelude::*;

/// The operations that the document does not show, and that a service may have elsewhere.
const MOVABLE: [&str; 4] = [
    ReadPaymentIntent::SPEC.name,
    AttachPaymentMethod::SPEC.name,
    AnswerPaymentIntent::SPEC.name,
    CancelPaymentIntent::SPEC.name,
];
const OPTIONS: &str = "baseUrl intent paths redirectOrigins fetch wasm onCall";
/// How long a payment is followed where the caller does not say.
const BUDGET: Ms = 600_000.0;

/// The open checkout of one intent: it is there for as long as the instance of the wasm, and has no other end.
#[wasm_bindgen]
pub struct HostedPage(&'static Open);

struct Open {
    wire: &'static Wire,
    id: IntentId,
    secret: ClientSecret,
    intent: RefCell<JsValue>,
    /// Whether a move was sent and nobody knows yet what came of it.
    is_stale: Cell<bool>,
    redirect_origins: Vec<String>,
    /// Where the service has an operation elsewhere, by its name.
    paths: JsValue,
    /// What is under way and is joined by who asks again.
    flights: &'static JsValue,
}

#[wasm_bindgen]
impl HostedPage {
    /// Reads the options, and takes the client secret out of the address bar; nothing is sent.
    #[wasm_bindgen(constructor)]
    pub fn new(given: &JsValue) -> Result<HostedPage, JsValue> {
        refuse_secret_key_within(given)?;
        options::only(given, "option", OPTIONS)?;
        let (id, secret) = intent_address::read(&at(given, "intent"))?;
        let (wire, redirect_origins) = (options::wire(given)?, options::origins(given, "redirectOrigins")?);
        let paths = at(given, "paths");
        options::only(&paths, "path", &MOVABLE.join(" "))?;
        for name in MOVABLE {
            if !is(&paths, name, Sort::Nothing) {
                let path = text(&paths, name).unwrap_or_default();
                path_of(&path, "").map_err(|invalid| Stop::field("paths", invalid.reason()))?;
            }
        }
        let intent = RefCell::new(JsValue::UNDEFINED);
        let is_stale = Cell::new(false);
        let flights = &wire.flights;
        Ok(Self(Box::leak(Box::new(Open { wire, id, secret, intent, is_stale, redirect_origins, paths, flights }))))
    }

    /// One call by its name, with its first argument and how it is to go.
    pub fn call(&self, name: &str, first: JsValue, how: JsValue) -> Result<Task, JsValue> {
        let open = self.0;
        for given in [&first, &how] {
            refuse_secret_key_within(given)?;
        }
        options::only(&how, "option", call_options(name))?;
        let asked = How::read(&how)?;
        let work: Work = match name {
            "open" => Box::new(Look::new(open, asked)),
            "quotes" => quotes(open, &merged(&how, &open.intent.borrow()), asked)?,
            "wait" => {
                let budget = duration(&how, "budgetMs", BUDGET)?;
                Box::new(Following::new(open, Asked::Look, &how, budget, asked))
            }
            _ => open.moved(name, &first, &how, asked)?,
        };
        Ok(Task::new(work))
    }

    /// The service's own object, as it was last read.
    pub fn intent(&self) -> JsValue {
        self.0.intent.borrow().clone()
    }

    /// Follows the address of the `next_action` of the intent's own reply.
    pub fn proceed(&self) -> Result<(), JsValue> {
        let intent = self.0.intent.borrow();
        let is_redirect = text(&intent, "next_action.type").as_deref() == Some("redirect");
        let address = text(&intent, "next_action.url").filter(|_| is_redirect).unwrap_or_default();
        refuse_secret_key_in(&address)?;
        Address::new(&address).map_err(not_followed)?;
        options::needs_a_page("proceed")?;
        doors::go(&address)
    }

    /// Leaves for the `redirect_url` of the intent's own reply.
    pub fn leave(&self) -> Result<(), JsValue> {
        let intent = self.0.intent.borrow();
        let said = ["payment_ref", "merchant_reference", "status"].map(|name| (name, text(&intent, name)));
        let mut known = vec![("payment_intent", self.0.id.as_str())];
        known.extend(said.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))));
        let address = text(&intent, "redirect_url").unwrap_or_default();
        let address = redirect_address(&address, &self.0.redirect_origins, &known).map_err(not_followed)?;
        options::needs_a_page("leave")?;
        doors::replace(&address)
    }
}

/// The names that a call takes in its last argument.
fn call_options(name: &str) -> &'static str {
    match name {
        "open" => "signal timeoutMs",
        "quotes" => "signal timeoutMs country_code codes",
        _ => "signal timeoutMs budgetMs onStatus",
    }
}

impl Open {
    /// Sends with the intent's own secret, to where this service has the operation.
    fn send(&self, ready: &Ready<ClientSecret>, how: How) -> Result<Work, Stop> {
        let path = text(&self.paths, ready.name()).and_then(|path| path_of(&path, self.id.as_str()).ok());
        send_to(self.wire, ready, path.as_deref(), &self.secret, how)
    }

    /// `pay`, `answer`, `cancel`: what moves the intent. A second one joins the first.
    fn moved(&'static self, name: &str, first: &JsValue, how: &JsValue, asked: How) -> Result<Work, Stop> {
        let budget = duration(how, "budgetMs", BUDGET)?;
        let id = self.id.clone();
        let ready: Ready<ClientSecret> = match name {
            "pay" => Ready::new(&AttachPaymentMethod::new(id, instrument::read(first)?)),
            "answer" => Ready::new(&AnswerPaymentIntent::new(id, instrument::one_time_code(first)?)),
            "cancel" => Ready::new(&CancelPaymentIntent::new(id)),
            _ => return Err(no_such_call()),
        }?;
        let under_way = joined(self.flights, name, &at(how, "signal"), || -> Work {
            let moving = Moving::new(self, ready, asked);
            // Who pays what is paid already, or on its way, is told how it stands.
            let is_open =
                name != "pay" || self.is_stale.get() || self.standing().status == IntentStatus::RequiresAction;
            let first = if is_open { Asked::Move(Box::new(moving)) } else { Asked::Nothing };
            Box::new(Following::new(self, first, how, budget, asked))
        });
        Ok(Box::new(Waiting(Some(under_way))))
    }

    /// Keeps the service's object as the intent that is now.
    fn keep(&self, answer: &JsValue, name: &str) -> Result<(), Stop> {
        let intent = data(answer);
        if !is(&intent, "status", Sort::Text) {
            return Err(unreadable(answer, name));
        }
        self.intent.replace(intent);
        self.is_stale.set(false);
        Ok(())
    }

    fn standing(&self) -> Standing {
        let intent = self.intent.borrow();
        Standing {
            status: IntentStatus::from(text(&intent, "status").unwrap_or_default()),
            attempts: text(&intent, "attempts"),
            next_action: text(&intent, "next_action.type"),
        }
    }
}

/// Methods and fees are asked for with the intent's own secret.
impl Asks for Open {
    fn ask(&'static self, ready: Ready<NoCredential>, how: How) -> Result<Work, Stop> {
        send(self.wire, &ready.with(), &self.secret, how)
    }
}
