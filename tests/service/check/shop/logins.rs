//! Logins, and the sessions of their customers.

use super::*;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::AppendHeaders;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Stands for the shop's own login: it trusts any name.
pub(super) async fn login(State(server): State<Arc<Server>>, headers: HeaderMap, body: String) -> Response {
    let name = if body.contains("awa") { "awa" } else { "paul" };
    let mut books = server.books();
    let token = match server.broken {
        KeepsGivenLogin => cookie(&headers, "login").unwrap_or_else(token),
        LoginIsGuessable => books.logins.len().to_string(),
        LoginIsConstant => sales::nonce(name, 0),
        LoginIsTime => std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_micros()).to_string(),
        LoginNamesCustomer => format!("{name}.{:016x}", random()),
        _ => token(),
    };
    let attributes = match server.broken {
        LoginForScripts | PairForScripts => "Path=/; SameSite=Lax",
        LoginForOtherSites => "Path=/; HttpOnly; SameSite=None",
        _ => "Path=/; HttpOnly; SameSite=Lax",
    };
    let mut cookies = vec![format!("login={token}; {attributes}")];
    books.logins.insert(token, name.to_owned());
    if matches!(server.broken, PairForScripts | Pair) {
        // One token stands for the other.
        let refresh = self::token();
        cookies.push(format!("refresh={refresh}; {attributes}"));
        books.logins.insert(refresh, name.to_owned());
    }
    if server.needs_csrf_token() {
        cookies.push(format!("csrf={:016x}; Path=/; SameSite=Lax", random()));
    }
    (AppendHeaders(cookies.into_iter().map(|cookie| ("set-cookie", cookie))), "Welcome").into_response()
}

fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn token() -> String {
    format!("{:016x}{:016x}", random(), random())
}

pub(super) async fn logout(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    if server.is(SignOutDoesNothing) {
        return "Goodbye".into_response();
    }
    let token = cookie(&headers, "login").unwrap_or_default();
    let ended = server.books().tokens.remove(&token).unwrap_or_default();
    for session in ended.iter().filter(|_| !server.is(LeavesSessionsAtSignOut)) {
        let credential = if server.is(RevokesSessionsWithKey) { &server.key } else { session };
        drop(server.call_as(credential, "POST", "/sessions/revoke", None).await);
    }
    if !server.is(ForgetsCookieOnly) {
        let mut books = server.books();
        books.logins.remove(&cookie(&headers, "refresh").unwrap_or_default());
        let name = books.logins.remove(&token);
        if let (Some(name), SignsOutOfSessionsOnly | IgnoresSignOutForGet) = (name, server.broken) {
            books.logins.insert(format!("ended {token}"), name);
        }
    }
    [("set-cookie", "login=; Max-Age=0; Path=/")].into_response()
}

pub(super) async fn session(State(server): State<Arc<Server>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Answer {
    server.refuse_other_sites(&headers, "session")?;
    let customer = server.customer(&headers, "session").or_else(|refused| match server.broken {
        GivesStrangersSessions => Ok("guest".to_owned()),
        GivesSessionOfLast => Ok(server.books().current.clone()),
        StrangerNamesCustomer => text(&headers, "x-user").ok_or(refused),
        _ => Err(refused),
    })?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    server.books().current.clone_from(&customer);
    if server.is(MixesCustomersAtOnce) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let named = match server.broken {
        SessionForEmailInBody => body["customer_email"].as_str().map(str::to_owned),
        SessionForCustomerInQuery => query(&uri, "customer_id").map(|name| email(&name)),
        SessionForUserInHeader => text(&headers, "x-forwarded-user"),
        SessionForCookie => cookie(&headers, "email"),
        SessionForOneEmail => Some(email("awa")),
        MixesCustomersAtOnce => Some(email(&server.books().current)),
        _ => None,
    };
    let customer_email = named.unwrap_or_else(|| email(&customer));
    let kept = server.books().session.clone().filter(|_| server.is(SharesSession));
    let mut session = match kept {
        Some(session) => session,
        None => server.call("POST", "/sessions/create", Some(json!({"customer_email": customer_email}))).await?,
    };
    let is_own = session["data"]["customer_email"] == *customer_email;
    if !is_own && !matches!(server.broken, HandsOutForeignSession | SharesSession) {
        return Err(error(502, "service_failed"));
    }
    let token = session["data"]["session_token"].as_str().unwrap_or_default().to_owned();
    server.keep_session(&session, &token, cookie(&headers, "login").unwrap_or_default());
    if server.is(OmitsEnd) {
        session["data"].as_object_mut().unwrap().remove("expires_at");
    }
    server.log(LogsTokens, &session.to_string());
    let headers = [
        (!server.is(StoresSession), "cache-control", "no-store".to_owned()),
        (server.is(PutsTokenIntoAddress), "content-location", format!("/sessions/{token}")),
        (server.is(PutsTokenIntoRefresh), "refresh", format!("0; url=/#{token}")),
        (server.is(KeepsTokenInCookie), "set-cookie", format!("session={token}; HttpOnly; SameSite=Lax")),
    ];
    let sent = headers.into_iter().filter(|(is_sent, ..)| *is_sent).map(|(_, name, value)| (name, value));
    Ok((AppendHeaders(sent), Json(session)).into_response())
}

pub(super) async fn session_by_get(state: State<Arc<Server>>, uri: Uri, headers: HeaderMap) -> Answer {
    let is_taken = match state.broken {
        SessionByGet => true,
        MethodByQuery => query(&uri, "_method").as_deref() == Some("POST"),
        _ => false,
    };
    if !is_taken {
        return Err(error(405, "method_not_allowed"));
    }
    session(state, uri, headers, Bytes::new()).await
}

impl Server {
    fn keep_session(&self, session: &Value, token: &str, login: String) {
        let mut books = self.books();
        books.session = Some(session.clone());
        let tokens = books.tokens.entry(login).or_default();
        if self.is(EndsNewestSessionAlone) {
            tokens.clear();
        }
        tokens.push(token.to_owned());
    }

    /// The customer of the login's cookie.
    pub(super) fn customer(&self, headers: &HeaderMap, route: &str) -> Answer<String> {
        let token = cookie(headers, "login").or(cookie(headers, "refresh")).unwrap_or_default();
        let signed_out = || error(401, "authentication_required");
        if self.is(LoginNamesCustomer) {
            let name = ["awa", "paul"].into_iter().find(|name| token.starts_with(*name) && token.contains('.'));
            return name.map(str::to_owned).ok_or_else(signed_out);
        }
        let books = self.books();
        let goes_on_here = match self.broken {
            SignsOutOfSessionsOnly => route != "session",
            IgnoresSignOutForGet => route == "status",
            _ => false,
        };
        let ended = books.logins.get(&format!("ended {token}")).filter(|_| goes_on_here);
        books.logins.get(&token).or(ended).cloned().ok_or_else(signed_out)
    }
}
