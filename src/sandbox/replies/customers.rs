use super::written;
use crate::sandbox::store::Customer;
use serde::Serialize;

/// One customer of the list. Nothing in the interface moves a balance or makes a profile inactive.
pub(in crate::sandbox) fn customer(customer: &Customer) -> String {
    #[derive(Serialize)]
    struct Reply<'a> {
        id: &'a str,
        firstname: &'a str,
        lastname: &'a str,
        email: &'a str,
        phone: &'a str,
        balance: u64,
        active: bool,
        created_at: i64,
    }
    written(&Reply {
        id: &customer.id,
        firstname: &customer.firstname,
        lastname: &customer.lastname,
        email: &customer.email,
        phone: &customer.phone,
        balance: 0,
        active: true,
        created_at: customer.created_at.unix(),
    })
}
