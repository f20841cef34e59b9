//! The client of a page in Rust: typed requests, typed outputs, and the crate's [`Error`].

use super::builder::ClientBuilder;
use super::checkout::CheckoutCall;
use super::core::{
    AuthorizedRequest, CallOptions, MAX_DURATION, Outcome as Found, OutcomeOptions, PublicReads, QuoteSelection, Shop,
    purchase_of, quotes, reference, returned,
};
use super::decode::decode;
use super::popup::Popups;
use super::session::Session;
use crate::flow::{Match, OutcomeState, Price, Purchase, QuoteRequest};
use crate::operations::{CalculateFee, FeeBreakdown, ListPaymentMethods, PaymentMethod};
use crate::protocol::{Error, Fulfils, Kind, NoCredential, Operation};
use crate::values::{Amount, CardType, IntentStatus, MethodCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;
use wasm_bindgen::JsValue;

/// The client of a page. Cloning it is cheap, and clones share one session.
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
#[derive(Clone)]
pub struct Client {
    pub(super) shop: Rc<Shop>,
    pub(super) popups: Popups,
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

    pub(super) fn options(&self) -> CallOptions {
        CallOptions::with_timeout((self.timeout.as_secs_f64() * 1000.0).clamp(1.0, MAX_DURATION))
    }

    async fn read<O>(&self, operation: &O) -> Result<O::Output, Error>
    where
        O: Operation,
        O::Output: DeserializeOwned,
        NoCredential: Fulfils<O::Role>,
    {
        let request = AuthorizedRequest::new(operation)?;
        let reply = Rc::clone(&self.shop).read_public(request, self.options()).await?;
        decode(reply.data()).map_err(|_| reply.unreadable().into())
    }

    /// The active payment methods of a country.
    ///
    /// # Errors
    /// Those of a call; see [`Kind`].
    pub async fn list_payment_methods(&self, request: &ListPaymentMethods) -> Result<Vec<PaymentMethod>, Error> {
        self.read(request).await
    }

    /// The fee of an amount with one payment method.
    ///
    /// # Errors
    /// Those of a call; see [`Kind`].
    pub async fn calculate_fee(&self, request: &CalculateFee) -> Result<FeeBreakdown, Error> {
        self.read(request).await
    }

    /// The price of each active method, the cheapest for the customer first. A method whose fee could not be read comes
    /// last, with its error.
    ///
    /// # Errors
    /// Those of a call; see [`Kind`].
    pub async fn quotes(&self, request: &QuoteRequest) -> Result<Vec<Quote>, Error> {
        let selection = QuoteSelection { request: request.clone(), methods: vec![], codes: JsValue::UNDEFINED };
        let found = quotes(Rc::clone(&self.shop) as _, selection, self.options()).await?;
        let typed = found.into_iter().map(|quote| {
            let unreadable = |_| Error::new(Kind::Unreadable, "The method could not be read.");
            Ok(Quote {
                method: decode(quote.method).map_err(unreadable)?,
                payment_method: quote.payment_method,
                card_type: quote.card_type,
                fee: quote.fee,
                price: quote.price.map_err(Error::from),
            })
        });
        typed.collect()
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
    /// address bar.
    pub async fn returned(&self) -> Option<Return> {
        returned().await.map(|found| Return { matched: found.matched, purchase: found.purchase })
    }

    /// Reads a purchase until it is settled, for two minutes at most. Ship goods because your server says so, never
    /// because of this.
    ///
    /// # Errors
    /// [`Kind::Unsupported`] if there is no way to read the purchase; otherwise those of a call.
    pub async fn wait_for_outcome(&self, purchase: &Purchase) -> Result<Outcome, Error> {
        let found = Rc::clone(&self.shop).follow(reference(purchase), self.outcome_options(false)).await?;
        Ok(found.into())
    }

    pub(super) fn outcome_options(&self, turned_back: bool) -> OutcomeOptions {
        let (budget, options) = (OutcomeOptions::DEFAULT_BUDGET, self.options());
        OutcomeOptions { budget, on_status: None, options, turned_back }
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
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Quote {
    /// The method.
    pub method: PaymentMethod,
    /// The code its fee was requested by.
    pub payment_method: MethodCode,
    /// The card's origin; `None` if the method is no card.
    pub card_type: Option<CardType>,
    /// The fee, if the service sent it.
    pub fee: Option<Amount>,
    /// The price for the customer and for the merchant, or the error if the fee could not be read.
    pub price: Result<Price, Error>,
}

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
#[derive(Clone, Debug)]
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
/// use guichet::browser::{Outcome, OutcomeState};
/// fn is_paid(outcome: &Outcome) -> bool {
///     outcome.state == OutcomeState::Succeeded // ship goods on your server's word alone
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The state.
    pub state: OutcomeState,
    /// The service's own status.
    pub status: Option<IntentStatus>,
    /// The references of the purchase.
    pub purchase: Purchase,
}

impl From<Found> for Outcome {
    fn from(Found { state, status, reference, .. }: Found) -> Self {
        Self { state, status: status.map(IntentStatus::from), purchase: purchase_of(&reference) }
    }
}
