use super::Refused;
use crate::operations::{CreatePaymentIntent, DuplicatePayment, PaymentIntent};
use crate::values::{Amount, Currency, Email, IntentId, MerchantReference, PaymentRef};
use http::request::Parts;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::fmt;

/// The most payments of an owner that have no final status. The sentence of `too_many_open_payments` says the number.
#[cfg(feature = "axum")]
pub(super) const MAX_OPEN_PAYMENTS: usize = 20;

/// The merchant's own shop, which the three routes (`Routes`, feature `axum`) call. Implement the methods as `async
/// fn`.
///
/// The shop sets the price, the customer and the reference. The page supplies only the name of the order.
///
/// ```
/// use guichet::native::{Buyer, Owner, Reason, Refused, Shop, Sold};
/// use guichet::operations::{CreatePaymentIntent, CustomerName, DuplicatePayment, PaymentIntent};
/// use guichet::values::{Amount, MerchantReference, PaymentRef};
/// use http::request::Parts;
/// use serde_json::Value;
///
/// # struct Orders;
/// # impl Orders {
/// #     async fn count_open(&self, _: &Owner, _: &MerchantReference) -> Result<usize, Refused> { Ok(0) }
/// #     async fn save(&self, _: &Sold) -> Result<(), Refused> { Ok(()) }
/// #     async fn find(&self, _: &PaymentRef) -> Result<Option<Sold>, Refused> { Ok(None) }
/// #     async fn close(&self, _: &Sold, _: &PaymentIntent) -> Result<(), Refused> { Ok(()) }
/// #     async fn refund_due(&self, _: &Sold, _: &DuplicatePayment) -> Result<(), Refused> { Ok(()) }
/// # }
/// struct Shoes(Orders);
///
/// impl Shop for Shoes {
///     async fn buyer(&self, request: &Parts) -> Result<Option<Buyer>, Refused> {
///         Ok(request.extensions.get::<Buyer>().cloned()) // as a layer has put it there
///     }
///     async fn purchase(&self, buyer: &Buyer, order: Value) -> Result<CreatePaymentIntent, Refused> {
///         let missing = || Refused::new(404, Reason { code: "order_missing", message: "There is no such order." });
///         let (id, email) = order["id"].as_str().zip(buyer.verified_email.clone()).ok_or_else(missing)?;
///         let reference = MerchantReference::new(format!("ORDER-{id}")).map_err(Refused::broken)?;
///         let price = Amount::units(45_000);
///         let awa = CustomerName { firstname: "Awa", lastname: "Ngono" };
///         Ok(CreatePaymentIntent::new(reference, price, "A pair of shoes", awa).email(email))
///     }
///     async fn open_payments(&self, owner: &Owner, next: &MerchantReference) -> Result<usize, Refused> {
///         self.0.count_open(owner, next).await
///     }
///     async fn remember(&self, sold: &Sold) -> Result<(), Refused> {
///         self.0.save(sold).await
///     }
///     async fn find(&self, payment_ref: &PaymentRef, owner: &Owner) -> Result<Option<Sold>, Refused> {
///         Ok(self.0.find(payment_ref).await?.filter(|sold| sold.owner == *owner))
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
    /// Who sends a request, from its cookies or from what a layer has put into its extensions (tower-sessions, the
    /// claims of a JWT). `None` if nobody is signed in and no guest may buy: the routes then answer 401.
    fn buyer(&self, request: &Parts) -> impl Future<Output = Result<Option<Buyer>, Refused>> + Send;

    /// The purchase for an order: the JSON value that the page gave to `checkout`, or the fields of its form.
    ///
    /// The whole purchase must be the same each time for one reference, its price included. An order keeps its reference
    /// until that payment is declined for good, canceled or expired. Then it gets the next one (`ORDER-17`,
    /// `ORDER-17.1`), with the price of that day. The return nonce is added to `redirect_url` afterwards.
    fn purchase(
        &self,
        buyer: &Buyer,
        order: Value,
    ) -> impl Future<Output = Result<CreatePaymentIntent, Refused>> + Send;

    /// How many payments of this owner have no final status. From 20 on, the routes do not create the payment `next`, and
    /// answer 409 `too_many_open_payments`. If the shop has stored a payment with the reference `next`, return 0: it is
    /// only repeated. Requests that arrive at the same moment may all pass.
    fn open_payments(
        &self,
        owner: &Owner,
        next: &MerchantReference,
    ) -> impl Future<Output = Result<usize, Refused>> + Send;

    /// Stores the sale, before the customer leaves to pay. A repeated call with the same sale does nothing.
    fn remember(&self, sold: &Sold) -> impl Future<Output = Result<(), Refused>> + Send;

    /// The sale with this reference, if it belongs to this owner; `None` otherwise.
    ///
    /// Only a page calls it, when its customer has returned. Store that: see [`settle`](super::settle).
    fn find(
        &self,
        payment_ref: &PaymentRef,
        owner: &Owner,
    ) -> impl Future<Output = Result<Option<Sold>, Refused>> + Send;

    /// Stores the final status of a payment that was read with the secret key and is the one that was sold: same
    /// reference, amount and currency, and the e-mail address that was sent. An order becomes paid here and nowhere
    /// else. A page's request calls it, and [`settle`](super::settle) for customers who closed the page.
    ///
    /// It may be called more than once, and by two servers at once. Mark the order paid by one conditional statement
    /// (`… AND paid_by IS NULL`), so that it is marked once.
    ///
    /// Store also since when the status is final: the payment is no longer one of the [`Shop::open_payments`], and if
    /// [`AskAgain::about`](super::AskAgain::about) this intent is `ForADay`, an operator may still approve another
    /// attempt. [`Shop::overpaid`] is called only if the payment is read again.
    fn settled(&self, sold: &Sold, intent: &PaymentIntent) -> impl Future<Output = Result<(), Refused>> + Send;

    /// Stores a second payment, or one after the payment had failed or was canceled: an operator approved an attempt
    /// that was reported as declined. Store it by the intent and the attempt; `Ok` means stored. A refund is due, which
    /// is made with the payment company.
    ///
    /// If the service's number of the attempt cannot be parsed, `attempt` is `u32::MAX` minus the entry's position in the
    /// list, so that each entry has a different number.
    ///
    /// Every read of the payment reports it again: a repeated call with the same payment does nothing.
    fn overpaid(&self, sold: &Sold, duplicate: &DuplicatePayment) -> impl Future<Output = Result<(), Refused>> + Send;
}

