//! What `createGuichet` makes once the wasm is there.

use super::call::{How, promise};
use super::error::{Stop, secret_key};
use super::fetch::{Ready, Reply, Wire};
use super::inputs::Inputs;
use super::merchant::Merchant;
use super::page::Work;
use super::quotes::{Asker, Asks, quotes};
use super::session::Session;
use super::{checkout, options, wait};
use crate::flow::State;
use crate::operations::{CalculateFee, ListPaymentMethods};
use crate::protocol::{Anyone, Fulfils, Kind, NoCredential, Operation};
use crate::values::{Amount, CardType, Country, Currency, MethodCode, SessionToken};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::js_sys::{Array, Function, Promise};

/// The client of one page.
#[wasm_bindgen]
pub struct Client(Rc<Inner>);

/// All that a call needs.
pub(super) struct Inner {
    pub(super) wire: Wire,
    pub(super) merchant: Merchant,
    pub(super) session: Session,
    pub(super) checkout_origins: Vec<String>,
    pub(super) leaving: checkout::Leaving,
    /// Whether methods and fees are asked for with the session's token.
    reads_with_session: bool,
}

#[wasm_bindgen]
impl Client {
    /// Reads the options; nothing is sent.
    #[wasm_bindgen(constructor)]
    pub fn new(given: &JsValue, tell: Function) -> Result<Client, JsValue> {
        let wire = options::wire(given)?;
        let merchant = Merchant::read(given)?;
        let checkout_origins = options::origins(given, "checkoutOrigins")?.unwrap_or_else(|| vec![wire.base.origin().to_owned()]);
        let reads_with_session = options::word(given, "publicReads", ["none", "session"])? != Some(0) && merchant.has("session");
        let session = Session::new(tell, &wire.base);
        let inner = Rc::new(Inner { wire, merchant, session, checkout_origins, leaving: checkout::Leaving::default(), reads_with_session });
        Session::hear_other_tabs(&inner);
        Ok(Self(inner))
    }

    /// One call by its name, with its first argument and how it is to go.
    pub fn call(&self, name: &str, first: JsValue, how: JsValue) -> Promise {
        let inner = Rc::clone(&self.0);
        let given = how.clone();
        let work: Work<'static, Result<JsValue, Stop>> = match name {
            "validate" => Box::pin(async move { inner.validate(How::read(&given)?).await }),
            "renew" => Box::pin(async move { inner.renew(How::read(&given)?).await }),
            "revoke" => Box::pin(async move { inner.revoke(How::read(&given)?).await }),
            "payment_methods" => Box::pin(async move { inner.payment_methods(&first, How::read(&given)?).await }),
            "fee" => Box::pin(async move { inner.fee(&first, How::read(&given)?).await }),
            "quotes" => Box::pin(async move {
                let asker: &Rc<Inner> = &inner;
                quotes(&asker, &first, How::read(&given)?).await
            }),
            "checkout" => Box::pin(async move { checkout::checkout(inner, first, given).await }),
            "returned" => Box::pin(async { checkout::returned() }),
            "wait_for_outcome" => Box::pin(async move { wait::wait_for_outcome(inner, first, given).await }),
            _ => Box::pin(async { Err(Stop::new(Kind::Unsupported, "This version does not have this call.")) }),
        };
        promise(&how, work)
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

impl Inner {
    async fn payment_methods(self: &Rc<Self>, given: &JsValue, how: How) -> Result<JsValue, Stop> {
        let mut inputs = Inputs::of(given);
        let Some(country) = inputs.optional("country_code", |text| Country::new(text)) else { return Err(inputs.refused()) };
        let mut operation = ListPaymentMethods::new();
        operation.country_code = country;
        let reply = self.ask(&operation, how)?.await?;
        let data = reply.data();
        if Array::is_array(&data) { Ok(data) } else { Err(reply.unreadable()) }
    }

    async fn fee(self: &Rc<Self>, given: &JsValue, how: How) -> Result<JsValue, Stop> {
        let mut inputs = Inputs::of(given);
        let method = inputs.required("payment_method", |text| MethodCode::new(text));
        let currency = inputs.required("currency", |text| Currency::new(text));
        let amount = inputs.required("amount", Amount::new);
        let country = inputs.optional("country_code", |text| Country::new(text));
        let card_type = inputs.optional("card_type", |text| text.parse::<CardType>());
        let (Some(method), Some(currency), Some(amount), Some(country), Some(card_type)) = (method, currency, amount, country, card_type) else {
            return Err(inputs.refused());
        };
        let mut operation = CalculateFee::new(method, currency, amount).card_type(card_type.unwrap_or_default());
        operation.country_code = country;
        self.ask(&operation, how)?.await?.object()
    }

    fn ask<'a, O: Operation>(self: &'a Rc<Self>, operation: &O, how: How) -> Result<Work<'a, Result<Reply, Stop>>, Stop>
    where
        SessionToken: Fulfils<O::Role>,
        NoCredential: Fulfils<O::Role>,
    {
        if self.reads_with_session {
            let ready = Ready::new::<O, SessionToken>(operation)?;
            return Ok(Box::pin(self.with_session(ready, how)));
        }
        let ready = Ready::new::<O, NoCredential>(operation)?;
        Ok(self.wire.send_ready(&ready, None, how))
    }
}

/// Methods and fees may be asked for by anyone; the client asks with what it has.
impl Asks for &Rc<Inner> {
    fn read<O: Operation<Role = Anyone>>(&self, operation: &O, how: How) -> Result<Asker<'_>, Stop> {
        self.ask(operation, how)
    }
}

/// Refuses an address that a secret key is in.
pub(super) fn no_secret_key_in(address: &str) -> Result<(), Stop> {
    if crate::flow::carries_a_secret_key(address) { Err(secret_key()) } else { Ok(()) }
}

/// The state that a page is told of, when it changes.
pub(super) fn told(state: State) -> JsValue {
    state.as_str().into()
}
