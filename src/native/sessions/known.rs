//! The guard's cache of session tokens: by SHA-256, each with an expiry.

use super::customer_session::{CustomerSession, INVALID};
use super::store::{KeptSession, TokenHash};
use crate::native::{Reason, Refused};
use crate::values::Email;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// The time for which the guard caches the result of a token's validation.
pub(super) const KEPT_FOR: Duration = Duration::from_secs(30);
/// The most valid tokens in the cache. Further ones are validated at each request.
const MAX_VALID: usize = 10_000;
/// The most rejected tokens in the cache. Further ones replace the oldest.
const MAX_REJECTED: usize = 10_000;

/// The most tokens of which it is known whose they are, because they were given out here.
const MAX_GIVEN_OUT: usize = 100_000;

/// The tokens that a guard knows. The kinds have separate limits, so that invented tokens cannot replace those of
/// customers or those that were ended.
#[derive(Default)]
pub(super) struct KnownTokens {
    valid: HashMap<TokenHash, (Instant, CustomerSession)>,
    /// Ended by the shop. They are refused even if the service still accepts them: it may not have revoked them yet,
    /// and a reply to an earlier validation may still arrive.
    ended: HashMap<TokenHash, Instant>,
    rejected: RejectedTokens,
    /// Whose they are, until they have ended.
    given_out: HashMap<TokenHash, (Instant, Email)>,
}

/// The cached result for one token.
pub(super) enum Lookup {
    /// The result has not expired.
    Known(Result<CustomerSession, Rejection>),
    /// The cached result has expired, but the token was valid. The guard checks it without the limit for unknown
    /// tokens.
    WasValid,
    Unknown,
}

/// Why a token is not accepted.
#[derive(Clone, Debug)]
pub(super) enum Rejection {
    Expired,
    Revoked,
    Unknown,
    /// The service refused the check itself, and would refuse it again: any status but 401, or a reply that cannot be
    /// used.
    CheckFailed(Box<Refused>),
}

impl Rejection {
    /// The rejection for the `reason` in the service's reply.
    pub(super) fn from_reason(reason: Option<&str>) -> Self {
        match reason {
            Some("expired") => Self::Expired,
            Some("revoked") => Self::Revoked,
            _ => Self::Unknown,
        }
    }
}

impl From<Rejection> for Refused {
    fn from(rejection: Rejection) -> Self {
        let (code, message) = match rejection {
            Rejection::CheckFailed(refused) => return *refused,
            Rejection::Expired => ("session_expired", "The session has ended. Ask for another."),
            Rejection::Revoked => ("session_revoked", "The session was ended. Sign in again."),
            Rejection::Unknown => ("session_unknown", "Unknown session token. Sign in again."),
        };
        Self::new(401, Reason { code, message }).challenged(INVALID)
    }
}

impl KnownTokens {
    pub(super) fn look_up(&self, hash: &TokenHash, now: Instant) -> Lookup {
        if self.ended.get(hash).is_some_and(|until| now < *until) {
            return Lookup::Known(Err(Rejection::Revoked));
        }
        if let Some(rejection) = self.rejected.get(hash, now) {
            return Lookup::Known(Err(rejection));
        }
        match self.valid.get(hash) {
            Some((until, session)) if now < *until => Lookup::Known(Ok(session.clone())),
            Some(_) => Lookup::WasValid,
            None => Lookup::Unknown,
        }
    }

    /// Caches a valid token until this time, unless it was ended during the validation.
    pub(super) fn accept(
        &mut self,
        hash: TokenHash,
        until: Instant,
        session: CustomerSession,
        now: Instant,
    ) -> Result<CustomerSession, Rejection> {
        if self.ended.get(&hash).is_some_and(|until| now < *until) {
            return Err(Rejection::Revoked);
        }
        if self.valid.len() >= MAX_VALID {
            self.valid.retain(|_, (until, _)| now < *until);
        }
        if self.valid.len() < MAX_VALID || self.valid.contains_key(&hash) {
            self.valid.insert(hash, (until, session.clone()));
        }
        Ok(session)
    }

    /// Caches a rejected token until this time.
    pub(super) fn reject(&mut self, hash: TokenHash, until: Instant, rejection: Rejection, now: Instant) {
        // A failed check says nothing about the token: one that was valid keeps its precedence over unknown ones.
        if !matches!(rejection, Rejection::CheckFailed(_)) {
            self.valid.remove(&hash);
        }
        self.rejected.insert(hash, until, rejection, now);
    }

    /// Notes whose token this is.
    pub(super) fn give_out(&mut self, hash: TokenHash, customer: Email, now: Instant) {
        if self.given_out.len() >= MAX_GIVEN_OUT {
            self.given_out.retain(|_, (until, _)| now < *until);
        }
        if self.given_out.len() < MAX_GIVEN_OUT {
            self.given_out.insert(hash, (now + KeptSession::LIFETIME, customer));
        }
    }

    /// Whose token this is, if it was given out here.
    pub(super) fn given_to(&self, hash: &TokenHash) -> Option<Email> {
        self.given_out.get(hash).map(|(_, customer)| customer.clone())
    }

    /// Refuses a token from now on until this time.
    pub(super) fn end(&mut self, hash: TokenHash, until: Instant, now: Instant) {
        self.valid.remove(&hash);
        self.ended.retain(|_, until| now < *until);
        self.ended.insert(hash, until);
    }
}

/// The rejected tokens. If the cache is full, a new one replaces the oldest.
#[derive(Default)]
struct RejectedTokens {
    until: HashMap<TokenHash, (Instant, Rejection)>,
    oldest_first: VecDeque<(Instant, TokenHash)>,
}

