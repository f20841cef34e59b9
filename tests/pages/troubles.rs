//! Purchases that fail, in real browsers: every failure ends on a page that names it in the customer's language, and no
//! customer pays twice.

use crate::support::browser::Browser;
use crate::support::demo_shop::DemoShop;
use crate::support::engine::{Engine, in_chromium, in_every_browser, not_in_webkit, only_in_chromium};
use fantoccini::key::Key;
use guichet::operations::{
    AttachPaymentMethod, CancelPaymentIntent, CreatePaymentIntent, CustomerName, Instrument, Item, PaymentIntent,
};
use guichet::values::{Amount, ConfirmationMethod, Currency, IntentStatus, MerchantReference, Phone, RedirectUrl};
use guichet_sandbox::Fault;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

// The others test the service and the texts, which are the same in every engine, or disconnect the network of Chromium.
in_every_browser!(
    a_reload_while_the_payer_approves_continues_waiting,
    the_back_button_after_paying_charges_nothing,
    going_back_without_paying_leaves_a_working_pay_button,
    the_keyboard_alone_pays,
);

// The same in every engine: rules of the service, and code that depends on no engine.
in_chromium!(
    a_one_time_code_is_requested_and_a_wrong_one_can_be_corrected,
    a_card_that_needs_the_issuers_page_returns_paid,
    the_third_decline_is_final_and_each_shows_the_attempts_left,
);

const SUCCEEDS: &str = "237670000000";
const AFTER_30_SECONDS: &str = "237670000001";
const INSUFFICIENT_FUNDS: &str = "237670000002";
const ASKS_FOR_CODE: &str = "237670000010";
const PAYS: &str = "4242424242424242";
const ASKS_THE_BANK: &str = "4000000000003220";
const STATUS: &str = "[data-test='status']";
const CAN_PAY: &str = "return Boolean(document.querySelector('[data-form=pay]')?.offsetParent)";
const DAY: u32 = 24 * 60 * 60;

async fn a_one_time_code_is_requested_and_a_wrong_one_can_be_corrected(engine: Engine) {
    let (demo, browser) = DemoShop::at_the_hosted_page(engine, "code").await;

    demo.pay_by_phone(&browser, ASKS_FOR_CODE).await;
    see(&browser, "code").await;
    browser.step("A one-time code is asked for", STATUS).await;
    browser.click("[data-test='answer']").await;
    assert!(!browser.wait_for("#otp-wrong").await.is_empty(), "an empty field has an error");
    answer(&browser, "000000").await;
    see(&browser, "declined").await;
    let text = browser.wait_for(STATUS).await;
    assert!(text.contains("code") && text.contains("two more times"), "{text}");
    browser.step("A wrong code", STATUS).await;

    browser.click("[data-test='pay']").await; // the number is kept: a new code is sent
    see(&browser, "code").await;
    browser.reload().await;
    see(&browser, "code").await;
    answer(&browser, "123 456").await;
    see(&browser, "succeeded").await;
    assert_eq!(demo.only_intent().await.attempts, Some(2));
    back_in_the_shop(&browser, "paid").await;
}

#[tokio::test]
async fn a_customer_who_was_asked_for_a_code_can_change_the_method() {
    let (demo, browser) = DemoShop::at_the_hosted_page(Engine::from_env(), "another").await;
    demo.pay_by_phone(&browser, ASKS_FOR_CODE).await;
    see(&browser, "code").await;
    browser.click("[data-test='another']").await;
    demo.pay_by_card(&browser, "4111 1111 1111 1111").await;
    browser.wait_for_text("#card-number-wrong", "test cards").await;
    demo.pay_by_card(&browser, PAYS).await;
    see(&browser, "succeeded").await;
    assert_eq!(demo.only_intent().await.attempts, Some(1));
}

