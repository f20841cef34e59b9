//! Session tokens on the merchant's server: one valid token per login, one creation at a time, all revoked at sign-out.
//! And the guard of the merchant's own API.

use super::{client, email};
use crate::support::fake_service::{FakeService, ScriptedResponse, reply};
use axum::http::{HeaderMap, HeaderValue, Request, header};
use axum::routing::get;
use axum::{Extension, Router};
use guichet::native::{
    CustomerSession, KeepResult, KeptSession, MemoryStore, Refused, SessionGuard, SessionStore, Sessions,
};
use guichet::operations::{CreateSession, RevokeSession, ValidateSession};
use guichet::protocol::Operation;
use guichet::values::{Email, Moment, SessionToken};
use guichet::{Client, SecretKey};
use guichet_sandbox::{Fault, Sandbox, Tenant};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

#[tokio::test]
async fn sixty_four_concurrent_requests_share_one_new_session() {
    let (sandbox, merchant, client) = open().await;
    let sessions = Sessions::new(client);
    merchant.fault(Fault::delay::<CreateSession>(Duration::from_millis(100))).await.expect("a fault");
    let requests: Vec<_> = (0..64)
        .map(|_| {
            let sessions = sessions.clone();
            tokio::spawn(async move { sessions.get_or_create("login-1", &email()).await.expect("a session").token })
        })
        .collect();
    let mut tokens = Vec::new();
    for request in requests {
        tokens.push(request.await.expect("it ends"));
    }
    assert!(tokens.iter().all(|token| *token == tokens[0]));
    assert_eq!(count::<CreateSession>(&merchant).await, 1);
    sandbox.stop().await;
}

#[tokio::test]
async fn a_login_keeps_its_token_while_the_service_accepts_it_and_then_gets_another() {
    let (sandbox, merchant, client) = open().await;
    let sessions = Sessions::new(client.clone());
    let first = sessions.get_or_create("login-1", &email()).await.expect("a session");
    assert_eq!(sessions.get_or_create("login-1", &email()).await.expect("a session").token, first.token);
    assert_ne!(
        sessions.get_or_create("login-2", &email()).await.expect("a session").token,
        first.token,
        "another login"
    );

    client.customer(&first.token).revoke().await.expect("another process revokes it");
    let second = sessions.get_or_create("login-1", &email()).await.expect("a session");
    assert_ne!(second.token, first.token);
    merchant.clock().advance(30 * 60).await.expect("the clock moves");
    assert_ne!(
        sessions.get_or_create("login-1", &email()).await.expect("a session").token,
        second.token,
        "it has expired"
    );
    let paul = Email::new("paul@example.com").expect("an e-mail");
    assert_eq!(
        sessions.get_or_create("login-1", &paul).await.expect("a session").customer_email,
        paul,
        "another customer"
    );
    sandbox.stop().await;
}

#[tokio::test]
async fn a_session_that_ends_soon_is_renewed_before_it_does() {
    let now = now();
    let store = Arc::new(MemoryStore::default());
    let kept = |token: &str, made_at: i64, ends_at: i64| KeptSession {
        token: SessionToken::new(token),
        customer_email: email(),
        made_at: Moment::from_unix(now + made_at),
        ends_at: Some(Moment::from_unix(now + ends_at)),
        lifetime: Some(Duration::from_secs((ends_at - made_at).unsigned_abs())),
    };
    let service = FakeService::start(vec![valid(), created_session("cst_test_2")]).await;
    let sessions = Sessions::with_store(client(&service.base_url), Arc::clone(&store));
    store.keep("login-1", &kept("cst_test_1", -1500, 300), None).await.expect("it is kept");
    assert_eq!(sessions.get_or_create("login-1", &email()).await.expect("a session").token.expose(), "cst_test_1");
    store.keep("login-2", &kept("cst_test_1", -1700, 100), None).await.expect("it is kept");
    assert_eq!(sessions.get_or_create("login-2", &email()).await.expect("a session").token.expose(), "cst_test_2");
    assert!(service.requests()[1].starts_with("POST /v1/sessions/create "), "the old token was not validated");
}

