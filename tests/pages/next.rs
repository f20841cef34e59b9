//! `examples/next`, as each of Next's bundlers has built it: the HTML of the server, the three routes, purchases by
//! redirect and in a popup, and a payment whose page is closed.
//!
//! `cargo xtask test` builds it from the tarball and then runs these tests.

use crate::accessible::Accessibility;
use crate::react::pay;
use crate::support::browser::{Browser, until};
use crate::support::engine::{Engine, only_in_chromium};
use crate::support::folder::Folder;
use crate::support::{api, http, port};
use fantoccini::key::Key;
use guichet_sandbox::Sandbox;
use serde_json::{Value, json};
use std::fs::{self, File};
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
    a_payment_whose_page_is_closed_is_settled,
    a_customer_buys_by_redirect,
    a_customer_buys_in_a_popup,
    the_client_with_a_wasm_file_calls,
    no_file_for_the_browser_has_code_of_the_server,
);

async fn the_server_renders_the_page_and_refuses_bad_requests(bundler: &'static str) {
    let shop = NextServer::start(bundler).await;
    let awa = shop.sign_in("awa").await;
    let html = http::get(&format!("{}/", shop.url), &[&awa]).await.body;
    // React separates texts by empty comments.
    let text = html.replace("<!-- -->", "");
    assert!(text.contains("A pair of runners, FCFA\u{a0}5,000. What you pay in all"), "{html}");
    assert!(text.contains("Asking for the prices…"), "{html}");
    assert!(!html.contains(shop.sandbox.secret_key().expose()), "the page has the secret key");

    let intents = format!("{}/guichet/intents", shop.url);
    for (body, status, code) in
        [("{\"id\":", 400, "invalid_json"), ("{\"id\":17}", 404, "order_missing"), ("null", 404, "order_missing")]
    {
        let reply = http::post(&intents, &[&awa], body).await;
        assert_eq!((reply.status, reply.body.contains(code)), (status, true), "{body}: {}", reply.body);
    }
    let order = "{\"id\":\"17\"}";
    for (headers, status) in [(&["Origin: https://evil.example", &awa][..], 403), (&[], 401), (&[&awa], 200)] {
        assert_eq!(http::post(&intents, headers, order).await.status, status, "{headers:?}");
    }
    assert_eq!(http::post(&format!("{}/sign-in", shop.url), &[], "{\"customer\":\"eve\"}").await.status, 422);
    let begun = shop.order(&awa).await;
    let status = format!("{intents}/{}", begun["intent"]["payment_ref"].as_str().expect("a reference"));
    assert_eq!(http::get(&status, &[&awa]).await.status, 200);
    assert_eq!(http::get(&status, &[&shop.sign_in("paul").await]).await.status, 404, "another customer's");
    http::post(&format!("{}/sign-out", shop.url), &[&awa], "{}").await;
    assert_eq!(http::get(&status, &[&awa]).await.status, 401, "the login has ended");
}

/// Only by one bundler: they share `app/shop.ts`.
#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn the_page_of_another_origin_and_no_other_calls_the_server() {
    let page = "http://localhost:1";
    let shop = NextServer::start_for_a_page_at("turbopack", Some("HTTP://LOCALHOST:1/")).await;
    let paths =
        [("POST", "/sign-in", "{\"customer\":\"awa\"}"), ("POST", "/sign-out", "{}"), ("POST", "/guichet/session", "")];
    for (method, path, body) in paths {
        for (origin, is_the_pages) in [(page, true), ("http://localhost:2", false), ("null", false)] {
            let url = format!("{}{path}", shop.url);
            let headers =
                [("origin", origin), ("content-type", "application/json"), ("access-control-request-method", method)];
            for method in ["OPTIONS", method] {
                let sent = api::send(&api::client(), method, &url, None, Some(body.to_owned()), &headers).await;
                let allowed = ["access-control-allow-origin", "access-control-allow-credentials"]
                    .map(|name| sent.header_values(name).join(","));
                let expected = if is_the_pages { [page.to_owned(), "true".to_owned()] } else { Default::default() };
                assert_eq!(allowed, expected, "{method} {path} {origin}");
                assert_eq!(sent.status == 403, !is_the_pages, "{method} {path} {origin}: {}", sent.status);
            }
        }
    }
}

only_in_chromium!(
    "it uses Chromium's DevTools protocol":
    #[ignore = "needs files that `cargo xtask test` builds"]
    a_customer_buys_without_script,
);

async fn a_customer_buys_without_script(engine: Engine) {
    let shop = NextServer::start("turbopack").await;
    let browser = engine.start("next-plain").await;
    browser.disable_scripts().await;
    browser.open(&shop.url).await;
    browser.click("header button").await;
    browser.wait_for_text("header", "Sign out awa@example.com").await;
    browser.click("#pay").await;
    browser.wait_for_url("the hosted page", |url| url.as_str().starts_with(shop.sandbox.base_url())).await;

    let begun = shop.order(&shop.sign_in("awa").await).await;
    let payment_ref = begun["intent"]["payment_ref"].as_str().expect("a reference");
    browser.open(&format!("{}/return?payment_ref={payment_ref}", shop.url)).await;
    browser.wait_for_text("main", "You have not paid yet.").await;
    pay_for(&shop, &begun).await;
    browser.wait_for_text("main", "Thank you. You have paid.").await;
    browser.close().await;
}

