//! `guichet/react`: every hook in Chromium, in development mode under StrictMode, by the newest and the oldest React,
//! and `examples/react`, through a purchase by redirect and in a popup.
//!
//! `cargo xtask test` builds the pages from the tarball and then runs these tests.

use crate::accessible::Accessibility;
use crate::package::NodeServer;
use crate::support::browser::{Browser, until};
use crate::support::http;
use crate::support::site::CannedResponse;
use crate::support::storefront::{INTENTS, RETURN, Storefront};
use guichet::operations::ListPaymentMethods;
use guichet_sandbox::{Fault, Sandbox};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The folders of the pages in `target/consumers/out/`.
const REACTS: [&str; 2] = ["react", "react-oldest"];
const PRICES: &str = "svc_mobile_money 5100";

/// Makes a test of each function, which runs it by each React, each with a shop of its own.
macro_rules! in_every_react {
    ($($test:ident),+ $(,)?) => {
        mod in_every_react {$(
            #[tokio::test]
            #[ignore = "needs files that `cargo xtask test` builds"]
            async fn $test() {
                let browser = super::Browser::start(stringify!($test)).await;
                for react in super::REACTS {
                    println!("by {react}");
                    let page = super::Page { browser: &browser, shop: super::Storefront::open().await, folder: react };
                    super::$test(&page).await;
                }
            }
        )+}
    };
}

in_every_react!(
    components_that_ask_the_same_send_one_request_under_strict_mode,
    a_request_is_aborted_with_the_last_of_its_components,
    a_session_that_is_renewed_or_revoked_renders_its_component,
    an_error_reaches_every_component_and_a_retry_clears_it,
    a_component_suspends_until_there_are_quotes_and_an_error_goes_to_the_boundary,
    a_page_that_a_server_has_rendered_hydrates_without_a_warning,
    quotes_from_the_server_are_shown_without_a_request_until_a_retry_or_another_question,
    a_page_that_hydrates_after_its_questions_are_answered_does_so_without_a_warning,
    a_component_shows_the_result_of_the_latest_click_although_an_earlier_one_ends_later,
    a_return_under_strict_mode_is_read_once_and_its_outcome_reaches_every_component,
    a_popup_that_a_component_opens_gives_it_the_outcome,
);

async fn components_that_ask_the_same_send_one_request_under_strict_mode(page: &Page<'_>) {
    page.open("quotes").await;
    for id in ["#first", "#second"] {
        page.browser.wait_for_text(id, PRICES).await;
    }
    assert_eq!(page.shop.count("list_payment_methods").await, 1);
    assert_eq!(page.shop.count("calculate_fee").await, 3, "one for each method and sort of card");
    page.browser.click("#second-retry").await;
    until("the quotes are requested again", async || page.shop.count("list_payment_methods").await == 2).await;
    page.browser.wait_for_text("#first", PRICES).await;

    page.open("replaced").await;
    page.browser.wait_for_text("#first", PRICES).await;
    page.browser.click("#replace").await;
    page.browser.wait_for_text("#first", PRICES).await;
    assert_eq!(page.shop.count("list_payment_methods").await, 3, "the next component has the quotes");
    assert_eq!(page.browser.run("return warnings").await, json!([]));
}

async fn a_request_is_aborted_with_the_last_of_its_components(page: &Page<'_>) {
    page.shop.tenant.fault(Fault::delay::<ListPaymentMethods>(Duration::from_secs(60))).await;
    page.open("quotes").await;
    page.browser.wait_until("return requests.some(({ address }) => address.includes('payment-methods'))").await;
    page.browser.click("#toggle").await;
    page.is_aborted("payment-methods").await;
    // Shown again, it asks again.
    page.browser.click("#toggle").await;
    page.browser.wait_for_text("#second", PRICES).await;

    page.shop.respond(INTENTS, CannedResponse::default().after(Duration::from_secs(60)));
    page.open("pay").await;
    page.browser.click("#pay").await;
    page.browser.wait_for_text("#checkout", "pending").await;
    page.browser.wait_until("return requests.some(({ address }) => address.includes('/intents'))").await;
    page.browser.click("#toggle").await;
    page.is_aborted("/intents").await;
    page.browser.wait_until("return window.resolved === null").await;
    assert_eq!(page.browser.run("return warnings").await, json!([]));
}