#[tokio::test]
async fn a_sessions_lifetime_is_measured_by_the_services_clock() {
    // The service's clock is half an hour behind, half an hour ahead, or unknown.
    for (date, lifetime) in [
        (&["Date: Sat, 21 Nov 2026 10:00:00 GMT"][..], Some(1800)),
        (&["Date: Saturday, 21-Nov-26 10:20:00 GMT"][..], Some(600)),
        (&["Date: yesterday"][..], None),
        (&[][..], None),
    ] {
        let body = r#"{"data":{"session_token":"cst_test_1","expires_at":"2026-11-21T10:30:00Z"}}"#;
        let service = FakeService::start(vec![ScriptedResponse::Reply("201 Created", date, body.into())]).await;
        let kept =
            Sessions::new(client(&service.base_url)).get_or_create("login-1", &email()).await.expect("a session");
        let by_date = kept.lifetime.map(|lifetime| lifetime.as_secs());
        match lifetime {
            Some(_) => assert_eq!(by_date, lifetime, "{date:?}"),
            // Without the service's time, this server's clock is used.
            None => assert_eq!(by_date, u64::try_from(1_795_257_000 - kept.made_at.unix()).ok(), "{date:?}"),
        }
    }
}

#[tokio::test]
async fn signing_out_ends_every_token_of_the_login_and_of_no_other() {
    let (sandbox, _, client) = open().await;
    let store = Arc::new(MemoryStore::default());
    let sessions = Sessions::with_store(client.clone(), Arc::clone(&store));
    // The token before a renewal is still valid, so both are revoked.
    let older = client.create_session(&email()).await.expect("a session");
    let older = KeptSession {
        token: older.session_token,
        customer_email: email(),
        made_at: Moment::from_unix(now() - 1700),
        ends_at: Some(Moment::from_unix(now() + 100)),
        lifetime: Some(Duration::from_secs(1800)),
    };
    store.keep("login-1", &older, None).await.expect("it is kept");
    let newer = sessions.get_or_create("login-1", &email()).await.expect("a session");
    let other = sessions.get_or_create("login-2", &email()).await.expect("a session");
    assert_ne!(older.token, newer.token);

    sessions.sign_out("login-1").await.expect("signed out");
    sessions.sign_out("login-1").await.expect("it can be repeated");
    assert!(!is_valid(&client, &older.token).await);
    assert!(!is_valid(&client, &newer.token).await);
    assert!(is_valid(&client, &other.token).await);
    let refused = sessions.get_or_create("login-1", &email()).await.expect_err("the login stays signed out");
    assert_eq!((refused.status(), refused.code()), (401, "authentication_required"));
    sandbox.stop().await;
}

#[tokio::test]
async fn a_session_that_arrives_after_signing_out_is_revoked_and_not_returned() {
    let (sandbox, merchant, client) = open().await;
    // The store delays the new session until the customer has signed out.
    let gate = Arc::new(Semaphore::new(0));
    let sessions = Sessions::with_store(client, Gated(MemoryStore::default(), Arc::clone(&gate)));
    let asking = tokio::spawn({
        let sessions = sessions.clone();
        async move { sessions.get_or_create("login-1", &email()).await }
    });
    until(async || count::<CreateSession>(&merchant).await == 1).await;
    sessions.sign_out("login-1").await.expect("signed out");
    assert_eq!(count::<RevokeSession>(&merchant).await, 0, "there was no token to revoke yet");
    gate.add_permits(1);
    assert_eq!(asking.await.expect("it ends").expect_err("signed out").status(), 401);
    assert_eq!(count::<RevokeSession>(&merchant).await, 1);
    sandbox.stop().await;
}

