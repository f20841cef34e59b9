//! Sessions in a page: renewed before they expire and after a 401, one renewal at a time, and ended in every tab by a
//! sign-out.

use crate::support::browser::until;
use crate::support::engine::{Engine, in_chromium, in_every_browser};
use crate::support::site::CannedResponse;
use crate::support::storefront::{CUSTOMER, INTENTS, RETURN, SESSION, Storefront};
use guichet::operations::ListPaymentIntents;
use guichet::values::IntentStatus;
use guichet_sandbox::Config;
use serde_json::{Value, json};
use std::time::Duration;

in_every_browser!(
    a_sign_out_is_final_in_every_tab_and_at_the_service,
    a_session_requested_while_loading_is_requested_again_after_a_sign_out_in_another_tab,
);

// The same in every engine: rules of the service, and code that depends on no engine.
in_chromium!(
    a_call_requests_the_session_while_the_wasm_is_loading,
    a_call_that_gets_401_renews_the_session_once_and_is_retried,
    a_second_401_is_an_error_and_not_renewed_again,
    twenty_concurrent_calls_request_one_session,
    a_session_requested_before_a_sign_out_is_not_used_after_it,
    a_session_requested_before_a_sign_in_is_not_used_after_renew,
    a_session_requested_while_loading_is_not_used_after_renew,
    the_page_is_notified_of_its_sessions_state,
    an_expiring_session_is_reported_and_renewed_before_use,
    a_wrong_clock_of_the_device_does_not_shorten_a_session,
    every_documented_shape_of_a_session_reply_is_accepted,
    a_guest_is_signed_out_and_the_session_route_is_not_called_again,
    html_in_place_of_a_session_is_an_error_that_says_so,
    a_refused_session_keeps_the_merchants_reply,
    the_pages_own_headers_go_only_to_the_merchant,
    a_guest_needs_no_session_for_public_reads,
    a_guest_reads_prices_from_the_merchant_whose_key_the_service_wants,
    a_guest_buys_from_the_first_click_to_the_end_without_a_session,
    a_call_that_needs_no_session_requests_none_while_loading,
    a_session_that_fails_while_loading_is_requested_again_as_later,
    a_session_requested_while_loading_is_for_the_calls_that_wait_for_it,
    a_session_requested_while_loading_is_not_used_after_a_sign_out,
);

const WASM: &str = "/package/core/guichet_core_bg.wasm";
/// Creates a client whose wasm is loaded only after `release()`, and records the requests of the page.
const HELD: &str = "
    const real = window.fetch;
    window.sent = [];
    window.fetch = (address, init) => {
        const request = new Request(address, init);
        sent.push(request.clone());
        return real(request);
    };
    const held = new Promise((go) => { window.release = () => go(real('/package/core/guichet_core_bg.wasm')); });
    const kind = (call) => call.then(() => 'resolved', (e) => e.kind);
    const create = (more) => createGuichet({ ...options, wasm: held, ...more });";

async fn a_call_that_gets_401_renews_the_session_once_and_is_retried(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "renewal").await;
    assert_eq!(browser.run_async("return (await guichet.paymentMethods()).length > 0").await, true);

    shop.end_sessions().await;
    assert_eq!(browser.run_async("return (await guichet.paymentMethods()).length > 0").await, true);

    assert_eq!(shop.requests(SESSION).len(), 2, "one session and one renewal");
    let requests = shop.tenant.requests().await;
    let answers: Vec<_> =
        requests.iter().filter(|call| call.operation == "list_payment_methods").map(|call| call.status).collect();
    assert_eq!(answers, [Some(200), Some(401), Some(200)]);
}

async fn a_second_401_is_an_error_and_not_renewed_again(engine: Engine) {
    let shop = Storefront::open().await;
    let session = shop.session().await;
    shop.end_sessions().await;
    shop.respond(SESSION, CannedResponse::json(&session));
    let browser = engine.start("stale").await;
    shop.visit(&browser, "{}").await;

    let result = browser.run_async("return await guichet.paymentMethods()").await;

    assert_eq!(result["rejected"]["kind"], "session", "{result}");
    assert_eq!((shop.requests(SESSION).len(), shop.count("list_payment_methods").await), (2, 2));
}

