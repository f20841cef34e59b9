//! A checkout page of a company's own, `examples/hosted`, over `guichet/hosted`: whatever becomes of a payment, it is
//! charged once, and the page says what is known of the money.

use crate::accessible::Accessibility;
use crate::purchase;
use crate::support::browser::{Browser, until};
use crate::support::demo_shop::DemoShop;
use crate::support::engine::{Engine, in_every_browser, only_in_chromium};
use crate::support::service::Service;
use fantoccini::key::Key;
use guichet::operations::{AttachPaymentMethod, CreatePaymentIntent, CustomerName, PaymentIntent};
use guichet::values::{Amount, IntentStatus, MerchantReference, Phone, RedirectUrl};
use guichet_sandbox::Fault;
use std::time::Duration;

in_every_browser!(
    a_customer_pays_by_phone_and_is_back_in_the_shop_paid,
    a_charge_whose_reply_is_lost_is_followed_and_never_offered_again,
    two_tabs_that_pay_at_once_charge_once,
    a_late_approval_another_number_a_code_and_the_issuer_on_one_payment,
);
only_in_chromium!(
    "it uses Chromium's DevTools protocol":
    #[ignore = "needs axe-core: cargo xtask test"]
    its_states_are_accessible,
);

const SUCCEEDS: &str = "237670000000";
const AFTER_30_SECONDS: &str = "237670000001";
const NEVER_ENDS: &str = "237670000005";
const ASKS_FOR_CODE: &str = "237670000010";
const REFUSED_AND_APPROVED_LATE: &str = "237670000013";
const PAYS: &str = "4242424242424242";
const ASKS_THE_ISSUER: &str = "4000000000003220";
const STATUS: &str = "[data-test='status']";
const NOT_KNOWN: &str = "We do not know yet whether your operator took the money";

async fn a_customer_pays_by_phone_and_is_back_in_the_shop_paid(engine: Engine) {
    purchase::pay_and_return(engine, DemoShop::with_own_checkout().await).await;
}

#[tokio::test]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn on_the_npm_package() {
    Service::Package.run(a_customer_pays_by_phone_and_is_back_in_the_shop_paid(Engine::from_env())).await;
}

async fn a_charge_whose_reply_is_lost_is_followed_and_never_offered_again(engine: Engine) {
    let (demo, browser) = (DemoShop::with_own_checkout().await, engine.start("own-lost").await);
    at_the_page(&demo, &browser, "LOST-1").await;
    browser
        .run(
            "window.seen = [];
             const [status, form] = ['status', 'form'].map((id) => document.getElementById(id));
             const see = () => seen.push([status.dataset.status, !form.hidden]);
             new MutationObserver(see).observe(status, { attributeFilter: ['data-status'] });
             // The network is lost while the charge is on its way. The one reading that gets through does not say
             // whether it arrived.
             const { fetch } = window;
             let charges = 0, reads = 0;
             window.isLost = true;
             window.fetch = async (url, how) => {
                 const isCharge = how?.method === 'POST';
                 if (isCharge && charges++ === 0) setTimeout(() => fetch(url, { ...how, signal: null }), 500);
                 if (!isLost) return fetch(url, how);
                 if (isCharge || reads++ > 0) throw new TypeError('the network is lost');
                 const reply = await (await fetch(url, how)).json();
                 delete reply.data.attempts;
                 return Response.json(reply);
             };",
        )
        .await;
    demo.pay_by_phone(&browser, AFTER_30_SECONDS).await;
    see(&browser, "uncertain").await;
    let text = browser.wait_for(STATUS).await;
    assert!(text.contains("Do not pay a second time") && !text.contains("Nothing was charged"), "{text}");
    let buttons = "return [...document.querySelectorAll('button')].filter((button) => button.checkVisibility()).length";
    assert_eq!(browser.run(buttons).await, 0, "no button at all");
    until("the charge arrives", async || sent(&demo, "attach_payment_method").await == 1).await;
    browser.run("window.isLost = false").await;
    see(&browser, "waiting").await;
    demo.merchant.clock().advance(30).await.unwrap();
    see(&browser, "succeeded").await;
    let seen = browser.run("return seen").await;
    // It is drawn again as ready while the customer types.
    let since = seen.as_array().unwrap().iter().skip_while(|seen| seen[0] == "ready");
    let offered = since.filter(|seen| seen[1] == true).count();
    assert_eq!(offered, 0, "nothing could be paid meanwhile: {seen}");
    assert_eq!(sent(&demo, "attach_payment_method").await, 1);
    is_paid_once(&demo).await;
}

