//! The hosted page's own HTML pays where no script arrives. Where one arrives it sends the same forms, and keeps the
//! page.

use crate::support::browser::Browser;
use crate::support::demo_shop::DemoShop;
use crate::support::engine::{Engine, in_chromium, in_every_browser};
use guichet::operations::{CreatePaymentIntent, CustomerName};
use guichet::values::{Amount, Email, IntentStatus, MerchantReference};
use serde_json::json;

const AFTER_30_SECONDS: &str = "237670000001";

in_every_browser!(
    the_script_sends_the_forms_and_keeps_the_page,
    a_customer_whose_scripts_are_blocked_pays_by_the_forms,
);
in_chromium!(
    a_link_with_the_secret_in_its_fragment_works_with_a_script,
    what_is_typed_survives_a_read_another_language_and_a_refusal,
    a_page_that_is_not_this_payments_is_never_shown,
    what_is_open_and_chosen_stays_while_the_page_is_read,
    another_version_is_loaded_as_a_whole_and_the_issuer_is_that_of_the_header,
    one_read_at_a_time_and_none_in_a_hidden_tab,
);

async fn the_script_sends_the_forms_and_keeps_the_page(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("kept").await);
    browser.open(&link(&demo, "KEPT-1").await).await;
    browser.wait_for("[data-test='method-mobile_money']").await;
    let left = browser
        .run(
            "window.kept = true;
             const loaded = performance.getEntriesByType('resource').map(({ name }) => name.split('/').pop());
             return [location.search + location.hash, history.state, document.documentElement.outerHTML.includes('_secret_'),
                 document.cookie, loaded.filter((name) => name !== 'icon.svg')]",
        )
        .await;
    assert_eq!(left, json!(["", null, false, "", ["checkout.js"]]), "the secret is in no place that a script reads");
    demo.pay_by_phone(&browser, AFTER_30_SECONDS).await;
    browser.wait_for("[data-status='waiting']").await;
    let news = browser.run("return document.getElementById('news').textContent").await;
    assert!(news.as_str().unwrap().contains("Confirm on your phone"), "a screen reader reads it: {news}");
    demo.merchant.clock().advance(30).await.unwrap();
    browser.wait_for("[data-status='succeeded']").await;
    assert_eq!(
        browser.run("return [window.kept, document.title]").await,
        json!([true, "Payment received · Pas à Pas"])
    );
    browser.close().await;
}

async fn a_customer_whose_scripts_are_blocked_pays_by_the_forms(engine: Engine) {
    let demo = DemoShop::open().await;
    let browser = engine.start_with_proxy("blocked").await;
    browser.proxy().block_scripts();
    pays_by_the_forms(&demo, &browser, "BLOCKED-1").await;
    browser.close().await;
}

#[tokio::test]
async fn a_customer_who_has_switched_scripts_off_pays_in_chromium() {
    let (demo, browser) = (DemoShop::open().await, Engine::Chromium.start_without_scripts("off-chromium").await);
    pays_by_the_forms(&demo, &browser, "OFF-1").await;
}

#[tokio::test]
async fn a_customer_who_has_switched_scripts_off_pays_in_firefox() {
    let (demo, browser) = (DemoShop::open().await, Engine::Firefox.start_without_scripts("off-firefox").await);
    pays_by_the_forms(&demo, &browser, "OFF-2").await;
}

async fn pays_by_the_forms(demo: &DemoShop, browser: &Browser, reference: &str) {
    browser.open(&link(demo, reference).await).await;
    demo.pay_by_phone(browser, AFTER_30_SECONDS).await;
    browser.wait_for("[data-status='waiting']").await;
    demo.merchant.clock().advance(30).await.unwrap();
    // The page asks again by itself.
    browser.wait_for("[data-status='succeeded']").await;
    let intent = demo.only_intent().await;
    assert_eq!((intent.status, intent.attempts), (IntentStatus::Succeeded, Some(1)));
}

async fn a_link_with_the_secret_in_its_fragment_works_with_a_script(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("old-link").await);
    let link = link(&demo, "OLD-1").await.replacen('?', "?lang=fr#", 1);
    for _ in 0..2 {
        browser.open(&link).await;
        browser.wait_for_text("#choose", "Comment souhaitez-vous payer").await;
        assert!(!browser.url().await.as_str().contains("secret"));
        // Again with the payment's cookie.
        browser.open("about:blank").await;
    }
    browser.close().await;
}

