//! The guard of the merchant's own API: how often it checks a token at the service, how long it caches the result, and
//! for which service.

use super::sessions::{api, bearer, headers};
use super::{client, email, key};
use crate::support::fake_service::{FakeService, ScriptedResponse};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use guichet::Client;
use guichet::native::{CustomerSession, SessionGuard};
use guichet::values::{Moment, SessionToken};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_requests_with_one_unknown_token_make_one_call_to_the_service() {
    let service = Validator::start(&[], 0, Some(1800)).await;
    let api = Arc::new(api(&SessionGuard::new(client(&service.base_url))).await);
    let request = || {
        let api = Arc::clone(&api);
        async move { api.get("/extracted", &[&bearer("cst_test_made_up")]).await }
    };
    // Half of them concurrently, half one after the other.
    let at_once: Vec<_> = (0..150).map(|_| tokio::spawn(request())).collect();
    let mut replies = Vec::new();
    for reply in at_once {
        replies.push(reply.await.expect("it ends"));
    }
    for _ in 0..150 {
        replies.push(request().await);
    }
    for reply in replies {
        assert_eq!((reply.status, reply.json()["error"]["code"].as_str()), (401, Some("session_unknown")));
    }
    assert_eq!(service.calls(), 1);
}

#[tokio::test]
async fn a_permanent_refusal_is_cached_with_its_code_and_a_temporary_one_is_not() {
    let refusal = |status: &'static str, code: &str| {
        ScriptedResponse::Reply(
            status,
            &[],
            json!({"message": "No.", "error": {"code": code, "retryable": false}}).to_string(),
        )
    };
    let no_email = r#"{"data":{"valid":true,"expires_at":"2099-01-01T00:00:00Z"}}"#;
    for (answer, status, code) in [
        (refusal("400 Bad Request", "invalid_json"), 502, "service_failed"),
        (refusal("403 Forbidden", "role_required"), 502, "service_failed"),
        (refusal("404 Not Found", "route_not_found"), 404, "unsupported"),
        (refusal("422 Unprocessable Entity", "parameter_invalid"), 422, "parameter_invalid"),
        (ScriptedResponse::Reply("200 OK", &[], no_email.into()), 502, "customer_unknown"),
    ] {
        let service = FakeService::start(vec![answer]).await;
        let guard = SessionGuard::new(client(&service.base_url));
        for _ in 0..3 {
            let refused = guard.check(&headers(&SessionToken::new("cst_test_odd"))).await.expect_err("no customer");
            assert_eq!((refused.status(), refused.code()), (status, code));
        }
        assert_eq!(service.requests().len(), 1, "{code}");
    }

    let valid = r#"{"data":{"valid":true,"customer_email":"awa@example.com","expires_at":"2099-01-01T00:00:00Z"}}"#;
    let unavailable = || ScriptedResponse::Reply("503 Service Unavailable", &[], String::new());
    let service = FakeService::start(vec![
        unavailable(),
        unavailable(),
        unavailable(),
        unavailable(),
        ScriptedResponse::Reply("200 OK", &[], valid.into()),
    ])
    .await;
    let guard = SessionGuard::new(client(&service.base_url));
    let check = async || guard.check(&headers(&SessionToken::new("cst_test_awa"))).await;
    let mut failures = 0;
    while let Err(refused) = check().await {
        assert_eq!(refused.status(), 503);
        failures += 1;
        assert!(failures < 5, "the service responds by now");
    }
    assert!(failures > 0, "the first check fails");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_most_32_unknown_tokens_are_checked_at_once_and_known_customers_are_served() {
    let service = Validator::start(&["cst_test_awa"], 0, Some(1800)).await;
    // The sessions of this service always end in a second, so no result is cached and each check reaches the service.
    let brief = Validator::start(&["cst_test_awa"], 0, None).await;
    for (service, kept) in [(&service, true), (&brief, false)] {
        // The 32 calls must last until the other 968 are refused, on a busy machine too.
        let patient = Client::builder(&service.base_url, key()).deadline(Duration::from_secs(60)).build();
        let guard = SessionGuard::new(patient.expect("a client"));
        let awa = headers(&SessionToken::new("cst_test_awa"));
        guard.check(&awa).await.expect("a customer");

        service.answer_unknown(false);
        let unknown: Vec<_> = (0..1000)
            .map(|number| {
                let (guard, headers) = (guard.clone(), headers(&SessionToken::new(format!("cst_test_{number}"))));
                tokio::spawn(async move { guard.check(&headers).await })
            })
            .collect();
        until(|| service.under_way() == 32).await;
        assert_eq!(guard.check(&awa).await.expect("a known customer").customer_email, email());
        until(|| unknown.iter().filter(|check| check.is_finished()).count() == 1000 - 32).await;
        assert_eq!(guard.check(&awa).await.expect("a known customer").customer_email, email());
        service.answer_unknown(true);

        let mut rejected = 0;
        for check in unknown {
            let refused = check.await.expect("it ends").expect_err("unknown");
            if refused.status() == 401 {
                rejected += 1;
                continue;
            }
            let reply = refused.into_response();
            assert_eq!(
                (reply.status(), &reply.headers()[header::RETRY_AFTER]),
                (StatusCode::SERVICE_UNAVAILABLE, &"1".parse().expect("a header"))
            );
            let body = axum::body::to_bytes(reply.into_body(), 10_000).await.expect("a body");
            let body: Value = serde_json::from_slice(&body).expect("JSON");
            assert_eq!((&body["error"]["code"], &body["error"]["retryable"]), (&json!("unavailable"), &json!(true)));
        }
        assert_eq!((rejected, service.most_under_way()), (32, 32));
        assert_eq!(service.calls(), if kept { 1 + 32 } else { 3 + 32 });
        let refused = guard.check(&headers(&SessionToken::new("cst_test_new"))).await.expect_err("unknown");
        assert_eq!(refused.status(), 401, "unknown tokens are checked again");
    }
}

