//! The options of a page's client in Rust.

use super::client::Client;
use super::core::{CallReport, MerchantRoutes, Shop, ShopConfig, Transport, check_no_secret_key_in, page_origin};
use super::popup::Popups;
use crate::flow::{Base, State};
use crate::protocol::{Error, Kind};
use crate::values::Address;
use std::cell::Cell;
use std::fmt;
use std::time::Duration;
use wasm_bindgen::JsValue;

/// Options of a [`Client`].
///
/// ```
/// use guichet::browser::Client;
/// use std::time::Duration;
/// # fn build() -> Result<Client, guichet::protocol::Error> {
/// let guichet = Client::builder("https://api.example.com").merchant("/guichet").timeout(Duration::from_secs(10)).build()?;
/// # Ok(guichet) }
/// ```
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

/// One finished request, for monitoring. It contains no address and no secret.
///
/// ```
/// use guichet::browser::{Call, Client};
/// fn report(call: &Call) {
///     println!("{} took {} ms", call.operation, call.ms);
/// }
/// let builder = Client::builder("https://api.example.com").on_call(|call| report(&call));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Call {
    /// The operation's name.
    pub operation: &'static str,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// Its duration, in milliseconds.
    pub ms: f64,
    /// The HTTP status, if there was a reply.
    pub status: Option<u16>,
    /// The kind of error, if it failed.
    pub kind: Option<Kind>,
    /// The service's identifier of the request.
    pub request_id: Option<String>,
}

impl ClientBuilder {
    pub(super) fn new(base_url: String) -> Self {
        Self {
            base_url,
            merchant: JsValue::UNDEFINED,
            checkout_origins: vec![],
            anonymous_reads: false,
            locale: None,
            timeout: Duration::from_secs(30),
            on_call: None,
            on_session: Box::new(|_| ()),
        }
    }

    /// Sets the address of the merchant's three routes: `/guichet`.
    #[must_use]
    pub fn merchant(self, routes: &str) -> Self {
        Self { merchant: routes.into(), ..self }
    }

    /// Sets the origins that a `checkout_url` may have; the default is the service's own origin.
    #[must_use]
    pub fn checkout_origins(self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { checkout_origins: origins.into_iter().map(Into::into).collect(), ..self }
    }

    /// Requests methods and fees without a credential, so that guests see prices.
    #[must_use]
    pub fn anonymous_reads(self) -> Self {
        Self { anonymous_reads: true, ..self }
    }

    /// Sets the customer's language (`fr`), for the merchant's routes.
    #[must_use]
    pub fn locale(self, locale: impl Into<String>) -> Self {
        Self { locale: Some(locale.into()), ..self }
    }

    /// Sets the time limit of one call, all its attempts together. The default is 30 seconds.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Calls this after every request.
    #[must_use]
    pub fn on_call(self, on_call: impl Fn(Call) + 'static) -> Self {
        Self { on_call: Some(Box::new(on_call)), ..self }
    }

    /// Calls this when a call has changed the session's state. The expiry of a token is not reported: see
    /// [`Session::state`](super::Session::state).
    #[must_use]
    pub fn on_session(self, on_session: impl Fn(State) + 'static) -> Self {
        Self { on_session: Box::new(on_session), ..self }
    }

    /// Builds the client. Sends nothing.
    ///
    /// # Errors
    /// [`Kind::Input`] if an address cannot be used, [`Kind::SecretKey`] if one contains a secret key.
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
        let last_state = Cell::new(State::None);
        let shop = Shop::new(ShopConfig {
            transport: Transport { base, fetch: None, on_call, shared_calls: Default::default() },
            merchant,
            checkout_origins: origins,
            reads_with_session,
            on_session: Box::new(move |status| {
                if last_state.replace(status.state) != status.state {
                    on_session(status.state);
                }
            }),
        });
        Ok(Client { shop, popups: Popups::default(), timeout })
    }
}
