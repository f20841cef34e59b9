//! The shop of `guichet-sandbox demo`, whose server is JavaScript, in a real browser.
//! `tests/consumers/toolchains/sandbox_demo.js` asks its server without a page.

use crate::purchase;
use crate::support::demo_shop::DemoShop;
use crate::support::engine::Engine;
use serde_json::{Value, json};

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn a_customer_pays_and_is_back_in_the_shop_paid() {
    purchase::pay_and_return(Engine::from_env(), DemoShop::by_npx()).await;
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn a_customer_pays_in_a_window_of_its_own() {
    purchase::pay_in_a_window(Engine::from_env(), DemoShop::by_npx()).await;
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn after_a_final_decline_paying_again_creates_a_new_reference() {
    purchase::pay_after_a_final_decline(Engine::from_env(), DemoShop::by_npx()).await;
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn it_has_no_subscriptions_and_otherwise_sells_what_the_shop_in_rust_does() {
    let demo = DemoShop::by_npx();
    let browser = Engine::from_env().start("npx").await;
    browser.open(demo.shop.url()).await;
    browser.click("[data-test^='sign-in-']").await;
    browser.wait_for("[data-test='sign-out']").await;
    assert_eq!(browser.run("return document.querySelector('[data-test=subscriptions]').hidden").await, true);
    browser.close().await;

    let in_rust = DemoShop::open().await;
    let [mut here, mut there] = [sold_at(demo.shop.url()).await, sold_at(in_rust.shop.url()).await];
    assert_eq!((&here["has_subscriptions"], &there["has_subscriptions"]), (&json!(false), &json!(true)));
    for sold in [&mut here, &mut there] {
        for of_the_service in ["base_url", "checkout_origins", "has_subscriptions"] {
            sold[of_the_service].take();
        }
    }
    assert_eq!(here, there);
}

/// What a shop sends to its pages.
async fn sold_at(url: &str) -> Value {
    let reply = crate::support::api::client().get(format!("{url}/api/shop")).send().await.unwrap();
    serde_json::from_slice(&reply.bytes().await.unwrap()).unwrap()
}
