//! Who asks: from a Bearer value to a caller, and whether an operation's role admits them. `decisions.md` 4.

use super::problem::Problem;
use super::rules::{Session, SessionStatus};
use super::service::{Merchant, Service};
use super::tokens::{SECRET_KEY, fingerprint};
use crate::protocol::{CredentialKind, ErrorCode, Role};
use crate::values::{IntentId, Moment, looks_like_a_secret_key};
use axum::http::{HeaderMap, header};
use std::sync::Arc;

/// Who asks.
pub(super) enum Caller {
    /// The holder of the client secret of this intent of this merchant.
    ClientSecret(Arc<Merchant>, IntentId),
    /// Whoever holds a client secret that opens nothing: it has ended, or its intent does not exist.
    EndedClientSecret,
    /// The merchant's server.
    Merchant(Arc<Merchant>),
    /// Nobody one knows.
    Anonymous,
    /// A customer. Where an operation is *about* the session, it may be one that has ended.
    Session(Arc<Merchant>, Session),
    /// A token nobody has heard of; only an operation that is about a session meets it.
    UnknownSession,
}

impl Caller {
    /// The merchant whose shop it is, of an operation that asks for the role `Customer`.
    pub(super) fn shop(&self) -> Result<&Arc<Merchant>, Problem> {
        match self {
            Self::Merchant(merchant) | Self::Session(merchant, _) => Ok(merchant),
            _ => Err(Problem::internal(&"an operation of a customer was reached by someone else")),
        }
    }

    /// The merchant, of an operation that asks for the role `Merchant`.
    pub(super) fn merchant(&self) -> Result<&Arc<Merchant>, Problem> {
        match self {
            Self::Merchant(merchant) => Ok(merchant),
            _ => Err(Problem::internal(&"an operation of the merchant was reached by someone else")),
        }
    }

    /// Whose customer or server it is, where that is known.
    pub(super) fn known_merchant(&self) -> Option<&Arc<Merchant>> {
        match self {
            Self::ClientSecret(merchant, _) | Self::Merchant(merchant) | Self::Session(merchant, _) => Some(merchant),
            Self::EndedClientSecret | Self::Anonymous | Self::UnknownSession => None,
        }
    }

    /// What they showed.
    pub(super) fn kind(&self) -> CredentialKind {
        match self {
            Self::ClientSecret(..) | Self::EndedClientSecret => CredentialKind::ClientSecret,
            Self::Merchant(_) => CredentialKind::SecretKey,
            Self::Anonymous => CredentialKind::None,
            Self::Session(..) | Self::UnknownSession => CredentialKind::SessionToken,
        }
    }
}

/// Finds out who asks.
pub(super) async fn authenticate(service: &Service, headers: &HeaderMap) -> Result<Caller, Problem> {
    match bearer(headers) {
        None => Ok(Caller::Anonymous),
        Some(token) if token.starts_with("sk_") => secret_key(service, headers, token),
        Some(token) if token.contains("_secret_") => {
            client_secret(service, service.instance_key.intent_of(token).ok_or_else(invalid_key)?).await
        }
        // A key of another kind or another service is no session, and is not looked up as one.
        Some(token) if looks_like_a_secret_key(token) => Err(invalid_key()),
        Some(token) => session(service, token).await,
    }
}

/// Whether anyone may do what this role may, without a credential.
pub(super) fn is_public<R: Role>(service: &Service) -> bool {
    service.public_methods && R::admits(CredentialKind::None)
}

/// A refusal of a page that showed no credential, with what the page can do where the sandbox could let anyone ask.
pub(super) fn advise_page<R: Role>(problem: Problem) -> Problem {
    if !R::admits(CredentialKind::None) || problem.code != ErrorCode::AuthenticationRequired {
        return problem;
    }
    Problem::unauthorized(
        problem.code,
        "A page reads payment methods and fees with its customer's session token: give the client a `merchant` with a session \
         route. To let pages without one read them, start the sandbox with --public-methods.",
    )
}

