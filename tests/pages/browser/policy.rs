//! A whole purchase under the content security policy `script-src 'self' 'wasm-unsafe-eval'` violates no rule of it.

use crate::support::engine::{Engine, in_every_browser};
use crate::support::site::CannedResponse;
use crate::support::storefront::{RETURN, Storefront};
use guichet::operations::{Instrument, ListPaymentIntents};
use guichet::values::Phone;
use serde_json::{Value, json};

in_every_browser!(a_page_that_allows_only_its_own_scripts_and_wasm_completes_a_purchase,);

const POLICY: &str = "script-src 'self' 'wasm-unsafe-eval'";

const PAGE: &str = "<!doctype html><meta charset=utf-8><title>A shop</title><link rel=icon href=data:,>\
    <p id=shown></p><button id=pay>Pay</button><script type=module src=/shop.js></script>";

async fn a_page_that_allows_only_its_own_scripts_and_wasm_completes_a_purchase(engine: Engine) {
    let shop = Storefront::open().await;
    let page = CannedResponse::html(PAGE).header("content-security-policy", POLICY);
    shop.respond("/shop", page.clone());
    shop.respond(RETURN, page);
    let script = format!(
        "const broken = [];
         addEventListener('securitypolicyviolation', ({{ violatedDirective, blockedURI }}) => broken.push([violatedDirective, blockedURI]));
         const shown = document.querySelector('#shown');
         const show = (name, value) => {{ shown.textContent = JSON.stringify(value); shown.dataset.state = name; }};
         const entry = location.search === '?beside' ? 'beside' : 'guichet'; // the wasm as a file, or embedded
         const {{ createGuichet }} = await import(`/package/${{entry}}.js`);
         const guichet = createGuichet({{ baseUrl: '{}', merchant: '/guichet' }});
         document.querySelector('#pay').onclick = () => guichet.checkout({{ order: {{ id: entry }} }}).catch((e) => show('failed', String(e)));
         const back = await guichet.returned();
         const found = back
             ? {{ match: back.match, state: (await guichet.waitForOutcome(back)).state }}
             : {{ valid: (await guichet.session.validate()).valid, quotes: (await guichet.quotes({{ amount: '5000' }})).length }};
         await new Promise((over) => setTimeout(over, 50));
         const so_far = [...broken];
         let evaluated = false;
         try {{ evaluated = Boolean(new Function('return true')()); }} catch {{}}
         while (broken.length === so_far.length && !evaluated) await new Promise((over) => setTimeout(over, 20));
         show(back ? 'back' : 'ready', {{ ...found, so_far, evaluated }});",
        shop.service()
    );
    shop.respond("/shop.js", CannedResponse::default().header("content-type", "text/javascript").body(&script));
    let browser = engine.start("policy").await;
    for entry in ["guichet", "beside"] {
        browser.open(&format!("{}/shop?{entry}", shop.url())).await;
        let found: Value = serde_json::from_str(&browser.wait_for("#shown[data-state='ready']").await).unwrap();
        // Positive control: the listener reports `new Function`.
        assert_eq!(found, json!({ "valid": true, "quotes": 3, "so_far": [], "evaluated": false }), "{entry}");
        browser.click("#pay").await;
        browser.wait_for_url("the hosted page", |url| url.path().starts_with("/checkout/")).await;
        let intent = shop.client().list_payment_intents(&ListPaymentIntents::new()).await.unwrap().entries.remove(0);
        let phone = Phone::new("237670000000").unwrap();
        shop.client().attach_payment_method(&intent.id, Instrument::mobile_money(phone)).await.unwrap();
        shop.tenant.clock().advance(5).await.unwrap();
        let back = intent.redirect_url.expect("a return address");
        browser.open(&format!("{back}&payment_intent={}&status=succeeded", intent.id)).await;
        let found: Value = serde_json::from_str(&browser.wait_for("#shown[data-state='back']").await).unwrap();
        let expected = json!({ "match": "matched", "state": "succeeded", "so_far": [], "evaluated": false });
        assert_eq!(found, expected, "{entry}");
    }
}
