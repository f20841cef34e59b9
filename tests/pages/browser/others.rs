//! The package in other people's pages: in a frame, with a `<base>`, beside libraries that replace the browser's
//! functions, and under headers that cut a page off from its popup. The customer can pay, and no error shows an
//! address.

use crate::support::browser::Browser;
use crate::support::engine::{Engine, in_chromium, in_every_browser};
use crate::support::site::{CannedResponse, Site};
use crate::support::storefront::{CUSTOMER, INTENTS, RETURN, SESSION, Storefront};
use axum::Router;
use serde_json::{Value, json};
use std::collections::BTreeSet;

in_every_browser!(
    a_popup_of_a_sandboxed_frame_shows_the_checkout,
    a_frame_of_another_origin_pays_in_the_whole_tab_and_is_refused_a_redirect,
    a_frame_that_may_open_and_leave_nothing_gets_words_and_no_address,
    a_popup_that_the_servers_headers_cut_off_is_not_taken_for_closed,
    a_base_of_another_origin_gets_no_request,
);

// Code that depends on no engine.
in_chromium!(
    no_exception_of_the_browser_leaves_the_package,
    a_fetch_of_the_page_gets_an_address_and_its_exception_is_the_cause,
    a_purchase_needs_none_of_the_functions_that_a_page_may_have_replaced,
    a_purchase_works_with_every_function_it_uses_replaced_by_another,
);

/// A button `#pay` that begins a checkout in the mode of the address's fragment, and keeps how it ends.
const SHOP: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>Shop</title><button id=pay>Pay</button><p id=shop>Shop</p>
    <script type=module>
    import { createGuichet, GuichetError } from '/package/guichet.js';
    const client = createGuichet({ baseUrl: 'SERVICE', merchant: '/guichet' });
    Object.assign(window, { client, GuichetError });
    document.getElementById('pay').onclick = () => {
        window.result = null;
        client.checkout({ order: { id: '17' } }, { mode: location.hash.slice(1) }).then(
            (outcome) => { window.result = outcome; },
            (e) => { window.result = { kind: e.kind, isOurs: GuichetError.is(e), text: `${e.stack} ${JSON.stringify(e)}` }; });
    };
    client.returned().then((back) => { window.back = back; });
    </script></html>";

