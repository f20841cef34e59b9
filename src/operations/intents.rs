//! Payment intents: one intent is one payment, from the basket to its final status.

use super::amount::AmountText;
use super::{CustomerName, Instrument, Item, PaidWith, operation, resource, supported};
use crate::protocol::{ErrorCode, Fields, Merchant, Payer, lenient_list};
use crate::values::{
    Amount, CheckoutUrl, ClientSecret, ConfirmationMethod, Currency, Email, FeeBearer, IntentId, IntentStatus,
    MerchantReference, Moment, PageLimit, PaymentRef, Phone, RedirectUrl, Secret,
};
use serde::Deserializer;
use serde_json::Value;
use std::collections::BTreeMap;

/// `POST /v1/payment-intents`: begin a payment, and get the address where the customer pays.
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
/// What a repeated `merchant_reference` does: the same body gives the same intent in its current state, another body a
/// conflict (a decision). That is why this operation may be sent again when its answer was lost.
#[operation(
    POST "/v1/payment-intents" -> PaymentIntent,
    role = Merchant,
    command = "intents create",
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
    /// How much, in the smallest unit.
    #[field(with = AmountText)]
    pub amount: Amount,
    /// In which currency.
    #[field(default, check = supported)]
    pub currency: Currency,
    /// What for, briefly: it shows on a statement or receipt.
    pub description: String,
    /// The merchant's unique name of this payment. Those that name a charge of a subscription are taken (a decision).
    #[field(schema("not" = { "pattern": "^sub_[^:]*:[0-9]+:[0-9]+$" }))]
    pub merchant_reference: MerchantReference,
    /// Who bears the fee.
    #[field(default)]
    pub fee_bearer: FeeBearer,
    /// Who confirms the payment.
    #[field(default)]
    pub confirmation_method: ConfirmationMethod,
    /// Whether to confirm as soon as a method is attached.
    #[field(default)]
    pub confirm: bool,
    /// What is bought.
    #[field(check = supported_items)]
    pub items: Option<Vec<Item>>,
    /// Where the customer goes after paying.
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

/// Every item's currency is one that the service knows.
fn supported_items(fields: &mut Fields, param: &str, items: &[Item]) {
    if let Some(item) = items.iter().find(|item| item.currency.exponent().is_none()) {
        supported(fields, param, &item.currency);
    }
}

/// The types of method that the sandbox has are two (a decision).
fn has_a_known_type(fields: &mut Fields, param: &str, types: &[String]) {
    if !types.iter().any(|kind| ["card", "mobile_money"].contains(&kind.as_str())) {
        let message = "None of these types can pay. There are mobile_money and card.";
        fields.error(param, ErrorCode::PaymentMethodUnavailable, message);
    }
}

/// `GET /v1/payment-intents`: the merchant's payments, the newest first.
///
/// ```
/// use guichet::operations::ListPaymentIntents;
/// use guichet::values::PageLimit;
/// let first = ListPaymentIntents::new().limit(PageLimit::new(20)?);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
#[operation(
    GET "/v1/payment-intents" -> Vec<PaymentIntent>,
    role = Merchant,
    command = "intents list",
    columns = ["id", "status", "amount", "merchant_reference", "customer.email", "created_at"],
    assumed,
)]
pub struct ListPaymentIntents {
    /// How many; the service's default is 100, and the most.
    #[field(default = 100)]
    pub limit: Option<PageLimit>,
    /// Those after this one.
    pub starting_after: Option<IntentId>,
}

/// `GET /v1/payment-intents/{id}`: how a payment stands.
///
/// ```
/// use guichet::operations::ReadPaymentIntent;
/// use guichet::values::IntentId;
/// let read = ReadPaymentIntent::new(IntentId::new("pi_1")?);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
#[operation(GET "/v1/payment-intents/{id}" -> PaymentIntent, role = Payer, command = "intents read", assumed)]
pub struct ReadPaymentIntent {
    /// The intent.
    pub id: IntentId,
}

