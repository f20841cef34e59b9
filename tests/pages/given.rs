//! Invalid input of a page, and unexpected replies: a secret key is refused in every argument, an unknown name is
//! refused with a suggestion, and every reply ends in a result or a `GuichetError`.

use crate::support::engine::{Engine, in_chromium, in_every_browser};
use crate::support::site::Site;
use axum::Router;
use serde_json::{Value, json};

in_every_browser!(a_hostile_reply_becomes_an_error_of_the_package);

// Code that depends on no engine.
in_chromium!(
    a_fetch_that_breaks_its_contract_fails_one_call_and_not_the_next,
    a_secret_key_is_refused_in_any_argument_and_nothing_is_sent,
    an_ordinary_text_is_not_taken_for_a_secret_key,
    an_unknown_name_is_refused_with_a_suggestion,
    headers_given_as_a_promise_are_refused,
    a_wrong_call_is_refused_at_once_in_words,
    an_error_stays_the_error_although_it_cannot_be_explained,
    a_reply_or_a_connection_that_fails_names_the_call_and_no_address,
    a_credential_that_the_service_repeats_reaches_no_monitoring_and_no_error,
);

/// Clients of a fake service: `answers` returns each response, and `sent` records each request.
const CLIENTS: &str = "
    const { createGuichet, GuichetError } = await import('/package/guichet.js');
    const { openHostedCheckout } = await import('/package/hosted.js');
    const sent = [];
    let answers = () => new Response(JSON.stringify({ data: [] }));
    const fetch = async (url, init) => (sent.push(String(url)), answers(String(url), init));
    const client = (options) => createGuichet({ baseUrl: 'https://api.example', merchant: '/guichet', fetch, ...options });
    const hosted = (options) => openHostedCheckout({ baseUrl: 'https://api.example', intent: { id: 'pi_1', client_secret: 's' }, fetch, ...options });
    const problem = (work) => Promise.resolve().then(work).then(() => null, (e) => e);
";

async fn on_a_page(engine: Engine, scenario: &'static str, script: &str) -> Value {
    let site = Site::open(Router::new()).await;
    let browser = engine.start(scenario).await;
    browser.open(&format!("{}/", site.url())).await;
    let found = browser.run_async(&format!("{CLIENTS}{script}")).await;
    browser.close().await;
    found
}

async fn a_secret_key_is_refused_in_any_argument_and_nothing_is_sent(engine: Engine) {
    let found = on_a_page(
        engine,
        "secret-key",
        "const key = 'sk_live_1';
         const nested = { a: [{ b: new Map([['c', { d: `the key is ${key}` }]]) }] };
         const functions = { session: async () => sent.push('session'), intent: async () => sent.push('intent'), status: async () => sent.push('status') };
         const methods = (options) => client(options).paymentMethods();
         const order = (order, options) => client(options).checkout({ order });
         const works = {
             merchant: () => methods({ merchant: `/x?k=${key}` }),
             escaped: () => methods({ merchant: `/x?next=%2Fy%3Fk%3D${key}` }),
             of_another_kind: () => methods({ merchant: '/x?k=FLWSECK_TEST-1' }),
             of_no_mode: () => methods({ merchant: '/x?k=sk_0123456789abcdefABCD' }),
             base_url: () => methods({ baseUrl: new URL(`https://api.example/${key}`) }),
             origin: () => methods({ checkoutOrigins: ['https://pay.example', `https://pay.example/${key}`] }),
             locale: () => methods({ locale: key }),
             public_reads: () => methods({ publicReads: key }),
             wasm: () => methods({ wasm: `${location.origin}/wasm?k=${key}` }),
             wasm_url: () => methods({ wasm: new URL(`/wasm?k=${key}`, location.origin) }),
             unknown_option: () => methods({ [key]: 1 }),
             header: () => methods({ merchantHeaders: () => ({ 'X-Csrf-Token': `k=${key}` }) }),
             headers: () => methods({ merchantHeaders: () => new Headers({ Authorization: 'Bearer sk_anything' }) }),
             language: () => methods({ merchantHeaders: () => [['Accept-Language', key]] }),
             order: () => order({ id: '17', nested }, { merchant: functions }),
             order_text: () => order(key),
             order_name: () => order({ lines: [{ [key]: 1 }] }),
             order_url: () => order({ next: new URL(`https://shop.example/?k=${key}`) }),
             order_json: () => order({ toJSON: () => ({ key }) }),
             order_after_a_break: () => order('a line\\n' + key),
             mode: () => client().checkout({ order: 1 }, { mode: key }),
             amount: () => client().fee({ payment_method: 'card', currency: 'XAF', amount: key }),
             country: () => client().paymentMethods({ country_code: key }),
             codes: () => client().quotes({ amount: '5000', codes: { svc_card: key } }),
             reference: () => client({ merchant: functions }).waitForOutcome({ payment_ref: key }),
             hosted_intent: () => hosted({ intent: { id: 'pi_1', client_secret: key } }),
             hosted_address: () => hosted({ intent: `https://pay.example/checkout/pi_1?a=${key}#client_secret=s` }),
             hosted_path: () => hosted({ paths: { read_payment_intent: `/v2/${key}/{id}` } }),
             hosted_origin: () => hosted({ redirectOrigins: [`https://shop.example/${key}`] }),
         };
         const kinds = {};
         const real = window.fetch;
         window.fetch = (url, init) => (sent.push(String(url)), real(url, init));
         for (const [name, work] of Object.entries(works)) kinds[name] = await problem(work);
         window.fetch = real;
         const leaks = Object.values(kinds).some((e) => `${e?.stack} ${JSON.stringify(e)}`.includes(key));
         for (const name in kinds) kinds[name] = GuichetError.is(kinds[name]) ? kinds[name].kind : String(kinds[name]);
         return { kinds, sent, leaks };",
    )
    .await;
    let kinds = found["kinds"].as_object().unwrap_or_else(|| panic!("{found}"));
    assert_eq!(kinds.len(), 29, "{found}");
    for (place, kind) in kinds {
        assert_eq!(kind, "secret_key", "{place}");
    }
    assert_eq!(found["sent"], json!([]));
    assert_eq!(found["leaks"], false, "no error repeats the key");
}

