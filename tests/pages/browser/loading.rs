//! Loading the wasm: a failed load is retried, two copies work side by side, and where wasm is forbidden the error says
//! what to allow.

use crate::support::engine::{Engine, in_chromium, in_every_browser};
use crate::support::site::CannedResponse;
use crate::support::storefront::{SESSION, Storefront};
use serde_json::json;

in_every_browser!(
    a_file_beside_the_script_that_is_missing_is_replaced_by_the_embedded_wasm,
    a_missing_wasm_is_an_error_that_says_what_was_received_and_is_tried_again,
    a_page_that_loses_its_network_while_loading_continues_when_it_is_back,
    the_wasm_may_be_an_address_a_response_bytes_or_a_module,
    a_policy_that_forbids_webassembly_is_an_error_that_says_what_to_allow,
    files_that_a_deploy_has_replaced_are_said_to_be_of_an_old_page,
);

// The package's own JavaScript, which is the same in every engine.
in_chromium!(
    a_load_whose_explanation_is_missing_too_is_offline_and_tried_again,
    invalid_wasm_is_an_error_and_does_not_block_the_next_client,
    after_a_panic_every_call_is_rejected_until_the_page_is_reloaded,
    calls_at_once_load_the_wasm_once,
    a_client_that_is_made_ready_early_loads_once_and_sends_nothing,
    two_copies_on_a_page_work_side_by_side,
    a_device_without_webassembly_or_with_an_old_one_is_reported,
);

const WASM: &str = "/package/core/guichet_core_bg.wasm";
/// Returns whether a call succeeds.
const WORKS: &str = "return await guichet.paymentMethods().then((methods) => methods.length > 0, ({ kind, message }) => [kind, message])";

/// Creates a client by the entry `guichet/beside`, whose wasm is a file.
const BESIDE: &str = "const { createGuichet, GuichetError } = await import('/package/beside.js');
    Object.assign(window, { createGuichet, GuichetError, guichet: createGuichet(options) });";