/// Whether they may do what this role may.
pub(super) fn authorize<R: Role>(service: &Service, caller: Caller) -> Result<Caller, Problem> {
    let about_sessions = !R::admits(CredentialKind::SecretKey);
    match (&caller, R::admits(caller.kind())) {
        (Caller::Anonymous, _) if is_public::<R>(service) => Ok(caller),
        (Caller::Anonymous, _) => Err(Problem::unauthorized(
            ErrorCode::AuthenticationRequired,
            "Send a credential: Authorization: Bearer, and the secret key, a session token or a client secret.",
        )),
        (_, false) if about_sessions => Err(Problem::unauthorized(
            ErrorCode::SessionTokenRequired,
            "This is about a customer's session: send its token as the Bearer value.",
        )),
        // About its own intent it gets the 404 of an unknown id; elsewhere it is no credential.
        (Caller::EndedClientSecret, true) if R::admits(CredentialKind::None) => Err(invalid_key()),
        (Caller::UnknownSession, _) if !about_sessions => Err(session_unknown()),
        (Caller::Session(merchant, session), _) if !about_sessions => {
            require_valid(session, merchant.now())?;
            role::<R>(caller)
        }
        _ => role::<R>(caller),
    }
}

fn role<R: Role>(caller: Caller) -> Result<Caller, Problem> {
    if R::admits(caller.kind()) {
        return Ok(caller);
    }
    Err(role_required(R::NAME))
}

/// The refusal of a credential that does not fulfil a role.
pub(super) fn role_required(role: &str) -> Problem {
    let message = format!("This operation asks for the role {role}, which this credential does not fulfil.");
    Problem::new(ErrorCode::RoleRequired, message)
}

/// Refuses a session that has ended.
pub(super) fn require_valid(session: &Session, now: Moment) -> Result<(), Problem> {
    match session.status(now) {
        SessionStatus::Valid => Ok(()),
        SessionStatus::Expired => {
            Err(Problem::unauthorized(ErrorCode::SessionExpired, "The session has expired. Make a new one."))
        }
        SessionStatus::Revoked => {
            Err(Problem::unauthorized(ErrorCode::SessionRevoked, "The session was ended. Make a new one."))
        }
    }
}

/// The refusal of a token nobody has heard of.
pub(super) fn session_unknown() -> Problem {
    Problem::unauthorized(ErrorCode::SessionUnknown, "No session has this token.")
}

fn invalid_key() -> Problem {
    Problem::unauthorized(ErrorCode::InvalidKey, "No merchant has this key, and no payment intent this client secret.")
}

/// The holder of an intent's client secret, as long as that is valid.
pub(super) async fn client_secret(service: &Service, id: IntentId) -> Result<Caller, Problem> {
    let Some(intent) = service.store.intent(&id).await? else { return Ok(Caller::EndedClientSecret) };
    let Some(merchant) = service.merchants.by_id(&intent.merchant) else { return Ok(Caller::EndedClientSecret) };
    let now = merchant.now();
    let has_ended = intent.at(now).secret_has_ended(now);
    Ok(if has_ended { Caller::EndedClientSecret } else { Caller::ClientSecret(merchant, id) })
}

fn secret_key(service: &Service, headers: &HeaderMap, key: &str) -> Result<Caller, Problem> {
    if headers.contains_key(header::ORIGIN) {
        let message = "A browser sent a merchant's secret key. Take it out of the page, and replace it: whoever opened the page has it.";
        return Err(Problem::new(ErrorCode::SecretKeyInBrowser, message));
    }
    if key.starts_with("sk_live_") {
        return Err(Problem::unauthorized(
            ErrorCode::LiveKeyInSandbox,
            "This is a live key, and this is a sandbox. Use the key that the sandbox printed.",
        ));
    }
    let known = key.starts_with(SECRET_KEY).then(|| service.merchants.by_key(&fingerprint(key))).flatten();
    known.map(Caller::Merchant).ok_or_else(invalid_key)
}

async fn session(service: &Service, token: &str) -> Result<Caller, Problem> {
    let Some(session) = service.store.session(&fingerprint(token)).await? else { return Ok(Caller::UnknownSession) };
    let merchant = service.merchants.by_id(&session.merchant).ok_or_else(session_unknown)?;
    Ok(Caller::Session(merchant, session))
}

/// The Bearer value of a request.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
