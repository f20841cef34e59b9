#[cfg(feature = "axum")]
use super::fetch::redact;
use super::fetch::{Reply, authorization};
use super::reply::UnreadableReply;
use super::{ClientBuilder, CustomerClient, Profile, ReturnKey, SecretKey, Transport};
use crate::operations::{CreatePaymentIntent, PaymentIntent};
use crate::protocol::{AttemptResult, Credential, Error, Fulfils, Operation, Page, Request, Spec, decode, decode_page};
use crate::values::{ClientSecret, SessionToken};
use reqwest::header::HeaderValue;
use serde::de::DeserializeOwned;
#[cfg(feature = "axum")]
use serde::de::IgnoredAny;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use zeroize::Zeroizing;

/// The merchant's client: it holds the secret key and sends every operation. Cheap to clone; a server needs only one.
///
/// If the response to a call is lost, the client retries where that does no harm, within the deadline. Dropping the
/// future of a call cancels it. The module's documentation has an example.
///
/// ```no_run
/// use guichet::{Client, SecretKey};
/// use guichet::operations::ListCustomers;
/// # async fn print() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::builder("https://api.example.com", SecretKey::from_env("GUICHET_SECRET_KEY")?).build()?;
/// for customer in client.list_customers(&ListCustomers::new()).await?.entries {
///     println!("{} {}", customer.firstname, customer.lastname);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Client {
    transport: Transport,
    key: Arc<Key>,
}

/// The secret key, and its header, which is created once.
struct Key {
    secret: SecretKey,
    authorization: HeaderValue,
}

impl Client {
    /// Builds a client for the service at this address (`/v1` is added, once), with the merchant's secret key.
    pub fn builder(base_url: &str, key: SecretKey) -> ClientBuilder {
        ClientBuilder::new(base_url, key)
    }

    pub(super) fn new(secret: SecretKey, transport: Transport) -> Result<Self, Error> {
        let authorization = authorization(secret.bearer().unwrap_or_default())?;
        Ok(Self { transport, key: Arc::new(Key { secret, authorization }) })
    }

    /// The same client with another time limit for each call: all its attempts and pauses together.
    ///
    /// ```no_run
    /// # async fn read(client: guichet::Client, id: guichet::values::IntentId) -> Result<(), guichet::protocol::Error> {
    /// use std::time::Duration;
    /// let intent = client.with_deadline(Duration::from_secs(3)).read_payment_intent(&id).await?;
    /// # let _ = intent;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_deadline(&self, deadline: Duration) -> Self {
        Self { transport: self.transport.with_deadline(deadline), key: Arc::clone(&self.key) }
    }

    /// The time limit of each call.
    pub(super) fn deadline(&self) -> Duration {
        self.transport.deadline
    }

    /// Sends any operation that the secret key may send.
    ///
    /// # Errors
    /// See [`Kind`](crate::protocol::Kind): `refused` with the service's code, `offline`, `timeout`, `unreadable` (the
    /// reply is kept), and `uncertain` if a first attempt may have been executed.
    pub async fn send<O>(&self, operation: &O) -> Result<O::Output, Error>
    where
        O: Operation,
        O::Output: DeserializeOwned,
        SecretKey: Fulfils<O::Role>,
    {
        self.send_with(operation, &self.key.secret).await?.into_output::<O>()
    }

    /// Reads one page of a list, with the cursor of the next page.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn page<O, T>(&self, list: &O) -> Result<Page<T>, Error>
    where
        O: Operation<Output = Vec<T>>,
        T: DeserializeOwned,
        SecretKey: Fulfils<O::Role>,
    {
        self.send_with(list, &self.key.secret).await?.into_page(const { &O::SPEC })
    }

    /// A client that acts for one customer's session, with its token in place of the secret key.
    #[must_use]
    pub fn customer(&self, token: &SessionToken) -> CustomerClient {
        CustomerClient::new(self.clone(), token.clone())
    }

    /// The return key that is derived from the secret key. See [`ReturnKey`].
    #[must_use]
    pub fn return_key(&self) -> ReturnKey {
        ReturnKey::derived_from(&self.key.secret)
    }

    /// Sends an operation with a credential that fulfils its role, and returns the successful reply.
    pub(super) async fn send_with<O, C>(&self, operation: &O, credential: &C) -> Result<Reply, Error>
    where
        O: Operation,
        C: Fulfils<O::Role> + Sync,
    {
        self.fetch(const { &O::SPEC }, Transport::request(operation)?, credential).await
    }

    /// Sends the request of an operation. The caller has checked that the credential fulfils its role.
    pub(super) async fn fetch(
        &self,
        spec: &'static Spec,
        request: Request,
        credential: &(dyn Credential + Sync),
    ) -> Result<Reply, Error> {
        if credential.bearer() == self.key.secret.bearer() {
            return self.fetch_recorded(spec, request, None, &mut Vec::new()).await;
        }
        self.transport.send_with(spec, request, credential).await
    }

    /// Sends the request of an operation with the secret key, or a client secret. The result of each attempt is added
    /// to `attempts`.
    pub(super) async fn fetch_recorded(
        &self,
        spec: &'static Spec,
        request: Request,
        client_secret: Option<String>,
        attempts: &mut Vec<AttemptResult>,
    ) -> Result<Reply, Error> {
        if let Some(client_secret) = client_secret {
            let client_secret = ClientSecret::new(client_secret);
            let header = client_secret.bearer().map(authorization).transpose().map_err(|error| error.of(spec.name))?;
            return self.transport.fetch(spec, request, &client_secret, header.as_ref(), attempts).await;
        }
        let Key { secret, authorization } = &*self.key;
        self.transport.fetch(spec, request, secret, Some(authorization), attempts).await
    }

    /// The body of a reply to this request, which is JSON, without the key: it is for a page.
    #[cfg(feature = "axum")]
    pub(super) async fn json(&self, spec: &'static Spec, request: Request) -> Result<String, Error> {
        let reply = self.fetch_recorded(spec, request, None, &mut Vec::new()).await?;
        match decode::<IgnoredAny>(&reply.body) {
            Ok(_) => Ok(redact(String::from_utf8_lossy(&reply.body).into_owned(), self.key.secret.bearer())),
            Err(error) => Err(reply.unreadable::<IgnoredAny>(spec, &error)),
        }
    }

    /// What sends the client's requests, with any credential.
    #[must_use]
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    pub(super) fn profile(&self) -> Option<&Profile> {
        self.transport.profile()
    }

    pub(super) fn key(&self) -> &SecretKey {
        &self.key.secret
    }

    /// Another key, for this purpose alone: [`SecretKey::derive`].
    #[must_use]
    pub fn derive_key(&self, purpose: &str) -> Zeroizing<[u8; 32]> {
        self.key.secret.derive(purpose)
    }

    /// The address of all operations but the creation of intents, without `/v1`.
    #[cfg(feature = "axum")]
    pub(super) fn base_url(&self) -> &str {
        self.transport.base_url()
    }
}

