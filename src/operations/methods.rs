//! Payment methods and what they cost.

use super::setters;
use crate::protocol::{Anyone, Fields, Operation, Served, Spec, lenient};
use crate::values::{Amount, CardType, Country, Currency, Figure, MethodCode, MethodId};
use serde::{Deserialize, Serialize};

/// `GET /v1/payment-methods`: the payment methods of a country.
///
/// # Not shown
/// Who may ask: any credential, and nobody at all where the service allows it. And what a country has that nothing serves:
/// an empty list, where a fee is refused (decisions).
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct ListPaymentMethods {
    /// The country; the service's default is CM.
    #[cfg_attr(feature = "sandbox", schemars(extend("default" = "CM")))]
    pub country_code: Option<Country>,
}

impl ListPaymentMethods {
    /// The methods of the service's default country.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { ListPaymentMethods {
    /// The methods of this country.
    country_code: Country,
} }

impl Operation for ListPaymentMethods {
    type Role = Anyone;
    type Output = Vec<PaymentMethod>;
    const SPEC: Spec = Spec::get("list_payment_methods", "/v1/payment-methods").asking(&["country_code"]);
}

impl Served for ListPaymentMethods {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self { country_code: fields.optional("country_code")? })
    }
}

/// `GET /v1/payment-methods/fee/{payment_method}/{currency}/{amount}`: the fee of an amount.
///
/// # Not shown
/// Who may ask (as for the methods), and the country of a fee asked without one: CM (a decision).
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct CalculateFee {
    /// The method's code, such as `mobile_money` or `card`.
    #[cfg_attr(feature = "sandbox", schemars(extend("x-guichet-known" = "method_codes")))]
    pub payment_method: MethodCode,
    /// The currency of the amount.
    pub currency: Currency,
    /// The amount, in the smallest unit.
    pub amount: Amount,
    /// The customer's country; it may decide between local and international fees.
    #[cfg_attr(feature = "sandbox", schemars(extend("x-guichet-known" = "countries")))]
    pub country_code: Option<Country>,
    /// Where the card is from.
    #[cfg_attr(feature = "sandbox", schemars(default))]
    pub card_type: CardType,
}

impl CalculateFee {
    /// The fee of this amount paid by this method.
    #[must_use]
    pub fn new(payment_method: MethodCode, currency: Currency, amount: Amount) -> Self {
        Self { payment_method, currency, amount, country_code: None, card_type: CardType::default() }
    }
}

setters! { CalculateFee {
    /// For a customer of this country.
    country_code: Country,
    /// For a card from there.
    card_type: CardType,
} }

impl Operation for CalculateFee {
    type Role = Anyone;
    type Output = FeeBreakdown;
    const SPEC: Spec = Spec::get("calculate_fee", "/v1/payment-methods/fee/{payment_method}/{currency}/{amount}")
        .asking(&["country_code", "card_type"]);
}

impl Served for CalculateFee {
    fn read(fields: &mut Fields) -> Option<Self> {
        let payment_method = fields.required("payment_method");
        let currency = fields.required("currency");
        let amount = fields.required("amount");
        let country_code = fields.optional("country_code");
        let card_type = fields.or("card_type", CardType::Local);
        Some(Self {
            payment_method: payment_method?,
            currency: currency?,
            amount: amount?,
            country_code: country_code?,
            card_type: card_type?,
        })
    }
}

/// One payment method of a country.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema), schemars(extend("x-guichet-documented" = ["id", "name", "active", "fee_type", "supported_countries"])))]
pub struct PaymentMethod {
    /// Its identifier, such as `svc_mobile_money`; [`MethodId::code`] is what a fee is asked by.
    pub id: MethodId,
    /// Its name for people.
    pub name: String,
    /// Whether it can be used now.
    pub active: bool,
    /// How its fee is made; the document's sample is `percentage`.
    #[serde(default, deserialize_with = "lenient")]
    pub fee_type: Option<String>,
    /// The countries it serves, by their two-letter codes.
    #[serde(default, deserialize_with = "lenient")]
    pub supported_countries: Vec<String>,
}

/// What an amount costs. Figures keep the text they were sent in.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema), schemars(extend("x-guichet-documented" = ["amount", "currency", "fee", "total_payable"])))]
pub struct FeeBreakdown {
    /// The amount, in the smallest unit.
    pub amount: Figure,
    /// Its currency.
    pub currency: String,
    /// The fee.
    pub fee: Figure,
    /// Amount and fee together.
    pub total_payable: Figure,
}
