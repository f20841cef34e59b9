//! The door of the merchant's own API: who comes with a session token, and whether it is good.

use super::flights::Flights;
use super::store::LIFETIME;
use crate::native::{Client, Refused, clock};
use crate::protocol::Kind;
use crate::values::{Email, Moment, SessionToken, looks_like_a_secret_key};
use axum::body::Body;
use axum::extract::{FromRef, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Response, header};
use axum::response::IntoResponse;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tower_layer::Layer;
use tower_service::Service;

/// The longest that the service's word on a token is believed.
const LONGEST: Duration = Duration::from_secs(30);
/// How long an ended token is refused: as long as a session lives. The service may be slow to end it, or fail to, and its
/// answer to an earlier question may come late.
const REFUSED: Duration = Duration::from_secs(LIFETIME.unsigned_abs());
/// The most tokens whose state is kept; those beyond it are asked about each time.
const MOST_KEPT: usize = 10_000;
/// No token comes near it.
const LONGEST_TOKEN: usize = 4096;

/// A customer who has come to the merchant's own API with a good session token.
///
/// As an extractor it asks the [`SessionGuard`] of the router's state, so that a router without one does not compile:
///
/// ```
/// use axum::{Router, routing::get};
/// use guichet::native::{CustomerSession, SessionGuard};
///
/// async fn me(session: CustomerSession) -> String {
///     session.customer_email.to_string()
/// }
///
/// fn api(client: guichet::Client) -> Router {
///     Router::new().route("/me", get(me)).with_state(SessionGuard::new(client))
/// }
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct CustomerSession {
    /// Whose session it is: what they may see and change is decided by this, and by nothing that the request says.
    pub customer_email: Email,
    /// When it ends, where the service says so.
    pub expires_at: Option<Moment>,
}

/// Lets in who brings a session token that the service takes. Cheap to clone; one is enough for a server.
///
/// A customer pauses *their own* subscription in the merchant's application, and the merchant's server does it with its key:
/// ```
/// use axum::{Router, extract::{FromRef, Path, State}, routing::post};
/// use guichet::native::{CustomerSession, Refused, SessionGuard};
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
/// async fn pause(State(app): State<App>, customer: CustomerSession, Path(id): Path<String>) -> Result<String, Refused> {
///     let id = SubscriptionId::new(id).map_err(|_| Refused::new(404, "resource_missing", "There is no such subscription."))?;
///     let subscription = app.client.read_subscription(&id).await?;
///     if subscription.customer_email.as_deref() != Some(customer.customer_email.as_str()) {
///         return Err(Refused::new(404, "resource_missing", "There is no such subscription."));
///     }
///     Ok(app.client.pause_subscription(PauseSubscription::new(id)).await?.status.to_string())
/// }
///
/// fn api(client: guichet::Client) -> Router {
///     let guard = SessionGuard::new(client.clone());
///     Router::new().route("/subscriptions/{id}/pause", post(pause)).with_state(App { client, guard })
/// }
/// ```
///
/// It is kept in the state of a router, for [`CustomerSession`] as an extractor, or laid around a router as a layer: then
/// `Extension<CustomerSession>` says who has come.
///
/// - The token comes as `Authorization: Bearer …`. Anything else is answered 401 in the document's envelope, with
///   `WWW-Authenticate: Bearer`.
/// - The service's word on a token is kept for 30 seconds at most, never past the session's end, and by the token's
///   SHA-256: the token itself is kept nowhere and logged nowhere.
/// - Who comes with the same token at the same time waits for the same answer.
/// - A service that does not answer lets nobody in: 503.
#[derive(Clone)]
pub struct SessionGuard(Arc<Inner>);

struct Inner {
    client: Client,
    known: Mutex<Known>,
    flights: Flights<Hash, Result<CustomerSession, Refused>>,
}

type Hash = [u8; 32];

/// What is known of the tokens, each until when.
#[derive(Default)]
struct Known {
    good: HashMap<Hash, (Instant, CustomerSession)>,
    /// Ended here: the service's word on them is not believed. They take no room from the good ones.
    ended: HashMap<Hash, Instant>,
}

