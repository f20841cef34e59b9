//! What the hosted page says and offers: what is not known yet, the waiting screen's way out, the operators, one
//! amount, and the receipt.

use crate::support::browser::Browser;
use crate::support::demo_shop::DemoShop;
use crate::support::engine::{Engine, in_chromium, only_in_chromium};
use crate::support::late_cases;
use fantoccini::key::Key;
use guichet::operations::{AbandonPaymentIntent, CreatePaymentIntent, CustomerName, Instrument, PaymentIntent};
use guichet::values::{Amount, FeeBearer, IntentStatus, MerchantReference, Moment, Phone, RedirectUrl};
use guichet_sandbox::Fault;
use serde_json::json;

in_chromium!(
    every_page_after_a_doubtful_decline_says_what_is_not_known_and_until_when,
    an_earlier_attempt_is_in_doubt_in_every_later_view,
    the_pages_module_judges_every_case_of_a_declined_payment,
    another_number_ends_the_attempt_after_a_warning,
    the_last_attempt_ends_the_payment,
    the_page_guesses_the_operator_as_the_service_does,
    the_customer_can_change_the_operator_and_a_closed_one_is_not_offered,
    one_amount_is_in_the_headline_the_button_and_the_result,
);
only_in_chromium!(
    "it uses Chromium's DevTools protocol":
    once_the_time_is_over_the_page_reads_the_payment_before_it_says_that_nothing_was_charged,
    a_late_approval_is_shown_on_the_open_page,
    the_waiting_page_says_who_asks_and_what_to_do_and_leads_back_to_the_shop_at_once,
    the_receipt_has_the_payee_the_operator_and_no_secret_and_prints_alone,
);

const SUCCEEDS: &str = "237670000000";
const AFTER_30_SECONDS: &str = "237670000001";
const INSUFFICIENT_FUNDS: &str = "237670000002";
const TIMES_OUT: &str = "237670000004";
const NEVER_ENDS: &str = "237670000005";
const ASKS_FOR_CODE: &str = "237670000010";
const UNAVAILABLE_THEN_APPROVED: &str = "237670000012";
const REJECTED_THEN_APPROVED: &str = "237670000013";
const STATUS: &str = "[data-test='status']";
const NOT_KNOWN: &str = "We do not know yet whether your operator took the money";
const REFUNDED: &str = "If you pay a second time and both payments succeed, one is refunded.";
const DAY: u32 = 24 * 60 * 60;

async fn every_page_after_a_doubtful_decline_says_what_is_not_known_and_until_when(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("doubt").await);
    let intent = at_the_page(&demo, &browser, "DOUBT-1").await;
    demo.pay_by_phone(&browser, REJECTED_THEN_APPROVED).await;
    see(&browser, "waiting").await;
    demo.merchant.clock().advance(5).await.unwrap();
    see(&browser, "declined").await;
    let text = says_not_known(&demo, &browser, &intent).await;
    assert!(text.contains(REFUNDED) && text.contains("two more times"), "{text}");
    browser.reload().await;
    see(&browser, "declined").await;
    says_not_known(&demo, &browser, &intent).await;
    assert_eq!(browser.wait_for("[data-test='leave']").await, "Back to the shop", "not: without paying");

    browser.click("[data-test='cancel']").await;
    browser.wait_for_text("[data-form='cancel']", "cannot be taken up again").await;
    says_not_known(&demo, &browser, &intent).await;
    browser.click("[data-test='cancel-yes']").await;
    see(&browser, "canceled").await;
    let text = says_not_known(&demo, &browser, &intent).await;
    assert!(text.contains("was canceled") && text.contains("owes it back"), "{text}");
    browser.click("[data-test='language-fr']").await;
    let text = browser.wait_for(STATUS).await;
    assert!(text.contains("Nous ne savons pas encore si votre opérateur vous a débité"), "{text}");

    // The third attempt ends the payment, and the first may still be approved.
    let intent = at_the_page(&demo, &browser, "DOUBT-2").await;
    for phone in [UNAVAILABLE_THEN_APPROVED, INSUFFICIENT_FUNDS] {
        demo.pay_by_phone(&browser, phone).await;
        see(&browser, "declined").await;
        says_not_known(&demo, &browser, &intent).await;
    }
    let reason = browser.wait_for("[data-test='reason']").await;
    assert!(reason.contains("not enough money"), "the last decline is final, and has its reason: {reason}");
    demo.pay_by_phone(&browser, INSUFFICIENT_FUNDS).await;
    see(&browser, "failed").await;
    says_not_known(&demo, &browser, &intent).await;

    // The time to pay is over while an attempt of its last minute may still be approved.
    let intent = at_the_page(&demo, &browser, "DOUBT-3").await;
    demo.merchant.clock().advance(DAY - 60).await.unwrap();
    demo.pay_by_phone(&browser, UNAVAILABLE_THEN_APPROVED).await;
    see(&browser, "declined").await;
    demo.merchant.clock().advance(60).await.unwrap();
    browser.reload().await;
    see(&browser, "expired").await;
    let text = says_not_known(&demo, &browser, &intent).await;
    assert!(text.contains("time to pay is over"), "{text}");
}

