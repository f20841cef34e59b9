//! Accessibility of every state of the hosted page, the issuer's page, the sandbox's front page and the shop, checked by axe-core in
//! Chromium: in both languages, in light and dark mode, and at 320 pixels, where nothing may scroll sideways.
//!
//! `cargo xtask test` installs axe-core and then runs these tests.

use crate::support::browser::Browser;
use crate::support::demo_shop::DemoShop;
use crate::support::engine::{Engine, only_in_chromium};
use crate::support::npm_tools;
use guichet::operations::{CreatePaymentIntent, CustomerName, Item};
use guichet::values::{Amount, Currency, FeeBearer, MerchantReference, Phone, RedirectUrl};
use guichet_sandbox::Sandbox;
use serde_json::json;

/// Every state of the hosted page: its name, the options of the stub in [`STUB`] that lead there, and the customer's actions
/// as a script.
const HOSTED: [(&str, &str, &str); 34] = [
    ("ready", "", ""),
    (
        "ready",
        "",
        "click('[data-test=method-card]'); for (const tests of document.querySelectorAll('details')) tests.open = true",
    ),
    ("ready", "", "click('#pay')"),
    ("ready", "", "click('[data-test=method-card]'); click('#pay')"),
    ("ready", "fees: 'fail'", ""),
    ("ready", "fees: 'fail', intent: { fee_bearer: 'customer' }", ""),
    ("ready", "methods: 'none'", ""),
    ("sending", "charge: 'hangs'", "click('[data-number=\"237670000000\"]'); click('#pay')"),
    ("uncertain", "charge: 'fails'", "click('[data-number=\"237670000000\"]'); click('#pay')"),
    ("ready", "operators: ['closed', 'delayed']", ""),
    ("ready", "operators: ['closed', 'closed']", ""),
    ("ready", "intent: { attempts: 1, approvable_until: 4000000000 }", ""),
    ("waiting", "intent: { status: 'processing', payment_method: { type: 'mobile_money' } }", ""),
    ("waiting", ASKED_ON_PHONE, ""),
    ("number_asked", ASKED_ON_PHONE, "click('#number')"),
    ("waiting", "intent: { status: 'processing', payment_method: { type: 'card' } }, patient: true", ""),
    ("code", "intent: { next_action: { type: 'otp' } }", ""),
    ("code", "intent: { next_action: { type: 'otp' } }", "click('#answer')"),
    ("bank", "intent: { next_action: { type: 'redirect', url: 'https://bank.example' } }", ""),
    ("step_unknown", "intent: { next_action: { type: 'dance' } }", ""),
    ("confirm", "intent: { next_action: { type: 'confirm' } }", ""),
    ("declined", "intent: { attempts: 1, last_payment_error: { code: 'insufficient_funds' } }", ""),
    (
        "declined",
        "intent: { attempts: 1, approvable_until: 4000000000, last_payment_error: { code: 'payer_timeout' } }",
        "",
    ),
    ("failed", "intent: { status: 'failed', attempts: 3, last_payment_error: { code: 'payer_timeout' } }", ""),
    ("failed", "intent: { status: 'failed', last_payment_error: { code: 'fraud_blocked' } }", ""),
    ("succeeded", "intent: { status: 'succeeded' }, from_bank: true", ""),
    ("settled", "intent: { status: 'succeeded' }", ""),
    (
        "settled",
        "intent: { status: 'succeeded', attempts: 2, approvable_until: 4000000000, payment_method: { type: 'mobile_money', phone: '237*****000', operator: { name: 'MTN Mobile Money' } } }",
        "",
    ),
    ("canceled", "intent: { status: 'canceled', attempts: 1, approvable_until: 4000000000 }", ""),
    ("canceled", "intent: { status: 'canceled' }", ""),
    ("expired", "intent: { status: 'canceled', cancellation_reason: 'expired' }", ""),
    ("cancel_asked", "", "click('#cancel')"),
    ("canceling", "charge: 'hangs'", "click('#cancel'); click('#cancel-yes')"),
    ("status_unknown", "intent: { status: 'on_hold' }", ""),
];