/// Serves [`SHOP`] at `/shop` and on the return page, with these headers.
fn serve_shop(shop: &Storefront, headers: &[(&'static str, &str)]) {
    let page = SHOP.replace("SERVICE", shop.service());
    let page = headers.iter().fold(CannedResponse::html(&page), |page, (name, value)| page.header(name, value));
    shop.respond("/shop", page.clone());
    shop.respond(RETURN, page);
}

/// Opens the shop in a frame of a page of another origin, in this mode.
async fn framed(shop: &Storefront, browser: &Browser, attributes: &str, mode: &str) -> Site {
    let host = Site::open(Router::new()).await;
    let frame = format!(
        "<!doctype html><title>Host</title><iframe width=600 height=400 {attributes} src='{}/shop#{mode}'></iframe>",
        shop.url()
    );
    host.respond("/", CannedResponse::html(&frame));
    browser.open(&format!("{}/", host.url())).await;
    host
}

async fn pay(browser: &Browser) {
    browser.click("[data-test='method-mobile_money']").await;
    browser.fill("[data-test='phone']", "237670000000").await;
    browser.click("[data-test='pay']").await;
    browser.wait_for("[data-status='succeeded']").await;
    browser.click("[data-test='leave']").await;
}

async fn a_popup_of_a_sandboxed_frame_shows_the_checkout(engine: Engine) {
    let shop = Storefront::open().await;
    serve_shop(&shop, &[]);
    let browser = engine.start("sandboxed").await;
    let sandbox = "sandbox='allow-scripts allow-same-origin allow-popups'";
    let _host = framed(&shop, &browser, sandbox, "popup").await;
    let tab = browser.current_tab().await;
    browser.in_the_frame(async || browser.click("#pay").await).await;
    let popup = browser.wait_for_other_tab(&tab).await;
    browser.switch_to(&popup).await;
    browser.wait_for("[data-test='method-mobile_money']").await;
    assert_eq!(browser.run("return opener").await, Value::Null, "the hosted page reaches the shop's");
}

async fn a_frame_of_another_origin_pays_in_the_whole_tab_and_is_refused_a_redirect(engine: Engine) {
    let shop = Storefront::open().await;
    serve_shop(&shop, &[]);
    let browser = engine.start("framed").await;
    let _host = framed(&shop, &browser, "", "redirect").await;
    browser
        .in_the_frame(async || {
            browser.click("#pay").await;
            browser.wait_until("return Boolean(window.result)").await;
            let result = browser.run("return result").await;
            assert_eq!((&result["kind"], &result["isOurs"]), (&json!("unsupported"), &json!(true)), "{result}");
            let text = result["text"].as_str().unwrap();
            assert!(text.contains("`popup` or `top`"), "it says what to do: {text}");
        })
        .await;
    let _host = framed(&shop, &browser, "", "top").await;
    browser.in_the_frame(async || browser.click("#pay").await).await;
    browser.wait_for_url("the hosted page, in the whole tab", |url| url.path().starts_with("/checkout/")).await;
    pay(&browser).await;
    browser.wait_for_url("at the shop", |url| url.path() == RETURN).await;
    browser.wait_until("return Boolean(window.back)").await;
    assert_eq!(browser.run_async("return (await client.waitForOutcome(back)).state").await, "succeeded");
}

/// The browser's own exceptions, whose words differ: Chromium's and WebKit's have the whole address.
async fn a_frame_that_may_open_and_leave_nothing_gets_words_and_no_address(engine: Engine) {
    let shop = Storefront::open().await;
    serve_shop(&shop, &[]);
    let browser = engine.start("forbidden").await;
    for mode in ["popup", "redirect", "top"] {
        let _host = framed(&shop, &browser, "sandbox='allow-scripts allow-same-origin'", mode).await;
        browser
            .in_the_frame(async || {
                browser
                    .run_async(
                        "window.logged = [];
                         for (const how of ['log', 'warn', 'error']) console[how] = (...words) => logged.push(words.join(' '));",
                    )
                    .await;
                browser.click("#pay").await;
                browser.wait_until("return Boolean(window.result)").await;
                let result = browser.run("return result").await;
                assert_eq!((&result["kind"], &result["isOurs"]), (&json!("unsupported"), &json!(true)), "{mode}: {result}");
                for text in [result["text"].to_string(), browser.run("return logged.join()").await.to_string()] {
                    assert!(!text.contains("client_secret") && !text.contains("/checkout/"), "{mode}: {text}");
                }
            })
            .await;
    }
}

async fn a_popup_that_the_servers_headers_cut_off_is_not_taken_for_closed(engine: Engine) {
    let shop = Storefront::open().await;
    serve_shop(&shop, &[("cross-origin-opener-policy", "same-origin")]);
    let browser = engine.start("cut-off").await;
    browser.open(&format!("{}/shop#popup", shop.url())).await;
    let tab = browser.current_tab().await;
    browser.click("#pay").await;
    let popup = browser.wait_for_other_tab(&tab).await;
    browser.switch_to(&popup).await;
    browser.wait_for("[data-test='method-mobile_money']").await;
    browser.switch_to(&tab).await;
    for _ in 0..5 {
        browser.click("#shop").await;
        assert_eq!(
            browser.run_async("await new Promise((go) => setTimeout(go, 400)); return result").await,
            Value::Null
        );
    }
    browser.switch_to(&popup).await;
    pay(&browser).await;
    browser.switch_to(&tab).await;
    browser.wait_until("return Boolean(window.result)").await;
    assert_eq!(browser.run("return result.state").await, "succeeded");
}

async fn a_base_of_another_origin_gets_no_request(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "base").await;
    let other = Site::open(Router::new()).await;
    let result = browser
        .run_async(&format!(
            "document.head.prepend(Object.assign(document.createElement('base'), {{ href: '{}/' }}));
             const paths = createGuichet({{ ...options, baseUrl: '/pay', publicReads: 'anonymous' }});
             const file = createGuichet({{ ...options, wasm: '/package/core/guichet_core_bg.wasm' }});
             const kind = (call) => call.then(() => 'resolved', (e) => e.kind);
             const order = {{ order: {{ id: '17' }} }};
             const kinds = [await kind(file.paymentMethods()), await kind(paths.paymentMethods())];
             const purchase = createGuichet({{ ...options, checkoutOrigins: ['https://nowhere.example'], merchantHeaders: () => ({{ 'x-csrf-token': 't' }}) }});
             return [...kinds, await kind(purchase.checkout(order)), await kind(purchase.waitForOutcome({{ payment_ref: 'gch_1' }}, {{ budgetMs: 500 }}))]",
            other.url()
        ))
        .await;
    assert_eq!(result, json!(["resolved", "unreadable", "address", "resolved"]));
    assert_eq!(
        (shop.requests(SESSION).len(), shop.requests(INTENTS).len(), shop.requests("/pay/v1/payment-methods").len()),
        (1, 1, 1)
    );
    let sent: Vec<String> = [
        "/",
        SESSION,
        INTENTS,
        "/pay/v1/payment-methods",
        "/guichet/intents/gch_1",
        "/package/core/guichet_core_bg.wasm",
    ]
    .into_iter()
    .filter(|path| !other.requests(path).is_empty())
    .map(String::from)
    .collect();
    assert_eq!(sent, [""; 0], "the other origin gets a request");
}

/// The functions of the browser that throw in some page: in a sandboxed frame, under a policy, in an old browser, or
/// because a page has put its own in their place. Each throws the whole address, as browsers do.
const THROWING: [&str; 10] = [
    "History.prototype.replaceState = no",
    "Object.defineProperty(History.prototype, 'state', { get: no })",
    "Object.defineProperty(window, 'sessionStorage', { get: no })",
    "Object.defineProperty(window, 'localStorage', { get: no })",
    "window.BroadcastChannel = no",
    "window.AbortController = no",
    "window.open = no",
    "window.open = () => ({ document, closed: false, close: no, location: { replace: no } })",
    "window.fetch = no",
    "window.Headers = no",
];

async fn no_exception_of_the_browser_leaves_the_package(engine: Engine) {
    const SECRET: &str = "pi_1_secret_2";
    let shop = Storefront::open().await;
    let browser = engine.start("exceptions").await;
    // The page stays: an address that answers 204 is followed to nowhere.
    shop.respond("/checkout/pi_1", CannedResponse::default().status(204));
    for throwing in THROWING {
        shop.visit(&browser, "{}").await;
        let found = browser
            .run_async(&format!(
                "const address = `${{location.origin}}/checkout/pi_1?client_secret={SECRET}`;
                 const no = function () {{ throw new DOMException(`The frame may not go to '${{address}}'`, 'SecurityError'); }};
                 const {{ openHostedCheckout }} = await import('/package/hosted.js');
                 const intent = {{ id: 'pi_1', payment_ref: 'gch_1', status: 'requires_action', checkout_url: address }};
                 const functions = {{ intent: async () => ({{ intent, return_nonce: '0123456789abcdefghijAB' }}), status: async () => ({{ status: 'succeeded' }}) }};
                 const ways = [functions, '/guichet'].map((merchant) => createGuichet({{ ...options, merchant, checkoutOrigins: [location.origin] }}));
                 const logged = [];
                 for (const how of ['log', 'warn', 'error']) console[how] = (...words) => logged.push(words.join(' '));
                 history.replaceState(null, '', '/return?guichet_return=0123456789abcdefghijAB&payment_intent=pi_1');
                 {throwing};
                 const errors = [];
                 const caught = (call) => Promise.race([call, new Promise((go) => setTimeout(go, 1500))]).catch((e) => void errors.push(e));
                 for (const client of ways) {{
                     await caught(client.returned());
                     for (const mode of ['popup', 'redirect', 'top']) {{
                         await caught(client.checkout({{ order: {{ id: mode }} }}, {{ mode }}));
                         stop();
                     }}
                     await caught(client.waitForOutcome({{ payment_ref: 'gch_1' }}, {{ budgetMs: 300 }}));
                     await caught(client.session.renew());
                 }}
                 await caught(openHostedCheckout({{ baseUrl: options.baseUrl, intent: address }}));
                 return [errors.map((e) => GuichetError.is(e)), errors.map((e) => `${{e.stack}} ${{e.message}} ${{JSON.stringify(e)}}`).join(), logged.join()]"
            ))
            .await;
        assert!(found[0].as_array().is_some_and(|ours| ours.iter().all(|ours| *ours == true)), "{throwing}: {found}");
        for text in [&found[1], &found[2]] {
            assert!(!text.to_string().contains(SECRET), "{throwing}: {text}");
        }
    }
}

async fn a_fetch_of_the_page_gets_an_address_and_its_exception_is_the_cause(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start("own-fetch").await;
    for (wrapper, works) in [
        // One that looks at the request first, as Capacitor's bridge does.
        ("async (input, init) => { new Request(input, init); return real(input, init); }", true),
        ("(url, init) => (url.startsWith('/api') ? real('/v2' + url, init) : real(url, init))", true),
        // `unfetch` writes the headers by a loop, and answers no `Response`.
        ("async (url, { method, headers, body, credentials }) => {
            const plain = {};
            for (const name in headers) plain[name] = headers[name];
            const reply = await real(url, { method, headers: plain, body, credentials });
            return { ok: reply.ok, status: reply.status, text: () => reply.text(), headers: { get: (name) => reply.headers.get(name) } };
         }", true),
        ("async () => { throw new TypeError('the bridge is closed'); }", false),
    ] {
        shop.visit(&browser, "{}").await;
        let result = browser
            .run_async(&format!(
                "const real = window.fetch; window.fetch = {wrapper};
                 const call = (call) => call.then(() => 'resolved', ({{ kind, message, cause }}) => [kind, message, cause.message]);
                 return [await call(guichet.session.renew()), await call(guichet.paymentMethods())]"
            ))
            .await;
        if works {
            assert_eq!(result, json!(["resolved", "resolved"]), "{wrapper}");
            continue;
        }
        let message = "No reply to merchant_session. Check the connection, the address and CORS.";
        let lost = json!(["offline", message, "the bridge is closed"]);
        assert_eq!(result, json!([lost, lost]));
    }
}

/// What old libraries put in the place of the language's own functions, or add to every object, and functions of the
/// page with a name that the browser has, too. None of them is called.
const REPLACED: [&str; 8] = [
    // Prototype.js and MooTools: no iterators.
    "Array.from = (list) => { const out = []; for (let i = 0; i < (list?.length || 0); i++) out[i] = list[i]; return out; }",
    "for (const name of ['keys', 'values', 'entries', 'fromEntries', 'hasOwn', 'getOwnPropertyNames']) Object[name] = broken",
    "Date.parse = () => null", // datejs
    "String.from = Function.from = Number.from = broken",
    "Object.prototype.extend = broken",
    "Array.prototype.toJSON = undefined; Array.prototype.each = broken",
    "for (const name of ['status', 'event', 'parent', 'close', 'stop', 'find', 'print']) window[name] = broken",
    "Reflect.get = Reflect.set = Reflect.has = Reflect.ownKeys = broken",
];

async fn a_purchase_needs_none_of_the_functions_that_a_page_may_have_replaced(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start("replaced").await;
    for (at, replaced) in REPLACED.iter().enumerate() {
        // The browser's driver needs them again.
        let replace = format!(
            "const broken = () => {{ throw new Error('it is called'); }};
             const kept = [Array, Object, Date, Reflect].map((object) => [object, Object.getOwnPropertyDescriptors(object)]);
             const put_back = Object.defineProperties;
             const restore = () => kept.forEach(([object, members]) => put_back(object, members));
             {replaced};
             const {{ createGuichet }} = await import('/package/guichet.js');
             const guichet = createGuichet({{
                 baseUrl: '{}', merchant: '/guichet', publicReads: 'session', merchantHeaders: () => ({{ 'X-CSRF-Token': 't' }}) }});",
            shop.service()
        );
        browser.open(&format!("{}/", shop.url())).await;
        let before = shop.requests(INTENTS).len();
        let session = browser
            .run_async(&format!(
                "{replace} try {{
                     const [quote] = await guichet.quotes({{ amount: '5000', currency: 'XAF' }});
                     return [guichet.session.email, guichet.session.state, Boolean(quote.customer_pays)];
                 }} finally {{ restore(); }}"
            ))
            .await;
        assert_eq!(session, json!([CUSTOMER, "active", true]), "{replaced}");
        browser
            .run(&format!(
                "setTimeout(async () => {{ {replace} guichet.checkout({{ order: {{ id: 'R{at}' }} }}); setTimeout(restore, 2000); }})"
            ))
            .await;
        pay(&browser).await;
        browser.wait_for_url("at the shop", |url| url.path() == RETURN).await;
        let result = browser
            .run_async(&format!(
                "{replace} try {{
                     const back = await guichet.returned();
                     return [back.match, (await guichet.waitForOutcome(back)).state];
                 }} finally {{ restore(); }}"
            ))
            .await;
        assert_eq!(result, json!(["matched", "succeeded"]), "{replaced}");
        let sent = &shop.requests(INTENTS)[before..];
        let headers: Vec<_> = ["content-type", "x-csrf-token"]
            .map(|name| sent[0].headers.get(name).map(|value| value.to_str().unwrap().to_owned()))
            .into();
        assert_eq!(headers, [Some("application/json".to_owned()), Some("t".to_owned())], "{replaced}");
    }
}

