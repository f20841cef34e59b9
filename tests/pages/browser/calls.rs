//! The end of a call: at its deadline, when it is aborted, when the page goes away. And the error that each failure
//! becomes.

use crate::support::browser::until;
use crate::support::engine::{Engine, in_chromium, in_every_browser};
use crate::support::site::CannedResponse;
use crate::support::storefront::{INTENTS, SESSION, Storefront};
use guichet::operations::{CalculateFee, ListPaymentMethods};
use guichet_sandbox::Fault;
use serde_json::json;
use std::time::Duration;

in_every_browser!(
    a_callers_abort_rejects_with_the_signals_own_reason,
    a_call_that_is_stopped_ends_at_the_network,
    a_lost_network_a_slow_one_and_a_refusal_are_distinct_errors,
    a_page_that_goes_away_leaves_nothing_running,
);

// The same in every engine: rules of the service, and code that depends on no engine.
in_chromium!(
    a_call_ends_at_its_deadline_with_a_timeout,
    a_read_that_was_dropped_truncated_or_lost_is_retried,
    a_deadline_holds_for_all_the_attempts_of_a_call_together,
    a_call_that_is_aborted_before_it_begins_sends_nothing,
    equal_reads_at_once_are_one_request,
    aborting_one_caller_of_a_shared_read_does_not_abort_the_others,
    a_429_waits_for_its_retry_after,
    a_retry_after_beyond_the_deadline_ends_the_call_at_once,
    html_in_place_of_json_is_an_error_that_keeps_the_reply,
    every_field_of_a_refusal_is_in_the_error,
    monitoring_gets_every_request_and_no_secret,
);

const FEE: &str = "guichet.fee({ payment_method: 'mobile_money', currency: 'XAF', amount: '5000' }";
/// Returns the fields of a promise's error, and the milliseconds until it was rejected. A call that has not ended when
/// a timer of `latest` milliseconds fires is too late. A busy machine delays that timer, too.
const OUTCOME: &str = "const outcome = async (work, latest = 20000) => {
    const began = performance.now();
    const too_late = new Promise((go) => setTimeout(go, latest, { kind: 'too late' }));
    const ended = work().then(() => ({ kind: 'resolved' }), ({ kind, retryable, status, code, name }) => ({ kind, retryable, status, code, name }));
    return { ...await Promise.race([ended, too_late]), ms: performance.now() - began };
};";

async fn a_call_ends_at_its_deadline_with_a_timeout(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "deadline").await;
    browser.run_async("await guichet.session.validate()").await;
    shop.tenant.fault(Fault::delay::<CalculateFee>(Duration::from_secs(30))).await;

    let result =
        browser.run_async(&format!("{OUTCOME} return await outcome(() => {FEE}, {{ timeoutMs: 400 }}), 5000)")).await;

    assert_eq!((&result["kind"], &result["retryable"]), (&json!("timeout"), &json!(true)), "{result}");
    assert!(result["ms"].as_f64().unwrap() >= 390.0, "{result}");
}

async fn a_deadline_holds_for_all_the_attempts_of_a_call_together(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start("attempts").await;
    // The first attempt is refused on the page, because a busy machine may take longer than the deadline allows.
    let busy = "{ fetch: async (address, init) => {
        if (!String(address).includes('/fee/')) return fetch(address, init);
        window.attempts = (window.attempts ?? 0) + 1;
        if (attempts > 1) return new Promise(() => {});
        return new Response('{}', { status: 503, headers: { 'retry-after': '1' } });
    } }";
    shop.visit(&browser, busy).await;
    browser.run_async("await guichet.session.validate()").await;

    let result =
        browser.run_async(&format!("{OUTCOME} return await outcome(() => {FEE}, {{ timeoutMs: 3000 }}), 3900)")).await;

    assert_eq!(result["kind"], "timeout", "{result}");
    assert!(result["ms"].as_f64().unwrap() >= 2990.0, "{result}");
    assert_eq!(browser.run("return attempts").await, 2);
}

async fn a_callers_abort_rejects_with_the_signals_own_reason(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start_with_proxy("abort").await;
    shop.visit(&browser, "{}").await;
    browser.run_async("await guichet.session.validate()").await;
    browser.proxy().stall();

    let result = browser
        .run_async(&format!(
            "const reason = {{ message: 'the customer has left' }};
             const controller = new AbortController();
             const call = {FEE}, {{ signal: controller.signal }}).then(() => 'resolved', (error) => error === reason);
             setTimeout(() => controller.abort(reason), 100);
             const plain = new AbortController();
             const other = guichet.paymentMethods({{}}, {{ signal: plain.signal }}).catch(({{ name }}) => name);
             setTimeout(() => plain.abort(), 100);
             return [await call, await other]"
        ))
        .await;

    assert_eq!(result, json!([true, "AbortError"]));
    browser.proxy().reconnect();
    assert_eq!(
        browser.run_async(&format!("return (await {FEE})).currency")).await,
        "XAF",
        "the client can be used further"
    );
}

