//! Customers: listed here, and made where someone pays.

use super::{Desk, Done, Handle, Outcomes, to_read};
use crate::operations::ListCustomers;
use crate::sandbox::admit::Caller;
use crate::sandbox::problem::Problem;
use crate::sandbox::replies;

impl Handle<ListCustomers> for Desk {
    const OUTCOMES: Outcomes = Outcomes::OK;

    async fn handle(&self, caller: Caller, operation: ListCustomers) -> Result<Done, Problem> {
        let merchant = caller.merchant()?;
        let last = match &operation.starting_after {
            None => None,
            Some(id) => {
                let theirs = self.store.customer(&merchant.id, id).await?;
                Some(theirs.ok_or_else(|| Problem::missing("customer to start after"))?)
            }
        };
        let after = last.as_ref().map(|customer| (customer.created_at, customer.id.as_str()));
        let limit = operation.limit.unwrap_or_default();
        let customers = self.store.customers(&merchant.id, after, to_read(limit)).await?;
        Ok(Done::list(customers, limit, |customer| customer.id.clone(), |customer| replies::customer(&customer)))
    }
}
