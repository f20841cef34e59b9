//! What `createGuichet` makes once the wasm is there.

use super::call::How;
use super::error::Stop;
use super::fetch::{Ready, Reply, Wire};
use super::inputs::Inputs;
use super::merchant::Merchant;
use super::quotes::{Asks, quotes};
use super::read::text;
use super::session::Session;
use super::task::{Answer, Flight, Task, Work};
use super::{checkout, options, wait};
use crate::operations::{CalculateFee, ListPaymentMethods};
use crate::protocol::NoCredential;
use crate::values::{Amount, CardType, Country, Currency, MethodCode};
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::js_sys::Array;

/// The client of one page.
#[wasm_bindgen]
pub struct Client(Rc<Inner>);

/// All that a call needs.
pub(super) struct Inner {
    pub(super) wire: Wire,
    pub(super) merchant: Merchant,
    pub(super) session: Session,
    pub(super) checkout_origins: Vec<String>,
    /// The checkout under way, and the order it is of.
    pub(super) leaving: (RefCell<String>, Flight),
    /// Whether methods and fees are asked for with the session's token.
    reads_with_session: bool,
}

#[wasm_bindgen]
impl Client {
    /// Reads the options; nothing is sent.
    #[wasm_bindgen(constructor)]
    pub fn new(given: &JsValue, tell: JsValue) -> Result<Client, JsValue> {
        let wire = options::wire(given)?;
        let merchant = Merchant::read(given)?;
        let mut checkout_origins = options::origins(given, "checkoutOrigins")?;
        if checkout_origins.is_empty() {
            checkout_origins.push(wire.base.origin().to_owned());
        }
        let reads_with_session = match text(given, "publicReads").as_deref() {
            Some("none") => false,
            None | Some("session") => merchant.has("session"),
            _ => return Err(Stop::field("publicReads", "It is \"session\" or \"none\".").into()),
        };
        let session = Session::new(tell, &wire.base);
        let inner = Rc::new(Inner {
            wire,
            merchant,
            session,
            checkout_origins,
            leaving: Default::default(),
            reads_with_session,
        });
        Session::hear_other_tabs(&inner);
        Ok(Self(inner))
    }

    /// One call by its name, with its first argument and how it is to go.
    pub fn call(&self, name: &str, first: JsValue, how: JsValue) -> Task {
        let inner = Rc::clone(&self.0);
        let name = name.to_owned();
        Task::new(async move {
            let asked = How::read(&how)?;
            let work: Work<'_, Answer> = match name.as_str() {
                "validate" => Box::pin(inner.validate(asked)),
                "renew" => Box::pin(inner.renew(asked)),
                "revoke" => Box::pin(inner.revoke(asked)),
                "payment_methods" => Box::pin(inner.payment_methods(&first, asked)),
                "fee" => Box::pin(inner.fee(&first, asked)),
                "quotes" => {
                    let asks: Rc<dyn Asks> = Rc::new(Rc::clone(&inner));
                    Box::pin(quotes(asks, &first, asked))
                }
                "checkout" => Box::pin(checkout::checkout(Rc::clone(&inner), first, &how, asked)),
                "returned" => return Ok(checkout::returned()),
                _ => Box::pin(wait::wait_for_outcome(&inner, first, &how, asked)),
            };
            work.await
        })
    }

    /// Where the session stands.
    pub fn state(&self) -> String {
        self.0.session.state().as_str().to_owned()
    }

    /// When the session ends, in milliseconds since 1970.
    pub fn expires_at(&self) -> Option<f64> {
        self.0.session.expires_at()
    }

    /// Whose session it is.
    pub fn email(&self) -> Option<String> {
        self.0.session.email()
    }
}

/// Methods and fees may be asked for by anyone; the client asks with what it has.
impl Asks for Rc<Inner> {
    fn list(&self, operation: &ListPaymentMethods, how: How) -> Work<'_, Result<Reply, Stop>> {
        if self.reads_with_session {
            self.with_session(Ready::new(operation), how)
        } else {
            self.wire.send(operation, &NoCredential, how)
        }
    }

    fn fee(&self, operation: &CalculateFee, how: How) -> Work<'_, Result<Reply, Stop>> {
        if self.reads_with_session {
            self.with_session(Ready::new(operation), how)
        } else {
            self.wire.send(operation, &NoCredential, how)
        }
    }
}

impl Inner {
    async fn payment_methods(self: &Rc<Self>, given: &JsValue, how: How) -> Answer {
        let mut inputs = Inputs::of(given);
        let Some(country) = inputs.optional("country_code", |text| Country::new(text)) else {
            return Err(inputs.refused());
        };
        let mut operation = ListPaymentMethods::new();
        operation.country_code = country;
        let reply = self.list(&operation, how).await?;
        let data = reply.data();
        if Array::is_array(&data) { Ok(data) } else { Err(reply.unreadable()) }
    }

    async fn fee(self: &Rc<Self>, given: &JsValue, how: How) -> Answer {
        let mut inputs = Inputs::of(given);
        let method = inputs.required("payment_method", |text| MethodCode::new(text));
        let currency = inputs.required("currency", |text| Currency::new(text));
        let amount = inputs.required("amount", Amount::new);
        let country = inputs.optional("country_code", |text| Country::new(text));
        let card_type = inputs.optional("card_type", |text| text.parse::<CardType>());
        let (Some(method), Some(currency), Some(amount), Some(country), Some(card_type)) =
            (method, currency, amount, country, card_type)
        else {
            return Err(inputs.refused());
        };
        let mut operation = CalculateFee::new(method, currency, amount).card_type(card_type.unwrap_or_default());
        operation.country_code = country;
        Asks::fee(self, &operation, how).await?.object()
    }
}