impl Reply {
    /// Decodes the output of an operation. If the reply cannot be read, the error keeps it.
    pub(super) fn into_output<O>(self) -> Result<O::Output, Error>
    where
        O: Operation,
        O::Output: DeserializeOwned,
    {
        let spec = const { &O::SPEC };
        // A reply without content says no more than that it was done.
        let decoded = match self.body.trim_ascii() {
            [] => decode(b"null").or_else(|_| decode(b"{}")),
            body => decode(body),
        };
        decoded.map_err(|error| self.unreadable::<O::Output>(spec, &error))
    }

    /// Decodes the payment that it has, if it has one.
    pub(super) fn payment(
        self,
        spec: &'static Spec,
        payment_of: impl FnOnce(&[u8]) -> Result<Option<PaymentIntent>, serde_json::Error>,
    ) -> Result<Option<PaymentIntent>, Error> {
        payment_of(&self.body).map_err(|error| self.unreadable::<PaymentIntent>(spec, &error))
    }

    /// Decodes one page of a list.
    pub(super) fn into_page<T: DeserializeOwned>(self, spec: &'static Spec) -> Result<Page<T>, Error> {
        decode_page(&self.body).map_err(|error| self.unreadable::<Vec<T>>(spec, &error))
    }

    /// The error of a reply that cannot be read as `T`. It keeps the reply.
    fn unreadable<T: DeserializeOwned>(self, spec: &'static Spec, error: &serde_json::Error) -> Error {
        let cause = UnreadableReply::new::<T>(&self.body, error);
        let why = format!("The service's reply cannot be read ({cause}). It is kept in the error's `reply`.");
        self.rejected(spec, &why).caused_by(cause)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("transport", &self.transport).finish_non_exhaustive()
    }
}

/// A server needs these traits of its client; checked at compile time.
const _: () = {
    const fn is_shared<T: Clone + Send + Sync + 'static>() {}
    is_shared::<Client>();
    is_shared::<CustomerClient>();

    fn is_send<T: Send>(_: T) {}
    #[expect(dead_code, reason = "it only has to compile")]
    fn its_futures_are_send(client: &Client, order: &CreatePaymentIntent, token: &SessionToken) {
        is_send(client.send(order));
        is_send(client.customer(token).validate());
    }
};
