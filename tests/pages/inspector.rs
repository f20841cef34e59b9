//! The inspector in a browser: a purchase is followed in the thread, the customer's phone decides it, and every text
//! stays text.
//! `GUICHET_PICTURES` writes pictures of each view.

use crate::accessible::Accessibility;
use crate::support::api::{Merchant, client, order, send};
use crate::support::browser::Browser;
use crate::support::engine::{Engine, in_chromium, in_every_browser, only_in_chromium};
use guichet_sandbox::{Delivery, Sandbox};
use serde_json::{Value, json};
use std::time::Instant;

in_every_browser!(a_decline_a_late_approval_and_a_duplicate_are_followed_in_the_thread);

in_chromium!(
    what_the_page_does_is_the_control_api,
    every_text_of_a_payment_is_text,
    a_delivery_to_the_application_is_in_the_thread,
    of_10000_events_the_newest_are_drawn,
);

only_in_chromium!(
    "it uses Chromium's DevTools protocol":
    of_10000_purchases_the_first_view_draws_one_page,
    #[ignore = "needs axe-core: cargo xtask test"]
    every_view_of_the_inspector_is_accessible,
);

/// A sandbox, a merchant of it, and the inspector of that merchant in a browser.
struct Opened {
    sandbox: Sandbox,
    shop: Merchant,
    browser: Browser,
}

impl Opened {
    async fn start(engine: Engine, scenario: &'static str) -> Self {
        let sandbox = Sandbox::start().await.unwrap();
        let shop = Merchant::of(&sandbox, "Boutique Awa").await;
        let browser = engine.start(scenario).await;
        let opened = Self { sandbox, shop, browser };
        let address = opened.sandbox.inspector_url();
        let (page, token) = address.split_once('#').unwrap();
        opened.browser.open(&format!("{page}?merchant={}#{token}", opened.shop.tenant.id())).await;
        opened.browser.wait_for("#side h1").await;
        assert_eq!(opened.browser.url().await.fragment(), None, "the token has left the address");
        opened
    }

    /// Shows a payment.
    async fn show(&self, payment: &str) {
        let address = format!("{}/inspector/{payment}?merchant={}", self.sandbox.base_url(), self.shop.tenant.id());
        self.browser.open(&address).await;
        self.browser.wait_for("#title").await;
    }

    /// The rows of the thread: what happened to the money, what was reported to the shop, and whether they differ.
    async fn rows(&self) -> Vec<String> {
        let rows = "return [...document.querySelectorAll('tbody tr')].map((row) =>
            [...row.querySelectorAll('td')].map(({ textContent }) => textContent.trim()).join(' | ') + (row.hasAttribute('data-differs') ? ' !' : ''))";
        serde_json::from_value(self.browser.run(rows).await).unwrap()
    }

    async fn wait_for_row(&self, text: &str) {
        self.browser.wait_for_text("tbody", text).await;
    }
}

fn phone(number: &str) -> Value {
    json!({ "payment_method": { "type": "mobile_money", "phone": number } })
}

/// Makes the purchase of the pictures: a timeout, and a second attempt that the payer will refuse and the operator
/// approve late.
async fn eventful(opened: &Opened, reference: &str) -> Value {
    let Opened { shop, browser, .. } = opened;
    let intent = shop.create_intent(reference).await;
    shop.attach(&intent, phone("237670000020")).await;
    opened.show(reference).await;
    browser.click("#handset-ignore").await;
    opened.wait_for_row("payer_timeout").await;
    shop.read_intent(&intent).await;
    shop.attach(&intent, phone("237690000013")).await;
    shop.read_intent(&intent).await;
    opened.wait_for_row("Attempt 2:").await;
    intent
}

