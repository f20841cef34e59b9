//! `guichet/hosted`, for a payment company's own page: an intent in any documented shape, custom paths of the service,
//! and one charge for any number of tabs, clicks and reloads.

use crate::support::browser::{Browser, until};
use crate::support::demo_shop::DemoShop;
use crate::support::engine::{Engine, in_chromium, in_every_browser};
use guichet::operations::{AttachPaymentMethod, CreatePaymentIntent, CustomerName, Instrument, PaymentIntent};
use guichet::values::{Amount, IntentStatus, MerchantReference, Phone, RedirectUrl};
use guichet_sandbox::Fault;
use serde_json::{Value, json};
use std::time::Duration;

const SUCCEEDS: &str = "237670000000";
const AFTER_30_SECONDS: &str = "237670000001";
const PAYS: &str = "4242424242424242";

in_every_browser!(a_reload_while_the_charge_is_sent_charges_once);

// The same in every engine: rules of the service, and code that depends on no engine.
in_chromium!(
    two_tabs_that_pay_at_once_charge_once,
    leaving_follows_only_addresses_of_the_intents_reply,
    an_intent_is_named_by_an_address_of_any_shape,
    an_invalid_intent_or_a_secret_key_is_refused_before_anything_is_sent,
    custom_paths_of_the_service_are_used,
    an_invalid_path_is_refused_before_anything_is_sent,
    waiting_without_any_response_is_an_error_and_returns_no_old_intent,
    a_local_phone_number_is_charged_with_its_country_prefix,
    what_people_type_and_paste_is_read_as_meant_or_refused_before_anything_is_sent,
    paying_a_settled_intent_is_an_error_with_the_remedy,
);

async fn an_intent_is_named_by_an_address_of_any_shape(engine: Engine) {
    let page = Page::open(engine, "shapes").await;
    let result = page
        .run(
            "const shapes = [
                 'https://pay.example/checkout/pi_1#client_secret=s_1',
                 new URL('https://pay.example/pay?payment_intent=pi_1&client_secret=s_1'),
                 'https://pay.example/pi_1?payment_intent_client_secret=s_1',
                 { id: 'pi_1', client_secret: 's_1' },
                 (address) => ({ id: 'pi_' + new URL(address).protocol.length, client_secret: 's_1' }),
                 () => 'https://pay.example/x/pi_1#client_secret=s_1',
             ];
             const requests = [];
             const fetch = async (url, { headers }) => {
                 requests.push([new URL(url).pathname, headers.authorization]);
                 return Response.json({ data: { id: 'pi_1', status: 'requires_action' } });
             };
             for (const intent of shapes) await open({ intent, fetch });
             // The secret is removed from the page's address, and a reload still finds it.
             history.replaceState({ router: 7 }, '', '/checkout/pi_9?lang=fr#client_secret=s_9');
             await open({ intent: location.href, fetch });
             const clean = location.pathname + location.search + location.hash;
             await open({ intent: location.href, fetch });
             return [requests, clean, history.state.router];",
        )
        .await;
    let request = |id: &str, secret: &str| json!([format!("/v1/payment-intents/{id}"), format!("Bearer {secret}")]);
    let (one, nine) = (request("pi_1", "s_1"), request("pi_9", "s_9"));
    let fifth = request("pi_5", "s_1");
    let expected = json!([one, one, one, one, fifth, one, nine, nine]);
    assert_eq!(result, json!([expected, "/checkout/pi_9?lang=fr", 7]));
}

async fn an_invalid_intent_or_a_secret_key_is_refused_before_anything_is_sent(engine: Engine) {
    let page = Page::open(engine, "refused").await;
    let result = page
        .run(
            "const kinds = [];
             const fetch = () => { throw new Error('something was sent'); };
             for (const intent of ['https://pay.example/checkout/pi_1', 'https://pay.example/#client_secret=s', {}, undefined,
                 () => undefined, { id: 'pi_1', client_secret: 'sk_live_1' }, 'https://pay.example/pi_1#client_secret=sk_test_1']) {
                 kinds.push(await open({ intent, fetch }).then(() => 'opened', (e) => e.kind));
             }
             return kinds;",
        )
        .await;
    assert_eq!(result, json!(["input", "input", "input", "input", "input", "secret_key", "secret_key"]));
}

