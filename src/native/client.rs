use super::reply::Reply;
use super::{ClientBuilder, CustomerClient, Profile, ReturnKey, SecretKey, Transport};
use crate::operations::CreatePaymentIntent;
use crate::protocol::{Error, Fulfils, Operation, Page};
#[cfg(feature = "axum")]
use crate::protocol::{Request, Spec, decode};
use crate::values::SessionToken;
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
    key: Arc<SecretKey>,
}

impl Client {
    /// Builds a client for the service at this address (`/v1` is added, once), with the merchant's secret key.
    pub fn builder(base_url: &str, key: SecretKey) -> ClientBuilder {
        ClientBuilder::new(base_url, key)
    }

    pub(super) fn new(key: SecretKey, transport: Transport) -> Self {
        Self { transport, key: Arc::new(key) }
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
        self.reply(operation).await?.into_output()
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
        self.reply(list).await?.into_page()
    }

    /// A client that acts for one customer's session, with its token in place of the secret key.
    #[must_use]
    pub fn customer(&self, token: &SessionToken) -> CustomerClient {
        CustomerClient::new(self.clone(), token.clone())
    }

    /// The return key that is derived from the secret key. See [`ReturnKey`].
    #[must_use]
    pub fn return_key(&self) -> ReturnKey {
        ReturnKey::derived_from(&self.key)
    }

    /// Sends an operation, and returns the successful reply.
    pub(super) async fn reply<O>(&self, operation: &O) -> Result<Reply, Error>
    where
        O: Operation,
        SecretKey: Fulfils<O::Role>,
    {
        let request = Transport::request(operation)?;
        self.transport.call(const { &O::SPEC }, request, self.key.header()).await.result
    }

    /// The body of a reply to this request, which is JSON, without the key: it is for a page.
    #[cfg(feature = "axum")]
    pub(super) async fn json(&self, spec: &'static Spec, request: Request) -> Result<String, Error> {
        let header = self.key.header();
        let reply = self.transport.call(spec, request, header).await.result?;
        match decode::<IgnoredAny>(&reply.body) {
            Ok(_) => Ok(header.redact(String::from_utf8_lossy(&reply.body).into_owned())),
            Err(error) => Err(reply.unreadable::<IgnoredAny>(&error)),
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
        &self.key
    }

    /// Another key, for this purpose alone: [`SecretKey::derive`].
    #[must_use]
    pub fn derive_key(&self, purpose: &str) -> Zeroizing<[u8; 32]> {
        self.key.derive(purpose)
    }

    /// The address of all operations but the creation of intents, without `/v1`.
    #[cfg(feature = "axum")]
    pub(super) fn base_url(&self) -> &str {
        self.transport.base_url()
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
