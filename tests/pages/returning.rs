//! Leaving by redirect and coming back: the button is never stuck, and a return is read the same however the page is made
//! and however often it asks.

use crate::support::browser::Browser;
use crate::support::demo_shop::DemoShop;
use crate::support::engine::{Engine, in_every_browser};
use serde_json::{Value, json};
use tokio::net::TcpListener;

const FIRST: &str = "0123456789abcdefghijAA";
const SECOND: &str = "0123456789abcdefghijBB";

in_every_browser!(
    a_page_that_is_shown_again_settles_its_checkout_by_what_is_true,
    a_navigation_that_was_stopped_is_begun_again_by_the_next_click,
    two_clicks_ask_once_and_each_calls_off_its_own,
    a_return_is_matched_once_and_every_call_gives_the_same_answer,
    two_purchases_come_back_in_either_order,
    a_return_in_a_new_tab_is_good_for_asking_ones_own_server,
    an_address_full_of_question_marks_is_read_at_once,
    a_router_keeps_its_state_and_its_route,
    what_a_service_appends_behind_a_second_question_mark_is_read,
    a_return_without_storage_is_unmatched_and_the_checkout_works,
);

async fn a_page_that_is_shown_again_settles_its_checkout_by_what_is_true(engine: Engine) {
    for (status, state) in [("requires_action", "dismissed"), ("processing", "pending"), ("succeeded", "succeeded")] {
        let page = Page::open(engine, "shown").await;
        page.leave(FIRST, "pi_1").await;
        assert_eq!(page.browser.run("return settled").await, false);
        page.browser.run(&format!("window.status_now = '{status}'")).await;
        page.browser.run("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))").await;
        let outcome = page.browser.run_async("return result").await;
        assert_eq!((&outcome["state"], &outcome["status"]), (&json!(state), &json!(status)), "{outcome}");
        assert_eq!(outcome["reference"]["id"], "pi_1");
        page.browser.close().await;
    }
}

async fn a_navigation_that_was_stopped_is_begun_again_by_the_next_click(engine: Engine) {
    let page = Page::open(engine, "stopped").await;
    page.leave(FIRST, "pi_1").await;
    page.browser.run("window.address = shop + '/return?arrived=1'").await;
    page.browser.run("pay({ nonce: '0123456789abcdefghijAA', id: 'pi_1' })").await;
    page.browser.wait_for_url("where it leads now", |url| url.query() == Some("arrived=1")).await;
    page.browser.close().await;
}

async fn two_clicks_ask_once_and_each_calls_off_its_own(engine: Engine) {
    let page = Page::open(engine, "joined").await;
    let result = page
        .browser
        .run_async(
            "window.hold = new Promise((go) => { window.let_go = go; });
             const [one, other] = [new AbortController(), new AbortController()];
             const of = { nonce: '0123456789abcdefghijAA', id: 'pi_1' };
             const said = [one, other].map(({ signal }) => pay(of, { signal }).catch((e) => e));
             while (!asked) await new Promise((go) => setTimeout(go, 10));
             one.abort('mine');
             const first = await said[0];
             // The one that goes on is the one that nobody called off.
             other.abort('mine too');
             return [first, await said[1], asked, signals.map(({ aborted }) => aborted)];",
        )
        .await;
    assert_eq!(result, json!(["mine", "mine too", 1, [true]]), "called off by all, it ends");
    let result = page
        .browser
        .run_async(
            "const one = new AbortController();
             const of = { nonce: '0123456789abcdefghijAA', id: 'pi_1' };
             const said = [pay(of, { signal: one.signal }), pay(of)].map((paying) => paying.catch((e) => e));
             while (asked < 2) await new Promise((go) => setTimeout(go, 10));
             one.abort('mine');
             const first = await said[0];
             window.status_now = 'succeeded';
             let_go();
             while (!sessionStorage.length) await new Promise((go) => setTimeout(go, 10));
             dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
             return [first, (await said[1]).state, asked, signals.at(-1).aborted];",
        )
        .await;
    assert_eq!(result[0], "mine");
    assert_eq!((&result[1], &result[2]), (&json!("succeeded"), &json!(2)), "who joined goes on: {result}");
    page.browser.close().await;
}

async fn a_return_is_matched_once_and_every_call_gives_the_same_answer(engine: Engine) {
    let page = Page::open(engine, "matched").await;
    page.leave(FIRST, "pi_1").await;
    let back = format!("/return?a=1&guichet_return={FIRST}&payment_intent=pi_1&payment_ref=gch_1&status=succeeded#end");
    // As React mounts a page twice, with a client each, and once more later.
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
    // The same address again, from the history or a bookmark.
    let replayed = page.come_back(&back, "return (await guichet.returned()).match").await;
    assert_eq!(replayed, "replayed");
    let forged = back.replace(FIRST, SECOND);
    assert_eq!(page.come_back(&forged, "return (await guichet.returned()).match").await, "unmatched");
    page.browser.close().await;
}