async fn a_decline_a_late_approval_and_a_duplicate_are_followed_in_the_thread(engine: Engine) {
    let opened = Opened::start(engine, "inspector").await;
    let Opened { shop, browser, .. } = &opened;
    let intent = eventful(&opened, "ORDER-17").await;
    // The first attempt is approved while the second is under way.
    browser.click("#handset-approve").await;
    opened.wait_for_row("a duplicate payment to refund").await;
    shop.tenant.clock().advance(5).await.unwrap();
    opened.wait_for_row("rejected_by_payer").await;
    shop.tenant.clock().advance(240).await.unwrap();
    opened.wait_for_row("approved attempt 2 late").await;
    assert_eq!(
        opened.rows().await,
        [
            "Created requires_action | ",
            " | create_payment_intent → 201 requires_action",
            "Customerattach_payment_method → 200 processing",
            "Attempt 1: 237670000020, mtn_cm processing | ≠ still requires_action",
            "Phoneattempt 1: ignore | ",
            "Attempt 1 declined: payer_timeout requires_action | ",
            " | read_payment_intent → 200 requires_action",
            "Customerattach_payment_method → 200 processing",
            "Attempt 2: 237690000013, orange_cm processing | ≠ still requires_action",
            " | read_payment_intent → 200 processing not paid yet: do not ship",
            "Phoneattempt 1: approve | ",
            "The operator approved attempt 1 too: a duplicate payment to refund | ≠ still processing !",
            "Attempt 2 declined: rejected_by_payer requires_action | ≠ still processing !",
            "The operator approved attempt 2 late, and it pays succeeded | ≠ still processing !",
        ]
    );
    assert!(browser.wait_for(".differs").await.contains("does not know"));
    browser.wait_for_text("#asked", "and has not asked since the money changed.").await;
    browser.wait_for_text("dl.now", "processing not paid yet: do not ship").await;
    shop.read_intent(&intent).await;
    browser.wait_until("return !document.querySelector('.differs, [data-differs] td')").await;
    browser.wait_for_text("#asked", " s ago, at ").await;
    browser.wait_for_text("dl.now", "succeeded paid").await;
    assert_eq!(opened.rows().await.last().unwrap(), " | read_payment_intent → 200 succeeded · 1 duplicate");
    opened.show("latest").await;
    browser.wait_for_text("#title", "ORDER-17").await;

    browser.click("#copy").await;
    let copied = browser.wait_for("#copied").await;
    for part in [
        "await sandbox.merchant();",
        r#"await shop.handset.ignore("ORDER-17", 1);"#,
        r#"await shop.handset.approve("ORDER-17", 1);"#,
        r#"expect((await read()).status).toBe("processing");"#,
        r#"expect(status).toBe("succeeded");"#,
    ] {
        assert!(copied.contains(part), "{part} is not in {copied}");
    }
}

