//! The price of a payment method, for the customer and for the merchant.

use crate::values::{Amount, CardType, Country, Currency, FeeBearer};
use std::cmp::Ordering;

/// A request for quotes: an amount, and what changes its price.
///
/// ```
/// use guichet::flow::QuoteRequest;
/// use guichet::values::{Amount, Country, FeeBearer};
/// let request = QuoteRequest::new(Amount::units(5_000)).fee_bearer(FeeBearer::Customer).country_code(Country::cm());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct QuoteRequest {
    /// The amount, in the smallest unit.
    pub amount: Amount,
    /// The currency of the amount.
    pub currency: Currency,
    /// The party that bears the fee.
    pub fee_bearer: FeeBearer,
    /// The customer's country; the service's default is CM.
    pub country_code: Option<Country>,
}

impl QuoteRequest {
    /// A request for an amount in XAF, with a fee that the merchant bears: the document's defaults.
    #[must_use]
    pub fn new(amount: Amount) -> Self {
        Self { amount, currency: Currency::default(), fee_bearer: FeeBearer::default(), country_code: None }
    }

    /// Sets the currency.
    #[must_use]
    pub fn currency(self, currency: Currency) -> Self {
        Self { currency, ..self }
    }

    /// Sets the party that bears the fee.
    #[must_use]
    pub fn fee_bearer(self, fee_bearer: FeeBearer) -> Self {
        Self { fee_bearer, ..self }
    }

    /// Sets the customer's country.
    #[must_use]
    pub fn country_code(self, country_code: Country) -> Self {
        Self { country_code: Some(country_code), ..self }
    }
}

/// The price of one payment method.
///
/// ```
/// use guichet::flow::{QuoteRequest, price};
/// use guichet::values::Amount;
/// let price = price(&QuoteRequest::new(Amount::units(5_000)), Some(Amount::units(100)), None).unwrap();
/// assert_eq!((price.customer_pays, price.merchant_gets), (Amount::units(5_000), Some(Amount::units(4_900))));
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Price {
    /// The amount that the customer pays.
    pub customer_pays: Amount,
    /// The amount that the merchant gets; `None` if the fee is unknown or greater than the amount.
    pub merchant_gets: Option<Amount>,
    /// The currency of both amounts.
    pub currency: Currency,
}

/// The error of a fee breakdown that lacks the total.
///
/// ```
/// use guichet::flow::{QuoteRequest, Unpriced, price};
/// use guichet::values::{Amount, FeeBearer};
/// let unpriced: Unpriced = price(&QuoteRequest::new(Amount::units(5_000)).fee_bearer(FeeBearer::Customer), None, None).unwrap_err();
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Unpriced;

/// Calculates the price of one method from the service's fee and total, and from the party that bears the fee.
///
/// # Errors
/// [`Unpriced`] if the customer bears the fee and the service did not send the total.
pub fn price(request: &QuoteRequest, fee: Option<Amount>, total_payable: Option<Amount>) -> Result<Price, Unpriced> {
    let QuoteRequest { amount, currency, .. } = request;
    let (customer_pays, merchant_gets) = match request.fee_bearer {
        FeeBearer::Merchant => (*amount, fee.and_then(|fee| amount.checked_sub(fee))),
        FeeBearer::Customer => {
            let total = total_payable.filter(|total| *total >= Amount::units(0)).ok_or(Unpriced)?;
            (total, Some(*amount))
        }
    };
    Ok(Price { customer_pays, merchant_gets, currency: currency.clone() })
}

/// The card types whose fee is requested separately: a local and an international card may have different fees.
#[must_use]
pub fn card_types(code: &str) -> &'static [Option<CardType>] {
    if code == "card" { &[Some(CardType::Local), Some(CardType::International)] } else { &[None] }
}

/// Orders two prices: the one that costs the customer less comes first, a missing price last.
#[must_use]
pub fn by_what_the_customer_pays(a: Option<Amount>, b: Option<Amount>) -> Ordering {
    (a.is_none(), a).cmp(&(b.is_none(), b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn priced(bearer: FeeBearer, fee: Option<&str>, total_payable: Option<&str>) -> Result<Price, Unpriced> {
        let read = |text: Option<&str>| text.and_then(|text| text.parse().ok());
        price(&QuoteRequest::new(Amount::units(5_000)).fee_bearer(bearer), read(fee), read(total_payable))
    }

    #[test]
    fn with_the_merchant_bearing_the_customer_pays_exactly_the_amount() {
        for (fee, gets) in [
            ("100", Some("4900")),
            ("145.10", Some("4854.9")),
            ("4999.9999", Some("0.0001")),
            ("0.00001", Some("4999.99999")),
            ("5000", Some("0")),
            ("5001", None),
            ("-1", None),
            ("?", None),
            ("", None),
        ] {
            let price = priced(FeeBearer::Merchant, Some(fee), Some("9999")).unwrap();
            let merchant_gets = price.merchant_gets.map(|amount| amount.to_string());
            assert_eq!((price.customer_pays, merchant_gets.as_deref()), (Amount::units(5_000), gets), "{fee}");
        }
        assert_eq!(priced(FeeBearer::Merchant, None, None).unwrap().merchant_gets, None);
    }

    #[test]
    fn with_the_customer_bearing_the_service_says_the_total() {
        let Price { customer_pays, merchant_gets, currency } =
            priced(FeeBearer::Customer, Some("100"), Some("5100.50")).unwrap();
        assert_eq!((customer_pays.to_string().as_str(), merchant_gets), ("5100.50", Some(Amount::units(5_000))));
        assert_eq!(currency, Currency::xaf());
        for total in [None, Some(""), Some("free"), Some("-5")] {
            assert_eq!(priced(FeeBearer::Customer, Some("100"), total), Err(Unpriced));
        }
    }

    #[test]
    fn quotes_are_ordered_by_value_and_the_unknown_comes_last() {
        let texts = [None, Some("10000"), Some("9000.5"), Some("9000.45"), Some("9000.450"), Some("9000")];
        let mut prices = texts.map(|text| text.map(|text| Amount::new(text).unwrap()));
        prices.sort_by(|a, b| by_what_the_customer_pays(*a, *b));
        let shown = prices.map(|price| price.map(|price| price.to_string()));
        let shown: Vec<Option<&str>> = shown.iter().map(Option::as_deref).collect();
        assert_eq!(shown, [Some("9000"), Some("9000.45"), Some("9000.450"), Some("9000.5"), Some("10000"), None]);
    }
}