#[tokio::test]
async fn no_session_is_accepted_after_its_expiry_with_clocks_half_an_hour_apart() {
    // The session must outlive the time until the first check, which may be seconds on a busy machine.
    const LIFETIME: i64 = 20;
    let of_a_clock = |ahead: i64| async move {
        let service = Validator::start(&["cst_test_awa"], ahead, Some(LIFETIME)).await;
        let guard = SessionGuard::new(client(&service.base_url));
        let awa = headers(&SessionToken::new("cst_test_awa"));
        let begun = Instant::now();
        guard.check(&awa).await.expect("a customer");
        guard.check(&awa).await.expect("a customer");
        // If the machine is too busy for the second check to run in time, nothing is asserted.
        if begun.elapsed() < Duration::from_secs(10) {
            assert_eq!(service.calls(), 1, "the result is cached, {ahead} s");
        }
        tokio::time::sleep(Duration::from_secs(LIFETIME.unsigned_abs())).await;
        let refused = guard.check(&awa).await.expect_err("it has ended");
        assert_eq!(refused.code(), "session_expired", "{ahead} s");
    };
    tokio::join!(of_a_clock(0), of_a_clock(1800), of_a_clock(-1800));
}

#[tokio::test]
async fn a_check_without_a_date_header_is_cached_too() {
    let body = r#"{"data":{"valid":true,"customer_email":"awa@example.com","expires_at":"2001-01-01T00:00:00Z"}}"#;
    let service = FakeService::start(vec![ScriptedResponse::Reply("200 OK", &[], body.into())]).await;
    let guard = SessionGuard::new(client(&service.base_url));
    for _ in 0..2 {
        guard.check(&headers(&SessionToken::new("cst_test_awa"))).await.expect("a customer");
    }
    assert_eq!(service.requests().len(), 1);
}

#[tokio::test]
async fn a_guard_refuses_the_customer_of_another_service() {
    async fn me(session: CustomerSession) -> String {
        session.customer_email.to_string()
    }
    let (here, there) = (
        Validator::start(&["cst_test_awa"], 0, Some(1800)).await,
        Validator::start(&["cst_test_paul"], 0, Some(1800)).await,
    );
    let guards = [&here, &there].map(|service| SessionGuard::new(client(&service.base_url)));
    let token = |token: &str| [bearer(token)];
    for (layer, extractor, tokens) in [
        (&guards[0], &guards[1], ["cst_test_awa", "cst_test_paul"]),
        (&guards[1], &guards[0], ["cst_test_awa", "cst_test_paul"]),
    ] {
        let url = serve(Router::new().route("/me", get(me)).layer(layer.clone()).with_state(extractor.clone())).await;
        for of_one in tokens {
            let reply = crate::support::http::get(&format!("{url}/me"), &[&token(of_one)[0]]).await;
            assert_eq!(reply.status, 401, "{of_one} is valid at one of the two services only");
        }
    }
    // The extractor uses the result of the guard that has admitted the request.
    for guard in &guards {
        let url = serve(Router::new().route("/me", get(me)).layer(guard.clone()).with_state(guard.clone())).await;
        let (service, of_it) =
            if std::ptr::eq(guard, &guards[0]) { (&here, "cst_test_awa") } else { (&there, "cst_test_paul") };
        let before = service.calls();
        let reply = crate::support::http::get(&format!("{url}/me"), &[&token(of_it)[0]]).await;
        assert_eq!((reply.status, reply.body.as_str()), (200, "awa@example.com"));
        assert!(service.calls() <= before + 1);
    }
}