async fn a_card_that_needs_the_issuers_page_returns_paid(engine: Engine) {
    let (demo, browser) = DemoShop::at_the_hosted_page(engine, "bank").await;
    demo.pay_by_card(&browser, ASKS_THE_BANK).await;
    see(&browser, "bank").await;
    browser.step("The bank asks", STATUS).await;
    browser.reload().await;
    see(&browser, "bank").await;
    browser.click("[data-test='proceed']").await;
    browser.click("[data-test='refuse']").await;
    see(&browser, "declined").await;
    browser.step("Refused at the bank", STATUS).await;

    demo.pay_by_card(&browser, ASKS_THE_BANK).await;
    browser.click("[data-test='proceed']").await;
    browser.wait_for("[data-test='challenge']").await;
    browser.step("The page of the bank", "body").await;
    browser.click("[data-test='approve']").await;
    see(&browser, "succeeded").await;
    let address = browser.url().await;
    assert!(!address.as_str().contains("secret"), "the client secret stays in the address bar: {address}");
    assert_eq!(demo.only_intent().await.attempts, Some(2));
    back_in_the_shop(&browser, "paid").await;
}

#[tokio::test]
async fn a_customer_can_cancel_after_a_confirmation() {
    let (demo, browser) = DemoShop::at_the_hosted_page(Engine::from_env(), "cancel").await;
    browser.click("[data-test='cancel']").await;
    browser.wait_for("[data-test='cancel-yes']").await;
    browser.step("Asked once more", "[data-form='cancel']").await;
    browser.click("[data-test='cancel']").await;
    browser.wait_for("[data-test='phone']").await;
    assert_eq!(demo.only_intent().await.status, IntentStatus::RequiresAction);

    browser.click("[data-test='cancel']").await;
    browser.click("[data-test='cancel-yes']").await;
    see(&browser, "canceled").await;
    browser.step("Canceled", STATUS).await;
    browser.reload().await;
    see(&browser, "canceled").await;
    assert_eq!(demo.only_intent().await.status, IntentStatus::Canceled);
    back_in_the_shop(&browser, "canceled").await;
}

#[tokio::test]
async fn the_status_after_a_lost_cancel_is_read() {
    let (demo, browser) = DemoShop::at_the_hosted_page(Engine::from_env(), "cancel-lost").await;
    demo.merchant.fault(Fault::lost_response::<CancelPaymentIntent>()).await;
    browser.click("[data-test='cancel']").await;
    browser.click("[data-test='cancel-yes']").await;
    see(&browser, "canceled").await;
}

#[tokio::test]
async fn an_expired_payment_is_shown_as_expired() {
    let (demo, browser) = DemoShop::at_the_hosted_page(Engine::from_env(), "expired").await;
    demo.merchant.clock().advance(DAY).await.unwrap();
    demo.pay_by_phone(&browser, SUCCEEDS).await; // on the page that stayed open all day
    see(&browser, "expired").await;
    browser.step("Expired", STATUS).await;
    browser.reload().await;
    see(&browser, "expired").await;
    browser.click("[data-test='leave']").await;
    browser.wait_for("[data-test='outcome'][data-state='canceled'],[data-test='outcome'][data-state='trouble']").await;
    assert_eq!(demo.only_intent().await.status, IntentStatus::Canceled);
}

async fn the_third_decline_is_final_and_each_shows_the_attempts_left(engine: Engine) {
    let (demo, browser) = DemoShop::at_the_hosted_page(engine, "three").await;
    for left in ["two more times", "once more"] {
        demo.pay_by_phone(&browser, INSUFFICIENT_FUNDS).await;
        browser.wait_for_text(STATUS, left).await;
        assert_eq!(browser.run("return document.querySelector('#status').dataset.status").await, "declined");
    }
    demo.pay_by_phone(&browser, INSUFFICIENT_FUNDS).await;
    see(&browser, "failed").await;
    assert!(browser.run(CAN_PAY).await == false, "the page offers no further payment");
    browser.reload().await;
    see(&browser, "failed").await;
    let intent = demo.only_intent().await;
    assert_eq!((intent.status, intent.attempts), (IntentStatus::Failed, Some(3)));
    back_in_the_shop(&browser, "failed").await;
}

