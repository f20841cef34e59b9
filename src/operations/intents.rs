//! Payment intents: one intent is one payment, from the basket to its final status.

use super::{CustomerName, Instrument, Item, Operator, PaidWith, operation, resource, supported};
use crate::protocol::{ErrorCode, Fields, Merchant, Payer, lenient, lenient_list};
use crate::values::{
    Amount, CheckoutUrl, ClientSecret, ConfirmationMethod, Currency, Email, FeeBearer, IntentId, IntentStatus,
    MerchantReference, Moment, PageLimit, PaymentRef, Phone, RedirectUrl, Secret,
};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// `POST /v1/payment-intents`: create a payment, and get the address where the customer pays.
///
/// An e-mail or a phone is required.
///
/// ```
/// use guichet::operations::{CreatePaymentIntent, CustomerName};
/// use guichet::values::{Amount, Email, MerchantReference};
/// let (reference, price) = (MerchantReference::new("ORDER-17")?, Amount::units(45_000));
/// let awa = CustomerName { firstname: "Awa", lastname: "Ngono" };
/// let order = CreatePaymentIntent::new(reference, price, "A pair of shoes", awa).email(Email::new("awa@example.com")?);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
///
/// # Undocumented
/// The effect of a repeated `merchant_reference`: with the same body it returns the same intent in its current state,
/// with another body it is a conflict (a decision). For this reason the operation may be sent again if its response was
/// lost.
#[operation(
    POST "/v1/payment-intents" -> PaymentIntent,
    role = Merchant,
    repeatable,
    new(merchant_reference, amount, description, CustomerName { firstname, lastname }),
    at_least_one(email, phone, "An e-mail or a phone is required."),
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
    /// The amount, in the smallest unit.
    pub amount: Amount,
    /// The currency of the amount.
    #[field(default, check = supported)]
    pub currency: Currency,
    /// A short description, which shows on a statement or receipt.
    pub description: String,
    /// The merchant's unique name of this payment. The names that subscriptions give to their charges are reserved (a
    /// decision).
    #[field(schema("not" = { "pattern": "^sub_[^:]*:[0-9]+:[0-9]+$" }))]
    pub merchant_reference: MerchantReference,
    /// The party that bears the fee.
    #[field(default)]
    pub fee_bearer: FeeBearer,
    /// The party that confirms the payment.
    #[field(default)]
    pub confirmation_method: ConfirmationMethod,
    /// Whether to confirm as soon as a method is attached.
    #[field(default)]
    pub confirm: bool,
    /// The items that are bought.
    #[field(check = supported_items)]
    pub items: Option<Vec<Item>>,
    /// The address the customer returns to after paying.
    pub redirect_url: Option<RedirectUrl>,
    /// Free key-value pairs.
    pub metadata: Option<BTreeMap<String, Value>>,
    /// Whether to ask for a shipping address at checkout.
    #[field(default)]
    pub collect_shipping_address: bool,
    /// The types of method that may pay, such as `card` and `mobile_money`; all when absent.
    #[field(check = has_a_known_type, schema("contains" = { "enum": ["card", "mobile_money"] }))]
    pub payment_method_types: Option<Vec<String>>,
}

/// Refuses items in a currency that the service does not know.
fn supported_items(fields: &mut Fields, param: &str, items: &[Item]) {
    if let Some(item) = items.iter().find(|item| item.currency.exponent().is_none()) {
        supported(fields, param, &item.currency);
    }
}

/// Refuses a list without any of the sandbox's two types of method (a decision).
fn has_a_known_type(fields: &mut Fields, param: &str, types: &[String]) {
    if !types.iter().any(|kind| ["card", "mobile_money"].contains(&kind.as_str())) {
        let message = "None of these types can pay. There are mobile_money and card.";
        fields.error(param, ErrorCode::PaymentMethodUnavailable, message);
    }
}

/// `GET /v1/payment-intents`: the merchant's payments, the newest first.
#[operation(
    GET "/v1/payment-intents" -> Vec<PaymentIntent>,
    role = Merchant,
    assumed,
)]
pub struct ListPaymentIntents {
    /// The number of entries per page. The service's default is 100, which is also the most.
    #[field(default = 100)]
    pub limit: Option<PageLimit>,
    /// Only the entries after this one.
    pub starting_after: Option<IntentId>,
}

/// `GET /v1/payment-intents/{id}`: a payment's current state.
#[operation(GET "/v1/payment-intents/{id}" -> PaymentIntent, role = Payer, assumed, example = "pi_1")]
pub struct ReadPaymentIntent {
    /// The intent.
    pub id: IntentId,
}

