//! What each way of paying costs: the active methods of a country, and the fee of each, asked side by side.

use super::call::How;
use super::error::Stop;
use super::fetch::Reply;
use super::inputs::Inputs;
use super::read::{at, list, make, maybe, text};
use super::task::{Answer, Task, Work, side_by_side};
use crate::flow::{by_what_the_customer_pays, card_types, price};
use crate::operations::{CalculateFee, ListPaymentMethods};
use crate::values::{Amount, CardType, Country, Currency, FeeBearer, MethodCode, MethodId};
use std::cmp::Ordering;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::js_sys::Array;

/// Who asks for methods and fees, with whatever credential there is.
pub(super) trait Asks {
    fn list(&self, operation: &ListPaymentMethods, how: How) -> Work<'_, Result<Reply, Stop>>;
    fn fee(&self, operation: &CalculateFee, how: How) -> Work<'_, Result<Reply, Stop>>;
}

/// The quotes of a sale, what costs the customer least first. A method whose fee cannot be had is listed with its error.
pub(super) async fn quotes(asks: Rc<dyn Asks>, given: &JsValue, how: How) -> Answer {
    let mut inputs = Inputs::of(given);
    let amount = inputs.required("amount", Amount::new);
    let currency = inputs.optional("currency", |text| Currency::new(text));
    let bearer = inputs.optional("fee_bearer", |text| text.parse::<FeeBearer>());
    let country = inputs.optional("country_code", |text| Country::new(text));
    let (Some(amount), Some(currency), Some(bearer), Some(country)) = (amount, currency, bearer, country) else {
        return Err(inputs.refused());
    };
    let (currency, bearer) = (currency.unwrap_or_default(), bearer.unwrap_or_default());

    let mut operation = ListPaymentMethods::new();
    operation.country_code.clone_from(&country);
    let reply = asks.list(&operation, how).await?;
    let methods = reply.data();
    if !Array::is_array(&methods) {
        return Err(reply.unreadable());
    }
    let (allowed, codes) = (at(given, "payment_method_types"), at(given, "codes"));
    let allowed = list(&allowed);
    let mut questions = Vec::new();
    for method in list(&methods) {
        let Ok(id) = MethodId::new(text(&method, "id").unwrap_or_default()) else { continue };
        let code = text(&codes, id.as_str()).and_then(|code| MethodCode::new(code).ok()).unwrap_or_else(|| id.code());
        let is_allowed = allowed.is_empty() || allowed.iter().any(|kind| *kind == code.as_str());
        if at(&method, "active") == JsValue::FALSE || !is_allowed {
            continue;
        }
        for card_type in card_types(code.as_str()) {
            let mut operation =
                CalculateFee::new(code.clone(), currency.clone(), amount).card_type(card_type.unwrap_or_default());
            operation.country_code.clone_from(&country);
            questions.push(Task::new(quote(Rc::clone(&asks), operation, bearer, method.clone(), *card_type, how)));
        }
    }
    let mut ordered: Vec<JsValue> = Vec::new();
    for quote in side_by_side(questions).await? {
        let pays = text(&quote, "customer_pays");
        let is_less = |other: &JsValue| {
            by_what_the_customer_pays(pays.as_deref(), text(other, "customer_pays").as_deref()) == Ordering::Less
        };
        let place = ordered.iter().position(is_less).unwrap_or(ordered.len());
        ordered.insert(place, quote);
    }
    Ok(ordered.into_iter().collect::<Array>().into())
}

async fn quote(
    asks: Rc<dyn Asks>,
    operation: CalculateFee,
    bearer: FeeBearer,
    method: JsValue,
    card_type: Option<CardType>,
    how: How,
) -> Answer {
    let answer = asks.fee(&operation, how).await;
    let mut fee = None;
    let priced = answer.and_then(|reply| {
        let data = reply.data();
        fee = text(&data, "fee");
        price(bearer, operation.amount, fee.as_deref(), text(&data, "total_payable").as_deref())
            .map_err(|_| reply.unreadable())
    });
    let (customer_pays, merchant_gets, error) = match priced {
        Ok(price) => (Some(price.customer_pays), price.merchant_gets, JsValue::UNDEFINED),
        Err(stop) => (None, None, stop.into()),
    };
    Ok(make(
        "method payment_method card_type currency amount fee customer_pays merchant_gets error",
        [
            method,
            operation.payment_method.as_str().into(),
            maybe(card_type.map(CardType::as_str)),
            operation.currency.as_str().into(),
            operation.amount.to_string().into(),
            maybe(fee.as_deref()),
            maybe(customer_pays.as_deref()),
            maybe(merchant_gets.as_deref()),
            error,
        ],
    ))
}
