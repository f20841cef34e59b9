use crate::native::Refused;
use crate::values::{Email, Moment, SessionToken};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Where [`Sessions`](super::Sessions) keeps the tokens of each login. In memory there is [`MemoryStore`]; several servers
/// of one shop share a database, and write the four methods as `async fn` over it.
///
/// A login is what the shop says it is: a text that names one signing-in of one customer, and never another one. Its
/// entries may be dropped once they have ended, 30 minutes after they were made; that a login has ended is kept as long.
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
    /// The session that was kept last for a login; none where the login has ended.
    fn newest(&self, login: &str) -> impl Future<Output = Result<Option<KeptSession>, Refused>> + Send;

    /// Keeps a session; `false` where the login has ended, and then it is not kept. The two are one step.
    fn keep(&self, login: &str, session: &KeptSession) -> impl Future<Output = Result<bool, Refused>> + Send;

    /// Ends a login for good; every session that is still kept for it. Again, it gives what is left.
    fn end(&self, login: &str, now: Moment) -> impl Future<Output = Result<Vec<KeptSession>, Refused>> + Send;

    /// Drops a session that was revoked.
    fn forget(&self, login: &str, token: &SessionToken) -> impl Future<Output = Result<(), Refused>> + Send;
}

/// A session as it is kept. Its `Debug` shows no token.
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
    /// Whose it is.
    pub customer_email: Email,
    /// When it was made, by this server's clock.
    pub made_at: Moment,
    /// When it ends, by the service's clock, where that can be read.
    pub ends_at: Option<Moment>,
    /// How long it lives from `made_at` on: `ends_at` minus the `Date` of the reply that brought it, so that the two clocks
    /// need not agree. It is kept with the rest; without it, the service is asked about a token that may be about to end.
    pub lifetime: Option<Duration>,
}

/// How long the document lets a session live.
pub(super) const LIFETIME: i64 = 30 * 60;

/// Sessions in this process's memory: lost with it, and what was lost ends by itself.
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
            drop_what_is_over(logins, session.made_at);
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
            drop_what_is_over(logins, now);
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

/// Sessions that have ended by themselves, and logins of which nothing can come any more.
fn drop_what_is_over(logins: &mut HashMap<String, Login>, now: Moment) {
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
    async fn what_has_ended_by_itself_is_not_kept_for_ever() {
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
