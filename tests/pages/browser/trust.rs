//! Known faults of other packages, tried on this one: a forged success, the reply of another payment, a loop that
//! overloads a failing service, a request to a third party.

use crate::support::demo_shop::DemoShop;
use crate::support::engine::{Engine, in_chromium, in_every_browser};
use crate::support::site::{CannedResponse, Site};
use crate::support::storefront::{INTENTS, Storefront};
use axum::Router;
use guichet::operations::Instrument;
use guichet::values::{IntentId, Phone};
use serde_json::{Value, json};
use std::time::Duration;

in_every_browser!(a_message_from_another_page_makes_no_payment_succeed);

// The same in every engine: rules of the service, and code that depends on no engine.
in_chromium!(
    a_purchase_sends_requests_only_to_the_shop_and_the_service,
    the_reply_of_one_payment_is_never_used_for_another,
    a_failing_service_is_called_a_few_times_with_growing_pauses,
    a_page_that_is_mounted_twice_is_notified_once_per_mount,
);

/// Creates the payment of an order as a page does, and stores the ticket.
const ORDER: &str = "const ordered = async (id) => (await (await fetch('/guichet/intents', {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ id }),
})).json());";

async fn a_message_from_another_page_makes_no_payment_succeed(engine: Engine) {
    let shop = Storefront::open().await;
    let evil = Site::open(Router::new()).await;
    evil.respond(
        "/forger",
        CannedResponse::html(
            "<!doctype html><script>
             const forged = [
                 { name: 'PAYMENT_SUCCESS', data: { transactionId: 'FORGED' } }, { state: 'succeeded' }, { status: 'succeeded' },
                 'succeeded', JSON.stringify({ status: 'succeeded' }), { match: 'matched', reference: { id: 'pi_forged' } },
             ];
             const names = new URLSearchParams(location.search).getAll('name');
             setInterval(() => {
                 for (const message of forged) {
                     parent.postMessage(message, '*');
                     for (const name of names) new BroadcastChannel(name).postMessage(message);
                 }
             }, 50);
             </script>",
        ),
    );
    let browser = engine.start("forged").await;
    shop.visit(&browser, "{}").await;
    let result = browser
        .run_async(&format!(
            "{ORDER}
             const {{ intent, return_nonce }} = await ordered('17');
             const heard = [];
             let messages = 0;
             addEventListener('message', () => messages++);
             const frame = document.createElement('iframe');
             frame.src = `{}/forger?name=guichet&name=guichet.return.${{return_nonce}}`;
             document.body.append(frame);
             while (!messages) await new Promise((go) => setTimeout(go, 20));
             messages = 0;
             const outcome = await guichet.waitForOutcome({{ payment_ref: intent.payment_ref }}, {{ budgetMs: 3000, onStatus: (status) => heard.push(status) }});
             return [outcome.state, heard, messages > 10]",
            evil.url()
        ))
        .await;
    assert_eq!(result, json!(["pending", ["requires_action"], true]));
}

async fn the_reply_of_one_payment_is_never_used_for_another(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start_with_proxy("another").await;
    shop.visit(&browser, "{}").await;
    let orders =
        browser.run_async(&format!("{ORDER} return [(await ordered('B')).intent, (await ordered('C')).intent]")).await;
    pay(&shop, &orders[0]).await;
    let wait = |intent: &Value| {
        format!(
            "return await guichet.waitForOutcome({{ payment_ref: {} }}, {{ budgetMs: 1500 }})",
            intent["payment_ref"]
        )
    };
    assert_eq!(browser.run_async(&wait(&orders[0])).await["state"], "succeeded");

    browser.proxy().disconnect();
    let result = browser.run_async(&wait(&orders[1])).await;

    assert_eq!((&result["state"], &result["status"]), (&json!("pending"), &Value::Null), "{result}");
    assert_eq!(result["reference"]["payment_ref"], orders[1]["payment_ref"]);
}