/// Pays with the client secret of the checkout address.
async fn pay_for(shop: &NextServer, begun: &Value) {
    let (id, address) = (begun["intent"]["id"].as_str().unwrap(), begun["intent"]["checkout_url"].as_str().unwrap());
    let (_, secret) = address.split_once("client_secret=").expect("a client secret");
    let path = format!("{}/v1/payment-intents/{id}/payment-method", shop.sandbox.base_url());
    let body = api::body(&api::phone("237670000000"));
    let paid = api::send(&api::client(), "POST", &path, Some(secret), Some(body), &[]).await;
    assert_eq!(paid.status, 200, "{}", paid.text);
}

async fn a_payment_whose_page_is_closed_is_settled(bundler: &'static str) {
    let mut shop = NextServer::start(bundler).await;
    let awa = shop.sign_in("awa").await;
    let begun = shop.order(&awa).await;
    shop.kill();
    pay_for(&shop, &begun).await;
    // Nothing is requested of it.
    shop.spawn();
    let line = format!("{} is paid.", begun["intent"]["merchant_reference"].as_str().expect("a reference"));
    until("the order is paid", async || shop.log().contains(&line)).await;
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
    // The server renders the outcome, and the page's script shortens the address after it.
    page.browser.wait_until("return location.pathname + location.search === '/return'").await;
    page.is_quiet().await;
    // By the keyboard: a click has missed in WebKit, once.
    page.browser.tab_to("main a").await;
    page.browser.press(&Key::Enter.to_string()).await;
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
    page.browser.wait_for_text("header", "Sign in as Awa").await;
    page.browser.wait_for_text("main", "Sign in to see what you pay.").await;
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
    for part in ["GUICHET_SECRET_KEY", "guichet ledger: marks"] {
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

/// The shop's page, and what its console reports: React reports there that the page differs from what the server has
/// rendered.
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
        browser.wait_for_text("header", "Sign in as Awa").await;
        // Not by the button: a click before React has taken over the page does nothing.
        assert_eq!(browser.run_async(SIGN_IN).await, 204);
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

const SIGN_IN: &str = "
    const headers = { 'content-type': 'application/json' };
    return (await fetch('/sign-in', { method: 'POST', headers, body: '{\"customer\":\"awa\"}' })).status;";

const RECORD_PROBLEMS: &str = "window.problems = [];
    for (const level of ['error', 'warn']) console[level] = (...words) => problems.push(words.map(String).join(' '));
    addEventListener('error', ({ message }) => problems.push(message));
    addEventListener('unhandledrejection', ({ reason }) => problems.push(String(reason)));";

/// `next start`, and the sandbox that it sells by.
struct NextServer {
    bundler: &'static str,
    page: Option<&'static str>,
    process: Option<Child>,
    url: String,
    sandbox: Sandbox,
    folder: Folder,
}

impl NextServer {
    async fn start(bundler: &'static str) -> Self {
        Self::start_for_a_page_at(bundler, None).await
    }

    /// The same, with the origin of a page that is not the server's.
    async fn start_for_a_page_at(bundler: &'static str, page: Option<&'static str>) -> Self {
        let sandbox = Sandbox::start().await.expect("a sandbox");
        let url = format!("http://127.0.0.1:{}", port::free());
        let mut started = Self { bundler, page, process: None, url, sandbox, folder: Folder::new("next") };
        started.spawn();
        let begun = Instant::now();
        while api::client().get(&started.url).send().await.is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "Next does not listen:\n{}", started.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        started
    }

    fn spawn(&mut self) {
        let log = File::options().create(true).append(true).open(self.folder.log()).expect("a log");
        let (_, port) = self.url.rsplit_once(':').expect("a port");
        let process = Command::new("node")
            .current_dir(example(self.bundler))
            .args(["../node_modules/next/dist/bin/next", "start", "--hostname", "127.0.0.1", "--port", port])
            .env("GUICHET_SECRET_KEY", self.sandbox.secret_key().expose())
            .env("SHOP_DATABASE", self.folder.path.join("shop.sqlite"))
            .envs([("GUICHET_BASE_URL", self.sandbox.base_url()), ("SHOP_URL", &self.url)])
            .envs(self.page.map(|page| ("SHOP_ORIGIN", page)))
            .env("NEXT_TELEMETRY_DISABLED", "1")
            .env_remove("NODE_ENV")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn()
            .expect("Node.js starts Next");
        self.process = Some(process);
    }

    /// Kills the process with SIGKILL.
    fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// The header of a customer's cookie.
    async fn sign_in(&self, customer: &str) -> String {
        let reply = http::post(&format!("{}/sign-in", self.url), &[], &json!({"customer": customer}).to_string()).await;
        reply.cookie().unwrap_or_else(|| panic!("{}: {}", reply.status, reply.body))
    }

    /// The ticket of order 17 of the customer with this cookie.
    async fn order(&self, cookie: &str) -> Value {
        let headers = [("cookie", cookie.trim_start_matches("Cookie: ")), ("content-type", "application/json")];
        let (url, order) = (format!("{}/guichet/intents", self.url), json!({"id": "17"}).to_string());
        let reply = api::send(&api::client(), "POST", &url, None, Some(order), &headers).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.body
    }

    /// Everything that it has printed.
    fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.folder.log()).expect("a log")).into_owned()
    }
}

impl Drop for NextServer {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("\nthe log of Next:\n{}", self.log());
        }
    }
}

/// The folder in which `cargo xtask test` has built the example.
fn example(bundler: &str) -> PathBuf {
    crate::support::root().join("target/npm-next").join(bundler)
}
