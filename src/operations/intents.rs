//! Payment intents: one intent is one payment, from the basket to its final status.

use super::{setters, supported};
#[cfg(feature = "sandbox")]
use crate::protocol::GREATEST_INTEGER;
use crate::protocol::{Fields, FromField, Merchant, Operation, Served, Spec, lenient, lenient_list, whole};
use crate::values::{
    Amount, CheckoutUrl, ClientSecret, ConfirmationMethod, Currency, Email, FeeBearer, Figure, IntentId, IntentStatus,
    Invalid, MerchantReference, Moment, PaymentRef, Phone, RedirectUrl, Secret, number,
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The types of method that the sandbox has (a decision).
const METHOD_TYPES: [&str; 2] = ["card", "mobile_money"];

/// `POST /v1/payment-intents`: begin a payment, and get the address where the customer pays.
///
/// An e-mail or a phone is required.
///
/// # Not shown
/// What a repeated `merchant_reference` does: the same body gives the same intent in its current state, another body a
/// conflict (a decision). That is why this operation may be sent again when its answer was lost.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
#[cfg_attr(
    feature = "sandbox",
    derive(schemars::JsonSchema),
    schemars(extend("anyOf" = [
        { "required": ["email"], "properties": { "email": { "type": "string" } } },
        { "required": ["phone"], "properties": { "phone": { "type": "string" } } },
    ]))
)]
pub struct CreatePaymentIntent {
    /// The customer's first name.
    pub firstname: String,
    /// The customer's last name.
    pub lastname: String,
    /// The customer's e-mail address: receipts, and the link to their saved methods.
    pub email: Option<Email>,
    /// The customer's phone, with its country prefix.
    pub phone: Option<Phone>,
    /// How much, in the smallest unit.
    pub amount: Amount,
    /// In which currency.
    #[cfg_attr(feature = "sandbox", schemars(default))]
    pub currency: Currency,
    /// What for, briefly: it shows on a statement or receipt.
    pub description: String,
    /// The merchant's unique name of this payment.
    pub merchant_reference: MerchantReference,
    /// Who bears the fee.
    #[cfg_attr(feature = "sandbox", schemars(default))]
    pub fee_bearer: FeeBearer,
    /// Who confirms the payment.
    #[cfg_attr(feature = "sandbox", schemars(default))]
    pub confirmation_method: ConfirmationMethod,
    /// Whether to confirm as soon as a method is attached.
    #[cfg_attr(feature = "sandbox", schemars(default))]
    pub confirm: bool,
    /// What is bought.
    pub items: Option<Vec<Item>>,
    /// Where the customer goes after paying.
    pub redirect_url: Option<RedirectUrl>,
    /// Free key-value pairs.
    pub metadata: Option<BTreeMap<String, Value>>,
    /// Whether to ask for a shipping address at checkout.
    #[cfg_attr(feature = "sandbox", schemars(default))]
    pub collect_shipping_address: bool,
    /// The types of method that may pay, such as `card` and `mobile_money`; all when absent.
    #[cfg_attr(feature = "sandbox", schemars(extend("contains" = { "enum": ["card", "mobile_money"] })))]
    pub payment_method_types: Option<Vec<String>>,
}

impl CreatePaymentIntent {
    /// A payment of this amount by this customer, with the document's defaults for the rest.
    #[must_use]
    pub fn new(
        merchant_reference: MerchantReference,
        amount: Amount,
        description: impl Into<String>,
        firstname: impl Into<String>,
        lastname: impl Into<String>,
    ) -> Self {
        Self {
            firstname: firstname.into(),
            lastname: lastname.into(),
            email: None,
            phone: None,
            amount,
            currency: Currency::default(),
            description: description.into(),
            merchant_reference,
            fee_bearer: FeeBearer::default(),
            confirmation_method: ConfirmationMethod::default(),
            confirm: false,
            items: None,
            redirect_url: None,
            metadata: None,
            collect_shipping_address: false,
            payment_method_types: None,
        }
    }
}

setters! { CreatePaymentIntent {
    /// The customer's e-mail address.
    email: Email,
    /// The customer's phone.
    phone: Phone,
    /// Another currency than XAF.
    currency: Currency,
    /// Who bears the fee.
    fee_bearer: FeeBearer,
    /// Who confirms the payment.
    confirmation_method: ConfirmationMethod,
    /// Whether to confirm as soon as a method is attached.
    confirm: bool,
    /// What is bought.
    items: Vec<Item>,
    /// Where the customer goes after paying.
    redirect_url: RedirectUrl,
    /// Free key-value pairs.
    metadata: BTreeMap<String, Value>,
    /// Whether to ask for a shipping address at checkout.
    collect_shipping_address: bool,
    /// The types of method that may pay.
    payment_method_types: Vec<String>,
} }

