//! `waitForOutcome`: it reads the status until there is an outcome or the budget is exhausted, reports each status once
//! and in order, and never takes a missing response for an outcome.

use crate::support::browser::Browser;
use crate::support::demo_shop::DemoShop;
use crate::support::engine::{Engine, in_chromium, in_every_browser};
use serde_json::{Value, json};

in_every_browser!(
    it_reads_at_once_when_there_may_be_news,
    a_hidden_tab_keeps_its_deadlines_and_reads_when_it_is_visible_again,
);

// The same in every engine: rules of the service, and code that depends on no engine.
in_chromium!(
    every_status_is_reported_once_in_order_and_none_after_a_final_one,
    an_error_while_waiting_is_pending_with_the_last_status_seen,
    a_change_of_the_devices_clock_neither_ends_nor_extends_the_wait,
    only_no_source_signed_out_and_the_callers_abort_reject,
    the_merchants_route_is_read_first_and_the_service_if_there_is_none,
);

async fn every_status_is_reported_once_in_order_and_none_after_a_final_one(engine: Engine) {
    let page = Page::open(engine, "in-order").await;
    let result = page
        .run(
            "const replies = ['requires_action', 'processing', 'processing', null, 'processing', 'requires_action', 'succeeded', 'failed'];
             const status = async () => {
                 hurry();
                 const status = replies.shift();
                 if (status === null) throw new Error('the server is down');
                 return { status };
             };
             const statuses = [];
             const guichet = client({ status });
             const onStatus = (status, outcome) => {
                 statuses.push(status === outcome.status ? status : 'another outcome');
                 throw new Error('the page is wrong');
             };
             const { state } = await guichet.waitForOutcome({ payment_ref: 'gch_1' }, { onStatus });
             await new Promise((go) => setTimeout(go, 100));
             return [state, statuses, replies];",
        )
        .await;
    let in_order = json!(["requires_action", "processing", "requires_action", "succeeded"]);
    assert_eq!(result, json!(["succeeded", in_order, ["failed"]]));
}

async fn an_error_while_waiting_is_pending_with_the_last_status_seen(engine: Engine) {
    let page = Page::open(engine, "pending").await;
    let result = page
        .run(
            "const last_payment_error = { code: 'payer_timeout', message: 'Too late.', approvable_until: 1795257900 };
             const known = { merchant_reference: 'ORDER-17', amount: '5000', amount_payable: '5100', approvable_until: 1795257900 };
             const status = async () => {
                 // The service's own object has the client secret, too.
                 if (!status.seen) return (status.seen = { status: 'requires_action', last_payment_error, ...known, client_secret: 's' });
                 throw new Error('the server is down');
             };
             const seen = await client({ status }).waitForOutcome({ reference: { payment_ref: 'gch_1' }, match: 'matched' }, { budgetMs: 1500 });
             const html = async () => new Response('<!doctype html>', { status: 200, headers: { 'content-type': 'text/html' } });
             const nothing = [];
             for (const fetch of [html, () => Promise.reject(new TypeError('no network')), async () => new Response('', { status: 502 })]) {
                 const guichet = client('/guichet', { fetch });
                 nothing.push(await guichet.waitForOutcome({ payment_ref: 'gch_1' }, { budgetMs: 400, timeoutMs: 300 }));
             }
             return [seen, ...nothing];",
        )
        .await;
    let reference = json!({ "payment_ref": "gch_1" });
    let declined = json!({ "code": "payer_timeout", "message": "Too late.", "approvable_until": 1_795_257_900 });
    let seen = json!({
        "state": "pending", "status": "requires_action", "reference": reference, "last_payment_error": declined,
        "approvable_until": 1_795_257_900, "merchant_reference": "ORDER-17", "amount": "5000", "amount_payable": "5100",
    });
    let nothing = json!({ "state": "pending", "reference": reference });
    assert_eq!(result, json!([seen, nothing, nothing, nothing]));
}

