//! Calls that end, what they leave behind, and what they send: what a shop's page relies on, in real browsers.

use crate::support::engine::{Engine, in_chromium, in_every_browser};
use axum::Router;
use axum::extract::Path as Named;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{Html, IntoResponse};
use axum::routing::get;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tower_http::services::ServeDir;

in_every_browser!(a_repeated_public_read_needs_no_preflight_and_a_payment_is_never_cached);

// The same in every engine: rules of the service, and code that depends on no engine.
in_chromium!(
    a_request_that_every_caller_has_aborted_ends,
    a_test_page_is_refused_in_a_browser_and_changes_nothing,
    a_closed_client_ends_its_calls_and_leaves_no_channel_timer_or_listener,
    a_return_that_matches_nothing_is_reported_at_once,
    an_aborted_call_leaves_no_timer_listener_or_request,
    a_long_wait_keeps_no_listeners_of_finished_reads,
    an_abort_reason_reaches_the_signals_of_the_requests_that_it_ends,
    options_that_throw_reject_the_call_and_nothing_else,
    a_popup_without_channels_ends_when_it_is_closed_and_one_that_cannot_be_used_becomes_a_redirect,
    an_empty_popup_shows_the_language_of_its_client,
    requests_that_never_settle_keep_no_memory,
    each_attempt_gives_a_callers_fetch_an_init_of_its_own,
    a_page_that_may_not_leave_rejects_the_checkout_and_stays_usable,
    timeouts_and_budgets_are_counted_from_the_call,
    a_page_that_makes_and_closes_a_thousand_clients_keeps_its_memory,
    a_fee_crosses_from_the_wasm_to_javascript_at_most_60_times,
    a_read_of_the_merchant_is_sent_as_its_other_requests_are,
    headers_that_cannot_be_sent_are_an_input_error_and_what_their_function_throws_is_kept,
);

async fn a_request_that_every_caller_has_aborted_ends(engine: Engine) {
    let found = found(engine, "nobody_waits").await;
    assert_eq!(found, json!({ "results": ["mine", "yours"], "requests": 1, "before": 0, "ended": 1 }));
}

async fn an_aborted_call_leaves_no_timer_listener_or_request(engine: Engine) {
    let found = found(engine, "called_off").await;
    let calls = found.as_object().unwrap_or_else(|| panic!("{found}"));
    assert_eq!(calls.len(), 14, "{found}");
    for (call, counts) in calls {
        assert_eq!(counts["rejected"], "enough", "{call}: {counts}");
        assert_eq!(counts["after"], counts["before"], "{call}: {counts}");
        for (what, least) in counts["holds"].as_object().unwrap() {
            let [before, during] = ["before", "during"].map(|when| counts[when][what].as_i64().unwrap());
            assert!(during - before >= least.as_i64().unwrap(), "{call} has no {what} while it runs: {counts}");
        }
    }
}

async fn a_closed_client_ends_its_calls_and_leaves_no_channel_timer_or_listener(engine: Engine) {
    let found = found(engine, "closed").await;
    assert_eq!(found["during"]["requests"], 20, "{found}");
    assert!(found["during"]["channels"].as_u64() >= Some(20), "{found}");
    assert_eq!(found["after"], found["before"], "{found}");
    assert_eq!(found["ended"], json!(["AbortError: The client was closed."]), "{found}");
    assert_eq!(found["later"], json!(vec!["input"; 8]), "{found}");
    assert_eq!((&found["disposes"], &found["state"]), (&json!(true), &json!("active")), "{found}");
}

async fn a_page_that_makes_and_closes_a_thousand_clients_keeps_its_memory(engine: Engine) {
    let found = found(engine, "thousand_clients").await;
    assert!(found["before"].as_u64() > Some(0), "{found}");
    assert_eq!(found["before"], found["after"], "{found}");
}

async fn a_fee_crosses_from_the_wasm_to_javascript_at_most_60_times(engine: Engine) {
    let found = found(engine, "crossings").await;
    assert_eq!(found["total_payable"], 5100, "{found}");
    assert!((10..=60).contains(&found["count"].as_u64().unwrap_or_default()), "{found}");
}

async fn a_return_that_matches_nothing_is_reported_at_once(engine: Engine) {
    let found = found(engine, "unmatched").await;
    assert_eq!(found["matches"], json!(vec!["unmatched"; 5]), "{found}");
    assert!(found["fastest"].as_f64() < Some(50.0), "{found}");
}

