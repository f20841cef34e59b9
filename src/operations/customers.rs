//! The merchant's customers: people who have paid or have started to pay.

use super::{operation, resource};
use crate::protocol::Merchant;
use crate::values::{Amount, CustomerId, PageLimit};

/// `GET /v1/customers`: the merchant's customers, the newest first.
///
/// # Undocumented
/// The list has pages, as every list has (a decision). A payment intent's customer is found by their e-mail, or else by
/// their phone; if there is none, creating the intent creates one (a decision).
#[operation(
    GET "/v1/customers" -> Vec<Customer>,
    role = Merchant,
)]
pub struct ListCustomers {
    /// The number of entries per page. The service's default is 100, which is also the most.
    #[field(undocumented, default = 100)]
    pub limit: Option<PageLimit>,
    /// Only the entries after this one.
    #[field(undocumented)]
    pub starting_after: Option<CustomerId>,
}

/// The name of a customer in a request. Its two texts are named fields, because they are easily swapped.
///
/// ```
/// use guichet::operations::CustomerName;
/// let awa = CustomerName { firstname: "Awa", lastname: "Ngono" };
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CustomerName<'a> {
    /// First name.
    pub firstname: &'a str,
    /// Last name.
    pub lastname: &'a str,
}

/// One customer of the merchant.
///
/// ```
/// use guichet::operations::Customer;
/// let customer: Customer = guichet::protocol::decode(br#"{"data": {"id": "cus_1", "firstname": "Awa"}}"#)?;
/// assert_eq!((customer.firstname.as_str(), customer.active), ("Awa", true));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[resource]
pub struct Customer {
    /// Its identifier.
    #[field(required, schema("pattern" = "^cus_[0-9A-Za-z]{22}$"))]
    pub id: CustomerId,
    /// First name.
    pub firstname: String,
    /// Last name.
    pub lastname: String,
    /// E-mail address; empty for a customer known by phone alone.
    pub email: String,
    /// Phone number with its country prefix; empty for a customer known by e-mail alone.
    pub phone: String,
    /// The balance of the account, in the smallest currency unit.
    #[field(number)]
    pub balance: Option<Amount>,
    /// Whether the profile is active; true if the service does not say.
    #[field(absent = true)]
    pub active: bool,
    /// When they became a customer, in Unix seconds.
    pub created_at: Option<i64>,
}