/// `POST /v1/payment-intents/{id}/payment-method`: pay with this phone or card.
///
/// Under `automatic` confirmation this charges the customer. Sending the same method again while it is processing or
/// settled has no effect. A client that lost the response reads the intent before it sends the method again.
///
/// ```
/// use guichet::operations::{AttachPaymentMethod, Instrument};
/// use guichet::values::{IntentId, Phone};
/// let phone = Instrument::mobile_money(Phone::new("237670000000")?);
/// let pay = AttachPaymentMethod::new(IntentId::new("pi_1")?, phone);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
///
/// # Undocumented
/// The whole operation. A phone may name its `operator`, which is part of "the same method"; without one it is the
/// operator of the phone's prefix. An operator that is `closed` is refused (decisions).
#[operation(
    POST "/v1/payment-intents/{id}/payment-method" -> PaymentIntent,
    role = Payer,
    assumed,
)]
pub struct AttachPaymentMethod {
    /// The intent.
    pub id: IntentId,
    /// The payment method.
    pub payment_method: Instrument,
}

/// `POST /v1/payment-intents/{id}/confirm`: charge the attached method. Only the merchant's server can confirm a
/// `manual` intent.
#[operation(POST "/v1/payment-intents/{id}/confirm" -> PaymentIntent, role = Payer, assumed, example = "pi_1")]
pub struct ConfirmPaymentIntent {
    /// The intent.
    pub id: IntentId,
}

/// `POST /v1/payment-intents/{id}/answer`: send the one-time code that the customer received.
///
/// ```
/// use guichet::operations::AnswerPaymentIntent;
/// use guichet::values::IntentId;
/// let answer = AnswerPaymentIntent::new(IntentId::new("pi_1")?, "123456");
/// assert!(!format!("{answer:?}").contains("123456"));
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
#[operation(POST "/v1/payment-intents/{id}/answer" -> PaymentIntent, role = Payer, assumed)]
pub struct AnswerPaymentIntent {
    /// The intent.
    pub id: IntentId,
    /// The code.
    #[field(secret)]
    pub otp: String,
}

/// `POST /v1/payment-intents/{id}/cancel`: cancel a payment while no charge is under way. Repeating it changes nothing.
#[operation(
    POST "/v1/payment-intents/{id}/cancel" -> PaymentIntent,
    role = Payer,
    assumed,
    repeatable,
    example = "pi_1",
)]
pub struct CancelPaymentIntent {
    /// The intent.
    pub id: IntentId,
}

/// `POST /v1/payment-intents/{id}/abandon`: end an attempt of mobile money that is processing, so that the customer can
/// pay with another number. Repeating it changes nothing.
///
/// The operator may still approve the attempt: then the customer has paid twice, and one payment is refunded. Say so
/// first. While it is `processing` only; a subscription's charge cannot be abandoned (a decision).
///
/// ```
/// use guichet::operations::AbandonPaymentIntent;
/// use guichet::values::IntentId;
/// let abandon = AbandonPaymentIntent::new(IntentId::new("pi_1")?, 1_u32);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
#[operation(
    POST "/v1/payment-intents/{id}/abandon" -> PaymentIntent,
    role = Payer,
    assumed,
    repeatable,
)]
pub struct AbandonPaymentIntent {
    /// The intent.
    pub id: IntentId,
    /// The number of the attempt, from 1: the intent's `attempts`.
    #[field(min = 1)]
    pub attempt: u32,
}

/// A payment intent, as the service sees it now.
///
/// The fields below `metadata` are decisions: a real service may not send them.
///
/// ```
/// use guichet::operations::PaymentIntent;
/// let intent: PaymentIntent = guichet::protocol::decode(br#"{"data": {"id": "pi_1", "amount": "45000", "currency": "XAF", "status": "succeeded"}}"#)?;
/// assert!(intent.status.is_final());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[resource]
pub struct PaymentIntent {
    /// Its identifier.
    #[field(required, schema("pattern" = "^pi_[0-9A-Za-z]{22}$"))]
    pub id: IntentId,
    /// Always `payment_intent`.
    #[field(schema("const" = "payment_intent"))]
    pub object: Option<String>,
    /// The amount, in the smallest unit. A string, for precision.
    #[field(required)]
    pub amount: Amount,
    /// The currency of the amount.
    #[field(required, like = Currency)]
    pub currency: String,
    /// Its status.
    #[field(required)]
    pub status: IntentStatus,
    /// The secret with which a customer's page reads and pays this intent.
    #[field(schema("pattern" = "^pi_[0-9A-Za-z]{22}_secret_[0-9A-Za-z]{43}$"))]
    pub client_secret: Option<ClientSecret>,
    /// The service's public reference of the transaction.
    #[field(schema("pattern" = "^gch_[0-9A-Za-z]{22}$"))]
    pub payment_ref: Option<PaymentRef>,
    /// The merchant's own name of the payment.
    pub merchant_reference: Option<String>,
    /// The address where the customer pays. It contains the client secret: send it only to the customer's browser, and
    /// do not log it.
    pub checkout_url: Option<CheckoutUrl>,
    /// The customer who pays.
    pub customer: IntentCustomer,
    /// The key-value pairs given at creation.
    pub metadata: BTreeMap<String, Value>,

