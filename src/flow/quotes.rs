//! The price of a payment method, for the customer and for the merchant.

use crate::protocol::Error;
use crate::values::{Amount, CardType, Country, Currency, FeeBearer, MethodCode};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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

/// Calculates the price of one method from the service's fee and total, and from the party that bears the fee. `None`
/// if the customer bears the fee and the service did not send the total.
#[must_use]
pub fn price(request: &QuoteRequest, fee: Option<Amount>, total_payable: Option<Amount>) -> Option<Price> {
    let QuoteRequest { amount, currency, .. } = request;
    let (customer_pays, merchant_gets) = match request.fee_bearer {
        FeeBearer::Merchant => (*amount, fee.and_then(|fee| amount.checked_sub(fee))),
        FeeBearer::Customer => {
            let total = total_payable.filter(|total| *total >= Amount::units(0))?;
            (total, Some(*amount))
        }
    };
    Some(Price { customer_pays, merchant_gets, currency: currency.clone() })
}

/// The card types whose fee is requested separately: a local and an international card may have different fees. A
/// method of cards has an id of its own at some services: `visa_mastercard`.
#[must_use]
pub fn card_types(code: &str) -> &'static [Option<CardType>] {
    if code.ends_with("card") { &[Some(CardType::Local), Some(CardType::International)] } else { &[None] }
}

/// The price of one payment method `M`, or the error that left it without a price.
///
/// It serializes as the npm package writes it for pages, so that a page can take its first quotes from a server.
///
/// ```
/// use guichet::flow::Quote;
/// use guichet::operations::PaymentMethod;
/// fn cheapest(quotes: &[Quote<PaymentMethod>]) -> Option<&str> {
///     quotes.first().map(|quote| quote.method.name.as_str())
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Quote<M, E = Error> {
    /// The method.
    pub method: M,
    /// The code that its fee was requested by.
    pub payment_method: MethodCode,
    /// The card's origin: local and international cards have separate quotes. `None` if the method is no card.
    pub card_type: Option<CardType>,
    /// The currency of the amounts.
    pub currency: Currency,
    /// The amount that was priced.
    pub amount: Amount,
    /// The fee, if the service sent it.
    pub fee: Option<Amount>,
    /// The price for the customer and for the merchant, or the error if the fee could not be read.
    pub price: Result<Price, E>,
}

impl<M, E> Quote<M, E> {
    /// The quote of a method whose fee is not known yet, with this error.
    #[must_use]
    pub fn new(
        request: &QuoteRequest,
        method: M,
        payment_method: MethodCode,
        card_type: Option<CardType>,
        price: Result<Price, E>,
    ) -> Self {
        let (currency, amount) = (request.currency.clone(), request.amount);
        Self { method, payment_method, card_type, currency, amount, fee: None, price }
    }

    /// The amount that the customer pays, if there is a price.
    #[must_use]
    pub fn customer_pays(&self) -> Option<Amount> {
        self.price.as_ref().ok().map(|price| price.customer_pays)
    }

    /// The amount that the merchant gets, if it is known.
    #[must_use]
    pub fn merchant_gets(&self) -> Option<Amount> {
        self.price.as_ref().ok().and_then(|price| price.merchant_gets)
    }
}

/// Orders quotes: the one that costs the customer least comes first, those without a price last.
#[must_use]
pub fn cheapest_first<M, E>(quotes: Vec<Quote<M, E>>) -> Vec<Quote<M, E>> {
    let costs_less = |one: Option<Amount>, other: Option<Amount>| match (one, other) {
        (Some(one), Some(other)) => one < other,
        (one, other) => one.is_some() && other.is_none(),
    };
    // `sort_by` adds 1.5 KB (brotli) to a page's module.
    let mut ordered: Vec<Quote<M, E>> = Vec::new();
    for quote in quotes {
        let position = ordered.iter().position(|other| costs_less(quote.customer_pays(), other.customer_pays()));
        ordered.insert(position.unwrap_or(ordered.len()), quote);
    }
    ordered
}

