use crate::native::Client;
use crate::operations::{CalculateFee, FeeBreakdown, ListPaymentMethods, PaymentMethod};
use crate::protocol::Error;

impl Client {
    /// `GET /v1/payment-methods`: the payment methods of a country.
    ///
    #[doc = example!()]
    /// use guichet::operations::ListPaymentMethods;
    /// use guichet::values::Country;
    /// let methods = client.list_payment_methods(&ListPaymentMethods::new().country_code(Country::new("CM")?)).await?;
    /// assert!(methods.iter().any(|method| method.active && method.id.code().as_str() == "mobile_money"));
    /// # Ok(()) }
    /// ```
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
    #[doc = example!()]
    /// use guichet::operations::CalculateFee;
    /// use guichet::values::{Amount, Currency, MethodCode};
    /// let of = CalculateFee::new(MethodCode::new("mobile_money")?, Currency::xaf(), Amount::units(5_000));
    /// assert_eq!(client.calculate_fee(&of).await?.fee, Amount::units(100));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn calculate_fee(&self, of: &CalculateFee) -> Result<FeeBreakdown, Error> {
        self.send(of).await
    }
}
