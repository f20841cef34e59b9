//! The whole purchase: shop, hosted checkout page and back, in real browsers, against the demo's shop and a sandbox
//! over sockets. `cargo xtask demo --pictures` runs this in Chromium and writes screenshots of each page.

use crate::support::browser::{Browser, until};
use crate::support::demo_shop::DemoShop;
use crate::support::engine::{Engine, in_chromium, in_every_browser};
use guichet::operations::{CreatePaymentIntent, CustomerName};
use guichet::values::{Amount, Email, FeeBearer, IntentStatus, MerchantReference};

const SUCCEEDS: &str = "237670000000";
const AFTER_30_SECONDS: &str = "237670000001";
const FRAUD_BLOCKED: &str = "237670000009";
const INSUFFICIENT_FUNDS: &str = "237670000002";
const APPROVED_AFTER_600_SECONDS: &str = "237670000012";

in_every_browser!(
    a_customer_pays_with_a_test_phone_and_is_back_in_the_shop_paid,
    a_customer_pays_in_a_window_of_its_own_and_the_shop_shows_it_paid,
    no_secret_is_stored_where_a_page_could_leak_it,
);

mod on_other_services {
    use crate::support::engine::Engine;
    use crate::support::service::Service;

    #[tokio::test]
    async fn on_sqlite() {
        let purchase = super::a_customer_pays_with_a_test_phone_and_is_back_in_the_shop_paid(Engine::Chromium);
        Service::Sqlite.run(purchase).await;
    }

    #[tokio::test]
    #[ignore = "needs files that `cargo xtask test` builds"]
    async fn on_the_package() {
        let purchase = super::a_customer_pays_with_a_test_phone_and_is_back_in_the_shop_paid(Engine::Chromium);
        Service::Package.run(purchase).await;
    }
}

// The same in every engine: rules of the service, and code that depends on no engine.
in_chromium!(
    a_window_that_is_closed_unpaid_keeps_the_order_and_says_so,
    a_double_click_on_pay_charges_once,
    a_window_closed_while_the_payer_approves_is_not_reported_as_unpaid,
    a_card_is_never_charged_more_than_the_button_says,
    a_customer_subscribes_pauses_resumes_and_cancels_in_the_shop,
    after_a_recoverable_decline_the_customer_can_pay_on_the_same_page,
    a_final_decline_is_shown_and_paying_again_creates_a_new_reference,
    signing_out_revokes_the_session,
);

async fn a_customer_pays_with_a_test_phone_and_is_back_in_the_shop_paid(engine: Engine) {
    pay_and_return(engine, DemoShop::open().await).await;
}

/// A customer buys at this shop.
pub async fn pay_and_return(engine: Engine, demo: DemoShop) {
    let browser = engine.start("paid").await;

    browser.open(demo.shop.url()).await;
    browser.wait_for("[data-test^='add-']").await;
    browser.step("The shop", "body").await;

    browser.click("[data-test^='add-']").await;
    browser.click("[data-test^='sign-in-']").await;
    let mobile_money = browser.wait_for("[data-test='quote-mobile_money']").await;
    let card = browser.wait_for("[data-test='quote-card-international']").await;
    assert!(mobile_money.contains("FCFA") && card.contains("FCFA"), "{mobile_money} | {card}");
    browser.step("What each way of paying costs", "[data-test='quotes']").await;

    browser.click("[data-test='pay']").await;
    browser.wait_for_url("the hosted page", |url| url.path().starts_with("/checkout/")).await;
    browser.wait_for("[data-test='method-mobile_money']").await;
    let address = browser.url().await;
    assert!(!address.as_str().contains("secret"), "the client secret stays in the address bar: {address}");
    browser.step("The hosted checkout page", "body").await;

    demo.pay_by_phone(&browser, SUCCEEDS).await;
    browser.wait_for("[data-status='succeeded']").await;
    browser.step("Paid, on the hosted page", "[data-test='status']").await;

    browser.click("[data-test='leave']").await;
    browser.wait_for("[data-test='outcome'][data-state='paid']").await;
    let url = browser.url().await;
    assert!(url.as_str().starts_with(demo.shop.url()), "the shop");
    assert_eq!(url.query(), None, "the return's parameters stay in the address bar");
    browser.step("Back in the shop", "[data-test='outcome']").await;
    let receipt = browser.wait_for("main").await;
    let number = receipt.split_once("Order ").and_then(|(_, rest)| rest.get(..6)).expect("the order's number");
    assert!(number.bytes().all(|byte| byte.is_ascii_digit()), "{receipt}");
    let total = browser.wait_for(".total").await;
    let figures: Vec<u32> = figures(&total).collect();
    assert!(
        matches!(figures[..], [total, fee] if fee > 0 && fee * 51 == total),
        "one amount, with 2 % as its part: {total}"
    );
    assert!(receipt.contains("Paid to") && receipt.contains("gch_"), "{receipt}");

    let intents = demo.intents().await;
    assert_eq!(intents.len(), 1);
    assert_eq!(intents[0].status, IntentStatus::Succeeded);
}