async fn what_the_page_does_is_the_control_api(engine: Engine) {
    let opened = Opened::start(engine, "inspector-does").await;
    let Opened { shop, browser, .. } = &opened;
    for reference in ["ORDER-1", "ORDER-2"] {
        let intent = shop.create_intent(reference).await;
        shop.attach(&intent, phone("237670000001")).await;
    }
    browser.wait_for_text("#list", "ORDER-2").await;
    browser.fill("#searched", "order-1").await;
    browser.wait_until("return document.querySelectorAll('#list li').length === 1").await;
    browser.click("#clock summary").await;
    let how = browser.wait_for("#due-how").await;
    assert!(how.contains("guichet clock advance") && how.contains("POST /sandbox/clock"), "{how}");
    assert!(how.contains(&format!("--control-url {}/sandbox", opened.sandbox.base_url())), "{how}");
    browser.fill("#searched", "ORDER-9").await;
    browser.wait_for_text("#none", "No purchase matches “ORDER-9”.").await;
    browser.wait_for_text("#due", "an attempt ends").await;
    browser.fill("#searched", "order-1").await;
    browser.wait_for("#list a").await;
    browser.click("#due").await;
    browser.wait_for_text("#list", "succeeded taken").await;
    assert_eq!(shop.call("POST", "/v1/payment-intents", json!({ "merchant_reference": "ORDER-9" })).await.status, 422);
    browser.wait_for_text("#refused", "create_payment_intent → 422 parameter_missing · ORDER-9").await;
    let untried = shop.create_intent("ORDER-3").await;
    browser.fill("#searched", "order-3").await;
    browser.wait_for_text("#list", "nobody has tried to pay").await;
    shop.attach(&untried, phone("237670000002")).await;
    browser.wait_for_text("#list", "declined, ").await;

    browser.click("#faults summary").await;
    browser.click("#add").await;
    browser.wait_for_text("#faults ul", "create_payment_intent lost_response").await;
    assert_eq!(shop.tenant.faults().await, ["create_payment_intent"]);
    browser.click("#clear").await;
    browser.wait_until("return document.querySelector('#faults ul').children.length === 0").await;

    browser.click("#operators summary").await;
    browser.wait_for_text("#operators ul", "MTN Mobile Money operational").await;
    browser.click("#operator-status option[value=closed], #operator-status option:nth-child(2)").await;
    browser.click("#set").await;
    browser.wait_for_text("#operators ul", "MTN Mobile Money closed").await;

    browser.click("#reset-part summary").await;
    browser.click("#reset").await;
    browser.click("#reset-no").await;
    assert_eq!(shop.call("GET", "/v1/payment-intents", Value::Null).await.body["data"].as_array().unwrap().len(), 3);
    browser.click("#reset").await;
    browser.click("#reset-yes").await;
    browser.wait_for_text("#none", "No purchase yet").await;
    assert_eq!(shop.call("GET", "/v1/payment-intents", Value::Null).await.body["data"], json!([]));

    // An address opens the page once: without the cookie it says what to do.
    opened.sandbox.reset().await.unwrap();
    browser.run("document.querySelector('[data-language=fr]').click()").await;
    browser.wait_for_text("#side h1", "Achats").await;
}

/// What `guichet shop` records of two deliveries: one that its application refuses, and one that it receives.
async fn a_delivery_to_the_application_is_in_the_thread(engine: Engine) {
    let sandbox = Sandbox::start().await.unwrap();
    let (base, key, record) = (sandbox.base_url(), sandbox.secret_key().expose(), sandbox.delivery_recorder());
    let post = async |path: &str, body: Value| {
        let url = format!("{base}/v1/payment-intents{path}");
        send(&client(), "POST", &url, Some(key), Some(body.to_string()), &[]).await.body["data"].clone()
    };
    let intent = post("", order("ORDER-17")).await;
    let id = intent["id"].as_str().unwrap();
    post(&format!("/{id}/payment-method"), phone("237670000000")).await;
    let deliver = |answer: Result<u16, &str>| {
        let event =
            json!({ "name": "ORDER-17", "version": 1, "state": "paid", "paid_by": { "id": id }, "refunds_due": [] });
        record(Delivery { event, references: vec!["ORDER-17".to_owned()], answer: answer.map_err(str::to_owned) });
    };
    let browser = engine.start("inspector-delivery").await;
    browser.open(&sandbox.inspector_url()).await;
    deliver(Err("answers 500: see its log"));
    browser.wait_for_text("#list [data-differs]", "nothing").await;
    browser.click("#list a").await;
    browser.wait_for_text("[data-kind=delivery][data-differs] td:last-child", "answers 500: see its log").await;
    deliver(Ok(204));
    browser.wait_for_text("tbody", "order_changed (delivery 2) → 204 paid").await;
    browser.wait_until("return !document.querySelector('.differs')").await;
    browser.click("[data-language='fr']").await;
    browser.wait_for_text("tbody", "order_changed (envoi 2) → 204 paid").await;
}