impl RejectedTokens {
    fn get(&self, hash: &TokenHash, now: Instant) -> Option<Rejection> {
        self.until.get(hash).filter(|(until, _)| now < *until).map(|(_, rejection)| rejection.clone())
    }

    fn insert(&mut self, hash: TokenHash, until: Instant, rejection: Rejection, now: Instant) {
        while let Some(&(over_at, oldest)) = self.oldest_first.front()
            && (over_at <= now || self.oldest_first.len() >= MAX_REJECTED)
        {
            self.oldest_first.pop_front();
            // If the token was rejected again, its later entry stays.
            if self.until.get(&oldest).is_some_and(|(until, _)| *until == over_at) {
                self.until.remove(&oldest);
            }
        }
        self.until.insert(hash, (until, rejection));
        self.oldest_first.push_back((until, hash));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::clock;
    use crate::values::Email;
    use sha2::{Digest as _, Sha256};

    const SECOND: Duration = Duration::from_secs(1);

    fn awa() -> CustomerSession {
        CustomerSession { customer_email: Email::new("awa@example.com").expect("an e-mail"), expires_at: None }
    }

    fn hash(number: u32) -> TokenHash {
        Sha256::digest(number.to_be_bytes()).into()
    }

    #[test]
    fn a_cached_result_is_used_until_it_expires() {
        let (mut known, now) = (KnownTokens::default(), clock::monotonic_now());
        known.accept([1; 32], now + 30 * SECOND, awa(), now).expect("a valid token");
        assert!(matches!(known.look_up(&[1; 32], now + 29 * SECOND), Lookup::Known(Ok(_))));
        assert!(matches!(known.look_up(&[1; 32], now + 30 * SECOND), Lookup::WasValid));
        assert!(matches!(known.look_up(&[2; 32], now), Lookup::Unknown));
        known.reject([2; 32], now + 30 * SECOND, Rejection::Expired, now);
        assert!(matches!(known.look_up(&[2; 32], now + 29 * SECOND), Lookup::Known(Err(Rejection::Expired))));
        assert!(matches!(known.look_up(&[2; 32], now + 30 * SECOND), Lookup::Unknown));
    }

    #[test]
    fn an_ended_token_is_refused_until_its_time_whatever_the_service_says_of_it() {
        let (mut known, now) = (KnownTokens::default(), clock::monotonic_now());
        known.end([1; 32], now + 1800 * SECOND, now);
        // The service has not revoked it yet, or its reply to an earlier validation arrives late.
        for seconds in [0, 31, 1799] {
            let now = now + seconds * SECOND;
            let refused = known.accept([1; 32], now + 30 * SECOND, awa(), now).expect_err("it was ended");
            assert!(matches!(refused, Rejection::Revoked), "{refused:?}");
            assert!(matches!(known.look_up(&[1; 32], now), Lookup::Known(Err(Rejection::Revoked))), "{seconds}");
        }
        known.end([2; 32], now + 3600 * SECOND, now + 1800 * SECOND);
        assert_eq!(known.ended.len(), 1, "expired entries are removed");
    }

    #[test]
    fn invented_tokens_replace_only_each_other_oldest_first() {
        let (mut known, now) = (KnownTokens::default(), clock::monotonic_now());
        let until = now + 30 * SECOND;
        known.accept([1; 32], until, awa(), now).expect("a valid token");
        known.end([2; 32], now + 1800 * SECOND, now);
        let most = u32::try_from(MAX_REJECTED).expect("it fits");
        for number in 0..most + 10 {
            known.reject(hash(number), until, Rejection::Unknown, now);
        }
        assert_eq!((known.rejected.until.len(), known.rejected.oldest_first.len()), (MAX_REJECTED, MAX_REJECTED));
        assert!(matches!(known.look_up(&hash(9), now), Lookup::Unknown));
        for number in [10, most + 9] {
            assert!(matches!(known.look_up(&hash(number), now), Lookup::Known(Err(Rejection::Unknown))), "{number}");
        }
        assert!(matches!(known.look_up(&[1; 32], now), Lookup::Known(Ok(_))));
        assert!(matches!(known.look_up(&[2; 32], now), Lookup::Known(Err(Rejection::Revoked))));

        known.reject(hash(0), until + 30 * SECOND, Rejection::Unknown, until);
        assert_eq!(known.rejected.until.len(), 1, "expired entries are removed");
    }

    #[test]
    fn a_token_that_is_rejected_again_is_kept_by_its_later_time() {
        let (mut known, now) = (KnownTokens::default(), clock::monotonic_now());
        known.reject([1; 32], now + 10 * SECOND, Rejection::Unknown, now);
        known.reject([1; 32], now + 40 * SECOND, Rejection::Unknown, now + 10 * SECOND);
        known.reject([2; 32], now + 41 * SECOND, Rejection::Unknown, now + 11 * SECOND);
        assert!(matches!(known.look_up(&[1; 32], now + 11 * SECOND), Lookup::Known(Err(_))));
    }

    #[test]
    fn valid_tokens_do_not_fill_the_memory() {
        let (mut known, now) = (KnownTokens::default(), clock::monotonic_now());
        let most = u32::try_from(MAX_VALID).expect("it fits");
        for number in 0..most + 10 {
            known.accept(hash(number), now + SECOND, awa(), now).expect("a valid token");
        }
        assert_eq!(known.valid.len(), MAX_VALID);
        known.accept(hash(0), now + 9 * SECOND, awa(), now + SECOND).expect("a valid token");
        assert_eq!(known.valid.len(), 1, "expired entries are removed");
    }
}
