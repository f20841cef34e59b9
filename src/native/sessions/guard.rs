//! The guard of the merchant's own API: it validates the session token of a request.

use super::customer_session::{CustomerSession, INVALID};
use super::known::{KEPT_FOR, KnownTokens, Lookup, Rejection};
use super::single_flight::SingleFlight;
use super::store::{AnyStore, KeptSession, SessionStore, TokenHash, remember_for, token_hash};
use crate::native::{Client, Reason, Refused, clock};
use crate::protocol::Kind;
use crate::values::{Email, Moment, SessionToken, looks_like_a_secret_key};
use http::{HeaderMap, header};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// The most validations of unknown tokens at the same time. A token that was valid a moment ago is not unknown.
const MAX_UNKNOWN_AT_ONCE: usize = 32;
/// The time that an unknown token waits for its turn: enough for the customers who return after a restart.
const TURN_WITHIN: Duration = Duration::from_secs(1);
/// The greatest length of a token in bytes; real tokens are far shorter.
const LONGEST_TOKEN: usize = 4096;

/// Admits requests with a session token that the service accepts. Cheap to clone; a server needs only one.
///
/// In this example a customer pauses *their own* subscription in the merchant's application, and the merchant's server
/// does it with its key:
///
#[cfg_attr(feature = "axum", doc = "```")]
#[cfg_attr(not(feature = "axum"), doc = "```text")]
/// use axum::{Router, extract::{FromRef, Path, State}, routing::post};
/// use guichet::native::{CustomerSession, Reason, Refused, SessionGuard};
/// use guichet::operations::PauseSubscription;
/// use guichet::values::SubscriptionId;
///
/// #[derive(Clone)]
/// struct App { client: guichet::Client, guard: SessionGuard }
///
/// impl FromRef<App> for SessionGuard {
///     fn from_ref(app: &App) -> Self { app.guard.clone() }
/// }
///
/// async fn pause(State(app): State<App>, customer: CustomerSession, Path(id): Path<String>) -> Result<String, Refused>
/// {
///     let missing = || Refused::new(404, Reason { code: "resource_missing", message: "There is no such subscription." });
///     let id = SubscriptionId::new(id).map_err(|_| missing())?;
///     let subscription = app.client.read_subscription(&id).await?;
///     if !customer.owns(subscription.customer_email.as_deref()) {
///         return Err(missing());
///     }
///     app.client.pause_subscription(&PauseSubscription::new(id)).await?;
///     Ok("paused".to_owned())
/// }
///
/// fn api(client: guichet::Client) -> Router {
///     let guard = SessionGuard::new(client.clone());
///     Router::new().route("/subscriptions/{id}/pause", post(pause)).with_state(App { client, guard })
/// }
/// ```
///
/// [`SessionGuard::check`] works with any server. With the feature `axum`, put the guard into the state of a router,
/// for [`CustomerSession`] as an extractor, or around a router as a layer: then `Extension<CustomerSession>` is the
/// customer that the innermost layer has admitted.
///
/// - The token is sent as `Authorization: Bearer …`. Any other request gets 401 in the document's envelope, with
///   `WWW-Authenticate: Bearer`.
/// - The result of a validation is cached for at most 30 seconds, and never past the session's end (`expires_at` minus
///   the `Date` of the same reply, so that the two clocks need not agree). The key is the token's SHA-256: the token
///   itself is neither stored nor logged.
/// - Concurrent requests with the same token wait for the same validation.
/// - At most 32 unknown tokens are validated at once. Beyond that a request waits one second for its turn and then gets
///   503 with `Retry-After`. Known tokens do not wait.
/// - If the service does not reply, the request gets 503. A refusal that would be repeated, such as a 400 or a reply
///   without an e-mail, is also cached for 30 seconds, with its own code.
/// - A token whose customer has signed out is refused at once if the guard has the store of [`Sessions`](super::Sessions)
///   ([`SessionGuard::with_store`]). Without it that holds on the server of the sign-out alone
///   ([`Sessions::guarded_by`](super::Sessions::guarded_by)); the others accept the token for up to 30 seconds.
/// - A guard trusts only its own result: in an application with guards for two services, the extractor of one validates
///   a request with its own service even if the other has admitted it.
#[derive(Clone)]
pub struct SessionGuard(Arc<Inner>);