async fn an_earlier_attempt_is_in_doubt_in_every_later_view(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("earlier").await);
    let intent = at_the_page(&demo, &browser, "EARLIER-1").await;
    demo.pay_by_phone(&browser, UNAVAILABLE_THEN_APPROVED).await;
    see(&browser, "declined").await;

    demo.pay_by_phone(&browser, ASKS_FOR_CODE).await;
    see(&browser, "code").await;
    says_not_known(&demo, &browser, &intent).await;
    browser.click("[data-test='another']").await;
    see(&browser, "ready").await;
    let text = says_not_known(&demo, &browser, &intent).await;
    assert!(text.contains(REFUNDED), "{text}");

    demo.pay_by_card(&browser, "4111 1111 1111 1111").await;
    browser.wait_for_text("#card-number-wrong", "Only test cards").await;
    says_not_known(&demo, &browser, &intent).await;
    demo.pay_by_phone(&browser, AFTER_30_SECONDS).await;
    see(&browser, "waiting").await;
    says_not_known(&demo, &browser, &intent).await;
    demo.merchant.clock().advance(30).await.unwrap();
    see(&browser, "succeeded").await;
    let text = says_not_known(&demo, &browser, &intent).await;
    assert!(text.contains("You paid") && text.contains("that money is refunded"), "{text}");

    // The operator has taken the money: that is known.
    demo.merchant.clock().advance(600).await.unwrap();
    browser.reload().await;
    see(&browser, "succeeded").await;
    let text = browser.wait_for(STATUS).await;
    assert!(text.contains("owes it back") && !text.contains("do not know"), "{text}");
}

async fn once_the_time_is_over_the_page_reads_the_payment_before_it_says_that_nothing_was_charged(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("over").await);
    // The page does not read the payment by itself.
    let no_reads =
        "{ const { setTimeout } = window; window.setTimeout = (done, ms) => ms === 20000 ? 0 : setTimeout(done, ms); }";
    browser.add_init_script(no_reads).await;
    let intent = at_the_page(&demo, &browser, "OVER-1").await;
    demo.pay_by_phone(&browser, TIMES_OUT).await;
    see(&browser, "waiting").await;
    demo.merchant.clock().advance(300).await.unwrap();
    see(&browser, "declined").await;
    demo.merchant.clock().advance(600).await.unwrap();
    reread(&browser).await;
    says_not_known(&demo, &browser, &intent).await;
    demo.merchant.clock().advance(300).await.unwrap();
    let text = browser.wait_for(STATUS).await;
    assert!(text.contains("We do not know yet"), "the payment has not been read since: {text}");
    browser.set_online(false).await;
    reread(&browser).await;
    browser.let_the_page_look().await;
    let text = browser.wait_for(STATUS).await;
    assert!(text.contains("We do not know yet"), "no reply has come: {text}");
    browser.set_online(true).await;
    reread(&browser).await;
    browser.wait_for_text(STATUS, "Nothing was charged").await;
    browser.reload().await;
    see(&browser, "declined").await;
    browser.wait_for_text(STATUS, "Nothing was charged").await;
}

