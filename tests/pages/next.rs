//! `examples/next`, as each of Next's bundlers has built it: the HTML of the server, the three routes, and purchases by redirect and in
//! a popup.
//!
//! `cargo xtask test` builds it from the tarball and then runs these tests.

use crate::accessible::Accessibility;
use crate::react::pay;
use crate::support::browser::{Browser, until};
use crate::support::engine::Engine;
use crate::support::{api, http, port};
use guichet_sandbox::Sandbox;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

macro_rules! by_both_bundlers {
    ($($test:ident),+ $(,)?) => {
        by_both_bundlers!(@ turbopack $($test)+);
        by_both_bundlers!(@ webpack $($test)+);
    };
    (@ $bundler:ident $($test:ident)+) => {
        mod $bundler {
            $(
                #[tokio::test]
                #[ignore = "needs files that `cargo xtask test` builds"]
                async fn $test() {
                    super::$test(stringify!($bundler)).await;
                }
            )+
        }
    };
}

by_both_bundlers!(
    the_server_renders_the_page_and_refuses_bad_requests,
    a_customer_buys_by_redirect,
    a_customer_buys_in_a_popup,
    the_client_with_a_wasm_file_calls,
    no_file_for_the_browser_has_code_of_the_server,
);

async fn the_server_renders_the_page_and_refuses_bad_requests(bundler: &'static str) {
    let shop = NextServer::start(bundler).await;
    let html = api::client().get(&shop.url).send().await.unwrap().text().await.unwrap();
    // React separates texts by empty comments.
    let text = html.replace("<!-- -->", "");
    assert!(text.contains("A pair of runners, FCFA\u{a0}5,000. What you pay in all"), "{html}");
    assert!(text.contains("Asking for the prices…"), "{html}");
    assert!(!html.contains(shop.sandbox.secret_key().expose()), "the page has the secret key");

    let intents = format!("{}/guichet/intents", shop.url);
    for (body, status, code) in
        [("{\"id\":", 400, "invalid_json"), ("{\"id\":17}", 404, "order_missing"), ("null", 404, "order_missing")]
    {
        let reply = http::post(&intents, &[], body).await;
        assert_eq!((reply.status, reply.body.contains(code)), (status, true), "{body}: {}", reply.body);
    }
    let reply = http::post(&intents, &[], "{\"id\":\"17\"}").await;
    let (cookie, other) =
        (reply.cookie().expect("the payment's cookie"), http::post(&intents, &[], "{\"id\":\"18\"}").await);
    let (payment_ref, id) = cookie.trim_start_matches("Cookie: ").split_once('=').expect("a cookie");
    assert_eq!(http::get(&format!("{intents}/{payment_ref}"), &[&cookie]).await.status, 200);
    assert_eq!(http::get(&format!("{intents}/{payment_ref}"), &[]).await.status, 404, "without the cookie");
    let other = other.cookie().expect("the payment's cookie");
    let (other, _) = other.trim_start_matches("Cookie: ").split_once('=').expect("a cookie");
    let forged = format!("Cookie: {other}={id}");
    assert_eq!(http::get(&format!("{intents}/{other}"), &[&forged]).await.status, 404, "a cookie for another payment");

    // Another customer's payment, with the e-mail that is Awa's now.
    let order = api::body(&api::order("ORDER-19"));
    let (address, key) = (format!("{}/v1/payment-intents", shop.sandbox.base_url()), shop.sandbox.secret_key());
    let created = api::send(&api::client(), "POST", &address, Some(key.expose()), Some(order), &[]).await;
    let part =
        |name: &str| created.body["data"][name].as_str().unwrap_or_else(|| panic!("{}", created.text)).to_owned();
    let (payment_ref, forged) = (part("payment_ref"), format!("Cookie: {}={}", part("payment_ref"), part("id")));
    let theirs = http::get(&format!("{intents}/{payment_ref}"), &[&forged]).await;
    assert_eq!(theirs.status, 404, "an e-mail owns no payment: {}", theirs.body);
}

async fn a_customer_buys_by_redirect(bundler: &'static str) {
    let shop = NextServer::start(bundler).await;
    let page = Page::open("next-redirect", &shop).await;
    page.browser.wait_for_text("table", "Card issued abroad").await;
    page.browser.wait_for_text("header", "Sign out awa@example.com").await;
    page.browser.screenshot(&format!("next-{bundler}-shop")).await;
    page.is_quiet().await;
    page.browser.click("#pay").await;
    pay(&page.browser).await;
    page.browser.wait_for_text("[role=status]", "Thank you").await;
    page.browser.screenshot(&format!("next-{bundler}-paid")).await;
    let address = page.browser.url().await;
    assert_eq!((address.path(), address.query()), ("/return", None));
    page.is_quiet().await;
    page.browser.click("main a").await;
    page.browser.wait_for_text("table", "Card issued abroad").await;
    page.is_quiet().await;
    page.browser.close().await;
}