#[tokio::test]
async fn after_a_decline_another_method_pays() {
    let (demo, browser) = DemoShop::at_the_hosted_page(Engine::from_env(), "then-card").await;
    demo.pay_by_phone(&browser, INSUFFICIENT_FUNDS).await;
    see(&browser, "declined").await;
    browser.reload().await;
    see(&browser, "declined").await; // the reason is still shown
    demo.pay_by_card(&browser, PAYS).await;
    see(&browser, "succeeded").await;
    let intent = demo.only_intent().await;
    assert_eq!((intent.status, intent.attempts), (IntentStatus::Succeeded, Some(2)));
}

not_in_webkit!(
    "the driver opens windows, not tabs, so the first page stays visible and does not read again":
    a_payment_settled_in_another_tab_is_not_paid_again,
    "a timer cannot stop a navigation; `returning::` stops one in every engine":
    a_stopped_navigation_leaves_a_working_pay_button,
    "WebKit takes its language from the machine's locale":
    a_french_customer_reads_french_from_the_basket_to_the_end,
);

async fn a_payment_settled_in_another_tab_is_not_paid_again(engine: Engine) {
    let demo = DemoShop::open().await;
    let browser = engine.start("tabs").await;
    let intent = demo.create_intent(order(&demo, "TABS-1")).await;
    open(&browser, &intent).await;
    browser.wait_for("[data-test='method-mobile_money']").await;
    browser
        .in_another_tab(async || {
            open(&browser, &intent).await;
            demo.pay_by_phone(&browser, SUCCEEDS).await;
            see(&browser, "succeeded").await;
        })
        .await;
    see(&browser, "succeeded").await; // the other page has read the status
    browser.step("Paid in another tab", STATUS).await;
    let intent = demo.only_intent().await;
    assert_eq!((intent.status, intent.attempts), (IntentStatus::Succeeded, Some(1)));
}

#[tokio::test]
async fn paying_on_an_outdated_page_shows_that_it_is_already_paid() {
    let demo = DemoShop::open().await;
    let browser = Browser::start("left-behind").await;
    let intent = demo.create_intent(order(&demo, "TABS-2")).await;
    open(&browser, &intent).await;
    browser.wait_for("[data-test='method-mobile_money']").await;
    let instrument = Instrument::mobile_money(Phone::new(SUCCEEDS).unwrap());
    demo.client().attach_payment_method(&intent.id, instrument).await.unwrap();
    demo.pay_by_card(&browser, PAYS).await;
    see(&browser, "succeeded").await;
    assert_eq!(demo.only_intent().await.attempts, Some(1));
}

async fn a_reload_while_the_payer_approves_continues_waiting(engine: Engine) {
    let (demo, browser) = DemoShop::at_the_hosted_page(engine, "reload").await;
    demo.pay_by_phone(&browser, AFTER_30_SECONDS).await;
    see(&browser, "waiting").await;
    browser.step("The payer is asked to approve on the phone", STATUS).await;
    browser.reload().await;
    see(&browser, "waiting").await;
    demo.merchant.clock().advance(30).await.unwrap();
    see(&browser, "succeeded").await;
    browser.reload().await;
    see(&browser, "succeeded").await;
    let stays = "return document.querySelector('[data-test=stay]').hidden";
    assert_eq!(browser.run(stays).await, true, "the page does not leave by itself");
    browser.step("Paid already", STATUS).await;
    assert_eq!(demo.only_intent().await.attempts, Some(1));
}

