use crate::operations::{CreatePaymentIntent, DuplicatePayment, PaymentIntent};
use crate::protocol::{Error, FieldError, Kind};
use crate::values::{Amount, Currency, Email, IntentId, MerchantReference, PaymentRef, printable};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt;

/// What [`Routes`](super::Routes) asks the merchant's own shop. Write the methods as `async fn`.
///
/// The shop sets the price, the customer and the reference; nothing of it comes from the page but the order's name.
pub trait Shop: Send + Sync + 'static {
    /// Who is signed in, by the request's cookies; `None` for nobody.
    fn customer(&self, headers: &HeaderMap) -> impl Future<Output = Result<Option<Email>, Refused>> + Send;

    /// Which login a request is of: a text that names this signing-in of this customer and never another, such as the hash of
    /// a cookie. With it, [`Routes`](super::Routes) hands out one session token a login, and
    /// [`Sessions::sign_out`](super::Sessions::sign_out) ends them all. Default: none, and each ask makes a session.
    fn login(&self, headers: &HeaderMap) -> impl Future<Output = Result<Option<String>, Refused>> + Send {
        let _ = headers;
        std::future::ready(Ok(None))
    }

    /// The purchase of an order: the JSON value that the page gave to `checkout`, or the fields of its form.
    ///
    /// All of it must be the same each time for one reference, and one order has one reference until that one is
    /// declined for good: then the next (`ORDER-17`, `ORDER-17.1`). The return nonce is added to `redirect_url` after.
    fn purchase(
        &self,
        customer: Option<&Email>,
        order: Value,
    ) -> impl Future<Output = Result<CreatePaymentIntent, Refused>> + Send;

    /// Keeps what was sold, before the customer leaves to pay. The same again does nothing.
    fn remember(&self, sold: &Sold) -> impl Future<Output = Result<(), Refused>> + Send;

    /// What was sold under this reference to this customer; `None` when it was nothing, or to somebody else.
    fn find(
        &self,
        payment_ref: &PaymentRef,
        customer: Option<&Email>,
    ) -> impl Future<Output = Result<Option<Sold>, Refused>> + Send;

    /// The payment has a final status, read with the secret key, and is the one that was sold: same reference, amount,
    /// currency and owner. It may come more than once. This, and nothing else, is where an order becomes paid: it is told
    /// when a page asks, and by [`settle`](super::settle) for those whose customer closed the page.
    ///
    /// Where [`AskAgain::about`](super::AskAgain::about) this intent is `ForADay`, store that too, with the time: an operator
    /// may still approve another attempt, and [`Shop::overpaid`] is only told of it if somebody asks.
    fn settled(&self, sold: &Sold, intent: &PaymentIntent) -> impl Future<Output = Result<(), Refused>> + Send;

    /// The customer has paid a second time, or after the payment had failed or was canceled: an operator approved an attempt
    /// that it had told as declined. Store it by the intent and the attempt; `Ok` means stored. A refund is due, which is made
    /// with the payment company.
    ///
    /// If the service's number of the attempt cannot be read, `attempt` is `u32::MAX` minus the entry's place in the list, so
    /// that each entry keeps a name of its own.
    ///
    /// Every reading of the payment tells it again, so the same again does nothing.
    fn overpaid(&self, sold: &Sold, duplicate: &DuplicatePayment) -> impl Future<Output = Result<(), Refused>> + Send;

    /// Whether somebody who is not signed in may buy. Default: no.
    fn guests_may_buy(&self) -> bool {
        false
    }
}

/// A shop that is shared is a shop.
impl<S: Shop> Shop for std::sync::Arc<S> {
    async fn customer(&self, headers: &HeaderMap) -> Result<Option<Email>, Refused> {
        S::customer(self, headers).await
    }
    async fn login(&self, headers: &HeaderMap) -> Result<Option<String>, Refused> {
        S::login(self, headers).await
    }
    async fn purchase(&self, customer: Option<&Email>, order: Value) -> Result<CreatePaymentIntent, Refused> {
        S::purchase(self, customer, order).await
    }
    async fn remember(&self, sold: &Sold) -> Result<(), Refused> {
        S::remember(self, sold).await
    }
    async fn find(&self, payment_ref: &PaymentRef, customer: Option<&Email>) -> Result<Option<Sold>, Refused> {
        S::find(self, payment_ref, customer).await
    }
    async fn settled(&self, sold: &Sold, intent: &PaymentIntent) -> Result<(), Refused> {
        S::settled(self, sold, intent).await
    }
    async fn overpaid(&self, sold: &Sold, duplicate: &DuplicatePayment) -> Result<(), Refused> {
        S::overpaid(self, sold, duplicate).await
    }
    fn guests_may_buy(&self) -> bool {
        S::guests_may_buy(self)
    }
}

/// What was sold: what a payment is held against before its order is paid.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Sold {
    /// The service's public reference, which the page asks by; the intent's identifier where a service has none.
    pub payment_ref: PaymentRef,
    /// The intent.
    pub intent: IntentId,
    /// The shop's own name of the payment.
    pub merchant_reference: MerchantReference,
    /// How much was asked.
    pub amount: Amount,
    /// In which currency.
    pub currency: Currency,
    /// Whose purchase it is.
    pub owner: Option<Email>,
}

