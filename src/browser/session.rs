//! The customer's session in a Rust page.

use super::client::Client;
use crate::flow::State;
use crate::operations::SessionState;
use crate::protocol::Error;
use crate::values::Moment;

/// The customer's session: a token in memory, requested when it is first needed.
///
/// ```no_run
/// # async fn sign_out(guichet: guichet::browser::Client) -> Result<(), guichet::protocol::Error> {
/// guichet.session().revoke().await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Session<'a>(pub(super) &'a Client);

impl Session<'_> {
    /// Its state now.
    #[must_use]
    pub fn state(&self) -> State {
        self.0.engine.session().state
    }

    /// When the current token expires, if that is known.
    #[must_use]
    pub fn expires_at(&self) -> Option<Moment> {
        self.0.engine.session().expires_at.map(|ms| Moment::from_unix((ms / 1000.0) as i64))
    }

    /// The customer's e-mail address, if it is known.
    #[must_use]
    pub fn email(&self) -> Option<String> {
        self.0.engine.session().email
    }

    /// Whether the current token is valid. Requests the first one, and renews none.
    ///
    /// # Errors
    /// Those of a call; see [`Kind`](crate::protocol::Kind). An invalid token is no error.
    pub async fn validate(&self) -> Result<SessionState, Error> {
        self.0.engine.validate(self.0.timeout).await
    }

    /// Requests a new token from the merchant's server.
    ///
    /// # Errors
    /// [`Kind::SignedOut`](crate::protocol::Kind::SignedOut) if no customer is signed in; otherwise those of a call.
    pub async fn renew(&self) -> Result<(), Error> {
        self.0.engine.renew().await
    }

    /// Signs out: ends the session at the service, and in every tab.
    ///
    /// # Errors
    /// Those of a call; see [`Kind`](crate::protocol::Kind).
    pub async fn revoke(&self) -> Result<(), Error> {
        self.0.engine.revoke(self.0.timeout).await
    }
}
