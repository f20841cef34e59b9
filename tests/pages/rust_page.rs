//! `examples/rust-page`, a page without JavaScript: a customer signs in, sees prices, pays and returns.

use crate::support::browser::{Browser, Tab, until};
use crate::support::engine::{Engine, in_chromium, in_every_browser};
use crate::support::site::CannedResponse;
use crate::support::storefront::{CUSTOMER, INTENTS, RETURN, SESSION, Storefront};
use guichet::operations::ListPaymentIntents;
use guichet::values::IntentStatus;

const SUCCEEDS: &str = "237670000000";

in_every_browser!(a_customer_signs_in_pays_and_comes_back);
in_chromium!(
    a_customer_pays_in_a_popup,
    two_clicks_on_pay_request_one_intent,
    a_second_click_reuses_the_popup_of_the_first,
    a_popup_whose_intent_cannot_be_created_closes_and_the_page_shows_the_error,
    signing_out_ends_the_session,
);

async fn a_customer_signs_in_pays_and_comes_back(engine: Engine) {
    let page = RustPage::open(engine, "rust-page").await;
    page.browser.wait_for_text("#quotes", "Nobody is signed in").await;
    page.sign_in().await;

    page.browser.click("#pay").await;
    page.browser.wait_for_url("the hosted page", |url| url.path().starts_with("/checkout/")).await;
    page.pay_and_leave().await;

    page.browser.wait_for_text("#message", "The payment is succeeded.").await;
    let url = page.browser.url().await;
    assert_eq!((url.path(), url.query()), (RETURN, None), "the return's parameters stay in the address bar");
    page.is_paid_once().await;
}

async fn a_customer_pays_in_a_popup(engine: Engine) {
    let page = RustPage::open(engine, "rust-popup").await;
    page.sign_in().await;
    page.browser.click("#pay-in-popup").await;
    let popup = page.browser.wait_for_other_tab(&page.tab).await;
    page.browser.switch_to(&popup).await;
    page.pay_and_leave().await;
    page.is_alone().await;
    page.browser.wait_for_text("#message", "The payment is succeeded.").await;
    page.is_paid_once().await;
}

async fn two_clicks_on_pay_request_one_intent(engine: Engine) {
    let page = RustPage::open(engine, "rust-twice").await;
    page.sign_in().await;
    page.browser.run("const pay = document.querySelector('#pay'); pay.click(); pay.click()").await;
    page.browser.wait_for_url("the hosted page", |url| url.path().starts_with("/checkout/")).await;
    assert_eq!(page.shop.requests(INTENTS).len(), 1);
}

async fn a_second_click_reuses_the_popup_of_the_first(engine: Engine) {
    let page = RustPage::open(engine, "rust-one-popup").await;
    page.sign_in().await;
    page.browser.click("#pay-in-popup").await;
    let popup = page.browser.wait_for_other_tab(&page.tab).await;
    page.browser.switch_to(&popup).await;
    page.browser.wait_for("[data-test='method-mobile_money']").await;
    page.browser.switch_to(&page.tab).await;
    page.browser.click("#pay-in-popup").await;
    assert_eq!(page.browser.tabs().await.len(), 2, "one order, one popup");
    page.browser.switch_to(&popup).await;
    page.pay_and_leave().await;
    page.is_alone().await;
    page.browser.wait_for_text("#message", "The payment is succeeded.").await;
    assert_eq!(page.shop.requests(INTENTS).len(), 1, "one order, one intent");
}

async fn a_popup_whose_intent_cannot_be_created_closes_and_the_page_shows_the_error(engine: Engine) {
    let page = RustPage::open(engine, "rust-unmade").await;
    page.sign_in().await;
    page.shop.respond(INTENTS, CannedResponse::json(&serde_json::json!({ "message": "Sold out." })).status(422));
    page.browser.click("#pay-in-popup").await;
    page.browser.wait_for_text("#message", "Sold out.").await;
    page.is_alone().await;
}

async fn signing_out_ends_the_session(engine: Engine) {
    let page = RustPage::open(engine, "rust-sign-out").await;
    page.sign_in().await;
    let token = page.shop.tokens().pop().expect("the page has a token");
    page.browser.click("#sign-out").await;
    page.browser.wait_for_text("#customer", "Nobody is signed in.").await;
    assert!(!page.shop.accepts(&token).await, "the token is revoked at the service");
}

/// A customer on the page, not signed in yet.
struct RustPage {
    browser: Browser,
    shop: Storefront,
    tab: Tab,
}

impl RustPage {
    async fn open(engine: Engine, scenario: &'static str) -> Self {
        let shop = Storefront::open().await;
        let built = crate::support::root().join("target/rust-page/index.html");
        let page = std::fs::read_to_string(built).expect("the page is missing. Run `cargo xtask rust-page`.");
        let page = page.replace("http://127.0.0.1:4243", shop.service()).replace("./rust_page", "/rust-page/rust_page");
        shop.respond("/", CannedResponse::html(&page));
        shop.respond(RETURN, CannedResponse::html(&page));
        shop.respond(SESSION, CannedResponse::default().status(401));
        let browser = engine.start(scenario).await;
        browser.open(&format!("{}/", shop.url())).await;
        let tab = browser.current_tab().await;
        Self { shop, browser, tab }
    }

    async fn sign_in(&self) {
        self.browser.wait_for_text("#quotes", "Nobody is signed in").await;
        self.shop.respond("/sign-in", CannedResponse::default().status(204));
        self.shop.remove_responses(SESSION);
        self.browser.click("#sign-in").await;
        self.browser.wait_for_text("#customer", CUSTOMER).await;
        self.browser.wait_for_text("#quotes", "issued abroad: 5").await;
        assert_eq!(self.shop.requests("/sign-in").len(), 1);
    }

    async fn pay_and_leave(&self) {
        self.browser.click("[data-test='method-mobile_money']").await;
        self.browser.fill("[data-test='phone']", SUCCEEDS).await;
        self.browser.click("[data-test='pay']").await;
        self.browser.wait_for("[data-status='succeeded']").await;
        self.browser.click("[data-test='leave']").await;
    }

    /// Waits until every popup is closed, and switches to the page.
    async fn is_alone(&self) {
        until("every popup is closed", async || self.browser.tabs().await == [self.tab.clone()]).await;
        self.browser.switch_to(&self.tab).await;
    }

    async fn is_paid_once(&self) {
        let intents =
            self.shop.client().list_payment_intents(&ListPaymentIntents::new()).await.expect("it lists").entries;
        let intents: Vec<_> = intents.iter().map(|intent| (intent.status.clone(), intent.attempts)).collect();
        assert_eq!(intents, [(IntentStatus::Succeeded, Some(1))]);
    }
}
