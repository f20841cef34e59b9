//! How a payment intent is read, listed and moved.

use super::Instrument;
use crate::operations::{PaymentIntent, setters};
use crate::protocol::{Fields, Merchant, Operation, Payer, Served, Spec};
use crate::values::{IntentId, PageLimit};
use serde::Serialize;
use std::fmt;

/// `GET /v1/payment-intents/{id}`: how a payment stands.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
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
/// Under `automatic` confirmation this is the charge. The same method again while it is processing or settled has no
/// effect; a client that lost the answer reads the intent before it sends again.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct AnswerPaymentIntent {
    /// The intent.
    pub id: IntentId,
    /// The code.
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
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct ListPaymentIntents {
    /// How many; the service's default is 100, and the most.
    #[cfg_attr(feature = "sandbox", schemars(extend("default" = 100)))]
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
