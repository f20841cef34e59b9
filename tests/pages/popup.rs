//! Checkout in a popup: the window opens in the click itself, the customer pays in it, and the page that opened it is told
//! what became of it, whatever they do on the way.

use crate::support::browser::{Browser, Tab};
use crate::support::demo_shop::DemoShop;
use crate::support::engine::{Engine, in_chromium, in_every_browser};
use guichet::values::IntentStatus;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const SUCCEEDS: &str = "237670000000";
const AFTER_30_SECONDS: &str = "237670000001";

in_every_browser!(
    a_customer_pays_in_a_popup_and_the_page_that_opened_it_is_told,
    the_popup_opens_in_the_click_before_anything_is_known_and_its_pages_do_not_reach_the_opener,
    a_popup_that_is_closed_without_paying_is_dismissed_and_can_be_opened_again,
    a_popup_that_is_closed_after_paying_says_what_is_true,
    a_payment_under_way_in_a_popup_that_is_closed_is_pending,
    leaving_the_hosted_page_unpaid_closes_the_popup_and_is_dismissed,
    a_blocked_popup_becomes_a_redirect,
    a_second_click_finds_the_first_ones_popup,
    a_popup_whose_intent_cannot_be_made_is_closed_and_says_why,
    calling_it_off_closes_the_popup,
    a_window_that_only_looks_closed_is_waited_for_until_the_customer_is_back,
    a_return_page_whose_opener_is_gone_shows_the_outcome_itself,
    a_word_that_is_forged_on_the_returns_channel_makes_no_payment_succeed,
);

in_chromium!(a_server_that_sends_no_return_nonce_is_named_once_on_the_console_with_what_to_add,);

async fn a_customer_pays_in_a_popup_and_the_page_that_opened_it_is_told(engine: Engine) {
    let shop = Shop::open(engine, "popup").await;
    let popup = shop.click().await;
    shop.browser.switch_to(&popup).await;
    shop.browser.wait_for("[data-test='method-mobile_money']").await;
    assert_eq!(shop.browser.url().await.fragment(), None, "the client secret stays in the address bar");
    shop.pay(SUCCEEDS).await;
    shop.browser.click("[data-test='leave']").await;
    shop.only_the_shop_is_open().await;

    let outcome = shop.outcome().await;
    assert_eq!(outcome["state"], "succeeded", "{outcome}");
    let intent = shop.demo.only_intent().await;
    assert_eq!(outcome["reference"]["id"], intent.id.as_str());
    assert_eq!((intent.status, intent.attempts), (IntentStatus::Succeeded, Some(1)));
    assert_eq!(shop.browser.run("return told").await, json!(["succeeded"]));
    shop.browser.close().await;
}

async fn the_popup_opens_in_the_click_before_anything_is_known_and_its_pages_do_not_reach_the_opener(engine: Engine) {
    let shop = Shop::open(engine, "first").await;
    // The order's route answers only later.
    shop.browser.run("window.hold = true").await;
    let popup = shop.click().await;
    assert_eq!(shop.browser.run("return opened").await, true, "it opens in the click");
    shop.browser.switch_to(&popup).await;
    shop.browser.wait_for_text("body", "One moment").await;
    assert_eq!(shop.browser.run("return opener").await, Value::Null);
    shop.browser.switch_to(&shop.tab).await;
    shop.browser.run("window.hold = false").await;
    shop.browser.switch_to(&popup).await;
    shop.browser.wait_for("[data-test='method-mobile_money']").await;
    assert_eq!(shop.browser.run("return opener").await, Value::Null, "the hosted page reaches the shop's");
    shop.browser.close().await;
}

async fn a_popup_that_is_closed_without_paying_is_dismissed_and_can_be_opened_again(engine: Engine) {
    let shop = Shop::open(engine, "dismissed").await;
    let popup = shop.click().await;
    shop.browser.switch_to(&popup).await;
    shop.browser.wait_for("[data-test='method-mobile_money']").await;
    shop.close_the_popup().await;
    let outcome = shop.outcome().await;
    assert_eq!((&outcome["state"], &outcome["status"]), (&json!("dismissed"), &json!("requires_action")), "{outcome}");

    let popup = shop.click().await;
    shop.browser.switch_to(&popup).await;
    shop.browser.wait_for("[data-test='method-mobile_money']").await;
    shop.pay(SUCCEEDS).await;
    shop.browser.click("[data-test='leave']").await;
    shop.only_the_shop_is_open().await;
    assert_eq!(shop.outcome().await["state"], "succeeded");
    assert_eq!(shop.demo.only_intent().await.attempts, Some(1), "the same order is the same payment");
    shop.browser.close().await;
}