async fn custom_paths_of_the_service_are_used(engine: Engine) {
    let page = Page::open(engine, "paths").await;
    let result = page
        .run(
            "const requests = [];
             let intent = { id: 'pi 1', status: 'requires_action', attempts: 0 };
             const fetch = async (url, { method, body }) => {
                 requests.push(method + ' ' + new URL(url).pathname);
                 if (method === 'POST') bodies.push(JSON.parse(body ?? '{}'));
                 return Response.json({ data: intent });
             };
             const bodies = [];
             const paths = {
                 read_payment_intent: '/v2/payments/{id}', attach_payment_method: '/v2/payments/{id}/charge',
                 answer_payment_intent: '/v2/otp/{id}', cancel_payment_intent: '/v2/payments/{id}:void',
                 abandon_payment_intent: '/v2/{id}/stop',
             };
             const page = await open({ intent: { id: 'pi 1', client_secret: 's_1' }, paths, fetch, baseUrl: 'https://api.example/v1' });
             intent = { ...intent, attempts: 1 };
             await page.pay({ type: 'mobile_money', phone: '237670000000', operator: 'orange_cm' });
             await page.answer('123456');
             await page.cancel();
             await page.anotherNumber();
             const usual = await open({ intent: { id: 'pi_1', client_secret: 's_1' }, paths: {}, fetch });
             return [requests, bodies[0].payment_method, bodies.at(-1)];",
        )
        .await;
    let expected = [
        "GET /v2/payments/pi%201",
        "POST /v2/payments/pi%201/charge",
        "POST /v2/otp/pi%201",
        "POST /v2/payments/pi%201:void",
        "POST /v2/pi%201/stop",
        "GET /v1/payment-intents/pi_1",
    ];
    let method = json!({ "type": "mobile_money", "phone": "237670000000", "operator": "orange_cm" });
    assert_eq!(result, json!([expected, method, { "attempt": 1 }]));
}

async fn an_invalid_path_is_refused_before_anything_is_sent(engine: Engine) {
    let page = Page::open(engine, "no-paths").await;
    let result = page
        .run(
            "const results = [];
             const fetch = () => { throw new Error('something was sent'); };
             for (const path of ['https://evil.example/{id}', '//evil.example/{id}', '/v2/payments', '/v2/../{id}', '/{id}?a=b', 7]) {
                 const paths = { read_payment_intent: path };
                 results.push(await open({ intent: { id: 'pi_1', client_secret: 's_1' }, paths, fetch }).catch((e) => [e.kind, e.fields[0].param]));
             }
             return results;",
        )
        .await;
    assert_eq!(result, json!(vec![["input", "paths"]; 6]));
}

async fn leaving_follows_only_addresses_of_the_intents_reply(engine: Engine) {
    let page = Page::open(engine, "leaves").await;
    let result = page
        .run(
            "history.replaceState(null, '', '/checkout/pi_1?redirect_url=https://evil.example/&next=https://evil.example/');
             const results = [];
             for (const redirect_url of [undefined, null, 'javascript:alert(1)', '//evil.example', 'https://evil.example/', 7]) {
                 const fetch = async () => Response.json({ data: { id: 'pi_1', status: 'succeeded', redirect_url, next_action: { type: 'redirect', url: redirect_url } } });
                 const redirectOrigins = [location.origin];
                 const page = await open({ intent: { id: 'pi_1', client_secret: 's_1' }, fetch, redirectOrigins });
                 try { page.leave(); results.push('left'); } catch (e) { results.push(e.kind); }
                 if (redirect_url !== 'https://evil.example/') try { page.proceed(); results.push('left'); } catch (e) { results.push(e.kind); }
             }
             return results;",
        )
        .await;
    assert_eq!(result, json!(vec!["address"; 11]));
    let shop = page.demo.shop.url().trim_end_matches('/').to_owned();
    page.run(&format!(
        "const redirect_url = '{shop}/return?a=1#end';
         const fetch = async () => Response.json({{ data: {{ id: 'pi_1', status: 'succeeded', payment_ref: 'gch 1', client_secret: 's_1', redirect_url }} }});
         const page = await open({{ intent: {{ id: 'pi_1', client_secret: 's_1' }}, fetch, redirectOrigins: ['{shop}'] }});
         setTimeout(() => {{ window.went = true; page.leave(); }}, 50);"
    ))
    .await;
    // The shop's return page removes the parameters from its address. The rest is unchanged.
    page.browser.wait_for_url("at the shop", |url| url.query() == Some("a=1") && url.fragment() == Some("end")).await;
}

