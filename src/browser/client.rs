//! The client of a page in Rust: typed requests, typed outputs, errors of the crate's [`Error`].

use super::core::{
    AuthorizedRequest, CallError, CallOptions, CallReport, Checkout, MAX_DURATION, MerchantRoutes, Outcome as Found,
    OutcomeOptions, PublicReads, QuoteSelection, Shop, ShopConfig, Transport, check_no_secret_key_in, check_page,
    open_popup, page_origin, purchase_of, quotes, reference, returned, write,
};
use super::decode::decode;
use crate::flow::{Base, Match, OutcomeState, Price, Purchase, QuoteRequest, State};
use crate::operations::{CalculateFee, FeeBreakdown, ListPaymentMethods, PaymentMethod, SessionState};
use crate::protocol::{Error, Fulfils, Kind, NoCredential, Operation};
use crate::values::{Address, CardType, IntentStatus, MethodCode};
use js_sys::JSON;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;
use wasm_bindgen::JsValue;
use web_sys::Window;

/// The client of a page. Cloning it is cheap, and clones share one session.
///
/// Every call is a future: dropping it cancels the call.
#[derive(Clone)]
pub struct Client {
    shop: Rc<Shop>,
    timeout: Duration,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// Options of a [`Client`].
pub struct ClientBuilder {
    base_url: String,
    merchant: JsValue,
    checkout_origins: Vec<String>,
    anonymous_reads: bool,
    locale: Option<String>,
    timeout: Duration,
    on_call: Option<Box<dyn Fn(Call)>>,
    on_session: Box<dyn Fn(State)>,
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// One request that has ended, for monitoring. It holds no address and no secret.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Call {
    /// The operation's name.
    pub operation: &'static str,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// How long it took, in milliseconds.
    pub ms: f64,
    /// The HTTP status, where a reply came.
    pub status: Option<u16>,
    /// Why it failed.
    pub kind: Option<Kind>,
    /// The service's name of the request.
    pub request_id: Option<String>,
}

impl ClientBuilder {
    /// The address of the merchant's three routes: `/guichet`.
    #[must_use]
    pub fn merchant(self, routes: &str) -> Self {
        Self { merchant: routes.into(), ..self }
    }

    /// Where a `checkout_url` may lead; the service's own origin where nobody says otherwise.
    #[must_use]
    pub fn checkout_origins(self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { checkout_origins: origins.into_iter().map(Into::into).collect(), ..self }
    }

    /// Requests methods and fees without a credential, so that guests see prices.
    #[must_use]
    pub fn anonymous_reads(self) -> Self {
        Self { anonymous_reads: true, ..self }
    }

    /// The customer's language (`fr`), for the merchant's routes.
    #[must_use]
    pub fn locale(self, locale: impl Into<String>) -> Self {
        Self { locale: Some(locale.into()), ..self }
    }

    /// How long one call may take, all its attempts together: 30 seconds where nobody says otherwise.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Calls this after every request.
    #[must_use]
    pub fn on_call(self, on_call: impl Fn(Call) + 'static) -> Self {
        Self { on_call: Some(Box::new(on_call)), ..self }
    }

    /// Calls this when the session's state may have changed.
    #[must_use]
    pub fn on_session(self, on_session: impl Fn(State) + 'static) -> Self {
        Self { on_session: Box::new(on_session), ..self }
    }

