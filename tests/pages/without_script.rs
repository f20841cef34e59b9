//! The hosted page's own HTML: it pays where no script arrives, and where one arrives the script takes it over.

use crate::support::browser::Browser;
use crate::support::demo_shop::DemoShop;
use crate::support::engine::{Engine, in_chromium, in_every_browser, only_in_chromium};
use guichet::operations::{CreatePaymentIntent, CustomerName};
use guichet::values::{Amount, Email, IntentStatus, MerchantReference};
use serde_json::json;

const SUCCEEDS: &str = "237670000000";
const AFTER_30_SECONDS: &str = "237670000001";

in_every_browser!(
    the_script_takes_over_the_page_that_needs_none,
    a_customer_whose_scripts_are_blocked_pays_by_the_forms,
);
in_chromium!(a_link_with_the_secret_in_its_fragment_works_with_a_script,);
only_in_chromium!(
    "it uses Chromium's DevTools protocol":
    a_phone_that_was_typed_before_the_script_came_is_kept,
);

async fn the_script_takes_over_the_page_that_needs_none(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("taken-over").await);
    browser.open(&link(&demo, "OVER-1").await).await;
    browser.wait_for("[data-test='method-mobile_money']").await;
    let left = browser
        .run(
            "return [document.querySelectorAll('[data-plain], #payment').length, location.search + location.hash, history.state,
                 document.documentElement.outerHTML.includes('_secret_'), document.querySelectorAll('main').length, document.cookie]",
        )
        .await;
    assert_eq!(left, json!([0, "", null, false, 1, "guichet_script=1"]), "the secret is in memory alone");
    demo.pay_by_phone(&browser, AFTER_30_SECONDS).await;
    browser.wait_for("[data-status='waiting']").await;
    // The server knows that the script runs, so the page does not reload itself.
    browser.reload().await;
    browser.wait_for("[data-status='waiting']").await;
    demo.merchant.clock().advance(30).await.unwrap();
    browser.wait_for("[data-status='succeeded']").await;
    browser.reload().await;
    browser.wait_for("[data-status='settled']").await;
    browser.close().await;
}

async fn a_customer_whose_scripts_are_blocked_pays_by_the_forms(engine: Engine) {
    let demo = DemoShop::open().await;
    let browser = engine.start_with_proxy("blocked").await;
    browser.proxy().block_scripts();
    pays_by_the_forms(&demo, &browser, "BLOCKED-1").await;
    browser.close().await;
}

#[tokio::test]
async fn a_customer_who_has_switched_scripts_off_pays_in_chromium() {
    let (demo, browser) = (DemoShop::open().await, Engine::Chromium.start_without_scripts("off-chromium").await);
    pays_by_the_forms(&demo, &browser, "OFF-1").await;
}

#[tokio::test]
async fn a_customer_who_has_switched_scripts_off_pays_in_firefox() {
    let (demo, browser) = (DemoShop::open().await, Engine::Firefox.start_without_scripts("off-firefox").await);
    pays_by_the_forms(&demo, &browser, "OFF-2").await;
}

async fn pays_by_the_forms(demo: &DemoShop, browser: &Browser, reference: &str) {
    browser.open(&link(demo, reference).await).await;
    browser.fill("#plain-phone", AFTER_30_SECONDS).await;
    browser.click("form[data-plain='mobile_money'] button").await;
    browser.wait_for("[data-plain='waiting']").await;
    demo.merchant.clock().advance(30).await.unwrap();
    // The page asks again by itself.
    browser.wait_for("[data-plain='succeeded']").await;
    let intent = demo.only_intent().await;
    assert_eq!((intent.status, intent.attempts), (IntentStatus::Succeeded, Some(1)));
}

async fn a_link_with_the_secret_in_its_fragment_works_with_a_script(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("old-link").await);
    let link = link(&demo, "OLD-1").await.replacen('?', "?lang=fr#", 1);
    for _ in 0..2 {
        browser.open(&link).await;
        browser.wait_for_text("#form", "Comment souhaitez-vous payer").await;
        assert!(!browser.url().await.as_str().contains("secret"));
        // Again with the payment's cookie.
        browser.open("about:blank").await;
    }
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

/// The link of a new payment.
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
    intent.checkout_url.as_ref().expect("the sandbox sends this field").expose().to_owned()
}
