//! The customer's session in a Rust page.

use super::client::Client;
use super::decode::decode;
use crate::flow::State;
use crate::operations::SessionState;
use crate::protocol::{Error, Kind};
use crate::values::Moment;
use std::rc::Rc;

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
        self.0.shop.session_status().state
    }

    /// When the current token expires, if that is known.
    #[must_use]
    pub fn expires_at(&self) -> Option<Moment> {
        self.0.shop.session_status().expires_at.map(|ms| Moment::from_unix((ms / 1000.0) as i64))
    }

    /// The customer's e-mail address, if it is known.
    #[must_use]
    pub fn email(&self) -> Option<String> {
        self.0.shop.session_status().email
    }

    /// Whether the current token is valid. Requests the first one, and renews none.
    ///
    /// # Errors
    /// Those of a call; see [`Kind`]. An invalid token is no error.
    pub async fn validate(&self) -> Result<SessionState, Error> {
        let state = Rc::clone(&self.0.shop).validate(self.0.options()).await?;
        decode(state).map_err(|_| Error::new(Kind::Unreadable, "The reply could not be read."))
    }

    /// Requests a new token from the merchant's server.
    ///
    /// # Errors
    /// [`Kind::SignedOut`] if no customer is signed in; otherwise those of a call.
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
