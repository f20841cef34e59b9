//! The page of the card's issuer in Chromium: in the customer's language, by keyboard, and back to the checkout.

use crate::support::api::{Merchant, card};
use crate::support::browser::Browser;
use crate::support::engine::{Engine, not_in_webkit};
use guichet_sandbox::Sandbox;
use serde_json::{Value, json};

not_in_webkit!(
    "WebKit takes its language from the machine's locale":
    a_customer_approves_or_refuses_at_the_issuer_and_returns_to_the_checkout,
);

async fn a_customer_approves_or_refuses_at_the_issuer_and_returns_to_the_checkout(engine: Engine) {
    let sandbox = Sandbox::start().await.unwrap();
    let shop = Merchant::of(&sandbox, "Sandbox shop").await;
    let browser = engine.start_in_language("issuer", "fr").await;

    let (refused, url) = sent_to_the_issuer(&shop, "ORDER-1").await;
    browser.open(&url).await;
    assert_eq!(browser.wait_for("[data-test='challenge-said']").await, "Approuvez-vous ce paiement par carte ?");
    assert_eq!(browser.wait_for("[data-test='refuse']").await, "Refuser");
    browser.step("The page of the card's issuer", "main").await;
    browser.tab_to("[data-test='refuse']").await;
    browser.press("\u{e007}").await;
    back_at_the_checkout(&browser, &refused).await;
    let read = shop.read_intent(&refused).await;
    assert_eq!(
        (&read["status"], &read["last_payment_error"]["code"]),
        (&json!("requires_action"), &json!("rejected_by_payer"))
    );

    let (approved, url) = sent_to_the_issuer(&shop, "ORDER-2").await;
    browser.open(&format!("{}/checkout/{}/challenge?lang=en", shop.base_url, approved["id"].as_str().unwrap())).await;
    assert!(
        browser.wait_for("[data-test='challenge'][data-status='over']").await.contains("not valid"),
        "without its token"
    );
    browser.open(&url).await;
    browser.click("[data-test='approve']").await;
    back_at_the_checkout(&browser, &approved).await;
    assert_eq!(shop.read_intent(&approved).await["status"], "succeeded");

    browser.open(&url).await;
    browser.click("[data-test='refuse']").await;
    back_at_the_checkout(&browser, &approved).await;
    assert_eq!(
        shop.read_intent(&approved).await["status"],
        "succeeded",
        "opening the page again leads to the checkout"
    );
}

async fn back_at_the_checkout(browser: &Browser, intent: &Value) {
    let path = format!("/checkout/{}", intent["id"].as_str().unwrap());
    browser.wait_for_url("the checkout", |url| url.path() == path).await;
}

/// Creates an intent whose customer must go to the issuer's page. Returns it with the page's address.
async fn sent_to_the_issuer(shop: &Merchant, reference: &str) -> (Value, String) {
    let intent = shop.create_intent(reference).await;
    let sent = shop.attach(&intent, card("4000000000003220")).await;
    (intent, sent.body["data"]["next_action"]["url"].as_str().unwrap().to_owned())
}