async fn waiting_without_any_response_is_an_error_and_returns_no_old_intent(engine: Engine) {
    let page = Page::open(engine, "no-answer").await;
    let result = page
        .run(
            "let answer = async () => Response.json({ data: { id: 'pi_1', status: 'processing' } });
             const page = await open({ intent: { id: 'pi_1', client_secret: 's_1' }, fetch: (...request) => answer(...request) });
             const results = [];
             for (const now of [() => Promise.reject(new TypeError('no network')), () => new Promise(() => {}),
                 async () => new Response('<!doctype html>'), async () => new Response('{}', { status: 503 })]) {
                 answer = now;
                 results.push(await page.wait({ budgetMs: 400, timeoutMs: 200 }).then(({ status }) => status, (e) => e.kind));
             }
             // One response is enough to resolve with the last status.
             let reads = 0;
             answer = async () => {
                 if (reads++) throw new TypeError('no network');
                 return Response.json({ data: { id: 'pi_1', status: 'processing', attempts: 1 } });
             };
             const { status, attempts } = await page.wait({ budgetMs: 1600, timeoutMs: 200 });
             return [results, status, attempts];",
        )
        .await;
    assert_eq!(result, json!([["offline", "timeout", "unreadable", "refused"], "processing", 1]));
}

async fn a_local_phone_number_is_charged_with_its_country_prefix(engine: Engine) {
    let page = Page::open(engine, "dialled").await;
    let intent = page.demo.create_intent(order(&page.demo, "DIALLED-1")).await;
    let result = page
        .run(&format!(
            "const page = await open({});
             const guess = await page.pay({{ type: 'mobile_money', phone: '6 70 00 00 00', country_code: 'cameroon' }}).catch((e) => e.fields[0].param);
             const {{ status, payment_method }} = await page.pay({{ type: 'mobile_money', phone: '6 70 00 00 00', country_code: 'CM' }});
             return [guess, status, payment_method.phone.slice(0, 3)];",
            options(&page.demo, &intent)
        ))
        .await;
    assert_eq!(result, json!(["country_code", "succeeded", "237"]));
    // The same on the sandbox's own page.
    let intent = page.demo.create_intent(order(&page.demo, "DIALLED-2")).await;
    open(&page.browser, &intent).await;
    page.demo.pay_by_phone(&page.browser, "6 70 00 00 00").await;
    page.browser.wait_for("[data-status='succeeded']").await;
}