async fn a_session_that_is_renewed_or_revoked_renders_its_component(page: &Page<'_>) {
    page.open("account").await;
    page.browser.wait_for_text("#session", "none nobody false").await;
    for (button, shown) in [
        ("#sign-in", "active awa@example.com true"),
        ("#sign-out", "revoked"),
        ("#sign-in", "active awa@example.com true"),
    ] {
        page.browser.click(button).await;
        page.browser.wait_for_text("#session", shown).await;
    }
    assert_eq!(page.browser.run("return warnings").await, json!([]));
}

async fn an_error_reaches_every_component_and_a_retry_clears_it(page: &Page<'_>) {
    page.shop.tenant.fault(Fault::status::<ListPaymentMethods>(422)).await;
    page.open("quotes").await;
    for id in ["#first", "#second"] {
        page.browser.wait_for_text(id, "refused").await;
    }
    page.browser.click("#first-retry").await;
    for id in ["#first", "#second"] {
        page.browser.wait_for_text(id, PRICES).await;
    }
    page.open("pay").await;
    page.browser.click("#pay-an-unknown-order").await;
    page.browser.wait_for_text("#checkout", "unsupported").await;
}

async fn a_component_suspends_until_there_are_quotes_and_an_error_goes_to_the_boundary(page: &Page<'_>) {
    page.shop.tenant.fault(Fault::delay::<ListPaymentMethods>(Duration::from_secs(5))).await;
    page.open("suspense").await;
    page.browser.wait_for_text("#fallback", "suspended").await;
    for id in ["#first", "#second"] {
        page.browser.wait_for_text(id, PRICES).await;
    }
    assert_eq!(page.shop.count("list_payment_methods").await, 1);
    assert_eq!(page.browser.run("return warnings").await, json!([]));

    page.shop.tenant.fault(Fault::status::<ListPaymentMethods>(422)).await;
    page.open("suspense").await;
    page.browser.wait_for_text("#caught", "refused").await;
    // The page keeps an error for a second: until then, `#again` shows it again.
    let shows_prices = "document.querySelector('#again')?.click(); return !!document.querySelector('#first')";
    page.browser.wait_until(shows_prices).await;
    page.browser.wait_for_text("#first", PRICES).await;
    assert_eq!(page.shop.count("list_payment_methods").await, 3);
}

async fn a_page_that_a_server_has_rendered_hydrates_without_a_warning(page: &Page<'_>) {
    page.show("all", &page.rendered("html")).await;
    for (id, shown) in [("#first", PRICES), ("#outcome", "no return"), ("#session", "active"), ("#checkout", "idle")] {
        page.browser.wait_for_text(id, shown).await;
    }
    assert_eq!(page.browser.run("return warnings").await, json!([]));
    assert_eq!(page.shop.count("list_payment_methods").await, 1);
}

async fn quotes_from_the_server_are_shown_without_a_request_until_a_retry_or_another_question(page: &Page<'_>) {
    page.show("given", &page.rendered("given")).await;
    page.browser.wait_until("return window.requests !== undefined").await;
    page.browser.wait_for_text("#first", "given 1").await;
    assert_eq!(page.shop.count("list_payment_methods").await, 0);
    page.browser.click("#retry").await;
    page.browser.wait_for_text("#first", PRICES).await;
    assert_eq!(page.shop.count("list_payment_methods").await, 1);

    page.show("given", &page.rendered("given")).await;
    page.browser.wait_for_text("#first", "given 1").await;
    let asks = "document.querySelector('#ask').click();
                return document.querySelector('#first').textContent.includes('svc_mobile_money')";
    page.browser.wait_until(asks).await;
    assert_eq!(page.shop.count("list_payment_methods").await, 2);
    page.browser.click("#ask-as-before").await;
    page.browser.wait_for_text("#first", PRICES).await;
    assert_eq!(page.shop.count("list_payment_methods").await, 3);
    assert_eq!(page.browser.run("return warnings").await, json!([]));
}