async fn what_is_typed_survives_a_read_another_language_and_a_refusal(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("typed").await);
    browser.open(&link(&demo, "TYPED-1").await).await;
    demo.enter_card(&browser, "4242424242424241").await;
    let typed = "return [...document.querySelectorAll('#card-number, #exp-month, #cvc')].map(({ value }) => value)";
    let values = json!(["4242 4242 4242 4241", "12", "123"]);
    assert_eq!(browser.run(typed).await, values);
    // An operator may still take the money of a declined attempt: the page reads the payment, and the field is the same
    // element.
    let read = "const field = document.activeElement;
        document.dispatchEvent(new Event('visibilitychange'));
        await new Promise((done) => setTimeout(done, 500));
        return document.activeElement === field && field.id";
    assert_eq!(browser.run_async(read).await, "cvc");
    assert_eq!(browser.run(typed).await, values);
    browser.click("[data-test='language-fr']").await;
    browser.wait_for_text("#choose", "Comment souhaitez-vous payer").await;
    assert_eq!(browser.run(typed).await, values);
    assert_eq!(browser.run("return document.activeElement.id").await, "language-fr");
    browser.click("[data-for='card'] [data-test='pay']").await;
    browser.wait_for("#card-number[aria-invalid]").await;
    assert_eq!(browser.run(typed).await, values, "the service has not written them");
    assert_eq!(browser.run("return document.activeElement.id").await, "card-number");
    // A decline is another attempt: the security code is typed again.
    browser.fill("#card-number", "4000000000009995").await;
    browser.click("[data-for='card'] [data-test='pay']").await;
    browser.wait_for("[data-status='declined']").await;
    assert_eq!(browser.run(typed).await, json!(["4000 0000 0000 9995", "12", ""]));
    browser.close().await;
}

async fn a_page_that_is_not_this_payments_is_never_shown(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("strange").await);
    browser.open(&link(&demo, "STRANGE-1").await).await;
    browser.wait_for("[data-test='method-mobile_money']").await;
    let outdated = browser.run("return document.documentElement.outerHTML").await;
    demo.pay_by_phone(&browser, AFTER_30_SECONDS).await;
    browser.wait_for("[data-status='waiting']").await;
    // A proxy's error, a captive portal, a page of another revision, and the fetch that fails.
    let shown = browser
        .run_async(&format!(
            "const real = window.fetch;
             const seen = [];
             const pages = ['<h1>Bad gateway</h1>', '<main><form data-part=pay><input name=pin></form></main>', {outdated}];
             for (const page of [...pages, null]) {{
                 const asked = new Promise((done) => {{
                     window.fetch = async () => {{
                         setTimeout(done, 100);
                         if (page === null) throw new TypeError('the network is gone');
                         const reply = new Response(page, {{ status: page === pages[0] ? 502 : 200 }});
                         return Object.defineProperty(reply, 'url', {{ value: location.href }});
                     }};
                 }});
                 document.dispatchEvent(new Event('visibilitychange'));
                 await asked;
                 seen.push([document.querySelector('#status').dataset.status, document.querySelectorAll('[name=pin], h1').length]);
             }}
             window.fetch = real;
             return seen;"
        ))
        .await;
    assert_eq!(shown, json!(vec![json!(["waiting", 1]); 4]));
    demo.merchant.clock().advance(30).await.unwrap();
    browser.wait_for("[data-status='succeeded']").await;
    browser.close().await;
}

async fn what_is_open_and_chosen_stays_while_the_page_is_read(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("stays").await);
    browser.open(&link(&demo, "STAYS-1").await).await;
    // A number that was ported: another operator than that of its prefix.
    demo.enter_phone(&browser, "237670000002").await;
    browser.click("[data-test='operator-orange_cm']").await;
    let operator = "return document.querySelector('[name=operator]:checked').value";
    browser.click("[data-test='language-fr']").await;
    browser.wait_for("html[lang='fr']").await;
    assert_eq!(browser.run(operator).await, "orange_cm");
    browser.click("[data-test='pay']").await;
    browser.wait_for("[data-status='declined']").await;
    assert_eq!(browser.run(operator).await, "orange_cm", "another attempt begins with the customer's choice");
    // An input method composes a number: nothing is written into the field meanwhile.
    browser.click("[data-test='method-card']").await;
    let composed = "const field = document.querySelector('#card-number');
        field.value = '42424';
        field.setSelectionRange(5, 5);
        field.dispatchEvent(new InputEvent('input', { bubbles: true, isComposing: true }));
        const during = field.value;
        field.dispatchEvent(new InputEvent('input', { bubbles: true }));
        return [during, field.value]";
    assert_eq!(browser.run(composed).await, json!(["42424", "4242 4"]));
    demo.pay_by_phone(&browser, AFTER_30_SECONDS).await;
    browser.wait_for("[data-status='waiting']").await;
    browser.click("[data-test='number']").await;
    let read =
        "const [details, { dataset }] = [document.querySelector('[data-test=number]'), document.querySelector('main')];
        const before = dataset.asOf;
        document.activeElement.blur();
        details.focus();
        while (dataset.asOf === before) await new Promise((done) => setTimeout(done, 100));
        return [details.isConnected && details.parentNode.open, document.activeElement === details]";
    demo.merchant.clock().advance(1).await.unwrap();
    assert_eq!(browser.run_async(read).await, json!([true, true]), "it was read, and stays open");
    browser.close().await;
}