impl Sold {
    pub(super) fn new(purchase: &CreatePaymentIntent, intent: &PaymentIntent) -> Result<Self, Error> {
        let payment_ref = match &intent.payment_ref {
            Some(payment_ref) => payment_ref.clone(),
            None => PaymentRef::new(intent.id.as_str())?,
        };
        Ok(Self {
            payment_ref,
            intent: intent.id.clone(),
            merchant_reference: purchase.merchant_reference.clone(),
            amount: purchase.amount,
            currency: purchase.currency.clone(),
            owner: purchase.email.clone(),
        })
    }

    /// Whether a payment is the one that was sold.
    pub(super) fn is(&self, intent: &PaymentIntent) -> bool {
        let owner = self.owner.as_ref().map(Email::as_str);
        self.intent == intent.id
            && intent.merchant_reference.as_deref() == Some(self.merchant_reference.as_str())
            && intent.amount == self.amount.to_string()
            && intent.currency == self.currency.as_str()
            && owner.is_none_or(|owner| owner.eq_ignore_ascii_case(&intent.customer.email))
    }
}

/// Why the shop does not do what a page asked: a status, a stable word and a sentence for the customer.
///
/// ```
/// use guichet::native::Refused;
/// let refused = Refused::new(422, "basket_empty", "The basket is empty.");
/// ```
#[derive(Clone, Debug)]
pub struct Refused {
    status: u16,
    code: String,
    message: String,
    fields: Vec<FieldError>,
    request_id: Option<String>,
    retryable: bool,
    /// What `WWW-Authenticate` says.
    challenge: Option<&'static str>,
    /// What `Retry-After` says, in seconds.
    retry_after: Option<u16>,
}

impl Refused {
    /// A refusal with its HTTP status (400 to 599).
    #[must_use]
    pub fn new(status: u16, code: impl Into<String>, message: impl Into<String>) -> Self {
        let (code, message) = (code.into(), message.into());
        let retryable = matches!(status, 429 | 503);
        Self {
            status,
            code,
            message,
            fields: Vec::new(),
            request_id: None,
            retryable,
            challenge: None,
            retry_after: None,
        }
    }

    /// The shop's own failure: its cause goes to the log, and the customer reads that something went wrong.
    #[must_use]
    pub fn broken(cause: impl fmt::Display) -> Self {
        tracing::error!(cause = %printable(cause), "the shop has failed");
        let retryable = true;
        Self { retryable, ..Self::new(500, "internal_error", "Something went wrong in the shop. Please try again.") }
    }

    pub(super) fn nobody() -> Self {
        Self::new(401, "authentication_required", "Nobody is signed in.")
    }

    /// With what a client is to bring, in the words of `WWW-Authenticate`.
    pub(super) fn challenged(self, challenge: &'static str) -> Self {
        Self { challenge: Some(challenge), ..self }
    }

    /// With how many seconds a client is to wait before it tries again.
    pub(super) fn retry_after(self, seconds: u16) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The stable word.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The sentence.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the same request may succeed later.
    pub(super) fn is_retryable(&self) -> bool {
        self.retryable
    }
}

/// What a page is told of a failed call to the service. A 401 of the service is about the shop's key, and is no 401 of
/// the customer's: that would say that nobody is signed in.
impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        let code = error.code().map(printable);
        tracing::warn!(%error, kind = ?error.kind(), status = error.status(), code = ?code, "the service did not do it");
        let ours = |status, code, message| Self::new(status, code, message);
        let refused = match (error.kind(), error.status()) {
            (Kind::Offline | Kind::Timeout, _) => {
                ours(503, "unavailable", "The payment service does not answer. Nothing is lost: please try again.")
            }
            (Kind::Unsupported, _) => ours(404, "unsupported", "The payment service does not have this operation."),
            (Kind::NotFound, _) => ours(404, "resource_missing", "There is no such payment."),
            (Kind::Uncertain, _) => {
                ours(409, "uncertain", "It is not certain whether the payment was begun. Please ask the shop.")
            }
            (Kind::Refused, Some(status @ (409 | 422 | 429 | 503))) => {
                ours(status, error.code().unwrap_or("refused"), error.message())
            }
            _ => ours(
                502,
                "service_failed",
                "The payment service did not answer the shop as it should. Please try later.",
            ),
        };
        let request_id = error.request_id().map(str::to_owned);
        Self { fields: error.fields().to_vec(), request_id, retryable: error.is_retryable(), ..refused }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let kind = match status.as_u16() {
            401 => "authentication",
            403 => "permission",
            404 => "not_found",
            409 => "conflict",
            429 => "rate_limit",
            400..500 => "invalid_request",
            _ => "api",
        };
        let errors: Vec<Value> = self
            .fields
            .iter()
            .map(|field| json!({"param": field.param, "code": field.code, "message": field.message}))
            .collect();
        let body = json!({
            "status_code": status.as_u16(), "response_type": "error", "message": self.message, "data": null,
            "error": {"type": kind, "code": self.code, "errors": errors, "request_id": self.request_id, "retryable": self.retryable},
        });
        let mut response = (status, [(header::CACHE_CONTROL, "no-store")], axum::Json(body)).into_response();
        if let Some(challenge) = self.challenge {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&printable(&self.message), f)
    }
}

impl std::error::Error for Refused {}