async fn a_page_that_hydrates_after_its_questions_are_answered_does_so_without_a_warning(page: &Page<'_>) {
    page.show_after("quotes", "all", &page.rendered("html")).await;
    page.browser.wait_for_text("#before #first", PRICES).await;
    page.browser.run("hydrate()").await;
    for (id, shown) in [("#root #first", PRICES), ("#root #session", "active awa@example.com true")] {
        page.browser.wait_for_text(id, shown).await;
    }
    assert_eq!(page.browser.run("return warnings").await, json!([]));
    assert_eq!(page.shop.count("list_payment_methods").await, 1);
}

async fn a_component_shows_the_result_of_the_latest_click_although_an_earlier_one_ends_later(page: &Page<'_>) {
    let refused = CannedResponse::json(&json!({ "error": { "code": "too_late" } })).status(422);
    page.shop.respond_once(INTENTS, refused.after(Duration::from_secs(2)));
    page.open("pay").await;
    page.browser.click("#pay").await;
    page.browser.wait_for_text("#checkout", "pending").await;
    page.browser.click("#pay-an-unknown-order").await;
    page.browser.wait_for_text("#checkout", "unsupported").await;
    page.browser.wait_until("return window.resolved === null").await;
    // React has rendered by the second frame.
    let later = "for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
                 return document.querySelector('#checkout').textContent";
    assert_eq!(page.browser.run_async(later).await, "unsupported");
}

async fn a_return_under_strict_mode_is_read_once_and_its_outcome_reaches_every_component(page: &Page<'_>) {
    page.open("pay").await;
    page.browser.click("#pay").await;
    pay(page.browser).await;
    page.browser.wait_for_text("#outcome", "matched succeeded").await;
    let outcomes = "return [...document.querySelectorAll('#outcome')].map((outcome) => outcome.textContent)";
    assert_eq!(page.browser.run(outcomes).await, json!(["matched succeeded", "matched succeeded"]));
    let reads = "return requests.filter(({ address }) => address.includes('/guichet/intents/')).length";
    assert_eq!(page.browser.run(reads).await, 1);
    assert_eq!(page.browser.url().await.query(), None, "the return's parameters stay in the address bar");
    assert_eq!(page.browser.run("return warnings").await, json!([]));
}