async fn the_back_button_after_paying_charges_nothing(engine: Engine) {
    let (demo, browser) = DemoShop::at_the_hosted_page(engine, "back").await;
    demo.pay_by_phone(&browser, SUCCEEDS).await;
    see(&browser, "succeeded").await;
    back_in_the_shop(&browser, "paid").await;
    browser.reload().await;
    browser.wait_for("[data-test='outcome'][data-state='paid']").await;
    // Leaving replaced the hosted page in the history, so back leads to the shop, whose basket was paid. Buying there
    // is another order.
    browser.go_back().await;
    browser.wait_for("[data-test^='add-']").await;
    assert_eq!(
        browser.run("return [location.pathname, document.querySelector('#lines').children.length]").await,
        json!(["/", 0])
    );
    let intent = demo.only_intent().await;
    assert_eq!((intent.status, intent.attempts), (IntentStatus::Succeeded, Some(1)));
    browser.click("[data-test^='add-']").await;
    browser.wait_for("[data-test='quote-mobile_money']").await;
    demo.leave_for_the_hosted_page(&browser).await;
    assert_eq!(demo.intents().await.len(), 2);
}

async fn going_back_without_paying_leaves_a_working_pay_button(engine: Engine) {
    let (demo, browser) = DemoShop::at_the_hosted_page(engine, "turned").await;
    browser.go_back().await;
    browser.wait_for("[data-test='quote-mobile_money']").await;
    demo.leave_for_the_hosted_page(&browser).await;
    demo.pay_by_phone(&browser, SUCCEEDS).await;
    see(&browser, "succeeded").await;
    assert_eq!(demo.only_intent().await.status, IntentStatus::Succeeded, "the same order is the same payment");
}

async fn a_stopped_navigation_leaves_a_working_pay_button(engine: Engine) {
    let demo = DemoShop::open().await;
    let browser = engine.start("stopped").await;
    browser.open(demo.shop.url()).await;
    browser.click("[data-test^='add-']").await;
    browser.click("[data-test^='sign-in-']").await;
    browser.wait_for("[data-test='quote-mobile_money']").await;
    // The page stores the purchase just before it leaves.
    browser
        .run_async(
            "const keep = Storage.prototype.setItem;
             Storage.prototype.setItem = function (key, value) {
                 keep.call(this, key, value);
                 if (!key.startsWith('guichet.return.')) return;
                 Storage.prototype.setItem = keep;
                 setTimeout(() => { stop(); document.title = 'stopped'; });
             };",
        )
        .await;
    browser.click("[data-test='pay']").await;
    browser.wait_until("return document.title === 'stopped'").await;
    assert!(browser.url().await.as_str().starts_with(demo.shop.url()));

    demo.leave_for_the_hosted_page(&browser).await;
    demo.pay_by_phone(&browser, SUCCEEDS).await;
    see(&browser, "succeeded").await;
    assert_eq!(demo.only_intent().await.attempts, Some(1));
}

only_in_chromium!(
    "it uses Chromium's DevTools protocol":
    the_network_lost_for_20_seconds_while_paying_charges_once,
    paying_without_a_network_waits_for_it_and_charges_at_most_once,
);

async fn the_network_lost_for_20_seconds_while_paying_charges_once(engine: Engine) {
    let (demo, browser) = DemoShop::at_the_hosted_page(engine, "network").await;
    demo.pay_by_phone(&browser, AFTER_30_SECONDS).await;
    see(&browser, "waiting").await;
    browser.set_online(false).await;
    let lost = Instant::now();
    demo.merchant.clock().advance(30).await.unwrap(); // the payment succeeds meanwhile
    while lost.elapsed() < Duration::from_secs(20) {
        assert_eq!(browser.run(CAN_PAY).await, false, "the page offers no payment now");
        tokio::time::sleep(Duration::from_millis(250)).await; // the customer has no network meanwhile
    }
    see(&browser, "waiting").await;
    browser.step("The network is gone", STATUS).await;
    browser.set_online(true).await;
    see(&browser, "succeeded").await;
    let intent = demo.only_intent().await;
    assert_eq!((intent.status, intent.attempts), (IntentStatus::Succeeded, Some(1)));
    back_in_the_shop(&browser, "paid").await;
}