/// A shared shop is a shop.
impl<S: Shop> Shop for std::sync::Arc<S> {
    async fn buyer(&self, request: &Parts) -> Result<Option<Buyer>, Refused> {
        S::buyer(self, request).await
    }
    async fn purchase(&self, buyer: &Buyer, order: Value) -> Result<CreatePaymentIntent, Refused> {
        S::purchase(self, buyer, order).await
    }
    async fn open_payments(&self, owner: &Owner, next: &MerchantReference) -> Result<usize, Refused> {
        S::open_payments(self, owner, next).await
    }
    async fn remember(&self, sold: &Sold) -> Result<(), Refused> {
        S::remember(self, sold).await
    }
    async fn find(&self, payment_ref: &PaymentRef, owner: &Owner) -> Result<Option<Sold>, Refused> {
        S::find(self, payment_ref, owner).await
    }
    async fn settled(&self, sold: &Sold, intent: &PaymentIntent) -> Result<(), Refused> {
        S::settled(self, sold, intent).await
    }
    async fn overpaid(&self, sold: &Sold, duplicate: &DuplicatePayment) -> Result<(), Refused> {
        S::overpaid(self, sold, duplicate).await
    }
}

/// Whom a payment belongs to. An e-mail address does not decide it, because a guest can type anyone's.
///
/// It is written as one text, for a column of the shop's database:
///
/// ```
/// use guichet::native::Owner;
/// assert_eq!(Owner::Customer("17".to_owned()).to_string(), "customer:17");
/// assert_eq!(Owner::Guest("9f86d0".to_owned()).to_string(), "guest:9f86d0");
/// ```
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Owner {
    /// A customer, by the shop's own id of their account, which never changes.
    Customer(String),
    /// A guest, by their login: a text that names this visit and never another, such as the hash of a cookie.
    Guest(String),
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Customer(id) => write!(f, "customer:{id}"),
            Self::Guest(login) => write!(f, "guest:{login}"),
        }
    }
}

