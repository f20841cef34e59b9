//! The client of a page in Rust: typed requests, typed outputs, and the crate's [`Error`].

use super::builder::ClientBuilder;
use super::checkout::CheckoutCall;
use super::engine::Engine;
use super::session::Session;
use crate::flow::{LateApproval, Match, OutcomeState, Purchase, QuoteRequest};
use crate::operations::{
    ApprovableUntil, CalculateFee, FeeBreakdown, LastPaymentError, ListPaymentMethods, PaymentMethod,
};
use crate::protocol::Error;
use crate::values::{Amount, IntentStatus};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// The client of a page. Cloning it is cheap, and clones share one session. It is equal to its clones and to no other
/// client.
///
/// Every call is a future: dropping it cancels the call.
///
/// ```no_run
/// use guichet::browser::Client;
/// use guichet::operations::ListPaymentMethods;
/// # async fn methods() -> Result<(), guichet::protocol::Error> {
/// let guichet = Client::builder("https://api.example.com").merchant("/guichet").build()?;
/// let methods = guichet.list_payment_methods(&ListPaymentMethods::new()).await?;
/// # let _ = methods;
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq)]
pub struct Client {
    pub(super) engine: Engine,
    pub(super) timeout: Duration,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl Client {
    /// The options of a client for the service at `https://api.example.com`, or at a path of the page's own origin.
    #[must_use]
    pub fn builder(base_url: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(base_url.into())
    }

    /// The active payment methods of a country.
    ///
    /// # Errors
    /// Those of a call; see [`Kind`](crate::protocol::Kind).
    pub async fn list_payment_methods(&self, request: &ListPaymentMethods) -> Result<Vec<PaymentMethod>, Error> {
        self.engine.methods(request, self.timeout).await
    }

    /// The fee of an amount with one payment method.
    ///
    /// # Errors
    /// Those of a call; see [`Kind`](crate::protocol::Kind).
    pub async fn calculate_fee(&self, request: &CalculateFee) -> Result<FeeBreakdown, Error> {
        self.engine.fee(request, self.timeout).await
    }

    /// The price of each active method, the cheapest for the customer first. A method whose fee could not be read comes
    /// last, with its error.
    ///
    /// # Errors
    /// Those of a call; see [`Kind`](crate::protocol::Kind).
    pub async fn quotes(&self, request: &QuoteRequest) -> Result<Vec<Quote>, Error> {
        self.engine.quotes(request, self.timeout).await
    }

    /// The customer's session.
    #[must_use]
    pub fn session(&self) -> Session<'_> {
        Session(self)
    }

    /// Requests an intent for an order from the merchant's server, and goes to the hosted page. It starts when it is
    /// awaited; for a popup, call [`CheckoutCall::popup`] first. A second checkout of an equal order joins the first.
    pub fn checkout<T: Serialize>(&self, order: &T) -> CheckoutCall {
        CheckoutCall::new(self, order)
    }

    /// The return of a customer from the hosted page to this page, if there is one. Removes its parameters from the
    /// address bar. If another page waits for this return, that page goes on and this window closes.
    pub async fn returned(&self) -> Option<Return> {
        self.engine.returned()
    }

    /// Reads a purchase until it is settled, for two minutes at most. Ship goods because your server says so, never
    /// because of this.
    ///
    /// # Errors
    /// [`Kind::Unsupported`](crate::protocol::Kind::Unsupported) if there is no way to read the purchase; otherwise
    /// those of a call.
    pub async fn wait_for_outcome(&self, purchase: &Purchase) -> Result<Outcome, Error> {
        self.engine.wait_for_outcome(purchase, self.timeout).await
    }
}

/// The price of one payment method.
///
/// ```no_run
/// # async fn cheapest(guichet: guichet::browser::Client, request: guichet::browser::QuoteRequest) -> Result<(), guichet::protocol::Error> {
/// let quotes = guichet.quotes(&request).await?;
/// let cheapest = quotes.first().map(|quote| quote.method.name.as_str());
/// # let _ = cheapest;
/// # Ok(()) }
/// ```
pub type Quote = crate::flow::Quote<PaymentMethod>;

/// The return of a customer.
///
/// ```no_run
/// # async fn back(guichet: guichet::browser::Client) -> Result<(), guichet::protocol::Error> {
/// if let Some(back) = guichet.returned().await {
///     let outcome = guichet.wait_for_outcome(&back.purchase).await?;
/// #     let _ = outcome;
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Return {
    /// Whether this tab started the purchase. If it is unmatched, use the references only to ask your own server.
    pub matched: Match,
    /// The references of the purchase.
    pub purchase: Purchase,
}

/// The state of a purchase.
///
/// ```
/// use guichet::browser::{LateApproval, Outcome, OutcomeState};
/// fn sentence(outcome: &Outcome) -> &'static str {
///     match outcome.state {
///         OutcomeState::Succeeded => "You have paid.", // ship goods on your server's word alone
///         _ if outcome.late_approval != LateApproval::Never => "We do not know yet whether your operator took the money.",
///         _ => "You have not paid.",
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The state.
    pub state: OutcomeState,
    /// The service's own status.
    pub status: Option<IntentStatus>,
    /// The references of the purchase.
    pub purchase: Purchase,
    /// Why the last attempt was declined.
    pub last_payment_error: Option<LastPaymentError>,
    /// Until when an operator may still approve an attempt that it declined, the latest of them, as the service says
    /// it.
    pub approvable_until: Option<ApprovableUntil>,
    /// Whether an attempt that was declined may still become money. Unless it is `Never`, do not say that no money was
    /// taken, nor ask for a second payment without saying that it is refunded if both succeed.
    pub late_approval: LateApproval,
    /// The price.
    pub amount: Option<Amount>,
    /// What the customer pays, with the fee if they bear it, once that is known.
    pub amount_payable: Option<Amount>,
    /// Whether the customer pays a fee of an unknown amount besides the price: show that beside the sum.
    pub plus_fee: bool,
}
