//! Leaving by redirect and returning: the pay button is never stuck, and every call on the return page gets the same
//! result.

use crate::support::browser::Browser;
use crate::support::demo_shop::DemoShop;
use crate::support::engine::{Engine, in_chromium, in_every_browser};
use serde_json::{Value, json};

const FIRST: &str = "0123456789abcdefghijAA";
const SECOND: &str = "0123456789abcdefghijBB";

in_every_browser!(
    a_page_that_is_shown_again_settles_its_checkout_by_the_actual_status,
    the_next_click_repeats_a_stopped_navigation,
    a_return_in_a_new_tab_is_good_only_for_reading_from_ones_own_server,
    a_router_keeps_its_state_and_its_route,
    a_return_without_storage_is_unmatched_and_the_checkout_works,
    a_return_stays_readable_for_its_history_entry,
    a_return_that_is_announced_twice_closes_no_tab,
);

// The same in every engine: code that depends on no engine.
in_chromium!(
    two_clicks_send_one_request_and_each_can_abort_its_own,
    a_return_is_matched_once_and_every_call_returns_the_same,
    two_purchases_can_return_in_either_order,
);

async fn a_page_that_is_shown_again_settles_its_checkout_by_the_actual_status(engine: Engine) {
    for (status, state) in [("requires_action", "dismissed"), ("processing", "pending"), ("succeeded", "succeeded")] {
        let page = Page::open(engine, "shown").await;
        page.leave(FIRST, "pi_1").await;
        assert_eq!(page.browser.run("return settled").await, false);
        page.browser.run(&format!("window.status_now = '{status}'")).await;
        page.browser.run("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))").await;
        let outcome = page.browser.run_async("return result").await;
        assert_eq!((&outcome["state"], &outcome["status"]), (&json!(state), &json!(status)), "{outcome}");
        assert_eq!(outcome["reference"]["id"], "pi_1");
    }
}

async fn the_next_click_repeats_a_stopped_navigation(engine: Engine) {
    let page = Page::open(engine, "stopped").await;
    page.leave(FIRST, "pi_1").await;
    page.browser.run("window.address = shop + '/return?arrived=1'").await;
    page.browser.run("pay({ nonce: '0123456789abcdefghijAA', id: 'pi_1' })").await;
    page.browser.wait_for_url("the address that the page follows", |url| url.query() == Some("arrived=1")).await;
}

async fn two_clicks_send_one_request_and_each_can_abort_its_own(engine: Engine) {
    let page = Page::open(engine, "joined").await;
    let result = page
        .browser
        .run_async(
            "window.hold = new Promise((go) => { window.let_go = go; });
             const [one, other] = [new AbortController(), new AbortController()];
             const of = { nonce: '0123456789abcdefghijAA', id: 'pi_1' };
             const calls = [one, other].map(({ signal }) => pay(of, { signal }).catch((e) => e));
             while (!request_count) await new Promise((go) => setTimeout(go, 10));
             one.abort('mine');
             const first = await calls[0];
             // The call that was not aborted continues.
             other.abort('mine too');
             return [first, await calls[1], request_count, signals.map(({ aborted }) => aborted)];",
        )
        .await;
    assert_eq!(result, json!(["mine", "mine too", 1, [true]]), "the request ends when every caller has aborted");
    let result = page
        .browser
        .run_async(
            "const one = new AbortController();
             const of = { nonce: '0123456789abcdefghijAA', id: 'pi_1' };
             const calls = [pay(of, { signal: one.signal }), pay(of)].map((paying) => paying.catch((e) => e));
             while (request_count < 2) await new Promise((go) => setTimeout(go, 10));
             one.abort('mine');
             const first = await calls[0];
             window.status_now = 'succeeded';
             let_go();
             while (!sessionStorage.length) await new Promise((go) => setTimeout(go, 10));
             dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
             return [first, (await calls[1]).state, request_count, signals.at(-1).aborted];",
        )
        .await;
    assert_eq!(result[0], "mine");
    assert_eq!((&result[1], &result[2]), (&json!("succeeded"), &json!(2)), "the second caller continues: {result}");
}

async fn a_return_is_matched_once_and_every_call_returns_the_same(engine: Engine) {
    let page = Page::open(engine, "matched").await;
    page.leave(FIRST, "pi_1").await;
    let back = format!("/return?a=1&guichet_return={FIRST}&payment_intent=pi_1&payment_ref=gch_1&status=succeeded#end");
    // Twice at once with two clients, as React's StrictMode does, and once more later.
    let result = page
        .come_back(
            &back,
            "const other = make();
             const [one, two] = await Promise.all([guichet.returned(), other.returned()]);
             return [one, two, await guichet.returned(), location.pathname + location.search + location.hash];",
        )
        .await;
    let matched = json!({ "match": "matched", "reference": { "id": "pi_1", "payment_ref": "gch_1" } });
    assert_eq!(result, json!([matched, matched, matched, "/return?a=1#end"]));
    assert_eq!(page.come_back("/elsewhere", "return guichet.returned()").await, Value::Null);
    // The same address a second time, from the history or a bookmark.
    let replayed = page.come_back(&back, "return (await guichet.returned()).match").await;
    assert_eq!(replayed, "replayed");
    let forged = back.replace(FIRST, SECOND);
    assert_eq!(page.come_back(&forged, "return (await guichet.returned()).match").await, "unmatched");
}

