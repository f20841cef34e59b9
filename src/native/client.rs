use super::fetch::{Answer, Fetch};
use super::{ClientBuilder, CustomerClient, ReturnKey, SecretKey};
use crate::operations::{
    AnswerPaymentIntent, AttachPaymentMethod, CalculateFee, CancelPaymentIntent, ConfirmPaymentIntent,
    CreatePaymentIntent, CreateSession, CustomerSession, FeeBreakdown, Instrument, ListPaymentIntents,
    ListPaymentMethods, PaymentIntent, PaymentMethod, ReadPaymentIntent,
};
use crate::protocol::{Error, Fulfils, Kind, Operation, Patience, assemble, decode};
use crate::values::{Email, IntentId, SessionToken};
use serde::de::DeserializeOwned;
use std::fmt;
use std::sync::Arc;

/// The merchant's client: it holds the secret key and sends every operation. Cheap to clone; one is enough for a server.
///
/// A call whose answer was lost is sent again where that does no harm, within the deadline. Dropping the future of a
/// call ends it. The module's own page has an example.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    key: SecretKey,
    base: String,
    gateway: String,
    patience: Patience,
    fetch: Fetch,
}

impl Client {
    /// A client of the service at this address (`/v1` is added, once), with the merchant's secret key.
    pub fn builder(base_url: &str, key: SecretKey) -> ClientBuilder {
        ClientBuilder::new(base_url, key)
    }

    pub(super) fn new(key: SecretKey, base: String, gateway: String, patience: Patience, fetch: Fetch) -> Self {
        Self(Arc::new(Inner { key, base, gateway, patience, fetch }))
    }

    /// Sends any operation that the secret key may send.
    ///
    /// # Errors
    /// See [`Kind`]: `refused` with the service's code, `offline`, `timeout`, `unreadable` (the reply is kept), and
    /// `uncertain` where a first attempt may have been done.
    pub async fn send<O>(&self, operation: O) -> Result<O::Output, Error>
    where
        O: Operation,
        O::Output: DeserializeOwned,
        SecretKey: Fulfils<O::Role>,
    {
        self.ask(&operation, &self.0.key).await?.into_output::<O>()
    }

    /// `POST /v1/payment-intents`: begin a payment. The same order twice is one payment.
    ///
    /// # Errors
    /// As [`Client::send`]; code `merchant_reference_conflict` where the reference names another payment.
    pub async fn create_payment_intent(&self, order: CreatePaymentIntent) -> Result<PaymentIntent, Error> {
        self.send(order).await
    }

    /// `GET /v1/payment-intents/{id}`: how a payment stands. Ship on `succeeded`, and on nothing else.
    ///
    /// # Errors
    /// As [`Client::send`]; kind `not_found` for an intent that is not this merchant's.
    pub async fn read_payment_intent(&self, id: &IntentId) -> Result<PaymentIntent, Error> {
        self.send(ReadPaymentIntent::new(id.clone())).await
    }

    /// `GET /v1/payment-intents`: one page of the merchant's payments, the newest first. A decision.
    ///
    /// # Errors
    /// As of [`Client::send`].
    pub async fn list_payment_intents(&self, which: ListPaymentIntents) -> Result<Vec<PaymentIntent>, Error> {
        self.send(which).await
    }

    /// `POST /v1/payment-intents/{id}/payment-method`: pay with this instrument. It is not sent again when its answer is
    /// lost: read the intent first.
    ///
    /// # Errors
    /// As [`Client::send`]; code `intent_not_confirmable` for an intent that takes no payment now.
    pub async fn attach_payment_method(&self, id: &IntentId, instrument: Instrument) -> Result<PaymentIntent, Error> {
        self.send(AttachPaymentMethod::new(id.clone(), instrument)).await
    }

    /// `POST /v1/payment-intents/{id}/confirm`: charge what the customer attached, of an intent with `manual`
    /// confirmation. It is not sent again when its answer is lost: read the intent first. A decision.
    ///
    /// # Errors
    /// As [`Client::send`]; code `intent_not_confirmable` where no method is attached, or the charge has been asked for.
    pub async fn confirm_payment_intent(&self, id: &IntentId) -> Result<PaymentIntent, Error> {
        self.send(ConfirmPaymentIntent::new(id.clone())).await
    }