#[tokio::test]
async fn a_session_whose_caller_has_gone_is_kept_for_the_next() {
    let (sandbox, merchant, client) = open().await;
    let sessions = Sessions::new(client);
    merchant.fault(Fault::delay::<CreateSession>(Duration::from_millis(100))).await.expect("a fault");
    let asking = tokio::spawn({
        let sessions = sessions.clone();
        async move { sessions.get_or_create("login-1", &email()).await }
    });
    until(async || count::<CreateSession>(&merchant).await == 1).await;
    asking.abort();
    sessions.get_or_create("login-1", &email()).await.expect("a session");
    assert_eq!(count::<CreateSession>(&merchant).await, 1);
    sandbox.stop().await;
}

#[tokio::test]
async fn a_failed_revocation_is_reported_and_retried() {
    let no = || reply("500 Internal Server Error", r#"{"message":"Oh.","error":{"retryable":false}}"#);
    let service =
        FakeService::start(vec![created_session("cst_test_1"), no(), reply("200 OK", r#"{"data":{"revoked":true}}"#)])
            .await;
    let sessions = Sessions::new(client(&service.base_url));
    sessions.get_or_create("login-1", &email()).await.expect("a session");
    sessions.sign_out("login-1").await.expect_err("it could not be revoked");
    sessions.sign_out("login-1").await.expect("now it is");
    sessions.sign_out("login-1").await.expect("no token is left to revoke");
    assert_eq!(service.requests().len(), 3);
}

#[tokio::test]
async fn signing_out_continues_without_its_caller_and_the_guard_refuses_every_token_first() {
    let (sandbox, merchant, client) = open().await;
    let (store, guard) = (Arc::new(MemoryStore::default()), SessionGuard::new(client.clone()));
    let sessions = Sessions::with_store(client.clone(), Arc::clone(&store)).guarded_by(guard.clone());
    let tokens = two_of("login-1", &client, &store).await;
    merchant.fault(Fault::delay::<RevokeSession>(Duration::from_millis(100))).await.expect("a fault");
    let asking = tokio::spawn(async move { sessions.sign_out("login-1").await });
    until(async || count::<RevokeSession>(&merchant).await == 1).await;
    asking.abort();
    for token in &tokens {
        let refused =
            guard.check(&headers(token)).await.expect_err("the guard refuses it before the service has revoked it");
        assert_eq!(refused.code(), "session_revoked");
    }
    let both = until(async || count::<RevokeSession>(&merchant).await == 2);
    tokio::time::timeout(Duration::from_secs(20), both).await.expect("the second token is revoked too");
    sandbox.stop().await;
}

#[tokio::test]
async fn a_failing_store_leaves_no_valid_token() {
    let (sandbox, _, client) = open().await;
    let store = Arc::new(MemoryStore::default());
    let sessions = Sessions::with_store(client.clone(), Unforgetting(Arc::clone(&store)));
    let tokens = two_of("login-1", &client, &store).await;
    assert_eq!(sessions.sign_out("login-1").await.expect_err("the store has failed").status(), 500);
    for token in &tokens {
        assert!(!is_valid(&client, token).await);
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn a_valid_token_is_admitted_with_its_customers_email() {
    let (sandbox, merchant, client) = open().await;
    let token = client.create_session(&email()).await.expect("a session").session_token;
    let api = api(&SessionGuard::new(client)).await;
    for route in ["/extracted", "/layered"] {
        let answer = api.get(route, &[&bearer(token.expose())]).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, "awa@example.com"), "{route}");
    }
    let shouted = format!("Authorization: BEARER {}", token.expose());
    assert_eq!(api.get("/extracted", &[&shouted]).await.status, 200, "the scheme is case-insensitive");
    assert_eq!(count::<ValidateSession>(&merchant).await, 1, "the result is cached for a while");
    sandbox.stop().await;
}

#[tokio::test]
async fn an_invalid_token_is_refused_with_the_reason_in_the_documented_envelope() {
    let (sandbox, merchant, client) = open().await;
    let revoked = client.create_session(&email()).await.expect("a session").session_token;
    client.customer(&revoked).revoke().await.expect("it is revoked");
    let expired = client.create_session(&email()).await.expect("a session").session_token;
    merchant.clock().advance(30 * 60).await.expect("the clock moves");
    let api = api(&SessionGuard::new(client)).await;
    let plain = r#"Bearer realm="guichet""#;
    let invalid = r#"Bearer realm="guichet", error="invalid_token""#;
    let two = ["Authorization: Bearer cst_test_1", "Authorization: Bearer cst_test_2"];
    let key = bearer(merchant.secret_key().expose());
    let long = bearer(&"a".repeat(5000));
    let (revoked, expired) = (bearer(revoked.expose()), bearer(expired.expose()));
    for (headers, code, challenge) in [
        (&[][..], "authentication_required", plain),
        (&["Authorization: Basic YXdhOmhpZGRlbg=="][..], "authentication_required", plain),
        (&["Authorization: Bearer "][..], "authentication_required", plain),
        (&["Cookie: session=cst_test_1"][..], "authentication_required", plain),
        (&two[..], "authentication_required", plain),
        (&[key.as_str()][..], "session_token_required", invalid),
        (&[long.as_str()][..], "session_unknown", invalid),
        (&["Authorization: Bearer cst_test_unknown"][..], "session_unknown", invalid),
        (&[revoked.as_str()][..], "session_revoked", invalid),
        (&[expired.as_str()][..], "session_expired", invalid),
    ] {
        for route in ["/extracted", "/layered"] {
            let answer = api.get(route, headers).await;
            let body = answer.json();
            assert_eq!((answer.status, body["error"]["code"].as_str()), (401, Some(code)), "{headers:?}");
            assert_eq!(answer.header("www-authenticate"), Some(challenge), "{headers:?}");
            assert_eq!(answer.header("cache-control"), Some("no-store"));
            assert_eq!((body["status_code"].as_u64(), body["response_type"].as_str()), (Some(401), Some("error")));
            assert_eq!((&body["data"], &body["error"]["type"]), (&serde_json::Value::Null, &"authentication".into()));
            assert!(!answer.body.contains("cst_test") && !answer.body.contains("sk_test"), "{}", answer.body);
        }
    }
    let sent = merchant
        .requests()
        .await
        .expect("the requests")
        .into_iter()
        .filter(|request| request.credential == "secret_key");
    assert!(
        sent.into_iter().all(|request| request.operation == "create_session"),
        "a secret key is not sent to the service"
    );
    sandbox.stop().await;
}

#[tokio::test]
async fn many_requests_with_one_token_make_one_check() {
    let (sandbox, merchant, client) = open().await;
    let token = client.create_session(&email()).await.expect("a session").session_token;
    let guard = SessionGuard::new(client);
    merchant.fault(Fault::delay::<ValidateSession>(Duration::from_millis(100))).await.expect("a fault");
    let checks: Vec<_> = (0..64)
        .map(|_| {
            let (guard, headers) = (guard.clone(), headers(&token));
            tokio::spawn(async move { guard.check(&headers).await })
        })
        .collect();
    for check in checks {
        check.await.expect("it ends").expect("a good token");
    }
    assert_eq!(count::<ValidateSession>(&merchant).await, 1);
    sandbox.stop().await;
}

#[tokio::test]
async fn a_token_that_is_signed_out_is_refused_at_once() {
    let (sandbox, _, client) = open().await;
    let guard = SessionGuard::new(client.clone());
    let sessions = Sessions::new(client).guarded_by(guard.clone());
    let token = sessions.get_or_create("login-1", &email()).await.expect("a session").token;
    guard.check(&headers(&token)).await.expect("a good token");
    sessions.sign_out("login-1").await.expect("signed out");
    assert_eq!(guard.check(&headers(&token)).await.expect_err("ended").code(), "session_revoked");
    sandbox.stop().await;
}

#[tokio::test]
async fn a_running_check_does_not_readmit_a_revoked_token() {
    let (sandbox, merchant, client) = open().await;
    let token = client.create_session(&email()).await.expect("a session").session_token;
    let guard = SessionGuard::new(client);
    merchant.fault(Fault::delay::<ValidateSession>(Duration::from_millis(100))).await.expect("a fault");
    let check = tokio::spawn({
        let (guard, headers) = (guard.clone(), headers(&token));
        async move { guard.check(&headers).await }
    });
    until(async || count::<ValidateSession>(&merchant).await == 1).await;
    guard.refuse(&token);
    assert_eq!(check.await.expect("it ends").expect_err("ended").code(), "session_revoked");
    sandbox.stop().await;
}

#[tokio::test]
async fn a_silent_service_admits_no_customer() {
    let guard = SessionGuard::new(client("http://127.0.0.1:1"));
    let refused =
        guard.check(&headers(&SessionToken::new("cst_test_1"))).await.expect_err("the service does not respond");
    assert_eq!((refused.status(), refused.code()), (503, "unavailable"));

    let nameless = reply("200 OK", r#"{"data":{"valid":true}}"#);
    let service = FakeService::start(vec![nameless]).await;
    let guard = SessionGuard::new(client(&service.base_url));
    let refused = guard.check(&headers(&SessionToken::new("cst_test_1"))).await.expect_err("whose is it?");
    assert_eq!((refused.status(), refused.code()), (502, "customer_unknown"));
    assert!(!format!("{guard:?} {refused:?}").contains("cst_test"));
}

pub(super) async fn open() -> (Sandbox, Tenant, Client) {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let merchant = sandbox.merchant().await.expect("a merchant");
    let key = SecretKey::new(merchant.secret_key().expose()).expect("a key");
    let client = Client::builder(merchant.base_url(), key).build().expect("a client");
    (sandbox, merchant, client)
}

/// Two tokens of one login, as after a renewal.
async fn two_of(login: &str, client: &Client, store: &MemoryStore) -> [SessionToken; 2] {
    let mut tokens: Vec<SessionToken> = Vec::new();
    for _ in 0..2 {
        let token = client.create_session(&email()).await.expect("a session").session_token;
        let made_at = Moment::from_unix(now());
        let kept =
            KeptSession { token: token.clone(), customer_email: email(), made_at, ends_at: None, lifetime: None };
        let stored = store.keep(login, &kept, tokens.last()).await.expect("an answer");
        assert_eq!(stored, KeepResult::Stored);
        tokens.push(token);
    }
    tokens.try_into().expect("two")
}

/// The number of requests for an operation.
pub(super) async fn count<O: Operation>(merchant: &Tenant) -> usize {
    merchant.requests().await.expect("the requests").iter().filter(|request| request.operation == O::SPEC.name).count()
}

async fn until(is_so: impl AsyncFn() -> bool) {
    while !is_so().await {
        tokio::task::yield_now().await;
    }
}

pub(super) async fn is_valid(client: &Client, token: &SessionToken) -> bool {
    client.customer(token).validate().await.expect("an answer").valid
}

fn now() -> i64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("after 1970");
    i64::try_from(since.as_secs()).expect("a date that can be represented")
}

pub(super) fn created_session(token: &str) -> ScriptedResponse {
    reply("201 Created", format!(r#"{{"data":{{"session_token":"{token}","customer_email":"awa@example.com"}}}}"#))
}

fn valid() -> ScriptedResponse {
    reply("200 OK", r#"{"data":{"valid":true,"customer_email":"awa@example.com"}}"#)
}

pub(super) fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}")
}

pub(super) fn headers(token: &SessionToken) -> HeaderMap {
    let value = HeaderValue::from_str(&format!("Bearer {}", token.expose())).expect("a header");
    HeaderMap::from_iter([(header::AUTHORIZATION, value)])
}

/// The merchant's own API, guarded by the extractor and by the layer.
pub(super) struct Api(String);

impl Api {
    pub(super) async fn get(&self, route: &str, headers: &[&str]) -> crate::support::http::Reply {
        crate::support::http::get(&format!("{}{route}", self.0), headers).await
    }
}

pub(super) async fn api(guard: &SessionGuard) -> Api {
    async fn extracted(session: CustomerSession) -> String {
        session.customer_email.to_string()
    }
    async fn layered(Extension(session): Extension<CustomerSession>, _: Request<axum::body::Body>) -> String {
        session.customer_email.to_string()
    }
    let layered = Router::new().route("/layered", get(layered)).layer(guard.clone());
    let router = Router::new().route("/extracted", get(extracted)).with_state(guard.clone()).merge(layered);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async { axum::serve(listener, router).await });
    Api(format!("http://{address}"))
}

/// A store that cannot delete sessions.
struct Unforgetting(Arc<MemoryStore>);

impl SessionStore for Unforgetting {
    async fn newest(&self, login: &str) -> Result<Option<KeptSession>, Refused> {
        self.0.newest(login).await
    }
    async fn keep(
        &self,
        login: &str,
        session: &KeptSession,
        replaced: Option<&SessionToken>,
    ) -> Result<KeepResult, Refused> {
        self.0.keep(login, session, replaced).await
    }
    async fn end(&self, login: &str, remember_for: Duration) -> Result<Vec<KeptSession>, Refused> {
        self.0.end(login, remember_for).await
    }
    async fn forget(&self, _: &str, _: &SessionToken) -> Result<(), Refused> {
        Err(Refused::broken("the database is gone"))
    }
    async fn has_ended(&self, token: &SessionToken) -> Result<bool, Refused> {
        self.0.has_ended(token).await
    }
}

/// A store that waits for the test before it stores a session.
struct Gated(MemoryStore, Arc<Semaphore>);

impl SessionStore for Gated {
    async fn newest(&self, login: &str) -> Result<Option<KeptSession>, Refused> {
        self.0.newest(login).await
    }
    async fn keep(
        &self,
        login: &str,
        session: &KeptSession,
        replaced: Option<&SessionToken>,
    ) -> Result<KeepResult, Refused> {
        self.1.acquire().await.map_err(Refused::broken)?.forget();
        self.0.keep(login, session, replaced).await
    }
    async fn end(&self, login: &str, remember_for: Duration) -> Result<Vec<KeptSession>, Refused> {
        self.0.end(login, remember_for).await
    }
    async fn forget(&self, login: &str, token: &SessionToken) -> Result<(), Refused> {
        self.0.forget(login, token).await
    }
    async fn has_ended(&self, token: &SessionToken) -> Result<bool, Refused> {
        self.0.has_ended(token).await
    }
}

/// The document does not show the reply to a validation: it may say no more than that the token is valid.
#[tokio::test]
async fn a_guard_knows_whose_token_was_given_out() {
    let created = reply("200 OK", r#"{"data":{"session_token":"cst_test_1","customer_email":"awa@example.com"}}"#);
    let valid = || reply("200 OK", r#"{"data":{"valid":true}}"#);
    let service = FakeService::start(vec![created, valid(), valid()]).await;
    let guard = SessionGuard::new(client(&service.base_url));
    let sessions = Sessions::new(client(&service.base_url)).guarded_by(guard.clone());
    let kept = sessions.get_or_create("login", &Email::new("awa@example.com").unwrap()).await.unwrap();
    let customer = guard.check(&headers(&kept.token)).await.unwrap();
    assert_eq!(customer.customer_email.as_str(), "awa@example.com");
    let other = guard.check(&headers(&SessionToken::new("cst_test_2"))).await.unwrap_err();
    assert_eq!(other.code(), "customer_unknown");
}