#[tokio::test]
async fn a_form_with_a_lost_response_is_sent_again_and_charges_once() {
    let (demo, browser) = DemoShop::at_the_hosted_page(Engine::from_env(), "lost").await;
    // One more than a browser itself repeats.
    demo.merchant.fault(Fault::lost_response::<AttachPaymentMethod>().times(3)).await;
    demo.pay_by_phone(&browser, SUCCEEDS).await;
    see(&browser, "succeeded").await;
    assert_eq!(demo.merchant.faults().await.len(), 0, "every fault was used");
    assert_eq!(demo.only_intent().await.attempts, Some(1), "the form that is sent again changes nothing");
}

async fn paying_without_a_network_waits_for_it_and_charges_at_most_once(engine: Engine) {
    let (demo, browser) = DemoShop::at_the_hosted_page(engine, "offline").await;
    browser.set_online(false).await;
    demo.pay_by_phone(&browser, SUCCEEDS).await;
    browser.wait_for("[data-status='sending'],[data-status='uncertain']").await;
    assert_eq!(browser.run(CAN_PAY).await, false, "the page offers no payment now");
    browser.set_online(true).await;
    see(&browser, "succeeded").await;
    let intent = demo.only_intent().await;
    assert_eq!((intent.status, intent.attempts), (IntentStatus::Succeeded, Some(1)));
}

#[tokio::test]
async fn a_charge_that_never_arrived_is_offered_again() {
    let (demo, browser) = DemoShop::at_the_hosted_page(Engine::from_env(), "never").await;
    browser.run("{ const { now } = performance; performance.now = () => 1000 * now.call(performance); }").await;
    demo.merchant.fault(Fault::drop::<AttachPaymentMethod>().times(9)).await;
    demo.pay_by_phone(&browser, SUCCEEDS).await;
    // After two minutes the form is no longer sent, and the page is read.
    see(&browser, "unsent").await;
    assert!(browser.wait_for(STATUS).await.contains("nothing has changed"));
    assert_eq!(browser.run("return document.querySelector('main').dataset.reads").await, "10", "it may still arrive");
    browser.step("Nothing was sent", STATUS).await;
    assert_eq!(demo.only_intent().await.attempts, Some(0));
    demo.merchant.clear_faults().await;
    demo.pay_by_phone(&browser, SUCCEEDS).await;
    see(&browser, "succeeded").await;
    assert_eq!(demo.only_intent().await.attempts, Some(1));
}

#[tokio::test]
async fn markup_in_the_shops_texts_is_shown_as_text() {
    const MARKUP: &str =
        "<script>document.title = 'struck'</script><img src=x onerror=\"document.title='struck'\">\"'>";
    let demo = DemoShop::named(&format!("Shop {MARKUP}")).await;
    let browser = Browser::start("markup").await;
    let mut order = order(&demo, "MARKUP-1").items(vec![Item::new(MARKUP, Amount::units(5_000), Currency::xaf(), 1)]);
    (order.firstname, order.lastname, order.description) = (MARKUP.into(), MARKUP.into(), MARKUP.into());
    let intent = demo.create_intent(order).await;
    open(&browser, &intent).await;
    browser.wait_for("[data-test='method-mobile_money']").await;
    browser.run("document.querySelector('[data-test=items]').open = true").await;
    for (place, css) in [
        ("the name", "[data-test='merchant']"),
        ("the description", "[data-test='description']"),
        ("an item", "[data-test='items'] li"),
    ] {
        let text = browser.wait_for(css).await;
        assert!(text.contains("<script>") && text.contains("onerror"), "{place}: {text}");
    }
    assert_eq!(browser.run("return document.querySelectorAll('main img, main script').length").await, 0);
    assert_ne!(browser.run("return document.title").await, "struck");
    let fits = browser.run("return document.documentElement.scrollWidth <= innerWidth").await;
    assert_eq!(fits, true, "a text without a space makes a phone scroll sideways");
    browser.step("Markup in every text", "[data-test='description']").await;
}