async fn twenty_concurrent_calls_request_one_session(engine: Engine) {
    const TWENTY: &str = "const fees = Array.from({ length: 20 }, (_, n) =>
            guichet.fee({ payment_method: 'mobile_money', currency: 'XAF', amount: String(5000 + n) }));
        return (await Promise.all(fees)).map(({ amount }) => Number(amount)).reduce((sum, amount) => sum + amount)";
    const SUM: u32 = 20 * 5000 + 190;
    let (shop, browser) = Storefront::visited(engine, "twenty").await;
    assert_eq!(browser.run_async(TWENTY).await, SUM);
    assert_eq!(shop.requests(SESSION).len(), 1);

    shop.end_sessions().await;
    assert_eq!(browser.run_async(TWENTY).await, SUM);
    assert_eq!(shop.requests(SESSION).len(), 2, "twenty calls get a 401, and one requests the next session");
}

async fn a_sign_out_is_final_in_every_tab_and_at_the_service(engine: Engine) {
    const VALID: &str = "return (await guichet.session.validate()).valid";
    let (shop, browser) = Storefront::visited(engine, "sign-out").await;
    assert_eq!(browser.run_async(VALID).await, true);
    let first = browser.current_tab().await;
    let second = browser.open_tab().await;
    shop.visit(&browser, "{}").await;
    assert_eq!(browser.run_async(VALID).await, true);
    browser.run("window.states = []; guichet.session.subscribe((state) => states.push(state))").await;

    browser.switch_to(&first).await;
    assert_eq!(browser.run_async("await guichet.session.revoke(); return guichet.session.state").await, "revoked");

    browser.switch_to(&second).await;
    browser.wait_until("return guichet.session.state === 'revoked'").await;
    assert_eq!(browser.run("return states").await, json!(["revoked"]));
    let result = browser.run_async("return await guichet.paymentMethods()").await;
    assert_eq!(result["rejected"]["kind"], "signed_out", "{result}");
    let sent = (shop.requests(SESSION).len(), shop.count("list_payment_methods").await);
    assert_eq!(sent, (2, 0), "each tab has requested one session, and the call after the sign-out sends nothing");
    let [here, elsewhere] = shop.tokens().try_into().expect("one token for each tab");
    assert!(!shop.accepts(&here).await, "the token of the tab that signed out");
    // The other tab revokes its own in the background.
    until("the token of the other tab is revoked", async || !shop.accepts(&elsewhere).await).await;

    // A new sign-in works.
    assert_eq!(browser.run_async("await guichet.session.renew(); return guichet.session.state").await, "active");
    assert_eq!(browser.run_async(VALID).await, true);
}

async fn a_session_requested_before_a_sign_out_is_not_used_after_it(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start("overtaken").await;
    let slow = "{ fetch: async (address, init) => {
        const reply = await fetch(address, init);
        if (String(address).endsWith('/guichet/session')) await window.hold;
        return reply;
    } }";
    shop.visit(&browser, slow).await;
    browser.run_async("await guichet.session.validate()").await;

    let result = browser
        .run_async(
            "let release;
             window.hold = new Promise((go) => { release = go; });
             const renewal = guichet.session.renew().then(() => 'renewed', ({ kind }) => kind);
             await guichet.session.revoke();
             release();
             return [await renewal, guichet.session.state, await guichet.paymentMethods().catch(({ kind }) => kind)]",
        )
        .await;

    assert_eq!(result, json!(["signed_out", "revoked", "signed_out"]));
}

/// Another customer signs in while the first one's session is on its way.
async fn a_session_requested_before_a_sign_in_is_not_used_after_renew(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "signed-in").await;
    let session = |token: &Value, email: &str| json!({ "session_token": token, "customer_email": email });
    let [first, second] = [shop.session().await, shop.session().await];
    shop.respond_once(
        SESSION,
        CannedResponse::json(&session(&first["session_token"], "awa@example.com")).after(Duration::from_millis(1500)),
    );
    shop.respond_once(SESSION, CannedResponse::json(&session(&second["session_token"], "bih@example.com")));
    let result = browser
        .run_async(
            "const before = guichet.paymentMethods().then((methods) => methods.length > 0, (e) => e.kind);
             await new Promise((go) => setTimeout(go, 500));
             await guichet.session.renew();
             const email = guichet.session.email;
             const other = await before;
             return [email, other, guichet.session.email]",
        )
        .await;
    assert_eq!(result, json!(["bih@example.com", true, "bih@example.com"]));
}