async fn an_ordinary_text_is_not_taken_for_a_secret_key(engine: Engine) {
    let found = on_a_page(
        engine,
        "honest",
        "answers = (url) => new Response(JSON.stringify(url.endsWith('/session') ? { session_token: 'cst_test_1' } : { data: [] }));
         const shop = client({ merchant: '/sk_SK/guichet', locale: 'sk_SK', merchantHeaders: () => ({ 'X-Task': 'task_live_1' }) });
         await shop.paymentMethods({ country_code: 'CM' });
         const plain = { merchantHeaders: undefined, checkoutOrigins: [], publicReads: 'session', locale: 'fr', wasm: undefined, onCall: () => {} };
         await client({ merchant: { session: async () => 'cst_test_1' }, ...plain }).paymentMethods();
         const e = await problem(() => shop.checkout({ order: { note: 'desk_test_1 at /sk_SK/', ref: 'rk_17' } }));
         return [sent.map((url) => url.replace('https://api.example', '').replace(location.origin, '')), e.kind];",
    )
    .await;
    let expected = json!([
        [
            "/sk_SK/guichet/session",
            "/v1/payment-methods?country_code=CM",
            "/v1/payment-methods",
            "/sk_SK/guichet/intents"
        ],
        "unreadable"
    ]);
    assert_eq!(found, expected);
}