/// What the package uses of the browser, which pages replace by functions of their own: for monitoring, for tests and
/// for old browsers.
const OF_THE_BROWSER: [&str; 12] = [
    "AbortController",
    "AbortSignal.timeout",
    "BroadcastChannel",
    "Headers",
    "URL",
    "WebAssembly.compile",
    "clearTimeout",
    "fetch",
    "performance.now",
    "queueMicrotask",
    "setTimeout",
    "Promise",
];

/// Those of [`RELIED_ON`] that only a retry, a wrong argument or another loader calls.
const NOT_CALLED: [&str; 4] = ["Math.min", "Math.random", "Object.getPrototypeOf", "Promise.reject"];

async fn a_purchase_works_with_every_function_it_uses_replaced_by_another(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start("wrapped").await;
    browser.open(&format!("{}/", shop.url())).await;
    let names: Vec<&str> = RELIED_ON.iter().map(|(name, _)| *name).chain(OF_THE_BROWSER).collect();
    let called = browser
        .run_async(&format!(
            "const called = new Set();
             const put_back = [];
             for (const name of {}) {{
                 const [member, of = 'window'] = name.split('.').reverse();
                 const object = window[of];
                 const real = object[member];
                 const bound = ['setTimeout', 'clearTimeout', 'fetch', 'queueMicrotask', 'now'].includes(member) ? object : undefined;
                 object[member] = new Proxy(real, {{
                     apply: (real, self, given) => (called.add(name), Reflect.apply(real, bound ?? self ?? object, given)),
                     construct: (real, given, made) => (called.add(name), Reflect.construct(real, given, made)),
                 }});
                 put_back.push(() => {{ object[member] = real; }});
             }}
             try {{
                 const {{ createGuichet }} = await import('/package/guichet.js');
                 const guichet = createGuichet({{ baseUrl: '{}', merchant: '/guichet', checkoutOrigins: ['https://nowhere.example'] }});
                 const states = [(await guichet.quotes({{ amount: '5000', currency: 'XAF' }})).length > 0, guichet.session.state];
                 states.push(await guichet.checkout({{ order: {{ id: '17' }} }}).catch(({{ kind }}) => kind));
                 states.push((await guichet.waitForOutcome({{ payment_ref: 'gch_1' }}, {{ budgetMs: 300 }})).state);
                 await guichet.session.revoke();
                 return [[...states, guichet.session.state], [...called].sort()];
             }} finally {{
                 put_back.forEach((put) => put());
             }}",
            json!(names),
            shop.service()
        ))
        .await;
    assert_eq!(called[0], json!([true, "active", "address", "pending", "revoked"]), "{called}");
    let called: BTreeSet<&str> = called[1].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let expected: BTreeSet<&str> = names.into_iter().filter(|name| !NOT_CALLED.contains(name)).collect();
    assert_eq!(called, expected);
}

