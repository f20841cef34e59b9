//! The options of a page's client in Rust.

use super::PublicReads;
use super::client::Client;
use super::engine::Engine;
use crate::flow::State;
use crate::protocol::{Error, Kind};
use std::fmt;
use std::time::Duration;

/// Options of a [`Client`].
///
/// ```
/// use guichet::browser::Client;
/// use std::time::Duration;
/// # fn build() -> Result<Client, guichet::protocol::Error> {
/// let guichet = Client::builder("https://api.example.com").merchant("/guichet").timeout(Duration::from_secs(10)).build()?;
/// # Ok(guichet) }
/// ```
#[cfg_attr(not(target_arch = "wasm32"), expect(dead_code, reason = "only a page has a use for the options"))]
pub struct ClientBuilder {
    pub(super) base_url: String,
    pub(super) merchant: Option<String>,
    pub(super) merchant_headers: Option<Box<MerchantHeaders>>,
    pub(super) includes_credentials: bool,
    pub(super) checkout_origins: Vec<String>,
    pub(super) public_reads: PublicReads,
    pub(super) locale: Option<String>,
    timeout: Duration,
    pub(super) on_call: Option<Box<dyn Fn(Call)>>,
    pub(super) on_session: Box<dyn Fn(State)>,
}

/// The names and values of a page's own headers.
pub(super) type MerchantHeaders = dyn Fn() -> Vec<(String, String)>;

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
            merchant: None,
            merchant_headers: None,
            includes_credentials: false,
            checkout_origins: vec![],
            public_reads: PublicReads::Session,
            locale: None,
            timeout: Duration::from_secs(30),
            on_call: None,
            on_session: Box::new(|_| ()),
        }
    }

    /// Sets the address of the merchant's routes: `/guichet`.
    #[must_use]
    pub fn merchant(self, routes: &str) -> Self {
        Self { merchant: Some(routes.to_owned()), ..self }
    }

    /// Adds these headers to every request to the merchant's routes, and to no other: a CSRF token. The function is
    /// called for each request, so that a token may change.
    ///
    /// ```
    /// use guichet::browser::Client;
    /// fn csrf_token() -> String {
    ///     "the token of the page's own cookie or <meta>".into()
    /// }
    /// let builder = Client::builder("https://api.example.com")
    ///     .merchant("/guichet")
    ///     .merchant_headers(|| [("X-CSRF-Token", csrf_token())]);
    /// ```
    #[must_use]
    pub fn merchant_headers<H, N, V>(self, headers: impl Fn() -> H + 'static) -> Self
    where
        H: IntoIterator<Item = (N, V)>,
        N: Into<String>,
        V: Into<String>,
    {
        let headers = move || headers().into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { merchant_headers: Some(Box::new(headers)), ..self }
    }

    /// Sends the merchant's cookies also if its routes are of another origin of the same site (`api.shop.example` for a
    /// page of `shop.example`). Its server must allow the page's origin with credentials. Browsers block cookies
    /// between sites.
    #[must_use]
    pub fn include_merchant_credentials(self) -> Self {
        Self { includes_credentials: true, ..self }
    }

    /// Sets the origins that a `checkout_url` may have; the default is the service's own origin.
    #[must_use]
    pub fn checkout_origins(self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { checkout_origins: origins.into_iter().map(Into::into).collect(), ..self }
    }

    /// Requests methods and fees without a credential, so that guests see prices.
    #[must_use]
    pub fn anonymous_reads(self) -> Self {
        Self { public_reads: PublicReads::Anonymous, ..self }
    }

    /// Reads methods and fees from the merchant's routes, whose server asks the service with its key. The server must
    /// serve them: `Routes::public_reads`.
    #[must_use]
    pub fn merchant_reads(self) -> Self {
        Self { public_reads: PublicReads::Merchant, ..self }
    }

    /// Sets the customer's language (`fr`), for the merchant's routes and an empty popup.
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

    /// Calls this when the session's state has changed: by a call, by a sign-out in another tab, or because its token
    /// expires.
    #[must_use]
    pub fn on_session(self, on_session: impl Fn(State) + 'static) -> Self {
        Self { on_session: Box::new(on_session), ..self }
    }

    /// Builds the client. Sends nothing. Off wasm32 it checks nothing either.
    ///
    /// # Errors
    /// [`Kind::Input`] if an address cannot be used, [`Kind::SecretKey`] if one contains a secret key.
    pub fn build(self) -> Result<Client, Error> {
        let timeout = self.timeout;
        Ok(Client { engine: Engine::new(self)?, timeout })
    }
}