#[tokio::test]
async fn only_the_methods_that_the_order_allows_are_offered() {
    let demo = DemoShop::open().await;
    let browser = Browser::start("types").await;
    let intent = demo.create_intent(order(&demo, "TYPES-1").payment_method_types(vec!["card".into()])).await;
    open(&browser, &intent).await;
    browser.wait_for("[data-test^='method-card']").await;
    assert_eq!(browser.run("return document.querySelector(\"[data-test='method-mobile_money']\")").await, Value::Null);
}

#[tokio::test]
async fn a_manual_payment_is_left_to_the_shop() {
    let demo = DemoShop::open().await;
    let browser = Browser::start("manual").await;
    let intent = demo.create_intent(order(&demo, "MANUAL-1").confirmation_method(ConfirmationMethod::Manual)).await;
    open(&browser, &intent).await;
    demo.pay_by_phone(&browser, SUCCEEDS).await;
    see(&browser, "confirm").await;
    browser.step("The shop completes it", STATUS).await;
    assert_eq!(demo.only_intent().await.attempts, Some(0), "nothing is charged");
    demo.client().confirm_payment_intent(&intent.id).await.unwrap();
    browser.reload().await;
    see(&browser, "succeeded").await;
}

#[tokio::test]
async fn every_english_sentence_has_a_french_one() {
    let demo = DemoShop::open().await;
    let browser = Browser::start("words").await;
    browser.open(demo.shop.url()).await;
    let keys = |locale: &str| {
        format!(
            "const {{ words }} = await import('/package/words.js');
             const {{ hostedWords }} = await import('/package/hosted-words.js');
             const keys = (of, at) => Object.entries(of).flatMap(([key, text]) =>
               typeof text === 'object' ? keys(text, at + key + '.') : text.trim() ? [at + key] : []);
             return keys([words('{locale}'), hostedWords('{locale}')], '');"
        )
    };
    let english = browser.run_async(&keys("en")).await;
    assert_eq!(browser.run_async(&keys("fr")).await, english);
    assert!(english.as_array().is_some_and(|keys| keys.len() > 100), "{english}");
}

async fn a_french_customer_reads_french_from_the_basket_to_the_end(engine: Engine) {
    let demo = DemoShop::open().await;
    let browser = engine.start_in_language("fr", "fr-CM").await;
    browser.open(demo.shop.url()).await;
    assert_eq!(browser.wait_for(".languages [aria-current]").await, "Français");
    demo.fill_a_basket_and_leave_for_the_hosted_page(&browser).await;
    assert_eq!(browser.run("return document.documentElement.lang").await, "fr");
    browser.run("document.querySelector('[data-test=items]').open = true").await;
    browser.wait_for_text("[data-test='items']", "Baskets Wouri").await;
    browser.step("La page de paiement", "body").await;
    browser.click("[data-test='cancel']").await;
    browser.wait_for_text("[data-test='cancel']", "Annuler ce paiement").await;
    browser.step("Annuler", "[data-form='cancel']").await;
    demo.pay_by_phone(&browser, INSUFFICIENT_FUNDS).await;
    browser.wait_for_text(STATUS, "encore essayer deux fois").await;
    browser.step("Refus", STATUS).await;
    demo.pay_by_phone(&browser, ASKS_FOR_CODE).await;
    browser.wait_for_text(STATUS, "Saisissez le code").await;
    browser.step("Le code", STATUS).await;
    browser.click("[data-test='another']").await;
    demo.pay_by_card(&browser, ASKS_THE_BANK).await;
    browser.wait_for_text(STATUS, "Votre banque").await;
    browser.step("La banque", STATUS).await;
    browser.click("[data-test='proceed']").await;
    browser.wait_for_text("[data-test='challenge']", "Approuvez-vous").await;
    browser.click("[data-test='approve']").await;
    browser.wait_for_text(STATUS, "Paiement reçu").await;
    browser.step("Payé", STATUS).await;
    browser.click("[data-test='leave']").await;
    browser.wait_for_text("[data-test='outcome']", "Merci").await;
}