async fn a_change_of_the_devices_clock_neither_ends_nor_extends_the_wait(engine: Engine) {
    let page = Page::open(engine, "over").await;
    let result = page
        .run(
            "const { now } = Date;
             const outcomes = [];
             for (const [hours, of] of [[2, 'succeeded'], [-2, 'processing']]) {
                 let reads = 0;
                 const status = async () => {
                     reads += 1;
                     hurry();
                     if (reads === 1) Date.now = () => now() + hours * 3600000;
                     return { status: reads > 2 ? of : 'processing' };
                 };
                 const begun = performance.now();
                 const { state } = await client({ status }).waitForOutcome({ payment_ref: 'gch_1' }, { budgetMs: 2000 });
                 outcomes.push([state, reads > 1, performance.now() - begun < 10000]);
                 Date.now = now;
             }
             return outcomes;",
        )
        .await;
    assert_eq!(result, json!([["succeeded", true, true], ["pending", true, true]]));
}

async fn it_reads_at_once_when_there_may_be_news(engine: Engine) {
    let page = Page::open(engine, "news").await;
    let result = page
        .run(
            "const after = setTimeout.bind(window);
             // No timer of the client ends a pause, so a read that follows is caused by the event.
             window.setTimeout = () => 0;
             let reads = 0;
             const status = async () => ({ status: ++reads > 3 ? 'failed' : 'processing' });
             const going = client({ status }).waitForOutcome({ payment_ref: 'gch_1' });
             const news = [() => dispatchEvent(new Event('online')), () => document.dispatchEvent(new Event('visibilitychange')),
                 () => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))];
             for (const [index, happens] of news.entries()) {
                 while (reads <= index) await new Promise((go) => after(go, 5));
                 await new Promise((go) => after(go, 50));
                 happens();
             }
             const { state } = await going;
             window.setTimeout = after;
             return [state, reads];",
        )
        .await;
    assert_eq!(result, json!(["failed", 4]));
}

async fn a_hidden_tab_keeps_its_deadlines_and_reads_when_it_is_visible_again(engine: Engine) {
    let page = Page::open(engine, "hidden").await;
    let browser = &page.browser;
    page.run(
        "let visible_again = false;
         const set = setTimeout.bind(window);
         // Once the tab is visible again, no timer ends a pause.
         window.setTimeout = (work, ms) => set(() => visible_again || work(), ms);
         const after = (ms, value) => new Promise((go) => set(go, ms, value));
         // The time until the work ends. The timer of a later deadline ends after that of the work, however busy the
         // machine is.
         const since = async (work, deadline) => {
             const begun = Date.now();
             const end = Promise.race([work(), after(deadline, { state: 'too late' })]);
             return [await end.then(({ state }) => state, ({ kind }) => kind), Date.now() - begun];
         };
         const status = async () => ({ status: visible_again ? 'succeeded' : 'processing' });
         window.begin = async () => {
             window.until_paid = client({ status }).waitForOutcome({ payment_ref: 'gch_1' });
             const begun = Date.now();
             for (let ticks = 0; ticks < 4; ticks++) await after(10);
             const ticked = Date.now() - begun;
             const never = () => new Promise(() => {});
             const call = await since(() => client(undefined, { fetch: never }).paymentMethods({}, { timeoutMs: 1500 }), 5000);
             const wait = await since(() => client({ status }).waitForOutcome({ payment_ref: 'gch_1' }, { budgetMs: 5000 }), 10000);
             localStorage.statuses = JSON.stringify([ticked, call, wait]);
         };
         document.addEventListener('visibilitychange', () => {
             if (document.hidden) begin();
             else visible_again = true;
         });",
    )
    .await;
    let first = browser.current_tab().await;
    browser.open_tab().await;
    browser.open(page.demo.shop.url()).await;
    if engine == Engine::WebKit {
        // WebKit's driver hides no tab, so this test runs with a visible one.
        browser.switch_to(&first).await;
        assert_eq!(browser.run("if (!document.hidden) begin(); return document.hidden").await, false);
    }
    let result = browser
        .run_async(
            "while (!('statuses' in localStorage)) await new Promise((go) => setTimeout(go, 50));
             return JSON.parse(localStorage.statuses);",
        )
        .await;
    let ms = |value: &Value| value.as_u64().unwrap();
    // Under its driver, Chromium hides a tab but does not throttle its timers, and WebKit does neither.
    assert!(engine != Engine::Firefox || ms(&result[0]) > 1000, "the hidden tab's timers are throttled: {result}");
    assert_eq!((&result[1][0], &result[2][0]), (&json!("timeout"), &json!("pending")), "{result}");
    assert!(ms(&result[1][1]) >= 1490 && ms(&result[2][1]) >= 4700, "no sooner than they may: {result}");
    if engine != Engine::WebKit {
        browser.close_tab_and_switch_to(&first).await;
        let result = browser.run_async("return (await until_paid).state").await;
        assert_eq!(result, "succeeded", "it reads when the tab is visible");
    }
}