async fn a_popup_that_is_closed_after_paying_says_what_is_true(engine: Engine) {
    let shop = Shop::open(engine, "paid-closed").await;
    let popup = shop.click().await;
    shop.browser.switch_to(&popup).await;
    shop.browser.wait_for("[data-test='method-mobile_money']").await;
    shop.pay(SUCCEEDS).await;
    shop.close_the_popup().await;
    assert_eq!(shop.outcome().await["state"], "succeeded");
    shop.browser.close().await;
}

async fn a_payment_under_way_in_a_popup_that_is_closed_is_pending(engine: Engine) {
    let shop = Shop::open(engine, "pending-closed").await;
    let popup = shop.click().await;
    shop.browser.switch_to(&popup).await;
    shop.browser.wait_for("[data-test='method-mobile_money']").await;
    shop.demo.pay_by_phone(&shop.browser, AFTER_30_SECONDS).await;
    shop.browser.wait_for("[data-status='waiting']").await;
    shop.close_the_popup().await;
    let outcome = shop.outcome().await;
    assert_eq!((&outcome["state"], &outcome["status"]), (&json!("pending"), &json!("processing")), "{outcome}");

    shop.demo.merchant.clock().advance(30).await.unwrap();
    let outcome = shop.browser.run_async("return guichet.waitForOutcome((await result).reference)").await;
    assert_eq!(outcome["state"], "succeeded", "and can be waited for: {outcome}");
    shop.browser.close().await;
}

async fn leaving_the_hosted_page_unpaid_closes_the_popup_and_is_dismissed(engine: Engine) {
    let shop = Shop::open(engine, "left").await;
    let popup = shop.click().await;
    shop.browser.switch_to(&popup).await;
    shop.browser.wait_for("[data-test='method-mobile_money']").await;
    shop.browser.click("[data-test='leave']").await;
    shop.only_the_shop_is_open().await;
    assert_eq!(shop.outcome().await["state"], "dismissed");
    shop.browser.close().await;
}

async fn a_blocked_popup_becomes_a_redirect(engine: Engine) {
    for blocked in ["() => null", "() => ({ closed: true })"] {
        let shop = Shop::open(engine, "blocked").await;
        shop.browser.run(&format!("window.open = {blocked}")).await;
        shop.browser.click("#buy").await;
        shop.browser.wait_for_url("at the hosted page", |url| url.path().starts_with("/checkout/")).await;
        shop.browser.wait_for("[data-test='method-mobile_money']").await;
        shop.pay(SUCCEEDS).await;
        shop.browser.click("[data-test='leave']").await;
        shop.browser.wait_for("[data-test='outcome'][data-state='paid']").await;
        shop.browser.close().await;
    }
}

async fn a_second_click_finds_the_first_ones_popup(engine: Engine) {
    let shop = Shop::open(engine, "twice").await;
    shop.browser.run("window.hold = true").await;
    let popup = shop.click().await;
    shop.browser.switch_to(&shop.tab).await;
    shop.browser.run("window.first = result").await;
    shop.browser.click("#buy").await;
    shop.browser.run("window.hold = false").await;
    shop.browser.switch_to(&popup).await;
    shop.browser.wait_for("[data-test='method-mobile_money']").await;
    shop.browser.switch_to(&shop.tab).await;
    shop.browser.click("#buy").await;
    assert_eq!(shop.browser.tabs().await.len(), 2, "one order, one popup");
    shop.browser.switch_to(&popup).await;
    shop.pay(SUCCEEDS).await;
    shop.browser.click("[data-test='leave']").await;
    shop.only_the_shop_is_open().await;
    let outcome = shop.outcome().await;
    assert_eq!(outcome["state"], "succeeded", "{outcome}");
    assert_eq!(shop.browser.run_async("return first").await, outcome, "all are told");
    assert_eq!(shop.browser.run("return asked").await, 1, "one order, one question");
    shop.browser.close().await;
}

async fn a_popup_whose_intent_cannot_be_made_is_closed_and_says_why(engine: Engine) {
    let shop = Shop::open(engine, "unmade").await;
    shop.browser.run("window.answer = 500").await;
    shop.browser.click("#buy").await;
    assert_eq!(shop.outcome().await["rejected"], "refused");
    shop.only_the_shop_is_open().await;
    // An address that may not be followed is not followed in a popup, either.
    shop.browser.run("window.answer = { intent: { id: 'pi_1', checkout_url: 'https://evil.example/#x' } }").await;
    shop.browser.click("#buy").await;
    assert_eq!(shop.outcome().await["rejected"], "address");
    shop.only_the_shop_is_open().await;
    shop.browser.close().await;
}

