//! Authentication (from a Bearer value to a caller) and authorization (the roles of operations): `decisions.md` 4.

use super::caller::Caller;
use super::problem::Problem;
use super::rules::{Session, SessionStatus};
use super::service::Service;
use super::tokens::{SECRET_KEY, fingerprint};
use axum::http::{HeaderMap, header};
use guichet::protocol::{CredentialKind, ErrorCode, Role};
use guichet::values::{IntentId, Moment, looks_like_a_secret_key};

/// Authenticates a request.
///
/// # Errors
/// 401 or 403 if the credential is invalid by its kind.
pub(super) async fn authenticate(service: &Service, headers: &HeaderMap) -> Result<Caller, Problem> {
    match bearer(headers) {
        None => Ok(Caller::Anonymous),
        Some(token) if token.starts_with("sk_") => secret_key(service, headers, token),
        Some(token) if token.contains("_secret_") => {
            client_secret(service, service.instance_key.intent_of(token).ok_or_else(invalid_key)?).await
        }
        // A secret key of another service is not looked up as a session token.
        Some(token) if looks_like_a_secret_key(token) => Err(invalid_key()),
        Some(token) => session(service, token).await,
    }
}

/// Whether this role needs no credential in this sandbox.
pub(super) fn is_public<R: Role>(service: &Service) -> bool {
    service.public_methods && R::admits(CredentialKind::None)
}

/// Adds the remedy to the 401 of a page that sent no credential, for operations that can be made public.
pub(super) fn advise_page<R: Role>(problem: Problem) -> Problem {
    if !R::admits(CredentialKind::None) || problem.code != ErrorCode::AuthenticationRequired {
        return problem;
    }
    Problem::new(
        problem.code,
        "A page needs a session token to read payment methods and fees: give the client the option `merchant`, with a session route. Or start \
         the sandbox with --public-methods to make them public.",
    )
}

/// Checks that a caller has a role.
///
/// # Errors
/// 401 or 403 if not.
pub(super) fn authorize<R: Role>(service: &Service, caller: Caller) -> Result<Caller, Problem> {
    let needs_session = !R::admits(CredentialKind::SecretKey);
    if let Caller::Session(merchant, session) = &caller
        && !needs_session
    {
        require_valid(session, merchant.now())?;
    }
    match (&caller, R::admits(caller.kind())) {
        (Caller::Anonymous, _) if is_public::<R>(service) => Ok(caller),
        (Caller::Anonymous, _) => Err(Problem::new(
            ErrorCode::AuthenticationRequired,
            "Missing credential. Send the secret key, a session token or a client secret as Authorization: Bearer.",
        )),
        (_, false) if needs_session => Err(Problem::new(
            ErrorCode::SessionTokenRequired,
            "This operation takes a session token: send it as Authorization: Bearer.",
        )),
        // For its own intent the response is the 404 of an unknown id; for other operations the credential is invalid.
        (Caller::EndedClientSecret, true) if R::admits(CredentialKind::None) => Err(invalid_key()),
        (Caller::UnknownSession, _) if !needs_session => Err(session_unknown()),
        (_, false) => Err(role_required(R::NAME)),
        (_, true) => Ok(caller),
    }
}

/// The 403 of a credential that does not fulfil a role.
pub(super) fn role_required(role: &str) -> Problem {
    let message = format!("This operation requires the role {role}, which this credential does not have.");
    Problem::new(ErrorCode::RoleRequired, message)
}

/// Checks that a session has not ended.
pub(super) fn require_valid(session: &Session, now: Moment) -> Result<(), Problem> {
    match session.status(now) {
        SessionStatus::Valid => Ok(()),
        SessionStatus::Expired => {
            Err(Problem::new(ErrorCode::SessionExpired, "The session has expired. Create a new one."))
        }
        SessionStatus::Revoked => {
            Err(Problem::new(ErrorCode::SessionRevoked, "The session was revoked. Create a new one."))
        }
    }
}

/// The 401 of an unknown session token.
pub(super) fn session_unknown() -> Problem {
    Problem::new(ErrorCode::SessionUnknown, "No session has this token.")
}

fn invalid_key() -> Problem {
    Problem::new(ErrorCode::InvalidKey, "No merchant has this key, and no payment intent this client secret.")
}

/// The holder of an intent's client secret, as long as that is valid.
pub(super) async fn client_secret(service: &Service, id: IntentId) -> Result<Caller, Problem> {
    let Some(intent) = service.store.intent(&id).await? else { return Ok(Caller::EndedClientSecret) };
    let Some(merchant) = service.merchants.by_id(&intent.merchant) else {
        return Ok(Caller::EndedClientSecret);
    };
    let now = merchant.now();
    let has_ended = intent.at(now).secret_has_ended(now);
    Ok(if has_ended { Caller::EndedClientSecret } else { Caller::ClientSecret(merchant, id) })
}

fn secret_key(service: &Service, headers: &HeaderMap, key: &str) -> Result<Caller, Problem> {
    if headers.contains_key(header::ORIGIN) {
        let message = "A browser sent a merchant's secret key. Remove it from the page and replace it: everyone who opened the page has it.";
        return Err(Problem::new(ErrorCode::SecretKeyInBrowser, message));
    }
    if key.starts_with("sk_live_") {
        return Err(Problem::new(
            ErrorCode::LiveKeyInSandbox,
            "The sandbox does not accept live keys. Use the key that it printed at its start.",
        ));
    }
    if !key.starts_with(SECRET_KEY) {
        return Err(invalid_key());
    }
    let known = service.merchants.by_key(&fingerprint(key));
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

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_bearer_value_is_read_and_no_other_scheme() {
        for (sent, token) in [
            ("Bearer sk_1", Some("sk_1")),
            ("bearer  sk_1 ", Some("sk_1")),
            ("Basic sk_1", None),
            ("Bearer ", None),
            ("sk_1", None),
        ] {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(sent))]);
            assert_eq!(bearer(&headers), token, "{sent:?}");
        }
    }
}