    /// `POST /v1/payment-intents/{id}/answer`: the one-time code that the customer was sent. A decision.
    ///
    /// # Errors
    /// As [`Client::send`]; code `intent_not_confirmable` where no code is waited for. A wrong code is no error: it is
    /// the intent's `last_payment_error`.
    pub async fn answer_payment_intent(&self, id: &IntentId, otp: &str) -> Result<PaymentIntent, Error> {
        self.send(AnswerPaymentIntent::new(id.clone(), otp)).await
    }

    /// `POST /v1/payment-intents/{id}/cancel`: call a payment off, while nothing is under way. It can be repeated. A
    /// decision.
    ///
    /// # Errors
    /// As [`Client::send`]; code `intent_not_cancelable` for an intent that is being paid, or has ended otherwise.
    pub async fn cancel_payment_intent(&self, id: &IntentId) -> Result<PaymentIntent, Error> {
        self.send(CancelPaymentIntent::new(id.clone())).await
    }

    /// `POST /v1/sessions/create`: a token with which this customer's browser acts for 30 minutes.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn create_session(&self, customer_email: &Email) -> Result<CustomerSession, Error> {
        self.send(CreateSession::new(customer_email.clone())).await
    }

    /// `GET /v1/payment-methods`: the payment methods of a country.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn list_payment_methods(&self, which: ListPaymentMethods) -> Result<Vec<PaymentMethod>, Error> {
        self.send(which).await
    }

    /// `GET /v1/payment-methods/fee/{payment_method}/{currency}/{amount}`: the fee of an amount.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn calculate_fee(&self, of: CalculateFee) -> Result<FeeBreakdown, Error> {
        self.send(of).await
    }

    /// Speaks for one customer's session, with its token in place of the secret key.
    #[must_use]
    pub fn customer(&self, token: &SessionToken) -> CustomerClient {
        CustomerClient::new(self.clone(), token.clone())
    }

    /// The return key that is derived from the secret key. See [`ReturnKey`].
    #[must_use]
    pub fn return_key(&self) -> ReturnKey {
        ReturnKey::derived_from(&self.0.key)
    }

    /// Sends an operation with a credential that fulfils its role, and hands back the successful answer.
    pub(super) async fn ask<O, C>(&self, operation: &O, credential: &C) -> Result<Answer, Error>
    where
        O: Operation,
        C: Fulfils<O::Role>,
    {
        let Inner { base, gateway, patience, fetch, .. } = &*self.0;
        // The document shows creation, and creation alone, at a gateway address of its own.
        let address = if O::SPEC.name == CreatePaymentIntent::SPEC.name { gateway } else { base };
        let request = assemble(operation).map_err(|_| {
            Error::new(Kind::Input, "A value of the request cannot travel in a path: it is empty, \".\" or \"..\".")
                .of(O::SPEC.name)
        })?;
        fetch.call(&O::SPEC, address, &request, credential.bearer(), *patience).await
    }
}

impl Answer {
    /// The output of an operation; a reply that cannot be read is kept in the error.
    pub(super) fn into_output<O>(self) -> Result<O::Output, Error>
    where
        O: Operation,
        O::Output: DeserializeOwned,
    {
        decode(&self.body).map_err(|_| {
            Error::new(Kind::Unreadable, "The service's reply cannot be read. It is kept in the error's `reply`.")
                .of(O::SPEC.name)
                .with_reply(self.status, self.request_id, self.body)
        })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { base, gateway, patience, .. } = &*self.0;
        f.debug_struct("Client")
            .field("base", base)
            .field("gateway", gateway)
            .field("patience", patience)
            .finish_non_exhaustive()
    }
}

/// What a server needs of its client, asked at compile time.
const _: () = {
    const fn is_shared<T: Clone + Send + Sync + 'static>() {}
    is_shared::<Client>();
    is_shared::<CustomerClient>();

    fn is_send<T: Send>(_: T) {}
    #[expect(dead_code, reason = "it only has to compile")]
    fn its_futures_are_send(client: &Client, id: &IntentId, order: CreatePaymentIntent, token: &SessionToken) {
        is_send(client.create_payment_intent(order));
        is_send(client.read_payment_intent(id));
        is_send(client.list_payment_methods(ListPaymentMethods::new()));
        is_send(client.customer(token).validate());
    }
};