async fn a_popup_that_a_component_opens_gives_it_the_outcome(page: &Page<'_>) {
    page.open("pay").await;
    let tab = page.browser.current_tab().await;
    page.browser.click("#pay-in-a-popup").await;
    let popup = page.browser.wait_for_other_tab(&tab).await;
    page.browser.switch_to(&popup).await;
    pay(page.browser).await;
    until("the popup is closed", async || page.browser.tabs().await == [tab.clone()]).await;
    page.browser.switch_to(&tab).await;
    page.browser.wait_for_text("#checkout", "succeeded").await;
    assert_eq!(page.browser.run("return resolved.state").await, "succeeded");
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn the_example_in_react_sells_by_redirect_while_vite_develops_it() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let folder = copy_of_the_example(sandbox.base_url());
    let vite = NodeServer::vite("vite", &folder, &[("GUICHET_SECRET_KEY", sandbox.secret_key().expose())]);
    let broken = http::post(&format!("{}/guichet/intents", vite.url), &[], "{\"id\":").await;
    assert_eq!((broken.status, broken.body.contains("invalid_json")), (400, true), "{}", broken.body);
    for order in ["{}", "[]", "{\"id\":null}", "{\"id\":[\"1\"]}", "{\"id\":\"\"}", "{\"id\":\"1/2\"}"] {
        let unknown = http::post(&format!("{}/guichet/intents", vite.url), &[], order).await;
        assert_eq!((unknown.status, unknown.body.contains("order_missing")), (404, true), "{order}: {}", unknown.body);
    }
    let browser = Browser::start("react-example").await;
    browser.open(&vite.url).await;
    browser.wait_for_text("table", "Card issued abroad").await;
    browser.screenshot("react-example-shop").await;
    browser.click("#pay").await;
    attach(&browser, "237670000012").await; // declined at once, and approved later
    browser.wait_for("[data-status='declined']").await;
    browser.click("[data-test='leave']").await;
    // The hook has the outcome while it still waits for the customer.
    browser.wait_for_text("[role=status]", "We do not know yet whether your operator took the money").await;
    browser.screenshot("react-example-not-known").await;
    browser.click("a[href='/']").await;
    // The prices move the button.
    browser.wait_for_text("table", "Card issued abroad").await;
    browser.click("#pay").await;
    pay(&browser).await;
    browser.wait_for_text("[role=status]", "You have paid.").await;
    browser.screenshot("react-example-paid").await;
    let address = browser.url().await;
    assert_eq!((address.path(), address.query()), ("/return", None));
    // Vite's script reloads a page whose server has ended.
    browser.open("about:blank").await;
    browser.close().await;
    sandbox.stop().await;
}

