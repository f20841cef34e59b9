use crate::native::Client;
use crate::operations::{
    AnswerPaymentIntent, AttachPaymentMethod, CancelPaymentIntent, ConfirmPaymentIntent, CreatePaymentIntent,
    Instrument, ListPaymentIntents, PaymentIntent, ReadPaymentIntent,
};
use crate::protocol::{Error, Page};
use crate::values::IntentId;

impl Client {
    /// `POST /v1/payment-intents`: create a payment. Sending the same order twice creates one payment.
    ///
    #[doc = example!()]
    /// use guichet::operations::{CreatePaymentIntent, CustomerName};
    /// use guichet::values::{Amount, Email, MerchantReference};
    /// let awa = CustomerName { firstname: "Awa", lastname: "Ngono" };
    /// let order = CreatePaymentIntent::new(MerchantReference::new("ORDER-17")?, Amount::units(45_000), "Shoes", awa)
    ///     .email(Email::new("awa@example.com")?);
    /// let intent = client.create_payment_intent(&order).await?;
    /// assert_eq!(client.create_payment_intent(&order).await?.id, intent.id);
    /// // Send the customer to `intent.checkout_url`.
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Client::send`]; code `merchant_reference_conflict` if the reference names another payment.
    pub async fn create_payment_intent(&self, order: &CreatePaymentIntent) -> Result<PaymentIntent, Error> {
        self.send(order).await
    }

    /// `GET /v1/payment-intents/{id}`: a payment's current state. Ship on `succeeded`, and on nothing else. A decision.
    ///
    #[doc = example!()]
    /// use guichet::values::IntentStatus;
    /// # let intent = client.create_payment_intent(&order(17)?).await?;
    /// let paid = client.read_payment_intent(&intent.id).await?.status == IntentStatus::Succeeded;
    /// # assert!(!paid); Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Client::send`]; kind `not_found` for an intent that is not this merchant's.
    pub async fn read_payment_intent(&self, id: &IntentId) -> Result<PaymentIntent, Error> {
        self.send(&ReadPaymentIntent::new(id.clone())).await
    }

    /// `GET /v1/payment-intents`: one page of the merchant's payments, the newest first; [`Client::all`] follows the
    /// pages. A decision.
    ///
    #[doc = example!()]
    /// use guichet::operations::ListPaymentIntents;
    /// # client.create_payment_intent(&order(17)?).await?;
    /// assert_eq!(client.list_payment_intents(&ListPaymentIntents::new()).await?.entries.len(), 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn list_payment_intents(&self, list: &ListPaymentIntents) -> Result<Page<PaymentIntent>, Error> {
        self.page(list).await
    }

    /// `POST /v1/payment-intents/{id}/payment-method`: pay with this instrument. The client does not retry it if the
    /// response was lost: read the intent first. A decision.
    ///
    #[doc = example!()]
    /// use guichet::operations::Instrument;
    /// use guichet::values::{IntentStatus, Phone};
    /// # let intent = client.create_payment_intent(&order(17)?).await?;
    /// let phone = Phone::new("237670000000")?; // a phone of the sandbox that pays at once
    /// client.attach_payment_method(&intent.id, Instrument::MobileMoney { phone }).await?;
    /// assert_eq!(client.read_payment_intent(&intent.id).await?.status, IntentStatus::Succeeded);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Client::send`]; code `intent_not_confirmable` if the intent accepts no payment now.
    pub async fn attach_payment_method(&self, id: &IntentId, instrument: Instrument) -> Result<PaymentIntent, Error> {
        self.send(&AttachPaymentMethod::new(id.clone(), instrument)).await
    }

    /// `POST /v1/payment-intents/{id}/confirm`: charge the attached method of an intent with `manual` confirmation. The
    /// client does not retry it if the response was lost: read the intent first. A decision.
    ///
    #[doc = example!()]
    /// use guichet::operations::Instrument;
    /// use guichet::values::{ConfirmationMethod, IntentStatus, Phone};
    /// # let order = order(17)?;
    /// let intent = client.create_payment_intent(&order.confirmation_method(ConfirmationMethod::Manual)).await?;
    /// # let phone = Phone::new("237670000000")?;
    /// # client.attach_payment_method(&intent.id, Instrument::MobileMoney { phone }).await?;
    /// // The customer attaches a phone or a card on the hosted page; then, once the goods are at hand:
    /// client.confirm_payment_intent(&intent.id).await?;
    /// # assert_eq!(client.read_payment_intent(&intent.id).await?.status, IntentStatus::Succeeded);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Client::send`]; code `intent_not_confirmable` if no method is attached, or if it was confirmed before.
    pub async fn confirm_payment_intent(&self, id: &IntentId) -> Result<PaymentIntent, Error> {
        self.send(&ConfirmPaymentIntent::new(id.clone())).await
    }

    /// `POST /v1/payment-intents/{id}/answer`: send the one-time code that the customer received. A decision.
    ///
    #[doc = example!()]
    /// # use guichet::{operations::Instrument, values::{IntentStatus, Phone}};
    /// # let intent = client.create_payment_intent(&order(17)?).await?;
    /// # let phone = Phone::new("237670000010")?;
    /// # client.attach_payment_method(&intent.id, Instrument::MobileMoney { phone }).await?;
    /// let intent = client.answer_payment_intent(&intent.id, "123456").await?;
    /// # assert_ne!(intent.status, IntentStatus::RequiresAction);
    /// # Ok(()) }
    /// ```
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
    #[doc = example!()]
    /// use guichet::values::IntentStatus;
    /// # let intent = client.create_payment_intent(&order(17)?).await?;
    /// assert_eq!(client.cancel_payment_intent(&intent.id).await?.status, IntentStatus::Canceled);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Client::send`]; code `intent_not_cancelable` if the intent is being paid, or has ended otherwise.
    pub async fn cancel_payment_intent(&self, id: &IntentId) -> Result<PaymentIntent, Error> {
        self.send(&CancelPaymentIntent::new(id.clone())).await
    }
}
