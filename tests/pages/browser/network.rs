//! A customer whose network is lost in the middle of each step of a purchase: paid once or not at all, and told so.

use crate::support::browser::Browser;
use crate::support::engine::{Engine, in_every_browser};
use crate::support::line::Line;
use crate::support::market::Market;
use guichet::values::IntentStatus;
use std::time::Duration;

in_every_browser!(
    the_network_lost_while_the_shop_is_left_for_the_hosted_page,
    the_network_lost_while_paying,
    the_network_lost_while_the_phone_is_asked,
    the_network_lost_on_the_way_back,
);

const SUCCEEDS: &str = "237670000000";
const AFTER_30_SECONDS: &str = "237670000001";
/// Longer than the last retry: four attempts with pauses of 0.25, 0.5 and 1 s at most.
const GONE: Duration = Duration::from_secs(4);

async fn the_network_lost_while_the_shop_is_left_for_the_hosted_page(engine: Engine) {
    let (line, market) = (Line::open().await, Market::open().await);
    let browser = engine.start_on(&line, "lost-leaving").await;
    browser.open(market.shop.url()).await;
    browser.click("[data-test^='add-']").await;
    browser.click("[data-test^='sign-in-']").await;
    browser.see("[data-test='quote-mobile_money']").await;

    line.cut();
    browser.click("[data-test='pay']").await;
    tokio::time::sleep(GONE).await; // what is tested
    assert!(!browser.see("[data-test='problem']").await.is_empty(), "the customer is told");
    line.mend();

    market.leave_for_the_hosted_page(&browser).await;
    pays_and_is_back(&market, &browser).await;
}

async fn the_network_lost_while_paying(engine: Engine) {
    let (line, market) = (Line::open().await, Market::open().await);
    let browser = engine.start_on(&line, "lost-paying").await;
    market.fill_a_basket_and_leave_for_the_hosted_page(&browser).await;

    line.cut();
    market.pay_by_phone(&browser, SUCCEEDS).await;
    tokio::time::sleep(GONE).await; // what is tested
    let charges = market.only_intent().await.attempts;
    assert_eq!(charges, Some(0), "nothing went through");
    line.mend();

    browser.see("[data-status='succeeded'],[data-status='trouble']").await;
    if browser.run("return document.querySelector('#status').dataset.status").await == "trouble" {
        pays_and_is_back(&market, &browser).await;
    } else {
        is_back_paid_once(&market, &browser).await;
    }
}

async fn the_network_lost_while_the_phone_is_asked(engine: Engine) {
    let (line, market) = (Line::open().await, Market::open().await);
    let browser = engine.start_on(&line, "lost-waiting").await;
    market.fill_a_basket_and_leave_for_the_hosted_page(&browser).await;
    market.pay_by_phone(&browser, AFTER_30_SECONDS).await;
    browser.see("[data-status='waiting']").await;

    line.cut();
    market.merchant.clock().advance(30).await.unwrap(); // paid meanwhile
    tokio::time::sleep(GONE).await; // what is tested
    browser.see("[data-status='waiting']").await;
    assert_eq!(browser.run("return !document.querySelector('#form').hidden").await, false, "nobody may pay now");
    line.mend();

    browser.see("[data-status='succeeded']").await;
    is_back_paid_once(&market, &browser).await;
}

async fn the_network_lost_on_the_way_back(engine: Engine) {
    let (line, market) = (Line::open().await, Market::open().await);
    let browser = engine.start_on(&line, "lost-back").await;
    market.fill_a_basket_and_leave_for_the_hosted_page(&browser).await;
    market.pay_by_phone(&browser, SUCCEEDS).await;
    browser.see("[data-status='succeeded']").await;

    line.stall(); // the page of the return comes only when the network is back
    browser.run("setTimeout(() => document.querySelector(\"[data-test='leave']\").click(), 100)").await;
    tokio::time::sleep(GONE).await; // what is tested
    line.mend();

    browser.see("[data-test='outcome'][data-state='paid']").await;
    paid_once(&market).await;
    browser.close().await;
}

async fn pays_and_is_back(market: &Market, browser: &Browser) {
    market.pay_by_phone(browser, SUCCEEDS).await;
    browser.see("[data-status='succeeded']").await;
    is_back_paid_once(market, browser).await;
}

async fn is_back_paid_once(market: &Market, browser: &Browser) {
    browser.click("[data-test='leave']").await;
    browser.see("[data-test='outcome'][data-state='paid']").await;
    paid_once(market).await;
}

async fn paid_once(market: &Market) {
    let intent = market.only_intent().await;
    assert_eq!((intent.status, intent.attempts), (IntentStatus::Succeeded, Some(1)));
}