async fn headers_that_cannot_be_sent_are_an_input_error_and_what_their_function_throws_is_kept(engine: Engine) {
    let found = found(engine, "bad_headers").await;
    let bad = json!(["input", "merchantHeaders", 0]);
    assert_eq!(found, json!([bad, bad, bad, "its own"]));
}

async fn a_read_of_the_merchant_is_sent_as_its_other_requests_are(engine: Engine) {
    let found = found(engine, "merchant_reads").await;
    let headers = json!({ "accept": "application/json", "accept-language": "fr", "x-csrf": "17" });
    let read = |target: &str| json!([target, "GET", headers, null, "include", "no-store", null]);
    let fee = "/guichet/fee?payment_method=a%2Fb%3Fc&currency=XAF&amount=5000&country_code=CM&card_type=international";
    let expected = json!([
        read("/guichet/payment-methods"),
        read("/guichet/payment-methods?country_code=CM"),
        read(fee),
        read("/guichet/payment-methods"),
        read("/guichet/fee?payment_method=mobile_money&currency=XAF&amount=5&card_type=local")
    ]);
    assert_eq!(found["sent"], expected);
    assert_eq!(found["results"], json!([1, 1, "6"]));
    let kinds = ["signed_out", "refused", "unsupported"].map(|kind| json!([kind, "merchant_fee"]));
    assert_eq!(found["refused"], json!(kinds));
    let other = json!([[
        "https://api.shop.example/guichet/payment-methods",
        "GET",
        headers,
        null,
        "same-origin",
        "no-store",
        null
    ]]);
    assert_eq!((&found["other"], &found["state"]), (&other, &json!("none")));
}

async fn a_long_wait_keeps_no_listeners_of_finished_reads(engine: Engine) {
    let found = found(engine, "long_wait").await;
    let reads = found["reads"].as_array().unwrap();
    assert!(reads.len() >= 8, "{found}");
    assert!(reads.iter().all(|listeners| *listeners == reads[0]), "listeners of the page, at each read: {found}");
    assert_eq!((&found["state"], &found["checkout"]), (&json!("succeeded"), &json!("refused")), "{found}");
    assert_eq!(found["left"], json!(0), "listeners of the caller's signal: {found}");
}

/// With `cache: no-store`, Chromium sends a CORS preflight before each request.
async fn a_repeated_public_read_needs_no_preflight_and_a_payment_is_never_cached(engine: Engine) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&requests);
    let service = served(Router::new().fallback(async move |method: Method, uri: Uri| {
        let mut requests = recorded.lock().unwrap();
        requests.push(format!("{method} {}", uri.path()));
        let reads = requests.iter().filter(|requests| requests.starts_with("GET /v1/payment-intents/")).count();
        let status = if reads > 1 { "succeeded" } else { "processing" };
        let kept = if uri.path().starts_with("/v1/payment-intents") { "max-age=600" } else { "no-store" };
        let headers = [
            ("access-control-allow-origin", "*"),
            ("access-control-allow-headers", "authorization, content-type"),
            ("access-control-max-age", "600"),
            ("cache-control", kept),
        ];
        (headers, axum::Json(json!({ "data": { "status": status } })))
    }))
    .await;

    let found = found(engine, &format!("asked_again#service={service}")).await;

    assert_eq!(found["state"], "succeeded", "{found}");
    let requests = requests.lock().unwrap();
    let of = |method: &str, path: &str| {
        requests.iter().filter(|requests| requests.starts_with(method) && requests.contains(path)).count()
    };
    assert_eq!(of("GET", "/fee/"), 2, "{requests:?}");
    // Firefox remembers a preflight now and then, also that of a plain fetch.
    let most = if engine == Engine::Firefox { 2 } else { 1 };
    assert!((1..=most).contains(&of("OPTIONS", "/fee/")), "{requests:?}");
    assert_eq!(of("GET", "/payment-intents/"), 2, "{requests:?}");
}

async fn an_abort_reason_reaches_the_signals_of_the_requests_that_it_ends(engine: Engine) {
    let found = found(engine, "reasons").await;
    assert_eq!(found, json!({ "results": ["mine", "mine"], "reasons": ["mine", "mine"] }));
}

async fn options_that_throw_reject_the_call_and_nothing_else(engine: Engine) {
    let found = found(engine, "throws").await;
    assert_eq!(found, json!({ "results": ["keys", "get", "timeoutMs", "signal", 1], "after": 1 }));
}