async fn two_tabs_that_pay_at_once_charge_once(engine: Engine) {
    let (demo, browser) = (DemoShop::with_own_checkout().await, engine.start("own-tabs").await);
    let intent = at_the_page(&demo, &browser, "TABS-1").await;
    let first = browser.current_tab().await;
    let second = browser.open_tab().await;
    open(&browser, &intent).await;
    demo.enter_phone(&browser, AFTER_30_SECONDS).await;
    browser.switch_to(&first).await;
    demo.enter_card(&browser, PAYS).await;
    demo.merchant.fault(Fault::delay::<AttachPaymentMethod>(Duration::from_secs(3)).times(2)).await;
    // By scripts, which are fast enough for both to pay before either charge is executed.
    for tab in [&second, &first] {
        browser.switch_to(tab).await;
        browser.run("document.querySelector(\"[data-test='pay']\").click()").await;
    }
    until("both tabs have sent their charge", async || demo.merchant.faults().await.is_empty()).await;
    for tab in [&first, &second] {
        browser.switch_to(tab).await;
        browser.wait_for("[data-status^='waiting'],[data-status='succeeded']").await;
    }
    demo.merchant.clock().advance(30).await.unwrap();
    for tab in [&first, &second] {
        browser.switch_to(tab).await;
        see(&browser, "succeeded").await;
    }
    is_paid_once(&demo).await;
}

async fn a_late_approval_another_number_a_code_and_the_issuer_on_one_payment(engine: Engine) {
    let (demo, browser) = (DemoShop::with_own_checkout().await, engine.start("own-late").await);
    at_the_page(&demo, &browser, "LATE-1").await;
    // Refused before anything is sent.
    demo.pay_by_phone(&browser, "12").await;
    browser.wait_for("[data-test='phone'][aria-invalid='true']").await;
    assert_eq!(sent(&demo, "attach_payment_method").await, 0);
    // 1: it is declined, and the operator may still take the money.
    demo.pay_by_phone(&browser, REFUSED_AND_APPROVED_LATE).await;
    see(&browser, "waiting").await;
    demo.merchant.clock().advance(5).await.unwrap();
    see(&browser, "declined").await;
    says_not_known(&browser).await;
    // 2: another number, after the warning.
    demo.pay_by_phone(&browser, NEVER_ENDS).await;
    browser.click("[data-test='number']").await;
    see(&browser, "number_asked").await;
    browser.wait_for_text(STATUS, "charged twice").await;
    assert_eq!(sent(&demo, "abandon_payment_intent").await, 0, "it only asks");
    browser.click("[data-test='number-no']").await;
    see(&browser, "waiting").await;
    for button in ["number", "number-yes"] {
        browser.tab_to(&format!("[data-test='{button}']")).await;
        browser.press(&Key::Enter.to_string()).await;
    }
    see(&browser, "declined").await;
    says_not_known(&browser).await;
    // 3: a code is asked for; the customer takes a card in its place, whose issuer asks.
    demo.pay_by_phone(&browser, ASKS_FOR_CODE).await;
    see(&browser, "code").await;
    says_not_known(&browser).await;
    browser.reload().await;
    see(&browser, "code").await;
    browser.click("[data-test='another']").await;
    demo.pay_by_card(&browser, ASKS_THE_ISSUER).await;
    see(&browser, "bank").await;
    browser.click("[data-test='proceed']").await;
    browser.click("[data-test='approve']").await;
    see(&browser, "succeeded").await;
    let address = browser.url().await;
    assert!(!address.as_str().contains("secret"), "{address}");
    let text = browser.wait_for(STATUS).await;
    assert!(text.contains("that money is refunded"), "{text}");
    // The operator takes the money of the first attempt.
    demo.merchant.clock().advance(600).await.unwrap();
    browser.reload().await;
    browser.wait_for_text(STATUS, "owes it back").await;
    let intent = demo.only_intent().await;
    assert_eq!((intent.status, intent.duplicate_payments.len()), (IntentStatus::Succeeded, 1));

    // A right code pays, and an operator that approves late pays the page that stayed open.
    at_the_page(&demo, &browser, "CODE-1").await;
    demo.pay_by_phone(&browser, ASKS_FOR_CODE).await;
    browser.fill("[data-test='otp']", "123 456").await;
    browser.click("[data-test='pay']").await;
    see(&browser, "succeeded").await;
    at_the_page(&demo, &browser, "LATE-2").await;
    demo.pay_by_phone(&browser, REFUSED_AND_APPROVED_LATE).await;
    see(&browser, "waiting").await;
    demo.merchant.clock().advance(5).await.unwrap();
    see(&browser, "declined").await;
    demo.merchant.clock().advance(240).await.unwrap();
    browser.run("document.dispatchEvent(new Event('visibilitychange'))").await;
    see(&browser, "succeeded").await;
}