async fn a_session_requested_while_loading_is_not_used_after_renew(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start("signed-in-early").await;
    // The session of a second client of the page, too.
    for early in ["guichet.paymentMethods()", "create({}).paymentMethods()"] {
        for loaded in ["", "release(); await guichet.ready();"] {
            shop.visit(&browser, "{}").await;
            for (email, last) in [("awa@example.com", false), ("bih@example.com", true)] {
                let token = &shop.session().await["session_token"];
                let session = CannedResponse::json(&json!({ "session_token": token, "customer_email": email }));
                if last { shop.respond(SESSION, session) } else { shop.respond_once(SESSION, session) }
            }
            let result = browser
                .run_async(&format!(
                    "{HELD} const guichet = create({{}});
                     const before = kind({early});
                     await new Promise((go) => setTimeout(go, 200));
                     {loaded}
                     const renewed = kind(guichet.session.renew());
                     release();
                     return [await before, await renewed, guichet.session.email]"
                ))
                .await;
            assert_eq!(result, json!(["resolved", "resolved", "bih@example.com"]), "{early} {loaded}");
        }
    }
}

async fn a_call_requests_the_session_while_the_wasm_is_loading(engine: Engine) {
    const FEE: &str = "fee({ payment_method: 'mobile_money', currency: 'XAF', amount: '5000' })";
    let shop = Storefront::open().await;
    let browser = engine.start("early-session").await;
    for call in ["paymentMethods()", FEE, "quotes({ amount: '5000' })", "session.validate()", "session.renew()"] {
        shop.visit(&browser, "{}").await; // a new page, because the wasm is loaded once per page
        let before = (shop.requests(SESSION).len(), shop.requests(WASM).len());
        browser
            .run_async(&format!(
                "{HELD} window.guichet = create({{ merchant: '/guichet/', locale: 'fr' }});
                 window.calls = Promise.all([kind(guichet.{call}), kind(guichet.paymentMethods())])"
            ))
            .await;
        until("the session is requested", async || shop.requests(SESSION).len() > before.0).await;
        assert_eq!(shop.requests(WASM).len(), before.1, "{call}: the wasm is not loaded yet");

        let result = browser.run_async("release(); return [await calls, guichet.session.state]").await;
        assert_eq!(result, json!([["resolved", "resolved"], "active"]), "{call}");
        assert_eq!(shop.requests(SESSION).len(), before.0 + 1, "{call}: the wasm uses it");

        // The loader sends what the wasm sends.
        let requests = browser
            .run_async(
                "await guichet.session.renew();
                 const requests = sent.filter(({ url }) => url.endsWith('/guichet/session'));
                 return Promise.all(requests.map(async (request) => {
                     const { method, url, mode, credentials, cache, redirect, referrer, referrerPolicy, keepalive, headers } = request;
                     return [method, url, mode, credentials, cache, redirect, referrer, referrerPolicy, keepalive, [...headers], await request.text()];
                 }))",
            )
            .await;
        assert_eq!(requests.as_array().map(Vec::len), Some(2), "{requests}");
        assert_eq!(requests[0], requests[1], "{call}");
    }
}