async fn a_call_that_is_stopped_ends_at_the_network(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "stopped").await;
    const METHODS: &str = "/pay/v1/payment-methods";
    let never = CannedResponse::default().after(Duration::from_secs(600));
    for (path, call) in [
        (METHODS, "createGuichet({ ...options, baseUrl: '/pay', publicReads: 'anonymous' }).paymentMethods({}, how)"),
        (INTENTS, "guichet.checkout({ order: { id: '17' } }, how)"),
    ] {
        shop.respond(path, never.clone());
        browser
            .run_async(&format!(
                "window.stop_it = new AbortController();
                 const how = {{ signal: stop_it.signal }};
                 window.stopped = {call}.catch((e) => e);"
            ))
            .await;
        until("the call has started", async || !shop.requests(path).is_empty()).await;
        assert_eq!(shop.given_up(path), 0, "{path}");
        assert_eq!(browser.run_async("stop_it.abort('enough'); return stopped").await, "enough");
        until("the call has ended at the network", async || shop.given_up(path) == 1).await;
    }
}

async fn a_call_that_is_aborted_before_it_begins_sends_nothing(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "too-early").await;
    let result = browser
        .run_async(&format!(
            "const reason = new Error('never mind');
             return await {FEE}, {{ signal: AbortSignal.abort(reason) }}).then(() => 'resolved', (error) => error === reason)"
        ))
        .await;
    assert_eq!(result, true);
    assert_eq!((shop.requests(SESSION).len(), shop.tenant.requests().await.len()), (0, 0));
}

async fn aborting_one_caller_of_a_shared_read_does_not_abort_the_others(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start("shared").await;
    let held = "{ fetch: async (address, init) => { await window.hold?.(); return fetch(address, init); } }";
    shop.visit(&browser, held).await;
    browser.run_async("await guichet.session.validate()").await;
    let result = browser
        .run_async(&format!(
            "let release;
             const held = new Promise((go) => {{ release = go; }});
             const begun = new Promise((go) => {{ window.hold = () => (go(), held); }});
             const leaving = new AbortController();
             const first = {FEE}, {{ signal: leaving.signal }}).catch(({{ name }}) => name);
             const second = {FEE}).then(({{ currency }}) => currency, ({{ name }}) => name);
             await begun;
             leaving.abort();
             const left = await first;
             release();
             return [left, await second]"
        ))
        .await;
    assert_eq!(result, json!(["AbortError", "XAF"]));
    assert_eq!(shop.count("calculate_fee").await, 1);
}

async fn a_lost_network_a_slow_one_and_a_refusal_are_distinct_errors(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start_with_proxy("offline").await;
    shop.visit(&browser, "{}").await;
    browser.run_async("await guichet.session.validate()").await;
    let call = format!("{OUTCOME} return await outcome(() => {FEE}))");

    browser.proxy().disconnect();
    let result = browser.run_async(&call).await;
    assert_eq!((&result["kind"], &result["retryable"]), (&json!("offline"), &json!(true)), "{result}");

    browser.proxy().stall();
    let result =
        browser.run_async(&format!("{OUTCOME} return await outcome(() => {FEE}, {{ timeoutMs: 3000 }}))")).await;
    assert_eq!((&result["kind"], &result["retryable"]), (&json!("timeout"), &json!(true)), "{result}");

    browser.proxy().reconnect();
    shop.tenant.fault(Fault::status::<CalculateFee>(403)).await;
    let result = browser.run_async(&call).await;
    assert_eq!(
        (&result["kind"], &result["status"], &result["retryable"]),
        (&json!("refused"), &json!(403), &json!(false)),
        "{result}"
    );
    assert_eq!(browser.run_async(&call).await["kind"], "resolved", "the next call succeeds");
}

async fn a_read_that_was_dropped_truncated_or_lost_is_retried(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "again").await;
    browser.run_async("await guichet.session.validate()").await;
    for fault in [
        Fault::drop::<ListPaymentMethods>(),
        Fault::truncate::<ListPaymentMethods>(),
        Fault::lost_response::<ListPaymentMethods>(),
        Fault::status::<ListPaymentMethods>(503),
    ] {
        shop.tenant.fault(fault.clone()).await;
        assert_eq!(browser.run_async("return (await guichet.paymentMethods()).length > 0").await, true, "{fault:?}");
        assert_eq!(shop.tenant.faults().await.len(), 0, "{fault:?} was used");
    }
}

async fn a_429_waits_for_its_retry_after(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "patient").await;
    browser.run_async("await guichet.session.validate()").await;
    shop.tenant.fault(Fault::status::<CalculateFee>(429).retry_after(1)).await;
    let result = browser.run_async(&format!("{OUTCOME} return await outcome(() => {FEE}))")).await;
    assert_eq!(result["kind"], "resolved", "{result}");
    assert!(result["ms"].as_f64().unwrap() >= 1000.0, "{result}");
    assert_eq!(shop.count("calculate_fee").await, 2);
}

async fn a_retry_after_beyond_the_deadline_ends_the_call_at_once(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "impatient").await;
    browser.run_async("await guichet.session.validate()").await;
    shop.tenant.fault(Fault::status::<CalculateFee>(429).retry_after(3600)).await;
    let result = browser.run_async(&format!("{OUTCOME} return await outcome(() => {FEE}))")).await;
    assert_eq!(
        (&result["kind"], &result["status"], &result["retryable"]),
        (&json!("refused"), &json!(429), &json!(true)),
        "{result}"
    );
    assert_eq!(shop.count("calculate_fee").await, 1);
}