impl SessionGuard {
    /// A guard that asks this client's service.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self(Arc::new(Inner { client, known: Mutex::default(), flights: Flights::default() }))
    }

    /// Who has sent a request with these headers.
    ///
    /// # Errors
    /// 401 with code `authentication_required`, `session_token_required`, `session_expired`, `session_revoked` or
    /// `session_unknown`; 502 or 503 where the service cannot say, or does not say whose session it is.
    pub async fn check(&self, headers: &HeaderMap) -> Result<CustomerSession, Refused> {
        let token = token(headers)?;
        let hash: Hash = Sha256::digest(token.expose()).into();
        if let Some(known) = self.0.lock().of(&hash, clock::ticks()) {
            return known;
        }
        let inner = Arc::clone(&self.0);
        let work = async move { inner.ask(&token, hash).await };
        let broken_off = || Refused::broken("a session was not checked: the work has broken off");
        self.0.flights.join(hash, work).await.ok_or_else(broken_off)?
    }

    /// Refuses a token from now on, for as long as a session can live, whatever the service says of it: it is being revoked.
    pub fn refuse(&self, token: &SessionToken) {
        self.0.lock().end(Sha256::digest(token.expose()).into(), clock::ticks());
    }
}

impl Inner {
    async fn ask(&self, token: &SessionToken, hash: Hash) -> Result<CustomerSession, Refused> {
        let asked = clock::ticks();
        let state = match self.client.customer(token).validate().await {
            Err(error) if error.kind() == Kind::Session => return Err(ended(None)),
            answer => answer?,
        };
        if !state.valid {
            return Err(ended(state.reason.as_deref()));
        }
        let email = state.customer_email.and_then(|email| Email::new(email).ok());
        let session = CustomerSession {
            customer_email: email.ok_or_else(|| {
                Refused::new(502, "customer_unknown", "The payment service does not say whose session it is.")
            })?,
            expires_at: state.expires_at,
        };
        // From when it was asked: the answer may have been long on its way.
        let until = asked + believed_for(session.expires_at, clock::now());
        self.lock().keep(hash, until, session, clock::ticks())
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn of(&self, hash: &Hash, now: Instant) -> Option<Result<CustomerSession, Refused>> {
        if self.ended.get(hash).is_some_and(|until| now < *until) {
            return Some(Err(ended(Some("revoked"))));
        }
        self.good.get(hash).filter(|(until, _)| now < *until).map(|(_, session)| Ok(session.clone()))
    }

    /// Keeps the service's word on a token and passes it on, unless the token was ended meanwhile.
    fn keep(
        &mut self,
        hash: Hash,
        until: Instant,
        session: CustomerSession,
        now: Instant,
    ) -> Result<CustomerSession, Refused> {
        if let Some(Err(ended)) = self.of(&hash, now) {
            return Err(ended);
        }
        if self.good.len() >= MOST_KEPT {
            self.good.retain(|_, (until, _)| now < *until);
        }
        if self.good.len() < MOST_KEPT {
            self.good.insert(hash, (until, session.clone()));
        }
        Ok(session)
    }

    fn end(&mut self, hash: Hash, now: Instant) {
        self.good.remove(&hash);
        self.ended.retain(|_, until| now < *until);
        self.ended.insert(hash, now + REFUSED);
    }
}

/// How long the service's word on a session is believed. Both times are whole seconds: the one that has begun is over.
fn believed_for(expires_at: Option<Moment>, now: Moment) -> Duration {
    let left =
        expires_at.map(|end| u64::try_from(end.unix().saturating_sub(now.unix()).saturating_sub(1)).unwrap_or(0));
    left.map_or(LONGEST, Duration::from_secs).min(LONGEST)
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
        Refused::new(401, "authentication_required", "Send the customer's session token: Authorization: Bearer …")
            .challenged("Bearer realm=\"guichet\"")
    };
    let bearer = first.filter(|_| second.is_none()).and_then(|value| value.to_str().ok()?.split_once(' '));
    let (_, token) = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).ok_or_else(missing)?;
    let token = token.trim();
    if token.is_empty() {
        return Err(missing());
    }
    if looks_like_a_secret_key(token) {
        // It is not sent on: whoever has it here should not have it at all.
        let message =
            "This is a merchant's secret key. A customer comes with a session token; replace the key, it was shown.";
        return Err(Refused::new(401, "session_token_required", message).challenged(INVALID));
    }
    if token.len() > LONGEST_TOKEN {
        return Err(ended(None));
    }
    Ok(SessionToken::new(token))
}

const INVALID: &str = "Bearer realm=\"guichet\", error=\"invalid_token\"";

