//! What each way of paying costs: the active methods of a country, and the fee of each, asked side by side.

use super::call::How;
use super::error::Stop;
use super::fetch::{Ready, data, data_of, unreadable};
use super::inputs::Inputs;
use super::read::{Sort, at, is, list, list_of, make, maybe, text};
use super::task::{Answer, Flow, Next, Work, side_by_side};
use crate::flow::{by_what_the_customer_pays, card_types, price};
use crate::operations::{CalculateFee, ListPaymentMethods};
use crate::protocol::NoCredential;
use crate::values::{Amount, CardType, Country, Currency, FeeBearer, MethodCode, MethodId};
use std::cmp::Ordering;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// Who asks what anyone may ask, with whatever credential there is.
pub(super) trait Asks {
    fn ask(&self, ready: Ready<NoCredential>, how: How) -> Result<Work, Stop>;
}

/// The quotes of a sale, what costs the customer least first. A method whose fee cannot be had is listed with its error.
pub(super) fn quotes(asks: Rc<dyn Asks>, given: &JsValue, how: How) -> Result<Work, Stop> {
    let mut inputs = Inputs::of(given);
    let amount = inputs.required("amount", Amount::new);
    let currency = inputs.optional("currency", |text| Currency::new(text));
    let bearer = inputs.optional("fee_bearer", |text| text.parse::<FeeBearer>());
    let country = inputs.optional("country_code", |text| Country::new(text));
    let (Some(amount), Some(currency), Some(bearer), Some(country)) = (amount, currency, bearer, country) else {
        return Err(inputs.refused());
    };
    let sale = Sale {
        asks,
        amount,
        currency: currency.unwrap_or_default(),
        bearer: bearer.unwrap_or_default(),
        country,
        how,
        allowed: at(given, "payment_method_types"),
        codes: at(given, "codes"),
    };
    Ok(Box::new(Quoting { sale, state: State::Begun }))
}

struct Sale {
    asks: Rc<dyn Asks>,
    amount: Amount,
    currency: Currency,
    bearer: FeeBearer,
    country: Option<Country>,
    how: How,
    /// Only these fee codes; all where it names none.
    allowed: JsValue,
    /// Fee codes by method id.
    codes: JsValue,
}

struct Quoting {
    sale: Sale,
    state: State,
}

enum State {
    Begun,
    Listing(&'static str),
    Pricing,
}

impl Flow for Quoting {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        let came = came?;
        let sale = &self.sale;
        match self.state {
            State::Begun => {
                let mut operation = ListPaymentMethods::new();
                operation.country_code.clone_from(&sale.country);
                let ready = Ready::new(&operation)?;
                self.state = State::Listing(ready.name());
                sale.asks.ask(ready, sale.how).map(Next::Call)
            }
            State::Listing(name) => {
                let mut works = Vec::new();
                for method in list(&data_of(&came, Sort::List, name)?) {
                    sale.price(&method, &mut works);
                }
                self.state = State::Pricing;
                Ok(Next::Wait(side_by_side(works)))
            }
            State::Pricing => Ok(Next::Done(in_order(&came))),
        }
    }
}

impl Sale {
    /// Asks what one method costs, where it may be used.
    fn price(&self, method: &JsValue, works: &mut Vec<Work>) {
        let Ok(id) = MethodId::new(text(method, "id").unwrap_or_default()) else { return };
        let code = text(&self.codes, id.as_str()).and_then(|code| MethodCode::new(code).ok());
        let code = code.unwrap_or_else(|| id.code());
        let mut allowed = list(&self.allowed).map(|kind| text(&kind, "")).peekable();
        let is_allowed = allowed.peek().is_none() || allowed.any(|kind| kind.as_deref() == Some(code.as_str()));
        if is(method, "active", Sort::False) || !is_allowed {
            return;
        }
        for card_type in card_types(code.as_str()) {
            let mut operation = CalculateFee::new(code.clone(), self.currency.clone(), self.amount)
                .card_type(card_type.unwrap_or_default());
            operation.country_code.clone_from(&self.country);
            works.push(Box::new(Pricing {
                asks: Rc::clone(&self.asks),
                operation,
                bearer: self.bearer,
                method: method.clone(),
                card_type: *card_type,
                how: self.how,
                asked: None,
            }));
        }
    }
}

/// One way of paying, priced. It does not fail: what went wrong is in the quote.
struct Pricing {
    asks: Rc<dyn Asks>,
    operation: CalculateFee,
    bearer: FeeBearer,
    method: JsValue,
    card_type: Option<CardType>,
    how: How,
    asked: Option<&'static str>,
}

impl Flow for Pricing {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        let Some(name) = self.asked else {
            let ready = Ready::new(&self.operation)?;
            self.asked = Some(ready.name());
            return self.asks.ask(ready, self.how).map(Next::Call);
        };
        let mut fee = None;
        let priced = came.and_then(|answer| {
            let data = data(&answer);
            fee = text(&data, "fee");
            let total = text(&data, "total_payable");
            price(self.bearer, self.operation.amount, fee.as_deref(), total.as_deref())
                .map_err(|_| unreadable(&answer, name))
        });
        let (customer_pays, merchant_gets, error) = match priced {
            Ok(price) => (Some(price.customer_pays), price.merchant_gets, JsValue::UNDEFINED),
            Err(stop) => (None, None, stop.into()),
        };
        Ok(Next::Done(make(
            "method payment_method card_type currency amount fee customer_pays merchant_gets error",
            [
                self.method.clone(),
                self.operation.payment_method.as_str().into(),
                maybe(self.card_type.map(CardType::as_str)),
                self.operation.currency.as_str().into(),
                self.operation.amount.digits().into(),
                maybe(fee.as_deref()),
                maybe(customer_pays.as_deref()),
                maybe(merchant_gets.as_deref()),
                error,
            ],
        )))
    }
}

fn in_order(quotes: &JsValue) -> JsValue {
    let mut ordered: Vec<(Option<String>, JsValue)> = Vec::new();
    for quote in list(quotes) {
        let pays = text(&quote, "customer_pays");
        let mut place = ordered.len();
        while place > 0
            && by_what_the_customer_pays(pays.as_deref(), ordered.get(place - 1).and_then(|(pays, _)| pays.as_deref()))
                == Ordering::Less
        {
            place -= 1;
        }
        ordered.insert(place, (pays, quote));
    }
    list_of(ordered.into_iter().map(|(_, quote)| quote))
}
