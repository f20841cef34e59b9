//! The price of each payment method: the active methods of a country, and the fee of each, requested concurrently.

use super::Client;
use crate::flow::{QuoteRequest, card_types, cheapest_first, price};
use crate::operations::{CalculateFee, ListPaymentMethods, PaymentMethod};
use crate::protocol::{Error, Kind, Operation};
use crate::values::{CardType, MethodCode};
use tokio::task::JoinSet;
use tracing::Instrument;

/// The price of one payment method. [`Client::quotes`] has an example.
pub type Quote = crate::flow::Quote<PaymentMethod>;

impl Client {
    /// The price of each active method of a country, the cheapest for the customer first. A method whose fee could not
    /// be read comes last, with its error. The fees are requested concurrently.
    ///
    /// ```no_run
    /// # async fn show(client: guichet::Client) -> Result<(), guichet::protocol::Error> {
    /// use guichet::native::QuoteRequest;
    /// use guichet::values::{Amount, FeeBearer};
    /// for quote in client.quotes(&QuoteRequest::new(Amount::units(5_000)).fee_bearer(FeeBearer::Customer)).await? {
    ///     match quote.price {
    ///         Ok(price) => println!("{}: the customer pays {} {}", quote.method.name, price.customer_pays, price.currency),
    ///         Err(error) => println!("{}: {error}", quote.method.name),
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Client::send`], if the methods cannot be listed.
    pub async fn quotes(&self, request: &QuoteRequest) -> Result<Vec<Quote>, Error> {
        let methods =
            self.list_payment_methods(&ListPaymentMethods { country_code: request.country_code.clone() }).await?;
        // A dropped set cancels its calls, as every call does.
        let mut calls = JoinSet::new();
        for method in methods.into_iter().filter(|method| method.active) {
            let code = method.id.code();
            for card_type in card_types(code.as_str()) {
                let position = calls.len();
                let quoting = quote(self.clone(), request.clone(), method.clone(), code.clone(), *card_type);
                // A task does not inherit the caller's span.
                calls.spawn(async move { (position, quoting.await) }.in_current_span());
            }
        }
        let mut quotes = calls.join_all().await;
        quotes.sort_by_key(|(position, _)| *position);
        Ok(cheapest_first(quotes.into_iter().map(|(_, quote)| quote).collect()))
    }
}

async fn quote(
    client: Client,
    request: QuoteRequest,
    method: PaymentMethod,
    code: MethodCode,
    card_type: Option<CardType>,
) -> Quote {
    let mut fee_request = CalculateFee::new(code.clone(), request.currency.clone(), request.amount)
        .card_type(card_type.unwrap_or_default());
    fee_request.country_code = request.country_code.clone();
    let (fee, price) = match client.calculate_fee(&fee_request).await {
        Ok(breakdown) => {
            let price = price(&request, Some(breakdown.fee), Some(breakdown.total_payable));
            (Some(breakdown.fee), price.ok_or_else(unpriced))
        }
        Err(error) => (None, Err(error)),
    };
    Quote { fee, ..Quote::new(&request, method, code, card_type, price) }
}

fn unpriced() -> Error {
    Error::new(Kind::Unreadable, "The service did not say what the customer would pay.").of(CalculateFee::SPEC.name)
}
