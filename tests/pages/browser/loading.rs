//! Loading the wasm: a failed load is retried, two copies work side by side, and where wasm is forbidden the error says what
//! to allow.

use crate::support::engine::{Engine, in_chromium, in_every_browser};
use crate::support::proxy::Proxy;
use crate::support::site::CannedResponse;
use crate::support::storefront::{SESSION, Storefront};
use serde_json::json;

in_every_browser!(
    a_load_that_failed_is_tried_again,
    a_page_that_loses_its_network_while_loading_continues_when_it_is_back,
    the_wasm_may_be_an_address_a_response_bytes_or_a_module,
    invalid_wasm_is_an_error_and_does_not_block_the_next_client,
    a_policy_that_forbids_webassembly_is_an_error_that_says_what_to_allow,
    after_a_panic_every_call_is_rejected_until_the_page_is_reloaded,
);

// The package's own JavaScript, which is the same in every engine.
in_chromium!(
    calls_at_once_load_the_wasm_once,
    a_client_that_is_made_ready_early_loads_once_and_sends_nothing,
    two_copies_on_a_page_work_side_by_side,
    a_device_without_webassembly_is_reported,
);

const WASM: &str = "/package/core/guichet_core_bg.wasm";
/// Returns whether a call succeeds.
const WORKS: &str = "return await guichet.paymentMethods().then((methods) => methods.length > 0, ({ kind, message }) => [kind, message])";

/// Creates a client by the entry `guichet/beside`, whose wasm is a file.
const BESIDE: &str = "const { createGuichet, GuichetError } = await import('/package/beside.js');
    Object.assign(window, { createGuichet, GuichetError, guichet: createGuichet(options) });";

async fn a_load_that_failed_is_tried_again(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start("tried-again").await;
    for (what, path, trouble) in [
        ("the wasm is not found", WASM, CannedResponse::html("<h1>Not found</h1>").status(404)),
        ("the wasm is a page of HTML", WASM, CannedResponse::html("<h1>Log in</h1>")),
    ] {
        shop.visit(&browser, "{}").await;
        shop.respond(path, trouble);
        let result = browser
            .run_async(&format!(
                "{BESIDE} return await guichet.paymentMethods().catch(({{ kind, retryable }}) => [kind, retryable])"
            ))
            .await;
        assert_eq!(result, json!(["offline", true]), "{what}");
        shop.remove_responses(path);
        let before = shop.requests(WASM).len();
        assert_eq!(browser.run_async(WORKS).await, true, "{what}, and then it loads");
        assert_eq!(shop.requests(WASM).len(), before + 1, "{what}: it is loaded once more");
    }
}

async fn a_page_that_loses_its_network_while_loading_continues_when_it_is_back(engine: Engine) {
    let proxy = Proxy::open().await;
    let shop = Storefront::open().await;
    let browser = engine.start_with_proxy(&proxy, "lost-load").await;
    shop.visit(&browser, "{}").await;
    proxy.disconnect();
    let result = browser.run_async(WORKS).await;
    assert_eq!(result[0], "offline", "{result}");
    proxy.reconnect();
    assert_eq!(browser.run_async(WORKS).await, true);
}

async fn calls_at_once_load_the_wasm_once(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "load-once").await;
    let result = browser
        .run_async(&format!(
            "{BESIDE} const other = createGuichet(options);
             const [one, two] = await Promise.all([guichet.paymentMethods(), other.paymentMethods(), guichet.session.validate()]);
             return one.length > 0 && two.length === one.length"
        ))
        .await;
    assert_eq!(result, true);
    assert_eq!(shop.requests(WASM).len(), 1);
}

async fn a_client_that_is_made_ready_early_loads_once_and_sends_nothing(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "ready").await;
    let found = browser
        .run_async(&format!(
            "{BESIDE}
             const readied = await Promise.all([guichet.ready(), guichet.ready(), createGuichet(options).ready()]);
             const kind = await createGuichet({{}}).ready().catch((e) => e.kind);
             return [readied.every((value) => value === undefined), kind]"
        ))
        .await;
    assert_eq!(found, json!([true, "input"]));
    assert_eq!(
        (shop.requests(WASM).len(), shop.requests(SESSION).len(), shop.tenant.requests().await.len()),
        (1, 0, 0)
    );
    assert_eq!(browser.run_async(WORKS).await, true);
    assert_eq!(shop.requests(WASM).len(), 1, "the next call loads it again");
}

async fn the_wasm_may_be_an_address_a_response_bytes_or_a_module(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start("ways").await;
    for way in [
        "'/package/core/guichet_core_bg.wasm'",
        "new URL('/package/core/guichet_core_bg.wasm', location.href)",
        "await fetch('/package/core/guichet_core_bg.wasm')",
        "fetch('/package/core/guichet_core_bg.wasm')",
        "new Response(await bytes(), { headers: { 'content-type': 'application/wasm' } })",
        "new Response(await bytes())",
        "await bytes()",
        "new Uint8Array(await bytes())",
        "await WebAssembly.compile(await bytes())",
    ] {
        shop.visit(&browser, "{}").await; // a new page, because the wasm is loaded once per page
        let result = browser
            .run_async(&format!(
                "const bytes = async () => (await fetch('/package/core/guichet_core_bg.wasm')).arrayBuffer();
                 window.guichet = createGuichet({{ ...options, wasm: {way} }});
                 {WORKS}"
            ))
            .await;
        assert_eq!(result, true, "{way}");
    }
}