    /// Makes the client, and sends nothing.
    ///
    /// # Errors
    /// [`Kind::Input`] for an address that cannot be used, [`Kind::SecretKey`] for one that holds a secret key.
    pub fn build(self) -> Result<Client, Error> {
        let Self { base_url, merchant, checkout_origins, anonymous_reads, locale, timeout, on_call, on_session } = self;
        for text in checkout_origins.iter().chain([&base_url]).chain(&merchant.as_string()) {
            check_no_secret_key_in(text)?;
        }
        let base = Base::new(&base_url, page_origin().as_deref())?;
        let mut origins = vec![];
        for origin in &checkout_origins {
            origins.push(Address::new(origin)?.origin().to_owned());
        }
        if origins.is_empty() {
            origins.push(base.origin().to_owned());
        }
        let on_call = on_call.map(|on_call| -> Box<dyn Fn(CallReport)> {
            Box::new(move |CallReport { operation, attempt, ms, status, kind, request_id }| {
                on_call(Call { operation, attempt, ms, status, kind, request_id });
            })
        });
        let merchant = MerchantRoutes { place: merchant, headers: None, locale };
        let reads_with_session = !anonymous_reads && merchant.has("session");
        let shop = Shop::new(ShopConfig {
            transport: Transport { base, fetch: None, on_call, reads: Default::default() },
            merchant,
            checkout_origins: origins,
            reads_with_session,
            on_session: Box::new(move |status| on_session(status.state)),
        });
        Ok(Client { shop, timeout })
    }
}

impl Client {
    /// Options of a client of the service at `https://api.example.com`, or at a path of the page's own origin.
    #[must_use]
    pub fn builder(base_url: impl Into<String>) -> ClientBuilder {
        ClientBuilder {
            base_url: base_url.into(),
            merchant: JsValue::UNDEFINED,
            checkout_origins: vec![],
            anonymous_reads: false,
            locale: None,
            timeout: Duration::from_secs(30),
            on_call: None,
            on_session: Box::new(|_| ()),
        }
    }

    fn options(&self) -> CallOptions {
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

    /// What an amount costs by one method.
    ///
    /// # Errors
    /// Those of a call; see [`Kind`].
    pub async fn calculate_fee(&self, request: &CalculateFee) -> Result<FeeBreakdown, Error> {
        self.read(request).await
    }

    /// What each active method costs, the cheapest for the customer first. A method whose fee cannot be had comes last,
    /// with its error.
    ///
    /// # Errors
    /// Those of a call; see [`Kind`].
    pub async fn quotes(&self, request: &QuoteRequest) -> Result<Vec<Quote>, Error> {
        let selection = QuoteSelection { request: request.clone(), methods: vec![], codes: JsValue::UNDEFINED };
        let found = quotes(Rc::clone(&self.shop) as _, selection, self.options()).await?;
        let typed = found.into_iter().map(|quote| {
            let price = match (quote.error, quote.customer_pays) {
                (Some(error), _) => Err(error.into()),
                (None, customer_pays) => {
                    Ok(Price { customer_pays: customer_pays.unwrap_or_default(), merchant_gets: quote.merchant_gets })
                }
            };
            let unreadable = |_| Error::new(Kind::Unreadable, "The method could not be read.");
            Ok(Quote {
                method: decode(quote.method).map_err(unreadable)?,
                payment_method: quote.payment_method,
                card_type: quote.card_type,
                fee: quote.fee,
                price,
            })
        });
        typed.collect()
    }

    /// The customer's session.
    #[must_use]
    pub fn session(&self) -> Session<'_> {
        Session(self)
    }

    /// Leaves for the hosted page with an order, which the merchant's server makes an intent of. Await it, or say
    /// [`popup`](CheckoutCall::popup) first.
    #[must_use]
    pub fn checkout<'a, T: Serialize>(&'a self, order: &'a T) -> CheckoutCall<'a, T> {
        CheckoutCall { client: self, order, popup: None }
    }

    /// Who has come back to this page from the hosted page, if anyone. Takes its parameters out of the address bar.
    pub async fn returned(&self) -> Option<Return> {
        returned().await.map(|found| Return { matched: found.matched, purchase: found.purchase })
    }

    /// Looks until a purchase is settled, for two minutes at most. Ship goods on your server's word, never on this.
    ///
    /// # Errors
    /// [`Kind::Unsupported`] where nobody can say how it stands; otherwise those of a call.
    pub async fn wait_for_outcome(&self, purchase: &Purchase) -> Result<Outcome, Error> {
        let found = Rc::clone(&self.shop).follow(reference(purchase), self.outcome_options(false)).await?;
        Ok(found.into())
    }

