use crate::values::Email;
use serde::{Deserialize, Serialize};
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
    /// The login of a customer: a text that names this sign-in of this customer and never another, such as the hash of
    /// a cookie. With it, the routes hand out one session token per login, and
    /// [`Sessions::sign_out`](crate::native::Sessions::sign_out) ends them all. Without it, each request creates a
    /// session.
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