/// A quote as the npm package writes it.
#[derive(Deserialize, Serialize)]
struct Written<M, E> {
    method: M,
    payment_method: MethodCode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    card_type: Option<CardType>,
    currency: Currency,
    amount: Amount,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fee: Option<Amount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    customer_pays: Option<Amount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    merchant_gets: Option<Amount>,
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    error: Option<E>,
}

impl<M: Serialize, E: Serialize> Serialize for Quote<M, E> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written {
            method: &self.method,
            payment_method: self.payment_method.clone(),
            card_type: self.card_type,
            currency: self.currency.clone(),
            amount: self.amount,
            fee: self.fee,
            customer_pays: self.customer_pays(),
            merchant_gets: self.merchant_gets(),
            error: self.price.as_ref().err(),
        }
        .serialize(serializer)
    }
}

impl<'de, M: Deserialize<'de>, E: Deserialize<'de>> Deserialize<'de> for Quote<M, E> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { method, payment_method, card_type, currency, amount, fee, customer_pays, merchant_gets, error } =
            Written::deserialize(deserializer)?;
        let price = match (customer_pays, error) {
            (Some(customer_pays), None) => Ok(Price { customer_pays, merchant_gets, currency: currency.clone() }),
            (_, Some(error)) => Err(error),
            (None, None) => return Err(D::Error::missing_field("customer_pays")),
        };
        Ok(Self { method, payment_method, card_type, currency, amount, fee, price })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Kind;

    fn priced(bearer: FeeBearer, fee: Option<&str>, total_payable: Option<&str>) -> Option<Price> {
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
            assert_eq!(priced(FeeBearer::Customer, Some("100"), total), None);
        }
    }

    fn quote(customer_pays: Option<&str>) -> Quote<u32> {
        let request = QuoteRequest::new(Amount::units(5_000)).fee_bearer(FeeBearer::Customer);
        let total = customer_pays.map(|text| Amount::new(text).unwrap());
        let unpriced = || Error::new(Kind::Offline, "The service did not reply.").of("calculate_fee");
        let price = price(&request, None, total).ok_or_else(unpriced);
        Quote::new(&request, 17, MethodCode::new("card").unwrap(), Some(CardType::Local), price)
    }

    #[test]
    fn quotes_are_ordered_by_value_and_the_unknown_comes_last() {
        let texts = [None, Some("10000"), Some("9000.5"), Some("9000.45"), Some("9000.450"), Some("9000")];
        let ordered = cheapest_first(texts.map(quote).to_vec());
        let shown: Vec<Option<String>> =
            ordered.iter().map(|quote| quote.customer_pays().map(|amount| amount.to_string())).collect();
        let shown: Vec<Option<&str>> = shown.iter().map(Option::as_deref).collect();
        assert_eq!(shown, [Some("9000"), Some("9000.45"), Some("9000.450"), Some("9000.5"), Some("10000"), None]);
    }

    #[test]
    fn a_quote_is_written_as_the_npm_package_writes_it_and_read_again() {
        for (quote, last) in [
            (quote(Some("5100")), r#""customer_pays":"5100","merchant_gets":"5000""#),
            (
                quote(None),
                r#""error":{"name":"GuichetError","message":"The service did not reply.","kind":"offline","operation":"calculate_fee","retryable":true,"fields":[]}"#,
            ),
        ] {
            let written = serde_json::to_string(&quote).unwrap();
            let first = r#"{"method":17,"payment_method":"card","card_type":"local","currency":"XAF","amount":"5000","#;
            assert_eq!(written, format!("{first}{last}}}"));
            assert_eq!(serde_json::from_str::<Quote<u32>>(&written).unwrap(), quote);
        }
        assert!(
            serde_json::from_str::<Quote<u32>>(r#"{"method":1,"payment_method":"card","currency":"XAF","amount":"5"}"#)
                .is_err()
        );
    }
}
