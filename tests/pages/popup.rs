//! Checkout in a popup: the window opens in the click itself, the customer pays in it, and the opening page gets the
//! outcome, whatever the customer does meanwhile.

use crate::support::browser::{Browser, Tab, until};
use crate::support::demo_shop::DemoShop;
use crate::support::engine::{Engine, in_chromium, in_every_browser};
use guichet::values::IntentStatus;
use serde_json::{Value, json};

const SUCCEEDS: &str = "237670000000";
const AFTER_30_SECONDS: &str = "237670000001";

in_every_browser!(
    a_customer_pays_in_a_popup_and_the_opening_page_gets_the_outcome,
    the_popup_opens_in_the_click_and_its_pages_cannot_reach_the_opener,
    a_popup_that_is_closed_without_paying_is_dismissed_and_can_be_opened_again,
    a_blocked_popup_becomes_a_redirect,
    a_window_that_only_appears_closed_is_awaited_until_the_customer_returns,
    a_return_page_whose_opener_is_gone_shows_the_outcome_itself,
);

// The same in every engine: code that depends on no engine.
in_chromium!(
    a_popup_that_is_closed_after_paying_resolves_as_succeeded,
    leaving_the_hosted_page_unpaid_closes_the_popup_and_is_dismissed,
    a_second_click_reuses_the_popup_of_the_first,
    a_popup_whose_intent_cannot_be_created_is_closed_and_the_call_rejects,
    aborting_the_call_closes_the_popup,
    a_payment_under_way_in_a_popup_that_is_closed_is_pending,
    a_forged_message_on_the_returns_channel_makes_no_payment_succeed,
    a_server_without_return_nonce_is_reported_once_on_the_console_with_the_remedy,
);

async fn a_customer_pays_in_a_popup_and_the_opening_page_gets_the_outcome(engine: Engine) {
    let shop = Shop::open(engine, "popup").await;
    let popup = shop.click().await;
    shop.browser.switch_to(&popup).await;
    shop.browser.wait_for("[data-test='method-mobile_money']").await;
    let address = shop.browser.url().await;
    assert!(!address.as_str().contains("secret"), "the client secret stays in the address bar: {address}");
    shop.pay(SUCCEEDS).await;
    shop.browser.click("[data-test='leave']").await;
    shop.only_the_shop_is_open().await;

    let outcome = shop.outcome().await;
    assert_eq!(outcome["state"], "succeeded", "{outcome}");
    let intent = shop.demo.only_intent().await;
    assert_eq!(outcome["reference"]["id"], intent.id.as_str());
    assert_eq!((intent.status, intent.attempts), (IntentStatus::Succeeded, Some(1)));
    assert_eq!(shop.browser.run("return statuses").await, json!(["succeeded"]));
}

async fn the_popup_opens_in_the_click_and_its_pages_cannot_reach_the_opener(engine: Engine) {
    let shop = Shop::open(engine, "first").await;
    // The intent route responds only later.
    shop.browser.run("window.hold = true").await;
    let popup = shop.click().await;
    assert_eq!(shop.browser.run("return opened").await, true, "the popup opens in the click");
    shop.browser.switch_to(&popup).await;
    shop.browser.wait_for_text("body", "One moment").await;
    shop.browser.switch_to(&shop.tab).await;
    shop.browser.run("window.hold = false").await;
    shop.browser.switch_to(&popup).await;
    shop.browser.wait_for("[data-test='method-mobile_money']").await;
    assert_eq!(shop.browser.run("return opener").await, Value::Null, "the hosted page reaches the shop's");
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
}

async fn a_popup_that_is_closed_after_paying_resolves_as_succeeded(engine: Engine) {
    let shop = Shop::open(engine, "paid-closed").await;
    let popup = shop.click().await;
    shop.browser.switch_to(&popup).await;
    shop.browser.wait_for("[data-test='method-mobile_money']").await;
    shop.pay(SUCCEEDS).await;
    shop.close_the_popup().await;
    assert_eq!(shop.outcome().await["state"], "succeeded");
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
    assert_eq!(outcome["state"], "succeeded", "its outcome can be awaited: {outcome}");
}