async fn another_version_is_loaded_as_a_whole_and_the_issuer_is_that_of_the_header(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("versions").await);
    browser.open(&link(&demo, "VERSION-1").await).await;
    demo.pay_by_card(&browser, "4000000000003220").await;
    browser.wait_for("[data-test='proceed']").await;
    // The reply is that of the service but for its issuer, or its markup.
    let shown = browser
        .run_async(
            "const real = window.fetch;
             const own = document.querySelector('[data-issuer]').href;
             const text = await (await real(location.href)).text();
             const link = () => document.querySelector('[data-issuer]')?.getAttribute('href') ?? null;
             const found = [];
             const answer = async (html, headers) => {
                 window.fetch = async () => Object.defineProperty(new Response(html, { headers }), 'url', { value: location.href });
                 document.querySelector('[data-test=language-fr]').click();
                 await new Promise((done) => setTimeout(done, 500));
                 window.fetch = real;
             };
             for (const issuer of ['https://bank.example/3ds', 'http://bank.example/', 'javascript:alert(1)', 'https://', null]) {
                 const html = text.replace('data-revision=', `data-from=\"${issuer}\" data-revision=`).replace('Pay another way', `Other ${issuer}`);
                 await answer(html, issuer === null ? {} : { 'guichet-issuer': issuer });
                 found.push(link() === own ? 'own' : link());
             }
             const struck = '<img src=x onerror=\"window.struck = 1\"><script>window.struck = 1</script>';
             await answer(text.replace('Pay another way', struck), { 'guichet-issuer': own });
             found.push([window.struck ?? null, document.querySelectorAll('main script').length]);
             window.another = text.replace(/data-page=\"[^\"]+\"/, 'data-page=\"another\"');
             return found;",
        )
        .await;
    assert_eq!(shown, json!(["https://bank.example/3ds", null, null, null, "own", [null, 0]]));
    browser
        .run(
            "window.fetch = async () => Object.defineProperty(new Response(another), 'url', { value: location.href });
             document.querySelector('[data-test=language-fr]').click();",
        )
        .await;
    browser.wait_until("return window.another === undefined && document.readyState === 'complete'").await;
    browser.wait_for("[data-status='bank']").await;
    browser.close().await;
}

async fn one_read_at_a_time_and_none_in_a_hidden_tab(engine: Engine) {
    let (demo, browser) = (DemoShop::open().await, engine.start("reads").await);
    browser.open(&link(&demo, "READS-1").await).await;
    demo.pay_by_phone(&browser, AFTER_30_SECONDS).await;
    browser.wait_for("[data-status='waiting']").await;
    let reads = browser
        .run_async(
            "const real = window.fetch;
             const pause = (ms) => new Promise((done) => setTimeout(done, ms));
             const see = () => document.dispatchEvent(new Event('visibilitychange'));
             const hide = () => Object.defineProperty(document, 'hidden', { value: true, configurable: true });
             let reads = 0, atOnce = 0, most = 0;
             // No read begins, and one that is under way ends.
             hide();
             await pause(1000);
             window.fetch = async (...request) => {
                 reads += 1;
                 most = Math.max(most, atOnce += 1);
                 await pause(300);
                 atOnce -= 1;
                 return real(...request);
             };
             delete document.hidden;
             for (let times = 0; times < 5; times += 1) see();
             hide();
             await pause(1000);
             const seen = [reads, most];
             const before = reads;
             see();
             await pause(5000);
             seen.push(reads - before);
             delete document.hidden;
             dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
             await pause(100);
             seen.push(reads - before);
             window.fetch = real;
             return seen;",
        )
        .await;
    assert_eq!(reads, json!([1, 1, 0, 1]), "reads at once, at most at a time, hidden, and from the browser's cache");
    browser.open(&link(&demo, "READS-2").await).await;
    demo.enter_card(&browser, "4242424242424242").await;
    let left = "dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }));
        return [...document.querySelectorAll('#card-number, #cvc')].map(({ value }) => value)";
    assert_eq!(browser.run(left).await, json!(["", ""]), "a page that is kept for the back button keeps no card");
    browser.close().await;
}

/// The link of a new payment.
async fn link(demo: &DemoShop, reference: &str) -> String {
    let reference = MerchantReference::new(reference).unwrap();
    let order = CreatePaymentIntent::new(
        reference,
        Amount::units(5_000),
        "A pair of shoes",
        CustomerName { firstname: "Awa", lastname: "Ndiaye" },
    )
    .email(Email::new("awa@example.com").unwrap());
    let intent = demo.create_intent(order).await;
    intent.checkout_url.as_ref().expect("the sandbox sends this field").expose().to_owned()
}
