//! Lists customers. Payment intents and subscriptions create them.

use super::examples::{Example, Examples, page};
use super::{Done, Handle, Outcomes, Service, to_read};
use crate::auth::Caller;
use crate::problem::Problem;
use crate::replies;
use crate::store::List;
use guichet::operations::ListCustomers;
use guichet::values::PageLimit;

impl Handle<ListCustomers> for Service {
    const OUTCOMES: Outcomes = Outcomes::OK;

    fn example(examples: &Examples) -> Example<ListCustomers> {
        let request = ListCustomers::new().limit(PageLimit::default());
        Example::new(request, page(&[replies::customer(&examples.customer())]))
    }

    async fn handle(&self, caller: Caller, operation: ListCustomers) -> Result<Done, Problem> {
        let merchant = caller.merchant()?;
        let starting_after = operation.starting_after.as_ref().map(|id| id.as_str());
        let after = self.after(List::Customers, merchant, starting_after).await?;
        let limit = operation.limit.unwrap_or_default();
        let customers = self.store.customers(merchant.id(), after, to_read(limit)).await?;
        Ok(Done::list(customers, limit, |customer| customer.id.clone(), |customer| replies::customer(&customer)))
    }
}