async fn calling_it_off_closes_the_popup(engine: Engine) {
    let shop = Shop::open(engine, "called-off").await;
    shop.browser
        .run("window.hold = true; window.off = new AbortController(); window.how = { signal: off.signal }")
        .await;
    shop.click().await;
    shop.browser.run("off.abort('enough')").await;
    assert_eq!(shop.outcome().await["rejected"], "enough");
    shop.only_the_shop_is_open().await;
    shop.browser.close().await;
}

async fn a_window_that_only_looks_closed_is_waited_for_until_the_customer_is_back(engine: Engine) {
    let shop = Shop::open(engine, "severed").await;
    // As a page under Cross-Origin-Opener-Policy and its opener see each other: not at all.
    shop.browser
        .run(
            "const open = window.open.bind(window);
             window.open = (...how) => { window.real = open(...how); return new Proxy(real, {
                 get: (real, name) => name === 'closed' ? severed() : name === 'close' ? () => {} : real[name],
                 set: (real, name, value) => { real[name] = value; return true; } }) };
             window.gone = false; window.severed = () => gone;
             document.hasFocus = () => window.here === true;",
        )
        .await;
    let popup = shop.click().await;
    shop.browser.run("window.gone = true").await;
    shop.browser.switch_to(&popup).await;
    shop.browser.wait_for("[data-test='method-mobile_money']").await;
    shop.pay(SUCCEEDS).await;
    shop.browser.switch_to(&shop.tab).await;
    assert_eq!(shop.browser.run("return settled").await, false, "the customer is not back yet");
    shop.browser.switch_to(&popup).await;
    shop.browser.click("[data-test='leave']").await;
    shop.only_the_shop_is_open().await;
    assert_eq!(shop.outcome().await["state"], "succeeded", "the return page tells, whatever the window looks like");
    shop.browser.close().await;
}

async fn a_return_page_whose_opener_is_gone_shows_the_outcome_itself(engine: Engine) {
    let shop = Shop::open(engine, "orphan").await;
    let popup = shop.click().await;
    shop.browser.switch_to(&popup).await;
    shop.browser.wait_for("[data-test='method-mobile_money']").await;
    shop.pay(SUCCEEDS).await;
    shop.browser.switch_to(&shop.tab).await;
    shop.browser.reload().await;
    shop.browser.switch_to(&popup).await;
    shop.browser.click("[data-test='leave']").await;
    shop.browser.wait_for("[data-test='outcome'][data-state='paid']").await;
    assert_eq!(shop.browser.url().await.query(), None, "the return's parameters stay in the address bar");
    shop.browser.close().await;
}

async fn a_word_that_is_forged_on_the_returns_channel_makes_no_payment_succeed(engine: Engine) {
    let shop = Shop::open(engine, "forged-word").await;
    shop.browser
        .run(
            "const real = window.fetch;
             window.fetch = async (...asked) => {
                 const reply = await real(...asked);
                 if (String(asked[0]).endsWith('/guichet/intents')) window.nonce = (await reply.clone().json()).return_nonce;
                 return reply;
             };",
        )
        .await;
    let popup = shop.click().await;
    shop.browser.switch_to(&popup).await;
    shop.browser.wait_for("[data-test='method-mobile_money']").await;
    shop.browser.switch_to(&shop.tab).await;
    let result = shop
        .browser
        .run_async(
            "const channel = new BroadcastChannel('guichet.return.' + nonce);
             const answered = new Promise((heard) => { channel.onmessage = () => heard(true); setTimeout(heard, 5000); });
             for (const word of ['succeeded', { state: 'succeeded' }, { status: 'succeeded', match: 'matched' }]) channel.postMessage(word);
             return answered",
        )
        .await;
    assert_eq!(result, true, "the page that waits hears it");
    let outcome = shop.outcome().await;
    assert_eq!((&outcome["state"], &outcome["status"]), (&json!("dismissed"), &json!("requires_action")), "{outcome}");
    shop.browser.close().await;
}