/// The amounts in a text.
fn figures(text: &str) -> impl Iterator<Item = u32> {
    text.split_whitespace().filter_map(|word| word.replace(',', "").parse().ok())
}

async fn a_card_is_never_charged_more_than_the_button_says(engine: Engine) {
    let demo = DemoShop::open().await;
    let browser = engine.start("card-price").await;
    for (reference, number, payable) in
        [("LOCAL", "4242 4242 4242 4242", 102_900), ("ABROAD", "4000008260000000", 103_900)]
    {
        let order = CreatePaymentIntent::new(
            MerchantReference::new(reference).unwrap(),
            Amount::units(100_000),
            "A pair of shoes",
            CustomerName { firstname: "Awa", lastname: "Ndiaye" },
        );
        let email = Email::new("awa@example.com").unwrap();
        let intent = demo.create_intent(order.email(email).fee_bearer(FeeBearer::Customer)).await;
        browser.open(intent.checkout_url.as_ref().expect("the sandbox sends this field").expose()).await;
        browser.click("[data-test='method-card']").await;
        let button = browser.wait_for("[data-for='card'] [data-test='pay']").await;
        assert!(button.contains("103,900") && button.contains("up to"), "{button}");
        browser.step("Prices of cards", "body").await;
        let price = browser.wait_for("label[for='method-card']").await;
        assert!(price.contains("102,900") && price.contains("103,900"), "{price}");
        demo.pay_by_card(&browser, number).await;
        browser.wait_for("[data-status='succeeded']").await;
        let paid = demo.client().read_payment_intent(&intent.id).await.unwrap();
        assert_eq!(paid.amount_payable, Some(Amount::units(payable)));
    }
    browser.step("What was paid", "body").await;
}

async fn a_customer_pays_in_a_window_of_its_own_and_the_shop_shows_it_paid(engine: Engine) {
    pay_in_a_window(engine, DemoShop::open().await).await;
}

/// A customer buys at this shop, and pays in a window.
pub async fn pay_in_a_window(engine: Engine, demo: DemoShop) {
    let browser = engine.start("window").await;
    let shop = browser.current_tab().await;
    open_a_window(&demo, &browser).await;
    browser.step("The hosted page, in a window of its own", "body").await;
    demo.pay_by_phone(&browser, SUCCEEDS).await;
    browser.wait_for("[data-status='succeeded']").await;
    browser.click("[data-test='leave']").await;

    browser.switch_to(&shop).await;
    browser.wait_for("[data-test='outcome'][data-state='paid']").await;
    assert_eq!(demo.only_intent().await.status, IntentStatus::Succeeded);
    assert_eq!(browser.tabs().await, [shop], "the window is closed");
}

async fn a_window_that_is_closed_unpaid_keeps_the_order_and_says_so(engine: Engine) {
    let demo = DemoShop::open().await;
    let browser = engine.start("closed").await;
    let shop = browser.current_tab().await;
    open_a_window(&demo, &browser).await;
    let window = browser.current_tab().await;
    browser.switch_to(&shop).await;
    browser.let_the_page_look().await;
    browser.switch_to(&window).await;
    browser.close_tab_and_switch_to(&shop).await;
    // Under its driver, WebKit gives no page the focus until the customer does something there.
    browser.click("#basket-title").await;
    browser.wait_for_text("[data-test='dismissed']", "Your order is kept").await;
    browser.step("The window was closed unpaid", "[data-test='dismissed']").await;

    browser.set_checked("[data-test='pay-in-window']", false).await;
    demo.leave_for_the_hosted_page(&browser).await;
    assert_eq!(demo.intents().await.len(), 1, "the same order is the same payment");
}

async fn a_window_closed_while_the_payer_approves_is_not_reported_as_unpaid(engine: Engine) {
    let demo = DemoShop::open().await;
    let browser = engine.start("closed-while-asked").await;
    let shop = browser.current_tab().await;
    open_a_window(&demo, &browser).await;
    demo.pay_by_phone(&browser, AFTER_30_SECONDS).await;
    browser.wait_for("[data-status='waiting']").await;
    browser.close_tab_and_switch_to(&shop).await;
    // The customer clicks in the shop, because without a window manager no page gets the focus back.
    browser.run("dispatchEvent(new PointerEvent('pointerdown'))").await;
    browser.wait_for_url("at the return page", |url| url.path() == "/return").await;
    browser.wait_for("[data-test='outcome'][data-state='looking']").await;
    demo.merchant.clock().advance(30).await.unwrap();
    browser.wait_for("[data-test='outcome'][data-state='paid']").await;
}

