use crate::native::Client;
use crate::operations::{Customer, ListCustomers};
use crate::protocol::{Error, Page};

impl Client {
    /// `GET /v1/customers`: one page of the merchant's customers, the newest first; [`Client::all`] follows the pages.
    ///
    #[doc = example!()]
    /// use guichet::operations::ListCustomers;
    /// # client.create_payment_intent(&order(17)?).await?;
    /// let mut customers = client.all(&ListCustomers::new());
    /// while let Some(customer) = customers.next().await {
    ///     let customer = customer?;
    ///     println!("{} {}: {}", customer.firstname, customer.lastname, customer.email);
    /// }
    /// # assert_eq!(client.list_customers(&ListCustomers::new()).await?.entries.len(), 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn list_customers(&self, list: &ListCustomers) -> Result<Page<Customer>, Error> {
        self.page(list).await
    }
}