async fn leaving_the_hosted_page_unpaid_closes_the_popup_and_is_dismissed(engine: Engine) {
    let shop = Shop::open(engine, "left").await;
    let popup = shop.click().await;
    shop.browser.switch_to(&popup).await;
    shop.browser.wait_for("[data-test='method-mobile_money']").await;
    shop.browser.click("[data-test='leave']").await;
    shop.only_the_shop_is_open().await;
    assert_eq!(shop.outcome().await["state"], "dismissed");
}

async fn a_blocked_popup_becomes_a_redirect(engine: Engine) {
    let nothing = ["() => null", "() => ({ closed: true })"];
    // Other functions in the place of `window.open`.
    let replaced =
        ["() => ({ close() {}, addEventListener() {} })", "() => () => {}", "() => true", "() => { throw 'no' }"];
    // A window that may not be used, as a frame's rules can make it: it is closed.
    let unusable = "((open) => (...args) => new Proxy(open(...args), { get: (real, name) => {
        if (name === 'document') throw new Error('no');
        return name === 'close' ? () => real.close() : real[name];
    } }))(window.open.bind(window))";
    for blocked in nothing.into_iter().chain(replaced).chain([unusable]) {
        let shop = Shop::open(engine, "blocked").await;
        let warn = "console.warn = (text) => sessionStorage.setItem('warned', text)";
        shop.browser.run(&format!("window.open = {blocked}; {warn}")).await;
        shop.browser.click("#buy").await;
        shop.browser.wait_for_url("the hosted page", |url| url.path().starts_with("/checkout/")).await;
        shop.browser.wait_for("[data-test='method-mobile_money']").await;
        assert_eq!(shop.browser.tabs().await, std::slice::from_ref(&shop.tab), "{blocked}");
        // After each the hosted page is the same: one customer pays.
        if blocked == unusable {
            shop.pay(SUCCEEDS).await;
        }
        shop.browser.click("[data-test='leave']").await;
        let state = if blocked == unusable { "paid" } else { "unpaid" };
        shop.browser.wait_for(&format!("[data-test='outcome'][data-state='{state}']")).await;
        let warned = shop.browser.run("return sessionStorage.getItem('warned')").await;
        assert!(warned.as_str().is_some_and(|text| text.contains("opened no popup")), "{warned}");
    }
}

async fn a_second_click_reuses_the_popup_of_the_first(engine: Engine) {
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
    assert_eq!(shop.browser.run_async("return first").await, outcome, "both calls get the outcome");
    assert_eq!(shop.browser.run("return request_count").await, 1, "one order, one request");
}

async fn a_popup_whose_intent_cannot_be_created_is_closed_and_the_call_rejects(engine: Engine) {
    let shop = Shop::open(engine, "unmade").await;
    shop.browser.run("window.answer = 500").await;
    shop.browser.click("#buy").await;
    assert_eq!(shop.outcome().await["rejected"], "refused");
    shop.only_the_shop_is_open().await;
    // An address that is not allowed is not followed in a popup either.
    shop.browser.run("window.answer = { intent: { id: 'pi_1', checkout_url: 'https://evil.example/#x' } }").await;
    shop.browser.click("#buy").await;
    assert_eq!(shop.outcome().await["rejected"], "address");
    shop.only_the_shop_is_open().await;
}

async fn aborting_the_call_closes_the_popup(engine: Engine) {
    let shop = Shop::open(engine, "called-off").await;
    shop.browser
        .run("window.hold = true; window.off = new AbortController(); window.call_options = { signal: off.signal }")
        .await;
    shop.click().await;
    shop.browser.run("off.abort('enough')").await;
    assert_eq!(shop.outcome().await["rejected"], "enough");
    shop.only_the_shop_is_open().await;
}

