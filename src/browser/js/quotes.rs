//! The arguments of `fee` and `quotes`, and quotes as JavaScript sees them.

use super::error::to_js;
use super::inputs::Inputs;
#[cfg(feature = "js-page")]
use crate::browser::core::fee_of;
use crate::browser::core::{CallError, Quote, QuoteSelection, get, list, text, write};
use crate::flow::QuoteRequest;
#[cfg(feature = "js-page")]
use crate::operations::CalculateFee;
use crate::values::{Amount, CardType, Country, Currency, FeeBearer, MethodCode};
use js_sys::Array;
use serde::Serialize;
use wasm_bindgen::prelude::*;

/// Reads the arguments that `fee` and `quotes` share.
#[inline(never)]
fn amount_to_price(inputs: &mut Inputs<'_>) -> Option<QuoteRequest> {
    let currency = inputs.optional("currency", |text| Currency::new(text));
    let amount = inputs.optional("amount", Amount::of_request);
    let bearer = inputs.optional("fee_bearer", |text| text.parse::<FeeBearer>());
    let country = inputs.optional("country_code", |text| Country::new(text));
    let mut request = QuoteRequest::new(amount?);
    request.currency = currency.unwrap_or_default();
    request.fee_bearer = bearer.unwrap_or_default();
    request.country_code = country;
    Some(request)
}

#[cfg(feature = "js-page")]
pub(super) fn calculate_fee(given: &JsValue) -> Result<CalculateFee, CallError> {
    let mut inputs = Inputs::of(given);
    for param in ["payment_method", "currency", "amount"] {
        inputs.require(param);
    }
    let request = amount_to_price(&mut inputs);
    let method = inputs.optional("payment_method", |text| MethodCode::new(text));
    let card_type = inputs.optional("card_type", |text| text.parse::<CardType>()).unwrap_or_default();
    inputs.finish(request.zip(method).map(|(request, method)| fee_of(&request, method, card_type)))
}

#[cfg(feature = "js-page")]
pub(super) fn country(given: &JsValue) -> Result<Option<Country>, CallError> {
    let mut inputs = Inputs::of(given);
    let country = inputs.optional("country_code", |text| Country::new(text));
    inputs.finish(Some(country))
}

/// Reads no `payment_method`: `quotes` also accepts an intent's own object, in which it means something else.
pub(super) fn quote_request(given: &JsValue) -> Result<QuoteSelection, CallError> {
    let mut inputs = Inputs::of(given);
    inputs.require("amount");
    let request = amount_to_price(&mut inputs);
    let methods = list(&get(given, "payment_method_types")).iter().filter_map(|method| text(&method)).collect();
    let codes = get(given, "codes");
    inputs.finish(request.map(|request| QuoteSelection { request, methods, codes }))
}

#[derive(Serialize)]
struct WrittenQuote<'a> {
    #[serde(with = "serde_wasm_bindgen::preserve")]
    method: JsValue,
    payment_method: &'a MethodCode,
    #[serde(skip_serializing_if = "Option::is_none")]
    card_type: Option<CardType>,
    currency: &'a Currency,
    amount: Amount,
    #[serde(skip_serializing_if = "Option::is_none")]
    fee: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    customer_pays: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    merchant_gets: Option<Amount>,
    #[serde(with = "serde_wasm_bindgen::preserve", skip_serializing_if = "JsValue::is_undefined")]
    error: JsValue,
}

pub(super) fn written(quotes: Vec<Quote>) -> JsValue {
    // One by one: a list that serde writes adds 0.1 KB (brotli) to the wasm.
    let written = Array::new();
    for quote in &quotes {
        written.push(&write(&WrittenQuote {
            method: quote.method.clone(),
            payment_method: &quote.payment_method,
            card_type: quote.card_type,
            currency: &quote.currency,
            amount: quote.amount,
            fee: quote.fee,
            customer_pays: quote.customer_pays(),
            merchant_gets: quote.price.as_ref().ok().and_then(|price| price.merchant_gets),
            error: quote.price.as_ref().err().cloned().map_or(JsValue::UNDEFINED, to_js),
        }));
    }
    written.into()
}
