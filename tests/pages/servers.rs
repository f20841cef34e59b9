//! The servers of `examples/` in Node.js and PHP, each as a process of its own against a sandbox: purchases in
//! Chromium, restarts, other sites' requests, late approvals, and services that do not say the truth.
//!
//! `cargo xtask test` installs what they need, builds the package and then runs these tests.

mod mutants;
pub mod running;
mod soak;
mod stores;

use crate::support::api::{self, Merchant, Reply};
use crate::support::browser::{Browser, until};
use crate::support::engine::Engine;
use crate::support::mariadb::MariaDbServer;
use crate::support::port;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::{Json, Router};
use futures_util::future::join_all;
use guichet::operations::CreatePaymentIntent;
use guichet_sandbox::{Fault, Sandbox};
use running::{Server, ShopServer, Visitor};
use serde_json::{Value, json};
use sqlx::Connection;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const KEY: &str = "sk_test_0123456789abcdefghijABCDEFGHIJ";
/// The demo's customers. Fatou has a phone and no e-mail.
const AWA: &str = "awa";
const PAUL: &str = "paul";
const FATOU: &str = "fatou";
const SUCCEEDS: &str = "237670000000";
const FINAL_DECLINE: &str = "237670000009";
/// Phones whose decline is not the operator's last word: after how many seconds it declines, and how much later it
/// approves.
const TIMES_OUT: (&str, u32, u32) = ("237670000011", 300, 300);
const UNAVAILABLE: (&str, u32, u32) = ("237670000012", 0, 600);
const REJECTED: (&str, u32, u32) = ("237670000013", 5, 240);

macro_rules! for_every_server {
    ($($test:ident),+ $(,)?) => {
        for_every_server!(@ express Express $($test)+);
        for_every_server!(@ php Php $($test)+);
    };
    (@ $module:ident $server:ident $($test:ident)+) => {
        mod $module {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                #[ignore = "needs files that `cargo xtask test` builds"]
                async fn $test() {
                    super::$test(super::Server::$server).await;
                }
            )+
        }
    };
}

for_every_server!(
    an_order_is_one_intent_although_the_server_is_killed_in_the_midst,
    an_order_whose_customer_pays_and_closes_the_tab_is_paid_once,
    other_customers_and_other_sites_are_refused,
    a_final_decline_gives_the_next_reference,
    a_late_approval_pays_the_order_or_is_a_refund_due_once,
    a_second_payment_is_a_refund_due_once_also_without_a_number,
    an_order_that_a_later_success_has_paid_is_not_sold_again,
    a_reply_is_judged_as_the_shared_cases_say,
    the_services_address_may_end_with_a_slash_or_its_version,
    a_payment_belongs_to_the_customer_and_not_to_an_e_mail,
    a_customer_has_at_most_20_open_payments_and_the_next_reference_has_todays_price,
    one_customers_thousand_open_payments_delay_no_other_and_8_are_read_at_a_time,
    signing_out_ends_the_login_and_the_payment_key_makes_none,
    a_page_of_this_machine_may_be_served_without_tls,
    wrong_settings_end_the_process_with_an_error,
    what_is_no_argument_ends_the_process_with_an_error,
    a_service_that_lies_or_refuses_pays_nothing_and_shows_no_key,
    every_rule_of_the_check_passes,
);

/// WebKit takes its language from the machine's locale.
mod not_webkit {
    use super::{Server, a_customer_buys_by_popup_on_a_page_of_another_origin_of_the_site};
    for_every_server!(a_customer_buys_by_popup_on_a_page_of_another_origin_of_the_site);
}

async fn a_customer_buys_by_popup_on_a_page_of_another_origin_of_the_site(server: Server) {
    let (world, page) = World::open_for_a_page_elsewhere(server).await;
    let browser = Browser::start_in_language("servers", "fr").await;
    browser.open(&page).await;
    browser.wait_for(".popup").await; // the script has replaced the forms
    browser.click("#sign-in button").await;
    browser.wait_for(".popup.sandals:enabled").await;
    // The form that had the focus is hidden now.
    browser.wait_until("return document.activeElement.matches('#products button')").await;
    browser.screenshot(&format!("servers-{server:?}-shop")).await;

    let opener = browser.current_tab().await;
    browser.click(".popup.sandals:enabled").await;
    browser.switch_to(&browser.wait_for_other_tab(&opener).await).await;
    browser.wait_for_text("[data-test='description']", "Sandales Kribi").await;
    pay_on_the_hosted_page(&browser).await;
    browser.switch_to(&opener).await;
    browser.wait_for_text("#orders", "Sandales Kribi, payée").await;
    assert_eq!(browser.tabs().await, [opener], "the popup is closed");

    let statuses: Vec<Value> = world.intents().await.iter().map(|intent| intent["status"].clone()).collect();
    assert_eq!(statuses, ["succeeded"]);
    browser.close().await;

    for (origin, is_the_pages) in [(&*page, true), ("http://127.0.0.1:1", false), ("https://evil.example", false)] {
        for (method, path) in [("POST", "/guichet/session"), ("GET", "/shop")] {
            let visitor = Visitor::of(&world.shop).await;
            let asked = [("origin", origin), ("access-control-request-method", method)];
            for reply in [
                visitor.request("OPTIONS", path, None, &asked).await,
                visitor.request(method, path, None, &[("origin", origin)]).await,
            ] {
                let allowed = ["access-control-allow-origin", "access-control-allow-credentials"]
                    .map(|name| reply.header_values(name).join(","));
                let expected = if is_the_pages { [page.clone(), "true".to_owned()] } else { Default::default() };
                assert_eq!(allowed, expected, "{origin} {method} {path}");
            }
        }
    }
}

/// Express has the page of guichet-server. PHP's is tested without a browser, by
/// `other_customers_and_other_sites_are_refused`. Scripts are switched off by Chromium's DevTools protocol.
mod only_chromium {
    use super::Server;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "needs files that `cargo xtask test` builds"]
    async fn a_customer_buys_at_express() {
        super::a_customer_buys_without_script(Server::Express).await;
    }
}

