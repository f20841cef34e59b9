//! `examples/page`, the page that the example servers share, on a site that answers as they do. `servers::` drives it
//! on the servers themselves.
//!
//! `cargo xtask test` builds the package and installs axe-core, and then runs these tests.

use crate::accessible::Accessibility;
use crate::react::pay;
use crate::support::browser::{Browser, until};
use crate::support::engine::{Engine, only_in_chromium};
use crate::support::site::CannedResponse;
use crate::support::storefront::{CUSTOMER, Storefront};
use serde_json::{Value, json};

only_in_chromium!(
    "it uses Chromium's DevTools protocol":
    #[ignore = "needs files that `cargo xtask test` builds"]
    the_page_of_the_example_servers_is_accessible,
);

async fn the_page_of_the_example_servers_is_accessible(engine: Engine) {
    for language in ["en", "fr"] {
        let shop = open_shop().await;
        let browser = engine.start_in_language("example-page", language).await;
        let look = Accessibility::new(&browser);
        shop.respond("/shop", CannedResponse::json(&shop_of(&shop, None, json!([]))));
        browser.open(shop.url()).await;
        browser.wait_for(".popup").await; // the script has replaced the forms
        browser.tab_to("#sign-in button").await;
        look.once(&format!("page-signed-out-{language}")).await;

        let orders = json!([
            { "id": "2f60bd43b1b1b6f4", "basket": "1", "product_id": "trainers", "paid_by": "ORDER-1", "refunds": 1 },
            { "id": "91c5dbb9a0be1d07", "basket": "2", "product_id": "sandals", "paid_by": null, "refunds": 0 },
        ]);
        shop.respond("/shop", CannedResponse::json(&shop_of(&shop, Some(CUSTOMER), orders)));
        browser.reload().await;
        browser.wait_for("#orders li").await;
        browser.tab_to(".primary.trainers").await;
        look.once(&format!("page-orders-{language}")).await;

        shop.respond(
            "/guichet/intents",
            CannedResponse::json(&json!({ "error": { "code": "unavailable" } })).status(503),
        );
        browser.click(".primary.trainers").await;
        browser.wait_until("return document.querySelector('#message').textContent !== ''").await;
        look.once(&format!("page-message-{language}")).await;
        let keeps_focus = "return document.activeElement.matches('.primary.trainers')";
        assert_eq!(browser.run(keeps_focus).await, true, "the list of products is new, and the focus is lost");
    }
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn an_outcome_stays_although_the_shop_does_not_answer_after_it() {
    let shop = open_shop().await;
    shop.respond("/shop", CannedResponse::json(&shop_of(&shop, Some(CUSTOMER), json!([]))));
    let browser = Browser::start("example-page-outcome").await;
    browser.open(shop.url()).await;
    browser.wait_for(".popup.trainers:enabled").await;
    browser
        .run(&format!(
            "document.head.append(Object.assign(document.createElement('script'), {{ text: {} }}))",
            json!(LOSE_SHOP)
        ))
        .await;
    let tab = browser.current_tab().await;
    browser.click(".popup.trainers").await;
    let popup = browser.wait_for_other_tab(&tab).await;
    browser.switch_to(&popup).await;
    pay(&browser).await;
    until("the popup is closed", async || browser.tabs().await == [tab.clone()]).await;
    browser.switch_to(&tab).await;
    browser.wait_for_text("#message", "you have paid").await;
    browser.wait_until("return lost === 1").await;
    browser.run_async("await new Promise((go) => setTimeout(go))").await;
    assert_eq!(browser.run("return unhandled").await, json!([]));
    assert_eq!(browser.run("return document.querySelectorAll('#products li').length").await, 2);
    shop.respond("/shop", CannedResponse::default().status(503));
    browser.close().await;

    let browser = Browser::start("example-page-blank").await;
    browser.open(shop.url()).await;
    browser.wait_until("return document.querySelector('#message').textContent !== ''").await;
}

/// Requests of the page for `/shop` are refused from now on. A script element sends them: Chromium reports no error of
/// a driver's script, Firefox runs that in a sandbox, and WebKit's driver hangs after it.
const LOSE_SHOP: &str = "window.unhandled = [];
    window.lost = 0;
    addEventListener('unhandledrejection', ({ reason }) => unhandled.push(String(reason)));
    const send = window.fetch;
    window.fetch = async (address, init) => {
        if (address !== '/shop') return send(address, init);
        lost += 1;
        return new Response('', { status: 503 });
    };";

/// A shop whose pages are `examples/page`.
async fn open_shop() -> Storefront {
    let shop = Storefront::open().await;
    let folder = crate::support::root().join("examples/page");
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).expect("a file of the page");
    for path in ["/", "/return"] {
        shop.respond(path, CannedResponse::html(&read("index.html")));
    }
    for (file, kind) in [("page.css", "text/css"), ("page.js", "text/javascript")] {
        shop.respond(&format!("/{file}"), CannedResponse::default().header("content-type", kind).body(&read(file)));
    }
    shop
}

/// What the example servers answer at `/shop`.
fn shop_of(shop: &Storefront, customer: Option<&str>, orders: Value) -> Value {
    json!({
        "base_url": shop.service(), "customers": [CUSTOMER, "paul@example.com"], "customer": customer, "orders": orders,
        "products": [
            { "id": "trainers", "amount": "45000", "en": "Wouri trainers", "fr": "Baskets Wouri" },
            { "id": "sandals", "amount": "12500", "en": "Kribi sandals", "fr": "Sandales Kribi" },
        ],
    })
}