async fn a_window_that_only_appears_closed_is_awaited_until_the_customer_returns(engine: Engine) {
    let shop = Shop::open(engine, "severed").await;
    // As under Cross-Origin-Opener-Policy, which hides a page and its opener from each other.
    shop.browser
        .run(
            "const open = window.open.bind(window);
             window.open = (...args) => { window.real = open(...args); return new Proxy(real, {
                 get: (real, name) => name === 'closed' ? severed() : name === 'close' ? () => {} : real[name],
                 set: (real, name, value) => { real[name] = value; return true; } }) };
             window.gone = false; window.severed = () => gone;
             document.hasFocus = () => window.here === true;",
        )
        .await;
    let popup = shop.click().await;
    shop.browser.switch_to(&popup).await;
    shop.browser.wait_for("[data-test='method-mobile_money']").await;
    shop.browser.switch_to(&shop.tab).await;
    shop.browser.run("window.gone = true").await;
    shop.browser.switch_to(&popup).await;
    shop.pay(SUCCEEDS).await;
    shop.browser.switch_to(&shop.tab).await;
    assert_eq!(shop.browser.run("return settled").await, false, "the customer is not back yet");
    shop.browser.switch_to(&popup).await;
    shop.browser.click("[data-test='leave']").await;
    shop.only_the_shop_is_open().await;
    assert_eq!(shop.outcome().await["state"], "succeeded", "the return page tells, whatever the window looks like");
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
}

async fn a_forged_message_on_the_returns_channel_makes_no_payment_succeed(engine: Engine) {
    let shop = Shop::open(engine, "forged-word").await;
    shop.browser
        .run(
            "const real = window.fetch;
             window.fetch = async (...request) => {
                 const reply = await real(...request);
                 if (String(request[0].url ?? request[0]).endsWith('/guichet/intents')) window.nonce = (await reply.clone().json()).return_nonce;
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
             const answered = new Promise((heard) => { channel.onmessage = () => heard(true); setTimeout(heard, 30000); });
             for (const word of ['succeeded', { state: 'succeeded' }, { status: 'succeeded', match: 'matched' }]) channel.postMessage(word);
             return answered",
        )
        .await;
    assert_eq!(result, true, "the waiting page receives the message");
    let outcome = shop.outcome().await;
    assert_eq!((&outcome["state"], &outcome["status"]), (&json!("dismissed"), &json!("requires_action")), "{outcome}");
}

async fn a_server_without_return_nonce_is_reported_once_on_the_console_with_the_remedy(engine: Engine) {
    let shop = Shop::open(engine, "no-nonce").await;
    shop.browser
        .run(
            "window.warnings = [];
             console.warn = (...words) => warnings.push(words.join(' '));
             const real = window.fetch;
             window.fetch = async (...request) => {
                 const reply = await real(...request);
                 if (!window.forgetful || !String(request[0].url ?? request[0]).endsWith('/guichet/intents')) return reply;
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
}

/// A customer with an order, on a page of the shop whose button `#buy` opens a popup.
struct Shop {
    browser: Browser,
    demo: DemoShop,
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
                 Object.assign(window, { statuses: [], request_count: 0, call_options: {}, hold: false, answer: undefined });
                 window.guichet = createGuichet({
                     baseUrl: shop.base_url, merchant: '/guichet', checkoutOrigins: shop.checkout_origins,
                     fetch: async (address, init) => {
                         if (!String(address).endsWith('/guichet/intents')) return fetch(address, init);
                         window.request_count++;
                         while (window.hold) await new Promise((go) => setTimeout(go, 20));
                         if (typeof answer === 'number') return new Response('{}', { status: answer });
                         return answer ? Response.json(answer) : fetch(address, init);
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
                     window.open = (...args) => { window.opened = true; return open.apply(window, args); };
                     const going = guichet.checkout({ order: { id } }, { mode: 'popup', onStatus: (status) => statuses.push(status), ...call_options });
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

    /// Clicks on `#buy`. Returns the popup.
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

    /// Closes the popup, and clicks in the shop. A customer has seen the popup longer than the shop's page takes to
    /// look at it.
    async fn close_the_popup(&self) {
        let popup = self.popup().await;
        self.browser.switch_to(&self.tab).await;
        self.browser.let_the_page_look().await;
        self.browser.switch_to(&popup).await;
        self.browser.close_tab_and_switch_to(&self.tab).await;
        // Without a window manager, closing a window gives no page the focus.
        self.browser.click("#shoes-title").await;
    }

    /// Waits until every popup is closed, and switches to the shop.
    async fn only_the_shop_is_open(&self) {
        until("every popup is closed", async || self.browser.tabs().await == [self.tab.clone()]).await;
        self.browser.switch_to(&self.tab).await;
    }

    async fn outcome(&self) -> Value {
        self.browser.run_async("return result").await
    }
}