async fn two_purchases_can_return_in_either_order(engine: Engine) {
    let page = Page::open(engine, "two").await;
    page.leave(FIRST, "pi_1").await;
    page.leave(SECOND, "pi_2").await;
    for (nonce, id) in [(SECOND, "pi_2"), (FIRST, "pi_1")] {
        let back = format!("/return?guichet_return={nonce}&payment_intent={id}");
        let result = page.come_back(&back, "return guichet.returned()").await;
        assert_eq!((&result["match"], &result["reference"]["id"]), (&json!("matched"), &json!(id)), "{result}");
    }
    // The nonce of one with the id of the other matches neither.
    let mixed = format!("/return?guichet_return={FIRST}&payment_intent=pi_2");
    assert_eq!(page.come_back(&mixed, "return (await guichet.returned()).match").await, "unmatched");
}

async fn a_return_in_a_new_tab_is_good_only_for_reading_from_ones_own_server(engine: Engine) {
    let page = Page::open(engine, "new-tab").await;
    page.leave(FIRST, "pi_1").await;
    page.browser
        .in_another_tab(async || {
            let browser = &page.browser;
            browser.open(page.demo.shop.url()).await;
            Page::prepare(&page.demo, browser, "").await;
            let back = format!("/return?guichet_return={FIRST}&payment_intent=pi_1&payment_ref=gch_1");
            let result = page.come_back(&back, "return guichet.returned()").await;
            let expected = json!({ "match": "unmatched", "reference": { "id": "pi_1", "payment_ref": "gch_1" } });
            assert_eq!(result, expected);
            browser.run("window.status_now = 'succeeded'").await;
            let outcome = browser.run_async("return guichet.waitForOutcome(await guichet.returned())").await;
            assert_eq!(outcome["state"], "succeeded", "{outcome}");
        })
        .await;
}

async fn a_router_keeps_its_state_and_its_route(engine: Engine) {
    let page = Page::open(engine, "router").await;
    page.leave(FIRST, "pi_1").await;
    for (back, clean) in [
        (format!("/?guichet_return={FIRST}&payment_intent=pi_1#/return?tab=2"), "/#/return?tab=2"),
        (format!("/?guichet_return={FIRST}#/return?payment_intent=pi_1&status=succeeded"), "/#/return"),
        (format!("/app?a=1#/return?tab=2&guichet_return={FIRST}?payment_intent=pi_1"), "/app?a=1#/return?tab=2"),
    ] {
        let result = page
            .come_back(
                &back,
                "const length = history.length;
                 const { match, reference } = await guichet.returned();
                 const { guichetReturn, ...state } = history.state;
                 return [match !== 'unmatched', reference.id, state, history.length - length,
                         location.href.slice(location.origin.length)];",
            )
            .await;
        assert_eq!(result, json!([true, "pi_1", { "router": { "key": 7 } }, 0, clean]));
    }
}

async fn a_return_stays_readable_for_its_history_entry(engine: Engine) {
    let page = Page::open(engine, "reloaded").await;
    page.leave(FIRST, "pi_1").await;
    let back = format!("/?tab=2&guichet_return={FIRST}&payment_intent=pi_1&payment_ref=gch_1");
    let reference = json!({ "id": "pi_1", "payment_ref": "gch_1" });
    let first = page.come_back(&back, "return guichet.returned()").await;
    assert_eq!(first, json!({ "match": "matched", "reference": reference }));
    let again = json!({ "match": "replayed", "reference": reference });
    // A second copy of the package, and the page when it is loaded again.
    let copy = "const { createGuichet } = await import('/package//guichet.js');
        return createGuichet({ baseUrl: 'https://api.example' }).returned()";
    assert_eq!(page.browser.run_async(copy).await, again);
    page.browser.reload().await;
    Page::prepare(&page.demo, &page.browser, "").await;
    assert_eq!(page.browser.run_async("return guichet.returned()").await, again);
    assert_eq!(page.browser.run("return history.state.router").await, json!({ "key": 7 }));
    // Another address, also if a router takes the state along.
    let elsewhere = "history.replaceState(history.state, '', '/elsewhere'); return make().returned()";
    assert_eq!(page.browser.run_async(elsewhere).await, Value::Null);
    // A state that is no plain object is not changed.
    for state in ["'mine'", "[1]", "7"] {
        let script = format!(
            "history.replaceState({state}, '', '{}'); await guichet.returned(); return history.state",
            back.replace(FIRST, SECOND)
        );
        assert_eq!(page.browser.run_async(&script).await, page.browser.run(&format!("return {state}")).await);
    }
    // Of another tab: it stays unmatched.
    let forged = page.come_back(&back.replace(FIRST, SECOND), "return (await guichet.returned()).match").await;
    assert_eq!(forged, "unmatched");
    page.browser.reload().await;
    Page::prepare(&page.demo, &page.browser, "").await;
    assert_eq!(page.browser.run_async("return (await guichet.returned()).match").await, "unmatched");
}