    /// The party that bears the fee.
    #[field(undocumented, like = FeeBearer)]
    pub fee_bearer: Option<String>,
    /// The amount that the customer pays, once a method is known; in the smallest unit.
    #[field(undocumented)]
    pub amount_payable: Option<Amount>,
    /// The party that confirms the payment.
    #[field(undocumented, like = ConfirmationMethod)]
    pub confirmation_method: Option<String>,
    /// The payment method: type and a masked phone, or brand and last four digits.
    #[field(undocumented)]
    pub payment_method: Option<PaidWith>,
    /// The action that the customer must take.
    #[field(undocumented)]
    pub next_action: Option<NextAction>,
    /// The reason why the last attempt was declined. Without a code if it has another shape.
    #[field(undocumented, read = declined)]
    pub last_payment_error: Option<LastPaymentError>,
    /// Until when any of its declined attempts may still be approved, in every status. Absent: the service does not
    /// say.
    #[field(undocumented, omitted, like = ApprovableUntil, read = approvable_until)]
    pub approvable_until: Option<ApprovableUntil>,
    /// The number of attempts.
    #[field(undocumented, always)]
    pub attempts: Option<u32>,
    /// When it was made, in Unix seconds.
    #[field(undocumented, always)]
    pub created_at: Option<i64>,
    /// When it expires.
    #[field(undocumented, like = Moment)]
    pub expires_at: Option<String>,
    /// The address the customer returns to after paying.
    #[field(undocumented)]
    pub redirect_url: Option<String>,
    /// The description given at creation.
    #[field(undocumented, always)]
    pub description: Option<String>,
    /// The items that are bought.
    #[field(undocumented)]
    pub items: Option<Vec<Item>>,
    /// The types of method that may pay; all when absent.
    #[field(undocumented)]
    pub payment_method_types: Option<Vec<String>>,
    /// Why it was canceled: `requested_by_customer`, `requested_by_merchant`, `expired`, or a word that this version
    /// does not know.
    #[field(undocumented, schema("enum" = ["requested_by_customer", "requested_by_merchant", "expired", null]))]
    pub cancellation_reason: Option<String>,
    /// The payments that an operator approved while another attempt was processing or after the intent had ended, in
    /// the order of approval. A refund is due for each.
    #[field(undocumented, read = duplicate_payments)]
    pub duplicate_payments: Vec<DuplicatePayment>,
}

impl PaymentIntent {
    /// When it expires; `None` if the service does not say, or in a form that cannot be parsed.
    #[must_use]
    pub fn expires(&self) -> Option<Moment> {
        self.expires_at.as_deref().and_then(|text| Moment::new(text).ok())
    }
}

/// Reads a whole number, also one in a text; 0 if it is none. `lenient` reads that for every field, but not in wasm:
/// there it would cost guichet-server 3 KB.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Sent {
        Number(u32),
        Text(String),
        Other(IgnoredAny),
    }
    Ok(match Sent::deserialize(deserializer)? {
        Sent::Number(number) => number,
        Sent::Text(text) => text.parse().unwrap_or_default(),
        Sent::Other(_) => 0,
    })
}

/// Reads duplicate payments so that no two of an intent have the same number. If the number of an attempt cannot be
/// read, the entry's position in the list replaces it, counted down from `u32::MAX`, which no attempt reaches. The
/// service's list only grows, so an entry keeps its position.
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

/// A payment that was reported as declined and that an operator then approved, while another attempt was processing or
/// after the payment intent had ended: the customer has paid and gets nothing for it.
///
/// A refund is due. The interface has no operation for it: the merchant makes the refund with the payment company.
#[resource(undocumented, example = r#"{"attempt": 2, "amount": "45000", "currency": "XAF"}"#)]
#[derive(Default, Eq)]
pub struct DuplicatePayment {
    /// In a subscription's record: the payment intent of the charge.
    #[field(omitted, schema("pattern" = "^pi_[0-9A-Za-z]{22}$"))]
    pub payment_intent: Option<IntentId>,
    /// The number of the attempt, from 1. With the payment intent it identifies this payment.
    #[field(min = 1, read = number)]
    pub attempt: u32,
    /// The amount that the customer has paid, in the smallest unit, with the fee if the customer bears it.
    #[field(always)]
    pub amount: Option<Amount>,
    /// The currency of the amount.
    #[field(like = Currency)]
    pub currency: String,
    /// The payment method: type and a masked phone, or brand and last four digits.
    #[field(always)]
    pub payment_method: Option<PaidWith>,
    /// When the operator approved it.
    #[field(always)]
    pub approved_at: Option<Moment>,
}