async fn a_late_approval_is_shown_on_the_open_page(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("open").await);
    // The page reads the payment every 20 seconds.
    browser
        .add_init_script(
            "{ const { setTimeout } = window; window.setTimeout = (done, ms) => setTimeout(done, ms === 20000 ? 200 : ms); }",
        )
        .await;
    at_the_page(&demo, &browser, "OPEN-1").await;
    demo.pay_by_phone(&browser, REJECTED_THEN_APPROVED).await;
    see(&browser, "waiting").await;
    demo.merchant.clock().advance(5).await.unwrap();
    see(&browser, "declined").await;
    demo.merchant.clock().advance(240).await.unwrap();
    see(&browser, "succeeded").await;
    assert_eq!(demo.only_intent().await.attempts, Some(1));

    at_the_page(&demo, &browser, "OPEN-2").await;
    demo.pay_by_phone(&browser, UNAVAILABLE_THEN_APPROVED).await;
    see(&browser, "declined").await;
    browser.click("[data-test='cancel']").await;
    browser.click("[data-test='cancel-yes']").await;
    see(&browser, "canceled").await;
    demo.merchant.clock().advance(600).await.unwrap();
    browser.wait_for_text(STATUS, "Your operator took").await;
    let text = browser.wait_for(STATUS).await;
    assert!(text.contains("took") && !text.contains("do not know") && !text.contains("Nothing was charged"), "{text}");
}

async fn the_pages_module_judges_every_case_of_a_declined_payment(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("fields").await);
    browser.open(demo.shop.url()).await;
    let (cases, expected) = late_cases();
    let found = browser
        .run_async(&format!(
            "const {{ openHostedCheckout }} = await import('/package/hosted.js');
             // The device's clock is wrong, and decides nothing.
             const {{ now }} = Date;
             Date.now = () => now() + 7200000;
             const found = [];
             for (const {{ intent, as_of }} of {cases}) {{
                 const headers = as_of === null ? {{}} : {{ date: new Date(as_of * 1000).toUTCString() }};
                 const fetch = async () => new Response(JSON.stringify({{ data: {{ id: 'pi_1', ...intent }} }}), {{ headers }});
                 const page = await openHostedCheckout({{ baseUrl: location.origin, intent: {{ id: 'pi_1', client_secret: 's' }}, fetch }});
                 found.push(page.late);
             }}
             return found;"
        ))
        .await;
    assert_eq!(found, expected);
}

async fn the_waiting_page_says_who_asks_and_what_to_do_and_leads_back_to_the_shop_at_once(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("waits").await);
    let intent = at_the_page(&demo, &browser, "WAITS-1").await;
    demo.pay_by_phone(&browser, "237690000005").await;
    see(&browser, "waiting").await;
    let text = browser.wait_for(STATUS).await;
    assert!(text.contains("Orange Money asks you to approve FCFA 5,000 for Pas à Pas."), "{text}");
    let steps =
        "return [...document.querySelectorAll(\"[data-test='steps'] li\")].map(({ textContent }) => textContent)";
    assert_eq!(
        browser.run(steps).await,
        json!([
            "Open the request on your phone.",
            "Enter your mobile money code there. Never type it on this page.",
            "If no request appears, dial #150*50#."
        ])
    );
    let link = browser.run("return document.querySelector(\"[data-test='ussd']\").getAttribute('href')").await;
    assert_eq!(link, "tel:%23150*50%23");
    browser.click("[data-test='language-fr']").await;
    browser.wait_for_text("[data-test='steps']", "composez le #150*50#").await;
    browser.click("[data-test='language-en']").await;

    let help = browser.wait_for("[data-test='leave-help']").await;
    assert!(help.contains("your payment goes on") && help.contains("15 minutes"), "{help}");
    browser.click("[data-test='leave']").await;
    browser.wait_for_url("at the shop", |url| url.as_str().starts_with(demo.shop.url())).await;
    assert_eq!(demo.client().read_payment_intent(&intent.id).await.unwrap().status, IntentStatus::Processing);
}