/// Copies the example, as the checks of the package have prepared it, and names this service in it.
fn copy_of_the_example(service: &str) -> PathBuf {
    let project = crate::package::project();
    let (from, to) = (project.join("example"), project.join("example-dev"));
    std::fs::create_dir_all(to.join("src")).expect("a folder");
    for file in [
        "index.html",
        "package.json",
        "vite.config.js",
        "shop-server.js",
        "src/main.tsx",
        "src/shop.tsx",
        "src/style.css",
    ] {
        let text = std::fs::read_to_string(from.join(file)).expect("the example was prepared");
        std::fs::write(to.join(file), text.replace("http://127.0.0.1:4243", service)).expect("a file");
    }
    to
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn the_example_in_react_sells_in_a_popup_and_shows_errors() {
    let shop = example().await;
    let browser = Browser::start("react-example-popup").await;
    shop.respond(INTENTS, CannedResponse::json(&json!({ "error": { "code": "unavailable" } })).status(503));
    browser.open(shop.url()).await;
    browser.set_checked("#in-a-popup", true).await;
    browser.click("#pay").await;
    browser.wait_for_text("[role=alert]", "try again").await;
    shop.remove_responses(INTENTS);
    let tab = browser.current_tab().await;
    browser.click("#pay").await;
    let popup = browser.wait_for_other_tab(&tab).await;
    browser.switch_to(&popup).await;
    pay(&browser).await;
    until("the popup is closed", async || browser.tabs().await == [tab.clone()]).await;
    browser.switch_to(&tab).await;
    browser.wait_for_text("[role=status]", "Thank you").await;
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn the_example_in_react_is_accessible() {
    let shop = example().await;
    let browser = Browser::start("react-example-accessible").await;
    let look = Accessibility::new(&browser);
    browser.open(shop.url()).await;
    browser.wait_for_text("table", "Card issued abroad").await;
    browser.tab_to("#pay").await;
    look.once("react-shop").await;
    shop.respond(INTENTS, CannedResponse::json(&json!({ "error": { "code": "unavailable" } })).status(503));
    browser.click("#pay").await;
    browser.wait_for_text("[role=alert]", "try again").await;
    look.once("react-error").await;
    shop.remove_responses(INTENTS);
    browser.click("#pay").await;
    pay(&browser).await;
    browser.wait_for_text("[role=status]", "Thank you").await;
    look.once("react-paid").await;
}

/// A shop whose page is `examples/react`, as Vite has built it.
async fn example() -> Storefront {
    let shop = Storefront::open().await;
    let folder = out("react-example");
    let read = |file: &Path| std::fs::read_to_string(file).expect("the example was built");
    for path in ["/", RETURN] {
        shop.respond(path, CannedResponse::html(&read(&folder.join("index.html"))));
    }
    for asset in std::fs::read_dir(folder.join("assets")).expect("the example was built") {
        let asset = asset.expect("a file");
        let name = asset.file_name().into_string().expect("a name");
        let kind = if name.ends_with(".css") { "text/css" } else { "text/javascript" };
        let text = read(&asset.path()).replace("http://127.0.0.1:4243", shop.service());
        let response = CannedResponse::default().header("content-type", kind).body(&text);
        shop.respond(&format!("/assets/{name}"), response);
    }
    shop
}

/// Pays on the hosted page and leaves it.
pub(crate) async fn pay(browser: &Browser) {
    attach(browser, "237670000000").await;
    browser.click("[data-test='leave']").await;
}

async fn attach(browser: &Browser, phone: &str) {
    browser.click("[data-test='method-mobile_money']").await;
    browser.fill("[data-test='phone']", phone).await;
    browser.click("[data-test='pay']").await;
}

/// The pages of one React or of Vue, and the shop that serves them.
pub(crate) struct Page<'a> {
    pub browser: &'a Browser,
    pub shop: Storefront,
    /// In `target/consumers/out/`.
    pub folder: &'static str,
}

impl Page<'_> {
    /// Opens this view of `views.js`.
    pub async fn open(&self, view: &str) {
        self.show(view, "").await;
    }

    /// Opens a page of this view that already holds this HTML.
    pub async fn show(&self, view: &str, html: &str) {
        self.show_after("", view, html).await;
    }

    /// The same, but another root of the page shows the view `before`, and `hydrate()` begins with this one.
    async fn show_after(&self, before: &str, view: &str, html: &str) {
        let page = |before: &str, view: &str, html: &str| {
            CannedResponse::html(&format!(
                "<!doctype html><html data-service=\"{}\" data-view={view} data-before=\"{before}\"><link rel=icon href=data:,>\
                 <div id=before></div><div id=root>{html}</div><script type=module src=/page.js></script></html>",
                self.shop.service()
            ))
        };
        self.shop.respond("/", page(before, view, html));
        self.shop.respond(RETURN, page("", "returned", ""));
        let script = CannedResponse::default().header("content-type", "text/javascript").body(&self.file("page.js"));
        self.shop.respond("/page.js", script);
        self.browser.open(self.shop.url()).await;
    }

    /// Checks that the only request for these addresses is aborted, long before its time limit.
    pub async fn is_aborted(&self, part: &str) {
        let script = format!(
            "const found = requests.filter(({{ address }}) => address.includes('{part}'));
             for (let waited = 0; waited < 5000 && !found[0].signal.aborted; waited += 20) await new Promise((go) => setTimeout(go, 20));
             return found.map(({{ signal }}) => signal.aborted)"
        );
        assert_eq!(self.browser.run_async(&script).await, json!([true]), "{}: {part}", self.folder);
    }

    /// The HTML of the view `all` (`html`) or `given`, as it was rendered in Node.js.
    pub fn rendered(&self, name: &str) -> String {
        let rendered: serde_json::Value = serde_json::from_str(&self.file("server.json")).expect("JSON");
        rendered[name].as_str().expect("the HTML of the page").to_owned()
    }

    /// A file that xtask built.
    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(out(self.folder).join(name)).expect("the page was built")
    }
}

fn out(page: &str) -> PathBuf {
    crate::support::root().join("target/consumers/out").join(page)
}