/// `POST /v1/payment-intents/{id}/payment-method`: pay with this phone or card.
///
/// Under `automatic` confirmation this is the charge. The same method again while it is processing or settled has no
/// effect; a client that lost the answer reads the intent before it sends again.
///
/// ```
/// use guichet::operations::{AttachPaymentMethod, Instrument};
/// use guichet::values::{IntentId, Phone};
/// let phone = Instrument::MobileMoney { phone: Phone::new("237670000000")? };
/// let pay = AttachPaymentMethod::new(IntentId::new("pi_1")?, phone);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
#[operation(
    POST "/v1/payment-intents/{id}/payment-method" -> PaymentIntent,
    role = Payer,
    command = "intents pay",
    assumed,
)]
pub struct AttachPaymentMethod {
    /// The intent.
    pub id: IntentId,
    /// What to pay with.
    pub payment_method: Instrument,
}

/// `POST /v1/payment-intents/{id}/confirm`: charge what was attached. Of a `manual` intent, the merchant's server alone.
///
/// ```
/// use guichet::operations::ConfirmPaymentIntent;
/// use guichet::values::IntentId;
/// let confirm = ConfirmPaymentIntent::new(IntentId::new("pi_1")?);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
#[operation(POST "/v1/payment-intents/{id}/confirm" -> PaymentIntent, role = Payer, command = "intents confirm", assumed)]
pub struct ConfirmPaymentIntent {
    /// The intent.
    pub id: IntentId,
}

/// `POST /v1/payment-intents/{id}/answer`: the one-time code that the customer was sent.
///
/// ```
/// use guichet::operations::AnswerPaymentIntent;
/// use guichet::values::IntentId;
/// let answer = AnswerPaymentIntent::new(IntentId::new("pi_1")?, "123456");
/// assert!(!format!("{answer:?}").contains("123456"));
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
#[operation(POST "/v1/payment-intents/{id}/answer" -> PaymentIntent, role = Payer, command = "intents answer", assumed)]
pub struct AnswerPaymentIntent {
    /// The intent.
    pub id: IntentId,
    /// The code.
    #[field(secret)]
    pub otp: String,
}

/// `POST /v1/payment-intents/{id}/cancel`: call a payment off, while nothing is under way. Again, it changes nothing.
///
/// ```
/// use guichet::operations::CancelPaymentIntent;
/// use guichet::values::IntentId;
/// let cancel = CancelPaymentIntent::new(IntentId::new("pi_1")?);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
#[operation(
    POST "/v1/payment-intents/{id}/cancel" -> PaymentIntent,
    role = Payer,
    command = "intents cancel",
    assumed,
    repeatable,
)]
pub struct CancelPaymentIntent {
    /// The intent.
    pub id: IntentId,
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
    /// How much, in the smallest unit. A string, for precision.
    #[field(required)]
    pub amount: Amount,
    /// In which currency.
    #[field(required, like = Currency)]
    pub currency: String,
    /// Where it stands.
    #[field(required)]
    pub status: IntentStatus,
    /// With it a customer's page reads and pays this intent.
    #[field(schema("pattern" = "^pi_[0-9A-Za-z]{22}_secret_[0-9A-Za-z]{43}$"))]
    pub client_secret: Option<ClientSecret>,
    /// The service's public reference of the transaction.
    #[field(schema("pattern" = "^gch_[0-9A-Za-z]{22}$"))]
    pub payment_ref: Option<PaymentRef>,
    /// The merchant's own name of it.
    pub merchant_reference: Option<String>,
    /// Where the customer pays. It carries the client secret: it belongs to the customer's browser and no log.
    pub checkout_url: Option<CheckoutUrl>,
    /// Who pays.
    pub customer: IntentCustomer,
    /// What was given at creation.
    pub metadata: BTreeMap<String, Value>,

