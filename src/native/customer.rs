use super::bearer::Bearer;
use super::reply::Reply;
use super::{Client, Transport};
use crate::operations::{RevokeSession, RevokedSession, SessionState, ValidateSession};
use crate::protocol::{Error, Fulfils, Operation, Page, decode};
use crate::values::{Moment, SessionToken};
use serde::de::DeserializeOwned;

/// A client for one customer's session, on the merchant's server: [`Client::customer`].
///
/// ```no_run
/// # async fn check(client: guichet::Client, token: guichet::values::SessionToken) -> Result<(), guichet::protocol::Error> {
/// let customer = client.customer(&token);
/// if !customer.validate().await?.valid {
///     customer.revoke().await?;
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct CustomerClient {
    pub(super) client: Client,
    pub(super) token: SessionToken,
}

impl CustomerClient {
    pub(super) fn new(client: Client, token: SessionToken) -> Self {
        Self { client, token }
    }

    /// Sends any operation that a session token may send.
    ///
    /// # Errors
    /// As [`Client::send`]; kind `session` if the token is expired, revoked or unknown.
    pub async fn send<O>(&self, operation: &O) -> Result<O::Output, Error>
    where
        O: Operation,
        O::Output: DeserializeOwned,
        SessionToken: Fulfils<O::Role>,
    {
        self.reply(operation).await?.into_output()
    }

    /// Reads one page of a list that a session token may request, with the cursor of the next page.
    ///
    /// # Errors
    /// As [`CustomerClient::send`].
    pub async fn page<O, T>(&self, list: &O) -> Result<Page<T>, Error>
    where
        O: Operation<Output = Vec<T>>,
        T: DeserializeOwned,
        SessionToken: Fulfils<O::Role>,
    {
        self.reply(list).await?.into_page()
    }

    /// `POST /v1/sessions/validate`: whether the token is still valid. An invalid token is no error.
    ///
    /// # Errors
    /// As [`Client::send`], if the service cannot tell.
    pub async fn validate(&self) -> Result<SessionState, Error> {
        self.validate_with_date().await.map(|(state, _)| state)
    }

    /// The same, with the service's time of its reply if the reply says that the token is valid.
    pub(super) async fn validate_with_date(&self) -> Result<(SessionState, Option<Moment>), Error> {
        match self.reply(&ValidateSession::new()).await {
            Ok(reply) => {
                let date = reply.date;
                Ok((reply.into_output()?, date))
            }
            // The service may reply 401 for an invalid token (a decision). Only a body with `valid: false` counts.
            Err(error) if error.status() == Some(401) => {
                let state =
                    error.reply().and_then(|reply| decode::<SessionState>(reply).ok()).filter(|state| !state.valid);
                state.map(|state| (state, None)).ok_or(error)
            }
            Err(error) => Err(error),
        }
    }

    /// `POST /v1/sessions/revoke`: end the session. It can be repeated.
    ///
    /// # Errors
    /// As [`Client::send`]; kind `session` if the service does not know the token.
    pub async fn revoke(&self) -> Result<RevokedSession, Error> {
        self.send(&RevokeSession::new()).await
    }

    /// Sends an operation, and returns the successful reply.
    async fn reply<O>(&self, operation: &O) -> Result<Reply, Error>
    where
        O: Operation,
        SessionToken: Fulfils<O::Role>,
    {
        let spec = const { &O::SPEC };
        let request = Transport::request(operation)?;
        self.client.transport().call(spec, request, &Bearer::of(&self.token, spec)?).await.result
    }
}