async fn html_in_place_of_json_is_an_error_that_keeps_the_reply(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "html").await;
    browser.run_async("await guichet.session.validate()").await;
    shop.tenant.fault(Fault::malformed::<CalculateFee>().times(4)).await;
    let result = browser
        .run_async(&format!(
            "return await {FEE}).then(() => 'resolved', ({{ kind, operation, reply }}) => [kind, operation, typeof reply, /<html/i.test(reply)])"
        ))
        .await;
    assert_eq!(result, json!(["unreadable", "calculate_fee", "string", true]));
}

async fn every_field_of_a_refusal_is_in_the_error(engine: Engine) {
    let (_shop, browser) = Storefront::visited(engine, "refusal").await;
    let result = browser
        .run_async(
            "return await guichet.fee({ payment_method: 'mobile_money', currency: 'ZZZ', amount: '5000' }).catch((e) => ({
                is: GuichetError.is(e), error: Object.prototype.toString.call(e) === '[object Error]', kind: e.kind, status: e.status, code: e.code, operation: e.operation,
                named: typeof e.requestId === 'string', fields: e.fields, written: JSON.stringify(e), reply: e.reply?.status,
            }))",
        )
        .await;
    assert_eq!(
        (&result["is"], &result["error"], &result["kind"], &result["status"], &result["operation"], &result["named"]),
        (&json!(true), &json!(true), &json!("refused"), &json!(422), &json!("calculate_fee"), &json!(true)),
        "{result}"
    );
    assert!(result["code"].is_string() && !result["written"].as_str().unwrap().contains("cst_"), "{result}");
    assert!(result["fields"].as_array().unwrap().iter().any(|field| field["param"] == "currency"), "{result}");
}

async fn monitoring_gets_every_request_and_no_secret(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start("monitoring").await;
    shop.visit(&browser, "{ onCall: (call) => (window.heard ??= []).push(call) }").await;
    shop.tenant.fault(Fault::status::<CalculateFee>(503)).await;
    browser.run_async(&format!("await {FEE})")).await;
    browser.run_async("await guichet.session.revoke()").await;

    let heard = browser.run("return heard").await;
    let result: Vec<_> = heard
        .as_array()
        .unwrap()
        .iter()
        .map(|call| (call["operation"].clone(), call["attempt"].clone(), call["status"].clone(), call["kind"].clone()))
        .collect();
    assert_eq!(
        result,
        [
            (json!("merchant_session"), json!(1), json!(201), json!(null)),
            (json!("calculate_fee"), json!(1), json!(503), json!("refused")),
            (json!("calculate_fee"), json!(2), json!(200), json!(null)),
            (json!("revoke_session"), json!(1), json!(200), json!(null)),
        ],
        "{heard}"
    );
    let known: Vec<_> = shop
        .tenant
        .requests()
        .await
        .iter()
        .filter(|request| request.credential == "session_token")
        .map(|request| json!(request.request_id))
        .collect();
    for (call, id) in heard.as_array().unwrap()[1..].iter().zip(&known) {
        assert!(call["ms"].as_f64().unwrap() >= 0.0 && call["requestId"] == *id, "{call}, {id}");
    }
    let written = heard.to_string();
    assert!(!written.contains("cst_") && !written.contains("http"), "{written}");
}

async fn a_page_that_goes_away_leaves_nothing_running(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start("gone").await;
    shop.visit(&browser, "{}").await;
    browser.run_async("await guichet.session.validate()").await;
    shop.tenant.fault(Fault::status::<CalculateFee>(503).retry_after(1).times(9)).await;
    browser.run(&format!("void {FEE}).catch(() => {{}})")).await;
    until("the call has started", async || shop.count("calculate_fee").await > 0).await;

    browser.open(&format!("{}/elsewhere", shop.url())).await;

    let before = shop.count("calculate_fee").await;
    // Longer than two retries, each at least 1 s after the attempt before it, plus at most 0.5 and 1 s.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let after = shop.count("calculate_fee").await;
    assert!(after <= before + 1, "{before} requests, then {after}, of which one may have been running");
}

async fn equal_reads_at_once_are_one_request(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "equal").await;
    let answers = browser
        .run_async(&format!(
            "const reads = [...Array(5)].map(() => {FEE}));
             const methods = [...Array(5)].map(() => guichet.paymentMethods());
             const others = ['5001', '5002'].map((amount) => guichet.fee({{ payment_method: 'mobile_money', currency: 'XAF', amount }}));
             await Promise.all([...reads, ...methods, ...others]);
             return true"
        ))
        .await;
    assert_eq!(answers, true);
    assert_eq!((shop.count("calculate_fee").await, shop.count("list_payment_methods").await), (3, 1));

    browser.run_async(&format!("await {FEE})")).await;
    assert_eq!(shop.count("calculate_fee").await, 4, "a later read is another request");
}