async fn another_number_ends_the_attempt_after_a_warning(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("number").await);
    let intent = at_the_page(&demo, &browser, "NUMBER-1").await;
    demo.pay_by_phone(&browser, AFTER_30_SECONDS).await;
    browser.click("[data-test='number']").await;
    let text = browser.wait_for("[data-test='number-warning']").await;
    assert!(text.contains("may still take the money") && text.contains("charged twice"), "{text}");
    assert_eq!(count(&demo, "abandon_payment_intent").await, 0, "it only asks");
    browser.click("[data-test='number']").await;
    see(&browser, "waiting").await;

    for button in ["number", "number-yes"] {
        browser.tab_to(&format!("[data-test='{button}']")).await;
        browser.press(&Key::Enter.to_string()).await;
    }
    see(&browser, "declined").await;
    says_not_known(&demo, &browser, &intent).await;
    let focused = "return [document.activeElement.id, document.querySelector('#phone').value]";
    assert_eq!(browser.run(focused).await, json!(["phone", ""]), "the number is asked for");
    browser.press("237690000000").await;
    browser.click("[data-test='pay']").await;
    see(&browser, "succeeded").await;

    demo.merchant.clock().advance(30).await.unwrap();
    let intent = demo.only_intent().await;
    assert_eq!((intent.attempts, intent.duplicate_payments.len()), (Some(2), 1), "the first request was approved, too");
    browser.reload().await;
    see(&browser, "succeeded").await;
    browser.wait_for_text(STATUS, "owes it back").await;
}

async fn the_last_attempt_ends_the_payment(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("last").await);
    let intent = at_the_page(&demo, &browser, "LAST-1").await;
    for _ in 0..2 {
        demo.pay_by_phone(&browser, INSUFFICIENT_FUNDS).await;
        see(&browser, "declined").await;
    }
    demo.pay_by_phone(&browser, NEVER_ENDS).await;
    see(&browser, "waiting").await;
    demo.merchant.fault(Fault::status::<AbandonPaymentIntent>(503)).await;
    browser.click("[data-test='number']").await;
    browser.wait_for_text("[data-test='number-warning']", "last attempt").await;
    browser.click("[data-test='number-yes']").await;
    see(&browser, "failed").await;
    says_not_known(&demo, &browser, &intent).await;
    assert_eq!(demo.only_intent().await.status, IntentStatus::Failed);
}

async fn the_page_guesses_the_operator_as_the_service_does(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("guess").await);
    at_the_page(&demo, &browser, "GUESS-1").await;
    browser.wait_for("[data-test='operators']").await;
    let prefixes: Vec<String> = (600..700).map(|prefix| prefix.to_string()).collect();
    let guesses = browser
        .run(&format!(
            "const phone = document.querySelector('#phone');
             const guess = (typed) => {{
                 phone.value = typed;
                 phone.dispatchEvent(new Event('input', {{ bubbles: true }}));
                 return document.querySelector('[name=operator]:checked').value || null;
             }};
             const list = {};
             return ['237', '+237 ', ''].map((country) => list.map((prefix) => guess(country + prefix + ' 00 00 05')))
                 .concat([['225 67 00 00 00 00', '33 6 55 00 00 00'].map(guess)]);",
            json!(prefixes)
        ))
        .await;
    let mut expected = Vec::new();
    for prefix in &prefixes {
        let intent = demo.create_intent(order(&demo, &format!("GUESS-{prefix}"))).await;
        let instrument = Instrument::mobile_money(Phone::new(format!("237{prefix}000005")).unwrap());
        let attached = demo.client().attach_payment_method(&intent.id, instrument).await.unwrap();
        let operator = attached.next_action.and_then(|action| action.operator);
        expected.push(operator.map(|operator| operator.code.as_str().to_owned()));
    }
    assert!(expected.iter().flatten().count() > 20, "{expected:?}");
    assert_eq!(guesses, json!([expected, expected, expected, [null, null]]));
}