async fn an_unknown_name_is_refused_with_a_suggestion(engine: Engine) {
    let found = on_a_page(
        engine,
        "names",
        "const session = async () => 'cst_test_1';
         const quote = { amount: '5000', currency: 'XAF' };
         const fee = { payment_method: 'card', ...quote };
         const page = { baseUrl: 'https://api.example', intent: { id: 'pi_1', client_secret: 's' } };
         const open = async () => {
             answers = () => new Response(JSON.stringify({ data: { id: 'pi_1', status: 'requires_action', amount: '1', currency: 'XAF' } }));
             const page = await hosted();
             sent.length = 0;
             return page;
         };
         // At once, and without the wasm.
         const early = [{ no: 1 }, { merchant: { session, intents: session } }].map((options) => {
             try { client(options) } catch ({ kind }) { return kind }
         });
         early.push(performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.wasm')).length);
         // The name that was meant comes after the error, from a file of its own.
         early.push(await new Promise((said) => {
             console.error = (text) => text.includes('merchnt') && said(text);
             try { client({ merchnt: '/guichet' }) } catch {}
         }));
         const works = [
             () => client({ no: 1 }).paymentMethods(),
             () => client({ merchnt: '/guichet' }).paymentMethods(),
             () => client({ checkoutOrigin: [] }).paymentMethods(),
             () => client({ merchant: { sesion: session } }).paymentMethods(),
             () => client({ merchant: { session, intents: session } }).paymentMethods(),
             () => client().paymentMethods({ countryCode: 'CM' }),
             () => client().fee({ ...fee, cardType: 'local' }),
             () => client().quotes({ ...quote, feeBearer: 'customer' }),
             () => client().quotes({ ...quote, no: 1 }),
             () => client().quotes({ ...quote, fee_bearer: 'customer' }, { timeout: 5 }),
             () => client().checkout({ order: 1, popup: true }),
             () => client().checkout({ ordr: 1 }),
             () => client().checkout({ order: 1 }, { Mode: 'popup' }),
             () => client().waitForOutcome({ paymentRef: 'gch_1' }),
             () => client().waitForOutcome({ reference: { payment_reff: 'gch_1' } }),
             () => client().waitForOutcome({ payment_ref: 'gch_1' }, { budget: 1 }),
             () => client().session.validate({ timeoutMS: 5 }),
             () => client().session.renew({ aborts: 5 }),
             () => client().session.revoke({ sginal: 5 }),
             () => hosted({ paths: { cancel_payment: '/v2/{id}' } }),
             () => hosted({ paths: { charge: '/v2/{id}' } }),
             () => hosted({ redirectOrigin: [] }),
             async () => (await open()).quotes({ countrycode: 'CM' }),
             async () => (await open()).pay({ type: 'mobile_money', phone: '237670000000', country: 'CM' }),
             async () => (await open()).pay({ type: 'card', card: { number: '4242424242424242', exp_month: 12, exp_year: 2034, cvv: '123' } }),
             () => client().paymentMethods('CM'),
         ];
         const found = [];
         for (const work of works) {
             const { kind, message, fields } = await problem(work) ?? {};
             found.push([kind, fields?.[0]?.param ?? null, message, sent.length]);
         }
         return { early, found };",
    )
    .await;
    let none: [&str; 26] = [
        "Unknown option `no`. The options are: baseUrl, merchant, merchantHeaders, merchantCredentials, checkoutOrigins, publicReads, locale, fetch, wasm, onCall.",
        "Unknown option `merchnt`. The options are: baseUrl, merchant, merchantHeaders, merchantCredentials, checkoutOrigins, publicReads, locale, fetch, wasm, onCall.",
        "Unknown option `checkoutOrigin`. The options are: baseUrl, merchant, merchantHeaders, merchantCredentials, checkoutOrigins, publicReads, locale, fetch, wasm, onCall.",
        "Unknown merchant function `sesion`. The merchant functions are: session, intent, status.",
        "Unknown merchant function `intents`. The merchant functions are: session, intent, status.",
        "Unknown field `countryCode`. Did you mean `country_code`?",
        "Unknown field `cardType`. Did you mean `card_type`?",
        "Unknown field `feeBearer`. Did you mean `fee_bearer`?",
        "Unknown field `no`. The fields are: amount, currency, fee_bearer, country_code, payment_method_types, codes.",
        "Unknown option `timeout`. Did you mean `timeoutMs`?",
        "Unknown field `popup`. The fields are: order.",
        "Unknown field `ordr`. Did you mean `order`?",
        "Unknown option `Mode`. Did you mean `mode`?",
        "Unknown field `paymentRef`. Did you mean `payment_ref`?",
        "Unknown field `payment_reff`. Did you mean `payment_ref`?",
        "Unknown option `budget`. Did you mean `budgetMs`?",
        "Unknown option `timeoutMS`. Did you mean `timeoutMs`?",
        "Unknown option `aborts`. The options are: signal, timeoutMs.",
        "Unknown option `sginal`. Did you mean `signal`?",
        "Unknown path `cancel_payment`. Did you mean `cancel_payment_intent`?",
        "Unknown path `charge`. The paths are: read_payment_intent, attach_payment_method, answer_payment_intent, cancel_payment_intent, abandon_payment_intent.",
        "Unknown option `redirectOrigin`. Did you mean `redirectOrigins`?",
        "Unknown option `countrycode`. Did you mean `country_code`?",
        "Unknown field `country`. Did you mean `country_code`?",
        "Unknown field `cvv`. Did you mean `cvc`?",
        "Pass an object. The fields are: country_code.",
    ];
    assert_eq!(
        found["early"],
        json!(["input", "input", 0, "guichet: Unknown option `merchnt`. Did you mean `merchant`?"]),
        "the kind of each error, the files of wasm that were loaded, and what the console says"
    );
    let found = found["found"].as_array().unwrap_or_else(|| panic!("{found}"));
    assert_eq!(found.len(), none.len());
    for (found, message) in found.iter().zip(none) {
        let param = message.split('`').nth(1).filter(|_| message.starts_with("Unknown"));
        assert_eq!(*found, json!(["input", param, message, 0]));
    }
}

async fn a_hostile_reply_becomes_an_error_of_the_package(engine: Engine) {
    let found = on_a_page(
        engine,
        "hostile",
        r#"const no_text = ['{"toString":1,"valueOf":1}', '[[]]', 'null', '1e400', '{"__proto__":null}'];
         const bodies = no_text.flatMap((odd) => [
             odd,
             `{"message":${odd}}`,
             `{"error":${odd},"message":"m"}`,
             `{"error":{"code":${odd},"request_id":${odd},"retryable":${odd},"errors":${odd}}}`,
             `{"error":{"errors":[${odd},{"param":${odd},"code":${odd},"message":${odd}},{"param":"amount","code":${odd}}]}}`,
             `{"data":${odd}}`,
             `{"data":[${odd},{"id":${odd},"name":${odd},"active":${odd}}]}`,
             `{"data":{"fee":${odd},"total_payable":${odd},"amount":${odd},"currency":${odd}}}`,
             `{"session_token":${odd},"expires_at":${odd},"customer_email":${odd}}`,
             `{"intent":${odd},"return_nonce":${odd}}`,
             `{"intent":{"id":${odd},"status":${odd},"checkout_url":${odd}},"return_nonce":${odd}}`,
             `{"status":${odd},"last_payment_error":${odd}}`,
             `{"data":{"id":${odd},"status":"requires_action","next_action":${odd},"attempts":${odd},"redirect_url":${odd},"last_payment_error":{"code":${odd}}}}`,
             `{"__proto__":${odd},"error":{"__proto__":{"code":"x"}}}`,
         ]);
         for (const [open, close] of [['[', ']'], ['{"error":', '}'], ['{"data":', '}']]) bodies.push(open.repeat(100_000) + '1' + close.repeat(100_000));
         const { describe } = await import('/package/words.js');
         const merchant = { session: async () => 'cst_test_1' };
         const options = { timeoutMs: 1000 };
         const quick = { timeoutMs: 1000, budgetMs: 1 };
         const [guest, member, shop] = [client({ publicReads: 'anonymous' }), client({ merchant }), client()];
         const works = [
             () => guest.paymentMethods({}, options),
             () => guest.quotes({ amount: '5000', fee_bearer: 'customer' }, options),
             () => guest.fee({ payment_method: 'card', currency: 'XAF', amount: '5000' }, options),
             () => member.session.validate(options),
             () => shop.session.renew(options),
             () => shop.checkout({ order: 1 }, options),
             () => shop.waitForOutcome({ payment_ref: 'gch_1' }, quick),
             async () => (await hosted()).pay({ type: 'mobile_money', phone: '237670000000' }, quick),
         ];
         const others = new Set();
         let errors = 0, tried = 0;
         for (const status of [200, 401, 422]) {
             for (const body of bodies) {
                 answers = () => new Response(body, { status, headers: { 'content-type': 'application/json' } });
                 const problems = await Promise.all(works.map(problem));
                 for (const [place, e] of problems.entries()) {
                     tried++;
                     if (e === null) continue;
                     errors++;
                     const texts = GuichetError.is(e) && [e.message, e.code ?? '', e.requestId ?? '', describe(e), ...e.fields.flatMap(({ param, code, message }) => [param, code, message])];
                     if (!texts || texts.some((text) => typeof text !== 'string') || typeof JSON.stringify(e) !== 'string') others.add(`${status} ${body.slice(0, 99)} ${works[place]}: ${e}`);
                 }
             }
         }
         return { others: [...others].slice(0, 5), enough: errors > tried / 2, plain: ({}).code ?? null, declined: describe({ code: { toString: 1 } }) };"#,
    )
    .await;
    assert_eq!((&found["others"], &found["enough"]), (&json!([]), &json!(true)), "{found}");
    assert_eq!(found["plain"], Value::Null, "no prototype is changed");
    assert!(found["declined"].as_str().is_some_and(|sentence| sentence.starts_with("Something went wrong")), "{found}");
}

async fn a_credential_that_the_service_repeats_reaches_no_monitoring_and_no_error(engine: Engine) {
    let found = on_a_page(
        engine,
        "repeated",
        "const [token, secret] = ['cst_test_0123456789', 'pi_1_secret_0123456789'];
         const bodies = {
             200: { data: { id: 'pi_1', status: 'requires_action', amount: '1', currency: 'XAF' } },
             422: { message: `No ${token}.`, error: { code: `no_${token}` } },
         };
         const sends = (status) => (url, { headers }) =>
             new Response(JSON.stringify(bodies[status]), { status, headers: { 'request-id': `req_${headers.authorization}_1` } });
         const calls = [];
         const onCall = ({ operation, status, requestId }) => calls.push([operation, status, requestId]);
         const shop = client({ merchant: { session: async () => token }, onCall });
         const fee = () => shop.fee({ payment_method: 'card', currency: 'XAF', amount: '5000' });
         answers = sends(200);
         await fee();
         await hosted({ intent: { id: 'pi_1', client_secret: secret }, onCall });
         answers = sends(422);
         const { message, code, requestId } = await problem(fee);
         return { calls, error: [message, code, requestId] };",
    )
    .await;
    let id = "req_Bearer ***_1";
    let calls = json!([["calculate_fee", 200, id], ["read_payment_intent", 200, id], ["calculate_fee", 422, id]]);
    assert_eq!((&found["calls"], &found["error"]), (&calls, &json!(["No ***.", "no_***", id])), "{found}");
}

async fn headers_given_as_a_promise_are_refused(engine: Engine) {
    let found = on_a_page(
        engine,
        "promise",
        "const later = await problem(() => client({ merchantHeaders: async () => ({ 'X-CSRF-Token': '1' }) }).paymentMethods());
         const object = await problem(() => client({ merchantHeaders: { 'X-CSRF-Token': '1' } }).paymentMethods());
         return [later?.kind, later?.message, object?.kind, object?.message, sent.length];",
    )
    .await;
    let message = "`merchantHeaders` must be a function that returns headers, and no promise of them.";
    assert_eq!(found, json!(["input", message, "input", message, 0]));
}

async fn a_wrong_call_is_refused_at_once_in_words(engine: Engine) {
    let found = on_a_page(
        engine,
        "wrong",
        "const shop = client();
         const works = {
             base_url: () => createGuichet({}),
             base_url_of_the_hosted_page: () => openHostedCheckout({ intent: { id: 'pi_1', client_secret: 's' } }),
             controller: () => shop.paymentMethods({}, { signal: new AbortController() }),
             signal: () => shop.session.validate({ signal: true }),
             no_listener: () => shop.session.subscribe(),
             null: () => shop.waitForOutcome(null),
             nothing: () => shop.waitForOutcome(),
             empty: () => shop.waitForOutcome({}),
             undefined: () => shop.waitForOutcome({ payment_ref: undefined, id: '' }),
             no_reference: () => shop.waitForOutcome({ match: 'matched', reference: null }),
             http: () => client({ merchant: 'http://shop.example/guichet' }).paymentMethods(),
             credentials: () => client({ merchantCredentials: true }).paymentMethods(),
             reads: () => client({ publicReads: 'none' }).ready(),
             reads_of_functions: () => client({ publicReads: 'merchant', merchant: { session: async () => null } }).ready(),
             origins: () => client({ checkoutOrigins: 'https://pay.example' }).ready(),
             origins_of_the_hosted_page: () => hosted({ intent: { id: 'pi_1', client_secret: 's' }, redirectOrigins: true }),
             mode: () => shop.checkout({ order: {} }, { mode: 'window' }),
             timeout: () => shop.paymentMethods({}, { timeoutMs: 0 }),
             budget: () => shop.waitForOutcome({ id: 'pi_1' }, { budgetMs: -1 }),
         };
         const found = {};
         for (const [name, work] of Object.entries(works)) {
             const { kind, message, fields } = await problem(work) ?? {};
             found[name] = [kind, fields?.[0]?.param, message];
         }
         let at_once = 0;
         for (const work of [works.base_url, works.no_listener]) try { work() } catch { at_once++ }
         // The session is not requested before the address is checked. Without `fetch` it would be requested early.
         window.fetch = async (request) => (sent.push(request.url ?? request), new Response('{}'));
         const merchants = ['//shop.example', '/\\\\shop.example', '/guichet?x', '/guichet#x'];
         const kinds = [];
         for (const merchant of merchants) kinds.push((await problem(() => client({ merchant, fetch: undefined }).paymentMethods())).kind);
         return { found, at_once, kinds, sent };",
    )
    .await;
    let signal = "`signal` must be an AbortSignal: pass `controller.signal`, not the controller.";
    let base_url = "Missing option `baseUrl`. Pass the service's address: https://api.example.com.";
    let reference = "`waitForOutcome` needs a payment. Pass what `returned()` gave, or `{ payment_ref }`, `{ id }`.";
    let reads = "`publicReads` must be \"session\", \"anonymous\" or, with the address of your routes in `merchant`, \"merchant\".";
    let expected = [
        ("base_url", "baseUrl", base_url),
        ("base_url_of_the_hosted_page", "baseUrl", base_url),
        ("controller", "signal", signal),
        ("signal", "signal", signal),
        ("no_listener", "listener", "listener: Pass a function."),
        ("null", "reference", reference),
        ("nothing", "reference", reference),
        ("empty", "reference", reference),
        ("undefined", "reference", reference),
        ("no_reference", "reference", reference),
        (
            "http",
            "merchant",
            "merchant: The address must begin with https:// (http:// is for localhost, *.localhost, *.test, 127.0.0.0/8 and [::1]).",
        ),
        ("credentials", "merchantCredentials", "merchantCredentials: Pass `\"same-origin\"` or `\"include\"`."),
        ("reads", "publicReads", reads),
        ("reads_of_functions", "publicReads", reads),
        ("origins", "checkoutOrigins", "`checkoutOrigins` must be a list of origins: [\"https://pay.example.com\"]."),
        (
            "origins_of_the_hosted_page",
            "redirectOrigins",
            "`redirectOrigins` must be a list of origins: [\"https://shop.example.com\"].",
        ),
        ("mode", "mode", "`mode` must be \"redirect\", \"popup\" or \"top\"."),
        ("timeout", "timeoutMs", "`timeoutMs` must be a number of milliseconds above 0."),
        ("budget", "budgetMs", "`budgetMs` must be a number of milliseconds above 0."),
    ];
    assert_eq!(found["found"].as_object().map(|found| found.len()), Some(expected.len()), "{found}");
    for (call, param, message) in expected {
        assert_eq!(found["found"][call], json!(["input", param, message]), "{call}");
    }
    assert_eq!((&found["at_once"], &found["kinds"]), (&json!(2), &json!(vec!["input"; 4])), "{found}");
    assert_eq!(found["sent"], json!([]));
}

/// The functions of the merchant may be a module, which has no text.
async fn an_error_stays_the_error_although_it_cannot_be_explained(engine: Engine) {
    let found = on_a_page(
        engine,
        "unexplained",
        "const address = URL.createObjectURL(new Blob(['export const session = async () => null'], { type: 'text/javascript' }));
         const merchant = await import(address);
         const { kind } = await problem(() => client({ merchant }).paymentMethods());
         const unexplained = new GuichetError('signed_out', 'mine', { fields: Object.freeze([]) });
         const own = await problem(() => client({ merchant: { session: async () => { throw Object.freeze(unexplained) } } }).paymentMethods());
         return [kind, own === unexplained];",
    )
    .await;
    assert_eq!(found, json!(["signed_out", true]));
}

async fn a_reply_or_a_connection_that_fails_names_the_call_and_no_address(engine: Engine) {
    let found = on_a_page(
        engine,
        "addresses",
        "answers = () => new Response('<h1>Not found</h1>', { status: 404 });
         const shop = client();
         const secure = location.origin.replace('http:', 'https:');
         const works = [
             () => shop.checkout({ order: 1 }),
             () => shop.waitForOutcome({ payment_ref: 'gch_1' }),
             () => client({ baseUrl: secure, fetch: undefined, publicReads: 'anonymous' }).paymentMethods({}, { timeoutMs: 20000 }),
         ];
         const found = [];
         for (const work of works) found.push(await problem(work).then(({ kind, operation, message }) => [kind, operation, message.replace(location.port, 'PORT')]));
         return found;",
    )
    .await;
    let no_reply = "No reply to list_payment_methods. Check the connection, the address and CORS.";
    let expected = json!([
        ["unsupported", "merchant_intent", "The request was refused: see `reply`."],
        ["unsupported", "merchant_status", "The request was refused: see `reply`."],
        ["offline", "list_payment_methods", no_reply]
    ]);
    assert_eq!(found, expected);
}

/// The browser's `fetch` and one that the page passes, each with broken responses as mocks return them. The amount
/// selects the response.
async fn a_fetch_that_breaks_its_contract_fails_one_call_and_not_the_next(engine: Engine) {
    let found = on_a_page(
        engine,
        "mocked",
        r#"const body = JSON.stringify({ data: { amount: 1, currency: 'XAF', fee: 1, total_payable: 2 } });
         const refusal = JSON.stringify({ message: 'No.', error: { code: 'parameter_invalid' } });
         const text = async () => body;
         const fakes = {
             rejects_with_a_string: () => Promise.reject('down'),
             rejects_with_nothing: () => Promise.reject(),
             rejects_with_null: () => Promise.reject(null),
             rejects_with_an_error: () => Promise.reject(new TypeError('Failed to fetch')),
             throws_an_error: () => { throw new Error('mocked'); },
             throws_a_string: () => { throw 'mocked'; },
             resolves_to_nothing: async () => {},
             resolves_to_null: async () => null,
             resolves_to_text: async () => body,
             is_no_promise: () => new Response(body),
             is_a_thenable: () => ({ then: (come) => come(new Response(body)) }),
             an_empty_object: async () => ({}),
             without_text: async () => ({ ok: true, status: 200, json: async () => JSON.parse(body) }),
             without_status: async () => ({ ok: true, text }),
             without_headers: async () => ({ status: 200, text }),
             with_a_plain_object_of_headers: async () => ({ status: 200, text, headers: { 'request-id': 'req_1' } }),
             whose_headers_throw: async () => ({ status: 200, text, headers: { get() { throw 'no'; } } }),
             whose_text_rejects: async () => ({ status: 200, text: () => Promise.reject('cut') }),
             whose_body_breaks_off: async () => new Response(new ReadableStream({ start: (body) => body.error('cut') })),
             whose_text_throws: async () => ({ status: 200, text() { throw null; } }),
             whose_text_is_at_once: async () => ({ status: 200, text: () => body }),
             whose_text_is_no_text: async () => ({ status: 200, text: async () => 17 }),
             that_refuses: async () => ({ status: 422, text: async () => refusal }),
         };
         const names = Object.keys(fakes);
         const mock = (request) => {
             const fake = fakes[names[new URL(request.url ?? request).pathname.split('/').at(-1) - 1]];
             return fake ? fake() : Promise.resolve(new Response(body));
         };
         const found = {};
         for (const [source, options] of [['global', { fetch: undefined }], ['passed', { fetch: mock }]]) {
             window.fetch = source === 'global' ? mock : () => Promise.reject(new Error('it must not be called'));
             const shop = client({ publicReads: 'anonymous', ...options });
             const fee = (amount) => shop.fee({ payment_method: 'card', currency: 'XAF', amount: String(amount) });
             const ends = await Promise.all(names.map(async (name, index) => {
                 const e = await fee(index + 1).then(({ fee }) => fee, (e) => e);
                 return [name, GuichetError.is(e) ? e.kind : String(e)];
             }));
             found[source] = { ...Object.fromEntries(ends), next: (await fee(1000)).fee };
         }
         return found;"#,
    )
    .await;
    let fine =
        ["is_no_promise", "is_a_thenable", "without_headers", "with_a_plain_object_of_headers", "whose_headers_throw"];
    assert_eq!(found["global"], found["passed"], "{found}");
    let ends = found["global"].as_object().unwrap_or_else(|| panic!("{found}"));
    assert_eq!(ends.len(), 24, "{found}");
    for (fake, end) in ends {
        let expected = match fake.as_str() {
            "next" | "whose_text_is_at_once" => "1",
            "that_refuses" => "refused",
            "whose_text_is_no_text" => "unreadable",
            fake if fine.contains(&fake) => "1",
            _ => "offline",
        };
        assert_eq!(end.to_string().trim_matches('"'), expected, "{fake}");
    }
}
