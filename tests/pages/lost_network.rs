//! The network is lost in the middle of each step of a purchase. The purchase ends paid once or not at all, and the
//! page shows which. (`troubles.rs` has the case of 20 seconds.)

use crate::support::browser::{Browser, until};
use crate::support::demo_shop::DemoShop;
use crate::support::engine::{Engine, in_chromium, in_one_browser};
use guichet::operations::{
    AnswerPaymentIntent, AttachPaymentMethod, CancelPaymentIntent, CreatePaymentIntent, ListPaymentMethods,
};
use guichet::values::IntentStatus;
use guichet_sandbox::Fault;
use std::time::{Duration, Instant};

const SUCCEEDS: &str = "237670000000";
const AFTER_30_SECONDS: &str = "237670000001";
const ASKS_FOR_CODE: &str = "237670000010";
const ASKS_THE_ISSUER: &str = "4000000000003220";
/// Longer than the last retry: four attempts with pauses of 0.25, 0.5 and 1 s at most.
const OUTAGE: Duration = Duration::from_secs(4);
/// The delay of a request, so that the network is lost while it is running. It is over before the network is back.
const RESPONSE_DELAY: Duration = Duration::from_secs(3);

in_chromium!(while_the_payment_is_created, while_the_return_page_waits_for_the_outcome);
in_one_browser!(chromium Chromium
    while_the_prices_are_read
    while_the_hosted_page_loads
    while_the_charge_is_sent
    while_the_response_to_the_charge_is_awaited
    while_the_payer_approves_on_the_phone
    while_the_code_is_sent
    while_the_decision_is_sent_to_the_issuer
    while_the_payment_is_canceled
    while_returning_to_the_shop
);
in_one_browser!(firefox Firefox
    while_the_charge_is_sent
    while_the_payer_approves_on_the_phone
    while_returning_to_the_shop
);
in_one_browser!(webkit WebKit
    while_the_charge_is_sent
    while_the_payer_approves_on_the_phone
    while_returning_to_the_shop
);

async fn while_the_prices_are_read(engine: Engine) {
    let customer = Customer::open(engine, "prices").await;
    customer.browser.open(customer.demo.shop.url()).await;
    customer.browser.click("[data-test^='add-']").await;
    customer.demo.merchant.fault(Fault::delay::<ListPaymentMethods>(RESPONSE_DELAY)).await;
    customer.browser.click("[data-test^='sign-in-']").await;
    customer.loses_the_network_during_the_request().await;
    // The page shows that the prices are unknown, and the shop can be used as before.
    customer.browser.reload().await;
    customer.browser.wait_for("[data-test='quote-mobile_money']").await;
    customer.demo.leave_for_the_hosted_page(&customer.browser).await;
    customer.pays_once().await;
}

async fn while_the_payment_is_created(engine: Engine) {
    let customer = Customer::with_a_basket(engine, "made").await;
    customer.demo.merchant.fault(Fault::delay::<CreatePaymentIntent>(RESPONSE_DELAY)).await;
    customer.browser.click("[data-test='pay']").await;
    customer.loses_the_network_during_the_request().await;
    // The page shows why it failed, unless a retry succeeded.
    let shown = customer.browser.wait_for("[data-test='problem'],[data-test='method-mobile_money']").await;
    if customer.browser.url().await.path() == "/" {
        assert!(!shown.is_empty());
        customer.browser.click("[data-test='pay']").await;
    }
    customer.arrives_at_the_hosted_page().await;
    customer.pays_once().await;
}

async fn while_the_hosted_page_loads(engine: Engine) {
    let customer = Customer::with_a_basket(engine, "to-pay").await;
    customer.browser.proxy().delay_responses(RESPONSE_DELAY);
    customer.browser.run("document.querySelector(\"[data-test='pay']\").click()").await;
    customer.waits_for_request("/checkout/pi_").await;
    customer.loses_the_network().await;
    customer.reloads_until("[data-test='method-mobile_money'],[data-test='quote-mobile_money']").await;
    if customer.browser.url().await.path() == "/" {
        customer.browser.click("[data-test='pay']").await;
    }
    customer.arrives_at_the_hosted_page().await;
    customer.pays_once().await;
}