async fn the_customer_can_change_the_operator_and_a_closed_one_is_not_offered(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("operators").await);
    let checked = "return document.querySelector('[name=operator]:checked')?.value ?? null";
    at_the_page(&demo, &browser, "OPERATORS-1").await;
    demo.enter_phone(&browser, NEVER_ENDS).await;
    assert_eq!(browser.run(checked).await, "mtn_cm");
    browser.click("[data-test='operator-orange_cm']").await;
    browser.click("[data-test='pay']").await;
    see(&browser, "waiting").await;
    browser.wait_for_text(STATUS, "Orange Money asks you").await;

    demo.merchant.set_operator("mtn_cm", "closed").await;
    demo.merchant.set_operator("orange_cm", "delayed").await;
    at_the_page(&demo, &browser, "OPERATORS-2").await;
    demo.enter_phone(&browser, NEVER_ENDS).await;
    let operators = browser.wait_for("[data-test='operators']").await;
    assert!(operators.contains("takes no payments") && operators.contains("a minute longer"), "{operators}");
    let closed = "const { disabled, checked } = document.querySelector(\"[data-test='operator-mtn_cm']\"); return [disabled, checked]";
    assert_eq!(browser.run(closed).await, json!([true, false]));
    browser.wait_for_text("#phone-wrong", "takes no payments").await;
    browser.click("[data-test='language-fr']").await;
    browser.wait_for_text("#phone-wrong", "ne prend aucun paiement").await;
    browser.click("[data-test='language-en']").await;
    browser.wait_for("html[lang='en']").await;
    browser.click("[data-test='pay']").await;
    browser.wait_until("return document.querySelector('#phone-wrong').textContent.includes('takes no payments') && document.activeElement.id === 'phone'").await;
    browser.fill("[data-test='phone']", "237690000005").await;
    browser.click("[data-test='pay']").await;
    see(&browser, "waiting").await;
    browser.wait_for_text(STATUS, "a minute longer").await;

    // It closes while the page is open.
    at_the_page(&demo, &browser, "OPERATORS-3").await;
    demo.merchant.set_operator("orange_cm", "closed").await;
    demo.pay_by_phone(&browser, "237690000000").await;
    browser.wait_for_text("[data-part='pay']", "No operator takes payments").await;
    let usable = "return document.querySelector(\"[data-test='method-mobile_money']\").disabled";
    assert_eq!(browser.run(usable).await, true);
    demo.pay_by_card(&browser, "4242424242424242").await;
    see(&browser, "succeeded").await;
}

async fn one_amount_is_in_the_headline_the_button_and_the_result(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("amount").await);
    let amounts = "const pay = [...document.querySelectorAll(\"[data-test='pay']\")].find((button) => button.offsetParent);
        return [document.getElementById('amount'), document.getElementById('fee'), pay].map(({ textContent }) => textContent)";
    let mut customer_bears = order(&demo, "AMOUNT-1");
    customer_bears.fee_bearer = FeeBearer::Customer;
    let intent = demo.create_intent(customer_bears).await;
    open(&browser, &intent).await;
    demo.enter_phone(&browser, SUCCEEDS).await;
    let (whole, fee) = ("FCFA\u{a0}5,100", "of which FCFA\u{a0}100 fee");
    assert_eq!(browser.run(amounts).await, json!([whole, fee, format!("Pay {whole}")]));
    browser.click("[data-test='method-card']").await;
    let up_to = "FCFA\u{a0}5,195";
    assert_eq!(
        browser.run(amounts).await,
        json!([format!("Up to {up_to}"), "of which FCFA\u{a0}195 fee", format!("Pay up to {up_to}")])
    );
    demo.pay_by_phone(&browser, SUCCEEDS).await;
    see(&browser, "succeeded").await;
    browser.click("[data-test='stay']").await;
    let paid = browser
        .run("return [\"[data-test='status'] .soft\", '#amount', '#fee', \"[data-test='receipt-total']\"].map((css) => document.querySelector(css).textContent)")
        .await;
    assert_eq!(paid, json!([format!("You paid {whole}. Thank you."), whole, fee, format!("{whole}\n{fee}")]));

    let intent = demo.create_intent(order(&demo, "AMOUNT-2")).await;
    open(&browser, &intent).await;
    demo.enter_phone(&browser, SUCCEEDS).await;
    let whole = "FCFA\u{a0}5,000";
    assert_eq!(browser.run(amounts).await, json!([whole, "", format!("Pay {whole}")]), "the merchant bears it");
}

