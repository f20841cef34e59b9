//! What the document does not show and a whole payment needs. Every operation here is a decision: a real service may
//! have other paths, or none, and the clients say `unsupported` then.

use super::{PaymentIntent, setters};
use crate::protocol::{Fields, FromField, Merchant, Operation, Payer, Served, Spec};
use crate::values::{IntentId, Invalid, PageLimit, Phone};
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// `GET /v1/payment-intents/{id}`: how a payment stands.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ReadPaymentIntent {
    /// The intent.
    pub id: IntentId,
}

impl ReadPaymentIntent {
    /// Of this intent.
    #[must_use]
    pub fn new(id: IntentId) -> Self {
        Self { id }
    }
}

impl Operation for ReadPaymentIntent {
    type Role = Payer;
    type Output = PaymentIntent;
    const SPEC: Spec = Spec::get("read_payment_intent", "/v1/payment-intents/{id}").assumed();
}

impl Served for ReadPaymentIntent {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self::new(fields.required("id")?))
    }
}

/// `POST /v1/payment-intents/{id}/payment-method`: pay with this phone or card.
///
/// Under `automatic` confirmation this *is* the charge. The same method again while it is processing or settled has no
/// effect; a client that lost the answer reads the intent before it sends again.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct AttachPaymentMethod {
    /// The intent.
    pub id: IntentId,
    /// What to pay with.
    pub payment_method: Instrument,
}

impl AttachPaymentMethod {
    /// Pays this intent with this instrument.
    #[must_use]
    pub fn new(id: IntentId, payment_method: Instrument) -> Self {
        Self { id, payment_method }
    }
}

impl Operation for AttachPaymentMethod {
    type Role = Payer;
    type Output = PaymentIntent;
    const SPEC: Spec = Spec::post("attach_payment_method", "/v1/payment-intents/{id}/payment-method").assumed();
}

impl Served for AttachPaymentMethod {
    fn read(fields: &mut Fields) -> Option<Self> {
        let id = fields.required("id");
        let payment_method = fields.required("payment_method");
        Some(Self::new(id?, payment_method?))
    }
}

/// `POST /v1/payment-intents/{id}/confirm`: charge what was attached. Of a `manual` intent, the merchant's server alone.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ConfirmPaymentIntent {
    /// The intent.
    pub id: IntentId,
}

impl ConfirmPaymentIntent {
    /// Confirms this intent.
    #[must_use]
    pub fn new(id: IntentId) -> Self {
        Self { id }
    }
}

impl Operation for ConfirmPaymentIntent {
    type Role = Payer;
    type Output = PaymentIntent;
    const SPEC: Spec = Spec::post("confirm_payment_intent", "/v1/payment-intents/{id}/confirm").assumed();
}

impl Served for ConfirmPaymentIntent {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self::new(fields.required("id")?))
    }
}

/// `POST /v1/payment-intents/{id}/cancel`: call a payment off, while nothing is under way. Again, it changes nothing.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CancelPaymentIntent {
    /// The intent.
    pub id: IntentId,
}

impl CancelPaymentIntent {
    /// Cancels this intent.
    #[must_use]
    pub fn new(id: IntentId) -> Self {
        Self { id }
    }
}

impl Operation for CancelPaymentIntent {
    type Role = Payer;
    type Output = PaymentIntent;
    const SPEC: Spec = Spec::post("cancel_payment_intent", "/v1/payment-intents/{id}/cancel").assumed().repeatable();
}

impl Served for CancelPaymentIntent {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self::new(fields.required("id")?))
    }
}

/// `POST /v1/payment-intents/{id}/answer`: the one-time code that the customer was sent.
#[derive(Clone, Serialize)]
#[non_exhaustive]
pub struct AnswerPaymentIntent {
    /// The intent.
    pub id: IntentId,
    /// The code. Its `Debug` does not show it.
    pub otp: String,
}

impl AnswerPaymentIntent {
    /// Answers this intent with this code.
    #[must_use]
    pub fn new(id: IntentId, otp: impl Into<String>) -> Self {
        Self { id, otp: otp.into() }
    }
}

impl fmt::Debug for AnswerPaymentIntent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerPaymentIntent").field("id", &self.id).field("otp", &"***").finish()
    }
}