async fn while_the_charge_is_sent(engine: Engine) {
    let customer = Customer::at_the_hosted_page(engine, "charge").await;
    customer.demo.merchant.fault(Fault::delay::<AttachPaymentMethod>(RESPONSE_DELAY)).await;
    customer.demo.pay_by_phone(&customer.browser, SUCCEEDS).await;
    customer.loses_the_network_during_the_request().await;
    customer.is_paid_in_the_end().await;
}

async fn while_the_response_to_the_charge_is_awaited(engine: Engine) {
    let customer = Customer::at_the_hosted_page(engine, "silent").await;
    customer.browser.proxy().stall();
    customer.demo.pay_by_phone(&customer.browser, SUCCEEDS).await;
    check_no_payment_is_offered(&customer.browser).await;
    customer.browser.proxy().reconnect();
    customer.is_paid_in_the_end().await;
}

async fn while_the_payer_approves_on_the_phone(engine: Engine) {
    let customer = Customer::at_the_hosted_page(engine, "phone").await;
    customer.demo.pay_by_phone(&customer.browser, AFTER_30_SECONDS).await;
    customer.browser.wait_for("[data-status='waiting']").await;
    customer.browser.proxy().disconnect();
    customer.demo.merchant.clock().advance(30).await.unwrap(); // the payment succeeds meanwhile
    check_no_payment_is_offered(&customer.browser).await;
    assert_eq!(customer.status().await, "waiting");
    customer.browser.proxy().reconnect();
    customer.browser.wait_for("[data-status='succeeded']").await;
    customer.is_paid_in_the_end().await;
}

async fn while_the_code_is_sent(engine: Engine) {
    let customer = Customer::at_the_hosted_page(engine, "code").await;
    customer.demo.pay_by_phone(&customer.browser, ASKS_FOR_CODE).await;
    customer.browser.fill("[data-test='otp']", "123456").await;
    customer.demo.merchant.fault(Fault::delay::<AnswerPaymentIntent>(RESPONSE_DELAY)).await;
    customer.browser.click("[data-test='answer']").await;
    customer.loses_the_network_during_the_request().await;
    customer.browser.wait_for("[data-status='succeeded'],[data-status='code']").await;
    if customer.status().await == "code" {
        customer.browser.fill("[data-test='otp']", "123456").await;
        customer.browser.click("[data-test='answer']").await;
    }
    customer.is_paid_in_the_end().await;
}

async fn while_the_decision_is_sent_to_the_issuer(engine: Engine) {
    let customer = Customer::at_the_hosted_page(engine, "bank").await;
    customer.demo.pay_by_card(&customer.browser, ASKS_THE_ISSUER).await;
    customer.browser.click("[data-test='proceed']").await;
    customer.browser.wait_for("[data-test='approve']").await;
    let issuer = customer.browser.url().await;
    customer.browser.proxy().disconnect();
    // A form without a network: the browser shows its own page.
    customer.browser.click("[data-test='approve']").await;
    tokio::time::sleep(OUTAGE).await; // the customer has no network meanwhile
    customer.browser.proxy().reconnect();
    customer.browser.open(issuer.as_str()).await;
    customer.browser.click("[data-test='approve']").await;
    customer.is_paid_in_the_end().await;
}

async fn while_the_payment_is_canceled(engine: Engine) {
    let customer = Customer::at_the_hosted_page(engine, "off").await;
    customer.demo.merchant.fault(Fault::delay::<CancelPaymentIntent>(RESPONSE_DELAY)).await;
    customer.browser.click("[data-test='cancel']").await;
    customer.browser.click("[data-test='cancel-yes']").await;
    customer.loses_the_network_during_the_request().await;
    customer.browser.wait_for("[data-status='canceled'],[data-status='ready']").await;
    let result = customer.status().await;
    let intent = customer.demo.only_intent().await;
    assert_eq!(
        result == "canceled",
        intent.status == IntentStatus::Canceled,
        "{result}, and it is {:?}",
        intent.status
    );
    assert_eq!(intent.attempts, Some(0));
}

async fn while_returning_to_the_shop(engine: Engine) {
    let customer = Customer::at_the_hosted_page(engine, "back").await;
    customer.demo.pay_by_phone(&customer.browser, SUCCEEDS).await;
    customer.browser.wait_for("[data-status='succeeded']").await;
    customer.browser.proxy().disconnect();
    customer.browser.run("document.querySelector(\"[data-test='leave']\").click()").await;
    tokio::time::sleep(OUTAGE).await; // the customer has no network meanwhile
    customer.browser.proxy().reconnect();
    customer.reloads_until("[data-test='outcome'][data-state='paid']").await;
    customer.is_paid_once().await;
}

