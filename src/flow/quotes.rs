//! What each way of paying costs, and whom. Figures are text, and integers where they are counted: no float holds money.

use crate::values::{Amount, CardType, Country, Currency, FeeBearer, whole_number};
use std::cmp::Ordering;

/// What quotes are requested for: an amount, and what changes its price.
///
/// ```
/// use guichet::flow::QuoteRequest;
/// use guichet::values::{Amount, Country, FeeBearer};
/// let request = QuoteRequest::new(Amount::new("5000").unwrap()).fee_bearer(FeeBearer::Customer).country_code(Country::cm());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct QuoteRequest {
    /// How much, in the smallest unit.
    pub amount: Amount,
    /// In which currency.
    pub currency: Currency,
    /// Who bears the fee.
    pub fee_bearer: FeeBearer,
    /// The customer's country; the service's default is CM.
    pub country_code: Option<Country>,
}

impl QuoteRequest {
    /// For an amount in XAF whose fee the merchant bears, as the document has it where nothing else is said.
    #[must_use]
    pub fn new(amount: Amount) -> Self {
        Self { amount, currency: Currency::default(), fee_bearer: FeeBearer::default(), country_code: None }
    }

    /// Another currency than XAF.
    #[must_use]
    pub fn currency(self, currency: Currency) -> Self {
        Self { currency, ..self }
    }

    /// Who bears the fee.
    #[must_use]
    pub fn fee_bearer(self, fee_bearer: FeeBearer) -> Self {
        Self { fee_bearer, ..self }
    }

    /// For a customer of this country.
    #[must_use]
    pub fn country_code(self, country_code: Country) -> Self {
        Self { country_code: Some(country_code), ..self }
    }
}

/// Who pays and gets what.
///
/// ```
/// use guichet::flow::price;
/// use guichet::values::{Amount, FeeBearer};
/// let price = price(FeeBearer::Merchant, Amount::new("5000").unwrap(), Some("100"), Some("5100")).unwrap();
/// assert_eq!((price.customer_pays.as_str(), price.merchant_gets.as_deref()), ("5000", Some("4900")));
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Price {
    /// What the customer pays.
    pub customer_pays: String,
    /// What the merchant gets; `None` where the fee cannot be counted.
    pub merchant_gets: Option<String>,
}

/// A fee breakdown that does not say what is needed.
///
/// ```
/// use guichet::flow::{Unpriced, price};
/// use guichet::values::{Amount, FeeBearer};
/// let unpriced: Unpriced = price(FeeBearer::Customer, Amount::new("5000").unwrap(), None, None).unwrap_err();
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Unpriced;

/// The price of one method: of what the service said, and of who bears the fee.
///
/// # Errors
/// [`Unpriced`] where the customer bears the fee and the service did not say the total.
pub fn price(
    bearer: FeeBearer,
    amount: Amount,
    fee: Option<&str>,
    total_payable: Option<&str>,
) -> Result<Price, Unpriced> {
    match bearer {
        FeeBearer::Merchant => {
            Ok(Price { customer_pays: amount.digits(), merchant_gets: fee.and_then(|fee| less(amount, fee)) })
        }
        FeeBearer::Customer => {
            let total = total_payable.filter(|total| Counted::read(total).is_some()).ok_or(Unpriced)?;
            Ok(Price { customer_pays: total.to_owned(), merchant_gets: Some(amount.digits()) })
        }
    }
}

/// The card types that a method's fee is asked for apart: a card of this country and one of another may cost differently.
#[must_use]
pub fn card_types(code: &str) -> &'static [Option<CardType>] {
    if code == "card" { &[Some(CardType::Local), Some(CardType::International)] } else { &[None] }
}

/// The order of two prices: what costs the customer less comes first, what has no price last.
#[must_use]
pub fn by_what_the_customer_pays(a: Option<&str>, b: Option<&str>) -> Ordering {
    match (a.and_then(Counted::read), b.and_then(Counted::read)) {
        (Some(a), Some(b)) => a.whole.cmp(&b.whole).then_with(|| a.fraction.cmp(b.fraction)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

/// A figure as it can be counted: `145.10` is 145 and `1`.
struct Counted<'a> {
    whole: u64,
    /// Without the zeros at its end, so that texts compare as numbers do.
    fraction: &'a str,
}

impl<'a> Counted<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_fraction = fraction.bytes().all(|byte| byte.is_ascii_digit());
        let whole = whole_number(whole).filter(|_| is_fraction)?;
        Some(Self { whole, fraction: fraction.trim_end_matches('0') })
    }
}

/// The amount less the fee. `None` for a fee that is no figure, finer than four decimals, or above the amount.
fn less(amount: Amount, fee: &str) -> Option<String> {
    let fee = Counted::read(fee)?;
    let decimals = fee.fraction.len();
    if decimals == 0 {
        return amount.units().checked_sub(fee.whole).map(|left| left.to_string());
    }
    let scale = *[1, 10, 100, 1_000, 10_000].get(decimals)?;
    // An amount has at most 15 digits, and a fee above it is none: neither product is near the largest number.
    let fee = Some(fee.whole).filter(|whole| *whole <= amount.units())? * scale + whole_number(fee.fraction)?;
    let left = (amount.units() * scale).checked_sub(fee)?;
    // The scale in front of the fraction keeps the zeros that it begins with.
    Some((left / scale).to_string() + "." + (scale + left % scale).to_string().get(1..)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount() -> Amount {
        Amount::new("5000").unwrap()
    }

    #[test]
    fn with_the_merchant_bearing_the_customer_pays_exactly_the_amount() {
        for (fee, gets) in [
            ("100", Some("4900")),
            ("145.10", Some("4854.9")),
            ("4999.9999", Some("0.0001")),
            ("5000", Some("0")),
            ("5001", None),
            ("0.00001", None),
            ("-1", None),
            ("?", None),
            ("", None),
        ] {
            let price = price(FeeBearer::Merchant, amount(), Some(fee), Some("9999")).unwrap();
            assert_eq!((price.customer_pays.as_str(), price.merchant_gets.as_deref()), ("5000", gets), "{fee}");
        }
        assert_eq!(price(FeeBearer::Merchant, amount(), None, None).unwrap().merchant_gets, None);
    }

    #[test]
    fn with_the_customer_bearing_the_service_says_the_total() {
        let said = price(FeeBearer::Customer, amount(), Some("100"), Some("5100.50")).unwrap();
        assert_eq!(said, Price { customer_pays: "5100.50".into(), merchant_gets: Some("5000".into()) });
        for total in [None, Some(""), Some("free"), Some("-5")] {
            assert_eq!(price(FeeBearer::Customer, amount(), Some("100"), total), Err(Unpriced));
        }
    }

    #[test]
    fn quotes_are_ordered_as_numbers_and_the_unknown_comes_last() {
        let mut prices = [None, Some("10000"), Some("9000.5"), Some("9000.45"), Some("9000.450"), Some("9000")];
        prices.sort_by(|a, b| by_what_the_customer_pays(*a, *b));
        assert_eq!(prices, [Some("9000"), Some("9000.45"), Some("9000.450"), Some("9000.5"), Some("10000"), None]);
    }
}