async fn a_popup_without_channels_ends_when_it_is_closed_and_one_that_cannot_be_used_becomes_a_redirect(
    engine: Engine,
) {
    let found = found(engine, "no_channels").await;
    assert_eq!((&found["state"], found["opened"].as_array().map(Vec::len)), (&json!("succeeded"), Some(1)), "{found}");
    assert_eq!((&found["is_closed"], &found["leaves"]), (&json!(true), &json!("it leaves")), "{found}");
}

async fn an_empty_popup_shows_the_language_of_its_client(engine: Engine) {
    assert_eq!(found(engine, "popup_languages").await, json!(["Un instant…", "One moment…"]));
}

async fn requests_that_never_settle_keep_no_memory(engine: Engine) {
    let found = found(engine, "never_settles").await;
    let [before, after] = ["before", "after"].map(|name| found[name].as_u64().unwrap_or_default());
    // Fragmentation may need one more page of wasm memory, 64 KiB.
    assert!(before > 0 && after <= before + 65_536, "{found}");
}

async fn each_attempt_gives_a_callers_fetch_an_init_of_its_own(engine: Engine) {
    let found = found(engine, "spoils").await;
    let session = json!(["/guichet/session", "POST",
        { "accept": "application/json", "content-type": "application/json", "x-csrf": "17" }, "{}", false]);
    let methods = json!(["/v1/payment-methods", "GET", { "authorization": "Bearer cst_test_1" }, null, false]);
    assert_eq!(found["results"], json!(1), "{found}");
    assert_eq!(found["attempts"], json!([session, session, methods, methods]));
    assert_eq!(found["own"], true, "each init, its headers and its signal are new objects");
}

async fn a_page_that_may_not_leave_rejects_the_checkout_and_stays_usable(engine: Engine) {
    let found = found(engine, "cannot_leave").await;
    let refused = json!(["unsupported", "This page may not go there. In a frame, use the mode `popup` or `top`."]);
    assert_eq!(found["results"], json!([refused, 1, "it leaves"]), "{found}");
    assert_eq!(found["requests"], json!(["/guichet/intents", "/v1/payment-methods", "/guichet/intents"]));
}

async fn timeouts_and_budgets_are_counted_from_the_call(engine: Engine) {
    let found = found(engine, "from_the_call").await;
    assert_eq!((&found["call"], &found["requests"]), (&json!("timeout"), &json!([])), "{found}");
    assert_eq!((&found["state"], &found["reads"]), (&json!("pending"), &json!(1)), "{found}");
    assert_eq!((&found["paid"], &found["sent"]), (&json!("processing"), &json!(["POST"])), "{found}");
}

/// The content security policy of the README.
const ALLOWED: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src *";

/// `guichet/testing` is for a test's process: the `location` of a browser's page cannot be replaced.
async fn a_test_page_is_refused_in_a_browser_and_changes_nothing(engine: Engine) {
    let found = found(engine, "a_test_page").await;
    assert_eq!(found["unchanged"], true, "{found}");
    let message = found["message"].as_str().unwrap_or_else(|| panic!("the page was replaced: {found}"));
    assert!(message.starts_with("openTestPage cannot replace `location` here"), "{message}");
    assert!(message.ends_with("Run this test in the environment of Node.js."), "{message}");
}

/// Opens a page that runs one scenario. Returns the result that it shows.
async fn found(engine: Engine, what: &str) -> Value {
    let pages = pages().await;
    let browser = engine.start("calls").await;
    browser.open(&format!("{pages}/{what}")).await;
    let shown = browser.wait_for("#shown[data-state]").await;
    browser.close().await;
    serde_json::from_str(&shown).unwrap_or_else(|_| panic!("{what} shows: {shown}"))
}

/// Serves the scenario pages.
async fn pages() -> String {
    let package = crate::support::root().join("target/npm/package");
    assert!(package.is_dir(), "{} is missing. Run `cargo xtask pack --quick`.", package.display());
    let page = move |Named(_): Named<String>| async move {
        let html = "<!doctype html><meta charset=utf-8><title>Calls</title><pre id=shown></pre>\
                    <script type=module src=/tests/page.js></script>";
        ([(CONTENT_SECURITY_POLICY, ALLOWED)], Html(html)).into_response()
    };
    let script = || async { ([("content-type", "text/javascript")], include_str!("calls/page.js")) };
    let pages = Router::new().route("/{name}", get(page)).route("/tests/page.js", get(script));
    // A browser stays on its page after this status.
    let pages = pages.route("/nowhere/to/go", get(async || StatusCode::NO_CONTENT));
    served(pages.nest_service("/package", ServeDir::new(package))).await
}

/// Serves the routes. Returns their address.
async fn served(router: Router) -> String {
    crate::support::http::serve(router).await
}
