//! The price of each payment method: the active methods of a country, and the fee of each, requested concurrently.

use super::call_options::CallOptions;
use super::error::CallError;
use super::events::Pending;
use super::transport::{AuthorizedRequest, Reply};
use super::value::{get, get_text};
use crate::flow::{Price, QuoteRequest, by_what_the_customer_pays, card_types, price};
use crate::operations::{CalculateFee, ListPaymentMethods};
use crate::protocol::NoCredential;
use crate::values::{Amount, CardType, Country, Currency, MethodCode, MethodId};
use js_sys::Array;
use std::cmp::Ordering;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// A client that sends public requests with the credential that it has.
pub(crate) trait PublicReads {
    fn read_public(self: Rc<Self>, request: AuthorizedRequest<NoCredential>, options: CallOptions) -> Pending<Reply>;
}

/// The amount to price, and the methods.
pub(crate) struct QuoteSelection {
    pub(crate) request: QuoteRequest,
    /// Only these fee codes; all if it is empty.
    pub(crate) methods: Vec<String>,
    /// Fee codes by method id: an object.
    pub(crate) codes: JsValue,
}

/// The price of one payment method.
pub(crate) struct Quote {
    /// The service's own object.
    pub(crate) method: JsValue,
    pub(crate) payment_method: MethodCode,
    pub(crate) card_type: Option<CardType>,
    pub(crate) currency: Currency,
    pub(crate) amount: Amount,
    pub(crate) fee: Option<Amount>,
    /// The price for the customer and for the merchant, or the error if there is none.
    pub(crate) price: Result<Price, CallError>,
}

impl Quote {
    pub(crate) fn customer_pays(&self) -> Option<Amount> {
        self.price.as_ref().ok().map(|price| price.customer_pays)
    }
}

/// The active payment methods.
pub(crate) async fn payment_methods(
    client: Rc<dyn PublicReads>,
    country: Option<Country>,
    options: CallOptions,
) -> Result<Array, CallError> {
    let mut operation = ListPaymentMethods::new();
    operation.country_code = country;
    client.read_public(AuthorizedRequest::new(&operation)?, options).await?.array()
}

/// The request for the fee of one method.
pub(crate) fn fee_of(request: &QuoteRequest, method: MethodCode, card_type: CardType) -> CalculateFee {
    let mut operation = CalculateFee::new(method, request.currency.clone(), request.amount).card_type(card_type);
    operation.country_code = request.country_code.clone();
    operation
}

/// The fee of one method.
pub(crate) async fn fee(
    client: Rc<dyn PublicReads>,
    operation: CalculateFee,
    options: CallOptions,
) -> Result<JsValue, CallError> {
    fee_reply(client, &operation, options)?.await?.object()
}

fn fee_reply(
    client: Rc<dyn PublicReads>,
    operation: &CalculateFee,
    options: CallOptions,
) -> Result<Pending<Reply>, CallError> {
    Ok(client.read_public(AuthorizedRequest::new(operation)?, options))
}

/// The price of every method, the cheapest for the customer first. A method whose fee could not be read is listed with
/// its error.
pub(crate) async fn quotes(
    client: Rc<dyn PublicReads>,
    selection: QuoteSelection,
    options: CallOptions,
) -> Result<Vec<Quote>, CallError> {
    let methods = payment_methods(Rc::clone(&client), selection.request.country_code.clone(), options).await?;
    let selection = Rc::new(selection);
    let mut calls = Vec::new();
    for method in methods.iter() {
        let Some(code) = selection.fee_code(&method) else { continue };
        for card_type in card_types(code.as_str()) {
            calls.push(price_method(&client, &selection, method.clone(), code.clone(), *card_type, options)?);
        }
    }
    Ok(in_order(super::events::all(calls).await))
}

impl QuoteSelection {
    /// The fee code of a method that may be used.
    fn fee_code(&self, method: &JsValue) -> Option<MethodCode> {
        let id = MethodId::new(get_text(method, "id")?).ok()?;
        let code = get_text(&self.codes, id.as_str()).and_then(|code| MethodCode::new(code).ok());
        let code = code.unwrap_or_else(|| id.code());
        let is_active = get(method, "active").as_bool() != Some(false);
        let is_allowed = self.methods.is_empty() || self.methods.iter().any(|allowed| allowed == code.as_str());
        (is_active && is_allowed).then_some(code)
    }

    fn quote(
        &self,
        method: JsValue,
        code: MethodCode,
        card_type: Option<CardType>,
        reply: Result<Reply, CallError>,
    ) -> Quote {
        let mut fee = None;
        let price = reply.and_then(|reply| {
            let data = reply.data();
            fee = get_amount(&data, "fee");
            price(&self.request, fee, get_amount(&data, "total_payable")).map_err(|_| reply.unreadable())
        });
        let (currency, amount) = (self.request.currency.clone(), self.request.amount);
        Quote { method, payment_method: code, card_type, currency, amount, fee, price }
    }
}

fn get_amount(object: &JsValue, name: &str) -> Option<Amount> {
    Amount::new(&get_text(object, name)?).ok()
}

fn price_method(
    client: &Rc<dyn PublicReads>,
    selection: &Rc<QuoteSelection>,
    method: JsValue,
    code: MethodCode,
    card_type: Option<CardType>,
    options: CallOptions,
) -> Result<futures_util::future::LocalBoxFuture<'static, Quote>, CallError> {
    let operation = fee_of(&selection.request, code.clone(), card_type.unwrap_or_default());
    let reply = fee_reply(Rc::clone(client), &operation, options)?;
    let selection = Rc::clone(selection);
    Ok(Box::pin(async move { selection.quote(method, code, card_type, reply.await) }))
}

/// Insertion sort: `sort_by` adds 1.5 KB (brotli) to the wasm.
fn in_order(quotes: Vec<Quote>) -> Vec<Quote> {
    let mut ordered: Vec<Quote> = Vec::new();
    for quote in quotes {
        let is_cheaper =
            |other: &Quote| by_what_the_customer_pays(quote.customer_pays(), other.customer_pays()) == Ordering::Less;
        let place = ordered.iter().position(is_cheaper).unwrap_or(ordered.len());
        ordered.insert(place, quote);
    }
    ordered
}