async fn only_no_source_signed_out_and_the_callers_abort_reject(engine: Engine) {
    let page = Page::open(engine, "rejects").await;
    let result = page
        .run(
            "const of = { payment_ref: 'gch_1' };
             const kind = (going) => going.then(({ state }) => state, (e) => e.kind ?? String(e));
             const off = new AbortController();
             const status = async () => { setTimeout(() => off.abort('enough'), 20); return { status: 'processing' }; };
             const route = (status, body) => ({ fetch: async () => new Response(body ?? '{}', { status }) });
             return Promise.all([
                 kind(client(undefined).waitForOutcome(of)),
                 kind(client({ intent: async () => ({}) }).waitForOutcome({ id: 'pi_1' })),
                 kind(client('/guichet', route(401)).waitForOutcome(of)),
                 kind(client({ status }).waitForOutcome(of, { signal: off.signal })),
                 kind(client({ status }).waitForOutcome(of, { signal: AbortSignal.abort('before') })),
                 kind(client('/guichet', route(500)).waitForOutcome(of, { budgetMs: 400, timeoutMs: 300 })),
                 kind(client('/guichet', route(429)).waitForOutcome(of, { budgetMs: 400, timeoutMs: 300 })),
             ]);",
        )
        .await;
    let kinds = ["unsupported", "unsupported", "signed_out", "enough", "before", "pending", "pending"];
    assert_eq!(result, json!(kinds));
}

async fn the_merchants_route_is_read_first_and_the_service_if_there_is_none(engine: Engine) {
    let page = Page::open(engine, "sources").await;
    let result = page
        .run(
            "const requests = [];
             const answer = (status, body) => new Response(JSON.stringify(body), { status });
             const merchant_has_it = async (url) => {
                 requests.push(new URL(url, location).pathname);
                 return answer(200, { data: { status: 'succeeded' } });
             };
             const only_the_service_has_it = async (url) => {
                 const { pathname } = new URL(url, location);
                 requests.push(pathname);
                 if (pathname.endsWith('/session')) return answer(200, { session_token: 'cst_test_1', expires_at: '2099-01-01T00:00:00Z' });
                 return pathname.startsWith('/guichet') ? answer(404, {}) : answer(200, { data: { status: 'failed' } });
             };
             const of = { id: 'pi_1', payment_ref: 'gch/1' };
             const states = [];
             for (const fetch of [merchant_has_it, only_the_service_has_it]) {
                 states.push((await client('/guichet', { fetch }).waitForOutcome(of)).state);
             }
             return [states, requests];",
        )
        .await;
    let requests =
        ["/guichet/intents/gch%2F1", "/guichet/intents/gch%2F1", "/guichet/session", "/v1/payment-intents/pi_1"];
    assert_eq!(result, json!([["succeeded", "failed"], requests]));
}

/// A page of the shop, on which the test creates clients.
struct Page {
    browser: Browser,
    demo: DemoShop,
}

impl Page {
    async fn open(engine: Engine, scenario: &'static str) -> Self {
        let demo = DemoShop::open().await;
        let browser = engine.start(scenario).await;
        browser.open(demo.shop.url()).await;
        Self { browser, demo }
    }

    async fn run(&self, script: &str) -> Value {
        self.browser
            .run_async(&format!(
                "const {{ createGuichet }} = await import('/package/guichet.js');
                 const client = (merchant, more) => createGuichet({{ baseUrl: 'https://api.example', merchant, ...more }});
                 // `online` ends the pause between two reads.
                 const hurry = () => setTimeout(() => dispatchEvent(new Event('online')), 20);
                 {script}"
            ))
            .await
    }
}