async fn a_server_that_sends_no_return_nonce_is_named_once_on_the_console_with_what_to_add(engine: Engine) {
    let shop = Shop::open(engine, "no-nonce").await;
    shop.browser
        .run(
            "window.warnings = [];
             console.warn = (...words) => warnings.push(words.join(' '));
             const real = window.fetch;
             window.fetch = async (...request) => {
                 const reply = await real(...request);
                 if (!window.forgetful || !String(request[0]).endsWith('/guichet/intents')) return reply;
                 const { return_nonce, ...answer } = await reply.json();
                 return Response.json({ ...answer, return_nonce: forgetful.nonce });
             };",
        )
        .await;
    for (answers, warnings) in [("undefined", 0), ("{}", 1), ("{ nonce: 'short' }", 1)] {
        shop.browser.run(&format!("window.forgetful = {answers}")).await;
        let popup = shop.click().await;
        shop.browser.switch_to(&popup).await;
        shop.browser.wait_for("[data-test='method-mobile_money']").await;
        shop.close_the_popup().await;
        assert_eq!(shop.outcome().await["state"], "dismissed");
        assert_eq!(shop.browser.run("return warnings.length").await, warnings, "the server answers {answers}");
    }
    let warning = shop.browser.run("return warnings[0]").await;
    for part in ["guichet: ", "`return_nonce`", "guichet_return=", "redirect_url"] {
        assert!(warning.as_str().is_some_and(|warning| warning.contains(part)), "{part}: {warning}");
    }
    shop.browser.close().await;
}

/// A customer with an order, on a page of the shop's whose button `#buy` opens a popup.
struct Shop {
    demo: DemoShop,
    browser: Browser,
    tab: Tab,
}

impl Shop {
    async fn open(engine: Engine, scenario: &'static str) -> Self {
        let demo = DemoShop::open().await;
        let browser = engine.start(scenario).await;
        browser.open(demo.shop.url()).await;
        browser.wait_for("[data-test^='add-']").await;
        let created = browser
            .run_async(
                "const post = async (path, body) => (await fetch(path, {
                     method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })).json();
                 const shop = await (await fetch('/api/shop')).json();
                 await post('/api/sign-in', { customer: shop.customers[0].id }).catch(() => {});
                 const { id } = await post('/api/orders', { lines: [{ sku: shop.products[0].sku, quantity: 1 }] });
                 const { createGuichet } = await import('/package/guichet.js');
                 Object.assign(window, { told: [], asked: 0, how: {}, hold: false, answer: undefined });
                 window.guichet = createGuichet({
                     baseUrl: shop.base_url, merchant: '/guichet', checkoutOrigins: shop.checkout_origins,
                     fetch: async (address, how) => {
                         if (!String(address).endsWith('/guichet/intents')) return fetch(address, how);
                         window.asked++;
                         while (window.hold) await new Promise((go) => setTimeout(go, 20));
                         if (typeof answer === 'number') return new Response('{}', { status: answer });
                         return answer ? Response.json(answer) : fetch(address, how);
                     },
                 });
                 await guichet.paymentMethods();
                 const buy = document.createElement('button');
                 buy.id = 'buy';
                 buy.textContent = 'Buy';
                 buy.onclick = () => {
                     window.settled = false;
                     const open = window.open;
                     window.opened = false;
                     window.open = (...how) => { window.opened = true; return open.apply(window, how); };
                     const going = guichet.checkout({ order: { id } }, { mode: 'popup', onStatus: (status) => told.push(status), ...how });
                     window.open = open;
                     window.result = going.catch((e) => ({ rejected: e.kind ?? String(e) })).finally(() => { window.settled = true; });
                 };
                 document.body.prepend(buy);
                 return true;",
            )
            .await;
        assert_eq!(created, true);
        let tab = browser.current_tab().await;
        Self { demo, browser, tab }
    }

    /// Clicks, and finds the popup.
    async fn click(&self) -> Tab {
        self.browser.click("#buy").await;
        self.popup().await
    }

    async fn popup(&self) -> Tab {
        self.browser.wait_for_other_tab(&self.tab).await
    }

    async fn pay(&self, phone: &str) {
        self.demo.pay_by_phone(&self.browser, phone).await;
        self.browser.wait_for("[data-status='succeeded']").await;
    }

    /// Closes the popup, as its customer does, who then goes on in the shop.
    async fn close_the_popup(&self) {
        self.browser.close_tab_and_switch_to(&self.tab).await;
        // A screen without a window manager gives no page the focus back.
        self.browser.click("#shoes-title").await;
    }

    /// Waits until every popup is closed, and turns to the shop.
    async fn only_the_shop_is_open(&self) {
        let begun = Instant::now();
        while self.browser.tabs().await != [self.tab.clone()] {
            assert!(begun.elapsed() < Duration::from_secs(10), "a popup stays open");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.browser.switch_to(&self.tab).await;
    }

    async fn outcome(&self) -> Value {
        self.browser.run_async("return result").await
    }
}