/// The functions of the language's own objects that the package calls, and why it may. Whoever replaces one of them
/// keeps what it does: libraries do so only for a browser that lacks it. Everything else is read by a loop, or written
/// in the language's own syntax.
const RELIED_ON: [(&str, &str); 15] = [
    ("Array.isArray", "a polyfill is the same"),
    ("Array.of", "a polyfill is the same"),
    ("Date.now", "a test's clock stands in its place"),
    ("Date.parse", "where datejs gives `null`, the end of a session is not known, and a 401 tells it"),
    ("JSON.parse", "a polyfill is the same, and a page's own requests need it"),
    ("JSON.stringify", "a polyfill is the same, and a page's own requests need it"),
    ("Math.min", "a polyfill is the same"),
    ("Math.random", "only spreads retries"),
    ("Object.assign", "a polyfill is the same; copies what a page has given, and what a service has answered"),
    ("Object.defineProperty", "a polyfill is the same"),
    ("Object.getPrototypeOf", "in a loader of wasm-bindgen that no page runs"),
    ("Promise.race", "libraries that replace `Promise` keep it"),
    ("Promise.reject", "libraries that replace `Promise` keep it"),
    ("Promise.resolve", "libraries that replace `Promise` keep it"),
    ("Symbol.for", "a polyfill is the same"),
];