/// As where a router restores the address, or where the customer opens the return page in two tabs.
async fn a_return_that_is_announced_twice_closes_no_tab(engine: Engine) {
    let page = Page::open(engine, "announced").await;
    let back = format!("/return?guichet_return={SECOND}&payment_intent=pi_1&payment_ref=gch_1");
    let result = page
        .come_back(
            &back,
            &format!(
                "window.closed_by_page = 0;
                 window.close = () => {{ closed_by_page++; }};
                 const channel = new BroadcastChannel('guichet.return.{SECOND}');
                 let announced = 0;
                 const twice = new Promise((go) => {{ channel.onmessage = () => {{ if (++announced === 2) go(); }}; }});
                 const {{ match }} = await guichet.returned();
                 history.replaceState(null, '', '{back}');
                 const again = await guichet.returned();
                 await twice;
                 await new Promise((go) => setTimeout(go, 300));
                 const without_answer = closed_by_page;
                 channel.postMessage('awaited');
                 while (closed_by_page < 2) await new Promise((go) => setTimeout(go, 10));
                 return [match, again.match, without_answer];"
            ),
        )
        .await;
    assert_eq!(result, json!(["unmatched", "unmatched", 0]));
}

async fn a_return_without_storage_is_unmatched_and_the_checkout_works(engine: Engine) {
    let forbidden = "Object.defineProperty(window.wrappedJSObject ?? window, 'sessionStorage', { get() { throw new DOMException('no', 'SecurityError'); } });";
    for lost in ["sessionStorage.clear()", forbidden] {
        let page = Page::open(engine, "storage").await;
        if lost == forbidden {
            page.browser.run(lost).await;
        }
        page.leave(FIRST, "pi_1").await;
        page.browser.run(lost).await;
        let back = format!("/return?guichet_return={FIRST}&payment_intent=pi_1&payment_ref=gch_1");
        let result =
            page.come_back(&back, "return [await guichet.returned(), await guichet.returned(), location.search]").await;
        let expected = json!({ "match": "unmatched", "reference": { "id": "pi_1", "payment_ref": "gch_1" } });
        assert_eq!(result, json!([expected, expected, ""]));
    }
}

/// A page of the shop whose server responds as the test sets, and a hosted page that responds with 204: the navigation
/// ends, and the customer stays on the shop's page.
struct Page {
    browser: Browser,
    demo: DemoShop,
}

impl Page {
    async fn open(engine: Engine, scenario: &'static str) -> Self {
        let demo = DemoShop::open().await;
        let browser = engine.start(scenario).await;
        browser.open(demo.shop.url()).await;
        let nothing = axum::Router::new().fallback(async || axum::http::StatusCode::NO_CONTENT);
        let silent = crate::support::http::serve(nothing).await;
        Self::prepare(&demo, &browser, &silent).await;
        Self { demo, browser }
    }

    async fn prepare(demo: &DemoShop, browser: &Browser, silent: &str) {
        let created = browser
            .run_async(&format!(
                "const {{ createGuichet }} = await import('/package/guichet.js');
                 Object.assign(window, {{ request_count: 0, signals: [], hold: null, settled: false, status_now: 'requires_action',
                     address: '{silent}/never', shop: '{}' }});
                 window.make = () => createGuichet({{
                     baseUrl: 'https://api.example', checkoutOrigins: ['{silent}', shop].filter(Boolean),
                     merchant: {{
                         intent: async ({{ nonce, id }}, {{ signal }}) => {{
                             window.request_count++;
                             signals.push(signal);
                             await hold;
                             return {{ intent: {{ id, payment_ref: 'gch_' + id.slice(3), checkout_url: address }}, return_nonce: nonce }};
                         }},
                         status: async () => ({{ status: status_now }}),
                     }},
                 }});
                 window.guichet = make();
                 window.pay = (order, options) => {{
                     window.result = guichet.checkout({{ order }}, options).finally(() => {{ window.settled = true; }});
                     return window.result;
                 }};
                 return true;",
                demo.shop.url().trim_end_matches('/')
            ))
            .await;
        assert_eq!(created, true);
    }

    /// Starts a redirect to the hosted page, which stays on this page.
    async fn leave(&self, nonce: &str, id: &str) {
        let script = format!(
            "window.request_count = 0;
             pay({{ nonce: '{nonce}', id: '{id}' }}).catch((e) => {{ window.result = {{ rejected: String(e) }}; }});
             const left = () => {{ try {{ return sessionStorage.getItem('guichet.return.{nonce}'); }} catch {{ return request_count; }} }};
             while (!left()) await new Promise((go) => setTimeout(go, 10));
             return true;"
        );
        assert_eq!(self.browser.run_async(&script).await, true);
    }

    /// Changes the address within the page, as a router does, and runs a script there.
    async fn come_back(&self, address: &str, script: &str) -> Value {
        self.browser
            .run_async(&format!(
                "stop(); history.replaceState({{ router: {{ key: 7 }} }}, '', {}); {script}",
                json!(address)
            ))
            .await
    }
}