async fn a_customer_buys_in_a_popup(bundler: &'static str) {
    let shop = NextServer::start(bundler).await;
    let page = Page::open("next-popup", &shop).await;
    page.browser.wait_for_text("table", "Card issued abroad").await;
    page.browser.set_checked("#in-a-popup", true).await;
    let tab = page.browser.current_tab().await;
    page.browser.click("#pay").await;
    let popup = page.browser.wait_for_other_tab(&tab).await;
    page.browser.switch_to(&popup).await;
    pay(&page.browser).await;
    until("the popup is closed", async || page.browser.tabs().await == [tab.clone()]).await;
    page.browser.switch_to(&tab).await;
    page.browser.wait_for_text("[role=status]", "Thank you").await;
    page.browser.click("header button").await;
    page.browser.wait_for_text("header", "Sign in").await;
    page.is_quiet().await;
    page.browser.close().await;
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn the_example_in_next_is_accessible() {
    let shop = NextServer::start("turbopack").await;
    let page = Page::open("next-accessible", &shop).await;
    let look = Accessibility::new(&page.browser);
    page.browser.wait_for_text("table", "Card issued abroad").await;
    page.browser.tab_to("#pay").await;
    look.once("next-shop").await;
    page.browser.open(&format!("{}/return", shop.url)).await;
    page.browser.wait_for_text("main", "There is no payment to show.").await;
    look.once("next-nothing").await;
    page.browser.open(&shop.url).await;
    page.browser.click("#pay").await;
    pay(&page.browser).await;
    page.browser.wait_for_text("[role=status]", "Thank you").await;
    look.once("next-paid").await;
    page.browser.close().await;
}

async fn the_client_with_a_wasm_file_calls(bundler: &'static str) {
    let shop = NextServer::start(bundler).await;
    let page = Page::open("next-beside", &shop).await;
    page.browser.open(&format!("{}/beside", shop.url)).await;
    page.browser.wait_for_text("#beside", "5100").await;
    let is_loaded =
        "return performance.getEntriesByType('resource').some(({ name }) => new URL(name).pathname.endsWith('.wasm'))";
    // Firefox lists a file some time after the page has used it.
    until("the page has loaded a wasm file", async || page.browser.run(is_loaded).await == true).await;
    page.is_quiet().await;
    page.browser.close().await;
}

async fn no_file_for_the_browser_has_code_of_the_server(bundler: &'static str) {
    let next = example(bundler).join(".next");
    for part in ["GUICHET_SECRET_KEY", "/sessions/create"] {
        assert!(any_file_contains(&next.join("server"), part), "{part}: the test looks for what is nowhere");
        assert!(!any_file_contains(&next.join("static"), part), "the browser loads {part:?}");
    }
}

fn any_file_contains(folder: &Path, part: &str) -> bool {
    fs::read_dir(folder).expect("the example was built").any(|entry| {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            return any_file_contains(&path, part);
        }
        fs::read(&path).expect("a file").windows(part.len()).any(|window| window == part.as_bytes())
    })
}

/// The shop's page, and what its console reports: React reports there that the page differs from what the server has rendered.
struct Page {
    browser: Browser,
}

impl Page {
    async fn open(scenario: &'static str, shop: &NextServer) -> Self {
        let browser = Browser::start(scenario).await;
        if browser.engine() == Engine::Chromium {
            browser.add_init_script(RECORD_PROBLEMS).await;
        }
        browser.open(&shop.url).await;
        Self { browser }
    }

    /// Checks that the console has reported nothing since the page was loaded. Only Chromium records it.
    async fn is_quiet(&self) {
        if self.browser.engine() == Engine::Chromium {
            assert_eq!(self.browser.run("return problems").await, json!([]));
        }
    }
}

const RECORD_PROBLEMS: &str = "window.problems = [];
    for (const level of ['error', 'warn']) console[level] = (...words) => problems.push(words.map(String).join(' '));
    addEventListener('error', ({ message }) => problems.push(message));
    addEventListener('unhandledrejection', ({ reason }) => problems.push(String(reason)));";

/// `next start`, and the sandbox that it sells by.
struct NextServer {
    process: Child,
    url: String,
    sandbox: Sandbox,
}

impl NextServer {
    async fn start(bundler: &str) -> Self {
        let sandbox = Sandbox::start().await.expect("a sandbox");
        let port = port::free().to_string();
        let url = format!("http://127.0.0.1:{port}");
        let process = Command::new("node")
            .current_dir(example(bundler))
            .args(["../node_modules/next/dist/bin/next", "start", "--hostname", "127.0.0.1", "--port", &port])
            .env("GUICHET_SECRET_KEY", sandbox.secret_key().expose())
            .envs([("GUICHET_BASE_URL", sandbox.base_url()), ("SHOP_URL", &url), ("NEXT_TELEMETRY_DISABLED", "1")])
            .env_remove("NODE_ENV")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("Node.js starts Next");
        let started = Self { process, url, sandbox };
        let begun = Instant::now();
        while api::client().get(&started.url).send().await.is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "Next does not listen");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        started
    }
}

impl Drop for NextServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The folder in which `cargo xtask test` has built the example.
fn example(bundler: &str) -> PathBuf {
    crate::support::root().join("target/npm-next").join(bundler)
}
