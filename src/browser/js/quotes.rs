//! The arguments of `fee` and `quotes`, and quotes as JavaScript sees them.

use super::inputs::Inputs;
use crate::browser::core::error::CallError;
#[cfg(feature = "js-page")]
use crate::browser::core::quotes::fee_of;
use crate::browser::core::quotes::{Quote, QuoteSelection};
use crate::browser::core::value::{get, get_list, object, optional, text};
use crate::flow::QuoteRequest;
#[cfg(feature = "js-page")]
use crate::operations::CalculateFee;
#[cfg(feature = "js-page")]
use crate::values::MethodCode;
use crate::values::{Amount, CardType, Country, Currency, FeeBearer};
use js_sys::Array;
use wasm_bindgen::prelude::*;

/// Reads the arguments that `fee` and `quotes` share.
#[inline(never)]
fn amount_to_price(inputs: &mut Inputs<'_>, needs_currency: bool) -> Option<QuoteRequest> {
    let currency = |text: &str| Currency::new(text);
    let currency =
        if needs_currency { inputs.required("currency", currency) } else { inputs.optional("currency", currency) };
    let amount = inputs.required("amount", Amount::of_request);
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
    let method = inputs.required("payment_method", |text| MethodCode::new(text));
    let request = amount_to_price(&mut inputs, true);
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
    let request = amount_to_price(&mut inputs, false);
    let methods = get_list(given, "payment_method_types").iter().filter_map(|method| text(&method)).collect();
    let codes = get(given, "codes").unwrap_or_default();
    inputs.finish(request.map(|request| QuoteSelection { request, methods, codes }))
}

pub(super) fn written(quotes: Vec<Quote>) -> JsValue {
    quotes.into_iter().map(written_quote).collect::<Array>().into()
}

fn written_quote(quote: Quote) -> JsValue {
    let amount = |amount: Option<Amount>| optional(amount.map(Amount::text));
    object(&[
        ("payment_method", Some(quote.payment_method.as_str().into())),
        ("card_type", optional(quote.card_type.map(CardType::as_str))),
        ("currency", Some(quote.currency.as_str().into())),
        ("amount", amount(Some(quote.amount))),
        ("fee", amount(quote.fee)),
        ("customer_pays", amount(quote.customer_pays())),
        ("merchant_gets", amount(quote.merchant_gets())),
        ("error", optional(quote.price.err())),
        ("method", Some(quote.method)),
    ])
}