async fn a_call_that_needs_no_session_requests_none_while_loading(engine: Engine) {
    let (_shop, browser) = Storefront::visited(engine, "no-early-session").await;
    let counts = browser
        .run_async(&format!(
            "{HELD}
             const counts = {{}};
             const after = (what, options, call) => {{
                 sent.length = 0;
                 const work = async () => call(create(options));
                 void work().catch(() => {{}});
                 counts[what] = sent.length;
             }};
             const none = async () => {{}};
             const read = (guichet) => guichet.paymentMethods();
             after('createGuichet', {{}}, none);
             after('ready', {{}}, (guichet) => guichet.ready());
             after('returned', {{}}, (guichet) => guichet.returned());
             after('checkout', {{}}, (guichet) => guichet.checkout({{ order: 1 }}));
             after('waitForOutcome', {{}}, (guichet) => guichet.waitForOutcome({{ payment_ref: 'gch_1' }}));
             after('revoke', {{}}, (guichet) => guichet.session.revoke());
             after('a closed client', {{}}, (guichet) => (guichet.close(), read(guichet)));
             after('an aborted call', {{}}, (guichet) => guichet.paymentMethods({{}}, {{ signal: AbortSignal.abort() }}));
             after('an unknown name', {{}}, (guichet) => guichet.paymentMethods({{ country: 'CM' }}));
             after('a secret key', {{ merchant: '/guichet?k=sk_live_1' }}, read);
             after('publicReads', {{ publicReads: 'anonymous' }}, read);
             after('reads of the merchant', {{ publicReads: 'merchant' }}, read);
             after('merchantHeaders', {{ merchantHeaders: () => ({{}}) }}, read);
             after('fetch', {{ fetch: real }}, read);
             after('functions', {{ merchant: {{ intent: none }} }}, read);
             after('no merchant', {{ merchant: undefined }}, read);
             after('a call', {{}}, read);
             return counts"
        ))
        .await;
    let counts = counts.as_object().unwrap_or_else(|| panic!("{counts}"));
    assert_eq!(counts.len(), 17, "{counts:?}");
    for (what, count) in counts {
        assert_eq!(count, u32::from(what == "a call"), "{what}");
    }
}

async fn a_session_that_fails_while_loading_is_requested_again_as_later(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "early-failure").await;
    let refused = |status| CannedResponse::json(&json!({ "message": "No." })).status(status);
    for (first, expected) in [
        (Some(refused(503)), json!(["resolved", [["merchant_session", 1, 503], ["merchant_session", 2, 201]]])),
        (Some(refused(401)), json!(["signed_out", [["merchant_session", 1, 401]]])),
        (None, json!(["resolved", [["merchant_session", 1, null], ["merchant_session", 2, 201]]])),
    ] {
        shop.visit(&browser, "{}").await;
        let lost = first.is_none();
        if let Some(first) = first {
            shop.respond_once(SESSION, first);
        }
        let result = browser
            .run_async(&format!(
                "{HELD}
                 const recorded = window.fetch;
                 if ({lost}) window.fetch = async () => {{ window.fetch = recorded; throw new TypeError('offline'); }};
                 const calls = [];
                 const onCall = ({{ operation, attempt, status }}) => calls.push([operation, attempt, status ?? null]);
                 const call = kind(create({{ onCall }}).paymentMethods());
                 await new Promise((go) => setTimeout(go, 100));
                 release();
                 return [await call, calls.filter(([operation]) => operation === 'merchant_session')]"
            ))
            .await;
        assert_eq!(result, expected);
    }
}

async fn a_session_requested_while_loading_is_for_the_calls_that_wait_for_it(engine: Engine) {
    let (_shop, browser) = Storefront::visited(engine, "early-unused").await;
    let result = browser
        .run_async(&format!(
            "{HELD}
             const guichet = create({{}});
             const wrong = kind(guichet.fee({{ payment_method: 'mobile_money', currency: 'XAF', amount: '-1' }}));
             release();
             const kinds = [await wrong];
             const requests = () => sent.filter(({{ url }}) => url.endsWith('/session')).length;
             const counts = [requests()];
             kinds.push(await kind(guichet.paymentMethods()));
             counts.push(requests());
             return [kinds, counts]"
        ))
        .await;
    assert_eq!(result, json!([["input", "resolved"], [1, 2]]));
}