impl Operation for CreatePaymentIntent {
    type Role = Merchant;
    type Output = PaymentIntent;
    const SPEC: Spec = Spec::post("create_payment_intent", "/v1/payment-intents").repeatable();
}

impl Served for CreatePaymentIntent {
    fn read(fields: &mut Fields) -> Option<Self> {
        let firstname = fields.required("firstname");
        let lastname = fields.required("lastname");
        let email = fields.optional("email");
        let phone = fields.optional("phone");
        let amount = fields.required("amount");
        let currency = fields.or("currency", Currency::default());
        let description = fields.required("description");
        let merchant_reference = fields.required("merchant_reference");
        let fee_bearer = fields.or("fee_bearer", FeeBearer::default());
        let confirmation_method = fields.or("confirmation_method", ConfirmationMethod::default());
        let confirm = fields.or("confirm", false);
        let items = fields.optional::<Vec<Item>>("items");
        let redirect_url = fields.optional("redirect_url");
        let metadata = fields.optional("metadata");
        let collect_shipping_address = fields.or("collect_shipping_address", false);
        let payment_method_types = fields.optional::<Vec<String>>("payment_method_types");
        supported(fields, "currency", currency.as_ref());
        let mut of_items = items.iter().flatten().flatten().map(|item| &item.currency);
        supported(fields, "items", of_items.find(|currency| currency.exponent().is_none()));
        if let Some(Some(types)) = &payment_method_types
            && !types.iter().any(|kind| METHOD_TYPES.contains(&kind.as_str()))
        {
            let message = "None of these types can pay. There are mobile_money and card.";
            fields.fault("payment_method_types", "payment_method_unavailable", message);
        }
        if !fields.has("email") && !fields.has("phone") {
            fields.fault("email", "parameter_missing", "An e-mail or a phone is required.");
            return None;
        }
        Some(Self {
            firstname: firstname?,
            lastname: lastname?,
            email: email?,
            phone: phone?,
            amount: amount?,
            currency: currency?,
            description: description?,
            merchant_reference: merchant_reference?,
            fee_bearer: fee_bearer?,
            confirmation_method: confirmation_method?,
            confirm: confirm?,
            items: items?,
            redirect_url: redirect_url?,
            metadata: metadata?,
            collect_shipping_address: collect_shipping_address?,
            payment_method_types: payment_method_types?,
        })
    }
}

/// One line of what is bought.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema), schemars(extend("x-guichet-documented" = ["name", "price", "currency", "quantity"])))]
pub struct Item {
    /// Its name.
    #[cfg_attr(feature = "sandbox", schemars(length(min = 1)))]
    pub name: String,
    /// The price of one, in the smallest unit.
    #[cfg_attr(feature = "sandbox", schemars(with = "Price"))]
    pub price: u64,
    /// The currency of the price.
    pub currency: Currency,
    /// How many, at least 1.
    #[cfg_attr(feature = "sandbox", schemars(range(min = 1, max = GREATEST_INTEGER)))]
    pub quantity: u64,
}

impl Item {
    /// So many of these at this price.
    #[must_use]
    pub fn new(name: impl Into<String>, price: u64, currency: Currency, quantity: u64) -> Self {
        Self { name: name.into(), price, currency, quantity }
    }
}

impl FromField for Item {
    /// # Not shown
    /// The types of an item's fields: the price is a whole JSON number or a digit string, the quantity an integer of at
    /// least 1 (decisions).
    fn from_field(value: &Value) -> Result<Self, Invalid> {
        let shape = || Invalid::because("Each item is an object with name, price, currency and quantity.");
        let object = value.as_object().ok_or_else(shape)?;
        let name = object.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()).ok_or_else(shape)?;
        let price = match object.get("price") {
            Some(Value::String(digits)) => number(digits),
            Some(number) => whole(number),
            None => None,
        };
        let currency = object.get("currency").and_then(Value::as_str).ok_or_else(shape)?;
        let quantity = object.get("quantity").and_then(whole).filter(|quantity| *quantity >= 1);
        Ok(Self {
            name: name.to_owned(),
            price: price.ok_or(Invalid::because(
                "An item's price is a whole number of the smallest unit, or a string of digits.",
            ))?,
            currency: Currency::new(currency)?,
            quantity: quantity.ok_or(Invalid::because("An item's quantity is a whole number of at least 1."))?,
        })
    }
}