async fn invalid_wasm_is_an_error_and_does_not_block_the_next_client(engine: Engine) {
    let (_shop, browser) = Storefront::visited(engine, "no-wasm").await;
    for what in ["'/no-such-file.wasm'", "new Uint8Array([1, 2, 3])", "new Response('<h1>Log in</h1>')"] {
        let result = browser
            .run_async(&format!(
                "return await createGuichet({{ ...options, wasm: {what} }}).paymentMethods().catch((e) => [GuichetError.is(e), e.kind, e.message])"
            ))
            .await;
        assert_eq!(result[0], true, "{what}: {result}");
        assert_ne!(result[1], "wasm_blocked", "{what} is invalid, not forbidden: {result}");
    }
    assert_eq!(browser.run_async(WORKS).await, true);
}

async fn two_copies_on_a_page_work_side_by_side(engine: Engine) {
    let (_shop, browser) = Storefront::visited(engine, "copies").await;
    let result = browser
        .run_async(
            "const copy = await import('/package/guichet.js?another');
             const beside = await import('/package/beside.js');
             const others = [copy, beside].map(({ createGuichet }) => createGuichet(options));
             const lengths = await Promise.all([guichet, ...others].map(async (one) => (await one.paymentMethods()).length > 0));
             const refused = await others[0].fee({ payment_method: 'no such', currency: 'XAF', amount: '5000' }).catch((e) => e);
             return [...lengths, GuichetError.is(refused), copy.GuichetError.is(refused)]",
        )
        .await;
    assert_eq!(result, json!([true, true, true, true, true]));
}

async fn a_policy_that_forbids_webassembly_is_an_error_that_says_what_to_allow(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start("policy").await;
    const PAGE: &str = "<!doctype html><title>A guarded page</title><link rel=icon href='data:,'>
        <p id=shown></p><script type=module src=/page.js></script>";
    shop.respond(
        "/page.js",
        CannedResponse::default().header("content-type", "text/javascript").body(&format!(
            "import {{ createGuichet }} from '/package/guichet.js';
             const shown = document.querySelector('#shown');
             const guichet = createGuichet({{ baseUrl: '{}', merchant: '/guichet' }});
             const ready = await guichet.ready().then(() => 'ready', ({{ kind }}) => kind);
             const call = await guichet.paymentMethods().then(
                 (methods) => `${{methods.length}} methods`, ({{ kind, message }}) => `${{kind}}: ${{message}}`,
             );
             shown.textContent = `${{ready}}, ${{call}}`;
             shown.dataset.done = '';",
            shop.service()
        )),
    );
    for (policy, allowed) in [
        ("script-src 'self'", false),
        ("default-src 'self'; connect-src *", false),
        ("script-src 'self' 'wasm-unsafe-eval'", true),
    ] {
        shop.respond("/guarded", CannedResponse::html(PAGE).header("content-security-policy", policy));
        browser.open(&format!("{}/guarded", shop.url())).await;
        let text = browser.wait_for("#shown[data-done]").await;
        match allowed {
            true => assert!(text.starts_with("ready, ") && text.ends_with("methods"), "{policy}: {text}"),
            false => assert!(
                text.starts_with("wasm_blocked, wasm_blocked: ")
                    && text.contains("script-src")
                    && text.contains("'wasm-unsafe-eval'"),
                "{policy}: {text}"
            ),
        }
    }
}

async fn a_device_without_webassembly_is_reported(engine: Engine) {
    let (_shop, browser) = Storefront::visited(engine, "lockdown").await;
    let result = browser
        .run_async("delete window.WebAssembly; return await guichet.paymentMethods().catch(({ kind, message }) => [kind, message])")
        .await;
    assert_eq!(result[0], "wasm_blocked", "{result}");
}

/// Simulates a panic by a trap: during a call, and after the reply has arrived, when no JavaScript is on the stack to catch it.
async fn after_a_panic_every_call_is_rejected_until_the_page_is_reloaded(engine: Engine) {
    const KIND: &str = "const kind = (call) => call.then(() => 'resolved', (e) => e.kind ?? String(e));";
    let shop = Storefront::open().await;
    let browser = engine.start("panic").await;
    for moment in ["call", "reply"] {
        shop.visit(&browser, "{}").await;
        let result = browser
            .run_async(&format!(
                "{KIND}
                 const real = WebAssembly.instantiate;
                 WebAssembly.instantiate = (module, imports) => {{
                     for (const members of Object.values(imports ?? {{}})) {{
                         for (const name of Object.keys(members).filter((name) => String(members[name]).includes('performance.now('))) {{
                             const now = members[name];
                             members[name] = () => {{
                                 if (window.panics) throw new WebAssembly.RuntimeError('unreachable');
                                 return now();
                             }};
                         }}
                     }}
                     return real.call(WebAssembly, module, imports);
                 }};
                 const fetch = async (...request) => {{
                     const response = await window.fetch(...request);
                     window.panics = window.defect === 'reply';
                     return response;
                 }};
                 window.guichet = createGuichet({{ ...options, fetch }});
                 const before = await kind(guichet.paymentMethods());
                 window.defect = '{moment}';
                 window.panics = defect === 'call';
                 const struck = await kind(guichet.paymentMethods());
                 window.panics = window.defect = false;
                 const other = createGuichet(options);
                 return [before, struck, await kind(guichet.session.validate()), await kind(other.paymentMethods())]"
            ))
            .await;
        assert_eq!(result, json!(["resolved", "panic", "panic", "panic"]), "a panic during the {moment}");
    }
    shop.visit(&browser, "{}").await;
    assert_eq!(browser.run_async(&format!("{KIND} return await kind(guichet.paymentMethods())")).await, "resolved");
}