/// A request on the customer's phone.
const ASKED_ON_PHONE: &str = "intent: {
    status: 'processing', attempts: 1, payment_method: { type: 'mobile_money', operator: { code: 'mtn_cm', name: 'MTN Mobile Money' } },
    next_action: {
        type: 'approve_on_phone', operator: { code: 'mtn_cm', name: 'MTN Mobile Money' }, payee: 'Pas à Pas',
        steps: [{ code: 'open_prompt' }, { code: 'enter_pin' }, { code: 'dial', ussd: '*126#' }],
    },
}";

/// Replaces `fetch`, so that the service's responses are as `sessionStorage.stub` says.
const STUB: &str = "{
    const stub = JSON.parse(sessionStorage.getItem('stub') ?? '{}');
    const { fetch, setTimeout } = window;
    // Delayed messages appear at once, and the page does not leave by itself.
    window.setTimeout = (done, ms, ...what) => ms === 6000 ? 0 : setTimeout(done, what.length && !stub.patient ? 0 : ms, ...what);
    const never = new Promise(() => {});
    let reads = -Infinity; // reads since a charge was lost
    window.fetch = async (request, init) => {
        const path = new URL(request.url ?? request, location).pathname;
        if (path.endsWith('/payment-methods') && stub.methods) return Response.json({ status_code: 200, data: [] });
        if (path.endsWith('/payment-methods') && stub.operators) {
            const reply = await (await fetch(request, init)).json();
            for (const { operators } of reply.data) operators.forEach((operator, i) => { operator.status = stub.operators[i]; });
            return Response.json(reply);
        }
        if (path.includes('/fee/') && stub.fees) return Response.json({}, { status: 422 });
        if (!path.includes('/payment-intents/')) return fetch(request, init);
        const what = (init ?? request).method === 'POST' ? stub.charge : reads++ > 0 ? 'hangs' : stub.look;
        if (what === 'hangs') return never;
        if (what === 'fails') {
            reads = 0;
            throw new TypeError('the network is gone');
        }
        const answer = await fetch(request, init);
        if (!answer.ok) return answer;
        const reply = await answer.json();
        Object.assign(reply.data, stub.intent);
        if (reads > 0) delete reply.data.attempts; // the page cannot know whether it arrived
        return Response.json(reply);
    };
}";

only_in_chromium!(
    "it uses Chromium's DevTools protocol":
    #[ignore = "needs axe-core: cargo xtask test"]
    every_state_of_the_hosted_page_is_accessible,
    #[ignore = "needs axe-core: cargo xtask test"]
    every_state_of_the_hosted_page_without_its_script_is_accessible,
    #[ignore = "needs axe-core: cargo xtask test"]
    the_longest_names_and_amounts_fit_on_the_narrowest_phone,
    #[ignore = "needs axe-core: cargo xtask test"]
    the_issuers_page_is_accessible,
    #[ignore = "needs axe-core: cargo xtask test"]
    the_sandboxs_front_page_is_accessible,
    #[ignore = "needs axe-core: cargo xtask test"]
    every_page_of_the_shop_is_accessible,
);

async fn every_state_of_the_hosted_page_is_accessible(engine: Engine) {
    let demo = DemoShop::open().await;
    let browser = engine.start("hosted-accessible").await;
    browser.add_init_script(STUB).await;
    let look = Accessibility::new(&browser);
    let plain = demo
        .create_intent(order(&demo, "5000").items(vec![Item::new("Shoes", Amount::units(5_000), Currency::xaf(), 1)]))
        .await;
    let address = plain.checkout_url.as_ref().unwrap().expose();
    browser.open(address).await;
    for (number, (state, says, does)) in HOSTED.iter().enumerate() {
        open(&browser, address, says).await;
        browser.wait_for(&format!("[data-status='{state}'],[data-status='ready'],[data-status='waiting']")).await;
        act(&browser, does).await;
        browser.wait_for(&format!("[data-status='{state}']")).await;
        look.over(&format!("hosted-{number:02}-{state}")).await;
    }
}