/// What a customer pays with, as far as it is shown.
#[cfg(feature = "sandbox")]
pub(super) struct PaidWith;

#[cfg(feature = "sandbox")]
crate::values::described! { PaidWith: schemars::json_schema!({
    "oneOf": [
        {
            "type": "object",
            "required": ["type", "brand", "last4"],
            "properties": {
                "type": { "const": "card" },
                "brand": { "enum": ["visa", "mastercard"] },
                "last4": { "type": "string", "pattern": "^[0-9]{4}$" },
            },
        },
        {
            "type": "object",
            "required": ["type", "phone"],
            "properties": {
                "type": { "const": "mobile_money" },
                "phone": { "type": "string", "description": "Its middle is hidden.", "pattern": r"^[0-9]{3}[0-9*]{4,12}$" },
            },
        },
    ],
}) }

/// How the price of an item is written.
#[cfg(feature = "sandbox")]
struct Price;

#[cfg(feature = "sandbox")]
crate::values::described! { Price: schemars::json_schema!({
    "anyOf": [
        { "type": "integer", "minimum": 0, "maximum": GREATEST_INTEGER },
        { "type": "string", "pattern": "^[0-9]{1,18}$" },
    ],
}) }

/// A payment intent, as the service sees it now.
///
/// The fields below `metadata` are decisions: a real service may not send them.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema), schemars(extend("x-guichet-documented" = ["id", "object", "amount", "currency", "status", "client_secret", "payment_ref", "merchant_reference", "checkout_url", "customer", "metadata"])))]
pub struct PaymentIntent {
    /// Its identifier.
    #[cfg_attr(feature = "sandbox", schemars(extend("pattern" = "^pi_[0-9A-Za-z]{22}$")))]
    pub id: IntentId,
    /// Always `payment_intent`.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(extend("const" = "payment_intent")))]
    pub object: Option<String>,
    /// How much, in the smallest unit. A string, for precision.
    #[cfg_attr(feature = "sandbox", schemars(with = "Amount"))]
    pub amount: String,
    /// In which currency.
    #[cfg_attr(feature = "sandbox", schemars(with = "Currency"))]
    pub currency: String,
    /// Where it stands.
    pub status: IntentStatus,
    /// With it a customer's page reads and pays this intent.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(extend("pattern" = "^pi_[0-9A-Za-z]{22}_secret_[0-9A-Za-z]{43}$")))]
    pub client_secret: Option<ClientSecret>,
    /// The service's public reference of the transaction.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(extend("pattern" = "^gch_[0-9A-Za-z]{22}$")))]
    pub payment_ref: Option<PaymentRef>,
    /// The merchant's own name of it.
    #[serde(default, deserialize_with = "lenient")]
    pub merchant_reference: Option<String>,
    /// Where the customer pays. It carries the client secret: it belongs to the customer's browser and no log.
    #[serde(default, deserialize_with = "lenient")]
    pub checkout_url: Option<CheckoutUrl>,
    /// Who pays.
    #[serde(default, deserialize_with = "lenient")]
    pub customer: IntentCustomer,
    /// What was given at creation.
    #[serde(default, deserialize_with = "lenient")]
    pub metadata: BTreeMap<String, Value>,