/// The sandbox knows the newest 1,000 requests, and the page draws the newest 200 entries of them.
async fn of_10000_events_the_newest_are_drawn(engine: Engine) {
    const EVENTS: usize = 10_000;
    let opened = Opened::start(engine, "inspector-long").await;
    let Opened { shop, browser, .. } = &opened;
    let intent = shop.create_intent("ORDER-17").await;
    shop.attach(&intent, phone("237670000000")).await;
    // Each is refused, and an entry of its own.
    let send = async |from: usize| {
        for _ in (from..EVENTS).step_by(16) {
            assert_eq!(shop.intent_action(&intent, "cancel", json!({})).await.status, 409);
        }
    };
    futures_util::future::join_all((0..16).map(send)).await;
    let begun = Instant::now();
    opened.show("ORDER-17").await;
    browser.wait_for("tbody tr").await;
    println!("a thread of {EVENTS} events: {:?} from the address to its rows", begun.elapsed());
    let rows = "return document.querySelectorAll('tbody tr').length";
    assert_eq!(browser.run(rows).await, 200);
    println!("its work: {}", browser.run(WORK).await);
    assert!(browser.run("return document.querySelectorAll('*').length").await.as_u64().unwrap() < 2_500);
    browser.click("#earlier").await;
    browser.wait_until(&format!("{rows} > 200 && !document.querySelector('#earlier')")).await;
    assert!(browser.run(rows).await.as_u64().unwrap() <= 1_010);
    assert!(opened.rows().await[0].starts_with("Created"), "the money's part is whole");
}

/// What the page has loaded: of each file and reply its bytes, and when it was there, in milliseconds since the
/// navigation.
const WORK: &str = "return performance.getEntries().filter(({ transferSize }) => transferSize !== undefined)
    .map(({ name, transferSize, responseEnd }) => `${new URL(name).pathname} ${transferSize} B ${Math.round(responseEnd)} ms`).join(', ')";

async fn of_10000_purchases_the_first_view_draws_one_page(engine: Engine) {
    const PURCHASES: usize = 10_000;
    let opened = Opened::start(engine, "inspector-many").await;
    let Opened { shop, browser, sandbox } = &opened;
    // The page would read while they are created.
    browser.open("about:blank").await;
    let create = async |from: usize| {
        for number in (from..PURCHASES).step_by(16) {
            shop.create_intent(&format!("ORDER-{number}")).await;
        }
    };
    futures_util::future::join_all((0..16).map(create)).await;
    let first_row = "new MutationObserver((_, observer) => {
        if (!document.querySelector('#list li')) return;
        observer.disconnect();
        requestAnimationFrame(() => setTimeout(() => { window.firstView = performance.now(); }));
    }).observe(document, { childList: true, subtree: true });";
    browser.add_init_script(first_row).await;
    for _ in 0..3 {
        browser.open(&format!("{}/inspector?merchant={}", sandbox.base_url(), shop.tenant.id())).await;
        browser.wait_until("return window.firstView !== undefined").await;
        println!("of {PURCHASES} purchases the first view: {} ms", browser.run("return Math.round(firstView)").await);
        println!("its work: {}", browser.run(WORK).await);
    }
    assert_eq!(browser.run("return document.querySelectorAll('#list li').length").await, 50);
    let replies = "return performance.getEntriesByType('resource').filter(({ name }) => name.includes('/sandbox/purchases')).map(({ decodedBodySize }) => decodedBodySize)";
    let replies: Vec<u64> = serde_json::from_value(browser.run(replies).await).unwrap();
    assert!(replies.iter().all(|bytes| *bytes < 40_000) && (1..=2).contains(&replies.len()), "{replies:?}");
}

const HOSTILE: &str = "<img src=x onerror=hacked()><script>hacked()</script>\u{202e}</td></table>'\"`${hacked()}&lt;";

