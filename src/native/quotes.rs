//! What each way of paying costs: the active methods of a country, and the fee of each, asked side by side.

use super::Client;
use crate::flow::{Price, QuoteRequest, by_what_the_customer_pays, card_types, price};
use crate::operations::{CalculateFee, ListPaymentMethods, PaymentMethod};
use crate::protocol::{Error, Kind, Operation};
use crate::values::{Amount, CardType, MethodCode};
use tokio::task::JoinSet;
use tracing::Instrument;

/// What one way of paying costs: [`Client::quotes`] has an example.
///
/// ```no_run
/// # async fn cheapest(client: guichet::Client, request: guichet::native::QuoteRequest) -> Result<(), guichet::protocol::Error> {
/// if let Some(quote) = client.quotes(&request).await?.first() {
///     println!("{} costs the customer least.", quote.method.name);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Quote {
    /// The method.
    pub method: PaymentMethod,
    /// The code its fee was asked by.
    pub payment_method: MethodCode,
    /// Where the card is from: a local and an international card are quoted apart. `None` for what is no card.
    pub card_type: Option<CardType>,
    /// The fee, where the service said it.
    pub fee: Option<Amount>,
    /// What the customer pays and the merchant gets; or why the fee cannot be had.
    pub price: Result<Price, Error>,
}

impl Client {
    /// What each active method of a country costs, what costs the customer least first. A method whose fee cannot be had
    /// comes last, with its error. The fees are asked for side by side.
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
    /// As [`Client::send`], where the methods cannot be listed.
    pub async fn quotes(&self, request: &QuoteRequest) -> Result<Vec<Quote>, Error> {
        let methods =
            self.list_payment_methods(&ListPaymentMethods { country_code: request.country_code.clone() }).await?;
        // Dropped, it ends what it has begun, as every call does.
        let mut asked = JoinSet::new();
        for method in methods.into_iter().filter(|method| method.active) {
            let code = method.id.code();
            for card_type in card_types(code.as_str()) {
                let place = asked.len();
                let quoting = quote(self.clone(), request.clone(), method.clone(), code.clone(), *card_type);
                // A task does not inherit the caller's span.
                asked.spawn(async move { (place, quoting.await) }.in_current_span());
            }
        }
        let mut quotes = asked.join_all().await;
        quotes.sort_by(|(a_place, a), (b_place, b)| {
            by_what_the_customer_pays(a.customer_pays(), b.customer_pays()).then(a_place.cmp(b_place))
        });
        Ok(quotes.into_iter().map(|(_, quote)| quote).collect())
    }
}

impl Quote {
    fn customer_pays(&self) -> Option<Amount> {
        self.price.as_ref().ok().map(|price| price.customer_pays)
    }
}

async fn quote(
    client: Client,
    request: QuoteRequest,
    method: PaymentMethod,
    code: MethodCode,
    card_type: Option<CardType>,
) -> Quote {
    let mut question = CalculateFee::new(code.clone(), request.currency.clone(), request.amount)
        .card_type(card_type.unwrap_or_default());
    question.country_code = request.country_code.clone();
    let (fee, price) = match client.calculate_fee(&question).await {
        Ok(said) => {
            let price = price(&request, Some(said.fee), Some(said.total_payable));
            (Some(said.fee), price.map_err(|_| unpriced()))
        }
        Err(error) => (None, Err(error)),
    };
    Quote { method, payment_method: code, card_type, fee, price }
}

fn unpriced() -> Error {
    Error::new(Kind::Unreadable, "The service did not say what the customer would pay.").of(CalculateFee::SPEC.name)
}
