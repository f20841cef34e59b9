//! The network is lost in four steps of a purchase, in every browser. `lost_network.rs` has each step, in one browser.

use crate::support::browser::Browser;
use crate::support::demo_shop::DemoShop;
use crate::support::engine::{Engine, in_every_browser};
use crate::support::proxy::Proxy;
use guichet::values::IntentStatus;
use std::time::Duration;

in_every_browser!(
    the_network_lost_while_the_shop_is_left_for_the_hosted_page,
    the_network_lost_while_paying,
    the_network_lost_while_the_payer_approves_on_the_phone,
    the_network_lost_on_the_way_back,
);

const SUCCEEDS: &str = "237670000000";
const AFTER_30_SECONDS: &str = "237670000001";
/// Longer than the last retry: four attempts with pauses of 0.25, 0.5 and 1 s at most.
const OUTAGE: Duration = Duration::from_secs(4);

async fn the_network_lost_while_the_shop_is_left_for_the_hosted_page(engine: Engine) {
    let (proxy, demo) = (Proxy::open().await, DemoShop::open().await);
    let browser = engine.start_with_proxy(&proxy, "lost-leaving").await;
    browser.open(demo.shop.url()).await;
    browser.click("[data-test^='add-']").await;
    browser.click("[data-test^='sign-in-']").await;
    browser.wait_for("[data-test='quote-mobile_money']").await;

    proxy.disconnect();
    browser.click("[data-test='pay']").await;
    tokio::time::sleep(OUTAGE).await; // without a network
    assert!(!browser.wait_for("[data-test='problem']").await.is_empty(), "the page shows the error");
    proxy.reconnect();

    demo.leave_for_the_hosted_page(&browser).await;
    pays_and_is_back(&demo, &browser).await;
}

async fn the_network_lost_while_paying(engine: Engine) {
    let (proxy, demo) = (Proxy::open().await, DemoShop::open().await);
    let browser = engine.start_with_proxy(&proxy, "lost-paying").await;
    demo.fill_a_basket_and_leave_for_the_hosted_page(&browser).await;

    proxy.disconnect();
    demo.pay_by_phone(&browser, SUCCEEDS).await;
    tokio::time::sleep(OUTAGE).await; // without a network
    let charges = demo.only_intent().await.attempts;
    assert_eq!(charges, Some(0), "no request reached the service");
    proxy.reconnect();

    browser.wait_for("[data-status='succeeded'],[data-status='trouble']").await;
    if browser.run("return document.querySelector('#status').dataset.status").await == "trouble" {
        pays_and_is_back(&demo, &browser).await;
    } else {
        is_back_paid_once(&demo, &browser).await;
    }
}

async fn the_network_lost_while_the_payer_approves_on_the_phone(engine: Engine) {
    let (proxy, demo) = (Proxy::open().await, DemoShop::open().await);
    let browser = engine.start_with_proxy(&proxy, "lost-waiting").await;
    demo.fill_a_basket_and_leave_for_the_hosted_page(&browser).await;
    demo.pay_by_phone(&browser, AFTER_30_SECONDS).await;
    browser.wait_for("[data-status='waiting']").await;

    proxy.disconnect();
    demo.merchant.clock().advance(30).await.unwrap(); // the payment succeeds meanwhile
    tokio::time::sleep(OUTAGE).await; // without a network
    browser.wait_for("[data-status='waiting']").await;
    assert_eq!(
        browser.run("return !document.querySelector('#form').hidden").await,
        false,
        "the page offers no payment now"
    );
    proxy.reconnect();

    browser.wait_for("[data-status='succeeded']").await;
    is_back_paid_once(&demo, &browser).await;
}

async fn the_network_lost_on_the_way_back(engine: Engine) {
    let (proxy, demo) = (Proxy::open().await, DemoShop::open().await);
    let browser = engine.start_with_proxy(&proxy, "lost-back").await;
    demo.fill_a_basket_and_leave_for_the_hosted_page(&browser).await;
    demo.pay_by_phone(&browser, SUCCEEDS).await;
    browser.wait_for("[data-status='succeeded']").await;

    proxy.stall(); // the return page loads only when the network is back
    browser.run("setTimeout(() => document.querySelector(\"[data-test='leave']\").click(), 100)").await;
    tokio::time::sleep(OUTAGE).await; // without a network
    proxy.reconnect();

    browser.wait_for("[data-test='outcome'][data-state='paid']").await;
    paid_once(&demo).await;
    browser.close().await;
}

async fn pays_and_is_back(demo: &DemoShop, browser: &Browser) {
    demo.pay_by_phone(browser, SUCCEEDS).await;
    browser.wait_for("[data-status='succeeded']").await;
    is_back_paid_once(demo, browser).await;
}

async fn is_back_paid_once(demo: &DemoShop, browser: &Browser) {
    browser.click("[data-test='leave']").await;
    browser.wait_for("[data-test='outcome'][data-state='paid']").await;
    paid_once(demo).await;
}

async fn paid_once(demo: &DemoShop) {
    let intent = demo.only_intent().await;
    assert_eq!((intent.status, intent.attempts), (IntentStatus::Succeeded, Some(1)));
}
