use crate::native::Client;
use crate::operations::{CreateEsimOrder, EsimOrder, EsimPackage, ListEsimPackages, ReadEsimOrder};
use crate::protocol::{Error, Page};
use crate::values::EsimOrderId;

impl Client {
    /// `GET /v1/esim/packages`: one page of the data packages; [`Client::all`] follows the pages.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn list_esim_packages(&self, list: &ListEsimPackages) -> Result<Page<EsimPackage>, Error> {
        self.page(list).await
    }

    /// `POST /v1/esim/orders`: order eSIMs of one package. The order waits for a payment intent of its amount whose
    /// `metadata.esim_order_id` is the order's identifier (a decision).
    ///
    /// # Errors
    /// As [`Client::send`]; kind `not_found` for a package that does not exist.
    pub async fn create_esim_order(&self, order: &CreateEsimOrder) -> Result<EsimOrder, Error> {
        self.send(order).await
    }

    /// `GET /v1/esim/orders/{id}`: an order's current state, and its eSIMs once it is paid. A decision.
    ///
    /// # Errors
    /// As [`Client::send`]; kind `not_found` for an order that is not this merchant's.
    pub async fn read_esim_order(&self, id: &EsimOrderId) -> Result<EsimOrder, Error> {
        self.send(&ReadEsimOrder::new(id.clone())).await
    }
}
