//! What each way of paying costs: the active methods of a country, and the fee of each, asked side by side.

use super::call::How;
use super::error::Stop;
use super::fetch::Reply;
use super::inputs::Inputs;
use super::page::{Work, all};
use super::read::{get, list, maybe, object, text};
use crate::flow::{by_what_the_customer_pays, card_types, price};
use crate::operations::{CalculateFee, ListPaymentMethods};
use crate::protocol::{Anyone, Operation};
use crate::values::{Amount, CardType, Country, Currency, FeeBearer, MethodCode, MethodId};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::js_sys::Array;

/// A question under way.
pub(super) type Asker<'a> = Work<'a, Result<Reply, Stop>>;

/// Who asks for methods and fees, with whatever credential there is.
pub(super) trait Asks {
    fn read<O: Operation<Role = Anyone>>(&self, operation: &O, how: How) -> Result<Asker<'_>, Stop>;
}

/// What is paid for.
struct Sale {
    amount: Amount,
    currency: Currency,
    bearer: FeeBearer,
    country: Option<Country>,
}

/// The quotes of a sale, what costs the customer least first. A method whose fee cannot be had is listed with its error.
pub(super) async fn quotes(asks: &impl Asks, given: &JsValue, how: How) -> Result<JsValue, Stop> {
    let sale = Sale::read(given)?;
    let mut operation = ListPaymentMethods::new();
    operation.country_code.clone_from(&sale.country);
    let reply = asks.read(&operation, how)?.await?;
    let methods = reply.data();
    if !Array::is_array(&methods) {
        return Err(reply.unreadable());
    }
    let (allowed, codes) = (list(&get(given, "payment_method_types")), get(given, "codes"));
    let mut questions: Vec<Work<'_, Quote>> = Vec::new();
    for method in list(&methods) {
        let Some(id) = text(&method, "id").and_then(|id| MethodId::new(id).ok()) else { continue };
        let Some(code) = text(&codes, id.as_str()).map_or(Ok(id.code()), MethodCode::new).ok() else { continue };
        let is_allowed = allowed.is_empty() || allowed.iter().any(|kind| kind.as_string().as_deref() == Some(code.as_str()));
        if get(&method, "active") == JsValue::FALSE || !is_allowed {
            continue;
        }
        for card_type in card_types(code.as_str()) {
            questions.push(Box::pin(quote(asks, &sale, method.clone(), code.clone(), *card_type, how)));
        }
    }
    let mut quotes = all(questions).await;
    quotes.sort_by(|a, b| by_what_the_customer_pays(a.customer_pays.as_deref(), b.customer_pays.as_deref()));
    Ok(quotes.into_iter().map(|quote| quote.shown).collect::<Array>().into())
}

/// One quote, and what it is ordered by.
struct Quote {
    customer_pays: Option<String>,
    shown: JsValue,
}

async fn quote(asks: &impl Asks, sale: &Sale, method: JsValue, code: MethodCode, card_type: Option<CardType>, how: How) -> Quote {
    let mut operation = CalculateFee::new(code.clone(), sale.currency.clone(), sale.amount);
    operation.country_code.clone_from(&sale.country);
    if let Some(card_type) = card_type {
        operation = operation.card_type(card_type);
    }
    let answer = match asks.read(&operation, how) {
        Ok(asked) => asked.await,
        Err(stop) => Err(stop),
    };
    let mut fee = None;
    let priced = answer.and_then(|reply| {
        let data = reply.object()?;
        fee = text(&data, "fee");
        price(sale.bearer, sale.amount, fee.as_deref(), text(&data, "total_payable").as_deref()).map_err(|_| reply.unreadable())
    });
    let (price, error) = match priced {
        Ok(price) => (Some(price), JsValue::UNDEFINED),
        Err(stop) => (None, stop.into()),
    };
    let customer_pays = price.as_ref().map(|price| price.customer_pays.clone());
    let shown = object(&[
        ("method", method),
        ("payment_method", code.as_str().into()),
        ("card_type", maybe(card_type.map(CardType::as_str))),
        ("currency", sale.currency.as_str().into()),
        ("amount", sale.amount.to_string().into()),
        ("fee", maybe(fee.as_deref())),
        ("customer_pays", maybe(customer_pays.as_deref())),
        ("merchant_gets", maybe(price.and_then(|price| price.merchant_gets).as_deref())),
        ("error", error),
    ]);
    Quote { customer_pays, shown }
}

impl Sale {
    fn read(given: &JsValue) -> Result<Self, Stop> {
        let mut inputs = Inputs::of(given);
        let amount = inputs.required("amount", Amount::new);
        let currency = inputs.optional("currency", |text| Currency::new(text));
        let bearer = inputs.optional("fee_bearer", |text| text.parse::<FeeBearer>());
        let country = inputs.optional("country_code", |text| Country::new(text));
        match (amount, currency, bearer, country) {
            (Some(amount), Some(currency), Some(bearer), Some(country)) => {
                Ok(Self { amount, currency: currency.unwrap_or_default(), bearer: bearer.unwrap_or_default(), country })
            }
            _ => Err(inputs.refused()),
        }
    }
}
