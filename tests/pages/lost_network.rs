//! The network is lost in the middle of each step of a purchase, which ends paid once or not at all, and the page shows
//! which. (`troubles.rs` has the case of 20 seconds.)

use crate::support::browser::{Browser, until};
use crate::support::demo_shop::DemoShop;
use crate::support::engine::{Engine, in_one_browser};
use crate::support::proxy::Proxy;
use guichet::operations::{
    AnswerPaymentIntent, AttachPaymentMethod, CancelPaymentIntent, CreatePaymentIntent, ListPaymentMethods,
};
use guichet::sandbox::Fault;
use guichet::values::IntentStatus;
use std::time::{Duration, Instant};

const SUCCEEDS: &str = "237670000000";
const ASKS_FOR_CODE: &str = "237670000010";
const ASKS_THE_BANK: &str = "4000000000003220";
/// Longer than the last retry: four attempts with pauses of 0.25, 0.5 and 1 s at most.
const GONE: Duration = Duration::from_secs(4);
/// The delay of a request, so that the network is lost while it is running. It is over before the network is back.
const SLOWLY: Duration = Duration::from_secs(3);

in_one_browser!(chromium Chromium
    while_prices_are_asked
    while_the_payment_is_made
    on_the_way_to_the_hosted_page
    while_the_hosted_page_reads_the_fees
    while_the_charge_is_sent
    while_the_response_to_the_charge_is_awaited
    while_the_code_is_sent
    while_the_bank_is_told
    while_it_is_called_off
    on_the_way_back
    while_the_return_page_waits_for_the_outcome
);
in_one_browser!(firefox Firefox while_the_charge_is_sent while_the_return_page_waits_for_the_outcome);
in_one_browser!(webkit WebKit while_the_charge_is_sent while_the_return_page_waits_for_the_outcome);

async fn while_prices_are_asked(engine: Engine) {
    let way = Way::open(engine, "prices").await;
    way.browser.open(way.demo.shop.url()).await;
    way.browser.click("[data-test^='add-']").await;
    way.demo.merchant.fault(Fault::delay::<ListPaymentMethods>(SLOWLY));
    way.browser.click("[data-test^='sign-in-']").await;
    way.is_lost_for_a_while().await;
    // The page shows that the prices are unknown, and the shop can be used as before.
    way.browser.reload().await;
    way.browser.wait_for("[data-test='quote-mobile_money']").await;
    way.demo.leave_for_the_hosted_page(&way.browser).await;
    way.pays_once().await;
}

async fn while_the_payment_is_made(engine: Engine) {
    let way = Way::to_the_basket(engine, "made").await;
    way.demo.merchant.fault(Fault::delay::<CreatePaymentIntent>(SLOWLY));
    way.browser.click("[data-test='pay']").await;
    way.is_lost_for_a_while().await;
    // The page shows why it failed, unless a retry came through.
    let shown = way.browser.wait_for("[data-test='problem'],[data-test='method-mobile_money']").await;
    if way.browser.url().await.path() == "/" {
        assert!(!shown.is_empty());
        way.browser.click("[data-test='pay']").await;
    }
    way.arrives_at_the_hosted_page().await;
    way.pays_once().await;
}

async fn on_the_way_to_the_hosted_page(engine: Engine) {
    let way = Way::to_the_basket(engine, "to-pay").await;
    way.proxy.delay_responses(SLOWLY);
    way.browser.run("document.querySelector(\"[data-test='pay']\").click()").await;
    way.asks("/checkout/pi_").await;
    way.is_lost_now().await;
    way.again_until("[data-test='method-mobile_money'],[data-test='quote-mobile_money']").await;
    if way.browser.url().await.path() == "/" {
        way.browser.click("[data-test='pay']").await;
    }
    way.arrives_at_the_hosted_page().await;
    way.pays_once().await;
}

async fn while_the_hosted_page_reads_the_fees(engine: Engine) {
    let way = Way::to_the_basket(engine, "costs").await;
    way.demo.merchant.fault(Fault::delay::<ListPaymentMethods>(SLOWLY));
    way.browser.click("[data-test='pay']").await;
    way.browser.wait_for_url("the hosted page", |url| url.path().starts_with("/checkout/")).await;
    way.is_lost_for_a_while().await;
    // The page shows the error, and reads again on a click.
    if way.status().await == "trouble" {
        way.browser.click("[data-test='again']").await;
    }
    way.arrives_at_the_hosted_page().await;
    way.pays_once().await;
}

