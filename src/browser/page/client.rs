//! What `createGuichet` makes once the wasm is there.

use super::merchant::Merchant;
use super::session::{self, Renew, Revoke, Session, Validate, WithSession};
use super::{checkout, wait};
use crate::browser::call::How;
use crate::browser::error::{Stop, no_such_call, refuse_secret_key_within};
use crate::browser::fetch::{Ready, Wire, data_of, send};
use crate::browser::inputs::Inputs;
use crate::browser::options;
use crate::browser::quotes::{Asks, Sale, quotes};
use crate::browser::read::{Sort, text};
use crate::browser::task::{Answer, Flow, Next, Task, Waiting, Work};
use crate::operations::ListPaymentMethods;
use crate::protocol::NoCredential;
use crate::values::Country;
use std::cell::Cell;
use wasm_bindgen::prelude::*;

/// All that a call needs.
pub(super) struct Inner {
    pub(super) wire: &'static Wire,
    pub(super) merchant: Merchant,
    pub(super) session: Session,
    pub(super) checkout_origins: Vec<String>,
    /// What is under way and may be joined: a renewal, a checkout.
    pub(super) flights: &'static JsValue,
    /// Whether methods and fees are asked for with the session's token.
    reads_with_session: bool,
}

const OPTIONS: &str = "baseUrl merchant merchantHeaders checkoutOrigins publicReads locale fetch wasm onCall";

thread_local! {
    /// The one client of this instance of the wasm: it is there for as long as the instance, and has no other end.
    static CLIENT: Cell<Option<&'static Inner>> = const { Cell::new(None) };
}

/// Reads the options; nothing is sent. `tell` hears how the session stands, `say` tells the other tabs. It comes to the
/// name of the channel that the tabs of this service's clients share.
#[wasm_bindgen]
pub fn open(given: &JsValue, tell: JsValue, say: JsValue) -> Result<JsValue, JsValue> {
    refuse_secret_key_within(given)?;
    options::only(given, "option", OPTIONS)?;
    let wire = options::wire(given)?;
    let merchant = Merchant::read(given)?;
    let mut checkout_origins = options::origins(given, "checkoutOrigins")?;
    if checkout_origins.is_empty() {
        checkout_origins.push(wire.base.origin().to_owned());
    }
    let reads_with_session = match text(given, "publicReads").as_deref() {
        Some("anonymous") => false,
        None | Some("session") => merchant.has("session"),
        _ => return Err(Stop::field("publicReads", "It is \"session\" or \"anonymous\".").into()),
    };
    let (session, flights) = (Session::new(tell, say), &wire.flights);
    let inner = Inner { wire, merchant, session, checkout_origins, flights, reads_with_session };
    CLIENT.set(Some(Box::leak(Box::new(inner))));
    Ok(wire.base.with("#guichet").into())
}

fn client() -> &'static Inner {
    CLIENT.get().expect("a client is opened before it is used")
}

/// One call by its name, with its first argument and how it is to go.
#[wasm_bindgen]
pub fn call(name: &str, first: JsValue, how: JsValue) -> Result<Task, JsValue> {
    let inner = client();
    for given in [&first, &how] {
        refuse_secret_key_within(given)?;
    }
    options::only(&how, "option", call_options(name))?;
    if let Some(fields) = fields(name) {
        options::only(&first, "field", fields)?;
    }
    let asked = How::read(&how)?;
    let work: Work = match name {
        "validate" => Box::new(Validate::new(inner, asked)),
        "renew" => Box::new(Renew::new(inner)),
        "revoke" => Box::new(Revoke::new(inner, asked)),
        "payment_methods" => payment_methods(inner, &first, asked)?,
        "fee" => fee(inner, &first, asked)?,
        "quotes" => quotes(inner, &first, asked)?,
        "checkout" => checkout::checkout(inner, &first, &how, asked)?,
        "returned" => Box::new(Waiting(Some(checkout::returned()))),
        "wait_for_outcome" => Box::new(wait::Wait::new(inner, &how, asked, false)?.of(first)?),
        _ => return Err(no_such_call().into()),
    };
    Ok(Task::new(work))
}

/// The names that a call takes in its last argument.
fn call_options(name: &str) -> &'static str {
    match name {
        "checkout" => "signal timeoutMs budgetMs onStatus mode",
        "wait_for_outcome" => "signal timeoutMs budgetMs onStatus",
        _ => "signal timeoutMs",
    }
}

/// The names that a call takes in its first argument; `None` where the call itself looks at them.
fn fields(name: &str) -> Option<&'static str> {
    match name {
        "payment_methods" => Some("country_code"),
        "fee" => Some("payment_method currency amount country_code card_type"),
        "quotes" => Some("amount currency fee_bearer country_code payment_method_types codes"),
        _ => None,
    }
}

/// Hears a word of another tab; or none, when it is time to look how the session stands.
#[wasm_bindgen]
pub fn hear(word: &str) {
    session::hear(client(), word);
}

/// Methods and fees may be asked for by anyone; the client asks with what it has.
impl Asks for Inner {
    fn ask(&'static self, ready: Ready<NoCredential>, how: How) -> Result<Work, Stop> {
        if self.reads_with_session {
            Ok(Box::new(WithSession::new(self, ready.with(), how)))
        } else {
            send(self.wire, &ready, &NoCredential, how)
        }
    }
}

fn payment_methods(inner: &'static Inner, given: &JsValue, how: How) -> Result<Work, Stop> {
    let mut inputs = Inputs::of(given);
    let mut operation = ListPaymentMethods::new();
    operation.country_code = inputs.optional("country_code", |text| Country::new(text));
    if inputs.is_refused() {
        return Err(inputs.refused());
    }
    Reading::of(inner, Ready::new(&operation)?, Sort::List, how)
}

fn fee(inner: &'static Inner, given: &JsValue, how: How) -> Result<Work, Stop> {
    match Sale::read(inner, given, how, true)? {
        (sale, Some(method), card_type) => Reading::of(inner, sale.fee(&method, card_type)?, Sort::Object, how),
        _ => Err(Stop::field("payment_method", "It is required.")),
    }
}

/// Asks, and gives what the answer holds.
struct Reading {
    ask: Option<Work>,
    name: &'static str,
    sort: Sort,
}

impl Reading {
    fn of(inner: &'static Inner, ready: Ready<NoCredential>, sort: Sort, how: How) -> Result<Work, Stop> {
        let name = ready.name();
        Ok(Box::new(Self { ask: Some(inner.ask(ready, how)?), name, sort }))
    }
}

impl Flow for Reading {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        match self.ask.take() {
            Some(work) => Ok(Next::Call(work)),
            None => data_of(&came?, self.sort, self.name).map(Next::Done),
        }
    }
}
