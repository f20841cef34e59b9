//! Accessibility of every state of the hosted page, the issuer's page, the sandbox's front page and the shop, checked
//! by axe-core in Chromium: in both languages, in light and dark mode, and at 320 pixels, where nothing may scroll
//! sideways.
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
    let browser = engine.start_with_proxy("hosted").await;
    let page = HostedPage { look: Accessibility::new(&browser), browser: &browser, demo: &demo, name: "hosted" };
    page.visit_every_state().await;

    // What the script alone shows.
    demo.merchant.set_operator("mtn_cm", "operational").await;
    page.open("5006").await;
    browser.proxy().stall();
    demo.pay_by_phone(&browser, "237670000000").await;
    page.look_at("sending").await;
    browser.proxy().disconnect();
    page.look_at("uncertain").await;
}

async fn every_state_of_the_hosted_page_without_its_script_is_accessible(engine: Engine) {
    let demo = DemoShop::open().await;
    let browser = engine.start_with_proxy("plain").await;
    browser.proxy().block_scripts();
    let page = HostedPage { look: Accessibility::new(&browser), browser: &browser, demo: &demo, name: "plain" };
    page.visit_every_state().await;
}

/// The hosted page, with or without its script.
struct HostedPage<'a> {
    browser: &'a Browser,
    demo: &'a DemoShop,
    look: Accessibility<'a>,
    /// What the pictures' names begin with.
    name: &'static str,
}

impl HostedPage<'_> {
    async fn visit_every_state(&self) {
        let Self { browser, demo, look, .. } = self;
        let click = async |test: &str| browser.click(&format!("[data-test='{test}']")).await;

        self.open("5000").await;
        self.at("ready").await;
        look.once(&format!("{}-ready", self.name)).await;
        click("items").await;
        click("method-card").await;
        self.look_at("ready").await;
        demo.enter_card(browser, "1").await;
        browser.click("[data-for='card'] [data-test='pay']").await;
        browser.wait_for_text("#card-number-wrong", "12 to 19").await;
        self.look_as("ready", "wrong-card").await;
        demo.pay_by_phone(browser, "12").await;
        browser.wait_for_text("#phone-wrong", "Enter the number").await;
        self.look_as("ready", "wrong-phone").await;
        demo.pay_by_phone(browser, "237670000010").await;
        self.look_at("code").await;
        click("answer").await;
        browser.wait_for_text("#otp-wrong", "digits only").await;
        self.look_as("code", "wrong-code").await;
        click("another").await;
        demo.pay_by_card(browser, "4000000000003220").await;
        self.look_at("bank").await;
        click("another").await;
        demo.pay_by_phone(browser, "237670000005").await;
        self.at("waiting").await;
        demo.merchant.clock().advance(25).await.unwrap();
        browser.reload().await;
        click("number").await;
        self.look_at("waiting").await;
        click("number").await;
        click("number-yes").await;
        self.look_as("declined", "in-doubt").await;
        demo.pay_by_phone(browser, "237670000000").await;
        self.look_as("succeeded", "in-doubt").await;

        self.open("5001").await;
        demo.pay_by_phone(browser, "237670000002").await;
        self.look_at("declined").await;
        click("cancel").await;
        self.look_as("declined", "cancel").await;
        click("cancel").await;
        click("cancel-yes").await;
        self.look_at("canceled").await;
        self.open("5002").await;
        demo.pay_by_phone(browser, "237670000009").await;
        self.look_at("failed").await;
        self.open("5003").await;
        demo.pay_by_phone(browser, "237670000012").await;
        self.at("declined").await;
        click("cancel").await;
        click("cancel-yes").await;
        self.look_as("canceled", "in-doubt").await;

        demo.merchant.set_operator("mtn_cm", "closed").await;
        demo.merchant.set_operator("orange_cm", "delayed").await;
        self.open("5004").await;
        self.look_as("ready", "one-closed").await;
        demo.merchant.set_operator("orange_cm", "closed").await;
        self.open("5005").await;
        self.look_as("ready", "all-closed").await;
        demo.merchant.clock().advance(25 * 60 * 60).await.unwrap();
        browser.reload().await;
        self.look_at("expired").await;
        browser.open(&format!("{}/checkout/pi_1", demo.merchant.base_url())).await;
        self.at("link_wrong").await;
        look.narrow(&format!("{}-link_wrong", self.name)).await;
    }

    /// Opens the page of a new payment of this amount.
    async fn open(&self, amount: &str) {
        let items = vec![Item::new("Shoes", Amount::units(5_000), Currency::xaf(), 1)];
        let intent = self.demo.create_intent(order(self.demo, amount).items(items)).await;
        self.browser.open(intent.checkout_url.as_ref().unwrap().expose()).await;
    }

    /// Waits for a state. The page then neither leads to the shop nor is loaded again by itself.
    async fn at(&self, state: &str) {
        self.browser.wait_for(&format!("[data-status='{state}']")).await;
        self.browser
            .run("window.guichetRuns = true; document.querySelector('[data-stay]:not([hidden])')?.click()")
            .await;
    }

    async fn look_at(&self, state: &str) {
        self.look_as(state, state).await;
    }

    /// Looks at a state in both languages.
    async fn look_as(&self, state: &str, name: &str) {
        self.at(state).await;
        self.look.narrow(&format!("{}-{state}-{name}", self.name)).await;
        if ["sending", "uncertain"].contains(&state) || name.starts_with("wrong") {
            return; // another language is another page, which says nothing of the form
        }
        for language in ["fr", "en"] {
            self.browser.click(&format!("[data-test='language-{language}']")).await;
            self.browser.wait_for(&format!("html[lang='{language}']")).await;
            self.at(state).await;
            if language == "fr" {
                self.look.narrow(&format!("{}-{state}-{name}-fr", self.name)).await;
            }
        }
    }
}

async fn the_longest_names_and_amounts_fit_on_the_narrowest_phone(engine: Engine) {
    let demo =
        DemoShop::named("Société Anonyme des Établissements Internationaux de Chaussures et Maroquineries du Littoral")
            .await;
    let browser = engine.start("hosted-long").await;
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
    let look_at = async |state: &str| {
        browser.wait_for(&format!("[data-status='{state}']")).await;
        browser.run("document.querySelector('[data-test=stay]')?.click(); document.querySelector('[data-test=items]').open = true").await;
        look.once(&format!("hosted-long-{state}")).await;
        assert_eq!(browser.run(BROKEN).await, json!([]), "{state}: an amount is broken into two lines");
    };
    look_at("ready").await;
    demo.pay_by_phone(&browser, "237670000010").await;
    look_at("code").await;
    browser.fill("[data-test='otp']", "123456").await;
    browser.click("[data-test='answer']").await;
    look_at("succeeded").await;
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
    return [...document.querySelectorAll('#amount, .method b, .primary span')].filter((amount) => lines(amount) > 1).map(({ textContent }) => textContent);";

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