struct Inner {
    client: Client,
    store: Option<Box<dyn AnyStore>>,
    known: Mutex<KnownTokens>,
    checks: SingleFlight<TokenHash, Result<CustomerSession, Refused>>,
    unknown_at_once: Semaphore,
}

impl SessionGuard {
    /// Creates a guard that validates tokens with this client's service.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self::build(client, None)
    }

    /// Creates a guard that also asks this store at each request, in one read, whether the token has ended. So it
    /// refuses a token as soon as its customer has signed out on any server with the same store. If the store does not
    /// answer, the guard refuses the request.
    ///
    /// ```
    /// use guichet::native::{MemoryStore, SessionGuard, Sessions};
    /// use std::sync::Arc;
    /// fn both(client: guichet::Client) -> (SessionGuard, Sessions) {
    ///     let store = Arc::new(MemoryStore::default()); // or one that several servers share
    ///     (SessionGuard::with_store(client.clone(), store.clone()), Sessions::with_store(client, store))
    /// }
    /// ```
    #[must_use]
    pub fn with_store(client: Client, store: impl SessionStore) -> Self {
        Self::build(client, Some(Box::new(store)))
    }

    fn build(client: Client, store: Option<Box<dyn AnyStore>>) -> Self {
        let unknown_at_once = Semaphore::new(MAX_UNKNOWN_AT_ONCE);
        let (known, checks) = (Mutex::default(), SingleFlight::default());
        Self(Arc::new(Inner { client, store, known, checks, unknown_at_once }))
    }

    /// Returns the customer who sent a request with these headers.
    ///
    /// # Errors
    /// 401 with code `authentication_required`, `session_token_required`, `session_expired`, `session_revoked` or
    /// `session_unknown`; 502 or 503 if the service does not answer, or does not name the customer; 503 with
    /// `Retry-After` if too many unknown tokens are being validated; the store's error, which is 503 for the stores of
    /// `guichet-sessions`.
    pub async fn check(&self, headers: &HeaderMap) -> Result<CustomerSession, Refused> {
        let token = token(headers)?;
        let hash = token_hash(&token);
        let session = self.validate(&token, hash).await?;
        // Only valid tokens are looked up: a caller that invents tokens must not load the store.
        if let Some(store) = &self.0.store
            && store.has_ended(&token).await?
        {
            self.refuse(&token);
            return Err(Rejection::Revoked.into());
        }
        Ok(session)
    }

    /// Returns the customer of a token, by the service or by the cache of its last result.
    async fn validate(&self, token: &SessionToken, hash: TokenHash) -> Result<CustomerSession, Refused> {
        if let Lookup::Known(known) = self.0.lock().look_up(&hash, clock::monotonic_now()) {
            return Ok(known?);
        }
        let (inner, token) = (Arc::clone(&self.0), token.clone());
        let work = async move { inner.check_with_service(&token, hash).await };
        let cancelled = || Refused::broken("a session was not checked: the task was cancelled");
        self.0.checks.run(hash, work).await.ok_or_else(cancelled)?
    }

    /// Notes whose token this is: the service may not say it when it is asked whether the token is valid.
    pub(super) fn given_out(&self, session: &KeptSession) {
        let now = clock::monotonic_now();
        self.0.lock().give_out(token_hash(&session.token), session.customer_email.clone(), now);
    }

    /// Refuses a token that is being revoked, from now on and for the longest lifetime of a session, even if the
    /// service still accepts it.
    pub fn refuse(&self, token: &SessionToken) {
        let now = clock::monotonic_now();
        self.0.lock().end(token_hash(token), now + remember_for(&self.0.client), now);
    }
}

