//! The hosted page's own HTML: it pays where no script arrives, and where one arrives the script takes it over.

use crate::support::browser::Browser;
use crate::support::demo_shop::DemoShop;
use crate::support::engine::{Engine, in_chromium, in_every_browser};
use guichet::operations::{CreatePaymentIntent, CustomerName};
use guichet::values::{Amount, Email, IntentStatus, MerchantReference};
use serde_json::json;

const SUCCEEDS: &str = "237670000000";
const AFTER_30_SECONDS: &str = "237670000001";

in_every_browser!(the_script_takes_over_the_page_that_needs_none,);
in_chromium!(
    a_customer_whose_scripts_are_blocked_pays_by_the_forms,
    a_phone_that_was_typed_before_the_script_came_is_kept,
);

async fn the_script_takes_over_the_page_that_needs_none(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("taken-over").await);
    browser.open(&link(&demo, "OVER-1").await).await;
    browser.wait_for("[data-test='method-mobile_money']").await;
    let left = browser
        .run(
            "return [document.querySelectorAll('[data-plain], #payment').length, location.search + location.hash, history.state,
                 document.documentElement.outerHTML.includes('_secret_'), document.querySelectorAll('main').length]",
        )
        .await;
    assert_eq!(left, json!([0, "", null, false, 1]), "the secret is in memory alone");
    demo.pay_by_phone(&browser, SUCCEEDS).await;
    browser.wait_for("[data-status='succeeded']").await;
    browser.reload().await;
    browser.wait_for("[data-status='settled']").await;
    browser.close().await;
}

async fn a_customer_whose_scripts_are_blocked_pays_by_the_forms(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("blocked").await);
    let link = link(&demo, "BLOCKED-1").await;
    browser.block(&["*.js", "*.wasm"]).await;
    browser.open(&link).await;
    pays_by_the_form(&browser, AFTER_30_SECONDS).await;
    browser.wait_for("[data-plain='waiting']").await;
    demo.merchant.clock().advance(30).await.unwrap();
    // The page asks again by itself.
    browser.wait_for("[data-plain='succeeded']").await;
    browser.block(&[]).await;
    let intent = demo.only_intent().await;
    assert_eq!((intent.status, intent.attempts), (IntentStatus::Succeeded, Some(1)));
    browser.close().await;
}

async fn a_phone_that_was_typed_before_the_script_came_is_kept(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("typed").await);
    let link = link(&demo, "TYPED-1").await;
    // The payment is read once the phone was typed.
    browser.add_init_script("const real = fetch; window.fetch = async (...request) => { while (!window.typed) await new Promise((go) => setTimeout(go, 20)); return real(...request); };").await;
    browser.open(&link).await;
    browser.fill("#plain-phone", SUCCEEDS).await;
    browser.run("window.typed = true").await;
    browser.wait_for("[data-test='method-mobile_money']").await;
    assert_eq!(browser.run("return document.getElementById('phone').value.replace(/\\s/g, '')").await, json!(SUCCEEDS));
    browser.close().await;
}

async fn pays_by_the_form(browser: &Browser, phone: &str) {
    browser.fill("#plain-phone", phone).await;
    browser.click("form[data-plain='mobile_money'] button").await;
}

/// The link of a new payment that opens it without a script.
async fn link(demo: &DemoShop, reference: &str) -> String {
    let reference = MerchantReference::new(reference).unwrap();
    let order = CreatePaymentIntent::new(
        reference,
        Amount::units(5_000),
        "A pair of shoes",
        CustomerName { firstname: "Awa", lastname: "Ndiaye" },
    )
    .email(Email::new("awa@example.com").unwrap());
    let intent = demo.create_intent(order).await;
    let secret = intent.client_secret.as_ref().expect("the sandbox sends this field").expose();
    format!("{}/checkout/{}?client_secret={secret}", demo.merchant.base_url(), intent.id)
}