async fn a_session_requested_while_loading_is_not_used_after_a_sign_out(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start("early-overtaken").await;
    for (calls, requests) in [
        ("[guichet.paymentMethods(), guichet.session.revoke()]", 1),
        ("[guichet.session.revoke(), guichet.paymentMethods()]", 0),
    ] {
        shop.visit(&browser, "{}").await;
        let before = shop.requests(SESSION).len();
        let result = browser
            .run_async(&format!(
                "{HELD} const guichet = create({{}});
                 const calls = {calls}.map(kind);
                 release();
                 return [(await Promise.all(calls)).sort(), guichet.session.state]"
            ))
            .await;
        assert_eq!(result, json!([["resolved", "signed_out"], "revoked"]), "{calls}");
        assert_eq!(shop.requests(SESSION).len() - before, requests, "{calls}");
        // The page revokes it when it arrives, if it is still open.
        let is_revoked = async || match &shop.tokens()[..] {
            [token] => !shop.accepts(token).await,
            _ => false,
        };
        until("its token is revoked", is_revoked).await;
    }
}

async fn a_session_requested_while_loading_is_requested_again_after_a_sign_out_in_another_tab(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "early-sign-out").await;
    browser.run_async("await guichet.session.validate()").await;
    let first = browser.current_tab().await;
    let second = browser.open_tab().await;
    shop.visit(&browser, "{}").await;
    browser
        .run_async(&format!(
            "{HELD} window.guichet = create({{ baseUrl: `${{options.baseUrl}}/v1/` }}); window.call = kind(guichet.paymentMethods());
             window.told = false;
             new BroadcastChannel(`${{options.baseUrl}}#guichet`).onmessage = () => {{ window.told = true; }}"
        ))
        .await;
    until("the second session is created", async || shop.tokens().len() == 2).await;

    browser.switch_to(&first).await;
    browser.run_async("await guichet.session.revoke()").await;
    browser.switch_to(&second).await;
    browser.wait_until("return window.told").await;
    assert_eq!(browser.run_async("release(); return await call").await, "resolved");
    let [other, early, used] = shop.tokens().try_into().expect("one token of the other tab, and two of this one");
    assert!(!shop.accepts(&other).await, "the tab that signed out has revoked its own");
    browser.run_async("await guichet.session.revoke()").await;
    assert!(!shop.accepts(&used).await, "this tab has used the one that it requested after the sign-out");
    assert!(shop.accepts(&early).await, "the one before was not used");
}

async fn a_wrong_clock_of_the_device_does_not_shorten_a_session(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "fast").await;
    // By this clock a new token would be in its last half minute five seconds from now.
    browser.run("const { now } = Date; Date.now = () => now() + (30 * 60 - 35) * 1000").await;
    browser.run_async("await guichet.session.validate()").await;
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert_eq!(browser.run("return guichet.session.state").await, "active");
    assert_eq!(browser.run_async("return (await guichet.paymentMethods()).length > 0").await, true);
    assert_eq!(shop.requests(SESSION).len(), 1, "it is not renewed");
}

async fn the_page_is_notified_of_its_sessions_state(engine: Engine) {
    let (_shop, browser) = Storefront::visited(engine, "state").await;
    browser
        .run("window.states = []; window.unsubscribe = guichet.session.subscribe((state) => states.push(state))")
        .await;
    let state = "return [guichet.session.state, guichet.session.email ?? null, typeof guichet.session.expiresAt?.getTime() === 'number']";
    assert_eq!(browser.run(state).await, json!(["none", null, false]));

    browser.run_async("await guichet.session.validate()").await;
    assert_eq!(browser.run(state).await, json!(["active", CUSTOMER, true]));
    let left = browser.run("return guichet.session.expiresAt - Date.now()").await.as_f64().unwrap();
    assert!((29.0 * 60_000.0..=30.0 * 60_000.0).contains(&left), "the session ends in half an hour: {left} ms");
    let is_steady = browser.run("return guichet.session.expiresAt === guichet.session.expiresAt").await;
    assert_eq!(is_steady, true, "`expiresAt` is the same object until it changes");

    browser.run_async("await guichet.session.revoke()").await;
    assert_eq!(browser.run(state).await, json!(["revoked", null, false]));
    assert_eq!(browser.run("unsubscribe(); return states").await, json!(["active", "revoked"]));
    browser.run_async("await guichet.session.renew()").await;
    assert_eq!(
        browser.run("return states").await,
        json!(["active", "revoked"]),
        "after `unsubscribe` nothing is reported"
    );
}

