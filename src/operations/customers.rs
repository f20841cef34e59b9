//! The merchant's customers: whoever has paid, or has begun to.

use super::setters;
use crate::protocol::{Fields, Merchant, Operation, Served, Spec, lenient};
use crate::values::{CustomerId, Figure, PageLimit};
use serde::{Deserialize, Serialize};

/// `GET /v1/customers`: the merchant's customers, the newest first.
///
/// # Not shown
/// The pages of the list: as of every list (a decision). And where customers come from: one is made, or found by their
/// e-mail or else their phone, when a payment intent is created (a decision).
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema), schemars(extend("x-guichet-documented" = [])))]
pub struct ListCustomers {
    /// How many; the service's default is 100, and the most.
    #[cfg_attr(feature = "sandbox", schemars(extend("default" = 100)))]
    pub limit: Option<PageLimit>,
    /// Those after this one.
    pub starting_after: Option<CustomerId>,
}

impl ListCustomers {
    /// The first page.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { ListCustomers {
    /// So many.
    limit: PageLimit,
    /// Those after this one.
    starting_after: CustomerId,
} }

impl Operation for ListCustomers {
    type Role = Merchant;
    type Output = Vec<Customer>;
    const SPEC: Spec = Spec::get("list_customers", "/v1/customers").asking(&["limit", "starting_after"]);
}

impl Served for ListCustomers {
    fn read(fields: &mut Fields) -> Option<Self> {
        let limit = fields.optional("limit");
        let starting_after = fields.optional("starting_after");
        Some(Self { limit: limit?, starting_after: starting_after? })
    }
}

/// One customer of the merchant.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema), schemars(extend("x-guichet-documented" = ["id", "firstname", "lastname", "email", "phone", "balance", "active", "created_at"])))]
pub struct Customer {
    /// Their identifier.
    #[cfg_attr(feature = "sandbox", schemars(extend("pattern" = "^cus_[0-9A-Za-z]{22}$")))]
    pub id: CustomerId,
    /// First name.
    #[serde(default, deserialize_with = "lenient")]
    pub firstname: String,
    /// Last name.
    #[serde(default, deserialize_with = "lenient")]
    pub lastname: String,
    /// E-mail address; empty for a customer known by phone alone.
    #[serde(default, deserialize_with = "lenient")]
    pub email: String,
    /// Phone number with its country prefix; empty for a customer known by e-mail alone.
    #[serde(default, deserialize_with = "lenient")]
    pub phone: String,
    /// What their account holds, in the smallest currency unit.
    #[serde(default, deserialize_with = "lenient")]
    pub balance: Option<Figure>,
    /// Whether the profile is active; a service that says nothing means that it is.
    #[serde(default = "super::yes")]
    pub active: bool,
    /// When they became a customer, in Unix seconds.
    #[serde(default, deserialize_with = "lenient")]
    pub created_at: Option<i64>,
}