/// What a server sends in the place of the wasm, and what the error says of it.
fn wrong_files() -> [(CannedResponse, &'static str); 2] {
    [
        (CannedResponse::html("<h1>Not found</h1>").status(404), " answered 404."),
        (CannedResponse::html("<h1>Log in</h1>"), " answered text/html; charset=utf-8, which is no wasm."),
    ]
}

/// As in the build of a bundler that does not copy the file, and on a server that answers every address with its page.
async fn a_file_beside_the_script_that_is_missing_is_replaced_by_the_embedded_wasm(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start("embedded").await;
    for (file, received) in wrong_files() {
        shop.visit(&browser, "{}").await;
        shop.respond(WASM, file);
        let before = shop.requests(WASM).len();
        let found = browser
            .run_async(&format!(
                "const warned = [];
                 console.warn = (text) => warned.push(text);
                 {BESIDE}
                 const calls = [guichet, guichet, createGuichet(options)].map((client) => client.paymentMethods());
                 const works = (await Promise.all(calls)).every((methods) => methods.length > 0);
                 return [works, warned]"
            ))
            .await;
        let warned: Vec<&str> = found[1].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
        assert_eq!((&found[0], warned.len()), (&json!(true), 1), "{received}: {found}");
        for part in [&format!("{}{WASM}{received}", shop.url()), "option `wasm`"] {
            assert!(warned[0].contains(part), "{part}: {warned:?}");
        }
        assert_eq!(browser.run_async(WORKS).await, true);
        assert_eq!(shop.requests(WASM).len(), before + 1, "{received} The file is not requested again");
    }
    // A file that may be there a moment later is not replaced.
    shop.visit(&browser, "{}").await;
    shop.respond(WASM, CannedResponse::default().status(503));
    let found = browser.run_async(&format!("{BESIDE} {WORKS}")).await;
    assert_eq!(found[0], "offline", "{found}");
    shop.remove_responses(WASM);
    assert_eq!(browser.run_async(WORKS).await, true);
}

/// Firefox does not repeat an import that has failed.
async fn a_load_whose_explanation_is_missing_too_is_offline_and_tried_again(engine: Engine) {
    const WHY: &str = "/package/load-error.js";
    let shop = Storefront::open().await;
    let browser = engine.start("again").await;
    shop.visit(&browser, "{}").await;
    shop.respond(WASM, CannedResponse::default().status(503));
    shop.respond(WHY, CannedResponse::default().status(503));
    let found = browser
        .run_async(&format!(
            "window.guichet = createGuichet({{ ...options, wasm: '{WASM}' }});
             return await guichet.paymentMethods().catch(({{ kind, retryable, cause }}) => [kind, retryable, cause.message])"
        ))
        .await;
    assert_eq!(found, json!(["offline", true, "status 503"]));
    shop.remove_responses(WASM);
    assert_eq!(browser.run_async(WORKS).await, true);
}

async fn a_missing_wasm_is_an_error_that_says_what_was_received_and_is_tried_again(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start("missing").await;
    let busy = (CannedResponse::html("<h1>Busy</h1>").status(503), " answered 503.");
    for (file, received) in wrong_files().into_iter().chain([busy]) {
        shop.visit(&browser, "{}").await;
        shop.respond(WASM, file);
        let found = browser
            .run_async(&format!(
                "window.guichet = createGuichet({{ ...options, wasm: '{WASM}' }});
                 return await guichet.paymentMethods().catch(({{ kind, retryable, status, message }}) => [kind, retryable, status, message])"
            ))
            .await;
        let expected = match received {
            " answered 503." => json!(["offline", true, 503]),
            " answered 404." => json!(["wasm_missing", false, 404]),
            _ => json!(["wasm_missing", false, 200]),
        };
        assert_eq!(found.as_array().unwrap()[..3], expected.as_array().unwrap()[..], "{found}");
        let message = found[3].as_str().unwrap();
        assert!(message.contains(&format!("{}{WASM}{received}", shop.url())), "{message}");
        assert!(!message.contains("offline"), "{message}");
        shop.remove_responses(WASM);
        assert_eq!(browser.run_async(WORKS).await, true, "{received} Then it loads");
    }
}

async fn a_page_that_loses_its_network_while_loading_continues_when_it_is_back(engine: Engine) {
    let shop = Storefront::open().await;
    let browser = engine.start_with_proxy("lost-load").await;
    shop.visit(&browser, "{}").await;
    browser.run_async(BESIDE).await;
    browser.proxy().disconnect();
    let result = browser.run_async(WORKS).await;
    assert_eq!(result[0], "offline", "{result}");
    browser.proxy().reconnect();
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
             const kind = await createGuichet({{ baseUrl: 'api.example' }}).ready().catch((e) => e.kind);
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

/// A wasm that imports `zz` of a module: the script has the module `a` alone, without that name.
const IMPORTING: &str = "const importing = (module) => Uint8Array.of(
    0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 2, 8, 1, 1, module.charCodeAt(), 2, 122, 122, 0, 0);";

async fn invalid_wasm_is_an_error_and_does_not_block_the_next_client(engine: Engine) {
    let (_shop, browser) = Storefront::visited(engine, "no-wasm").await;
    for (what, says) in [
        ("'/no-such-file.wasm?key=mine'", "/no-such-file.wasm answered text/html; charset=utf-8, which is no wasm."),
        ("new Uint8Array([1, 2, 3])", "the option `wasm` is no wasm."),
        (
            "new Response('<h1>Log in</h1>')",
            "a response without an address answered text/plain;charset=UTF-8, which is no wasm.",
        ),
        ("'data:text/plain,mine'", "data: answered text/plain, which is no wasm."),
        ("importing('a')", "of another version"),
        ("importing('b')", "of another version"),
    ] {
        let result = browser
            .run_async(&format!(
                "{IMPORTING}
                 return await createGuichet({{ ...options, wasm: {what} }}).paymentMethods().catch((e) => [GuichetError.is(e), e.kind, e.message])"
            ))
            .await;
        assert_eq!((&result[0], &result[1]), (&json!(true), &json!("wasm_missing")), "{what}: {result}");
        let message = result[2].as_str().unwrap_or_default();
        assert!(message.contains(says) && !message.contains("mine"), "{what}: {message}");
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

/// A tab that was open during a deploy. WebKit does not say which module it did not get.
async fn files_that_a_deploy_has_replaced_are_said_to_be_of_an_old_page(engine: Engine) {
    const WHY: &str = "/package/load-error.js";
    const HOSTED: &str = "const { openHostedCheckout } = await import('/package/hosted.js');
        return await openHostedCheckout({ baseUrl: options.baseUrl, intent: { id: 'pi_1', client_secret: 's' } }).catch(({ kind, message }) => [kind, message])";
    let beside = format!("{BESIDE} {WORKS}");
    let shop = Storefront::open().await;
    let browser = engine.start("deployed").await;
    for (file, is_gone) in [
        (CannedResponse::default().status(404), true),
        (CannedResponse::html("<h1>The shop</h1>"), true),
        (CannedResponse::default().status(503), false),
    ] {
        for (gone, script, says_which) in [
            (&[WASM, WHY][..], &*beside, true),
            (&["/package/core/inline_hosted.js"], HOSTED, engine != Engine::WebKit),
        ] {
            shop.visit(&browser, "{}").await;
            gone.iter().for_each(|path| shop.respond(path, file.clone()));
            let found = browser.run_async(script).await;
            gone.iter().for_each(|path| shop.remove_responses(path));
            let kind = if is_gone && says_which { "wasm_missing" } else { "offline" };
            assert_eq!(found[0], kind, "{gone:?}: {found}");
            let message = found[1].as_str().unwrap_or_default();
            assert!(
                kind == "offline" || message.to_lowercase().contains("of an older version of the site"),
                "{message}"
            );
        }
    }
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

async fn a_device_without_webassembly_or_with_an_old_one_is_reported(engine: Engine) {
    let (shop, browser) = Storefront::visited(engine, "lockdown").await;
    let result = browser.run_async(&format!("delete window.WebAssembly; {WORKS}")).await;
    assert_eq!(result[0], "wasm_blocked", "{result}");
    assert!(result[1].as_str().is_some_and(|message| message.contains("Lockdown Mode")), "{result}");
    // As in a browser that does not know what the module needs.
    shop.visit(&browser, "{}").await;
    let old = "WebAssembly.validate = () => false;
               WebAssembly.compile = () => Promise.reject(new WebAssembly.CompileError('invalid value type'));";
    let result = browser.run_async(&format!("{old} {WORKS}")).await;
    assert_eq!(result[0], "wasm_blocked", "{result}");
    assert!(result[1].as_str().is_some_and(|message| message.contains("newer browser")), "{result}");
}

/// Simulates a panic by a trap: during a call, and after the reply has arrived, when no JavaScript is on the stack to
/// catch it.
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
