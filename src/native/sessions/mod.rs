//! The session tokens of the merchant's customers: one valid token per login, created once for concurrent requests, and
//! all ended when the customer signs out.

mod customer_session;
mod guard;
mod known;
#[cfg(feature = "axum")]
mod layer;
mod memory;
mod single_flight;
mod store;

pub use customer_session::CustomerSession;
pub use guard::SessionGuard;
#[cfg(feature = "axum")]
pub use layer::Guarded;
pub use memory::MemoryStore;
pub use store::{KeepResult, KeptSession, SessionStore};

use super::{Client, Reason, Refused, clock};
use crate::protocol::Kind;
use crate::values::{Email, Moment, SessionToken, printable};
pub(super) use single_flight::SingleFlight;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use store::AnyStore;
use tracing::Instrument;

/// A token that ends within two minutes is not handed out: the page that gets it would have to renew it at once.
const MARGIN: i64 = 120;
/// The most sessions that one call creates while other servers create sessions of the same login before it.
const MAX_CREATED: u32 = 3;

/// The session tokens of the merchant's customers, by their login in the shop. Cheap to clone; a server needs only one.
///
/// - One valid token per login: a second tab gets the same one, after the service has confirmed that it is still valid.
/// - One creation at a time: concurrent requests wait for the same result. If several servers with a shared store
///   create a session of one login at the same time, all of them return the one that was stored first and revoke the
///   others.
/// - Signing out ends all tokens of a login, also one that is being created at that moment and arrives later.
///
/// The merchant's routes hand them out if the shop names the login of a request
/// ([`Buyer::login`](super::Buyer::login)).
///
#[doc = example!()]
/// use guichet::native::Sessions;
/// use guichet::values::Email;
/// let sessions = Sessions::new(client.clone());
/// let awa = Email::new("awa@example.com")?;
/// let first = sessions.get_or_create("login-17", &awa).await?;
/// assert_eq!(sessions.get_or_create("login-17", &awa).await?.token, first.token);
///
/// sessions.sign_out("login-17").await?;
/// assert!(!client.customer(&first.token).validate().await?.valid);
/// assert_eq!(sessions.get_or_create("login-17", &awa).await.unwrap_err().code(), "authentication_required");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Sessions {
    inner: Arc<Inner>,
    creating: Arc<SingleFlight<(String, Email), Result<KeptSession, Refused>>>,
    guard: Option<SessionGuard>,
}

impl Sessions {
    /// Keeps the tokens in memory, for a shop with one server.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self::with_store(client, MemoryStore::default())
    }

    /// Keeps the tokens in this store.
    pub fn with_store(client: Client, store: impl SessionStore) -> Self {
        Self { inner: Arc::new(Inner { client, store: Box::new(store) }), creating: Arc::default(), guard: None }
    }

    /// Makes this guard refuse at once every token that is ended by signing out here. A guard with the same store
    /// ([`SessionGuard::with_store`]) also refuses those that are ended by signing out on another server. Where the
    /// service does not say whose a token is, the guard knows it of those that are given out here.
    #[must_use]
    pub fn guarded_by(self, guard: SessionGuard) -> Self {
        Self { guard: Some(guard), ..self }
    }

    /// Returns the live token of this customer's login. It creates one if there is none, if the last one ends soon, or
    /// if the service no longer accepts it.
    ///
    /// # Errors
    /// [`Refused`] with 401 `authentication_required` if the login has ended; the service's error if it creates no
    /// session; the store's error.
    pub async fn get_or_create(&self, login: &str, customer: &Email) -> Result<KeptSession, Refused> {
        let (inner, login, customer) = (Arc::clone(&self.inner), login.to_owned(), customer.clone());
        let work = {
            let (login, customer) = (login.clone(), customer.clone());
            async move { inner.live(&login, customer).await }
        };
        let cancelled = || Refused::broken("no session was created: the task was cancelled");
        let session = self.creating.run((login, customer), work).await.ok_or_else(cancelled)??;
        if let Some(guard) = &self.guard {
            guard.given_out(&session);
        }
        Ok(session)
    }

    /// Ends a login: revokes all its tokens, and creates no other for it. It continues to the end even if the caller
    /// drops the future. It can be repeated, and should be after an error: a token that could not be revoked expires
    /// within 30 minutes.
    ///
    /// # Errors
    /// [`Refused`] if the service did not revoke a token, or the store's error. It is the first error, after every
    /// token was tried.
    pub async fn sign_out(&self, login: &str) -> Result<(), Refused> {
        let (inner, guard, login) = (Arc::clone(&self.inner), self.guard.clone(), login.to_owned());
        // In a task of its own: the caller may disappear, and no later call ends this login.
        let work = tokio::spawn(async move { inner.end(&login, guard.as_ref()).await }.in_current_span());
        work.await.unwrap_or_else(|_| Err(Refused::broken("a login was not ended: the task was cancelled")))
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("client", &self.inner.client).finish_non_exhaustive()
    }
}

struct Inner {
    client: Client,
    store: Box<dyn AnyStore>,
}