async fn while_the_charge_is_sent(engine: Engine) {
    let way = Way::to_the_hosted_page(engine, "charge").await;
    way.demo.merchant.fault(Fault::delay::<AttachPaymentMethod>(SLOWLY));
    way.demo.pay_by_phone(&way.browser, SUCCEEDS).await;
    way.is_lost_for_a_while().await;
    way.ends_paid_once().await;
}

async fn while_the_response_to_the_charge_is_awaited(engine: Engine) {
    let way = Way::to_the_hosted_page(engine, "silent").await;
    way.proxy.stall();
    way.demo.pay_by_phone(&way.browser, SUCCEEDS).await;
    nobody_may_pay(&way.browser).await;
    way.proxy.reconnect();
    way.ends_paid_once().await;
}

async fn while_the_code_is_sent(engine: Engine) {
    let way = Way::to_the_hosted_page(engine, "code").await;
    way.demo.pay_by_phone(&way.browser, ASKS_FOR_CODE).await;
    way.browser.fill("[data-test='otp']", "123456").await;
    way.demo.merchant.fault(Fault::delay::<AnswerPaymentIntent>(SLOWLY));
    way.browser.click("[data-test='answer']").await;
    way.is_lost_for_a_while().await;
    way.browser.wait_for("[data-status='succeeded'],[data-status='code']").await;
    if way.status().await == "code" {
        way.browser.fill("[data-test='otp']", "123456").await;
        way.browser.click("[data-test='answer']").await;
    }
    way.ends_paid_once().await;
}

async fn while_the_bank_is_told(engine: Engine) {
    let way = Way::to_the_hosted_page(engine, "bank").await;
    way.demo.pay_by_card(&way.browser, ASKS_THE_BANK).await;
    way.browser.click("[data-test='proceed']").await;
    way.browser.wait_for("[data-test='approve']").await;
    way.proxy.disconnect();
    way.browser.click("[data-test='approve']").await;
    way.browser.wait_for("[data-test='challenge'][data-status='trouble']").await;
    tokio::time::sleep(GONE).await; // the customer has no network meanwhile
    way.proxy.reconnect();
    way.browser.click("[data-test='approve']").await;
    way.ends_paid_once().await;
}

async fn while_it_is_called_off(engine: Engine) {
    let way = Way::to_the_hosted_page(engine, "off").await;
    way.demo.merchant.fault(Fault::delay::<CancelPaymentIntent>(SLOWLY));
    way.browser.click("[data-test='cancel']").await;
    way.browser.click("[data-test='cancel-yes']").await;
    way.is_lost_for_a_while().await;
    way.browser.wait_for("[data-status='canceled'],[data-status='trouble'],[data-status='ready']").await;
    let result = way.status().await;
    let intent = way.demo.only_intent().await;
    assert_eq!(
        result == "canceled",
        intent.status == IntentStatus::Canceled,
        "{result}, and it is {:?}",
        intent.status
    );
    assert_eq!(intent.attempts, Some(0));
    way.browser.close().await;
}

async fn on_the_way_back(engine: Engine) {
    let way = Way::to_the_hosted_page(engine, "back").await;
    way.demo.pay_by_phone(&way.browser, SUCCEEDS).await;
    way.browser.wait_for("[data-status='succeeded']").await;
    way.proxy.disconnect();
    way.browser.run("document.querySelector(\"[data-test='leave']\").click()").await;
    tokio::time::sleep(GONE).await; // the customer has no network meanwhile
    way.proxy.reconnect();
    way.again_until("[data-test='outcome'][data-state='paid']").await;
    way.is_paid_once().await;
}

async fn while_the_return_page_waits_for_the_outcome(engine: Engine) {
    let way = Way::to_the_hosted_page(engine, "looks").await;
    // The payer approves after the customer is back.
    way.demo.pay_by_phone(&way.browser, "237670000001").await;
    way.browser.wait_for("[data-status='waiting']").await;
    let shop = way.demo.shop.url();
    let intent = way.demo.only_intent().await;
    let back = intent.redirect_url.expect("the shop sets a redirect address");
    way.browser.open(&format!("{back}&payment_intent={}", intent.id.as_str())).await;
    way.asks("/guichet/intents/").await;
    way.browser.wait_for("[data-test='outcome'][data-state='looking']").await;
    assert!(way.browser.url().await.as_str().starts_with(shop));
    way.proxy.disconnect();
    way.demo.merchant.clock().advance(30).await.unwrap();
    tokio::time::sleep(GONE).await; // the customer has no network meanwhile
    let text = way.browser.run("return document.querySelector('#outcome').dataset.state").await;
    assert_eq!(text, "looking", "without a response there is no outcome");
    way.proxy.reconnect();
    way.browser.wait_for("[data-test='outcome'][data-state='paid']").await;
    way.is_paid_once().await;
}

