use super::Client;
use crate::operations::{RevokeSession, RevokedSession, SessionState, ValidateSession};
use crate::protocol::{Error, Fulfils, Operation, decode};
use crate::values::SessionToken;
use serde::de::DeserializeOwned;

/// One customer's session, asked about from the merchant's server: [`Client::customer`].
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
    /// As [`Client::send`]; kind `session` when the token is expired, revoked or unknown.
    pub async fn send<O>(&self, operation: O) -> Result<O::Output, Error>
    where
        O: Operation,
        O::Output: DeserializeOwned,
        SessionToken: Fulfils<O::Role>,
    {
        self.client.ask(&operation, &self.token).await?.into_output::<O>()
    }

    /// `POST /v1/sessions/validate`: whether the token is still valid. That it is not is an answer, not an error.
    ///
    /// # Errors
    /// As [`Client::send`], for a service that cannot say.
    pub async fn validate(&self) -> Result<SessionState, Error> {
        match self.send(ValidateSession::new()).await {
            // The service may say so with a 401 (a decision): only one that says `valid: false` in so many words.
            Err(error) if error.status() == Some(401) => {
                let said =
                    error.reply().and_then(|reply| decode::<SessionState>(reply).ok()).filter(|state| !state.valid);
                said.ok_or(error)
            }
            other => other,
        }
    }

    /// `POST /v1/sessions/revoke`: end the session. It can be repeated.
    ///
    /// # Errors
    /// As [`Client::send`]; kind `session` for a token the service does not know.
    pub async fn revoke(&self) -> Result<RevokedSession, Error> {
        self.send(RevokeSession::new()).await
    }
}
