//! `guichet/vue`: every function in Chromium, in development mode.
//!
//! `cargo xtask test` builds the pages from the tarball and then runs these tests.

use crate::react::{Page, pay};
use crate::support::browser::{Browser, until};
use crate::support::storefront::Storefront;
use guichet::operations::ListPaymentMethods;
use guichet_sandbox::Fault;
use serde_json::json;
use std::time::Duration;

const PRICES: &str = "svc_mobile_money 5100";

async fn open_shop(browser: &Browser) -> Page<'_> {
    Page { browser, shop: Storefront::open().await, folder: "vue" }
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn components_share_a_request_until_one_asks_for_something_else_and_the_last_is_gone() {
    let browser = Browser::start("vue-quotes").await;
    let page = open_shop(&browser).await;
    page.open("quotes").await;
    for id in ["#first", "#second"] {
        browser.wait_for_text(id, PRICES).await;
    }
    assert_eq!(page.shop.count("list_payment_methods").await, 1);
    browser.click("#second-retry").await;
    until("the quotes are requested again", async || page.shop.count("list_payment_methods").await == 2).await;
    browser.wait_for_text("#first", PRICES).await;
    browser.click("#first-ask").await;
    browser.wait_for_text("#first", "svc_mobile_money 10200").await;
    browser.wait_for_text("#second", PRICES).await;

    page.shop.tenant.fault(Fault::status::<ListPaymentMethods>(422)).await;
    browser.click("#first-retry").await;
    browser.wait_for_text("#first", "refused").await;
    browser.click("#first-retry").await;
    browser.wait_for_text("#first", "svc_mobile_money 10200").await;

    page.shop.tenant.fault(Fault::delay::<ListPaymentMethods>(Duration::from_secs(60))).await;
    page.open("quotes").await;
    browser.wait_until("return requests.some(({ address }) => address.includes('payment-methods'))").await;
    browser.click("#toggle").await;
    page.is_aborted("payment-methods").await;
    // Shown again, it asks again.
    browser.click("#toggle").await;
    browser.wait_for_text("#second", PRICES).await;
    assert_eq!(browser.run("return warnings").await, json!([]));
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn a_page_that_a_server_has_rendered_hydrates_without_a_warning() {
    let browser = Browser::start("vue-server").await;
    let page = open_shop(&browser).await;
    page.show("all", &page.rendered("html")).await;
    for (id, shown) in [("#first", PRICES), ("#outcome", "no return"), ("#session", "active"), ("#checkout", "idle")] {
        browser.wait_for_text(id, shown).await;
    }
    assert_eq!(browser.run("return warnings").await, json!([]));
    assert_eq!(page.shop.count("list_payment_methods").await, 1);

    page.show("given", &page.rendered("given")).await;
    browser.wait_until("return window.requests !== undefined").await;
    browser.wait_for_text("#first", "given 1").await;
    assert_eq!(page.shop.count("list_payment_methods").await, 1);
    browser.click("#first-ask").await;
    browser.wait_for_text("#first", "svc_mobile_money 10200").await;
    assert_eq!(browser.run("return warnings").await, json!([]));
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn a_purchase_reaches_its_components_by_redirect_and_in_a_popup() {
    let browser = Browser::start("vue-purchase").await;
    let page = open_shop(&browser).await;
    page.open("account").await;
    browser.wait_for_text("#session", "none nobody false").await;
    for (button, shown) in [("#sign-in", "active awa@example.com true"), ("#sign-out", "revoked")] {
        browser.click(button).await;
        browser.wait_for_text("#session", shown).await;
    }

    page.open("pay").await;
    browser.click("#pay-an-unknown-order").await;
    browser.wait_for_text("#checkout", "unsupported").await;
    browser.click("#pay").await;
    pay(&browser).await;
    browser.wait_for_text("#outcome", "matched succeeded").await;
    let outcomes = "return [...document.querySelectorAll('#outcome')].map((outcome) => outcome.textContent)";
    assert_eq!(browser.run(outcomes).await, json!(["matched succeeded", "matched succeeded"]));
    assert_eq!(browser.run("return warnings").await, json!([]));

    // Order 17 is paid in that shop.
    let page = open_shop(&browser).await;
    page.open("pay").await;
    let tab = browser.current_tab().await;
    browser.click("#pay-in-a-popup").await;
    let popup = browser.wait_for_other_tab(&tab).await;
    browser.switch_to(&popup).await;
    pay(&browser).await;
    until("the popup is closed", async || browser.tabs().await == [tab.clone()]).await;
    browser.switch_to(&tab).await;
    browser.wait_for_text("#checkout", "succeeded").await;
}