async fn a_customer_subscribes_pauses_resumes_and_cancels_in_the_shop(engine: Engine) {
    let demo = DemoShop::open().await;
    let browser = engine.start("subscription").await;
    browser.open(&format!("{}/subscriptions", demo.shop.url())).await;
    browser.wait_for_text("#sign-in", "Sign in to see your subscriptions").await;
    browser.click("[data-test^='sign-in-']").await;
    browser.wait_for("[data-test='no-subscriptions']").await;
    browser.open(demo.shop.url()).await;
    browser.click("[data-test='subscriptions']").await;
    browser.wait_for("[data-test='no-subscriptions']").await;
    browser.step("What there is to subscribe to", "[data-test='plans']").await;

    browser.click("[data-test^='subscribe-']").await;
    browser.wait_for("[data-test^='subscription-'] [data-test='pause']").await;
    browser.step("A subscription", "[data-test='subscriptions']").await;
    browser.click("[data-test='pause']").await;
    browser.wait_for("[data-status='paused']").await;
    browser.click("[data-test='resume']").await;
    browser.wait_for("[data-test='pause']").await;

    browser.click("[data-test='cancel']").await;
    browser.wait_for("[data-test='keep']").await;
    browser.step("Cancelling is asked for twice", "[data-test='subscriptions']").await;
    browser.click("[data-test='cancel-now']").await;
    browser.wait_for("[data-status='canceled']").await;
    browser.reload().await;
    browser.wait_for("[data-status='canceled']").await;
}

/// Fills a basket and opens the checkout in a window, which becomes the current tab.
async fn open_a_window(demo: &DemoShop, browser: &Browser) {
    let shop = browser.current_tab().await;
    browser.open(demo.shop.url()).await;
    browser.click("[data-test^='add-']").await;
    browser.click("[data-test^='sign-in-']").await;
    browser.wait_for("[data-test='quote-mobile_money']").await;
    browser.set_checked("[data-test='pay-in-window']", true).await;
    browser.wait_for("[data-test='pay']:enabled").await;
    browser.click("[data-test='pay']").await;
    let window = browser.wait_for_other_tab(&shop).await;
    browser.switch_to(&window).await;
    browser.wait_for("[data-test='method-mobile_money']").await;
}

async fn after_a_recoverable_decline_the_customer_can_pay_on_the_same_page(engine: Engine) {
    let (demo, browser) = DemoShop::at_the_hosted_page(engine, "mended").await;

    demo.pay_by_phone(&browser, INSUFFICIENT_FUNDS).await;
    browser.wait_for("[data-status='declined']").await;
    browser.step("Declined, and what to do next", "[data-test='status']").await;
    demo.pay_by_phone(&browser, APPROVED_AFTER_600_SECONDS).await;
    until("the second attempt is over", async || {
        let intent = demo.only_intent().await;
        intent.attempts == Some(2) && intent.status == IntentStatus::RequiresAction
    })
    .await;
    browser.click("[data-test='leave']").await;
    browser.wait_for_text("[data-test='outcome']", "We do not know yet whether your operator took the money").await;
    let said = browser.wait_for("main").await;
    assert!(said.contains("not known yet") && said.contains("until ") && said.contains("refunded"), "{said}");
    assert!(!said.contains("ry again") && !said.contains("othing"), "{said}");
    browser.step("Not known yet, in the shop", "main").await;

    browser.click("[data-test='try-again']").await;
    browser.wait_for_url("the hosted page again", |url| url.path().starts_with("/checkout/")).await;
    demo.pay_by_phone(&browser, SUCCEEDS).await;
    browser.wait_for("[data-status='succeeded']").await;
    browser.click("[data-test='leave']").await;
    browser.wait_for_text("[data-test='outcome'][data-state='paid']", "may still approve an earlier attempt").await;
    demo.merchant.clock().advance(600).await.unwrap();
    browser.reload().await;
    browser.wait_for_text("[data-test='refunds-due']", "We are giving that back to you").await;

    let intents = demo.intents().await;
    assert_eq!((intents.len(), intents[0].attempts), (1, Some(3)));
}

async fn a_final_decline_is_shown_and_paying_again_creates_a_new_reference(engine: Engine) {
    pay_after_a_final_decline(engine, DemoShop::open().await).await;
}

