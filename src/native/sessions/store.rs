//! What a store of sessions promises to [`Sessions`](super::Sessions) and to the guard.

use crate::native::{Client, Refused};
use crate::values::{Email, Moment, SessionToken};
use sha2::{Digest, Sha256};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Stores the tokens of each login for [`Sessions`](super::Sessions). [`MemoryStore`](super::MemoryStore) keeps them in
/// memory, for a shop with one server. Several servers share a `PostgresSessions` or a `RedisSessions` of the crate
/// `guichet-sessions`, or a store of your own.
///
/// The shop defines a login: a text that names one sign-in of one customer, and never another one. Each method is one
/// atomic step. A repeated call does no harm, so a store may repeat a step whose answer was lost.
///
/// A session is kept for [`KeptSession::LIFETIME`] from [`keep`](SessionStore::keep) on, when it has expired; a store
/// may delete it then. Measure that time by the store's own clock, since the clocks of the servers differ. A reader of
/// the database must not learn a token: encrypt it.
///
/// ```
/// use guichet::native::{KeepResult, KeptSession, Refused, SessionStore};
/// use guichet::values::SessionToken;
/// use std::time::Duration;
/// # struct Database;
/// # impl Database {
/// #     async fn newest(&self, _: &str) -> Result<Option<KeptSession>, Refused> { Ok(None) }
/// #     async fn insert(&self, _: &str, _: &KeptSession, _: Option<&SessionToken>) -> Result<KeepResult, Refused> { Ok(KeepResult::Stored) }
/// #     async fn end(&self, _: &str, _: Duration) -> Result<Vec<KeptSession>, Refused> { Ok(vec![]) }
/// #     async fn delete(&self, _: &str, _: &SessionToken) -> Result<(), Refused> { Ok(()) }
/// #     async fn has_ended(&self, _: &SessionToken) -> Result<bool, Refused> { Ok(false) }
/// # }
/// struct Shared(Database);
///
/// impl SessionStore for Shared {
///     async fn newest(&self, login: &str) -> Result<Option<KeptSession>, Refused> {
///         self.0.newest(login).await
///     }
///     async fn keep(&self, login: &str, session: &KeptSession, replaced: Option<&SessionToken>) -> Result<KeepResult, Refused> {
///         self.0.insert(login, session, replaced).await // in one transaction
///     }
///     async fn end(&self, login: &str, remember_for: Duration) -> Result<Vec<KeptSession>, Refused> {
///         self.0.end(login, remember_for).await
///     }
///     async fn forget(&self, login: &str, token: &SessionToken) -> Result<(), Refused> {
///         self.0.delete(login, token).await
///     }
///     async fn has_ended(&self, token: &SessionToken) -> Result<bool, Refused> {
///         self.0.has_ended(token).await
///     }
/// }
/// ```
pub trait SessionStore: Send + Sync + 'static {
    /// The newest session of a login; `None` if the login has ended.
    fn newest(&self, login: &str) -> impl Future<Output = Result<Option<KeptSession>, Refused>> + Send;

    /// Stores a new session of a login, so that of several servers only one wins. It stores nothing if the login has
    /// ended, or if the newest session is another one than `replaced`: the one that [`newest`](SessionStore::newest)
    /// returned to the caller, who does not hand it out. Without a newest session it is stored whatever `replaced` is.
    /// Storing the newest session again changes nothing.
    ///
    /// The replaced session stays stored: it may still be valid, and [`end`](SessionStore::end) returns it.
    fn keep(
        &self,
        login: &str,
        session: &KeptSession,
        replaced: Option<&SessionToken>,
    ) -> impl Future<Output = Result<KeepResult, Refused>> + Send;

    /// Ends a login and all its tokens for good. Returns every session that is still stored for it, the oldest first; a
    /// second call returns those that are left. The store remembers for this time that the login and the tokens have
    /// ended.
    fn end(
        &self,
        login: &str,
        remember_for: Duration,
    ) -> impl Future<Output = Result<Vec<KeptSession>, Refused>> + Send;

    /// Deletes a revoked session, but not the fact that its token has ended.
    fn forget(&self, login: &str, token: &SessionToken) -> impl Future<Output = Result<(), Refused>> + Send;

    /// Whether a token was ended with its login. A guard asks this at each request.
    fn has_ended(&self, token: &SessionToken) -> impl Future<Output = Result<bool, Refused>> + Send;
}

/// What [`SessionStore::keep`] did.
///
/// ```
/// use guichet::native::KeepResult;
/// let result = KeepResult::LoginEnded;
/// assert!(!matches!(result, KeepResult::Stored));
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum KeepResult {
    /// The session is stored, and is the newest one of its login.
    Stored,
    /// The login has ended; nothing was stored.
    LoginEnded,
    /// Another server has stored this session first; nothing was stored.
    Other(KeptSession),
}