impl Inner {
    async fn live(&self, login: &str, customer: Email) -> Result<KeptSession, Refused> {
        let mut found = self.store.newest(login).await?;
        for _ in 0..MAX_CREATED {
            if let Some(kept) = &found
                && kept.customer_email == customer
                && !kept.is_ending(clock::now())
                && self.is_good(&kept.token).await
            {
                return Ok(kept.clone());
            }
            let created = self.create(&customer).await?;
            let refused = match self.store.keep(login, &created, found.as_ref().map(|kept| &kept.token)).await {
                Ok(KeepResult::Stored) => return Ok(created),
                Ok(KeepResult::Other(first)) => {
                    found = Some(first);
                    None
                }
                Ok(KeepResult::LoginEnded) => Some(Refused::not_signed_in()),
                Err(refused) => Some(refused),
            };
            // No other code will end this session.
            if let Err(refused) = self.revoke(&created.token).await {
                tracing::warn!(code = %printable(refused.code()), "a session that was created and not stored was not revoked");
            }
            if let Some(refused) = refused {
                return Err(refused);
            }
        }
        let message = "Other servers of the shop create sessions of the same login. Please try again.";
        Err(Refused::new(503, Reason { code: "unavailable", message }).with_retry_after(1))
    }

    async fn create(&self, customer: &Email) -> Result<KeptSession, Refused> {
        let made_at = clock::now();
        let (session, date) = self.client.create_session_with_date(customer).await?;
        let ends_at = session.ends();
        let lifetime = ends_at.and_then(|end| lifetime(end, date.unwrap_or(made_at)));
        Ok(KeptSession { token: session.session_token, customer_email: customer.clone(), made_at, ends_at, lifetime })
    }

    async fn end(&self, login: &str, guard: Option<&SessionGuard>) -> Result<(), Refused> {
        let left = self.store.end(login, store::remember_for(&self.client)).await?;
        // The guard refuses all of them before the first is revoked, because revoking may take long.
        if let Some(guard) = guard {
            left.iter().for_each(|kept| guard.refuse(&kept.token));
        }
        let mut outcome = Ok(());
        for kept in left {
            let ended = match self.revoke(&kept.token).await {
                Ok(()) => self.store.forget(login, &kept.token).await,
                refused => refused,
            };
            outcome = outcome.and(ended);
        }
        outcome
    }

    /// Whether the service still accepts a token. If the service cannot be reached, the token counts as good: the
    /// service validates it at its next use.
    async fn is_good(&self, token: &SessionToken) -> bool {
        match self.client.customer(token).validate().await {
            Ok(state) => state.valid,
            Err(error) => error.kind() != Kind::Session,
        }
    }

    async fn revoke(&self, token: &SessionToken) -> Result<(), Refused> {
        match self.client.customer(token).revoke().await {
            // A session that the service does not know needs no revocation.
            Err(error) if error.kind() != Kind::Session => Err(error.into()),
            _ => Ok(()),
        }
    }
}

impl KeptSession {
    /// Whether it ends too soon to be handed out. If its lifetime is unknown, or shorter than the margin, only the
    /// service knows.
    fn is_ending(&self, now: Moment) -> bool {
        let age = now.unix().saturating_sub(self.made_at.unix());
        // The clock was set back, by more than the clocks of two servers differ, so its age is unknown.
        let is_of_the_future = age < -MARGIN;
        let lifetime = self.lifetime.map(|lifetime| lifetime.min(Self::LIFETIME).as_secs().cast_signed());
        is_of_the_future || lifetime.is_some_and(|lifetime| lifetime > MARGIN && lifetime.saturating_sub(age) < MARGIN)
    }
}

/// The time from a session's creation to its end.
fn lifetime(ends_at: Moment, made_at: Moment) -> Option<Duration> {
    u64::try_from(ends_at.unix().saturating_sub(made_at.unix())).ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_ends_soon_is_not_handed_out_and_a_wrong_clock_decides_nothing() {
        for (lifetime, now, ending) in [
            (Some(1800), 0, false),
            (Some(1800), 1680, false),
            (Some(1800), 1681, true),
            (Some(1800), 5000, true),
            // The service's clock was moved: the session lives no longer than the document says.
            (Some(1_000_000), 1680, false),
            (Some(1_000_000), 1681, true),
            // It ends before it could be handed out, or its end is unknown: the service validates it.
            (Some(100), 10, false),
            (None, 5000, false),
            // Another server of the shop is a minute ahead; this server's clock was set back by an hour.
            (Some(1800), -60, false),
            (Some(1800), -3600, true),
        ] {
            let kept = KeptSession {
                token: SessionToken::new("cst_test_1"),
                customer_email: Email::new("awa@example.com").expect("an e-mail"),
                made_at: Moment::from_unix(0),
                ends_at: None,
                lifetime: lifetime.map(Duration::from_secs),
            };
            assert_eq!(kept.is_ending(Moment::from_unix(now)), ending, "{lifetime:?} {now}");
        }
    }
}