async fn every_documented_shape_of_a_session_reply_is_accepted(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "shapes").await;
    let session = shop.session().await;
    for (shape, answer) in [
        ("a token", session["session_token"].clone()),
        ("the bare object", session.clone()),
        ("the whole envelope", json!({ "status": "success", "message": "Made.", "data": session })),
        ("a token in an envelope", json!({ "data": session["session_token"] })),
    ] {
        shop.respond(SESSION, CannedResponse::json(&answer));
        let given = format!("{{ merchant: {{ session: async () => ({answer}) }} }}");
        for options in ["{ merchant: '/guichet' }", &given] {
            let valid = browser
                .run_async(&format!(
                    "return await createGuichet({{ ...options, ...{options} }}).session.validate().then(({{ valid }}) => valid)"
                ))
                .await;
            assert_eq!(valid, true, "{shape}, by {}", &options[..24]);
        }
    }
}

async fn a_guest_is_signed_out_and_the_session_route_is_not_called_again(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "not-signed-in").await;
    for (answer, response) in [
        ("null", CannedResponse::json(&json!(null))),
        ("401", CannedResponse::json(&json!({ "message": "Nobody." })).status(401)),
        ("403", CannedResponse::json(&json!({ "message": "Nobody." })).status(403)),
        ("419", CannedResponse::json(&json!({ "message": "Nobody." })).status(419)),
        ("204", CannedResponse::default().status(204)),
    ] {
        shop.respond(SESSION, response);
        let before = shop.requests(SESSION).len();
        let result = browser
            .run_async(
                "const guest = createGuichet(options);
                 return [await guest.session.validate(), await guest.paymentMethods().catch(({ kind }) => kind)]",
            )
            .await;
        assert_eq!(result, json!([{ "valid": false, "reason": "signed_out" }, "signed_out"]), "{answer}");
        assert_eq!(shop.requests(SESSION).len() - before, 2, "{answer}: each call requests a session once");
    }
    assert_eq!(shop.tenant.requests().await.len(), 0, "no request is sent to the service");
}

/// A CSRF check of the merchant's framework: Django responds 403 with HTML, Laravel 419 with JSON.
async fn a_refused_session_keeps_the_merchants_reply(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "csrf-refused").await;
    let ask = |call: &str| {
        format!(
            "const e = await createGuichet(options).{call}.catch((e) => e);
             return [e.kind, e.status, e.operation, e.code ?? null, JSON.stringify(e.reply).includes('CSRF'), e.retryable, e.cause?.status,
                     e.message, Object.keys(e).includes('reply')]"
        )
    };
    let csrf = "If a CSRF rule refused it, see `merchantHeaders`.";
    let laravel = json!({ "message": "CSRF token mismatch.", "error": { "code": "csrf" } });
    for (path, call, operation, response, status, code) in [
        (
            SESSION,
            "paymentMethods()",
            "merchant_session",
            CannedResponse::html("<h1>CSRF verification failed</h1>"),
            403,
            None,
        ),
        (SESSION, "session.renew()", "merchant_session", CannedResponse::json(&laravel), 419, Some("csrf")),
        (SESSION, "paymentMethods()", "merchant_session", CannedResponse::json(&laravel), 401, Some("csrf")),
        (INTENTS, "checkout({ order: 1 })", "merchant_intent", CannedResponse::json(&laravel), 419, Some("csrf")),
    ] {
        shop.respond(path, response.status(status));
        let result = browser.run_async(&ask(call)).await;
        let remedy = if status == 401 { String::new() } else { format!(" {csrf}") };
        let message = format!("Nobody is signed in: the merchant's server answered {status}.{remedy}");
        let expected = json!(["signed_out", status, operation, code, true, false, status, message, false]);
        assert_eq!(result, expected, "{call}: {status}");
    }
}

