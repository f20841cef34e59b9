use super::Refused;
use crate::operations::{CreatePaymentIntent, DuplicatePayment, PaymentIntent};
use crate::values::{Amount, Currency, Email, IntentId, MerchantReference, PaymentRef};
use http::request::Parts;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The merchant's own shop, which the three routes (`Routes`, feature `axum`) call. Implement the methods as `async
/// fn`.
///
/// The shop sets the price, the customer and the reference. The page supplies only the name of the order.
///
/// ```
/// use guichet::native::{Reason, Refused, Shop, Sold};
/// use guichet::operations::{CreatePaymentIntent, CustomerName, DuplicatePayment, PaymentIntent};
/// use guichet::values::{Amount, Email, MerchantReference, PaymentRef};
/// use http::request::Parts;
/// use serde_json::Value;
///
/// # struct Orders;
/// # impl Orders {
/// #     async fn save(&self, _: &Sold) -> Result<(), Refused> { Ok(()) }
/// #     async fn find(&self, _: &PaymentRef) -> Result<Option<Sold>, Refused> { Ok(None) }
/// #     async fn close(&self, _: &Sold, _: &PaymentIntent) -> Result<(), Refused> { Ok(()) }
/// #     async fn refund_due(&self, _: &Sold, _: &DuplicatePayment) -> Result<(), Refused> { Ok(()) }
/// # }
/// struct Shoes(Orders);
///
/// impl Shop for Shoes {
///     async fn customer(&self, request: &Parts) -> Result<Option<Email>, Refused> {
///         Ok(request.extensions.get::<Email>().cloned()) // as a layer has put it there
///     }
///     async fn purchase(&self, customer: Option<&Email>, order: Value) -> Result<CreatePaymentIntent, Refused> {
///         let missing = || Refused::new(404, Reason { code: "order_missing", message: "There is no such order." });
///         let (id, email) = order["id"].as_str().zip(customer).ok_or_else(missing)?;
///         let reference = MerchantReference::new(format!("ORDER-{id}")).map_err(Refused::broken)?;
///         let price = Amount::units(45_000);
///         let awa = CustomerName { firstname: "Awa", lastname: "Ngono" };
///         Ok(CreatePaymentIntent::new(reference, price, "A pair of shoes", awa).email(email.clone()))
///     }
///     async fn remember(&self, sold: &Sold) -> Result<(), Refused> {
///         self.0.save(sold).await
///     }
///     async fn find(&self, payment_ref: &PaymentRef, customer: Option<&Email>) -> Result<Option<Sold>, Refused> {
///         Ok(self.0.find(payment_ref).await?.filter(|sold| sold.owner.as_ref() == customer))
///     }
///     async fn settled(&self, sold: &Sold, intent: &PaymentIntent) -> Result<(), Refused> {
///         self.0.close(sold, intent).await // paid only if the status is `Succeeded`
///     }
///     async fn overpaid(&self, sold: &Sold, duplicate: &DuplicatePayment) -> Result<(), Refused> {
///         self.0.refund_due(sold, duplicate).await
///     }
/// }
/// ```
pub trait Shop: Send + Sync + 'static {
    /// The customer who is signed in, from the request's cookies or from what a layer has put into its extensions
    /// (tower-sessions, the claims of a JWT); `None` if no customer is signed in.
    fn customer(&self, request: &Parts) -> impl Future<Output = Result<Option<Email>, Refused>> + Send;

    /// The login of a request: a text that names this sign-in of this customer and never another, such as the hash of a
    /// cookie. With it, the routes hand out one session token per login, and
    /// [`Sessions::sign_out`](super::Sessions::sign_out) ends them all. Default: none, and each request creates a
    /// session.
    fn login(&self, request: &Parts) -> impl Future<Output = Result<Option<String>, Refused>> + Send {
        let _ = request;
        std::future::ready(Ok(None))
    }

    /// The purchase for an order: the JSON value that the page gave to `checkout`, or the fields of its form.
    ///
    /// The whole purchase must be the same each time for one reference. An order keeps its reference until that payment
    /// is declined for good; then it gets the next one (`ORDER-17`, `ORDER-17.1`). The return nonce is added to
    /// `redirect_url` afterwards.
    fn purchase(
        &self,
        customer: Option<&Email>,
        order: Value,
    ) -> impl Future<Output = Result<CreatePaymentIntent, Refused>> + Send;

    /// Stores the sale, before the customer leaves to pay. A repeated call with the same sale does nothing.
    fn remember(&self, sold: &Sold) -> impl Future<Output = Result<(), Refused>> + Send;

    /// The sale with this reference, if it belongs to this customer; `None` otherwise.
    fn find(
        &self,
        payment_ref: &PaymentRef,
        customer: Option<&Email>,
    ) -> impl Future<Output = Result<Option<Sold>, Refused>> + Send;

    /// Stores the final status of a payment that was read with the secret key and is the one that was sold: same
    /// reference, amount, currency and owner. An order becomes paid here and nowhere else. A page's request calls it,
    /// and [`settle`](super::settle) for customers who closed the page.
    ///
    /// It may be called more than once, and by two servers at once. Mark the order paid by one conditional statement
    /// (`… AND paid_by IS NULL`), so that it is marked once.
    ///
    /// If [`AskAgain::about`](super::AskAgain::about) this intent is `ForADay`, store that too, with the time: an
    /// operator may still approve another attempt, and [`Shop::overpaid`] is called only if the payment is read again.
    fn settled(&self, sold: &Sold, intent: &PaymentIntent) -> impl Future<Output = Result<(), Refused>> + Send;

    /// Stores a second payment, or one after the payment had failed or was canceled: an operator approved an attempt
    /// that was reported as declined. Store it by the intent and the attempt; `Ok` means stored. A refund is due, which
    /// is made with the payment company.
    ///
    /// If the service's number of the attempt cannot be parsed, `attempt` is `u32::MAX` minus the entry's place in the
    /// list, so that each entry has a different number.
    ///
    /// Every read of the payment reports it again: a repeated call with the same payment does nothing.
    fn overpaid(&self, sold: &Sold, duplicate: &DuplicatePayment) -> impl Future<Output = Result<(), Refused>> + Send;

    /// Whether guests, who are not signed in, may buy. Default: no.
    fn guests_may_buy(&self) -> bool {
        false
    }
}

