//! The JavaScript of the documents, run unchanged: through a purchase and back, in Chromium against a sandbox. (Their
//! Rust runs as doctests.)
//!
//! `cargo xtask test` builds the package and then runs these tests.

use crate::support::browser::Browser;
use crate::support::wait::until;
use crate::support::{orders, root};
use axum::Router;
use axum::extract::Path as InPath;
use axum::http::request::Parts;
use axum::response::Html;
use axum::routing::get;
use guichet::native::ledger::Changed;
use guichet::native::{Buyer, Ledger, Purchase, Reason, Refused, Routes, Shop};
use guichet::operations::{CreatePaymentIntent, CustomerName};
use guichet::values::{Amount, Email, MerchantReference, RedirectUrl};
use guichet::{Client, SecretKey};
use guichet_sandbox::Sandbox;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tower_http::services::ServeDir;

/// The documents whose scripts run in a page.
const DOCUMENTS: [&str; 5] =
    ["README.md", "README.fr.md", "docs/page.md", "docs/troubleshooting.md", "pkg-template/README.md"];

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn the_javascript_of_the_documents_runs() {
    let logs = through_a_purchase().await;
    for document in ["README.md", "README.fr.md", "pkg-template/README.md"] {
        let has_outcome = |(of, log): &(&str, String)| *of == document && log.contains("succeeded");
        assert!(logs.iter().any(has_outcome), "{document} logs the outcome: {logs:?}");
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

/// Runs each script of the documents to its end. If it opens a checkout, the customer pays, and the script runs again
/// on the return page. Returns the console output of each, with its document.
async fn through_a_purchase() -> Vec<(&'static str, String)> {
    let of_document = |document: &'static str| {
        let text = std::fs::read_to_string(root().join(document)).expect("the document exists");
        let scripts = scripts(&text);
        assert!(!scripts.is_empty(), "{document} shows no JavaScript");
        scripts.into_iter().map(move |script| (document, script))
    };
    let scripts: Vec<(&str, String)> = DOCUMENTS.into_iter().flat_map(of_document).collect();
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let test_shop = Arc::new(TestShop::default());
    let shop = open_shop(&sandbox, &scripts, &test_shop).await;
    let browser = Browser::start("readme").await;
    let mut logs = Vec::new();
    for (number, (document, script)) in scripts.iter().enumerate() {
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
            // It closes only while its opener is there, and the next script would take it for its own.
            until("the popup closes", async || browser.tabs().await.len() == 1).await;
        } else if script.contains("guichet.checkout(") {
            browser.click("button").await;
            pay(&browser).await;
            browser.wait_for_url("the shop", |url| url.as_str().starts_with(&shop)).await;
            ran(&browser, document).await;
        }
        let log = browser.run("return window.logs.join('\\n')").await;
        logs.push((*document, log.as_str().unwrap_or_default().to_owned()));
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

/// The scripts of a document. A block without imports continues the one before it. If it pays in a popup instead, the
/// two are also a script each.
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
async fn open_shop(sandbox: &Sandbox, scripts: &[(&str, String)], test_shop: &Arc<TestShop>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it listens"));
    let pages: Vec<String> = scripts.iter().map(|(_, script)| page(script, sandbox.base_url())).collect();
    let key = SecretKey::new(sandbox.secret_key().expose()).expect("a secret key");
    let client = Client::builder(sandbox.base_url(), key).build().expect("a client");
    let ledger = Ledger::new(client, orders::in_memory().await);
    let shop = Router::new()
        .route("/{number}", get(async move |InPath(number): InPath<usize>| Html(pages[number].clone())))
        .nest("/guichet", Routes::new(ledger, Arc::clone(test_shop)).router())
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
            var button = payButton, payer = payButton, logs = [], failed = [];
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
}

impl Shop for TestShop {
    async fn buyer(&self, _: &Parts) -> Result<Option<Buyer>, Refused> {
        Ok(Some(Buyer::customer("awa").verified_email(Email::new("awa@example.com").map_err(Refused::broken)?)))
    }

    async fn purchase(&self, buyer: &Buyer, order: Value) -> Result<Purchase, Refused> {
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
        let back = RedirectUrl::new(back).map_err(Refused::broken)?;
        let purchase =
            CreatePaymentIntent::new(reference, amount, "Shoes", CustomerName { firstname: "Awa", lastname: "Ngono" })
                .redirect_url(back);
        Ok(buyer.verified_email.iter().fold(purchase, |purchase, email| purchase.email(email.clone())).into())
    }

    async fn order_changed(&self, _: &Changed) -> Result<(), Refused> {
        Ok(())
    }
}