async fn the_pages_own_headers_go_only_to_the_merchant(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start("csrf").await;
    shop.visit(
        &browser,
        "{ merchantHeaders: () => ({ 'X-CSRF-TOKEN': window.csrf, 'X-Requested-With': 'XMLHttpRequest' }) }",
    )
    .await;
    browser.run("window.csrf = 'first'").await;
    // The service's CORS would refuse a header of the page, and the call would fail.
    assert_eq!(browser.run_async("return (await guichet.paymentMethods()).length > 0").await, true);
    browser.run_async("window.csrf = 'second'; await guichet.session.renew()").await;

    let sent: Vec<_> = shop
        .requests(SESSION)
        .iter()
        .map(|requests| requests.headers["x-csrf-token"].to_str().unwrap().to_owned())
        .collect();
    assert_eq!(sent, ["first", "second"], "`merchantHeaders` is called for each request");
    assert_eq!(shop.requests(SESSION)[0].headers["x-requested-with"], "XMLHttpRequest");
}

async fn a_guest_needs_no_session_for_public_reads(engine: Engine) {
    let shop = Storefront::with_config(Config { public_methods: true, ..Config::default() }).await;
    let browser = engine.start("guest").await;
    shop.visit(&browser, "{ merchant: { intent: async () => { throw new Error('must not be called') } } }").await;
    let result = browser
        .run_async(
            "const fee = await guichet.fee({ payment_method: 'mobile_money', currency: 'XAF', amount: '5000' });
             return [(await guichet.paymentMethods()).length > 0, fee.currency, await guichet.returned()]",
        )
        .await;
    assert_eq!(result, json!([true, "XAF", null]));
    assert_eq!(shop.requests(SESSION).len(), 0);
    // The same with a session route, which is not called.
    let result = browser
        .run_async(
            "const anonymous = createGuichet({ ...options, merchant: '/guichet', publicReads: 'anonymous' });
             const none = await createGuichet({ ...options, publicReads: 'none' }).paymentMethods().catch(({ message }) => message);
             return [(await anonymous.paymentMethods()).length > 0, none]",
        )
        .await;
    let sentence = "`publicReads` must be \"session\", \"anonymous\" or, with the address of your routes in `merchant`, \"merchant\".";
    assert_eq!(result, json!([true, sentence]));
    assert_eq!(shop.requests(SESSION).len(), 0);
}

async fn a_guest_reads_prices_from_the_merchant_whose_key_the_service_wants(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start("merchant-reads").await;
    let options = "{ publicReads: 'merchant', merchantHeaders: () => ({ 'X-CSRF-TOKEN': 't' }) }";
    shop.visit(&browser, options).await;
    let result = browser
        .run_async(
            "const of = { payment_method: 'mobile_money', currency: 'XAF', amount: '5000' };
             const [methods, fee] = [await guichet.paymentMethods({ country_code: 'CM' }), await guichet.fee(of)];
             const quotes = await guichet.quotes({ amount: '5000', currency: 'XAF', fee_bearer: 'customer' });
             const unknown = await guichet.fee({ ...of, payment_method: 'cash' }).catch((e) => e);
             return [methods.length > 0, fee.currency, quotes.length > 1 && quotes.every((quote) => quote.customer_pays),
                 unknown.kind, unknown.code, unknown.operation]",
        )
        .await;
    assert_eq!(result, json!([true, "XAF", true, "refused", "payment_method_unavailable", "merchant_fee"]));
    assert_eq!(shop.requests(SESSION).len(), 0);
    assert_eq!(shop.requests("/guichet/payment-methods")[0].headers["x-csrf-token"], "t");
    let requests = shop.tenant.requests().await;
    assert!(
        requests.iter().all(|request| request.credential == "secret_key"),
        "the service is asked by the shop alone"
    );
}