async fn every_state_of_the_hosted_page_without_its_script_is_accessible(engine: Engine) {
    let demo = DemoShop::open().await;
    let browser = engine.start_with_proxy("plain-accessible").await;
    browser.proxy().block_scripts();
    let look = Accessibility::new(&browser);
    let state = async |name: &str| browser.wait_for(&format!("[data-plain='{name}']")).await;
    let over = async |name: &'static str| {
        state(name).await;
        look.narrow(&format!("plain-{name}")).await;
    };
    let choose = async |form: &str| browser.click(&format!("form[data-plain='{form}'] button")).await;
    let pay = async |phone: &str| {
        browser.fill("#plain-phone", phone).await;
        choose("mobile_money").await;
    };
    let new = async |reference: &str| {
        let intent = demo.create_intent(order(&demo, reference)).await;
        browser.open(intent.checkout_url.as_ref().unwrap().expose()).await;
        // Without this cookie a page that waits would be loaded again while it is read.
        let says_that_a_script_runs = "document.cookie = `guichet_script=1; Path=${location.pathname}`";
        browser.run(says_that_a_script_runs).await;
    };

    new("5000").await;
    state("ready").await;
    look.once("plain-ready").await;
    browser.click("a[lang='fr']").await;
    browser.wait_for("html[lang='fr']").await;
    look.narrow("plain-ready-fr").await;
    pay("12").await;
    browser.wait_for(".wrong").await;
    look.narrow("plain-wrong").await;
    browser.click("a[lang='en']").await;
    pay("237670000010").await;
    over("code").await;
    browser.click("a[href$='choose=1']").await;
    for (field, value) in [("number", "4000000000003220"), ("month", "12"), ("year", "34"), ("cvc", "123")] {
        browser.fill(&format!("#plain-{field}"), value).await;
    }
    choose("card").await;
    over("bank").await;
    browser.click("a[href$='choose=1']").await;
    pay("237670000001").await;
    browser.wait_for("[data-plain='waiting']").await;
    browser.click("summary").await;
    over("waiting").await;
    choose("abandon").await;
    over("declined").await;
    browser.click("summary").await;
    choose("cancel").await;
    over("canceled").await;
    new("5001").await;
    pay("237670000000").await;
    over("succeeded").await;
    new("5002").await;
    pay("237670000009").await;
    over("failed").await;
    browser.open(&format!("{}/checkout/pi_1", demo.merchant.base_url())).await;
    over("link_wrong").await;
}

async fn the_longest_names_and_amounts_fit_on_the_narrowest_phone(engine: Engine) {
    let demo =
        DemoShop::named("Société Anonyme des Établissements Internationaux de Chaussures et Maroquineries du Littoral")
            .await;
    let browser = engine.start("hosted-long").await;
    browser.add_init_script(STUB).await;
    let look = Accessibility::new(&browser);
    let amount = "999999999999999";
    let items = vec![
        Item::new(
            "Donaudampfschifffahrtsgesellschaftskapitänsmützen".repeat(2),
            Amount::units(999_999_999_999_999),
            Currency::xaf(),
            99,
        ),
        Item::new("Shoes", Amount::units(5), Currency::xaf(), 1),
    ];
    let long = demo.create_intent(order(&demo, amount).items(items).fee_bearer(FeeBearer::Customer)).await;
    let address = long.checkout_url.as_ref().unwrap().expose();
    browser.open(address).await;
    for (state, says) in [
        ("ready", ""),
        ("code", "intent: { next_action: { type: 'otp' } }"),
        ("settled", "intent: { status: 'succeeded' }"),
    ] {
        open(&browser, address, says).await;
        browser.wait_for(&format!("[data-status='{state}']")).await;
        browser.run("document.querySelector('#items').open = true").await;
        look.over(&format!("hosted-long-{state}")).await;
        assert_eq!(browser.run(BROKEN).await, json!([]), "an amount is broken into two lines");
    }
}

