use crate::native::Refused;
use crate::values::{Email, Moment, SessionToken};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Stores the tokens of each login for [`Sessions`](super::Sessions). [`MemoryStore`] keeps them in memory; several
/// servers of one shop share a database and implement the four methods as `async fn` over it.
///
/// The shop defines a login: a text that names one sign-in of one customer, and never another one. An entry may be
/// deleted 30 minutes after its creation, when the session has expired. Keep the fact that a login has ended for the
/// same time.
///
/// ```
/// use guichet::native::{KeptSession, Refused, SessionStore};
/// use guichet::values::{Moment, SessionToken};
/// # struct Database;
/// # impl Database {
/// #     async fn newest(&self, _: &str) -> Result<Option<KeptSession>, Refused> { Ok(None) }
/// #     async fn insert(&self, _: &str, _: &KeptSession) -> Result<bool, Refused> { Ok(true) }
/// #     async fn end(&self, _: &str, _: Moment) -> Result<Vec<KeptSession>, Refused> { Ok(vec![]) }
/// #     async fn delete(&self, _: &str, _: &SessionToken) -> Result<(), Refused> { Ok(()) }
/// # }
/// struct Shared(Database);
///
/// impl SessionStore for Shared {
///     async fn newest(&self, login: &str) -> Result<Option<KeptSession>, Refused> {
///         self.0.newest(login).await
///     }
///     async fn keep(&self, login: &str, session: &KeptSession) -> Result<bool, Refused> {
///         self.0.insert(login, session).await // in one transaction: only if the login has not ended
///     }
///     async fn end(&self, login: &str, now: Moment) -> Result<Vec<KeptSession>, Refused> {
///         self.0.end(login, now).await
///     }
///     async fn forget(&self, login: &str, token: &SessionToken) -> Result<(), Refused> {
///         self.0.delete(login, token).await
///     }
/// }
/// ```
pub trait SessionStore: Send + Sync + 'static {
    /// The newest session of a login; `None` if the login has ended.
    fn newest(&self, login: &str) -> impl Future<Output = Result<Option<KeptSession>, Refused>> + Send;

    /// Stores a session and returns `true`, or stores nothing and returns `false` if the login has ended. Both are one
    /// atomic step.
    fn keep(&self, login: &str, session: &KeptSession) -> impl Future<Output = Result<bool, Refused>> + Send;

    /// Ends a login for good. Returns every session that is still stored for it; a second call returns those that are
    /// left.
    fn end(&self, login: &str, now: Moment) -> impl Future<Output = Result<Vec<KeptSession>, Refused>> + Send;

    /// Deletes a revoked session.
    fn forget(&self, login: &str, token: &SessionToken) -> impl Future<Output = Result<(), Refused>> + Send;
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
    /// When it was created, by this server's clock.
    pub made_at: Moment,
    /// When it ends, by the service's clock, if that can be parsed.
    pub ends_at: Option<Moment>,
    /// Its lifetime from `made_at` on: `ends_at` minus the `Date` of the same reply, so that the two clocks need not
    /// agree. Store it too: without it, the service must validate a token that may be about to end.
    pub lifetime: Option<Duration>,
}

/// The document's lifetime of a session, in seconds.
pub(super) const LIFETIME: i64 = 30 * 60;

/// Keeps sessions in this process's memory. They are lost with it; a lost session expires by itself.
///
/// ```
/// use guichet::native::{MemoryStore, Sessions};
/// fn sessions(client: guichet::Client) -> Sessions {
///     Sessions::with_store(client, MemoryStore::default())
/// }
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<HashMap<String, Login>>);

#[derive(Debug, Default)]
struct Login {
    sessions: Vec<KeptSession>,
    ended_at: Option<Moment>,
}

impl MemoryStore {
    fn with<T>(&self, work: impl FnOnce(&mut HashMap<String, Login>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SessionStore for MemoryStore {
    async fn newest(&self, login: &str) -> Result<Option<KeptSession>, Refused> {
        let of = |login: &Login| login.sessions.last().filter(|_| login.ended_at.is_none()).cloned();
        Ok(self.with(|logins| logins.get(login).and_then(of)))
    }

    async fn keep(&self, login: &str, session: &KeptSession) -> Result<bool, Refused> {
        Ok(self.with(|logins| {
            drop_expired(logins, session.made_at);
            let login = logins.entry(login.to_owned()).or_default();
            let goes_on = login.ended_at.is_none();
            if goes_on {
                login.sessions.push(session.clone());
            }
            goes_on
        }))
    }

    async fn end(&self, login: &str, now: Moment) -> Result<Vec<KeptSession>, Refused> {
        Ok(self.with(|logins| {
            drop_expired(logins, now);
            let login = logins.entry(login.to_owned()).or_default();
            login.ended_at.get_or_insert(now);
            login.sessions.clone()
        }))
    }

    async fn forget(&self, login: &str, token: &SessionToken) -> Result<(), Refused> {
        self.with(|logins| {
            if let Some(login) = logins.get_mut(login) {
                login.sessions.retain(|session| session.token != *token);
            }
        });
        Ok(())
    }
}

/// Deletes expired sessions, and ended logins for which no session can arrive any more.
fn drop_expired(logins: &mut HashMap<String, Login>, now: Moment) {
    let goes_on = |since: Moment| since.plus(LIFETIME) > now;
    logins.retain(|_, login| {
        login.sessions.retain(|session| goes_on(session.made_at));
        !login.sessions.is_empty() || login.ended_at.is_some_and(goes_on)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(made_at: i64) -> KeptSession {
        KeptSession {
            token: SessionToken::new(format!("cst_test_{made_at}")),
            customer_email: Email::new("awa@example.com").expect("an e-mail"),
            made_at: Moment::from_unix(made_at),
            ends_at: None,
            lifetime: None,
        }
    }

    #[tokio::test]
    async fn expired_sessions_are_deleted() {
        let store = MemoryStore::default();
        for (login, made_at) in [("a", 0), ("a", 60), ("b", LIFETIME)] {
            assert!(store.keep(login, &session(made_at)).await.expect("it is kept"));
        }
        assert_eq!(store.with(|logins| logins["a"].sessions.clone()), [session(60)]);
        store.end("b", Moment::from_unix(LIFETIME + 60)).await.expect("it ends");
        assert_eq!(store.with(|logins| logins.len()), 1, "nothing is left of the first");
        assert!(!store.keep("b", &session(LIFETIME + 120)).await.expect("an answer"), "it has ended");
        store.keep("c", &session(3 * LIFETIME)).await.expect("it is kept");
        assert_eq!(store.with(|logins| logins.len()), 1);
    }
}
