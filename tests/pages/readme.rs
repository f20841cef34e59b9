//! The JavaScript of the READMEs and the shop of `examples/`, run unchanged: through a purchase and back, in Chromium against
//! a sandbox. (Their Rust runs as doctests.)
//!
//! `cargo xtask test` builds the package and then runs these tests.

mod example_shop;

use crate::support::api;
use crate::support::browser::Browser;
use crate::support::folder::Folder;
use crate::support::port;
use axum::Router;
use axum::extract::Path as InPath;
use axum::http::request::Parts;
use axum::response::Html;
use axum::routing::get;
use guichet::native::{Reason, Refused, Routes, Shop, Sold};
use guichet::operations::{CreatePaymentIntent, CustomerName, DuplicatePayment, PaymentIntent};
use guichet::sandbox::{Fault, Sandbox};
use guichet::values::{Amount, Email, MerchantReference, PaymentRef, RedirectUrl};
use guichet::{Client, SecretKey};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tower_http::services::ServeDir;

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn the_javascript_of_the_readme_runs() {
    let logs = through_a_purchase("README.md").await;
    assert!(logs.iter().any(|log| log.contains("succeeded")), "the page logs the outcome: {logs:?}");
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn the_javascript_of_the_packages_readme_runs() {
    through_a_purchase("pkg-template/README.md").await;
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn the_example_shop_sells_under_node_and_never_serves_its_key() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let shop = NodeShop::open(sandbox.base_url(), sandbox.secret_key().expose());
    let browser = Browser::start("example").await;
    browser.open(&shop.url).await;
    browser.wait_for_text("#costs", "abroad").await;
    let costs = browser.run("return [...document.querySelectorAll('#costs li')].map((line) => line.textContent)").await;
    let costs: Vec<String> = serde_json::from_value(costs).expect("texts");
    let costs: Vec<&str> = costs.iter().filter_map(|line| line.split_once(": ")).map(|(name, _)| name).collect();
    assert!(costs.contains(&"Card issued in this country") && costs.contains(&"Card issued abroad"), "{costs:?}");
    assert!(
        costs.iter().all(|name| costs.iter().filter(|other| *other == name).count() == 1),
        "each method is distinct: {costs:?}"
    );
    let button = browser.wait_for("#pay").await;
    assert!(!button.contains("45 000"), "the customer pays the fee too, which the button leaves out: {button}");
    browser.click("#pay").await;
    pay(&browser).await;
    browser.wait_for_url("the shop", |url| url.as_str().starts_with(&shop.url)).await;
    browser.wait_for_text("#message", "succeeded").await;
    let statuses = "return Promise.all(['/server.mjs', '/package/../server.mjs', '/package/%2e%2e/server.mjs', '/package/package.json']
        .map(async (path) => (await fetch(path)).status))";
    assert_eq!(
        browser.run_async(statuses).await,
        json!([404, 404, 404, 404]),
        "the shop serves only the page and the package"
    );
    browser.close().await;
    sandbox.stop().await;
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn the_example_shop_reports_errors_to_the_page_and_its_console_without_its_key() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let merchant = sandbox.merchant().await.expect("the sandbox adds a merchant");
    let mut shop = NodeShop::open(merchant.base_url(), merchant.secret_key().expose());
    let (http, url) = (api::client(), shop.url.clone());
    let call = async |path: &str, body: &str| {
        let path = format!("{url}/guichet{path}");
        let answer = api::send(&http, "POST", &path, None, Some(body.to_owned()), &[("origin", &url)]).await;
        assert_eq!(
            (&answer.body["status_code"], &answer.body["response_type"]),
            (&json!(answer.status), &json!("error"))
        );
        (answer.status, answer.code().to_owned())
    };

    assert_eq!(call("/intents", r#"{"id": "18"}"#).await, (404, "order_missing".into()));
    assert_eq!(call("/intents", r#"{"id": "constructor"}"#).await, (404, "order_missing".into()));
    assert_eq!(call("/intents", "order").await, (400, "invalid_json".into()));
    merchant.fault(Fault::status::<CreatePaymentIntent>(429));
    assert_eq!(call("/intents", r#"{"id": "17"}"#).await, (429, "rate_limited".into()));
    merchant.fault(Fault::status::<CreatePaymentIntent>(500));
    assert_eq!(call("/intents", r#"{"id": "17"}"#).await, (502, "service_failed".into()));
    sandbox.stop().await;
    assert_eq!(call("/session", "{}").await, (503, "unavailable".into()));

    let log = shop.console();
    for part in ["/v1/payment-intents: 429 rate_limited", "/v1/payment-intents: 500", "/v1/sessions/create: no answer"]
    {
        assert!(log.contains(part), "{part} in {log}");
    }
    assert!(!log.contains(merchant.secret_key().expose()), "the secret key is on its console");
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn no_third_party_can_write_a_line_of_the_example_shops_console() {
    let forged = "\n2026-11-21T10:30:00Z INFO order ORDER-18 is paid\u{1b}[2J\u{9b}31m\u{7f}\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}";
    let error = json!({"code": forged, "request_id": forged, "errors": []});
    let reply = json!({"message": forged, "data": null, "error": error}).to_string();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let service = format!("http://{}", listener.local_addr().expect("an address"));
    let refuse = async move || (axum::http::StatusCode::CONFLICT, reply.clone());
    tokio::spawn(async { axum::serve(listener, axum::Router::new().fallback(refuse)).await });

    let mut shop = NodeShop::open(&service, "sk_test_secret");
    let reply = shop.call("POST", "/guichet/intents", Some(r#"{"id": "17"}"#), &[("origin", &shop.url)]).await;
    assert_eq!(reply.status, 409, "{}", reply.text);
    let log = shop.console();
    assert!(log.contains("\\u{202e}") && log.lines().count() == 1, "{log:?}");
    let steers = |c: char| c.is_control() && c != '\n' || forged.contains(c) && !c.is_ascii();
    assert!(!log.contains(steers), "{log:?}");
}

#[test]
#[ignore = "needs files that `cargo xtask test` builds"]
fn the_example_shop_names_missing_settings() {
    let start = |folder: &Path, key: Option<&str>| {
        let mut node = Command::new("node");
        node.arg(root().join("examples/shop/server.mjs")).current_dir(folder).env_remove("GUICHET_SECRET_KEY");
        let output = node.envs(key.map(|key| ("GUICHET_SECRET_KEY", key))).output().expect("Node.js starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let folder = Folder::new("example-empty");

    let (code, log) = start(&folder.path, None);
    assert!(code == Some(1) && log.contains("GUICHET_SECRET_KEY is not set"), "{log}");
    let (code, log) = start(&folder.path, Some("sk_test_secret"));
    assert!(code == Some(1) && log.contains("cp -r ../../target/npm/package"), "{log}");
    assert!(!log.contains("sk_test_secret"), "{log}");
}

/// The server of `examples/shop`, with the addresses of this test.
struct NodeShop {
    url: String,
    server: Child,
    /// Lines of stdout, and of stderr.
    lines: Receiver<String>,
    logged: Receiver<String>,
    _folder: Folder,
}

impl NodeShop {
    fn open(service: &str, key: &str) -> Self {
        Self::open_with(service, key, |text| text)
    }

    /// Starts the server after `change` has edited its files.
    fn open_with(service: &str, key: &str, change: impl Fn(String) -> String) -> Self {
        let url = format!("http://127.0.0.1:{}", port::free());
        let folder = Folder::new("example");
        for file in ["index.html", "server.mjs"] {
            let text = std::fs::read_to_string(root().join("examples/shop").join(file)).expect("it is there");
            let text = text.replace("http://127.0.0.1:4243", service).replace("http://127.0.0.1:8000", &url);
            let text = if file == "server.mjs" { change(text) } else { text };
            std::fs::write(folder.path.join(file), text).expect("it is written");
        }
        std::os::unix::fs::symlink(root().join("target/npm/package"), folder.path.join("package")).expect("a link");
        let mut server = Command::new("node")
            .arg("server.mjs")
            .current_dir(&folder.path)
            .env("GUICHET_SECRET_KEY", key)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("Node.js starts");
        let lines = lines_of(server.stdout.take().expect("it was piped"));
        let logged = lines_of(server.stderr.take().expect("it was piped"));
        let shop = Self { url, server, lines, logged, _folder: folder };
        shop.prints(&format!("Open {}", shop.url));
        shop
    }

    /// Waits until the server prints this line.
    fn prints(&self, expected: &str) {
        let line = self.lines.recv_timeout(Duration::from_secs(60)).expect("the server prints a line");
        assert_eq!(line, expected);
    }

    /// Waits for the next line of the log and returns it.
    fn logs(&self) -> String {
        self.logged.recv_timeout(Duration::from_secs(60)).expect("it logs a line")
    }

    /// Sends a request with these headers.
    async fn call(&self, method: &str, path: &str, body: Option<&str>, headers: &[(&str, &str)]) -> api::Reply {
        let url = format!("{}{path}", self.url);
        api::send(&api::client(), method, &url, None, body.map(str::to_owned), headers).await
    }

    /// Places the order as its page does. Returns the intent.
    async fn begin(&self) -> Value {
        let reply = self.call("POST", "/guichet/intents", Some(r#"{"id": "17"}"#), &[("origin", &self.url)]).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.body["intent"].clone()
    }

    /// Ends the server. Returns the rest of its log.
    fn console(&mut self) -> String {
        let _ = self.server.kill();
        self.logged.iter().map(|line| line + "\n").collect()
    }
}

/// The lines of a stream.
fn lines_of(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    let stream = BufReader::new(stream);
    std::thread::spawn(move || stream.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    lines
}

impl Drop for NodeShop {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Pays on the hosted page by phone, and leaves it.
async fn pay(browser: &Browser) {
    browser.wait_for_url("the hosted page", |url| url.path().starts_with("/checkout/")).await;
    browser.click("[data-test='method-mobile_money']").await;
    browser.fill("[data-test='phone']", "237670000000").await;
    browser.click("[data-test='pay']").await;
    browser.click("[data-test='leave']").await;
}

/// Runs each script of a document to its end. If it opens a checkout, the customer pays, and the script runs again on the
/// return page. Returns the console output of each.
async fn through_a_purchase(document: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(document)).expect("the document exists");
    let scripts = scripts(&text);
    assert!(!scripts.is_empty(), "{document} shows no JavaScript");
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let test_shop = Arc::new(TestShop::default());
    let shop = open_shop(&sandbox, &scripts, &test_shop).await;
    let browser = Browser::start("readme").await;
    let mut logs = Vec::new();
    for (number, script) in scripts.iter().enumerate() {
        let page = format!("{shop}/{number}");
        test_shop.back.lock().expect("not poisoned").clone_from(&page);
        browser.open(&page).await;
        ran(&browser, document).await;
        if script.contains(POPUP) {
            let opener = browser.current_tab().await;
            browser.click("button").await;
            browser.switch_to(&browser.wait_for_other_tab(&opener).await).await;
            pay(&browser).await;
            browser.switch_to(&opener).await;
        } else if script.contains("guichet.checkout(") {
            browser.click("button").await;
            pay(&browser).await;
            browser.wait_for_url("the shop", |url| url.as_str().starts_with(&shop)).await;
            ran(&browser, document).await;
        }
        logs.push(browser.run("return window.logs.join('\\n')").await.as_str().unwrap_or_default().to_owned());
    }
    browser.close().await;
    sandbox.stop().await;
    logs
}

/// Waits until the page's script has ended without an error.
async fn ran(browser: &Browser, document: &str) {
    browser.wait_for("#ran").await;
    assert_eq!(browser.run("return window.failed").await, json!([]), "{document}");
}

/// The option of a script that opens a popup.
const POPUP: &str = "mode: \"popup\"";

/// The scripts of a document. A block without imports continues the one before it. If it pays in a popup instead, the two are
/// also a script each.
fn scripts(document: &str) -> Vec<String> {
    let mut scripts: Vec<String> = Vec::new();
    for block in document.split("\n```js\n").skip(1) {
        let block = block.split("\n```").next().unwrap_or_default();
        match scripts.last_mut() {
            Some(script) if block.contains(POPUP) => {
                let longer = [script, "\n", block].concat();
                scripts.push(longer);
            }
            Some(script) if !block.contains("import ") => script.extend(["\n", block]),
            _ => scripts.push(block.to_owned()),
        }
    }
    scripts
}

/// Serves each script in its own page, with the merchant's three routes and the package.
async fn open_shop(sandbox: &Sandbox, scripts: &[String], test_shop: &Arc<TestShop>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it listens"));
    let pages: Vec<String> = scripts.iter().map(|script| page(script, sandbox.base_url())).collect();
    let key = SecretKey::new(sandbox.secret_key().expose()).expect("a secret key");
    let client = Client::builder(sandbox.base_url(), key).build().expect("a client");
    let shop = Router::new()
        .route("/{number}", get(async move |InPath(number): InPath<usize>| Html(pages[number].clone())))
        .nest("/guichet", Routes::new(client, Arc::clone(test_shop)).router())
        .nest_service("/package", ServeDir::new(root().join("target/npm/package")));
    tokio::spawn(async move { axum::serve(listener, shop).await });
    url
}

/// A page with a button under the names that the documents use. Only the service's addresses are replaced.
fn page(script: &str, service: &str) -> String {
    let script = ["http://127.0.0.1:4243", "https://api.example.com", "https://pay.example.com"]
        .iter()
        .fold(script.to_owned(), |script, address| script.replace(address, service));
    format!(
        r#"<!doctype html><meta charset="utf-8"><title>A shop</title><link rel="icon" href="data:,">
        <button id="payButton">Pay</button>
        <script type="importmap">{{"imports": {{
            "guichet": "/package/guichet.js", "guichet/beside": "/package/beside.js",
            "guichet/hosted": "/package/hosted.js", "guichet/words": "/package/words.js",
            "guichet/hosted-words": "/package/hosted-words.js"
        }}}}</script>
        <script>
            var button = payButton, logs = [], failed = [];
            console.log = (...words) => logs.push(words.join(" "));
            alert = (sentence) => failed.push(sentence);
            onerror = (sentence) => void failed.push(String(sentence));
            onunhandledrejection = ({{ reason }}) => void failed.push(String(reason));
        </script>
        <script type="module">{script}
            document.body.insertAdjacentHTML("beforeend", "<p id='ran'>It ran to its end.</p>");
        </script>"#
    )
}

/// A merchant with one signed-in customer, who has one order per page.
#[derive(Default)]
struct TestShop {
    /// The address of the return page.
    back: Mutex<String>,
    sold: Mutex<Vec<Sold>>,
}

impl Shop for TestShop {
    async fn customer(&self, _: &Parts) -> Result<Option<Email>, Refused> {
        Email::new("awa@example.com").map(Some).map_err(Refused::broken)
    }

    async fn purchase(&self, customer: Option<&Email>, order: Value) -> Result<CreatePaymentIntent, Refused> {
        if order["id"] != "17" {
            return Err(Refused::new(
                404,
                Reason { code: "order_missing", message: "There is no order of this number." },
            ));
        }
        let back = self.back.lock().expect("not poisoned").clone();
        let number = back.rsplit('/').next().unwrap_or_default();
        let reference = MerchantReference::new(format!("ORDER-17-{number}")).map_err(Refused::broken)?;
        let amount = Amount::units(45_000);
        let back = RedirectUrl::new(&back).map_err(Refused::broken)?;
        let purchase =
            CreatePaymentIntent::new(reference, amount, "Shoes", CustomerName { firstname: "Awa", lastname: "Ngono" })
                .redirect_url(back);
        Ok(customer.into_iter().fold(purchase, |purchase, customer| purchase.email(customer.clone())))
    }

    async fn remember(&self, sold: &Sold) -> Result<(), Refused> {
        self.sold.lock().expect("not poisoned").push(sold.clone());
        Ok(())
    }

    async fn find(&self, payment_ref: &PaymentRef, _: Option<&Email>) -> Result<Option<Sold>, Refused> {
        let sold = self.sold.lock().expect("not poisoned");
        Ok(sold.iter().find(|sold| sold.payment_ref == *payment_ref).cloned())
    }

    async fn settled(&self, _: &Sold, _: &PaymentIntent) -> Result<(), Refused> {
        Ok(())
    }

    async fn overpaid(&self, _: &Sold, _: &DuplicatePayment) -> Result<(), Refused> {
        Ok(())
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