async fn what_people_type_and_paste_is_read_as_meant_or_refused_before_anything_is_sent(engine: Engine) {
    let page = Page::open(engine, "typed").await;
    let cases = typed_cases();
    let (mut calls, mut expected) = (Vec::new(), Vec::new());
    for case in cases["phones"].as_array().unwrap() {
        // A case that names no country holds without one and in Cameroon.
        let countries = case.get("country").map_or(vec![Value::Null, json!("CM")], |country| vec![country.clone()]);
        for country in countries {
            let method = json!({ "type": "mobile_money", "phone": case["typed"], "country_code": country });
            calls.push(json!(["pay", method]));
            let sent = case["phone"].as_str().map(|phone| json!({ "type": "mobile_money", "phone": phone }));
            expected.push(sent.map_or(json!(["phone"]), |method| json!({ "payment_method": method })));
        }
    }
    for case in cases["codes"].as_array().unwrap() {
        calls.push(json!(["answer", case["typed"]]));
        expected.push(case["otp"].as_str().map_or(json!(["otp"]), |otp| json!({ "otp": otp })));
    }
    for case in cases["cards"].as_array().unwrap() {
        calls.push(json!(["pay", { "type": "card", "card": with(typed_card(), &case["typed"]) }]));
        let sent = case.get("card").map(|card| json!({ "type": "card", "card": with(sent_card(), card) }));
        expected.push(sent.map_or(case["wrong"].clone(), |method| json!({ "payment_method": method })));
    }
    let result = page
        .run(&format!(
            "let sent;
             const fetch = async (url, {{ method, body }}) => {{
                 if (method === 'POST') sent = JSON.parse(body);
                 return Response.json({{ data: {{ id: 'pi_1', status: 'requires_action', attempts: 0 }} }});
             }};
             const page = await open({{ intent: {{ id: 'pi_1', client_secret: 's_1' }}, fetch }});
             const results = [];
             for (const [name, typed] of {}) {{
                 sent = undefined;
                 const refused = await page[name](typed).then(() => undefined, (e) => e.kind === 'input' ? e.fields.map(({{ param }}) => param) : e.kind);
                 results.push(sent ?? refused);
             }}
             return [results, page.normalize({{ phone: '+237 (0) 6 70', country_code: 'CM', exp_year: '34', otp: '12-' }}), page.normalize()];",
            json!(calls)
        ))
        .await;
    let results = result[0].as_array().unwrap();
    for ((call, result), expected) in calls.iter().zip(results).zip(&expected) {
        assert_eq!(result, expected, "{call}");
    }
    assert_eq!(results.len(), expected.len());
    assert_eq!(result[1], json!({ "phone": "2370670", "exp_year": "2034", "otp": "12" }));
    assert_eq!(result[2], json!({}));
}

/// What people type and paste, and what is meant.
fn typed_cases() -> Value {
    serde_json::from_str(include_str!("../typed.json")).unwrap()
}

/// The fields of a card, of which a case has those that it is about.
fn typed_card() -> Value {
    json!({ "number": PAYS, "exp_month": "12", "exp_year": "2034", "cvc": "123" })
}

fn sent_card() -> Value {
    json!({ "number": PAYS, "exp_month": 12, "exp_year": 2034, "cvc": "123" })
}

fn with(mut members: Value, others: &Value) -> Value {
    members.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
    members
}

async fn paying_a_settled_intent_is_an_error_with_the_remedy(engine: Engine) {
    let page = Page::open(engine, "settled").await;
    let intent = page.demo.create_intent(order(&page.demo, "SETTLED-1")).await;
    page.run(&format!("window.page = await open({}); return page.intent.status", options(&page.demo, &intent))).await;
    let instrument = Instrument::mobile_money(Phone::new(SUCCEEDS).unwrap());
    page.demo.client().attach_payment_method(&intent.id, instrument).await.unwrap();
    page.demo.merchant.clock().advance(5).await.unwrap();
    let result = page
        .run(
            "const card = { number: '4242424242424242', exp_month: 12, exp_year: 2034, cvc: '123' };
             const first = await page.pay({ type: 'card', card }).catch(({ kind, message, retryable }) => [kind, message, retryable]);
             const again = await page.pay({ type: 'card', card });
             return [first, page.intent.status, again.status];",
        )
        .await;
    let text = result[0][1].as_str().unwrap_or_default();
    assert!(text.contains("succeeded") && text.contains("leave"), "{result}");
    assert_eq!((&result[0][0], &result[0][2]), (&json!("settled"), &json!(false)));
    assert_eq!((&result[1], &result[2]), (&json!("succeeded"), &json!("succeeded")), "the error names the status");
    assert_eq!(page.demo.only_intent().await.attempts, Some(1));
}

