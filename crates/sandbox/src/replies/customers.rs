use super::{Reply, written};
use crate::store::Customer;
use guichet::operations::{Customer as CustomerReply, CustomerParts};
use guichet::values::{Amount, CustomerId};

/// A customer. Its balance and its status are constant: no operation of the interface changes them.
pub(crate) fn customer(customer: &Customer) -> Reply {
    let Customer { id, firstname, lastname, email, phone, created_at, .. } = customer.clone();
    written(&CustomerReply::from(CustomerParts {
        id: CustomerId::new(id).expect("the service has made the identifier"),
        firstname,
        lastname,
        email,
        phone,
        balance: Some(Amount::units(0)),
        active: true,
        created_at: Some(created_at.unix()),
    }))
}