/// A customer between the shop and the hosted page, behind a proxy that the test controls.
struct Way {
    demo: DemoShop,
    browser: Browser,
    proxy: Proxy,
}

impl Way {
    async fn open(engine: Engine, scenario: &'static str) -> Self {
        let (demo, proxy) = (DemoShop::open().await, Proxy::open().await);
        let browser = engine.start_with_proxy(&proxy, scenario).await;
        Self { demo, browser, proxy }
    }

    async fn to_the_basket(engine: Engine, scenario: &'static str) -> Self {
        let way = Self::open(engine, scenario).await;
        way.browser.open(way.demo.shop.url()).await;
        way.browser.click("[data-test^='add-']").await;
        way.browser.click("[data-test^='sign-in-']").await;
        way.browser.wait_for("[data-test='quote-mobile_money']").await;
        way
    }

    async fn to_the_hosted_page(engine: Engine, scenario: &'static str) -> Self {
        let way = Self::to_the_basket(engine, scenario).await;
        way.demo.leave_for_the_hosted_page(&way.browser).await;
        way
    }

    /// Loses the network while the request that the service delays is running.
    async fn is_lost_for_a_while(&self) {
        until("the request is running", async || self.demo.merchant.faults().is_empty()).await;
        self.is_lost_now().await;
    }

    async fn is_lost_now(&self) {
        self.proxy.disconnect();
        nobody_may_pay(&self.browser).await;
        self.proxy.reconnect();
    }

    /// Waits until the page has sent a request whose path begins like this.
    async fn asks(&self, path: &str) {
        let requested = async || self.proxy.requests().iter().any(|request| request.path.starts_with(path));
        until(&format!("{path} is requested"), requested).await;
    }

    async fn arrives_at_the_hosted_page(&self) {
        self.browser.wait_for("[data-test='method-mobile_money']").await;
    }

    /// Reloads, as a customer does whose browser shows an error page.
    async fn again_until(&self, css: &str) {
        let there = format!("return Boolean(document.querySelector({css:?}))");
        for _ in 0..5 {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(4) {
                if self.browser.run(&there).await == true {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            self.browser.reload().await;
        }
        self.browser.wait_for(css).await;
    }

    async fn status(&self) -> String {
        let text = self.browser.run("return document.querySelector('#status')?.dataset.status ?? ''").await;
        text.as_str().unwrap_or_default().to_owned()
    }

    async fn pays_once(&self) {
        self.demo.pay_by_phone(&self.browser, SUCCEEDS).await;
        self.ends_paid_once().await;
    }

    /// Waits until the page shows that it is paid. If it shows that nothing was charged, pays again.
    async fn ends_paid_once(&self) {
        self.browser.wait_for("[data-status='succeeded'],[data-status='trouble']").await;
        if self.status().await == "trouble" {
            assert_eq!(self.demo.only_intent().await.attempts, Some(0), "the page shows that nothing was charged");
            self.demo.pay_by_phone(&self.browser, SUCCEEDS).await;
            self.browser.wait_for("[data-status='succeeded']").await;
        }
        self.browser.click("[data-test='leave']").await;
        self.browser.wait_for("[data-test='outcome'][data-state='paid']").await;
        self.is_paid_once().await;
    }

    async fn is_paid_once(&self) {
        let intent = self.demo.only_intent().await;
        assert_eq!((intent.status, intent.attempts), (IntentStatus::Succeeded, Some(1)));
    }
}

/// Checks that the page offers no payment while the network is lost, because it may already be paid.
async fn nobody_may_pay(browser: &Browser) {
    const OFFERS: &str = "const form = document.querySelector('#form'), status = document.querySelector('#status');
        return Boolean(form && status && !form.hidden && status.dataset.status !== 'trouble')";
    let lost = Instant::now();
    while lost.elapsed() < GONE {
        assert_ne!(browser.run(OFFERS).await, true, "the page offers to pay");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
