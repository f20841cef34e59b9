//! What each way of paying costs: the active methods of a country, and the fee of each, asked side by side.

use super::call::How;
use super::error::Stop;
use super::fetch::{Ready, data, data_of, unreadable};
use super::inputs::Inputs;
use super::read::{Sort, at, has, is, list, list_of, make, maybe, text};
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
    fn ask(&'static self, ready: Ready<NoCredential>, how: How) -> Result<Work, Stop>;
}

/// The quotes of a sale, what costs the customer least first. A method whose fee cannot be had is listed with its error.
pub(super) fn quotes(asks: &'static dyn Asks, given: &JsValue, how: How) -> Result<Work, Stop> {
    let (sale, _, _) = Sale::read(asks, given, how, false)?;
    let (allowed, codes) = (at(given, "payment_method_types"), at(given, "codes"));
    Ok(Box::new(Quoting { sale: Rc::new(sale), allowed, codes, state: State::Begun }))
}

/// What an amount is sold for, and how that is asked.
pub(super) struct Sale {
    asks: &'static dyn Asks,
    how: How,
    amount: Amount,
    currency: Currency,
    bearer: FeeBearer,
    country: Option<Country>,
}

impl Sale {
    /// Reads the argument of `quotes`, or that of `fee`, which names a method and its currency.
    #[inline(never)]
    pub(super) fn read(
        asks: &'static dyn Asks,
        given: &JsValue,
        how: How,
        of_a_method: bool,
    ) -> Result<(Self, Option<MethodCode>, CardType), Stop> {
        let mut inputs = Inputs::of(given);
        if of_a_method {
            inputs.needs("payment_method");
            inputs.needs("currency");
        }
        inputs.needs("amount");
        let currency = inputs.optional("currency", |text| Currency::new(text));
        let amount = inputs.optional("amount", Amount::new);
        let bearer = inputs.optional("fee_bearer", |text| text.parse::<FeeBearer>());
        let country = inputs.optional("country_code", |text| Country::new(text));
        // Quotes are asked with an intent's own object too, whose `payment_method` is another thing.
        let (mut method, mut card_type) = (None, None);
        if of_a_method {
            method = inputs.optional("payment_method", |text| MethodCode::new(text));
            card_type = inputs.optional("card_type", |text| text.parse::<CardType>());
        }
        let (false, Some(amount)) = (inputs.is_refused(), amount) else { return Err(inputs.refused()) };
        let (currency, bearer) = (currency.unwrap_or_default(), bearer.unwrap_or_default());
        Ok((Self { asks, how, amount, currency, bearer, country }, method, card_type.unwrap_or_default()))
    }

    /// The question what one method costs.
    #[inline(never)]
    pub(super) fn fee(&self, method: &MethodCode, card_type: CardType) -> Result<Ready<NoCredential>, Stop> {
        let mut operation = CalculateFee::new(method.clone(), self.currency.clone(), self.amount).card_type(card_type);
        operation.country_code = self.country.clone();
        Ready::new(&operation)
    }
}

struct Quoting {
    sale: Rc<Sale>,
    /// Only these fee codes; all where it names none.
    allowed: JsValue,
    /// Fee codes by method id.
    codes: JsValue,
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
        match self.state {
            State::Begun => {
                let mut operation = ListPaymentMethods::new();
                operation.country_code = self.sale.country.clone();
                let ready = Ready::new(&operation)?;
                self.state = State::Listing(ready.name());
                self.sale.asks.ask(ready, self.sale.how).map(Next::Call)
            }
            State::Listing(name) => {
                let mut works = Vec::new();
                for method in list(&data_of(&came, Sort::List, name)?) {
                    self.price(method, &mut works);
                }
                self.state = State::Pricing;
                Ok(Next::Wait(side_by_side(works)))
            }
            State::Pricing => Ok(Next::Done(in_order(&came))),
        }
    }
}

impl Quoting {
    /// Asks what one method costs, where it may be used.
    fn price(&self, method: JsValue, works: &mut Vec<Work>) {
        let Ok(id) = MethodId::new(text(&method, "id").unwrap_or_default()) else { return };
        let code = match text(&self.codes, id.as_str()).map(MethodCode::new) {
            Some(Ok(code)) => code,
            _ => id.code(),
        };
        let is_allowed = has(&self.allowed, code.as_str());
        if is(&method, "active", Sort::False) || !is_allowed {
            return;
        }
        for card_type in card_types(code.as_str()) {
            let (sale, code, method) = (Rc::clone(&self.sale), code.clone(), method.clone());
            works.push(Box::new(Pricing { sale, code, method, card_type: *card_type, asked: None }));
        }
    }
}

/// One way of paying, priced. It does not fail: what went wrong is in the quote.
struct Pricing {
    sale: Rc<Sale>,
    code: MethodCode,
    method: JsValue,
    card_type: Option<CardType>,
    asked: Option<&'static str>,
}

impl Flow for Pricing {
    fn step(&mut self, came: Answer) -> Result<Next, Stop> {
        let sale = &self.sale;
        let Some(name) = self.asked else {
            let ready = sale.fee(&self.code, self.card_type.unwrap_or_default())?;
            self.asked = Some(ready.name());
            return sale.asks.ask(ready, sale.how).map(Next::Call);
        };
        let mut fee = None;
        let priced = came.and_then(|answer| {
            let data = data(&answer);
            fee = text(&data, "fee");
            let total = text(&data, "total_payable");
            price(sale.bearer, sale.amount, fee.as_deref(), total.as_deref()).map_err(|_| unreadable(&answer, name))
        });
        let (customer_pays, merchant_gets, error) = match priced {
            Ok(price) => (price.customer_pays.into(), maybe(price.merchant_gets.as_deref()), JsValue::UNDEFINED),
            Err(stop) => (JsValue::UNDEFINED, JsValue::UNDEFINED, stop.into()),
        };
        Ok(Next::Done(make(
            "method payment_method card_type currency amount fee customer_pays merchant_gets error",
            [
                self.method.clone(),
                self.code.as_str().into(),
                maybe(self.card_type.map(CardType::as_str)),
                sale.currency.as_str().into(),
                sale.amount.digits().into(),
                maybe(fee.as_deref()),
                customer_pays,
                merchant_gets,
                error,
            ],
        )))
    }
}

fn in_order(quotes: &JsValue) -> JsValue {
    let mut ordered: Vec<(Option<String>, JsValue)> = Vec::new();
    for quote in list(quotes) {
        let price = text(&quote, "customer_pays");
        let dearer = |(other, _): &(Option<String>, JsValue)| {
            by_what_the_customer_pays(price.as_deref(), other.as_deref()) == Ordering::Less
        };
        let place = ordered.iter().position(dearer).unwrap_or(ordered.len());
        ordered.insert(place, (price, quote));
    }
    list_of(ordered.into_iter().map(|(_, quote)| quote))
}