    /// Who bears the fee.
    #[field(undocumented, like = FeeBearer)]
    pub fee_bearer: Option<String>,
    /// What the customer pays, once a method is known; in the smallest unit.
    #[field(undocumented)]
    pub amount_payable: Option<Amount>,
    /// Who confirms it.
    #[field(undocumented, like = ConfirmationMethod)]
    pub confirmation_method: Option<String>,
    /// What the customer pays with: type and a masked phone, or brand and last four digits.
    #[field(undocumented)]
    pub payment_method: Option<PaidWith>,
    /// What the customer has to do.
    #[field(undocumented)]
    pub next_action: Option<NextAction>,
    /// Why the last attempt was declined.
    #[field(undocumented)]
    pub last_payment_error: Option<LastPaymentError>,
    /// How many attempts were made.
    #[field(undocumented, always)]
    pub attempts: Option<u32>,
    /// When it was made, in Unix seconds.
    #[field(undocumented, always)]
    pub created_at: Option<i64>,
    /// When it expires.
    #[field(undocumented, like = Moment)]
    pub expires_at: Option<String>,
    /// Where the customer goes after paying.
    #[field(undocumented)]
    pub redirect_url: Option<String>,
    /// What for.
    #[field(undocumented, always)]
    pub description: Option<String>,
    /// What is bought.
    #[field(undocumented)]
    pub items: Option<Vec<Item>>,
    /// The types of method that may pay; all when absent.
    #[field(undocumented)]
    pub payment_method_types: Option<Vec<String>>,
    /// Why it was canceled: `requested_by_customer`, `requested_by_merchant`, `expired`, or a word that this version does
    /// not know.
    #[field(undocumented, schema("enum" = ["requested_by_customer", "requested_by_merchant", "expired", null]))]
    pub cancellation_reason: Option<String>,
    /// The payments that an operator approved beside another attempt or after the end, the first approved first: for each a
    /// refund is due.
    #[field(undocumented, read = duplicate_payments)]
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

/// A payment that an operator approved after it was told as declined, while another attempt was processing or after the
/// payment intent had ended: the customer has paid, and gets nothing for it.
///
/// A refund is due. The interface shows none: the merchant makes it with the payment company.
///
/// ```
/// use guichet::operations::DuplicatePayment;
/// let duplicate: DuplicatePayment = guichet::protocol::decode(br#"{"data": {"attempt": 2, "amount": "45000", "currency": "XAF"}}"#)?;
/// assert_eq!(duplicate.attempt, 2);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[resource(undocumented)]
#[derive(Default, Eq, PartialEq)]
pub struct DuplicatePayment {
    /// In a subscription's record: the payment intent of the charge.
    #[field(omitted, schema("pattern" = "^pi_[0-9A-Za-z]{22}$"))]
    pub payment_intent: Option<IntentId>,
    /// Which attempt of the payment intent, from 1. With the intent it names this payment.
    #[field(min = 1)]
    pub attempt: u32,
    /// What the customer has paid, in the smallest unit: with the fee, where they bear it.
    #[field(always)]
    pub amount: Option<Amount>,
    /// In which currency.
    #[field(like = Currency)]
    pub currency: String,
    /// What it was paid with: type and a masked phone, or brand and last four digits.
    #[field(always)]
    pub payment_method: Option<PaidWith>,
    /// When the operator approved it.
    #[field(always)]
    pub approved_at: Option<Moment>,
}

/// What the customer has to do before the payment goes on.
///
/// ```
/// use guichet::operations::NextAction;
/// let action: NextAction = guichet::protocol::decode(br#"{"data": {"type": "otp"}}"#)?;
/// assert_eq!(action.kind, "otp");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[resource(undocumented)]
pub struct NextAction {
    /// What it is: `otp`, `redirect`, `confirm`, or a word that this version does not know.
    #[field(required, name = "type")]
    pub kind: String,
    /// Where a `redirect` leads: the page of the card's issuer. It carries a token, belongs to the customer's browser and
    /// no log, and prints as `***`.
    #[field(omitted)]
    pub url: Option<Secret>,
}

/// Who pays.
///
/// ```
/// use guichet::operations::IntentCustomer;
/// let customer: IntentCustomer = guichet::protocol::decode(br#"{"data": {"firstname": "Awa", "lastname": "Ngono", "email": "awa@example.com"}}"#)?;
/// assert_eq!(customer.lastname, "Ngono");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[resource]
#[derive(Default)]
pub struct IntentCustomer {
    /// First name.
    pub firstname: String,
    /// Last name.
    pub lastname: String,
    /// E-mail address; empty for a customer known by phone alone.
    pub email: String,
}

/// Why an attempt was declined.
///
/// ```
/// use guichet::operations::LastPaymentError;
/// let error: LastPaymentError = guichet::protocol::decode(br#"{"data": {"code": "insufficient_funds"}}"#)?;
/// assert_eq!(error.code, "insufficient_funds");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[resource(undocumented)]
pub struct LastPaymentError {
    /// The stable word: `insufficient_funds`.
    #[field(required)]
    pub code: String,
    /// The service's sentence.
    pub message: String,
}
