//! The price of each payment method: the active methods of a country, and the fee of each, requested concurrently.

use super::error::{CallError, Pending};
use super::reply::Reply;
use super::time::{CallOptions, all};
use super::transport::AuthorizedRequest;
use super::value::{get, get_text};
use crate::flow::{Price, QuoteRequest, card_types, cheapest_first, price};
use crate::operations::{CalculateFee, ListPaymentMethods};
use crate::protocol::{NoCredential, Operation, Spec};
use crate::values::{Amount, CardType, Country, MethodCode, MethodId};
use futures_util::future::LocalBoxFuture;
use js_sys::Array;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// The routes by which the merchant's server reads methods and fees for a page, by their names in errors and `onCall`.
static METHODS: Spec = Spec::get("merchant_methods", "/payment-methods").query(&["country_code"]);
static FEE: Spec =
    Spec::get("merchant_fee", "/fee").query(&["payment_method", "currency", "amount", "country_code", "card_type"]);

/// Reads methods and fees, in the way that a client has.
pub(crate) struct PublicReader {
    /// Whether the merchant's server reads them.
    pub(crate) is_merchant: bool,
    /// Sends a request with the credential for it.
    pub(crate) send: Box<dyn Fn(AuthorizedRequest<NoCredential>, CallOptions) -> Pending<Reply>>,
}

impl PublicReader {
    pub(crate) fn methods(
        &self,
        operation: &ListPaymentMethods,
        options: CallOptions,
    ) -> Result<Pending<Reply>, CallError> {
        let spec = if self.is_merchant { &METHODS } else { const { &ListPaymentMethods::SPEC } };
        Ok((self.send)(AuthorizedRequest::with_spec(spec, operation)?, options))
    }

    pub(crate) fn fee(&self, operation: &CalculateFee, options: CallOptions) -> Result<Pending<Reply>, CallError> {
        let spec = if self.is_merchant { &FEE } else { const { &CalculateFee::SPEC } };
        Ok((self.send)(AuthorizedRequest::with_spec(spec, operation)?, options))
    }
}

/// The price of one payment method: the service's own object.
pub(crate) type Quote = crate::flow::Quote<JsValue, CallError>;

/// The amount to price, and the methods.
pub(crate) struct QuoteSelection {
    pub(crate) request: QuoteRequest,
    /// Only these fee codes; all if it is empty.
    pub(crate) methods: Vec<String>,
    /// Fee codes by method id: an object.
    pub(crate) codes: JsValue,
}

/// The active payment methods.
pub(crate) async fn payment_methods(
    read: Rc<PublicReader>,
    country: Option<Country>,
    options: CallOptions,
) -> Result<Array, CallError> {
    let mut operation = ListPaymentMethods::new();
    operation.country_code = country;
    read.methods(&operation, options)?.await?.array()
}

/// The request for the fee of one method.
pub(crate) fn fee_of(request: &QuoteRequest, method: MethodCode, card_type: CardType) -> CalculateFee {
    let mut operation = CalculateFee::new(method, request.currency.clone(), request.amount).card_type(card_type);
    operation.country_code = request.country_code.clone();
    operation
}

/// The price of every method, the cheapest for the customer first. A method whose fee could not be read is listed with
/// its error.
pub(crate) async fn quotes(
    read: Rc<PublicReader>,
    selection: QuoteSelection,
    options: CallOptions,
) -> Result<Vec<Quote>, CallError> {
    let methods = payment_methods(Rc::clone(&read), selection.request.country_code.clone(), options).await?;
    let selection = Rc::new(selection);
    let mut calls = Vec::new();
    for method in methods.iter() {
        let Some(code) = selection.fee_code(&method) else { continue };
        for card_type in card_types(code.as_str()) {
            let operation = fee_of(&selection.request, code.clone(), card_type.unwrap_or_default());
            let reply = read.fee(&operation, options)?;
            calls.push(quote(Rc::clone(&selection), method.clone(), code.clone(), *card_type, reply));
        }
    }
    Ok(cheapest_first(all(calls).await))
}

impl QuoteSelection {
    /// The fee code of a method that may be used.
    fn fee_code(&self, method: &JsValue) -> Option<MethodCode> {
        let id = MethodId::new(get_text(method, "id")?).ok()?;
        let code = get_text(&self.codes, id.as_str()).and_then(|code| MethodCode::new(code).ok());
        let code = code.unwrap_or_else(|| id.code());
        let is_active = get(method, "active").is_none_or(|active| active.is_truthy());
        let is_allowed = self.methods.is_empty() || self.methods.iter().any(|allowed| allowed == code.as_str());
        (is_active && is_allowed).then_some(code)
    }

    /// The price that a reply gives, with the fee.
    fn price(&self, reply: &Reply) -> (Option<Amount>, Result<Price, CallError>) {
        let data = reply.data();
        let amount = |name| Amount::new(&get_text(&data, name)?).ok();
        let fee = amount("fee");
        (fee, price(&self.request, fee, amount("total_payable")).ok_or_else(|| reply.unreadable()))
    }
}

fn quote(
    selection: Rc<QuoteSelection>,
    method: JsValue,
    code: MethodCode,
    card_type: Option<CardType>,
    reply: Pending<Reply>,
) -> LocalBoxFuture<'static, Quote> {
    Box::pin(async move {
        let (fee, price) = match reply.await {
            Ok(reply) => selection.price(&reply),
            Err(error) => (None, Err(error)),
        };
        Quote { fee, ..Quote::new(&selection.request, method, code, card_type, price) }
    })
}