/// A stored session. Its `Debug` shows no token.
///
/// ```
/// use guichet::native::KeptSession;
/// use guichet::values::{Email, Moment, SessionToken};
/// let kept = KeptSession {
///     token: SessionToken::new("cst_test_1"),
///     customer_email: Email::new("awa@example.com").unwrap(),
///     made_at: Moment::from_unix(1_795_257_000),
///     ends_at: None,
///     lifetime: None,
/// };
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KeptSession {
    /// The token.
    pub token: SessionToken,
    /// The customer's e-mail address.
    pub customer_email: Email,
    /// When it was created, by the clock of the server that created it.
    pub made_at: Moment,
    /// When it ends, by the service's clock, if that can be parsed.
    pub ends_at: Option<Moment>,
    /// Its lifetime from `made_at` on: `ends_at` minus the `Date` of the same reply, so that the two clocks need not
    /// agree. Store it too: without it, the service must validate a token that may be about to end.
    pub lifetime: Option<Duration>,
}

impl KeptSession {
    /// The document's lifetime of a session: 30 minutes. A store keeps it for this time.
    pub const LIFETIME: Duration = Duration::from_secs(30 * 60);
}

/// The time for which it is remembered that a token has ended: the lifetime of a session and a call's deadline, since a
/// reply that was sent before the end may still arrive.
pub(super) fn remember_for(client: &Client) -> Duration {
    KeptSession::LIFETIME + client.deadline().min(KeptSession::LIFETIME)
}

/// The SHA-256 of a token, by which it is found without being stored.
pub(super) type TokenHash = [u8; 32];

pub(super) fn token_hash(token: &SessionToken) -> TokenHash {
    Sha256::digest(token.expose()).into()
}

/// A shared store is a store.
impl<S: SessionStore> SessionStore for Arc<S> {
    async fn newest(&self, login: &str) -> Result<Option<KeptSession>, Refused> {
        S::newest(self, login).await
    }
    async fn keep(
        &self,
        login: &str,
        session: &KeptSession,
        replaced: Option<&SessionToken>,
    ) -> Result<KeepResult, Refused> {
        S::keep(self, login, session, replaced).await
    }
    async fn end(&self, login: &str, remember_for: Duration) -> Result<Vec<KeptSession>, Refused> {
        S::end(self, login, remember_for).await
    }
    async fn forget(&self, login: &str, token: &SessionToken) -> Result<(), Refused> {
        S::forget(self, login, token).await
    }
    async fn has_ended(&self, token: &SessionToken) -> Result<bool, Refused> {
        S::has_ended(self, token).await
    }
}

pub(super) type Waiting<'a, T> = Pin<Box<dyn Future<Output = Result<T, Refused>> + Send + 'a>>;

/// A [`SessionStore`] as a trait object, so that `Sessions` and `SessionGuard` have no type parameter for it.
pub(super) trait AnyStore: Send + Sync {
    fn newest<'a>(&'a self, login: &'a str) -> Waiting<'a, Option<KeptSession>>;
    fn keep<'a>(
        &'a self,
        login: &'a str,
        session: &'a KeptSession,
        replaced: Option<&'a SessionToken>,
    ) -> Waiting<'a, KeepResult>;
    fn end<'a>(&'a self, login: &'a str, remember_for: Duration) -> Waiting<'a, Vec<KeptSession>>;
    fn forget<'a>(&'a self, login: &'a str, token: &'a SessionToken) -> Waiting<'a, ()>;
    fn has_ended<'a>(&'a self, token: &'a SessionToken) -> Waiting<'a, bool>;
}

impl<S: SessionStore> AnyStore for S {
    fn newest<'a>(&'a self, login: &'a str) -> Waiting<'a, Option<KeptSession>> {
        Box::pin(SessionStore::newest(self, login))
    }
    fn keep<'a>(
        &'a self,
        login: &'a str,
        session: &'a KeptSession,
        replaced: Option<&'a SessionToken>,
    ) -> Waiting<'a, KeepResult> {
        Box::pin(SessionStore::keep(self, login, session, replaced))
    }
    fn end<'a>(&'a self, login: &'a str, remember_for: Duration) -> Waiting<'a, Vec<KeptSession>> {
        Box::pin(SessionStore::end(self, login, remember_for))
    }
    fn forget<'a>(&'a self, login: &'a str, token: &'a SessionToken) -> Waiting<'a, ()> {
        Box::pin(SessionStore::forget(self, login, token))
    }
    fn has_ended<'a>(&'a self, token: &'a SessionToken) -> Waiting<'a, bool> {
        Box::pin(SessionStore::has_ended(self, token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::SecretKey;

    #[test]
    fn an_end_is_remembered_for_the_life_of_a_session_and_a_calls_deadline() {
        let key = SecretKey::new("sk_test_1").expect("a key");
        let client = Client::builder("http://127.0.0.1:1", key).build().expect("a client");
        assert_eq!(remember_for(&client), Duration::from_secs(30 * 60 + 30));
        assert_eq!(remember_for(&client.with_deadline(Duration::MAX)), Duration::from_secs(60 * 60), "no overflow");
    }
}