async fn the_issuers_page_is_accessible(engine: Engine) {
    let demo = DemoShop::open().await;
    let browser = engine.start("issuer-accessible").await;
    let look = Accessibility::new(&browser);
    let intent = demo.create_intent(order(&demo, "5000")).await;
    for language in ["en", "fr"] {
        let address = intent.checkout_url.as_ref().unwrap().expose();
        browser.open(&format!("{address}&lang={language}")).await;
        demo.pay_by_card(&browser, "4000000000003220").await;
        browser.click("[data-test='proceed']").await;
        browser.wait_for("[data-status='asking']").await;
        look.once(&format!("issuer-asking-{language}")).await;
        let without_token = browser.url().await.as_str().split('?').next().unwrap_or_default().to_owned();
        browser.click("[data-test='refuse']").await;
        browser.wait_for("[data-status='declined']").await;
        browser.open(&without_token).await;
        browser.wait_for("[data-status='over']").await;
        look.once(&format!("issuer-over-{language}")).await;
    }
}

async fn the_sandboxs_front_page_is_accessible(engine: Engine) {
    let sandbox = Sandbox::start().await.unwrap();
    let browser = engine.start("front-accessible").await;
    let look = Accessibility::new(&browser);
    browser.open(&format!("{}/?lang=en", sandbox.base_url())).await;
    look.once("front-en").await;
    browser.click("header a").await;
    browser.wait_for("html[lang='fr']").await;
    look.once("front-fr").await;
}

async fn every_page_of_the_shop_is_accessible(engine: Engine) {
    for language in ["en", "fr"] {
        let demo = DemoShop::open().await;
        let browser = engine.start_in_language("shop-accessible", language).await;
        let look = Accessibility::new(&browser);
        let shop = demo.shop.url().to_owned();
        let over = async |page: &str, shows: &str| {
            browser.wait_for(shows).await;
            let page = format!("shop-{page}-{language}");
            // Colours and wide pages are the same in both languages.
            if language == "en" { look.once(&page).await } else { look.narrow(&page).await }
        };
        let at = async |path: &str| browser.open(&format!("{shop}{path}")).await;

        at("/subscriptions").await;
        over("subscriptions-signed-out", "[data-test='sign-in-awa']").await;
        at("/").await;
        over("empty", "[data-test='add-boots']").await;
        for product in ["boots", "runners", "runners"] {
            browser.click(&format!("[data-test='add-{product}']")).await;
        }
        over("basket", "[data-test='sign-in-awa']").await;
        browser.click("[data-test='sign-in-awa']").await;
        over("costs", "[data-test='quote-mobile_money']").await;
        at("/return").await;
        over("nothing", "[data-state='none']").await;
        at("/").await;
        demo.leave_for_the_hosted_page(&browser).await;
        at("/return").await;
        over("unpaid", "[data-state='unpaid']").await;
        demo.client().cancel_payment_intent(&demo.only_intent().await.id).await.unwrap();
        // The shop may read the cancellation later. A page that is still looking is not loaded again.
        let reload = "const { state } = document.querySelector('[data-test=outcome]').dataset;
            if (state === 'unpaid') location.reload();
            return state === 'canceled'";
        browser.wait_until(reload).await;
        over("canceled", "[data-state='canceled']").await;
        browser.click("[data-test='try-again']").await;
        demo.pay_by_phone(&browser, "237670000009").await;
        browser.click("[data-test='leave']").await;
        over("failed", "[data-state='failed']").await;
        browser.click("[data-test='try-again']").await;
        demo.pay_by_phone(&browser, "237670000000").await;
        browser.click("[data-test='leave']").await;
        over("paid", "[data-state='paid']").await;

        at("/subscriptions").await;
        over("no-subscriptions", "[data-test='no-subscriptions']").await;
        for plan in ["care-monthly", "club-yearly"] {
            browser.click(&format!("[data-test='subscribe-{plan}']")).await;
            browser.wait_for(&format!("[data-test='subscription-{plan}']")).await;
        }
        over("subscriptions", "[data-status='trialing']").await;
        browser.click("[data-test='subscription-care-monthly'] [data-test='cancel']").await;
        over("cancelling", "[data-test='keep']").await;
        browser.click("[data-test='cancel-now']").await;
        browser.click("[data-test='pause']").await;
        browser.wait_for("[data-status='paused']").await;
        over("ended", "[data-status='canceled']").await;
    }
}