/// A customer is declined for good at this shop, and pays again.
pub async fn pay_after_a_final_decline(engine: Engine, demo: DemoShop) {
    let browser = engine.start("declined").await;
    demo.fill_a_basket_and_leave_for_the_hosted_page(&browser).await;

    demo.pay_by_phone(&browser, FRAUD_BLOCKED).await;
    browser.wait_for("[data-status='failed']").await;
    browser.step("A final decline", "[data-test='status']").await;
    browser.click("[data-test='leave']").await;
    browser.wait_for("[data-test='outcome'][data-state='failed']").await;
    browser.step("The decline, in the shop", "[data-test='outcome']").await;

    browser.click("[data-test='try-again']").await;
    browser.wait_for_url("the hosted page again", |url| url.path().starts_with("/checkout/")).await;
    demo.pay_by_phone(&browser, SUCCEEDS).await;
    browser.wait_for("[data-status='succeeded']").await;

    let intents = demo.intents().await;
    let mut intents: Vec<_> =
        intents.into_iter().map(|intent| (intent.merchant_reference.unwrap_or_default(), intent.status)).collect();
    intents.sort_by_key(|(reference, _)| reference.len());
    let first = intents[0].0.clone();
    let next = format!("{first}-1");
    assert_eq!(intents, [(first, IntentStatus::Failed), (next, IntentStatus::Succeeded)]);
}

async fn a_double_click_on_pay_charges_once(engine: Engine) {
    let demo = DemoShop::open().await;
    let browser = engine.start("double-click").await;
    browser.open(demo.shop.url()).await;
    browser.click("[data-test^='add-']").await;
    browser.click("[data-test^='sign-in-']").await;
    browser.wait_for("[data-test='quote-mobile_money']").await;
    browser.run("const pay = document.querySelector(\"[data-test='pay']\"); pay.click(); pay.click(); pay.disabled = false; pay.click()").await;
    browser.wait_for_url("the hosted page", |url| url.path().starts_with("/checkout/")).await;

    browser.click("[data-test='method-mobile_money']").await;
    browser.fill("[data-test='phone']", SUCCEEDS).await;
    browser.run("const pay = document.querySelector(\"[data-test='pay']\"); pay.click(); pay.click(); pay.disabled = false; pay.click()").await;
    browser.wait_for("[data-status='succeeded']").await;

    let intents = demo.intents().await;
    assert_eq!((intents.len(), intents[0].attempts), (1, Some(1)), "one order, one intent, one attempt");
}

async fn signing_out_revokes_the_session(engine: Engine) {
    let demo = DemoShop::open().await;
    let browser = engine.start("sign-out").await;
    browser.open(demo.shop.url()).await;
    browser.click("[data-test^='add-']").await;
    browser.click("[data-test^='sign-in-']").await;
    browser.wait_for("[data-test='quote-mobile_money']").await;
    // The button that had the focus is gone.
    assert_eq!(browser.run("return document.activeElement.dataset.test").await, "pay");
    // The token is only in the client's memory, so the test requests one as the page does.
    let token = browser
        .run_async("return (await (await fetch('/guichet/session', { method: 'POST' })).json()).session_token")
        .await;
    let validate = |expected: bool| {
        let body = format!(
            "const {{ createGuichet }} = await import('/package/guichet.js');
             const guichet = createGuichet({{ baseUrl: '{}', merchant: {{ session: async () => '{}' }} }});
             return (await guichet.session.validate()).valid === {expected}",
            demo.merchant.base_url(),
            token.as_str().expect("a token")
        );
        body
    };
    assert_eq!(browser.run_async(&validate(true)).await, true);

    let revoke = validate(true).replace(
        "return (await guichet.session.validate()).valid === true",
        "await guichet.session.validate(); await guichet.session.revoke(); return guichet.session.state",
    );
    assert_eq!(browser.run_async(&revoke).await, "revoked");
    assert_eq!(browser.run_async(&validate(false)).await, true, "a revoked token is refused");

    browser.click("[data-test='sign-out']").await;
    browser.wait_for("[data-test^='sign-in-']").await;
    let answer = browser.run_async("return (await fetch('/guichet/session', { method: 'POST' })).status").await;
    assert_eq!(answer, 401, "the shop no longer knows the customer");
}

async fn no_secret_is_stored_where_a_page_could_leak_it(engine: Engine) {
    let demo = DemoShop::open().await;
    let browser = engine.start("secrets").await;
    browser.open(demo.shop.url()).await;
    browser.click("[data-test^='add-']").await;
    browser.click("[data-test^='sign-in-']").await;
    browser.wait_for("[data-test='quote-mobile_money']").await;
    const KEPT: &str = "return JSON.stringify([location.href, document.cookie, {...localStorage}, {...sessionStorage}, document.documentElement.outerHTML])";
    let in_the_shop = browser.run(KEPT).await.to_string();
    browser.click("[data-test='pay']").await;
    browser.wait_for_url("the hosted page", |url| url.path().starts_with("/checkout/")).await;
    browser.wait_for("[data-test='method-mobile_money']").await;
    let on_the_hosted_page = browser.run(KEPT).await.to_string();
    for kept in [in_the_shop, on_the_hosted_page] {
        for secret in ["sk_test_", "cst_test_", "_secret_"] {
            assert!(!kept.contains(secret), "{secret} is stored");
        }
    }
}