/// The files that a page loads before an error: the hand-written ones, and the glue of both modules.
const LOADED: [&str; 14] = [
    "arguments.js",
    "beside.js",
    "calls.js",
    "client.js",
    "core/guichet_core.js",
    "core/guichet_hosted.js",
    "early.js",
    "error.js",
    "explain.js",
    "guichet.js",
    "hosted.js",
    "load-error.js",
    "load.js",
    "page.js",
];

#[test]
fn the_package_calls_no_function_of_the_language_that_is_not_on_the_list() {
    let package = crate::support::root().join("target/npm/package");
    let mut called = BTreeSet::new();
    for file in LOADED {
        let code = std::fs::read_to_string(package.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        for object in
            ["Array", "Date", "Function", "JSON", "Math", "Number", "Object", "Promise", "Reflect", "String", "Symbol"]
        {
            for (at, _) in code.match_indices(&format!("{object}.")) {
                let is_whole = !code[..at].ends_with(|c: char| c.is_alphanumeric() || "_$.".contains(c));
                let rest = &code[at + object.len() + 1..];
                let name = &rest[..rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len())];
                // `Symbol.dispose` and the like are no calls.
                if is_whole && rest[name.len()..].starts_with('(') {
                    called.insert(format!("{object}.{name}"));
                }
            }
        }
    }
    let listed: BTreeSet<String> = RELIED_ON.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(called, listed);
}