async fn a_guest_buys_from_the_first_click_to_the_end_without_a_session(engine: Engine) {
    const FUNCTIONS: &str = "{ merchant: {
        intent: async (order, { signal }) => (await fetch('/guichet/intents', {
            method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(order), signal,
        })).json(),
        status: async ({ payment_ref }, { signal }) => (await fetch(`/guichet/intents/${payment_ref}`, { signal })).json(),
    } }";
    let shop = Storefront::for_guests().await;
    let browser = engine.start("guest-buys").await;
    for (order, options) in [("17", "{}"), ("18", FUNCTIONS)] {
        shop.visit(&browser, options).await;
        browser.run(&format!("void guichet.checkout({{ order: {{ id: '{order}' }} }})")).await;
        browser.click("[data-test='method-mobile_money']").await;
        browser.fill("[data-test='phone']", "237670000000").await;
        browser.click("[data-test='pay']").await;
        browser.wait_for("[data-status='succeeded']").await;
        browser.click("[data-test='leave']").await;
        browser.wait_for_url("at the shop", |url| url.as_str().starts_with(shop.url()) && url.path() == RETURN).await;
        shop.create_client(&browser, options).await;
        let result = browser
            .run_async(
                "const back = await guichet.returned();
                 const { state, status } = await guichet.waitForOutcome(back);
                 return [back.match, state, status, guichet.session.state]",
            )
            .await;
        assert_eq!(result, json!(["matched", "succeeded", "succeeded", "none"]), "{options}");
    }
    let intents = shop.client().list_payment_intents(&ListPaymentIntents::new()).await.unwrap().entries;
    let charged: Vec<_> = intents.iter().map(|intent| (&intent.status, intent.attempts)).collect();
    assert_eq!(charged, [(&IntentStatus::Succeeded, Some(1)), (&IntentStatus::Succeeded, Some(1))]);
    assert_eq!(shop.requests(SESSION).len(), 0, "the session route is not called");
}

/// Replaces a page's clock and its timers of a minute and more: `skip()` ends the timer that ends next, half a
/// millisecond early as a browser's may, and each reading of the clock takes a millisecond.
const CLOCK: &str = "
    const { setTimeout: start, clearTimeout: stop } = window;
    const timers = new Map();
    const now = performance.now.bind(performance);
    let skipped = 0;
    performance.now = () => now() + ++skipped;
    window.setTimeout = (callback, time) => {
        if (time < 60_000) return start(callback, time);
        const timer = {};
        timers.set(timer, { callback, at: now() + skipped + time });
        return timer;
    };
    window.clearTimeout = (timer) => timers.delete(timer) || stop(timer);
    window.skip = () => {
        const [[timer, { callback, at }]] = [...timers].sort(([, one], [, other]) => one.at - other.at);
        timers.delete(timer);
        skipped = at - 1.5 - now();
        callback();
    };";

async fn an_expiring_session_is_reported_and_renewed_before_use(engine: Engine) {
    let (_shop, browser) = Storefront::visited(engine, "ending").await;
    let body = "const session = await (await fetch('/guichet/session', { method: 'POST' })).json();
         window.states = [];
         window.request_count = 0;
         options.merchant = { session: async () => (request_count++, session) };
         window.guichet = createGuichet(options);
         guichet.session.subscribe((state) => states.push(state));
         await guichet.paymentMethods();
         skip();";
    browser.run_async(&format!("{CLOCK}{body}")).await;
    browser.wait_until("return states.includes('expiring')").await;
    assert_eq!(
        browser.run("return [states, guichet.session.state]").await,
        json!([["active", "expiring"], "expiring"])
    );
    browser.run_async("await guichet.paymentMethods()").await;
    assert_eq!(browser.run("return [request_count, guichet.session.state]").await, json!([2, "active"]));
}

async fn html_in_place_of_a_session_is_an_error_that_says_so(engine: Engine) {
    const FORM: &str = "<!doctype html><title>Log in</title><form method=post><input name=password></form>";
    let (shop, browser) = Storefront::visited(engine, "form").await;
    for status in [200, 419] {
        shop.respond(SESSION, CannedResponse::html(FORM).status(status));
        let result = browser.run_async("return await createGuichet(options).paymentMethods()").await;
        let kind = result["rejected"]["kind"].as_str().unwrap_or_default().to_owned();
        let expected = if status == 200 { "unreadable" } else { "signed_out" };
        assert_eq!(kind, expected, "{status}: {result}");
        if status == 200 {
            assert!(result["rejected"]["message"].as_str().unwrap().contains("login form"), "{result}");
        }
    }
}
