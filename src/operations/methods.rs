//! Payment methods and what they cost.

use super::{operation, resource};
use crate::protocol::Anyone;
use crate::values::{Amount, CardType, Country, Currency, MethodCode, MethodId, OperatorCode};

/// `GET /v1/payment-methods`: the payment methods of a country.
///
/// ```
/// use guichet::operations::ListPaymentMethods;
/// use guichet::values::Country;
/// let list = ListPaymentMethods::new().country_code(Country::new("CM")?);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
///
/// # Undocumented
/// Access: any credential, or none if the service allows it. A country without methods gets an empty list, but a fee
/// for it is refused. Mobile money lists the country's operators, each with its status (decisions).
#[operation(
    GET "/v1/payment-methods" -> Vec<PaymentMethod>,
    role = Anyone,
)]
pub struct ListPaymentMethods {
    /// The country; the service's default is CM.
    #[field(default = "CM")]
    pub country_code: Option<Country>,
}

/// `GET /v1/payment-methods/fee/{payment_method}/{currency}/{amount}`: the fee of an amount.
///
/// ```
/// use guichet::operations::CalculateFee;
/// use guichet::values::{Amount, Currency, MethodCode};
/// let fee = CalculateFee::new(MethodCode::new("mobile_money")?, Currency::xaf(), Amount::units(5_000));
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
///
/// # Undocumented
/// Access (as for the methods), and the country of a fee that is requested without one: CM (a decision).
#[operation(
    GET "/v1/payment-methods/fee/{payment_method}/{currency}/{amount}" -> FeeBreakdown,
    role = Anyone,
)]
pub struct CalculateFee {
    /// The method's code, such as `mobile_money` or `card`.
    #[field(schema("x-guichet-known" = "method_codes"))]
    pub payment_method: MethodCode,
    /// The currency of the amount.
    pub currency: Currency,
    /// The amount, in the smallest unit.
    pub amount: Amount,
    /// The customer's country; it may decide between local and international fees.
    #[field(schema("x-guichet-known" = "countries"))]
    pub country_code: Option<Country>,
    /// The origin of the card.
    #[field(default)]
    pub card_type: CardType,
}

/// One payment method of a country.
///
/// ```
/// use guichet::operations::PaymentMethod;
/// let method: PaymentMethod = guichet::protocol::decode(br#"{"data": {"id": "svc_mobile_money", "name": "Mobile money", "active": true}}"#)?;
/// assert_eq!(method.id.code().as_str(), "mobile_money");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[resource]
pub struct PaymentMethod {
    /// Its identifier, such as `svc_mobile_money`. A fee is requested by its code: the identifier without `svc_`.
    #[field(required)]
    pub id: MethodId,
    /// Its name for people.
    #[field(required)]
    pub name: String,
    /// Whether it can be used now.
    #[field(required)]
    pub active: bool,
    /// How its fee is calculated; the document's sample is `percentage`.
    pub fee_type: Option<String>,
    /// The countries it serves, by their two-letter codes.
    pub supported_countries: Vec<String>,
    /// The operators of mobile money in the country, as far as the service names them, each with its status.
    #[field(undocumented)]
    pub operators: Vec<Operator>,
}

/// A mobile money operator.
#[resource(undocumented, example = r#"{"code": "mtn_cm", "name": "MTN Mobile Money", "status": "delayed"}"#)]
#[derive(Eq)]
pub struct Operator {
    /// Its code, with which a customer chooses it.
    #[field(required)]
    pub code: OperatorCode,
    /// Its name for people.
    pub name: String,
    /// In a list of methods: `operational`, `delayed` (attempts end later), `closed` (show it and do not offer it), or
    /// a word that this version does not know.
    #[field(omitted, schema("enum" = ["operational", "delayed", "closed"]))]
    pub status: Option<String>,
}

/// The fee of an amount.
#[resource(example = r#"{"amount": 5000, "currency": "XAF", "fee": 100, "total_payable": 5100}"#)]
pub struct FeeBreakdown {
    /// The amount, in the smallest unit.
    #[field(required, number)]
    pub amount: Amount,
    /// Its currency.
    #[field(required)]
    pub currency: String,
    /// The fee.
    #[field(required, number)]
    pub fee: Amount,
    /// Amount and fee together.
    #[field(required, number)]
    pub total_payable: Amount,
}