async fn its_states_are_accessible(engine: Engine) {
    let (demo, browser) = (DemoShop::with_own_checkout().await, engine.start("own-accessible").await);
    let look = Accessibility::new(&browser);
    let over = async |name: &'static str| {
        see(&browser, name).await;
        look.once(&format!("own-{name}")).await;
    };
    demo.merchant.set_operator("orange_cm", "closed").await;
    at_the_page(&demo, &browser, "STATES-1").await;
    over("ready").await;
    let operators = browser.wait_for("[data-test='operators']").await;
    assert!(operators.contains("Orange Money: takes no payments"), "{operators}");
    demo.pay_by_phone(&browser, "12").await;
    browser.wait_for("[aria-invalid='true']").await;
    look.once("own-wrong").await;
    browser.click("[data-test='method-card']").await;
    look.once("own-card").await;
    browser.click("[data-test='cancel']").await;
    over("cancel_asked").await;
    browser.click("[data-test='cancel-no']").await;
    demo.pay_by_phone(&browser, AFTER_30_SECONDS).await;
    over("waiting").await;
    browser.click("[data-test='number']").await;
    over("number_asked").await;
    browser.click("[data-test='number-yes']").await;
    over("declined").await;
    demo.pay_by_phone(&browser, ASKS_FOR_CODE).await;
    over("code").await;
    browser.fill("[data-test='otp']", "123456").await;
    browser.click("[data-test='pay']").await;
    over("succeeded").await;
    browser.open(&format!("{}/checkout/pi_1?lang=fr", demo.merchant.base_url())).await;
    see(&browser, "link_wrong").await;
    look.once("own-link-fr").await;
    browser.wait_for_text(STATUS, "Ce lien de paiement").await;
}

/// Checks that the page says what is not known, and never that nothing was charged.
async fn says_not_known(browser: &Browser) {
    let text = browser.wait_for(STATUS).await;
    assert!(text.contains(NOT_KNOWN) && text.contains("one of them is refunded"), "{text}");
    for never in ["Nothing was charged", "did not go through", "ry again"] {
        assert!(!text.contains(never), "{never}: {text}");
    }
}

async fn is_paid_once(demo: &DemoShop) {
    let intent = demo.only_intent().await;
    assert_eq!((intent.status, intent.attempts), (IntentStatus::Succeeded, Some(1)));
}

async fn sent(demo: &DemoShop, operation: &str) -> usize {
    demo.merchant.requests().await.iter().filter(|request| request.operation == operation).count()
}

async fn see(browser: &Browser, status: &str) {
    browser.wait_for(&format!("{STATUS}[data-status='{status}']")).await;
}

async fn at_the_page(demo: &DemoShop, browser: &Browser, reference: &str) -> PaymentIntent {
    let intent = demo.create_intent(order(demo, reference)).await;
    open(browser, &intent).await;
    browser.wait_for("[data-test='method-mobile_money']").await;
    intent
}

async fn open(browser: &Browser, intent: &PaymentIntent) {
    browser.open(intent.checkout_url.as_ref().expect("the sandbox sends this field").expose()).await;
}

fn order(demo: &DemoShop, reference: &str) -> CreatePaymentIntent {
    CreatePaymentIntent::new(
        MerchantReference::new(reference).unwrap(),
        Amount::units(5_000),
        "A pair of shoes",
        CustomerName { firstname: "Awa", lastname: "Ndiaye" },
    )
    .phone(Phone::new(SUCCEEDS).unwrap())
    .redirect_url(RedirectUrl::new(format!("{}/return", demo.shop.url())).unwrap())
}