async fn two_tabs_that_pay_at_once_charge_once(engine: Engine) {
    let page = Page::open(engine, "tabs").await;
    let (demo, browser) = (&page.demo, &page.browser);
    let intent = demo.create_intent(order(demo, "TABS-1")).await;
    open(browser, &intent).await;
    browser.wait_for("[data-test='method-mobile_money']").await;
    let first = browser.current_tab().await;
    let second = browser.open_tab().await;
    open(browser, &intent).await;
    browser.wait_for("[data-test='method-mobile_money']").await;
    demo.enter_phone(browser, AFTER_30_SECONDS).await;
    browser.switch_to(&first).await;
    demo.enter_card(browser, PAYS).await;
    demo.merchant.fault(Fault::delay::<AttachPaymentMethod>(Duration::from_secs(3)).times(2)).await;
    // By scripts, which are fast enough for both to pay before either charge is executed.
    for tab in [&second, &first] {
        browser.switch_to(tab).await;
        browser
            .run("[...document.querySelectorAll(\"[data-test='pay']\")].find((button) => button.offsetParent).click()")
            .await;
    }
    until("both tabs have sent their charge", async || demo.merchant.faults().await.is_empty()).await;
    for tab in [&first, &second] {
        browser.switch_to(tab).await;
        browser.wait_for("[data-status='waiting'],[data-status='succeeded']").await;
    }
    demo.merchant.clock().advance(30).await.unwrap();
    for tab in [&first, &second] {
        browser.switch_to(tab).await;
        browser.wait_for("[data-status='succeeded']").await;
    }
    let intent = demo.only_intent().await;
    assert_eq!((intent.status, intent.attempts), (IntentStatus::Succeeded, Some(1)));
}

async fn a_reload_while_the_charge_is_sent_charges_once(engine: Engine) {
    let page = Page::open(engine, "reload").await;
    let (demo, browser) = (&page.demo, &page.browser);
    let intent = demo.create_intent(order(demo, "RELOAD-1")).await;
    open(browser, &intent).await;
    browser.wait_for("[data-test='method-mobile_money']").await;
    demo.merchant.fault(Fault::delay::<AttachPaymentMethod>(Duration::from_millis(1500))).await;
    demo.pay_by_phone(browser, SUCCEEDS).await;
    until("the charge is sent", async || demo.merchant.faults().await.is_empty()).await;
    browser.reload().await;
    browser.wait_for("[data-status='ready'],[data-status='waiting'],[data-status='succeeded']").await;
    if browser.run("return document.querySelector('#status').dataset.status").await == "ready" {
        demo.pay_by_card(browser, PAYS).await;
    }
    browser.wait_for("[data-status='succeeded']").await;
    let intent = demo.only_intent().await;
    assert_eq!((intent.status, intent.attempts), (IntentStatus::Succeeded, Some(1)));
}

/// A page that uses `guichet/hosted`.
struct Page {
    browser: Browser,
    demo: DemoShop,
}

impl Page {
    async fn open(engine: Engine, scenario: &'static str) -> Self {
        let demo = DemoShop::open().await;
        let browser = engine.start(scenario).await;
        browser.open(demo.shop.url()).await;
        Self { demo, browser }
    }

    async fn run(&self, script: &str) -> Value {
        self.browser
            .run_async(&format!(
                "const {{ openHostedCheckout }} = await import('/package/hosted.js');
                 const open = (options) => openHostedCheckout({{ baseUrl: 'https://api.example', ...options }});
                 {script}"
            ))
            .await
    }
}

/// The options that open this intent with the sandbox.
fn options(demo: &DemoShop, intent: &PaymentIntent) -> Value {
    let secret = intent.client_secret.as_ref().expect("the sandbox sends this field").expose();
    json!({ "baseUrl": demo.merchant.base_url(), "intent": { "id": intent.id.as_str(), "client_secret": secret } })
}

async fn open(browser: &Browser, intent: &PaymentIntent) {
    browser.open(intent.checkout_url.as_ref().expect("the sandbox sends this field").expose()).await;
}

fn order(demo: &DemoShop, reference: &str) -> CreatePaymentIntent {
    let reference = MerchantReference::new(reference).unwrap();
    CreatePaymentIntent::new(
        reference,
        Amount::units(5_000),
        "A pair of shoes",
        CustomerName { firstname: "Awa", lastname: "Ndiaye" },
    )
    .phone(Phone::new(SUCCEEDS).unwrap())
    .redirect_url(RedirectUrl::new(format!("{}/return", demo.shop.url())).unwrap())
}