async fn until(is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "the condition does not become true");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn serve(router: Router) -> String {
    crate::support::http::serve(router).await
}

/// A service that validates tokens by its own clock, and counts the requests.
struct Validator {
    base_url: String,
    inner: Arc<Inner>,
}

struct Inner {
    valid: Vec<&'static str>,
    /// The seconds by which its clock is ahead of this machine's.
    ahead: i64,
    /// The expiry of its sessions, by its clock.
    ends_at: Option<i64>,
    answers_unknown: watch::Sender<bool>,
    calls: AtomicUsize,
    /// Requests with unknown tokens.
    under_way: AtomicUsize,
    most_under_way: AtomicUsize,
}

impl Validator {
    /// A service that accepts these tokens. Its sessions end after `ends_in` seconds, or if it is `None`, always one
    /// second after the response.
    async fn start(valid: &[&'static str], ahead: i64, ends_in: Option<i64>) -> Self {
        let inner = Arc::new(Inner {
            valid: valid.to_vec(),
            ahead,
            ends_at: ends_in.map(|seconds| unix_now() + ahead + seconds),
            answers_unknown: watch::channel(true).0,
            calls: AtomicUsize::default(),
            under_way: AtomicUsize::default(),
            most_under_way: AtomicUsize::default(),
        });
        let router = Router::new().route("/v1/sessions/validate", post(validate)).with_state(Arc::clone(&inner));
        Self { base_url: serve(router).await, inner }
    }

    /// Sets whether it responds to requests with unknown tokens.
    fn answer_unknown(&self, answers: bool) {
        self.inner.answers_unknown.send_replace(answers);
    }

    fn calls(&self) -> usize {
        self.inner.calls.load(Ordering::SeqCst)
    }

    fn under_way(&self) -> usize {
        self.inner.under_way.load(Ordering::SeqCst)
    }

    fn most_under_way(&self) -> usize {
        self.inner.most_under_way.load(Ordering::SeqCst)
    }
}

async fn validate(State(service): State<Arc<Inner>>, headers: HeaderMap) -> Response {
    service.calls.fetch_add(1, Ordering::SeqCst);
    let token = headers[header::AUTHORIZATION].to_str().expect("text").trim_start_matches("Bearer ").to_owned();
    let is_known = service.valid.contains(&token.as_str());
    if !is_known {
        let under_way = service.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        service.most_under_way.fetch_max(under_way, Ordering::SeqCst);
        service.answers_unknown.subscribe().wait_for(|answers| *answers).await.expect("the sender is not dropped");
        service.under_way.fetch_sub(1, Ordering::SeqCst);
    }
    let now = unix_now() + service.ahead;
    let ends_at = service.ends_at.unwrap_or(now + 1);
    let (status, data) = if !is_known {
        (StatusCode::UNAUTHORIZED, json!({"valid": false, "reason": "unknown"}))
    } else if now >= ends_at {
        (StatusCode::UNAUTHORIZED, json!({"valid": false, "reason": "expired"}))
    } else {
        let expires_at = Moment::from_unix(ends_at).to_string();
        (StatusCode::OK, json!({"valid": true, "customer_email": "awa@example.com", "expires_at": expires_at}))
    };
    let since = Duration::from_secs(now.unsigned_abs());
    let date = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + since);
    (status, [(header::DATE, date)], Json(json!({"success": status.is_success(), "message": "", "data": data})))
        .into_response()
}

fn unix_now() -> i64 {
    let since = SystemTime::UNIX_EPOCH.elapsed().expect("after 1970");
    i64::try_from(since.as_secs()).expect("a date that can be represented")
}