/// A shared shop is a shop.
impl<S: Shop> Shop for std::sync::Arc<S> {
    async fn customer(&self, request: &Parts) -> Result<Option<Email>, Refused> {
        S::customer(self, request).await
    }
    async fn login(&self, request: &Parts) -> Result<Option<String>, Refused> {
        S::login(self, request).await
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

/// A sale: the payment is compared with it before its order is paid.
///
/// ```
/// use guichet::native::Sold;
/// use guichet::values::{Amount, Currency, Email, IntentId, MerchantReference, PaymentRef};
/// # fn stored() -> Result<Sold, guichet::values::Invalid> {
/// let sold = Sold {
///     payment_ref: PaymentRef::new("gch_1")?,
///     intent: IntentId::new("pi_1")?,
///     merchant_reference: MerchantReference::new("ORDER-17")?,
///     amount: Amount::units(45_000),
///     currency: Currency::xaf(),
///     owner: Some(Email::new("awa@example.com")?),
/// };
/// # Ok(sold) }
/// ```
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Sold {
    /// The service's public reference, by which the page requests the status; the intent's identifier if the service
    /// has none.
    pub payment_ref: PaymentRef,
    /// The intent.
    pub intent: IntentId,
    /// The shop's own name of the payment.
    pub merchant_reference: MerchantReference,
    /// The price.
    #[serde(deserialize_with = "from_text")]
    pub amount: Amount,
    /// The currency of the price.
    pub currency: Currency,
    /// The customer whose purchase it is; `None` for a guest.
    pub owner: Option<Email>,
}

/// Reads an amount from the string that it is stored as, in any format. (The amount of a reply is read only as JSON.)
fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Amount, D::Error> {
    let text = String::deserialize(deserializer)?;
    Amount::new(&text).map_err(serde::de::Error::custom)
}

impl Sold {
    #[cfg(feature = "axum")]
    pub(super) fn new(purchase: &CreatePaymentIntent, intent: &PaymentIntent) -> Result<Self, crate::protocol::Error> {
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
            && intent.amount == self.amount
            && intent.currency == self.currency.as_str()
            && owner.is_none_or(|owner| owner.eq_ignore_ascii_case(&intent.customer.email))
    }
}