async fn a_failing_service_is_called_a_few_times_with_growing_pauses(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start_with_proxy("trouble").await;
    shop.visit(&browser, "{ onCall: () => window.calls++ }").await;
    let intent = browser.run_async(&format!("{ORDER} return (await ordered('17')).intent")).await;
    let path = format!("{INTENTS}/{}", intent["payment_ref"].as_str().unwrap());
    let wait = format!(
        "return await guichet.waitForOutcome({{ payment_ref: {} }}, {{ budgetMs: 6000 }})",
        intent["payment_ref"]
    );

    shop.respond(&path, CannedResponse::html("<h1>Bad gateway</h1>").status(502));
    let result = browser.run_async(&wait).await;
    assert_eq!(result["state"], "pending", "{result}");
    let requests = shop.requests(&path).len();
    // Four reads in six seconds, each of at most four attempts, and one more at the end.
    assert!((3..=24).contains(&requests), "{requests} requests in six seconds");

    browser.proxy().disconnect();
    browser.run("window.calls = 0").await;
    let result = browser.run_async(&wait).await;
    assert_eq!(result["state"], "pending", "{result}");
    let tried = browser.run("return calls").await.as_u64().unwrap();
    assert!((3..=24).contains(&tried), "{tried} attempts in six seconds");
}

/// As under React's StrictMode: mounted, cleaned up and mounted again.
async fn a_page_that_is_mounted_twice_is_notified_once_per_mount(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "twice").await;
    let intent = browser.run_async(&format!("{ORDER} return (await ordered('17')).intent")).await;
    pay(&shop, &intent).await;
    let result = browser
        .run_async(&format!(
            "const statuses = [];
             const mount = (name) => {{
                 const controller = new AbortController();
                 const unsubscribe = guichet.session.subscribe((state) => statuses.push(`${{name}} ${{state}}`));
                 const outcome = guichet.waitForOutcome({{ payment_ref: {} }}, {{
                     signal: controller.signal, onStatus: (status) => statuses.push(`${{name}} ${{status}}`),
                 }}).then(({{ state }}) => state, ({{ name }}) => name);
                 return {{ outcome, clean: () => (unsubscribe(), controller.abort()) }};
             }};
             const first = mount('first');
             first.clean();
             const second = mount('second');
             const outcomes = [await first.outcome, await second.outcome];
             await guichet.session.validate();
             return [outcomes, statuses]",
            intent["payment_ref"]
        ))
        .await;
    assert_eq!(result, json!([["AbortError", "succeeded"], ["second succeeded", "second active"]]));
}

async fn a_purchase_sends_requests_only_to_the_shop_and_the_service(engine: Engine) {
    let demo = DemoShop::open().await;
    let browser = engine.start_with_proxy("third-party").await;
    demo.fill_a_basket_and_leave_for_the_hosted_page(&browser).await;
    demo.pay_by_phone(&browser, "237670000000").await;
    browser.wait_for("[data-status='succeeded']").await;
    browser.click("[data-test='leave']").await;
    browser.wait_for("[data-test='outcome'][data-state='paid']").await;
    // What the page sends when it is left counts, too.
    browser.open("about:blank").await;

    let known = [demo.shop.url(), demo.merchant.base_url()];
    let requests = browser.proxy().requests();
    assert!(known.iter().all(|origin| requests.iter().any(|request| request.origin == *origin)), "the proxy was used");
    let others: Vec<_> = requests.iter().filter(|request| !known.contains(&request.origin.as_str())).collect();
    // The browser's own requests, to its maker's hosts.
    let others: Vec<_> =
        others.iter().filter(|request| !MAKERS.iter().any(|maker| request.origin.contains(maker))).collect();
    assert_eq!(others.len(), 0, "{others:?}");
}

const MAKERS: [&str; 6] = ["mozilla.", "firefox.", "google.", "googleapis.", "gvt1.", "gvt2."];

async fn pay(shop: &Storefront, intent: &Value) {
    let instrument = Instrument::mobile_money(Phone::new("237670000000").unwrap());
    let id = IntentId::new(intent["id"].as_str().unwrap()).unwrap();
    shop.client().attach_payment_method(&id, instrument).await.unwrap();
    tokio::time::timeout(Duration::from_secs(10), async {
        while shop.client().read_payment_intent(&id).await.unwrap().status.as_str() != "succeeded" {
            shop.tenant.clock().advance(1).await.unwrap();
        }
    })
    .await
    .expect("it is paid");
}