async fn every_text_of_a_payment_is_text(engine: Engine) {
    let opened = Opened::start(engine, "inspector-hostile").await;
    let Opened { shop, browser, .. } = &opened;
    let fields = json!({
        "firstname": HOSTILE, "lastname": HOSTILE, "email": "awa@example.com", "phone": "237670000000",
        "amount": "5000",
        "description": HOSTILE, "merchant_reference": "javascript:hacked()//<b>'", "metadata": {
        "<b onclick=hacked()>": HOSTILE },
        "items": [{ "name": HOSTILE, "price": 5, "currency": "XAF", "quantity": 1 }],
    });
    let created = shop.call("POST", "/v1/payment-intents", fields).await;
    assert_eq!(created.status, 201, "{}", created.text);
    browser.wait_for_text("#list", "<script>hacked()</script>").await;
    shop.attach(&created.body["data"], phone("237670000020")).await;
    browser.click("#list a").await;
    browser.wait_for_text("#title", "javascript:hacked()").await;
    browser.wait_for("#handset-approve").await;
    browser.click("#fields summary").await;
    browser.wait_for_text("#fields", "<img src=x onerror=hacked()>").await;
    browser.click("#copy").await;
    browser.wait_for("#copied").await;
    let foreign = "return [...document.querySelectorAll('main img, main script, main b[onclick], a[href^=javascript]')].map((one) => one.outerHTML)";
    assert_eq!(browser.run(foreign).await, json!([]));
    browser.click("#handset-approve").await;
    browser.wait_for_text("dl.now", "succeeded").await;
    browser.click(".back").await;
    browser.fill("#searched", "<script>nothing").await;
    browser.wait_until("return document.querySelectorAll('#list li').length === 0").await;
    browser.fill("#searched", "<script>hacked").await;
    browser.wait_for("#list a").await;
}

async fn every_view_of_the_inspector_is_accessible(engine: Engine) {
    let opened = Opened::start(engine, "inspector-accessible").await;
    let Opened { shop, browser, sandbox } = &opened;
    let look = Accessibility::new(browser);
    look.once("inspector-empty").await;
    let paid = shop.create_intent("ORDER-16").await;
    shop.attach(&paid, phone("237670000000")).await;
    shop.read_intent(&paid).await;
    eventful(&opened, "ORDER-17").await;
    look.once("inspector-late").await;
    let waiting = shop.create_intent("ORDER-19").await;
    shop.attach(&waiting, phone("237670000020")).await;
    opened.show("latest").await;
    browser.wait_for("#handset-approve").await;
    look.once("inspector-handset").await;
    let list = format!("{}/inspector?merchant={}", sandbox.base_url(), shop.tenant.id());
    browser.open(&list).await;
    browser.wait_for("#list a").await;
    browser.run("for (const id of ['clock', 'operators']) document.getElementById(id).open = true").await;
    look.once("inspector-list").await;
    let long = json!({ "firstname": "Donaudampfschifffahrtsgesellschaftskapitän",
    "merchant_reference": "0123456789".repeat(10), "amount": "999999999999999" });
    let mut fields = order("ORDER-18");
    fields.as_object_mut().unwrap().extend(long.as_object().unwrap().clone());
    let long = shop.call("POST", "/v1/payment-intents", fields).await.body["data"].clone();
    shop.attach(&long, phone("237690000020")).await;
    opened.show("latest").await;
    browser.wait_for("#handset-approve").await;
    browser.run("for (const one of document.querySelectorAll('#thread details')) one.open = true").await;
    browser.click("#copy").await;
    look.once("inspector-phone").await;
    browser.click("[data-language='fr']").await;
    look.once("inspector-phone-fr").await;
    opened.show("ORDER-17").await;
    look.once("inspector-late-fr").await;
    browser.click("#handset-approve").await;
    shop.tenant.clock().advance(245).await.unwrap();
    opened.wait_for_row("en retard").await;
    browser.click("[data-language='en']").await;
    look.once("inspector-duplicate").await;
    browser.click("[data-language='fr']").await;
    browser.open(&list).await;
    browser.wait_for("#list a").await;
    browser.run("for (const one of document.querySelectorAll('#tools details')) one.open = true; document.querySelector('#reset').click()").await;
    look.once("inspector-list-fr").await;
}