#[cfg(feature = "axum")]
impl SessionGuard {
    /// Whether this is a clone of the other guard.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Inner {
    async fn check_with_service(&self, token: &SessionToken, hash: TokenHash) -> Result<CustomerSession, Refused> {
        let lookup = self.lock().look_up(&hash, clock::monotonic_now());
        let _permit = match lookup {
            // Another request with the same token got a result in the meantime.
            Lookup::Known(known) => return Ok(known?),
            Lookup::WasValid => None,
            Lookup::Unknown => match tokio::time::timeout(TURN_WITHIN, self.unknown_at_once.acquire()).await {
                Ok(permit) => permit.ok(),
                Err(_) => return Err(too_many_unknown()),
            },
        };
        let requested_at = clock::monotonic_now();
        let (state, date) = match self.client.customer(token).validate_with_date().await {
            Err(error) if error.kind() == Kind::Session => return Err(self.reject(hash, Rejection::Unknown)),
            Err(error) => return Err(self.refuse_check(hash, error.into())),
            Ok(reply) => reply,
        };
        if !state.valid {
            return Err(self.reject(hash, Rejection::from_reason(state.reason.as_deref())));
        }
        let email = state.customer_email.and_then(|email| Email::new(email).ok());
        let email = email.or_else(|| self.lock().given_to(&hash));
        let Some(customer_email) = email else {
            let message = "The payment service does not say whose session it is.";
            return Err(self.refuse_check(hash, Refused::new(502, Reason { code: "customer_unknown", message })));
        };
        let session = CustomerSession { customer_email, expires_at: state.expires_at };
        // Counted from the time of the request, because the reply may have taken long.
        let until = requested_at + kept_for(session.expires_at, date);
        Ok(self.lock().accept(hash, until, session, clock::monotonic_now())?)
    }

    /// Caches the rejection of a token and returns the refusal.
    fn reject(&self, hash: TokenHash, rejection: Rejection) -> Refused {
        let now = clock::monotonic_now();
        self.lock().reject(hash, now + KEPT_FOR, rejection.clone(), now);
        rejection.into()
    }

    /// Caches a failed check, unless another attempt may succeed, and returns the refusal.
    fn refuse_check(&self, hash: TokenHash, refused: Refused) -> Refused {
        if refused.is_retryable() { refused } else { self.reject(hash, Rejection::CheckFailed(Box::new(refused))) }
    }

    fn lock(&self) -> MutexGuard<'_, KnownTokens> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time for which a valid result is cached: what is left of the session by the service's own clock, at most
/// [`KEPT_FOR`]. Both times are whole seconds, so one second is subtracted. Without a `Date` the time left is unknown.
fn kept_for(expires_at: Option<Moment>, date: Option<Moment>) -> Duration {
    let left = expires_at.zip(date).map(|(end, date)| end.unix().saturating_sub(date.unix()).saturating_sub(1));
    left.map_or(KEPT_FOR, |left| Duration::from_secs(u64::try_from(left).unwrap_or(0)).min(KEPT_FOR))
}

fn too_many_unknown() -> Refused {
    let message = "Too many unknown session tokens are being checked. Please try again.";
    Refused::new(503, Reason { code: "unavailable", message }).with_retry_after(1)
}

impl fmt::Debug for SessionGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionGuard").field("client", &self.0.client).finish_non_exhaustive()
    }
}

/// The session token of a request.
fn token(headers: &HeaderMap) -> Result<SessionToken, Refused> {
    let mut sent = headers.get_all(header::AUTHORIZATION).iter();
    let (first, second) = (sent.next(), sent.next());
    let missing = || {
        Refused::new(
            401,
            Reason {
                code: "authentication_required",
                message: "Send the customer's session token: Authorization: Bearer …",
            },
        )
        .challenged("Bearer realm=\"guichet\"")
    };
    let bearer = first.filter(|_| second.is_none()).and_then(|value| value.to_str().ok()?.split_once(' '));
    let (_, token) = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).ok_or_else(missing)?;
    let token = token.trim();
    if token.is_empty() {
        return Err(missing());
    }
    if looks_like_a_secret_key(token) {
        // It is not sent on, because this API must not receive such a credential at all.
        let message =
            "This is a merchant's secret key. Send the customer's session token, and replace the key: it was exposed.";
        return Err(Refused::new(401, Reason { code: "session_token_required", message }).challenged(INVALID));
    }
    if token.len() > LONGEST_TOKEN {
        return Err(Rejection::Unknown.into());
    }
    Ok(SessionToken::new(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_validation_is_cached_for_thirty_seconds_and_never_past_the_sessions_end() {
        // The service's clock may be up to 1001 by now.
        let date = Some(Moment::from_unix(1000));
        for (end, date, seconds) in [
            (Some(1010), date, 9),
            (Some(1030), date, 29),
            (Some(1031), date, 30),
            (Some(9999), date, 30),
            (None, date, 30),
            (Some(1001), date, 0),
            (Some(1000), date, 0),
            (Some(1), date, 0),
            (Some(1), None, 30),
            (None, None, 30),
        ] {
            assert_eq!(kept_for(end.map(Moment::from_unix), date), Duration::from_secs(seconds), "{end:?} {date:?}");
        }
    }
}
