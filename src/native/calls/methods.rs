use crate::native::Client;
use crate::operations::{CalculateFee, FeeBreakdown, ListPaymentMethods, PaymentMethod};
use crate::protocol::Error;

impl Client {
    /// `GET /v1/payment-methods`: the payment methods of a country.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn list_payment_methods(&self, which: &ListPaymentMethods) -> Result<Vec<PaymentMethod>, Error> {
        self.send(which).await
    }

    /// `GET /v1/payment-methods/fee/{payment_method}/{currency}/{amount}`: the fee of an amount.
    ///
    /// [`Client::quotes`] returns the price of every method.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn calculate_fee(&self, of: &CalculateFee) -> Result<FeeBreakdown, Error> {
        self.send(of).await
    }
}