async fn two_purchases_come_back_in_either_order(engine: Engine) {
    let page = Page::open(engine, "two").await;
    page.leave(FIRST, "pi_1").await;
    page.leave(SECOND, "pi_2").await;
    for (nonce, id) in [(SECOND, "pi_2"), (FIRST, "pi_1")] {
        let back = format!("/return?guichet_return={nonce}&payment_intent={id}");
        let result = page.come_back(&back, "return guichet.returned()").await;
        assert_eq!((&result["match"], &result["reference"]["id"]), (&json!("matched"), &json!(id)), "{result}");
    }
    // One's nonce with the other's identifier is neither's.
    let mixed = format!("/return?guichet_return={FIRST}&payment_intent=pi_2");
    assert_eq!(page.come_back(&mixed, "return (await guichet.returned()).match").await, "unmatched");
    page.browser.close().await;
}

async fn a_return_in_a_new_tab_is_good_for_asking_ones_own_server(engine: Engine) {
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
    page.browser.close().await;
}

/// Anyone may send a customer to such an address. When the rest was searched again at every `?` this took minutes.
async fn an_address_full_of_question_marks_is_read_at_once(engine: Engine) {
    let page = Page::open(engine, "marks").await;
    let result = page
        .browser
        .run_async(
            "const marks = '?'.repeat(500_000);
             history.replaceState(null, '', '/return?q=' + marks);
             const nobody = await guichet.returned();
             history.replaceState(null, '', '/return?payment_intent=pi_1&q=' + marks);
             const { reference } = await guichet.returned();
             return [nobody, reference.id, location.search.length];",
        )
        .await;
    assert_eq!(result, json!([null, "pi_1", "?q=".len() + 500_000]));
    page.browser.close().await;
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
                 return [match !== 'unmatched', reference.id, history.state, history.length - length,
                         location.href.slice(location.origin.length)];",
            )
            .await;
        assert_eq!(result, json!([true, "pi_1", { "router": { "key": 7 } }, 0, clean]));
    }
    page.browser.close().await;
}

async fn what_a_service_appends_behind_a_second_question_mark_is_read(engine: Engine) {
    let page = Page::open(engine, "second").await;
    page.leave(FIRST, "pi_1").await;
    let back = format!("/return?order=17&guichet_return={FIRST}?payment_intent=pi_1&status=succeeded");
    let result = page.come_back(&back, "return [(await guichet.returned()).match, location.search]").await;
    assert_eq!(result, json!(["matched", "?order=17"]));
    page.browser.close().await;
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
        page.browser.close().await;
    }
}

/// A page of the shop's, whose server answers what the test says, and a hosted page that answers with no content: the
/// navigation ends, and the customer is where they were.
struct Page {
    demo: DemoShop,
    browser: Browser,
}

impl Page {
    async fn open(engine: Engine, scenario: &'static str) -> Self {
        let demo = DemoShop::open().await;
        let browser = engine.start(scenario).await;
        browser.open(demo.shop.url()).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let silent = format!("http://{}", listener.local_addr().unwrap());
        let nothing = axum::Router::new().fallback(async || axum::http::StatusCode::NO_CONTENT);
        tokio::spawn(async move { axum::serve(listener, nothing).await });
        Self::prepare(&demo, &browser, &silent).await;
        Self { demo, browser }
    }

    async fn prepare(demo: &DemoShop, browser: &Browser, silent: &str) {
        let created = browser
            .run_async(&format!(
                "const {{ createGuichet }} = await import('/package/guichet.js');
                 Object.assign(window, {{ asked: 0, signals: [], hold: null, settled: false, status_now: 'requires_action',
                     address: '{silent}/never', shop: '{}' }});
                 window.make = () => createGuichet({{
                     baseUrl: 'https://api.example', checkoutOrigins: ['{silent}', shop].filter(Boolean),
                     merchant: {{
                         intent: async ({{ nonce, id }}, {{ signal }}) => {{
                             window.asked++;
                             signals.push(signal);
                             await hold;
                             return {{ intent: {{ id, payment_ref: 'gch_' + id.slice(3), checkout_url: address }}, return_nonce: nonce }};
                         }},
                         status: async () => ({{ status: status_now }}),
                     }},
                 }});
                 window.guichet = make();
                 window.pay = (order, how) => {{
                     window.result = guichet.checkout({{ order }}, how).finally(() => {{ window.settled = true; }});
                     return window.result;
                 }};
                 return true;",
                demo.shop.url().trim_end_matches('/')
            ))
            .await;
        assert_eq!(created, true);
    }

    /// Leaves for the hosted page, and stays.
    async fn leave(&self, nonce: &str, id: &str) {
        let script = format!(
            "window.asked = 0;
             pay({{ nonce: '{nonce}', id: '{id}' }}).catch((e) => {{ window.result = {{ rejected: String(e) }}; }});
             const left = () => {{ try {{ return sessionStorage.getItem('guichet.return.{nonce}'); }} catch {{ return asked; }} }};
             while (!left()) await new Promise((go) => setTimeout(go, 10));
             return true;"
        );
        assert_eq!(self.browser.run_async(&script).await, true);
    }

    /// Comes to an address of the shop's within the page, as a router has it, and asks.
    async fn come_back(&self, address: &str, ask: &str) -> Value {
        self.browser
            .run_async(&format!(
                "stop(); history.replaceState({{ router: {{ key: 7 }} }}, '', {}); {ask}",
                json!(address)
            ))
            .await
    }
}