    fn outcome_options(&self, turned_back: bool) -> OutcomeOptions {
        let (budget, options) = (OutcomeOptions::DEFAULT_BUDGET, self.options());
        OutcomeOptions { budget, on_status: None, options, turned_back }
    }
}

/// The customer's session: a token in memory, requested when it is first needed.
#[derive(Clone, Copy, Debug)]
pub struct Session<'a>(&'a Client);

impl Session<'_> {
    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> State {
        self.0.shop.session_status().state
    }

    /// The customer, where it is known.
    #[must_use]
    pub fn email(&self) -> Option<String> {
        self.0.shop.session_status().email
    }

    /// Whether the token at hand is good. Requests the first one, and renews none.
    ///
    /// # Errors
    /// Those of a call; see [`Kind`]. That a token is not good is no error.
    pub async fn validate(&self) -> Result<SessionState, Error> {
        let said = Rc::clone(&self.0.shop).validate(self.0.options()).await?;
        decode(said).map_err(|_| Error::new(Kind::Unreadable, "The reply could not be read."))
    }

    /// Requests a new token from the merchant's server.
    ///
    /// # Errors
    /// [`Kind::SignedOut`] where nobody is signed in; otherwise those of a call.
    pub async fn renew(&self) -> Result<(), Error> {
        Ok(Rc::clone(&self.0.shop).renew().await?)
    }

    /// Signs out: ends the session at the service, and in every tab.
    ///
    /// # Errors
    /// Those of a call; see [`Kind`].
    pub async fn revoke(&self) -> Result<(), Error> {
        Ok(Rc::clone(&self.0.shop).revoke(self.0.options()).await?)
    }
}

/// What one way of paying costs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Quote {
    /// The method.
    pub method: PaymentMethod,
    /// The code its fee was requested by.
    pub payment_method: MethodCode,
    /// Where the card is from; `None` for what is no card.
    pub card_type: Option<CardType>,
    /// The fee, where the service said it.
    pub fee: Option<String>,
    /// What the customer pays and the merchant gets; or why the fee cannot be had.
    pub price: Result<Price, Error>,
}

/// A customer who has come back.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Return {
    /// Whether this tab left for this purchase. One that is unmatched is good only for asking one's own server.
    pub matched: Match,
    /// Which purchase.
    pub purchase: Purchase,
}

/// Where a purchase stands.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// What it has come to.
    pub state: OutcomeState,
    /// The service's own word.
    pub status: Option<IntentStatus>,
    /// Which purchase.
    pub purchase: Purchase,
}

impl From<Found> for Outcome {
    fn from(Found { state, status, reference, .. }: Found) -> Self {
        Self { state, status: status.map(IntentStatus::from), purchase: purchase_of(&reference) }
    }
}

/// A checkout that has not begun: await it.
#[derive(Debug)]
pub struct CheckoutCall<'a, T> {
    client: &'a Client,
    order: &'a T,
    popup: Option<Window>,
}

impl<T> CheckoutCall<'_, T> {
    /// Opens a window now, which only a click may do, and goes to the hosted page in it. Where the browser blocks it, the
    /// customer is redirected.
    #[must_use]
    pub fn popup(self) -> Self {
        Self { popup: open_popup(), ..self }
    }
}

impl<'a, T: Serialize> IntoFuture for CheckoutCall<'a, T> {
    type Output = Result<Outcome, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { client, order, popup } = self;
            check_page("checkout")?;
            let order = write(order);
            let Some(json) = JSON::stringify(&order).ok().and_then(|json| json.as_string()) else {
                return Err(CallError::field("order", "It is sent to your server as JSON, and cannot be.").into());
            };
            check_no_secret_key_in(&json)?;
            let window = CloseOnDrop(popup.clone());
            let (outcome, options) = (client.outcome_options(true), client.options());
            let found = client.shop.checkout(Checkout { order, json, popup, outcome, options }).await?;
            drop(window);
            Ok(found.into())
        })
    }
}

/// The popup of a checkout, which ends with it.
struct CloseOnDrop(Option<Window>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        if let Some(window) = &self.0 {
            let _ = window.close();
        }
    }
}
