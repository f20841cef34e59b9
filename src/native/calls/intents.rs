use crate::native::Client;
use crate::operations::{
    AbandonPaymentIntent, AnswerPaymentIntent, AttachPaymentMethod, CancelPaymentIntent, ConfirmPaymentIntent,
    CreatePaymentIntent, Instrument, ListPaymentIntents, PaymentIntent, ReadPaymentIntent,
};
use crate::protocol::{Error, Page};
use crate::values::{IntentId, Moment};

impl Client {
    /// `POST /v1/payment-intents`: create a payment. Sending the same order twice creates one payment.
    ///
    /// # Errors
    /// As [`Client::send`]; code `merchant_reference_conflict` if the reference names another payment.
    pub async fn create_payment_intent(&self, order: &CreatePaymentIntent) -> Result<PaymentIntent, Error> {
        self.send(order).await
    }

    /// `GET /v1/payment-intents/{id}`: a payment's current state. Ship on `succeeded`, and on nothing else. A decision.
    ///
    /// # Errors
    /// As [`Client::send`]; kind `not_found` for an intent that is not this merchant's.
    pub async fn read_payment_intent(&self, id: &IntentId) -> Result<PaymentIntent, Error> {
        self.send(&ReadPaymentIntent::new(id.clone())).await
    }

    /// The same, with the service's time of its reply, if the reply says it: the only clock by which `approvable_until`
    /// and `expires_at` can be judged, as [`late_approval`](crate::flow::late_approval) does.
    ///
    /// # Errors
    /// As [`Client::read_payment_intent`].
    pub async fn read_payment_intent_with_date(&self, id: &IntentId) -> Result<(PaymentIntent, Option<Moment>), Error> {
        let reply = self.reply(&ReadPaymentIntent::new(id.clone())).await?;
        let date = reply.date;
        Ok((reply.into_output()?, date))
    }

    /// `GET /v1/payment-intents`: one page of the merchant's payments, the newest first; [`Client::all`] follows the
    /// pages. A decision.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn list_payment_intents(&self, list: &ListPaymentIntents) -> Result<Page<PaymentIntent>, Error> {
        self.page(list).await
    }

    /// `POST /v1/payment-intents/{id}/payment-method`: pay with this instrument. The client does not retry it if the
    /// response was lost: read the intent first. A decision.
    ///
    /// # Errors
    /// As [`Client::send`]; code `intent_not_confirmable` if the intent accepts no payment now.
    pub async fn attach_payment_method(&self, id: &IntentId, instrument: Instrument) -> Result<PaymentIntent, Error> {
        self.send(&AttachPaymentMethod::new(id.clone(), instrument)).await
    }

    /// `POST /v1/payment-intents/{id}/confirm`: charge the attached method of an intent with `manual` confirmation. The
    /// client does not retry it if the response was lost: read the intent first. A decision.
    ///
    /// # Errors
    /// As [`Client::send`]; code `intent_not_confirmable` if no method is attached, or if it was confirmed before.
    pub async fn confirm_payment_intent(&self, id: &IntentId) -> Result<PaymentIntent, Error> {
        self.send(&ConfirmPaymentIntent::new(id.clone())).await
    }

    /// `POST /v1/payment-intents/{id}/answer`: send the one-time code that the customer received. A decision.
    ///
    /// # Errors
    /// As [`Client::send`]; code `intent_not_confirmable` if the intent waits for no code. A wrong code is no error: it
    /// is the intent's `last_payment_error`.
    pub async fn answer_payment_intent(&self, id: &IntentId, otp: &str) -> Result<PaymentIntent, Error> {
        self.send(&AnswerPaymentIntent::new(id.clone(), otp)).await
    }

    /// `POST /v1/payment-intents/{id}/cancel`: cancel a payment while no charge is under way. It can be repeated. A
    /// decision.
    ///
    /// # Errors
    /// As [`Client::send`]; code `intent_not_cancelable` if the intent is being paid, or has ended otherwise.
    pub async fn cancel_payment_intent(&self, id: &IntentId) -> Result<PaymentIntent, Error> {
        self.send(&CancelPaymentIntent::new(id.clone())).await
    }

    /// `POST /v1/payment-intents/{id}/abandon`: end an attempt of mobile money that is processing, so that the customer
    /// can pay with another number. The operator may still approve it. It can be repeated. A decision.
    ///
    /// # Errors
    /// As [`Client::send`]; code `attempt_not_current` if the intent has made another attempt, or none.
    pub async fn abandon_payment_intent(&self, id: &IntentId, attempt: u32) -> Result<PaymentIntent, Error> {
        self.send(&AbandonPaymentIntent::new(id.clone(), attempt)).await
    }
}