    /// Who bears the fee.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "FeeBearer"))]
    pub fee_bearer: Option<String>,
    /// What the customer pays, once a method is known; in the smallest unit.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "Option<Amount>"))]
    pub amount_payable: Option<String>,
    /// Who confirms it.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "ConfirmationMethod"))]
    pub confirmation_method: Option<String>,
    /// What the customer pays with: type and a masked phone, or brand and last four digits.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "Option<PaidWith>"))]
    pub payment_method: Option<Value>,
    /// What the customer has to do.
    #[serde(default, deserialize_with = "lenient")]
    pub next_action: Option<NextAction>,
    /// Why the last attempt was declined.
    #[serde(default, deserialize_with = "lenient")]
    pub last_payment_error: Option<LastPaymentError>,
    /// How many attempts were made.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "u32"))]
    pub attempts: Option<u32>,
    /// When it was made, in Unix seconds.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "i64"))]
    pub created_at: Option<i64>,
    /// When it expires.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "Moment"))]
    pub expires_at: Option<String>,
    /// Where the customer goes after paying.
    #[serde(default, deserialize_with = "lenient")]
    pub redirect_url: Option<String>,
    /// What for.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "String"))]
    pub description: Option<String>,
    /// What is bought.
    #[serde(default, deserialize_with = "lenient")]
    pub items: Option<Vec<Item>>,
    /// The types of method that may pay; all when absent.
    #[serde(default, deserialize_with = "lenient")]
    pub payment_method_types: Option<Vec<String>>,
    /// Why it was canceled: `requested_by_customer`, `requested_by_merchant`, `expired`, or a word that this version does
    /// not know.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(extend("enum" = ["requested_by_customer", "requested_by_merchant", "expired", null])))]
    pub cancellation_reason: Option<String>,
    /// The payments that an operator approved beside another attempt or after the end, the first approved first: for each a
    /// refund is due.
    #[serde(default, deserialize_with = "duplicate_payments")]
    pub duplicate_payments: Vec<DuplicatePayment>,
}

/// Reads duplicate payments so that no two of an intent share a name. The service's list only grows, so an entry keeps its
/// place: where its attempt cannot be read, it is numbered by its place, down from a number that no attempt reaches.
pub(super) fn duplicate_payments<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<DuplicatePayment>, D::Error> {
    let mut payments: Vec<DuplicatePayment> = lenient_list(deserializer)?;
    for (payment, substitute) in payments.iter_mut().zip((0..=u32::MAX).rev()) {
        if payment.attempt == 0 {
            payment.attempt = substitute;
        }
    }
    Ok(payments)
}

/// The text of an amount, which a service may send as a number; empty where it is neither text nor number.
fn amount_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    let number = |_| serde_json::from_str::<Figure>(raw.get()).map(|figure| figure.to_string());
    Ok(serde_json::from_str(raw.get()).or_else(number).unwrap_or_default())
}

/// A payment that an operator approved after it was told as declined, while another attempt was processing or after the
/// payment intent had ended: the customer has paid, and gets nothing for it.
///
/// A refund is due. The interface shows none: the merchant makes it with the payment company.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(default)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct DuplicatePayment {
    /// In a subscription's record: the payment intent of the charge.
    #[serde(deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(skip_serializing_if = "Option::is_none", extend("pattern" = "^pi_[0-9A-Za-z]{22}$")))]
    pub payment_intent: Option<IntentId>,
    /// Which attempt of the payment intent, from 1. With the intent it names this payment.
    #[serde(deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(range(min = 1)))]
    pub attempt: u32,
    /// What the customer has paid, in the smallest unit: with the fee, where they bear it.
    #[serde(deserialize_with = "amount_text")]
    #[cfg_attr(feature = "sandbox", schemars(with = "Amount"))]
    pub amount: String,
    /// In which currency.
    #[serde(deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "Currency"))]
    pub currency: String,
    /// What it was paid with: type and a masked phone, or brand and last four digits.
    #[serde(deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "PaidWith"))]
    pub payment_method: Option<Value>,
    /// When the operator approved it.
    #[serde(deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "Moment"))]
    pub approved_at: Option<Moment>,
}

/// What the customer has to do before the payment goes on.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct NextAction {
    /// What it is: `otp`, `redirect`, `confirm`, or a word that this version does not know.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where a `redirect` leads: the page of the card's issuer. It carries a token, belongs to the customer's browser and
    /// no log, and prints as `***`.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(skip_serializing_if = "Option::is_none"))]
    pub url: Option<Secret>,
}

/// Who pays.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema), schemars(extend("x-guichet-documented" = ["firstname", "lastname", "email"])))]
pub struct IntentCustomer {
    /// First name.
    #[serde(deserialize_with = "lenient")]
    pub firstname: String,
    /// Last name.
    #[serde(deserialize_with = "lenient")]
    pub lastname: String,
    /// E-mail address; empty for a customer known by phone alone.
    #[serde(deserialize_with = "lenient")]
    pub email: String,
}

/// Why an attempt was declined.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct LastPaymentError {
    /// The stable word: `insufficient_funds`.
    pub code: String,
    /// The service's sentence.
    #[serde(default, deserialize_with = "lenient")]
    pub message: String,
}