async fn while_the_return_page_waits_for_the_outcome(engine: Engine) {
    let customer = Customer::at_the_hosted_page(engine, "looks").await;
    // The payer approves after the customer is back.
    customer.demo.pay_by_phone(&customer.browser, AFTER_30_SECONDS).await;
    customer.browser.wait_for("[data-status='waiting']").await;
    let shop = customer.demo.shop.url();
    let intent = customer.demo.only_intent().await;
    let back = intent.redirect_url.expect("the shop sets a redirect address");
    customer.browser.open(&format!("{back}&payment_intent={}", intent.id.as_str())).await;
    customer.waits_for_request("/guichet/intents/").await;
    customer.browser.wait_for("[data-test='outcome'][data-state='looking']").await;
    assert!(customer.browser.url().await.as_str().starts_with(shop));
    customer.browser.proxy().disconnect();
    customer.demo.merchant.clock().advance(30).await.unwrap();
    tokio::time::sleep(OUTAGE).await; // the customer has no network meanwhile
    let text = customer.browser.run("return document.querySelector('#outcome').dataset.state").await;
    assert_eq!(text, "looking", "without a response there is no outcome");
    customer.browser.proxy().reconnect();
    customer.browser.wait_for("[data-test='outcome'][data-state='paid']").await;
    customer.is_paid_once().await;
}

/// A customer between the shop and the hosted page, behind a proxy that the test controls.
struct Customer {
    browser: Browser,
    demo: DemoShop,
}

impl Customer {
    async fn open(engine: Engine, scenario: &'static str) -> Self {
        let demo = DemoShop::open().await;
        let browser = engine.start_with_proxy(scenario).await;
        Self { demo, browser }
    }

    async fn with_a_basket(engine: Engine, scenario: &'static str) -> Self {
        let customer = Self::open(engine, scenario).await;
        customer.browser.open(customer.demo.shop.url()).await;
        customer.browser.click("[data-test^='add-']").await;
        customer.browser.click("[data-test^='sign-in-']").await;
        customer.browser.wait_for("[data-test='quote-mobile_money']").await;
        customer
    }

    async fn at_the_hosted_page(engine: Engine, scenario: &'static str) -> Self {
        let customer = Self::with_a_basket(engine, scenario).await;
        customer.demo.leave_for_the_hosted_page(&customer.browser).await;
        customer
    }

    /// Loses the network while the request that the service delays is running.
    async fn loses_the_network_during_the_request(&self) {
        until("the request is running", async || self.demo.merchant.faults().await.is_empty()).await;
        self.loses_the_network().await;
    }

    async fn loses_the_network(&self) {
        self.browser.proxy().disconnect();
        check_no_payment_is_offered(&self.browser).await;
        self.browser.proxy().reconnect();
    }

    /// Waits until the page has sent a request whose path begins like this.
    async fn waits_for_request(&self, path: &str) {
        let requested = async || self.browser.proxy().requests().iter().any(|request| request.path.starts_with(path));
        until(&format!("{path} is requested"), requested).await;
    }

    async fn arrives_at_the_hosted_page(&self) {
        self.browser.wait_for("[data-test='method-mobile_money']").await;
    }

    /// Reloads, as a customer does whose browser shows an error page.
    async fn reloads_until(&self, css: &str) {
        let is_present = format!("return Boolean(document.querySelector({css:?}))");
        for _ in 0..5 {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(4) {
                if self.browser.run(&is_present).await == true {
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
        self.is_paid_in_the_end().await;
    }

    /// Waits until the page shows that it is paid.
    async fn is_paid_in_the_end(&self) {
        self.browser.wait_for("[data-status='succeeded']").await;
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
async fn check_no_payment_is_offered(browser: &Browser) {
    const OFFERS: &str = "return Boolean(document.querySelector('[data-form=pay]')?.offsetParent)";
    let lost = Instant::now();
    while lost.elapsed() < OUTAGE {
        assert_ne!(browser.run(OFFERS).await, true, "the page offers to pay");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