/// The action that the customer must take before the payment continues.
#[resource(undocumented, example = r#"{"type": "otp"}"#)]
pub struct NextAction {
    /// Its type: `otp`, `redirect`, `confirm`, `approve_on_phone` (while mobile money is `processing`), or a word that
    /// this version does not know.
    #[field(required, name = "type")]
    pub kind: String,
    /// The address of a `redirect`: the page of the card's issuer. It contains a token: send it only to the customer's
    /// browser, and do not log it.
    #[field(omitted)]
    pub url: Option<Secret>,
    /// Of `approve_on_phone`: the operator, if it is known.
    #[field(omitted)]
    pub operator: Option<Operator>,
    /// Of `approve_on_phone`: the name that the customer sees on the phone.
    #[field(omitted)]
    pub payee: Option<String>,
    /// Of `approve_on_phone`: what the customer does there, in order.
    #[field(omitted)]
    pub steps: Option<Vec<ApprovalStep>>,
}

/// One step of a customer who approves a payment on their phone.
#[resource(undocumented, example = r#"{"code": "dial", "ussd": "*126#"}"#)]
#[derive(Eq)]
pub struct ApprovalStep {
    /// What to do: `open_prompt`, `enter_pin`, `dial` (if the phone shows nothing), or a word that this version does
    /// not know.
    #[field(required)]
    pub code: String,
    /// What to dial, as text.
    #[field(omitted)]
    pub ussd: Option<String>,
}

/// The customer of a payment intent.
#[resource(example = r#"{"firstname": "Awa", "lastname": "Ngono", "email": "awa@example.com"}"#)]
#[derive(Default)]
pub struct IntentCustomer {
    /// First name.
    pub firstname: String,
    /// Last name.
    pub lastname: String,
    /// E-mail address; empty for a customer known by phone alone.
    pub email: String,
}

/// The reason why an attempt was declined.
#[resource(undocumented, example = r#"{"code": "insufficient_funds"}"#)]
pub struct LastPaymentError {
    /// The stable code, such as `insufficient_funds`.
    #[field(required)]
    pub code: String,
    /// The service's message.
    pub message: String,
    /// Until when the operator may still approve the attempt. Absent: the service does not say, so a decline of mobile
    /// money is not certain.
    #[field(omitted, like = ApprovableUntil, read = approvable_until)]
    pub approvable_until: Option<ApprovableUntil>,
}

/// Until when an operator may still approve what it has declined. A false "failed" is how customers pay twice: while
/// this moment is ahead, do not say that no money was taken.
///
/// ```
/// use guichet::operations::{ApprovableUntil, LastPaymentError};
/// let read = |json: &[u8]| guichet::protocol::decode::<LastPaymentError>(json).map(|error| error.approvable_until);
/// assert_eq!(read(br#"{"code": "payer_timeout", "approvable_until": 1795257900}"#)?, Some(ApprovableUntil::Unix(1_795_257_900)));
/// assert_eq!(read(br#"{"code": "payer_not_found", "approvable_until": null}"#)?, Some(ApprovableUntil::Never));
/// assert_eq!(read(br#"{"code": "payer_timeout"}"#)?, None);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(from = "Option<i64>", into = "Option<i64>")]
pub enum ApprovableUntil {
    /// The operator's word is final. `null`.
    Never,
    /// In Unix seconds.
    Unix(i64),
}

impl ApprovableUntil {
    /// The moment, in Unix seconds.
    #[must_use]
    pub fn unix(self) -> Option<i64> {
        match self {
            Self::Never => None,
            Self::Unix(seconds) => Some(seconds),
        }
    }
}

impl From<Option<i64>> for ApprovableUntil {
    fn from(seconds: Option<i64>) -> Self {
        seconds.map_or(Self::Never, Self::Unix)
    }
}

impl From<ApprovableUntil> for Option<i64> {
    fn from(until: ApprovableUntil) -> Self {
        until.unix()
    }
}

/// Reads a decline. One that cannot be read is a decline, too.
fn declined<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<LastPaymentError>, D::Error> {
    let sent = Value::deserialize(deserializer)?;
    let unknown = |_| LastPaymentError { code: String::new(), message: String::new(), approvable_until: None };
    Ok((!sent.is_null()).then(|| LastPaymentError::deserialize(sent).unwrap_or_else(unknown)))
}

/// Reads a moment of which `null` says more than its absence.
fn approvable_until<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ApprovableUntil>, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(untagged)]
    enum Sent {
        Read(ApprovableUntil),
        #[default]
        Other,
    }
    Ok(match lenient(deserializer)? {
        Sent::Read(until) => Some(until),
        Sent::Other => None,
    })
}
