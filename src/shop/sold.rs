use crate::operations::{CreatePaymentIntent, PaymentIntent};
use crate::values::{Amount, Currency, Email, IntentId, Invalid, MerchantReference, PaymentRef};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

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
    /// [`Sessions::sign_out`](crate::native::Sessions::sign_out) ends them all. Without it, each request creates a session.
    pub login: Option<String>,
    /// The e-mail address that the customer has proved to be theirs, for example by a link that the shop sent there. A
    /// session is created for no other: its token acts for that address at the service.
    pub verified_email: Option<Email>,
    /// The guest that a customer was in the visit which their sign-in has ended: its orders are theirs from then on.
    pub visit: Option<Owner>,
}

impl Buyer {
    /// A customer who is signed in, with the shop's own id of their account.
    #[must_use]
    pub fn customer(id: impl Into<String>) -> Self {
        Self { owner: Owner::Customer(id.into()), login: None, verified_email: None, visit: None }
    }

    /// A guest, with the login of their visit.
    #[must_use]
    pub fn guest(login: impl Into<String>) -> Self {
        Self { owner: Owner::Guest(login.into()), login: None, verified_email: None, visit: None }
    }

    /// Names the login of a customer.
    #[must_use]
    pub fn login(self, login: impl Into<String>) -> Self {
        Self { login: Some(login.into()), ..self }
    }

    /// Names the login of the visit in which the customer was a guest until they signed in.
    #[must_use]
    pub fn visit(self, login: impl Into<String>) -> Self {
        Self { visit: Some(Owner::Guest(login.into())), ..self }
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
/// use guichet::shop::{Owner, Sold};
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
    pub(super) fn new(purchase: &CreatePaymentIntent, intent: &PaymentIntent, owner: Owner) -> Result<Self, Invalid> {
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
