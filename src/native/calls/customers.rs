use crate::native::Client;
use crate::operations::{Customer, ListCustomers};
use crate::protocol::{Error, Page};

impl Client {
    /// `GET /v1/customers`: one page of the merchant's customers, the newest first; [`Client::all`] follows the pages.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn list_customers(&self, list: &ListCustomers) -> Result<Page<Customer>, Error> {
        self.page(list).await
    }
}
