use super::fetch::{Answer, Fetch, unreadable};
use super::{ClientBuilder, CustomerClient, ReturnKey, SecretKey};
use crate::operations::CreatePaymentIntent;
use crate::protocol::{Credential, Error, Fulfils, Kind, Operation, Request, Spec, Timeouts, assemble, decode};
use crate::values::SessionToken;
use serde::de::DeserializeOwned;
use std::fmt;
use std::sync::Arc;

/// The merchant's client: it holds the secret key and sends every operation. Cheap to clone; one is enough for a server.
///
/// A call whose answer was lost is sent again where that does no harm, within the deadline. Dropping the future of a
/// call ends it. The module's own page has an example.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    key: SecretKey,
    base: String,
    gateway: String,
    timeouts: Timeouts,
    fetch: Fetch,
}

impl Client {
    /// A client of the service at this address (`/v1` is added, once), with the merchant's secret key.
    pub fn builder(base_url: &str, key: SecretKey) -> ClientBuilder {
        ClientBuilder::new(base_url, key)
    }

    pub(super) fn new(key: SecretKey, base: String, gateway: String, timeouts: Timeouts, fetch: Fetch) -> Self {
        Self(Arc::new(Inner { key, base, gateway, timeouts, fetch }))
    }

    /// Sends any operation that the secret key may send.
    ///
    /// # Errors
    /// See [`Kind`]: `refused` with the service's code, `offline`, `timeout`, `unreadable` (the reply is kept), and
    /// `uncertain` where a first attempt may have been done.
    pub async fn send<O>(&self, operation: O) -> Result<O::Output, Error>
    where
        O: Operation,
        O::Output: DeserializeOwned,
        SecretKey: Fulfils<O::Role>,
    {
        self.ask(&operation, &self.0.key).await?.into_output::<O>()
    }

    /// Speaks for one customer's session, with its token in place of the secret key.
    #[must_use]
    pub fn customer(&self, token: &SessionToken) -> CustomerClient {
        CustomerClient::new(self.clone(), token.clone())
    }

    /// The return key that is derived from the secret key. See [`ReturnKey`].
    #[must_use]
    pub fn return_key(&self) -> ReturnKey {
        ReturnKey::derived_from(&self.0.key)
    }

    /// Sends an operation with a credential that fulfils its role, and hands back the successful answer.
    pub(super) async fn ask<O, C>(&self, operation: &O, credential: &C) -> Result<Answer, Error>
    where
        O: Operation,
        C: Fulfils<O::Role> + Sync,
    {
        self.fetch(const { &O::SPEC }, &Self::request(operation)?, credential).await
    }

    /// The request of an operation.
    pub(crate) fn request<O: Operation>(operation: &O) -> Result<Request, Error> {
        assemble(operation).map_err(|_| {
            Error::new(Kind::Input, "A value of the request cannot travel in a path: it is empty, \".\" or \"..\".")
                .of(O::SPEC.name)
        })
    }

    /// Sends the request of an operation with a credential, whose role is the caller's to have checked.
    pub(super) async fn fetch(
        &self,
        spec: &'static Spec,
        request: &Request,
        credential: &(dyn Credential + Sync),
    ) -> Result<Answer, Error> {
        let Inner { timeouts, fetch, .. } = &*self.0;
        fetch.call(spec, self.address(request), request, credential.bearer(), *timeouts).await
    }

    /// The bytes of the service's reply to a request, for who shows them as they are.
    #[cfg(feature = "cli")]
    pub(crate) async fn reply(
        &self,
        spec: &'static Spec,
        request: &Request,
        credential: &(dyn Credential + Sync),
    ) -> Result<Vec<u8>, Error> {
        Ok(self.fetch(spec, request, credential).await?.body)
    }

    /// The plain HTTP client that it asks by.
    #[cfg(feature = "cli")]
    pub(crate) fn http(&self) -> &reqwest::Client {
        self.0.fetch.http()
    }

    /// Where a request is sent, without `/v1`. The document shows creation, and creation alone, at a gateway address of its
    /// own.
    pub(crate) fn address(&self, request: &Request) -> &str {
        let creation = CreatePaymentIntent::SPEC;
        let is_creation = request.method == creation.method && request.target == creation.path;
        if is_creation { &self.0.gateway } else { &self.0.base }
    }

    /// Where every operation but creation is sent, without `/v1`.
    pub(super) fn base_url(&self) -> &str {
        &self.0.base
    }

    pub(crate) fn key(&self) -> &SecretKey {
        &self.0.key
    }
}

impl Answer {
    /// The output of an operation; a reply that cannot be read is kept in the error.
    pub(super) fn into_output<O>(self) -> Result<O::Output, Error>
    where
        O: Operation,
        O::Output: DeserializeOwned,
    {
        decode(&self.body).map_err(|_| self.unreadable(const { &O::SPEC }))
    }

    /// Why this reply cannot be read. It is kept.
    pub(super) fn unreadable(self, spec: &'static Spec) -> Error {
        let request_id = self.request_id().map(str::to_owned);
        let error = unreadable(spec, "The service's reply cannot be read. It is kept in the error's `reply`.");
        error.with_reply(self.status, request_id, self.body)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { base, gateway, timeouts, .. } = &*self.0;
        f.debug_struct("Client")
            .field("base", base)
            .field("gateway", gateway)
            .field("timeouts", timeouts)
            .finish_non_exhaustive()
    }
}

/// What a server needs of its client, asked at compile time.
const _: () = {
    const fn is_shared<T: Clone + Send + Sync + 'static>() {}
    is_shared::<Client>();
    is_shared::<CustomerClient>();

    fn is_send<T: Send>(_: T) {}
    #[expect(dead_code, reason = "it only has to compile")]
    fn its_futures_are_send(client: &Client, order: CreatePaymentIntent, token: &SessionToken) {
        is_send(client.send(order));
        is_send(client.customer(token).validate());
    }
};