#[tokio::test]
async fn the_language_chosen_in_the_address_or_by_the_button_is_kept() {
    let demo = DemoShop::open().await;
    let browser = Browser::start("language").await;
    let intent = demo.create_intent(order(&demo, "LANGUAGE-1")).await;
    let address = format!("{}&lang=fr", intent.checkout_url.as_ref().unwrap().expose());
    browser.open(&address).await;
    browser.wait_for_text("#choose", "Comment souhaitez-vous payer").await;
    browser.click("[data-test='language-en']").await;
    browser.wait_for_text("#choose", "How would you like to pay").await;
    browser.reload().await;
    browser.wait_for_text("#choose", "How would you like to pay").await;
    demo.pay_by_phone(&browser, "12").await;
    browser.wait_for_text("#phone-wrong", "Enter the number").await;
    browser.click("[data-test='language-fr']").await;
    browser.wait_for_text("#phone-wrong", "Saisissez le numéro").await; // messages already shown, too
    demo.pay_by_card(&browser, ASKS_THE_BANK).await;
    browser.click("[data-test='proceed']").await;
    browser.click("[data-test='refuse']").await;
    browser.wait_for_text(STATUS, "Le paiement n’est pas passé").await; // also after the bank's page
}

async fn the_keyboard_alone_pays(engine: Engine) {
    let demo = DemoShop::open().await;
    let browser = engine.start("keyboard").await;
    let intent = demo.create_intent(order(&demo, "KEYBOARD-1")).await;
    open(&browser, &intent).await;
    browser.wait_for("[data-test='method-mobile_money']").await;
    browser.tab_to("[name='method']").await;
    browser.press(&Key::Down.to_string()).await;
    browser.wait_for("[data-test='card-number']").await;
    browser.press(&Key::Up.to_string()).await;
    browser.tab_to("[data-test='phone']").await;
    browser.press("237670000010").await;
    browser.step("The keyboard's focus", "[data-test='phone']").await;
    browser.press(&Key::Enter.to_string()).await;
    see(&browser, "code").await;
    assert_eq!(browser.run("return document.activeElement !== document.body").await, true, "the focus is lost");
    browser.tab_to("[data-test='otp']").await;
    browser.press("123456").await;
    browser.tab_to("[data-test='answer']").await;
    browser.press(&Key::Enter.to_string()).await;
    see(&browser, "succeeded").await;
    assert_eq!(browser.run("return document.activeElement !== document.body").await, true, "the focus is lost");
    browser.tab_to("[data-test='leave']").await;
    browser.press(&Key::Enter.to_string()).await;
    browser.wait_for_url("at the shop", |url| url.as_str().starts_with(demo.shop.url())).await;
}

async fn see(browser: &Browser, status: &str) {
    browser.wait_for(&format!("{STATUS}[data-status='{status}']")).await;
}

async fn answer(browser: &Browser, code: &str) {
    browser.fill("[data-test='otp']", code).await;
    browser.click("[data-test='answer']").await;
}

async fn back_in_the_shop(browser: &Browser, state: &str) {
    browser.click("[data-test='leave']").await;
    browser.wait_for(&format!("[data-test='outcome'][data-state='{state}']")).await;
}

async fn open(browser: &Browser, intent: &PaymentIntent) {
    browser.open(intent.checkout_url.as_ref().expect("the sandbox sends this field").expose()).await;
}

fn order(demo: &DemoShop, reference: &str) -> CreatePaymentIntent {
    let reference = MerchantReference::new(reference).unwrap();
    CreatePaymentIntent::new(
        reference,
        Amount::units(5_000),
        "A pair of shoes",
        CustomerName { firstname: "Awa", lastname: "Ndiaye" },
    )
    .phone(Phone::new("237670000000").unwrap())
    .redirect_url(RedirectUrl::new(format!("{}/return", demo.shop.url())).unwrap())
}