/// Who sends a request to the routes.
///
/// ```
/// use guichet::native::Buyer;
/// use guichet::values::Email;
/// # fn buyers(customer: u32, hash_of_cookie: &str) -> Result<[Buyer; 2], guichet::values::Invalid> {
/// let awa = Buyer::customer(customer.to_string()).login(hash_of_cookie).verified_email(Email::new("awa@example.com")?);
/// let guest = Buyer::guest(hash_of_cookie);
/// # Ok([awa, guest]) }
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Buyer {
    /// Whom their payments belong to.
    pub owner: Owner,
    /// The login of a customer: a text that names this sign-in of this customer and never another, such as the hash of a
    /// cookie. With it, the routes hand out one session token per login, and
    /// [`Sessions::sign_out`](super::Sessions::sign_out) ends them all. Without it, each request creates a session.
    pub login: Option<String>,
    /// The e-mail address that the customer has proved to be theirs, for example by a link that the shop sent there. A
    /// session is created for no other: its token acts for that address at the service.
    pub verified_email: Option<Email>,
}

impl Buyer {
    /// A customer who is signed in, with the shop's own id of their account.
    #[must_use]
    pub fn customer(id: impl Into<String>) -> Self {
        Self { owner: Owner::Customer(id.into()), login: None, verified_email: None }
    }

    /// A guest, with the login of their visit.
    #[must_use]
    pub fn guest(login: impl Into<String>) -> Self {
        Self { owner: Owner::Guest(login.into()), login: None, verified_email: None }
    }

    /// Names the login of a customer.
    #[must_use]
    pub fn login(self, login: impl Into<String>) -> Self {
        Self { login: Some(login.into()), ..self }
    }

    /// Names the e-mail address that the customer has proved to be theirs.
    #[must_use]
    pub fn verified_email(self, email: Email) -> Self {
        Self { verified_email: Some(email), ..self }
    }
}

/// A sale: the payment is compared with it before its order is paid.
///
/// ```
/// use guichet::native::{Owner, Sold};
/// use guichet::values::{Amount, Currency, Email, IntentId, MerchantReference, PaymentRef};
/// # fn stored() -> Result<Sold, guichet::values::Invalid> {
/// let sold = Sold {
///     payment_ref: PaymentRef::new("gch_1")?,
///     intent: IntentId::new("pi_1")?,
///     merchant_reference: MerchantReference::new("ORDER-17")?,
///     amount: Amount::units(45_000),
///     currency: Currency::xaf(),
///     owner: Owner::Customer("17".to_owned()),
///     email: Some(Email::new("awa@example.com")?),
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
    /// Whom it belongs to.
    pub owner: Owner,
    /// The e-mail address that was sent to the service, which its replies must name.
    pub email: Option<Email>,
}

/// Reads an amount from the string that it is stored as, in any format. (The amount of a reply is read only as JSON.)
fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Amount, D::Error> {
    let text = String::deserialize(deserializer)?;
    Amount::new(&text).map_err(serde::de::Error::custom)
}

impl Sold {
    #[cfg(feature = "axum")]
    pub(super) fn new(
        purchase: &CreatePaymentIntent,
        intent: &PaymentIntent,
        owner: Owner,
    ) -> Result<Self, crate::protocol::Error> {
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
            owner,
            email: purchase.email.clone(),
        })
    }

    /// Whether a payment is the one that was sold.
    pub(super) fn is(&self, intent: &PaymentIntent) -> bool {
        let email = self.email.as_ref().map(Email::as_str);
        self.intent == intent.id
            && intent.merchant_reference.as_deref() == Some(self.merchant_reference.as_str())
            && intent.amount == self.amount
            && intent.currency == self.currency.as_str()
            && email.is_none_or(|email| email.eq_ignore_ascii_case(&intent.customer.email))
    }
}