impl Operation for AnswerPaymentIntent {
    type Role = Payer;
    type Output = PaymentIntent;
    const SPEC: Spec = Spec::post("answer_payment_intent", "/v1/payment-intents/{id}/answer").assumed();
}

impl Served for AnswerPaymentIntent {
    fn read(fields: &mut Fields) -> Option<Self> {
        let id = fields.required("id");
        let otp = fields.required::<String>("otp");
        Some(Self::new(id?, otp?))
    }
}

/// `GET /v1/payment-intents`: the merchant's payments, the newest first.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct ListPaymentIntents {
    /// How many; the service's default is 100, and the most.
    pub limit: Option<PageLimit>,
    /// Those after this one.
    pub starting_after: Option<IntentId>,
}

impl ListPaymentIntents {
    /// The first page.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { ListPaymentIntents {
    /// So many.
    limit: PageLimit,
    /// Those after this one.
    starting_after: IntentId,
} }

impl Operation for ListPaymentIntents {
    type Role = Merchant;
    type Output = Vec<PaymentIntent>;
    const SPEC: Spec =
        Spec::get("list_payment_intents", "/v1/payment-intents").asking(&["limit", "starting_after"]).assumed();
}

impl Served for ListPaymentIntents {
    fn read(fields: &mut Fields) -> Option<Self> {
        let limit = fields.optional("limit");
        let starting_after = fields.optional("starting_after");
        Some(Self { limit: limit?, starting_after: starting_after? })
    }
}

/// What a customer pays with. Its `Debug` shows neither a phone nor a card number.
#[derive(Clone, Eq, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Instrument {
    /// A card.
    Card {
        /// What is on it.
        card: Card,
    },
    /// A mobile money account.
    MobileMoney {
        /// The phone it belongs to.
        phone: Phone,
    },
}

/// What is on a card. Its `Debug` shows nothing of it.
#[derive(Clone, Eq, PartialEq, Serialize)]
pub struct Card {
    /// The number, digits only.
    pub number: String,
    /// The month it expires in, 1 to 12.
    pub exp_month: u8,
    /// The year it expires in, four digits.
    pub exp_year: u16,
    /// The three or four digits on its back.
    pub cvc: String,
}

impl fmt::Debug for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Card(***)")
    }
}

impl fmt::Debug for Instrument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Card { .. } => "Card(***)",
            Self::MobileMoney { .. } => "MobileMoney(***)",
        })
    }
}

impl FromField for Instrument {
    fn from_field(value: &Value) -> Result<Self, Invalid> {
        let kind = value.get("type").and_then(Value::as_str);
        match kind {
            Some("mobile_money") => match value.get("phone") {
                Some(phone) => Ok(Self::MobileMoney { phone: Phone::from_field(phone)? }),
                None => Err(Invalid::because(
                    "Mobile money needs a phone: {\"type\":\"mobile_money\",\"phone\":\"237670000000\"}.",
                )),
            },
            Some("card") => Ok(Self::Card { card: Card::from_field(value.get("card").unwrap_or(&Value::Null))? }),
            _ => Err(Invalid::because("A payment method is an object whose type is mobile_money or card.")),
        }
    }
}

impl FromField for Card {
    fn from_field(value: &Value) -> Result<Self, Invalid> {
        let digits = |name: &str, least: usize, most: usize| {
            value
                .get(name)
                .and_then(Value::as_str)
                .filter(|text| (least..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit()))
                .map(str::to_owned)
        };
        let whole = |name: &str| value.get(name).and_then(Value::as_u64);
        Ok(Self {
            number: digits("number", 12, 19).ok_or(Invalid::because("card.number is a string of 12 to 19 digits."))?,
            exp_month: whole("exp_month")
                .and_then(|month| u8::try_from(month).ok())
                .filter(|month| (1..=12).contains(month))
                .ok_or(Invalid::because("card.exp_month is a number from 1 to 12."))?,
            exp_year: whole("exp_year")
                .and_then(|year| u16::try_from(year).ok())
                .filter(|year| (2000..=2999).contains(year))
                .ok_or(Invalid::because("card.exp_year is a year of four digits."))?,
            cvc: digits("cvc", 3, 4).ok_or(Invalid::because("card.cvc is a string of 3 or 4 digits."))?,
        })
    }
}
