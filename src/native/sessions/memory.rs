use super::store::{KeepResult, KeptSession, SessionStore, TokenHash, token_hash};
use crate::native::{Refused, clock};
use crate::values::SessionToken;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Keeps sessions in this process's memory. They are lost with it; a lost session expires by itself.
///
/// ```
/// use guichet::native::{MemoryStore, Sessions};
/// fn sessions(client: guichet::Client) -> Sessions {
///     Sessions::with_store(client, MemoryStore::default())
/// }
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<Logins>);

impl MemoryStore {
    /// Does a step at the present time.
    fn at_present<T>(&self, step: impl FnOnce(&mut Logins, Instant) -> T) -> Result<T, Refused> {
        let mut logins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(step(&mut logins, clock::monotonic_now()))
    }
}

impl SessionStore for MemoryStore {
    async fn newest(&self, login: &str) -> Result<Option<KeptSession>, Refused> {
        self.at_present(|logins, now| logins.newest(login, now).cloned())
    }

    async fn keep(
        &self,
        login: &str,
        session: &KeptSession,
        replaced: Option<&SessionToken>,
    ) -> Result<KeepResult, Refused> {
        self.at_present(|logins, now| logins.keep(login, session, replaced, now))
    }

    async fn end(&self, login: &str, remember_for: Duration) -> Result<Vec<KeptSession>, Refused> {
        self.at_present(|logins, now| logins.end(login, remember_for, now))
    }

    async fn forget(&self, login: &str, token: &SessionToken) -> Result<(), Refused> {
        self.at_present(|logins, _| logins.forget(login, token))
    }

    async fn has_ended(&self, token: &SessionToken) -> Result<bool, Refused> {
        self.at_present(|logins, now| logins.ended_tokens.get(&token_hash(token)).is_some_and(|until| now < *until))
    }
}

#[derive(Debug, Default)]
struct Logins {
    by_name: HashMap<String, Login>,
    /// The tokens that were ended, each until this is forgotten.
    ended_tokens: HashMap<TokenHash, Instant>,
}

#[derive(Debug, Default)]
struct Login {
    /// The oldest first, each until it is deleted.
    sessions: Vec<(KeptSession, Instant)>,
    /// Until when it is remembered that the login has ended.
    ended_until: Option<Instant>,
}

impl Logins {
    fn newest(&self, login: &str, now: Instant) -> Option<&KeptSession> {
        let login = self.by_name.get(login).filter(|login| login.ended_until.is_none())?;
        login.sessions.last().filter(|(_, expires_at)| now < *expires_at).map(|(session, _)| session)
    }

    fn keep(
        &mut self,
        login: &str,
        session: &KeptSession,
        replaced: Option<&SessionToken>,
        now: Instant,
    ) -> KeepResult {
        self.drop_expired(now);
        let login = self.by_name.entry(login.to_owned()).or_default();
        if login.ended_until.is_some() {
            return KeepResult::LoginEnded;
        }
        match login.sessions.last() {
            Some((newest, _)) if newest.token == session.token => {}
            Some((newest, _)) if Some(&newest.token) != replaced => return KeepResult::Other(newest.clone()),
            _ => login.sessions.push((session.clone(), now + KeptSession::LIFETIME)),
        }
        KeepResult::Stored
    }

    fn end(&mut self, login: &str, remember_for: Duration, now: Instant) -> Vec<KeptSession> {
        self.drop_expired(now);
        let until = now + remember_for;
        let login = self.by_name.entry(login.to_owned()).or_default();
        login.ended_until = Some(until);
        for (session, expires_at) in &mut login.sessions {
            *expires_at = until;
            self.ended_tokens.insert(token_hash(&session.token), until);
        }
        login.sessions.iter().map(|(session, _)| session.clone()).collect()
    }

    fn forget(&mut self, login: &str, token: &SessionToken) {
        if let Some(login) = self.by_name.get_mut(login) {
            login.sessions.retain(|(session, _)| session.token != *token);
        }
    }

    fn drop_expired(&mut self, now: Instant) {
        self.ended_tokens.retain(|_, until| now < *until);
        self.by_name.retain(|_, login| {
            login.sessions.retain(|(_, expires_at)| now < *expires_at);
            login.ended_until = login.ended_until.filter(|until| now < *until);
            !login.sessions.is_empty() || login.ended_until.is_some()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::{Email, Moment};

    fn session(number: u32) -> KeptSession {
        KeptSession {
            token: SessionToken::new(format!("cst_test_{number}")),
            customer_email: Email::new("awa@example.com").expect("an e-mail"),
            made_at: Moment::from_unix(0),
            ends_at: None,
            lifetime: None,
        }
    }

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn expired_sessions_are_deleted() {
        let (mut logins, now) = (Logins::default(), clock::monotonic_now());
        assert_eq!(logins.keep("a", &session(1), None, now), KeepResult::Stored);
        assert_eq!(logins.keep("a", &session(2), Some(&session(1).token), now + MINUTE), KeepResult::Stored);
        logins.keep("b", &session(3), None, now + KeptSession::LIFETIME);
        assert_eq!(logins.by_name["a"].sessions.len(), 1);
        assert_eq!(logins.newest("a", now + KeptSession::LIFETIME), Some(&session(2)));
        assert_eq!(logins.newest("a", now + KeptSession::LIFETIME + MINUTE), None);
        logins.keep("b", &session(4), Some(&session(3).token), now + KeptSession::LIFETIME + MINUTE);
        assert_eq!(logins.by_name.len(), 1, "nothing is left of the first");
    }

    #[test]
    fn an_ended_login_and_its_tokens_are_remembered_for_the_time_that_was_given() {
        let (mut logins, now) = (Logins::default(), clock::monotonic_now());
        logins.keep("a", &session(1), None, now);
        assert_eq!(logins.end("a", KeptSession::LIFETIME + MINUTE, now), [session(1)]);
        assert_eq!(logins.keep("a", &session(2), None, now + KeptSession::LIFETIME), KeepResult::LoginEnded);
        assert!(logins.ended_tokens.contains_key(&token_hash(&session(1).token)));
        logins.drop_expired(now + KeptSession::LIFETIME + MINUTE);
        assert!(logins.by_name.is_empty() && logins.ended_tokens.is_empty());
    }
}
