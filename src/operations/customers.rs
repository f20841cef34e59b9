//! The merchant's customers: whoever has paid, or has begun to.

use super::{operation, resource};
use crate::protocol::Merchant;
use crate::values::{Amount, CustomerId, PageLimit};

/// `GET /v1/customers`: the merchant's customers, the newest first.
///
/// ```
/// use guichet::operations::ListCustomers;
/// use guichet::values::PageLimit;
/// let first = ListCustomers::new().limit(PageLimit::new(20)?);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
///
/// # Undocumented
/// The pages of the list: as of every list (a decision). And where customers come from: one is made, or found by their
/// e-mail or else their phone, when a payment intent is created (a decision).
#[operation(
    GET "/v1/customers" -> Vec<Customer>,
    role = Merchant,
    command = "customers list",
    columns = ["id", "firstname", "lastname", "email", "phone", "balance", "active", "created_at"],
)]
pub struct ListCustomers {
    /// How many; the service's default is 100, and the most.
    #[field(undocumented, default = 100)]
    pub limit: Option<PageLimit>,
    /// Those after this one.
    #[field(undocumented)]
    pub starting_after: Option<CustomerId>,
}

/// The name of a customer, as a request takes it: its two texts are named, since they are easily swapped.
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
    /// Their identifier.
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
    /// What their account holds, in the smallest currency unit.
    #[field(number)]
    pub balance: Option<Amount>,
    /// Whether the profile is active; a service that says nothing means that it is.
    #[field(absent = true)]
    pub active: bool,
    /// When they became a customer, in Unix seconds.
    pub created_at: Option<i64>,
}
