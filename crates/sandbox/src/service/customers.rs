//! Lists customers. Payment intents and subscriptions create them.

use super::examples::{Examples, page};
use super::{Described, Done, Handle, Service, to_read};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::replies;
use crate::store::List;
use guichet::operations::ListCustomers;
use guichet::values::PageLimit;

impl Handle<ListCustomers> for Service {
    async fn handle(&self, caller: Caller, operation: ListCustomers) -> Result<Done, Problem> {
        let merchant = caller.merchant()?;
        let after = self.after(List::Customers, merchant, operation.starting_after).await?;
        let limit = operation.limit.unwrap_or_default();
        let customers = self.store.customers(merchant.id(), after, to_read(limit)).await?;
        Ok(Done::list(customers, limit, |customer| customer.id.clone(), |customer| replies::customer(&customer)))
    }
}

impl Described for ListCustomers {
    fn example(examples: &Examples) -> (Self, Done) {
        let request = ListCustomers::new().limit(PageLimit::default());
        (request, page(&[replies::customer(&examples.customer())]))
    }
}