/// Opens the hosted page with these options of the stub.
async fn open(browser: &Browser, address: &str, options: &str) {
    let stub = format!(
        "const stub = {{ {options} }};
         sessionStorage.clear();
         sessionStorage.setItem('stub', JSON.stringify(stub));
         if (stub.from_bank) sessionStorage.setItem('at_bank', location.pathname.split('/').pop());"
    );
    browser.run(&stub).await;
    browser.open("about:blank").await;
    browser.open(address).await;
}

async fn act(browser: &Browser, script: &str) {
    browser.run(&format!("const click = (css) => document.querySelector(css).click(); {script}")).await;
}

/// Checks pages with axe-core.
pub(crate) struct Accessibility<'a> {
    browser: &'a Browser,
    axe: String,
}

impl<'a> Accessibility<'a> {
    pub(crate) fn new(browser: &'a Browser) -> Self {
        let axe = npm_tools().join("node_modules/axe-core/axe.min.js");
        let axe = std::fs::read_to_string(axe).expect("axe-core is missing. `cargo xtask test` installs it.");
        Self { browser, axe }
    }

    /// Checks the page in both languages.
    async fn over(&self, page: &str) {
        self.once(page).await;
        self.browser.click("[data-language='fr']").await;
        self.at(&format!("{page}-fr"), 320, "light", ALL).await;
        self.browser.click("[data-language='en']").await;
    }

    /// Checks the page in its current language, wide and narrow, light and dark.
    pub(crate) async fn once(&self, page: &str) {
        self.browser.run(&self.axe).await;
        // A wide page has another layout than the narrow one, and dark mode other colours, and nothing else.
        for (width, scheme, rules) in [(1280, "light", LOOKS), (320, "dark", LOOKS), (320, "light", ALL)] {
            self.at(page, width, scheme, rules).await;
        }
    }

    /// Checks the page in its current language on a narrow phone.
    async fn narrow(&self, page: &str) {
        self.browser.run(&self.axe).await;
        self.at(page, 320, "light", ALL).await;
    }

    async fn at(&self, page: &str, width: u32, scheme: &str, rules: &str) {
        self.browser.set_appearance(width, scheme).await;
        let page = format!("{page}-{width}-{scheme}");
        self.browser.screenshot(&page).await;
        assert_eq!(self.browser.run_async(&format!("const runOnly = {rules}; {CHECK}")).await, json!([]), "{page}");
    }
}

const ALL: &str = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']";
/// The rules whose results depend on layout and colours.
const LOOKS: &str = "{ type: 'rule', values: ['color-contrast', 'link-in-text-block', 'target-size'] }";

/// Returns what axe-core finds by the rules `runOnly`, and whether the page scrolls sideways.
const CHECK: &str = "
    const { violations } = await axe.run(document, { resultTypes: ['violations'], runOnly });
    const found = violations.map(({ id, help, nodes }) => [id, help, nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary)]);
    const { scrollWidth } = document.documentElement;
    if (scrollWidth > innerWidth) found.push(['sideways', scrollWidth]);
    return found;";

/// Returns the amounts that are broken into two lines.
const BROKEN: &str = "
    const lines = (of) => {
        const range = document.createRange();
        range.selectNodeContents(of);
        return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
    };
    return [...document.querySelectorAll('#amount, .method b')].filter((amount) => lines(amount) > 1).map(({ textContent }) => textContent);";

fn order(demo: &DemoShop, amount: &str) -> CreatePaymentIntent {
    let reference = MerchantReference::new(format!("ORDER-{amount}")).unwrap();
    CreatePaymentIntent::new(
        reference,
        Amount::new(amount).unwrap(),
        "A pair of shoes",
        CustomerName { firstname: "Awa", lastname: "Ndiaye" },
    )
    .phone(Phone::new("237670000000").unwrap())
    .redirect_url(RedirectUrl::new(format!("{}/return", demo.shop.url())).unwrap())
}