async fn the_receipt_has_the_payee_the_operator_and_no_secret_and_prints_alone(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("receipt").await);
    let intent = at_the_page(&demo, &browser, "RECEIPT-1").await;
    demo.pay_by_phone(&browser, SUCCEEDS).await;
    see(&browser, "succeeded").await;
    browser.run("window.print = () => { document.title = 'printed'; }").await;
    browser.click("[data-test='print']").await;
    browser.wait_until("return document.title === 'printed'").await;
    browser.wait_until("return document.querySelector(\"[data-test='stay']\").hidden").await; // the page no longer leaves by itself
    let row = async |name: &str| browser.wait_for(&format!("[data-test='receipt-{name}']")).await;
    assert_eq!(row("payee").await, "Pas à Pas");
    assert_eq!(row("paid_with").await, "MTN Mobile Money");
    assert_eq!(row("reference").await, "RECEIPT-1");
    assert!(row("total").await.contains("5,000"));
    let created = intent.created_at.unwrap();
    // Cameroon is one hour ahead of UTC all year.
    let date =
        format!("return new Date(({created} + 3600) * 1000).toISOString().slice(0, 16).replace('T', ' ') + ' (UTC+1)'");
    assert_eq!(row("date").await, browser.run(&date).await);
    let number = row("number").await;
    assert!(number.contains('*') && !number.contains(SUCCEEDS), "{number}");
    let receipt = browser.run("return document.querySelector('[data-test=receipt]').outerHTML").await;
    assert!(!receipt.as_str().unwrap().contains("_secret_"), "{receipt}");

    browser.set_medium("print").await;
    let shown = "return ['[data-test=receipt]', '.banner', '#amount', '.languages', '[data-test=leave]', '[data-test=print]', '.sign']
        .map((css) => document.querySelector(css).checkVisibility())";
    assert_eq!(browser.run(shown).await, json!([true, true, false, false, false, false, false]));
    browser.set_medium("screen").await;
    browser.reload().await;
    see(&browser, "succeeded").await;
    assert_eq!(row("paid_with").await, "MTN Mobile Money");

    at_the_page(&demo, &browser, "RECEIPT-2").await;
    demo.pay_by_card(&browser, "4242424242424242").await;
    see(&browser, "succeeded").await;
    assert!(row("number").await.ends_with("•••• 4242"));
}

/// Checks that the page says what is not known and until when, and never that nothing was charged. Returns what it
/// says.
async fn says_not_known(demo: &DemoShop, browser: &Browser, intent: &PaymentIntent) -> String {
    let text = browser.wait_for(STATUS).await;
    let now = demo.client().read_payment_intent(&intent.id).await.unwrap();
    let until = now.approvable_until.and_then(|until| until.unix()).expect("the sandbox names the time");
    let there = Moment::from_unix(until + 60 * 60).to_string();
    let clock = format!("{} (UTC+1)", &there[11..16]);
    assert!(text.contains(NOT_KNOWN) && text.contains("Your operator may still take it until"), "{text}");
    assert!(text.contains(&clock), "{clock}: {text}");
    for never in ["Nothing was charged", "Nothing has been charged", "Try again", "try again"] {
        assert!(!text.contains(never), "{never}: {text}");
    }
    text
}

/// Lets the page read the payment, as when its tab becomes visible, and waits for the reply.
async fn reread(browser: &Browser) {
    browser
        .run_async(
            "const { fetch } = window;
             await new Promise((done) => {
                 window.fetch = (...request) => {
                     window.fetch = fetch;
                     const reply = fetch(...request);
                     reply.then(done, done);
                     return reply;
                 };
                 document.dispatchEvent(new Event('visibilitychange'));
             });
             await new Promise((done) => setTimeout(done, 100));",
        )
        .await;
}

async fn count(demo: &DemoShop, operation: &str) -> usize {
    demo.merchant.requests().await.iter().filter(|request| request.operation == operation).count()
}

async fn at_the_page(demo: &DemoShop, browser: &Browser, reference: &str) -> PaymentIntent {
    let intent = demo.create_intent(order(demo, reference)).await;
    open(browser, &intent).await;
    browser.wait_for("[data-test='method-mobile_money']").await;
    intent
}

async fn open(browser: &Browser, intent: &PaymentIntent) {
    let address = intent.checkout_url.as_ref().expect("the sandbox sends this field").expose();
    browser.open(&format!("{address}&lang=en-US")).await;
}

async fn see(browser: &Browser, status: &str) {
    browser.wait_for(&format!("{STATUS}[data-status='{status}']")).await;
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