async fn a_customer_buys_without_script(server: Server) {
    let world = World::open(server).await;
    let browser = Engine::Chromium.start("servers-plain").await;
    browser.disable_scripts().await;
    browser.open(&world.shop.url).await;
    browser.click("[aria-label='Pay, Kribi sandals']").await;
    browser.wait_for_text("main", "You are not signed in").await;
    browser.click("main a").await;
    browser.click("#sign-in button").await;
    browser.wait_for_url("the shop", |url| url.path() == "/").await;
    browser.click("[aria-label='Pay, Kribi sandals']").await;
    browser.wait_for_url("the hosted page", |url| url.as_str().starts_with(&world.merchant.base_url)).await;

    let intents = world.intents().await;
    let (intent, payment_ref) = (&intents[0], intents[0]["payment_ref"].as_str().expect("a reference"));
    let address = format!("{}/guichet/return?payment_ref={payment_ref}&status=succeeded", world.shop.url);
    browser.open(&address).await;
    browser.wait_for_text("main", "You have not paid yet.").await;
    world.pay(&json!({ "intent": intent }), SUCCEEDS).await;
    // It loads itself again.
    browser.wait_for_text("main", "Thank you. You have paid.").await;
    browser.screenshot(&format!("servers-{server:?}-plain")).await;
    assert_eq!((intents.len(), &intent["amount"]), (1, &json!("12500")), "one payment, of the server's price");
    browser.close().await;
    world.shop.settles(&format!("{} is paid.", intent["merchant_reference"].as_str().expect("a reference"))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn a_shop_in_a_container_reaches_the_sandbox_in_another_and_ends_by_a_signal() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let merchant = Merchant::of(&sandbox, "Sandbox shop").await;
    let service = merchant.base_url.replace("127.0.0.1", "0.0.0.0");
    let shop = ShopServer::start(Server::Express, &service, &merchant.key()).await;
    let mut world = World { shop, merchant, _sandbox: sandbox };
    let awa = Visitor::signed_in(&world.shop, AWA).await;
    let sent = awa.form("/guichet/intents", "id=next&product=sandals").await;
    let location = sent.header("location").unwrap_or_default();
    assert!(sent.status == 303 && location.starts_with(&world.merchant.base_url), "{} {location}", sent.status);
    let shown = awa.request("GET", "/shop", None, &[]).await.body;
    assert_eq!(shown["base_url"], world.merchant.base_url, "{shown}");

    // What has begun is answered.
    world.merchant.tenant.fault(Fault::delay::<CreatePaymentIntent>(Duration::from_secs(2))).await;
    let begun = creations(&world.merchant).await.len();
    let stop = async {
        while creations(&world.merchant).await.len() == begun {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        world.shop.terminate();
    };
    let (answered, ()) = tokio::join!(awa.try_order("17"), stop);
    assert_eq!(answered.expect("an answer").status, 200);
    let status = world.shop.ended().await;
    assert!(status.success(), "{status}");
}

async fn an_order_is_one_intent_although_the_server_is_killed_in_the_midst(server: Server) {
    let mut world = World::open(server).await;
    let awa = Visitor::signed_in(&world.shop, AWA).await;

    // The service has created the intent, and the server gets no reply.
    world.merchant.tenant.fault(Fault::lost_response::<CreatePaymentIntent>()).await;
    let lost = awa.order("17").await;
    if server == Server::Express {
        assert_eq!(lost.status, 200, "guichet-server repeats the request: {}", lost.text);
    } else {
        assert_eq!((lost.status, lost.code(), &lost.body["error"]["retryable"]), (503, "unavailable", &json!(true)));
    }
    world.shop.restart().await;
    let begun = awa.order("17").await;
    assert_eq!(begun.status, 200, "the cookie holds after a restart: {}", begun.text);
    let sent = creations(&world.merchant).await.len();

    // The server is killed while it waits for the service.
    world.merchant.tenant.fault(Fault::delay::<CreatePaymentIntent>(Duration::from_secs(30))).await;
    let is_delayed = async || creations(&world.merchant).await.get(sent).is_some_and(Option::is_none);
    let kill = async {
        let begun = Instant::now();
        while !is_delayed().await {
            assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", creations(&world.merchant).await);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        world.shop.kill();
    };
    let (unanswered, ()) = tokio::join!(awa.try_order("18"), kill);
    assert!(unanswered.is_err(), "{unanswered:?}");
    world.shop.restart().await;
    let (again, other) = (awa.order("17").await, awa.order("18").await);
    assert_eq!(again.text, begun.text, "the same order gets the same answer");
    assert_eq!(other.status, 200, "{}", other.text);
    let intents = world.intents().await;
    assert_eq!(intents.len(), 2, "{intents:?}");

    for answer in [&begun.body, &other.body] {
        let intent = intents.iter().find(|intent| intent["id"] == answer["intent"]["id"]).expect("it is the service's");
        let nonce = answer["return_nonce"].as_str().expect("a nonce");
        let reference = answer["intent"]["merchant_reference"].as_str().expect("a reference");
        assert!(nonce.len() == 22 && nonce.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{nonce}");
        assert!(intent["redirect_url"].as_str().unwrap().ends_with(&format!("/?guichet_return={nonce}")), "{intent}");
        assert_eq!((&intent["amount"], &intent["merchant_reference"]), (&json!("45000"), &json!(reference)));
        assert_eq!(intent["customer"]["email"], "awa@example.com");
    }
}

async fn an_order_whose_customer_pays_and_closes_the_tab_is_paid_once(server: Server) {
    let mut world = World::open(server).await;
    let awa = Visitor::signed_in(&world.shop, AWA).await;
    let begun = awa.order("17").await.body;
    world.pay(&begun, SUCCEEDS).await;
    let line = format!("{} is paid.", begun["intent"]["merchant_reference"].as_str().unwrap());
    // From here on no page sends a request.
    world.shop.settles(&line).await;
    world.shop.restart().await;

    let path = status_path(&begun);
    let asks = (0..8).map(|_| awa.request("GET", &path, None, &[]));
    let answers = join_all(asks).await;
    assert!(answers.iter().all(|answer| answer.body["status"] == "succeeded"), "{answers:?}");
    world.shop.settle();
    assert_eq!(world.shop.count(&line), 1, "{}", world.shop.log());
    let shown = awa.request("GET", "/shop", None, &[]).await.body;
    assert_eq!(shown["orders"][0]["paid_by"], begun["intent"]["merchant_reference"], "{shown}");
}

async fn other_customers_and_other_sites_are_refused(server: Server) {
    let world = World::open(server).await;
    let (stranger, awa) = (Visitor::of(&world.shop).await, Visitor::signed_in(&world.shop, AWA).await);
    let paul = Visitor::signed_in(&world.shop, PAUL).await;
    let begun = awa.order("17").await.body;
    let path = status_path(&begun);
    let order = r#"{"id":"18","product":"trainers"}"#;

    for (method, path, body) in
        [("POST", "/guichet/session", None), ("POST", "/guichet/intents", Some(order)), ("GET", &path, None)]
    {
        let reply = stranger.request(method, path, body, &[]).await;
        assert_eq!((reply.status, reply.code()), (401, "authentication_required"), "{path}: {}", reply.text);
    }
    let (theirs, unknown) =
        (paul.request("GET", &path, None, &[]).await, paul.request("GET", "/guichet/intents/gch_1", None, &[]).await);
    assert_eq!((theirs.status, &theirs.text), (404, &unknown.text));
    let session = awa.request("POST", "/guichet/session", None, &[]).await;
    assert!(is_not_stored(&session), "{session:?}");
    assert!(session.body["session_token"].as_str().unwrap().starts_with("cst_test_"), "{}", session.text);

    let (own, json) = (world.shop.url.as_str(), "application/json");
    let other_port = own.rsplit_once(':').map(|(host, _)| format!("{host}:1")).unwrap();
    let (form, french) = (("content-type", "application/x-www-form-urlencoded"), ("accept-language", "fr"));
    let (form_elsewhere, form_of_nobody) =
        ([("origin", "https://evil.example"), form], [("origin", "null"), form, french]);
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    // No browser sends it: guichet-server compares the whole origin where origins are named, and nothing else.
    let contradictory = if server == Server::Express { 200 } else { 403 };
    for (headers, body, status) in [
        (&[("origin", "https://evil.example")][..], order, 403),
        (&[("origin", "null")], order, 403),
        (&[("origin", &other_port), ("sec-fetch-site", "same-site")], order, 403),
        (&[("origin", own), ("sec-fetch-site", "cross-site")], order, contradictory),
        (&[("origin", "https://evil.example"), ("sec-fetch-site", "none")], order, 403),
        (&[("sec-fetch-site", "cross-site")], order, 403),
        (&[("sec-fetch-site", "same-site")], order, 403),
        (&[("origin", own), ("content-type", "text/plain")], order, 415),
        (&form_elsewhere, "id=18&product=trainers", 403),
        (&form_of_nobody, "id=18&product=trainers", 403),
        (&[("origin", own)], "{\"id\"", 400),
        (&[("origin", own)], r#"{"product":"trainers"}"#, 404),
        (&[("origin", own)], r#"{"id":null,"product":"trainers"}"#, 404),
        (&[("origin", own)], r#"{"id":18,"product":"trainers"}"#, 404),
        (&[("origin", own)], deep.as_str(), 400),
        (&[("origin", own)], r#"{"id":"18","product":"\ud800"}"#, 400),
        (&[("origin", own)], r#"{"id":"18","product":"constructor"}"#, 404),
        (&[("origin", own)], r#"{"id":"18","product":["trainers"]}"#, 404),
        (&[("origin", own), ("sec-fetch-site", "same-origin"), ("content-type", json)], order, 200),
    ] {
        let reply = awa.request("POST", "/guichet/intents", Some(body), headers).await;
        assert_eq!(reply.status, status, "{headers:?}: {}", reply.text);
        assert!(status != 200 || is_not_stored(&reply), "{headers:?}");
        let shape = (&reply.body["status_code"], &reply.body["response_type"]);
        let sentence = if headers.contains(&french) { "Seules les pages" } else { "own pages may send this" };
        let is_page =
            headers.contains(&form) && reply.text.starts_with("<!doctype html>") && reply.text.contains(sentence);
        assert!(status == 200 || is_page || shape == (&json!(status), &json!("error")), "{}", reply.text);
        if status == 403 {
            assert_eq!(awa.request("GET", &path, None, headers).await.status, 403, "{headers:?}");
            assert_eq!(awa.request("POST", "/guichet/session", None, headers).await.status, 403, "{headers:?}");
        }
    }
    assert_eq!(world.intents().await.len(), 2);
    for _ in 0..2 {
        let sent = awa.form("/guichet/intents", "id=next&product=sandals").await;
        let location = sent.header("location").unwrap_or_default();
        assert!(sent.status == 303 && location.starts_with(&world.merchant.base_url), "{} {location}", sent.status);
    }
    let intents = world.intents().await;
    assert_eq!(intents.len(), 3, "a second click is the same order");
    let page = format!("/guichet/return?payment_ref={}&status=%3Cb%3E", intents[0]["payment_ref"].as_str().unwrap());
    for (language, sentence) in [("fr-CM, en", "Vous n’avez pas encore payé."), ("en", "You have not paid yet.")] {
        let headers = [("sec-fetch-site", "cross-site"), ("accept-language", language)];
        let reply = awa.request("GET", &page, None, &headers).await;
        let refresh = reply.header_values("refresh").join(",");
        assert!(reply.status == 200 && reply.text.contains(sentence) && !reply.text.contains("<b>"), "{}", reply.text);
        assert_eq!((refresh.as_str(), is_not_stored(&reply)), ("3", true));
    }
    for (visitor, status) in [(&paul, 404), (&stranger, 401)] {
        let reply = visitor.request("GET", &page, None, &[]).await;
        assert!(reply.status == status && reply.text.contains("<p>"), "{}: {}", reply.status, reply.text);
    }
    let unknown = awa.form("/guichet/intents", "id=next&product=boots").await;
    assert!(unknown.status == 404 && unknown.body.contains("<p>"), "{}", unknown.body);
    let signing_in = awa.request("POST", "/sign-in", Some(r#"{"customer":["awa"]}"#), &[]).await;
    assert_eq!(signing_in.status, 422, "{}", signing_in.text);
    // CORS hides an answer, and does not stop the request.
    for path in ["/sign-in", "/sign-out"] {
        for headers in [&[("origin", "https://evil.example")][..], &[("sec-fetch-site", "cross-site")]] {
            let reply = awa.request("POST", path, Some(r#"{"customer":"paul"}"#), headers).await;
            assert_eq!(reply.status, 403, "{path} {headers:?}: {}", reply.text);
        }
    }
    assert_eq!(awa.request("GET", &path, None, &[]).await.status, 200, "the login has not ended");
    // What the script has bought is not the form's order, whatever its page calls it.
    let named = awa.order("next-0").await;
    assert_eq!(named.status, 200, "{}", named.text);
    let by_form = async || {
        let sent = awa.form("/guichet/intents", "id=next&product=trainers").await;
        (sent.status, sent.header("location").map(str::to_owned))
    };
    let open = by_form().await;
    for bought in [&begun, &named.body] {
        world.pay(bought, SUCCEEDS).await;
        let read = awa.request("GET", &status_path(bought), None, &[]).await;
        assert_eq!(read.body["status"], "succeeded", "{}", read.text);
    }
    assert_eq!((by_form().await, open.0), (open.clone(), 303), "the form's order is still open");
    if server == Server::Php {
        let empty = awa.request("GET", &path, None, &[("content-type", "")]).await;
        assert_eq!(empty.status, 200, "nginx passes an empty type for each GET request: {}", empty.text);
    }
}

async fn a_final_decline_gives_the_next_reference(server: Server) {
    let world = World::open(server).await;
    let awa = Visitor::signed_in(&world.shop, AWA).await;
    let first = awa.order("17").await.body;
    world.pay(&first, FINAL_DECLINE).await;
    world.advance(10).await;
    let status = awa.request("GET", &status_path(&first), None, &[]).await.body;
    assert_eq!(status["status"], "failed", "{status}");

    let second = awa.order("17").await.body;
    let next = second_of(first["intent"]["merchant_reference"].as_str().unwrap());
    assert_eq!(second["intent"]["merchant_reference"], next);
    assert_ne!(second["return_nonce"], first["return_nonce"]);
    world.pay(&second, SUCCEEDS).await;
    world.shop.settles(&format!("{} is paid.", logged(&next))).await;
    assert_eq!(awa.request("GET", "/shop", None, &[]).await.body["orders"][0]["paid_by"], next);
    assert_eq!(awa.order("17").await.body["intent"]["status"], "succeeded", "a paid order keeps its payment");
}

async fn a_late_approval_pays_the_order_or_is_a_refund_due_once(server: Server) {
    let world = World::open(server).await;
    let browser = Browser::start("servers-late").await;
    browser.open(&world.shop.url).await;
    browser.wait_for(".popup").await; // the script has replaced the forms
    browser.click("#sign-in button").await;

    for (product, name, phone) in [("trainers", "Wouri trainers", REJECTED), ("sandals", "Kribi sandals", UNAVAILABLE)]
    {
        world.is_declined_and_not_known(&browser, product, phone).await;
        browser.screenshot(&format!("servers-{server:?}-not-known-{product}")).await;
        world.advance(phone.2).await;
        browser.wait_for_text("#message", "you have paid").await;
        browser.wait_for_text("#orders", &format!("{name}, paid")).await;
    }

    world.is_declined_and_not_known(&browser, "trainers", TIMES_OUT).await;
    let awa = Visitor::signed_in(&world.shop, AWA).await;
    let intent = world.intents().await.swap_remove(0);
    let path = format!("/guichet/intents/{}", intent["payment_ref"].as_str().expect("a reference"));
    let declined = awa.request("GET", &path, None, &[]).await.body;
    for name in ["status", "last_payment_error", "approvable_until", "merchant_reference", "amount", "amount_payable"] {
        assert_eq!(declined[name], intent[name], "{name}: {declined}");
    }
    assert!(declined["approvable_until"].is_u64() && declined["amount_payable"] == "45900", "{declined}");
    assert_eq!(declined["late"], json!({"state": "open", "until": declined["approvable_until"]}), "{declined}");
    let left = declined["approvable_until"].as_i64().unwrap() - declined["as_of"].as_i64().unwrap();
    assert!((1..=900).contains(&left), "by the service's clock, which this test has moved: {declined}");

    // A second payment is allowed, and the operator approves the first one as well.
    browser.click(".primary.trainers:enabled").await;
    pay_on_the_hosted_page(&browser).await;
    browser.wait_for_url("the shop", |url| url.as_str().starts_with(&world.shop.url)).await;
    browser.wait_for_text("#message", "may still approve an earlier attempt").await;
    browser.screenshot(&format!("servers-{server:?}-paid")).await;
    let message = browser.wait_for("#message").await;
    assert_eq!(message.matches("ou have paid").count(), 1, "{message}");
    browser.wait_for_text("#message", "45,900").await;
    world.advance(TIMES_OUT.2).await;
    // The page's own question settles too, so that the test does not wait until the next reading of a final payment.
    for _ in 0..2 {
        let answer = awa.request("GET", &path, None, &[]).await;
        assert_eq!(answer.body["status"], "succeeded", "{}", answer.text);
    }
    let refund = format!("{}: a refund of 45900 XAF is due", intent["merchant_reference"].as_str().unwrap());
    assert_eq!((world.shop.count(&refund), world.shop.count("a refund of ")), (1, 1), "{}", world.shop.log());
    assert_eq!(world.shop.count(" is paid."), 3, "{}", world.shop.log());
    browser.reload().await;
    browser.wait_for_text("#orders", "you paid twice: a refund is due").await;
    let orders = awa.request("GET", "/shop", None, &[]).await.body["orders"].clone();
    let refunds: Vec<&Value> = (0..3).map(|order| &orders[order]["refunds"]).collect();
    assert_eq!(refunds, [&json!(0), &json!(0), &json!(1)], "{orders}");
    browser.close().await;
}

async fn a_second_payment_is_a_refund_due_once_also_without_a_number(server: Server) {
    let service = FalseService::start().await;
    let shop = ShopServer::start(server, &service.url, KEY).await;
    let awa = Visitor::signed_in(&shop, AWA).await;
    service.says(200, &json!({}));
    let first = awa.order("17").await.body;
    service.says(200, &json!({"status": "failed", "attempts": 1}));
    assert_eq!(awa.request("GET", &status_path(&first), None, &[]).await.body["status"], "failed");
    let next = json!({"id": "pi_2", "payment_ref": "gch_2", "status": "succeeded", "attempts": 1});
    service.says(200, &next);
    let second = awa.order("17").await.body;
    let reference = |begun: &Value| begun["intent"]["merchant_reference"].as_str().unwrap().to_owned();
    assert_eq!(reference(&second), second_of(&reference(&first)));
    let logged = logged(&reference(&second)).to_owned();
    assert_eq!((shop.count(&format!("{logged} is paid.")), shop.count("a refund of ")), (1, 0));

    let paid = json!({"merchant_reference": reference(&first), "status": "succeeded", "attempts": 1, "amount_payable": "45900"});
    service.says(200, &paid);
    for _ in 0..2 {
        let reply = awa.request("GET", &status_path(&first), None, &[]).await;
        assert_eq!(reply.body["status"], "succeeded", "{}", reply.text);
    }
    // What is due is what was paid: the fee is a part of it.
    let refund = format!("{}: a refund of 45900 XAF is due (pi_1", reference(&first));
    assert_eq!((shop.count(&refund), shop.count("a refund of ")), (1, 1), "{}", shop.log());
    let order = awa.request("GET", "/shop", None, &[]).await.body["orders"][0].clone();
    assert_eq!((&order["refunds"], &order["paid_by"]), (&json!(1), &json!(reference(&second))), "{order}");

    let entry = json!({"amount": "45000", "currency": "XAF"});
    let numbered = json!({"attempt": 2, "amount": "45000", "currency": "XAF"});
    let list = [entry.clone(), numbered, entry];
    // The service's list grows, and is read again and again.
    for length in [1, 2, 3, 3] {
        let mut duplicates = next.clone();
        duplicates["duplicate_payments"] = json!(list[..length]);
        duplicates["merchant_reference"] = json!(reference(&second));
        service.says(200, &duplicates);
        assert_eq!(awa.request("GET", &status_path(&second), None, &[]).await.status, 200);
    }
    for attempt in ["4294967295", "2", "4294967293"] {
        let refund = format!("{logged}: a refund of 45000 XAF is due (pi_2, attempt {attempt})");
        assert_eq!(shop.count(&refund), 1, "{refund}:\n{}", shop.log());
    }
    let order = awa.request("GET", "/shop", None, &[]).await.body["orders"][0].clone();
    assert_eq!((&order["refunds"], shop.count("a refund of ")), (&json!(4), 4), "{}", shop.log());
}

async fn an_order_that_a_later_success_has_paid_is_not_sold_again(server: Server) {
    let service = FalseService::start().await;
    let shop = ShopServer::start(server, &service.url, KEY).await;
    let awa = Visitor::signed_in(&shop, AWA).await;
    service.says(200, &json!({}));
    let first = awa.order("17").await.body;
    let reference = first["intent"]["merchant_reference"].as_str().expect("a reference");
    service.says(200, &json!({"status": "failed", "attempts": 1}));
    assert_eq!(awa.request("GET", &status_path(&first), None, &[]).await.body["status"], "failed");
    service.says(200, &json!({"id": "pi_2", "payment_ref": "gch_2"}));
    assert_eq!(awa.order("17").await.body["intent"]["merchant_reference"], second_of(reference));

    service.says(200, &json!({"status": "succeeded", "attempts": 1, "merchant_reference": reference}));
    assert_eq!(awa.request("GET", &status_path(&first), None, &[]).await.body["status"], "succeeded");
    assert_eq!(shop.count(&format!("{reference} is paid.")), 1, "{}", shop.log());
    let again = awa.order("17").await;
    let intent = &again.body["intent"];
    let shown = (&intent["id"], &intent["merchant_reference"], &intent["status"]);
    assert_eq!(shown, (&json!("pi_1"), &json!(reference), &json!("succeeded")), "not the open one: {}", again.text);
    assert_eq!(again.body["return_nonce"], first["return_nonce"]);
    let order = awa.request("GET", "/shop", None, &[]).await.body["orders"][0].clone();
    assert_eq!((&order["paid_by"], &order["refunds"]), (&json!(reference), &json!(0)), "{order}");
}

/// The cases of `tests/shop/settle.json`, by the route of the status.
async fn a_reply_is_judged_as_the_shared_cases_say(server: Server) {
    let service = FalseService::start().await;
    let shop = ShopServer::start(server, &service.url, KEY).await;
    let awa = Visitor::signed_in(&shop, AWA).await;
    let file: Value = serde_json::from_str(include_str!("../shop/settle.json")).expect("JSON");
    let cases = file["cases"].as_array().expect("cases").iter();
    let (refused, accepted): (Vec<&Value>, Vec<_>) = cases
        .filter(|case| case["service"][0].is_object() && case.get("shop").is_none())
        .partition(|case| case.get("refused").is_some());
    assert!(refused.len() >= 10 && accepted.len() >= 6, "{refused:?} {accepted:?}");
    let is_paid = |case: &&Value| case["service"][0]["intent"]["status"] == "succeeded";
    let paid = accepted.iter().copied().filter(is_paid).count();
    assert!(paid >= 4, "{accepted:?}");
    // Each in an order of its own: once a reply about a payment was another's, a ledger believes no later one.
    for (cases, is_accepted) in [(refused, false), (accepted, true)] {
        for (place, case) in cases.iter().enumerate() {
            let own = format!("{is_accepted}-{place}");
            service.says(200, &of_another_payment(&own, &json!({})));
            let begun = awa.order(&own).await;
            assert_eq!(begun.status, 200, "{}", begun.text);
            service.says(200, &of_another_payment(&own, &case["service"][0]["intent"]));
            let reply = awa.request("GET", &status_path(&begun.body), None, &[]).await;
            assert_eq!(reply.status == 200, is_accepted, "{}: {}", case["name"], reply.text);
        }
        assert_eq!(shop.count(" is paid."), if is_accepted { paid } else { 0 }, "{}", shop.log());
    }
}

async fn the_services_address_may_end_with_a_slash_or_its_version(server: Server) {
    let service = FalseService::start().await;
    service.says(200, &json!({}));
    for end in ["/", "/v1", "/v1/"] {
        let shop = ShopServer::start(server, &format!("{}{end}", service.url), KEY).await;
        let begun = Visitor::signed_in(&shop, AWA).await.order("17").await;
        assert_eq!(begun.status, 200, "{end}: {}", begun.text);
    }
}

/// The servers with a store of their own. guichet-server's are tested by `tests/shop/ledger-stores.mjs`.
mod stores_of_their_own {
    use super::Server;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "needs files that `cargo xtask test` builds"]
    async fn php_hands_out_no_payment_of_another_customer_or_order() {
        super::no_payment_of_another_customer_or_order_is_handed_out(Server::Php).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "needs files that `cargo xtask test` builds"]
    async fn php_refuses_a_locked_database_and_text_that_is_not_unicode() {
        super::a_locked_database_and_text_that_is_not_unicode_are_refused(Server::Php).await;
    }
}

async fn no_payment_of_another_customer_or_order_is_handed_out(server: Server) {
    let mut world = World::open(server).await;
    let (awa, paul) = (Visitor::signed_in(&world.shop, AWA).await, Visitor::signed_in(&world.shop, PAUL).await);
    let reference = |begun: &Reply| begun.body["intent"]["merchant_reference"].as_str().unwrap().to_owned();
    let (first, pauls) = (awa.order("17").await, paul.order("18").await);
    // Another order has the reference that would be the next one of this order.
    let taken = second_of(&reference(&first));
    let renamed =
        format!("UPDATE guichet_payments SET reference = '{taken}' WHERE reference = '{}'", reference(&pauls));
    world.shop.execute(&renamed).await;
    world.pay(&first.body, FINAL_DECLINE).await;
    world.advance(10).await;
    assert_eq!(awa.request("GET", &status_path(&first.body), None, &[]).await.body["status"], "failed");
    let next = awa.order("17").await;
    assert_eq!(reference(&next), format!("{}-2", reference(&first)), "the first that no payment has");

    // An order that is another customer's now.
    let begun = awa.order("19").await;
    assert_eq!(begun.status, 200, "{}", begun.text);
    world.shop.execute("UPDATE orders SET customer_id = 'paul' WHERE basket = '19'").await;
    let theirs = paul.order("19").await;
    assert_eq!((theirs.status, theirs.code()), (404, "order_missing"), "{}", theirs.text);
}

async fn a_locked_database_and_text_that_is_not_unicode_are_refused(server: Server) {
    let mut world = World::open(server).await;
    let awa = Visitor::signed_in(&world.shop, AWA).await;
    world.shop.execute("UPDATE customers SET firstname = CAST(x'e9' AS TEXT) WHERE id = 'awa'").await;
    let refused = awa.order("17").await;
    assert_eq!((refused.status, world.shop.log().contains("UTF-8")), (500, true), "{}", world.shop.log());
    world.shop.execute("UPDATE customers SET firstname = 'Awa' WHERE id = 'awa'").await;
    let lock = world.shop.lock_database().await;
    let busy = awa.order("17").await;
    assert_eq!((busy.status, busy.code()), (503, "unavailable"), "{}", busy.text);
    assert_eq!(busy.body["error"]["retryable"], true, "{}", busy.text);
    lock.close().await.expect("it ends");
    let begun = awa.order("17").await;
    assert_eq!((begun.status, world.intents().await.len()), (200, 1), "nothing was stored before: {}", begun.text);
}

async fn a_payment_belongs_to_the_customer_and_not_to_an_e_mail(server: Server) {
    let mut world = World::open(server).await;
    let awa = Visitor::signed_in(&world.shop, AWA).await;
    let begun = awa.order("17").await;
    // Awa has another e-mail now, and Paul has verified the one that she had.
    let change = "UPDATE customers SET verified_email = 'new@example.com' WHERE id = 'awa';
        UPDATE customers SET verified_email = 'awa@example.com' WHERE id = 'paul';";
    world.shop.execute(change).await;
    let (paul, fatou) = (Visitor::signed_in(&world.shop, PAUL).await, Visitor::signed_in(&world.shop, FATOU).await);
    let path = status_path(&begun.body);
    for (visitor, status) in [(&awa, 200), (&paul, 404), (&fatou, 404)] {
        let reply = visitor.request("GET", &path, None, &[]).await;
        assert_eq!(reply.status, status, "{}", reply.text);
    }
    assert_eq!(awa.order("17").await.text, begun.text, "a repeated order sends the same e-mail");
    let session = awa.request("POST", "/guichet/session", None, &[]).await;
    assert_eq!(session.status, 200, "{}", session.text);

    let by_phone = fatou.order("17").await;
    assert_eq!(by_phone.status, 200, "{}", by_phone.text);
    let session = fatou.request("POST", "/guichet/session", None, &[]).await;
    assert_eq!((session.status, session.code()), (403, "email_not_verified"));
    world.pay(&by_phone.body, SUCCEEDS).await;
    assert_eq!(fatou.request("GET", &status_path(&by_phone.body), None, &[]).await.body["status"], "succeeded");
    assert_eq!(world.shop.count(" is paid."), 1, "{}", world.shop.log());
}

async fn a_customer_has_at_most_20_open_payments_and_the_next_reference_has_todays_price(server: Server) {
    let mut world = World::open(server).await;
    let (awa, paul) = (Visitor::signed_in(&world.shop, AWA).await, Visitor::signed_in(&world.shop, PAUL).await);
    let baskets: Vec<String> = (0..24).map(|basket| basket.to_string()).collect();
    let replies = join_all(baskets.iter().map(|basket| awa.order(basket))).await;
    let (begun, refused): (Vec<_>, Vec<_>) = baskets.iter().zip(replies).partition(|(_, reply)| reply.status == 200);
    assert_eq!((begun.len(), refused.len()), (20, 4), "{refused:?}");
    for (_, reply) in &refused {
        assert_eq!((reply.status, reply.code()), (409, "too_many_open_payments"), "{}", reply.text);
        assert_eq!(reply.body["error"]["retryable"], json!(false), "{}", reply.text);
    }
    assert_eq!(paul.order("1").await.status, 200, "another customer's payments do not count");

    // The service gets one payment after a refusal, and another one not for a day. A ledger takes the next reference.
    for basket in ["2", "3"] {
        world.merchant.tenant.fault(Fault::status::<CreatePaymentIntent>(400)).await;
        assert_eq!(paul.order(basket).await.status, 502);
    }
    assert_eq!(world.amount(&paul.order("2").await).await, ("1".to_owned(), "45000".to_owned()));
    world.shop.execute("UPDATE products SET amount = '50000' WHERE id = 'trainers'").await;
    assert_eq!(world.amount(&paul.order("3").await).await, ("1".to_owned(), "50000".to_owned()));
    let [(first, canceled), (second, expired), (third, open), ..] = &begun[..] else { unreachable!() };
    // A ledger cancels an open payment whose order has another price now.
    let next = awa.order(first).await;
    assert_eq!(world.amount(&next).await, ("1".to_owned(), "50000".to_owned()));
    assert_eq!(awa.request("GET", &status_path(&canceled.body), None, &[]).await.body["status"], "canceled");
    assert_eq!(awa.order(first).await.text, next.text, "an open payment of today's price is repeated");
    assert_eq!(awa.order(refused[0].0).await.code(), "too_many_open_payments", "it took the free place");

    world.advance(24 * 60 * 60).await;
    assert_eq!(awa.request("GET", &status_path(&expired.body), None, &[]).await.body["status"], "canceled");
    assert_eq!(world.amount(&awa.order(second).await).await, ("1".to_owned(), "50000".to_owned()));
    // The catalogue has no such product any more.
    world.shop.execute("DELETE FROM products WHERE id = 'trainers'").await;
    assert_eq!(awa.request("GET", &status_path(&open.body), None, &[]).await.body["status"], "canceled");
    for basket in [second, third] {
        let ended = awa.order(basket).await;
        assert_eq!((ended.status, ended.code()), (409, "order_ended"), "{}", ended.text);
    }
    assert_eq!(awa.order("new").await.code(), "order_missing");
}

async fn one_customers_thousand_open_payments_delay_no_other_and_8_are_read_at_a_time(server: Server) {
    let service = FalseService::start().await;
    let mut shop = ShopServer::start(server, &service.url, KEY).await;
    let (awa, paul) = (Visitor::signed_in(&shop, AWA).await, Visitor::signed_in(&shop, PAUL).await);
    service.says(200, &json!({}));
    // Both begin within one second, so that a ledger may read both in the same one.
    let into = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_millis();
    tokio::time::sleep(Duration::from_millis(u64::from(1_000 - into))).await;
    assert_eq!(paul.order("17").await.status, 200);
    service.says(200, &json!({"id": "pi_2", "payment_ref": "gch_2"}));
    let begun = awa.order("17").await.body;
    service.says(200, &json!({"id": "pi_2", "payment_ref": "gch_2", "status": "succeeded", "attempts": 1}));
    if server == Server::Php {
        // A ledger reads a payment three seconds after it has begun. Until then both are only postponed, Awa's for
        // longer.
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    // Longer than the second after which Express's timer could begin its next round.
    service.delays_reads(16, Duration::from_millis(600));
    // Paul's are younger, he has returned to each, and each is due for longer.
    shop.execute(THOUSAND_OF_PAUL).await;
    shop.settles(&format!("{} is paid.", begun["intent"]["merchant_reference"].as_str().unwrap())).await;
    while server == Server::Express && service.reads().0.len() <= 50 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (reads, busiest) = service.reads();
    let place = reads.iter().position(|path| path == "/v1/payment-intents/pi_2");
    assert!(place.is_some_and(|place| place < 8), "{place:?} of {reads:?}");
    assert_eq!(busiest.len(), 8, "payments are read at a time: {busiest:?}");
}

/// A ledger reads what is due for ten minutes before all else. Awa's is due, too, and for longer than two processes'
/// readings of the service's clock may differ.
const THOUSAND_OF_PAUL: &str = "
    CREATE TEMP TABLE pauls AS WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000)
    SELECT 'PAUL-' || n AS name, owner, created_at, version, replace(replace(replace(body, orders.name, 'PAUL-' || n),
        'pi_1', 'pi_paul_' || n), 'gch_1', 'gch_paul_' || n) AS body
    FROM numbers, guichet_payments JOIN guichet_orders AS orders USING (name) WHERE owner = 'customer:paul';
    INSERT INTO guichet_orders (name, version, body) SELECT name, version, body FROM pauls;
    INSERT INTO guichet_payments (reference, name, owner, created_at, returned_at, due_at)
    SELECT name, name, owner, created_at + 9, created_at + 9, created_at - 60 FROM pauls;
    INSERT INTO guichet_names (payment, name) SELECT name, name FROM pauls;
    UPDATE guichet_payments SET due_at = created_at - 30 WHERE owner = 'customer:awa'";

async fn signing_out_ends_the_login_and_the_payment_key_makes_none(server: Server) {
    let service = FalseService::start().await;
    let shop = ShopServer::start(server, &service.url, KEY).await;
    service.says(200, &json!({}));
    let mut awa = Visitor::signed_in(&shop, AWA).await;
    let path = status_path(&awa.order("17").await.body);
    let (before, other) = (awa.clone(), Visitor::signed_in(&shop, AWA).await);
    assert_eq!(before.request("GET", &path, None, &[]).await.status, 200);
    assert_eq!(awa.send("POST", "/sign-out", Some("{}"), &[]).await.status, 200);
    let session = before.request("POST", "/guichet/session", None, &[]).await;
    assert_eq!((session.status, session.code()), (401, "authentication_required"), "the old cookie is no login");
    assert_eq!(before.request("GET", &path, None, &[]).await.status, 401);
    assert_eq!(before.request("GET", "/shop", None, &[]).await.body["customer"], Value::Null);
    assert_eq!(other.request("GET", &path, None, &[]).await.status, 200, "another login of hers goes on");

    if let Some(cookies) = shop.forged_login() {
        let reply = Visitor::with_cookies(&shop, &cookies).await.request("GET", "/shop", None, &[]).await;
        assert_eq!(reply.body["customer"], Value::Null, "{cookies}: {}", reply.text);
    }
}

/// A second run of the command for cron reads nothing, and a killed one does not keep the others out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn two_runs_of_cron_in_php_do_not_overlap() {
    let service = FalseService::start().await;
    let shop = ShopServer::start(Server::Php, &service.url, KEY).await;
    service.says(200, &json!({}));
    let begun = Visitor::signed_in(&shop, AWA).await.order("17").await.body;
    // A ledger reads a payment three seconds after it has begun.
    tokio::time::sleep(Duration::from_secs(4)).await;
    service.says(200, &json!({"status": "succeeded", "attempts": 1}));
    service.delays_reads(1, Duration::from_secs(60));
    let mut first = shop.start_settling().expect("it has a command");
    let waiting = Instant::now();
    while service.reads().0.is_empty() {
        assert!(waiting.elapsed() < Duration::from_secs(20), "the first run reads nothing:\n{}", shop.log());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    shop.settle();
    assert_eq!((service.reads().0.len(), shop.count("Another run is settling.")), (1, 1), "{}", shop.log());
    first.kill().unwrap();
    first.wait().unwrap();
    let line = format!("{} is paid.", begun["intent"]["merchant_reference"].as_str().unwrap());
    shop.settles(&line).await; // the ledger's claim of a run that was killed ends after 15 seconds
    assert_eq!(shop.count(&line), 1, "{}", shop.log());
}

/// The function of PHP, which has no core, by the cases that every implementation runs.
#[test]
#[ignore = "needs files that `cargo xtask test` builds"]
fn the_rule_of_late_approvals_in_php_passes_every_case() {
    const PHP: &str = r#"[, $file, $cases] = $argv;
        preg_match('/^function late_approval\b.*?^}$/ms', file_get_contents($file), $found);
        eval($found[0]);
        foreach (json_decode(file_get_contents($cases), true)['cases'] as $case) {
            $late = late_approval($case['intent'], $case['as_of'], $case['final_since'] ?? null);
            echo $late == $case['late'] ? "passed\n" : "$case[name]: " . json_encode($late) . "\n";
        }"#;
    let root = crate::support::root();
    let cases = root.join("tests/shop/late.json");
    let file: Value = serde_json::from_str(&fs::read_to_string(&cases).unwrap()).unwrap();
    let count = file["cases"].as_array().unwrap().len();
    let mut command = std::process::Command::new("php");
    let output = command.args(["-r", PHP]).arg(root.join("examples/php/shop.php")).arg(&cases).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(printed, "passed\n".repeat(count));
}

/// The stores of the ledger in PHP.
#[test]
#[ignore = "needs files that `cargo xtask test` builds"]
fn the_stores_of_the_ledger_in_php_keep_its_contract() {
    let server = MariaDbServer::start();
    for address in [None, Some(server.address())] {
        let script = crate::support::root().join("tests/shop/ledger-stores.php");
        let output = std::process::Command::new("php").arg(&script).args(address).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && printed.contains(" passed, 0 failed"), "{printed}");
    }
}

/// The core of the ledger in PHP, each of its rules taken out, what carries it out, and the shop at services that need
/// a profile.
#[test]
#[ignore = "needs files that `cargo xtask test` builds"]
fn the_ledger_in_php_passes_every_case_and_no_mutant_of_it_does() {
    for (script, expected) in [
        ("ledger.php", " cases pass, 0 fail"),
        ("ledger-mutants.php", " mutants are caught, 0 are not"),
        ("ledger-run.php", " passed, 0 failed"),
        ("ledger-profile.php", " passed, 0 failed"),
    ] {
        let script = crate::support::root().join("tests/shop").join(script);
        let output = std::process::Command::new("php").arg(&script).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && printed.contains(expected), "{}: {printed}", script.display());
    }
}

/// So that a person reads one in a sitting. Their formatters: prettier, `ruff format` and @prettier/plugin-php.
#[test]
fn each_server_is_one_short_file_of_100_columns() {
    for (file, limit) in [("express/server.mjs", 225), ("php/shop.php", 590), ("django/shop.py", 170)] {
        let text = fs::read_to_string(crate::support::root().join("examples").join(file)).unwrap();
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(text.lines().count() <= limit, "{file} has {} lines", text.lines().count());
        assert!(widest <= Some(100), "{file} has a line of {widest:?} columns");
    }
}

async fn a_page_of_this_machine_may_be_served_without_tls(server: Server) {
    for page in ["http://shop.test:8080", "http://a.localhost"] {
        let shop = running::ShopServer::start_for_a_page_at(server, "http://127.0.0.1:1", "sk_test_1", page).await;
        let asked = [("origin", page), ("access-control-request-method", "POST")];
        let reply = Visitor::of(&shop).await.request("OPTIONS", "/guichet/session", None, &asked).await;
        assert_eq!(reply.header_values("access-control-allow-origin"), [page]);
    }
}

async fn wrong_settings_end_the_process_with_an_error(server: Server) {
    for (name, value) in [
        ("GUICHET_SECRET_KEY", None),
        ("GUICHET_SECRET_KEY", Some("sk_test_1\n")),
        ("GUICHET_SECRET_KEY", Some("\"sk_test_1\"")),
        ("GUICHET_SECRET_KEY", Some("pk_test_1")),
        ("GUICHET_BASE_URL", Some("http://service.example")),
        ("GUICHET_BASE_URL", Some("https://service.example/?key")),
        ("GUICHET_BASE_URL", Some("https://user:password@service.example")),
        ("SHOP_ORIGIN", Some("https://shop.example/page")),
        ("SHOP_ORIGIN", Some("http://shop.example")),
        ("SHOP_URL", Some("shop.example")),
    ] {
        let (status, log) = running::start_wrongly(server, (name, value));
        let option = match name {
            "GUICHET_SECRET_KEY" if value.is_some() => "secretKey",
            "GUICHET_BASE_URL" => "baseUrl",
            _ => name,
        };
        let named = if server == Server::Express { option } else { name };
        assert!(!status.success() && log.contains(named), "{name}={value:?}: {status}: {log}");
        assert!(!value.is_some_and(|value| name.starts_with("GUICHET") && log.contains(value)), "{name}: {log}");
    }
}

async fn what_is_no_argument_ends_the_process_with_an_error(server: Server) {
    let (status, log) = running::start_with_argument(server, "setle");
    assert!(!status.success(), "{log}");
    let says = match server {
        Server::Php => "Usage: php shop.php settle",
        Server::Express | Server::Postgres => "Unexpected argument 'setle'",
    };
    assert!(log.contains(says), "{log}");
}

async fn every_rule_of_the_check_passes(server: Server) {
    let service = format!("127.0.0.1:{}", port::free());
    let address = format!("http://{service}");
    // One of them has its page at another origin, which its rules about origins must allow.
    let mut shop = match server {
        Server::Php => ShopServer::start_for_a_page_elsewhere(server, &address, KEY).await.0,
        _ => ShopServer::start(server, &address, KEY).await,
    };
    let (all_passed, report) = shop.check(&service, &[]).await;
    println!("{server:?}: {report}");
    // The price of the one on PostgreSQL does not change.
    let not_checked = usize::from(server == Server::Postgres);
    let is_whole = report.contains(&format!(" passed, 0 failed, {not_checked} not checked"));
    assert!(is_whole && all_passed == (not_checked == 0));
}

mod by_profile {
    use super::{Server, every_rule_of_the_check_passes_by_a_profile};
    for_every_server!(@ express Express every_rule_of_the_check_passes_by_a_profile);
    for_every_server!(@ php Php every_rule_of_the_check_passes_by_a_profile);
}

/// At a company that reads, finds and cancels elsewhere and has words of its own, with its profile and no code.
async fn every_rule_of_the_check_passes_by_a_profile(server: Server) {
    let service = format!("127.0.0.1:{}", port::free());
    let profile = crate::support::root().join("tests/manners/elsewhere.json");
    let address = format!("http://{service}");
    let mut shop = ShopServer::start_by_profile(server, &address, KEY, profile.clone()).await;
    let (all_passed, report) = shop.check(&service, &["--profile", profile.to_str().unwrap()]).await;
    println!("{server:?}: {report}");
    assert!(all_passed);
}

async fn a_service_that_lies_or_refuses_pays_nothing_and_shows_no_key(server: Server) {
    let service = FalseService::start().await;
    let shop = ShopServer::start(server, &service.url, KEY).await;
    let awa = Visitor::signed_in(&shop, AWA).await;
    let lies = [
        json!({"amount": "1"}),
        json!({"currency": "XOF"}),
        json!({"merchant_reference": "ORDER-1"}),
        json!({"customer": {"email": "paul@example.com"}}),
        json!({"customer": null}),
        json!({"id": null}),
    ];
    // A ledger tells a person of another e-mail, and believes the rest. To it, a payment without an identifier is none;
    // one that another reference has is not yet known.
    let is_believed = |lie: &Value| lie.get("customer").is_some();
    let refusal = |lie: &Value, is_new: bool| match lie {
        lie if is_believed(lie) => (200, ""),
        lie if lie.get("id") == Some(&Value::Null) => (502, "service_failed"),
        lie if is_new && lie.get("merchant_reference").is_some() => (503, "unavailable"),
        _ => (409, "payment_mismatch"),
    };
    // Each in an order of its own: once a reply about a payment was another's, a ledger believes no later one.
    for (place, lie) in lies.iter().enumerate() {
        let own = format!("new-{place}");
        service.says(200, &of_another_payment(&own, lie));
        let reply = awa.order(&own).await;
        assert_eq!((reply.status, reply.code()), refusal(lie, true), "{lie}: {}", reply.text);
    }
    for (place, lie) in lies.iter().chain([&json!({"id": "pi_other"})]).filter(|lie| !is_believed(lie)).enumerate() {
        let own = format!("read-{place}");
        service.says(200, &of_another_payment(&own, &json!({})));
        let begun = awa.order(&own).await;
        assert_eq!(begun.status, 200, "{}", begun.text);
        let mut lie = lie.clone();
        lie["status"] = json!("succeeded");
        service.says(200, &of_another_payment(&own, &lie));
        let reply = awa.request("GET", &status_path(&begun.body), None, &[]).await;
        assert_eq!((reply.status, reply.code()), refusal(&lie, false), "{lie}: {}", reply.text);
        shop.settle();
    }
    assert_eq!(shop.count("the ledger needs a person: email ORDER-"), 1, "{}", shop.log());
    service.says(200, &json!({}));
    let begun = awa.order("17").await;
    assert_eq!(begun.status, 200, "{}", begun.text);
    let path = status_path(&begun.body);
    let forged = format!("{KEY}\n\u{1b}[2KORDER-1 is paid.\u{202e}\u{2028}\u{9b}");
    // guichet-server hands on a conflict, as `Routes` does.
    let conflict = if server == Server::Express { 409 } else { 502 };
    for (status, expected) in [(400, 502), (401, 502), (403, 502), (409, conflict), (429, 429), (500, 502), (503, 503)]
    {
        service.says(status, &json!({"message": forged, "error": {"code": forged, "request_id": forged}}));
        for (method, path) in [("GET", path.as_str()), ("POST", "/guichet/session")] {
            let reply = awa.request(method, path, None, &[]).await;
            assert_eq!(reply.status, expected, "{status}: {}", reply.text);
            assert_eq!(reply.body["response_type"], "error", "{}", reply.text);
            assert!(!reply.text.contains(KEY), "{}", reply.text);
        }
    }
    service.says(200, &json!({"last_payment_error": {"code": "generic_decline", "message": KEY}}));
    let reply = awa.request("GET", &path, None, &[]).await;
    assert!(reply.status == 200 && !reply.text.contains(KEY), "{}", reply.text);
    assert!(!reply.text.contains("approvable_until"), "the service does not say until when: {}", reply.text);
    let last_word = json!({"code": "payer_not_found", "message": "", "approvable_until": null});
    service.says(200, &json!({"last_payment_error": last_word, "approvable_until": null}));
    let reply = awa.request("GET", &path, None, &[]).await;
    assert_eq!(reply.body["last_payment_error"], last_word, "{}", reply.text);
    assert_eq!(reply.body.get("approvable_until"), Some(&Value::Null), "{}", reply.text);

    let forged = "[2KORDER-1 is paid.";
    assert_eq!(shop.count(" is paid."), shop.count(forged), "{}", shop.log());
    let raw =
        |character: &char| (character.is_control() && *character != '\n') || "\u{202e}\u{2028}".contains(*character);
    assert_eq!(shop.log().chars().filter(raw).count(), 0, "{:?}", shop.log());
    assert!(!shop.log().contains(KEY), "{}", shop.log());

    service.says(200, &json!({"status": "succeeded", "attempts": 1}));
    assert_eq!(awa.request("GET", &path, None, &[]).await.body["status"], "succeeded");
    assert_eq!(shop.count(" is paid."), shop.count(forged) + 1, "{}", shop.log());
}

/// A sandbox with one merchant, and a shop that sells through it.
struct World {
    shop: ShopServer,
    merchant: Merchant,
    _sandbox: Sandbox,
}

impl World {
    async fn open(server: Server) -> Self {
        let sandbox = Sandbox::start().await.expect("a sandbox");
        let merchant = Merchant::of(&sandbox, "Sandbox shop").await;
        let shop = ShopServer::start(server, &merchant.base_url, &merchant.key()).await;
        Self { shop, merchant, _sandbox: sandbox }
    }

    /// The same, with the shop's page at another origin of the site. Returns that, too.
    async fn open_for_a_page_elsewhere(server: Server) -> (Self, String) {
        let sandbox = Sandbox::start().await.expect("a sandbox");
        let merchant = Merchant::of(&sandbox, "Sandbox shop").await;
        let (shop, page) = ShopServer::start_for_a_page_elsewhere(server, &merchant.base_url, &merchant.key()).await;
        (Self { shop, merchant, _sandbox: sandbox }, page)
    }

    /// Moves the merchant's clock forward.
    async fn advance(&self, seconds: u32) {
        self.merchant.tenant.clock().advance(seconds).await.expect("the clock moves");
    }

    /// Every intent of the merchant, newest first.
    async fn intents(&self) -> Vec<Value> {
        let listed = self.merchant.call("GET", "/v1/payment-intents", Value::Null).await;
        listed.body["data"].as_array().expect("a list").clone()
    }

    /// Pays with the client secret of the checkout address, as the customer does on the hosted page.
    async fn pay(&self, begun: &Value, phone: &str) {
        let address = begun["intent"]["checkout_url"].as_str().expect("an address");
        let (_, secret) = address.split_once("client_secret=").expect("a client secret");
        let path = format!("/v1/payment-intents/{}/payment-method", begun["intent"]["id"].as_str().expect("an id"));
        let reply = self.merchant.call_as("POST", &path, Some(secret), api::phone(phone)).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
    }

    /// A customer buys by a phone that the operator declines, and is back in the shop: there it is not known yet
    /// whether money was taken.
    async fn is_declined_and_not_known(&self, browser: &Browser, product: &str, (phone, after, _): (&str, u32, u32)) {
        let before = self.intents().await.len();
        browser.click(&format!(".primary.{product}:enabled")).await;
        attach_on_the_hosted_page(browser, phone).await;
        let has_begun = async || self.intents().await.get(before).is_some() && self.intents().await[0]["attempts"] == 1;
        until("the attempt has begun", has_begun).await;
        self.advance(after).await;
        browser.wait_for("[data-status='declined']").await;
        browser.click("[data-test='leave']").await;
        browser.wait_for_text("#message", "We do not know yet whether your operator took the money").await;
        let message = browser.wait_for("#message").await;
        let says = |words: &str| message.contains(words);
        assert!(says("until ") && says("refunded") && says("ORDER-") && !says("ry again"), "{message}");
    }

    /// The number that ends an order's reference, and the amount of its payment at the service.
    async fn amount(&self, begun: &Reply) -> (String, String) {
        let intent = &begun.body["intent"];
        let path = format!("/v1/payment-intents/{}", intent["id"].as_str().unwrap_or_else(|| panic!("{}", begun.text)));
        let read = self.merchant.call("GET", &path, Value::Null).await.body["data"].clone();
        let reference = intent["merchant_reference"].as_str().expect("a reference");
        let number = reference.trim_start_matches("ORDER-").split_once(['.', '-']).map_or("", |(_, number)| number);
        (number.to_owned(), read["amount"].as_str().expect("an amount").to_owned())
    }
}

/// The status of every request to create an intent; none while it has no answer.
async fn creations(merchant: &Merchant) -> Vec<Option<u16>> {
    let requests = merchant.tenant.requests().await;
    let created = requests.iter().filter(|request| request.operation == "create_payment_intent");
    created.map(|request| request.status).collect()
}

/// A service that answers with one payment, changed as the test says.
struct FalseService {
    url: String,
    says: Arc<Mutex<Says>>,
}

impl FalseService {
    /// Waits so long before each of the next readings of a payment is answered.
    fn delays_reads(&self, next: usize, delay: Duration) {
        self.says.lock().unwrap().delays = vec![delay; next];
    }

    /// The paths of the payments that were read, and the most that were read at a time.
    fn reads(&self) -> (Vec<String>, Vec<String>) {
        let says = self.says.lock().unwrap();
        (says.reads.clone(), says.busiest.clone())
    }
}

/// The status of every answer, and what is changed in it. The payment is that of the latest request that created one.
#[derive(Default)]
struct Says {
    status: u16,
    change: Value,
    created: Value,
    delays: Vec<Duration>,
    reads: Vec<String>,
    /// The payments whose reads wait, and the most at a time.
    waiting: Vec<String>,
    busiest: Vec<String>,
}

impl FalseService {
    async fn start() -> Self {
        // A ledger asks for the time before a test has set what is answered.
        let says = Arc::new(Mutex::new(Says { status: 200, ..Says::default() }));
        let router = Router::new().fallback(answer).with_state(Arc::clone(&says));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it listens"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, says }
    }

    fn says(&self, status: u16, change: &Value) {
        let mut says = self.says.lock().unwrap();
        (says.status, says.change) = (status, change.clone());
    }
}

/// Ends when the read is answered, or when the shop has given it up.
struct WaitingRead {
    path: String,
    says: Arc<Mutex<Says>>,
}

impl Drop for WaitingRead {
    fn drop(&mut self) {
        let mut says = self.says.lock().unwrap();
        let place = says.waiting.iter().position(|path| *path == self.path).unwrap();
        says.waiting.swap_remove(place);
    }
}

async fn answer(State(says): State<Arc<Mutex<Says>>>, uri: Uri, body: String) -> (StatusCode, Json<Value>) {
    if uri.path().starts_with("/v1/payment-intents/") {
        let _waiting = WaitingRead { path: uri.path().to_owned(), says: Arc::clone(&says) };
        let delay = {
            let mut says = says.lock().unwrap();
            says.reads.push(uri.path().to_owned());
            says.waiting.push(uri.path().to_owned());
            if says.waiting.len() > says.busiest.len() {
                says.busiest = says.waiting.clone();
            }
            says.delays.pop().unwrap_or_default()
        };
        tokio::time::sleep(delay).await;
    }
    let mut says = says.lock().unwrap();
    let status = StatusCode::from_u16(says.status).unwrap();
    if says.status >= 300 {
        return (status, Json(says.change.clone()));
    }
    if uri.path() == "/v1/payment-intents" {
        says.created = serde_json::from_str(&body).unwrap();
    }
    let created = &says.created;
    let mut data = json!({
        "id": "pi_1", "payment_ref": "gch_1", "checkout_url": "https://pay.example/", "status": "requires_action",
        "merchant_reference": created["merchant_reference"], "amount": created["amount"], "currency": created["currency"],
        "customer": {"email": created["email"]},
    });
    for (name, value) in says.change.as_object().into_iter().flatten() {
        data[name] = value.clone();
    }
    (status, Json(json!({ "status_code": 200, "data": data })))
}

/// This change, of a payment with identifiers of its own.
fn of_another_payment(name: &str, change: &Value) -> Value {
    let mut changed = json!({"id": format!("pi_{name}"), "payment_ref": format!("gch_{name}")});
    for (name, value) in change.as_object().into_iter().flatten() {
        changed[name] = value.clone();
    }
    changed
}

/// The reference of an order's second payment.
fn second_of(reference: &str) -> String {
    format!("{reference}-1")
}

/// By what the log names a payment: by its order.
fn logged(reference: &str) -> &str {
    reference.strip_suffix("-1").unwrap_or(reference)
}

fn is_not_stored(reply: &Reply) -> bool {
    reply.header("cache-control").is_some_and(|value| value.split(", ").any(|directive| directive == "no-store"))
}

fn status_path(begun: &Value) -> String {
    format!("/guichet/intents/{}", begun["intent"]["payment_ref"].as_str().expect("a reference"))
}

/// Pays on the hosted page by phone, and leaves it.
async fn pay_on_the_hosted_page(browser: &Browser) {
    attach_on_the_hosted_page(browser, SUCCEEDS).await;
    browser.wait_for("[data-status='succeeded']").await;
    browser.click("[data-test='leave']").await;
}

async fn attach_on_the_hosted_page(browser: &Browser, phone: &str) {
    browser.wait_for_url("the hosted page", |url| url.path().starts_with("/checkout/")).await;
    browser.click("[data-test='method-mobile_money']").await;
    browser.fill("[data-test='phone']", phone).await;
    browser.click("[data-test='pay']").await;
}