/// The refusal of a token that is not good, for the service's reason.
fn ended(reason: Option<&str>) -> Refused {
    let (code, message) = match reason {
        Some("expired") => ("session_expired", "The session has ended. Ask for another."),
        Some("revoked") => ("session_revoked", "The session was ended. Sign in again."),
        _ => ("session_unknown", "This is no session token that is known here."),
    };
    Refused::new(401, code, message).challenged(INVALID)
}

impl<S> FromRequestParts<S> for CustomerSession
where
    S: Send + Sync,
    SessionGuard: FromRef<S>,
{
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        match parts.extensions.get::<Self>() {
            Some(session) => Ok(session.clone()),
            None => SessionGuard::from_ref(state).check(&parts.headers).await,
        }
    }
}

impl<S> Layer<S> for SessionGuard {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { guard: self.clone(), inner }
    }
}

/// What a [`SessionGuard`] stands before.
#[derive(Clone, Debug)]
pub struct Guarded<S> {
    guard: SessionGuard,
    inner: S,
}

impl<S> Service<Request> for Guarded<S>
where
    S: Service<Request, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let guard = self.guard.clone();
        // The one that is ready is the one that is called; a clone of it may not be.
        let clone = self.inner.clone();
        let mut ready = std::mem::replace(&mut self.inner, clone);
        Box::pin(async move {
            match guard.check(request.headers()).await {
                Ok(session) => {
                    request.extensions_mut().insert(session);
                    ready.call(request).await
                }
                Err(refused) => Ok(refused.into_response()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn awa() -> CustomerSession {
        CustomerSession { customer_email: Email::new("awa@example.com").expect("an e-mail"), expires_at: None }
    }

    #[test]
    fn the_services_word_is_believed_for_thirty_seconds_and_never_past_the_sessions_end() {
        // It may be all but 1001 by now.
        let now = Moment::from_unix(1000);
        for (end, seconds) in [
            (Some(1010), 9),
            (Some(1030), 29),
            (Some(1031), 30),
            (Some(9999), 30),
            (None, 30),
            (Some(1001), 0),
            (Some(1000), 0),
            (Some(1), 0),
        ] {
            assert_eq!(believed_for(end.map(Moment::from_unix), now), seconds * SECOND, "{end:?}");
        }
    }

    #[test]
    fn what_is_known_of_a_token_is_known_until_its_time_is_over() {
        let (mut known, now) = (Known::default(), clock::ticks());
        known.keep([1; 32], now + 30 * SECOND, awa(), now).expect("a good token");
        assert!(known.of(&[1; 32], now + 29 * SECOND).is_some_and(|known| known.is_ok()));
        assert!(known.of(&[1; 32], now + 30 * SECOND).is_none());
        assert!(known.of(&[2; 32], now).is_none());
    }

    #[test]
    fn an_ended_token_is_refused_as_long_as_a_session_lives_whatever_the_service_says_of_it() {
        let (mut known, now) = (Known::default(), clock::ticks());
        known.end([1; 32], now);
        // The service was slow to end it, or its answer to an earlier question was long on its way.
        for seconds in [0, 31, 1799] {
            let now = now + seconds * SECOND;
            let refused = known.keep([1; 32], now + 30 * SECOND, awa(), now).expect_err("it was ended");
            assert_eq!(refused.code(), "session_revoked");
            assert!(known.of(&[1; 32], now).is_some_and(|known| known.is_err()), "{seconds}");
        }
        known.end([2; 32], now + 1800 * SECOND);
        assert_eq!(known.ended.len(), 1, "what is over is not kept for ever");
    }

    #[test]
    fn strangers_do_not_fill_the_memory_and_do_not_make_room_for_what_was_ended() {
        let (mut known, now) = (Known::default(), clock::ticks());
        let hash = |number: u32| -> Hash { Sha256::digest(number.to_be_bytes()).into() };
        let most = u32::try_from(MOST_KEPT).expect("it fits");
        for number in 0..most + 10 {
            known.keep(hash(number), now + SECOND, awa(), now).expect("a good token");
        }
        assert_eq!(known.good.len(), MOST_KEPT);
        known.end(hash(most + 10), now);
        assert!(known.of(&hash(most + 10), now).is_some_and(|known| known.is_err()));
        known.keep(hash(0), now + 9 * SECOND, awa(), now + SECOND).expect("a good token");
        assert_eq!(known.good.len(), 1, "what is over makes room");
    }
}
