use super::fetch::{Bearer, Fetch, Reply, authorization};
use super::{ClientBuilder, Profile, SecretKey};
use crate::operations::CreatePaymentIntent;
use crate::protocol::{AttemptResult, Credential, Error, Kind, Operation, Request, Spec, assemble};
use bytes::Bytes;
use reqwest::header::HeaderValue;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// Whether credentials are a test environment's, which never move real money.
///
/// ```
/// use guichet::native::{Environment, Transport};
/// let transport = Transport::builder("http://127.0.0.1:4243", Environment::Test).build();
/// # #[cfg(feature = "native")]
/// transport?;
/// # Ok::<(), guichet::protocol::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Environment {
    /// Real money: sent by https, or to this machine.
    Live,
    /// A test environment, or a sandbox.
    Test,
}

/// A [`Client`](super::Client) without its secret key: sends requests with whichever credential it is given, retries
/// where that does no harm, and returns the service's reply unparsed. It is for tools that show a reply as it is; a
/// server uses the client.
///
/// ```no_run
/// use guichet::native::{Environment, Transport};
/// use guichet::operations::ValidateSession;
/// use guichet::protocol::Operation;
/// # async fn validate(token: guichet::values::SessionToken) -> Result<(), guichet::protocol::Error> {
/// let transport = Transport::builder("https://api.example.com", Environment::Live).build()?;
/// let request = Transport::request(&ValidateSession::new())?;
/// let reply = transport.send(const { &ValidateSession::SPEC }, request, &token).await?;
/// println!("{}", String::from_utf8_lossy(&reply));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Transport {
    shared: Arc<Shared>,
    pub(super) deadline: Duration,
}

struct Shared {
    base: Url,
    gateway: Url,
    profile: Option<Profile>,
    fetch: Fetch,
}

impl From<&SecretKey> for Environment {
    /// The environment of a key, by its prefix.
    fn from(key: &SecretKey) -> Self {
        if key.is_test() { Self::Test } else { Self::Live }
    }
}

impl Transport {
    /// Builds a transport to the service at this address. `environment` says which credentials it will be given: a live
    /// one is never sent by plain http to another machine.
    pub fn builder(base_url: &str, environment: Environment) -> ClientBuilder<Environment> {
        ClientBuilder::new(base_url, environment)
    }

    pub(super) fn new(base: Url, gateway: Url, profile: Option<Profile>, deadline: Duration, fetch: Fetch) -> Self {
        Self { shared: Arc::new(Shared { base, gateway, profile, fetch }), deadline }
    }

    pub(super) fn profile(&self) -> Option<&Profile> {
        self.shared.profile.as_ref()
    }

    pub(super) fn with_deadline(&self, deadline: Duration) -> Self {
        Self { shared: Arc::clone(&self.shared), deadline }
    }

    /// The request of an operation.
    ///
    /// # Errors
    /// Kind `input` if a value cannot be sent.
    pub fn request<O: Operation>(operation: &O) -> Result<Request, Error> {
        assemble(operation).map_err(|_| {
            let message = "A value of the request cannot be sent. An amount is 1 to 999999999999999 whole units; a value in a \
                path is not empty, \".\" or \"..\".";
            Error::new(Kind::Input, message).of(O::SPEC.name)
        })
    }

    /// Sends the request of an operation. Returns the body of the successful reply.
    ///
    /// The caller chooses a credential that fulfils the operation's role; another one gets the service's own error.
    ///
    /// # Errors
    /// As [`Client::send`](super::Client::send).
    pub async fn send(
        &self,
        spec: &'static Spec,
        request: Request,
        credential: &(dyn Credential + Sync),
    ) -> Result<Bytes, Error> {
        Ok(self.send_with(spec, request, credential).await?.body)
    }

    /// The same. Returns the whole reply.
    pub(super) async fn send_with(
        &self,
        spec: &'static Spec,
        request: Request,
        credential: &(dyn Credential + Sync),
    ) -> Result<Reply, Error> {
        let header = credential.bearer().map(authorization).transpose().map_err(|error| error.of(spec.name))?;
        self.fetch(spec, request, credential, header.as_ref(), &mut Vec::new()).await
    }

    /// Sends a request with a credential, whose header was made before. The result of each attempt is added to
    /// `attempts`.
    pub(super) async fn fetch(
        &self,
        spec: &'static Spec,
        request: Request,
        credential: &(dyn Credential + Sync),
        header: Option<&HeaderValue>,
        attempts: &mut Vec<AttemptResult>,
    ) -> Result<Reply, Error> {
        let bearer = credential.bearer().zip(header).map(|(text, header)| Bearer { text, header });
        let url = self.url(&request);
        self.shared.fetch.call(spec, url, request, bearer, self.deadline, attempts).await
    }

    /// The address of a request. The document shows a gateway address of its own for creating payment intents, and for
    /// nothing else.
    #[must_use]
    pub fn url(&self, request: &Request) -> Url {
        let creation = CreatePaymentIntent::SPEC;
        let is_creation = request.method == creation.method && request.target == creation.path;
        let base = if is_creation { &self.shared.gateway } else { &self.shared.base };
        // The host is not parsed again: that would take as long as reading a small reply.
        let (path, query) = match request.target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (&*request.target, None),
        };
        let mut url = base.clone();
        url.set_path(&[base.path().trim_end_matches('/'), path].concat());
        url.set_query(query);
        url
    }

    /// The address of all operations but the creation of intents, without `/v1`.
    #[cfg(feature = "axum")]
    pub(super) fn base_url(&self) -> &str {
        self.shared.base.as_str()
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("base", &self.shared.base.as_str())
            .field("gateway", &self.shared.gateway.as_str())
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
