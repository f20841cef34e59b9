//! Pages that the customer leaves: those that the back button restores from the back/forward cache, and those that are
//! gone.

use crate::support::browser::{Browser, until};
use crate::support::engine::{Engine, in_every_browser};
use crate::support::site::{CannedResponse, Site};
use crate::support::storefront::{INTENTS, SESSION, Storefront};
use axum::Router;
use guichet::operations::{Instrument, ListPaymentIntents};
use guichet::values::Phone;
use serde_json::{Value, json};
use std::time::Duration;

in_every_browser!(
    a_checkout_settles_on_a_page_restored_by_the_back_button,
    a_restored_page_knows_of_a_sign_out_elsewhere,
    a_sign_out_that_is_sent_as_the_page_goes_away_arrives,
);

const BEGIN: &str = "Object.assign(window, { shown: [], settled: [] });
    addEventListener('pageshow', ({ persisted }) => shown.push(persisted));
    document.querySelector('button').onclick = () => guichet.checkout({ order: { id: '17' } })
        .then(({ state, status }) => settled.push([state, status]), ({ kind }) => settled.push(kind));";

async fn a_checkout_settles_on_a_page_restored_by_the_back_button(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "restored").await;
    browser.run(BEGIN).await;

    leave_by_the_button(&browser).await;
    browser.go_back().await;
    browser.wait_until("return window.settled?.length === 1").await;
    assert_eq!(browser.run("return [shown, settled]").await, json!([[true], [["dismissed", "requires_action"]]]));

    // The button works for the same payment, and a payment made meanwhile is reported.
    leave_by_the_button(&browser).await;
    let intents = shop.client().list_payment_intents(&ListPaymentIntents::new()).await.unwrap().entries;
    assert_eq!((intents.len(), shop.requests(INTENTS).len()), (1, 2));
    let instrument = Instrument::mobile_money(Phone::new("237670000000").unwrap());
    shop.client().attach_payment_method(&intents[0].id, instrument).await.unwrap();
    shop.tenant.clock().advance(5).await.unwrap();
    browser.go_back().await;
    browser.wait_until("return window.settled?.length === 2").await;
    assert_eq!(browser.run("return [shown, settled[1]]").await, json!([[true, true], ["succeeded", "succeeded"]]));
}

async fn leave_by_the_button(browser: &Browser) {
    // Firefox does not cache a page that its driver has clicked on.
    browser.run("document.querySelector('button').click()").await;
    browser.wait_for_url("the hosted page", |url| url.path().starts_with("/checkout/")).await;
}

async fn a_restored_page_knows_of_a_sign_out_elsewhere(engine: Engine) {
    const VALID: &str = "return (await guichet.session.validate()).valid";
    let (shop, browser) = Storefront::visited(engine, "away").await;
    browser.run(BEGIN).await;
    assert_eq!(browser.run_async(VALID).await, true);
    let first = browser.current_tab().await;
    browser.open(&format!("{}/elsewhere", shop.url())).await;
    back_to_the_shop(&browser).await;
    // Listening to other tabs does not prevent caching, and a restored page is not signed out.
    assert_eq!(browser.run("return [shown, guichet.session.state]").await, json!([[true], "active"]));
    browser.open(&format!("{}/elsewhere", shop.url())).await;

    let second = browser.open_tab().await;
    shop.visit(&browser, "{}").await;
    assert_eq!(browser.run_async(VALID).await, true);
    browser.run_async("await guichet.session.revoke()").await;

    browser.switch_to(&first).await;
    back_to_the_shop(&browser).await;
    if browser.run("return window.shown ?? null").await == Value::Null {
        // Chromium and Firefox drop a cached page that receives a message, so this may be a new page.
        assert_ne!(engine, Engine::WebKit);
    } else {
        assert_eq!(browser.run("return [shown, guichet.session.state]").await, json!([[true, true], "revoked"]));
        let request = shop.requests(SESSION).len();
        let result = browser.run_async("return await guichet.paymentMethods()").await;
        assert_eq!(
            (&result["rejected"]["kind"], shop.requests(SESSION).len()),
            (&json!("signed_out"), request),
            "{result}"
        );
        until("the token is revoked", async || !shop.accepts(&shop.tokens()[0]).await).await;
        // A customer who signs in again stays signed in on every page.
        browser.run_async("await guichet.session.renew()").await;
        browser.open(&format!("{}/elsewhere", shop.url())).await;
        back_to_the_shop(&browser).await;
        assert_eq!(browser.run("return [shown.length, guichet.session.state]").await, json!([3, "active"]));
    }
    browser.switch_to(&second).await;
}

async fn back_to_the_shop(browser: &Browser) {
    browser.go_back().await;
    browser.wait_until("return location.pathname === '/' && document.readyState === 'complete'").await;
}

async fn a_sign_out_that_is_sent_as_the_page_goes_away_arrives(engine: Engine) {
    const REVOKE: &str = "/v1/sessions/revoke";
    let shop = Storefront::open().await;
    let service = Site::open(Router::new()).await;
    let allowed = |response: CannedResponse| {
        response.header("access-control-allow-origin", "*").header("access-control-allow-headers", "authorization")
    };
    // The page is gone before the preflight's response, so no engine sends the request.
    service.respond_once(REVOKE, allowed(CannedResponse::default().status(204)).after(Duration::from_secs(1)));
    service.respond(REVOKE, allowed(CannedResponse::json(&json!({ "success": true }))));
    let browser = engine.start("going").await;
    shop.visit(&browser, &format!("{{ baseUrl: '{}' }}", service.url())).await;
    browser.run_async("await guichet.session.renew(); addEventListener('unload', () => {})").await;

    browser.run("guichet.session.revoke(); location.assign('/elsewhere')").await;

    browser.wait_for_url("elsewhere", |url| url.path() == "/elsewhere").await;
    let revoked = async || service.requests(REVOKE).iter().any(|request| request.method == "POST");
    until("the request arrives", revoked).await;
}
