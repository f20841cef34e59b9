//! The demo's shop and a service, each at its own origin, and the steps of a customer who buys there.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use super::browser::Browser;
use super::diagnostics;
use super::engine::Engine;
use super::npm_service::NpmProcess;
use super::service::{Sandbox, Tenant};
use super::shop_process::ShopProcess;
use guichet::operations::{CreatePaymentIntent, ListPaymentIntents, PaymentIntent};
use guichet::{Client, SecretKey};
use guichet_sandbox::Config;
use std::sync::Arc;

/// A running demo shop, its merchant, and the service that it uses.
pub struct DemoShop {
    pub shop: Server,
    pub merchant: Arc<Tenant>,
    _service: Sandbox,
}

/// The server of a shop.
pub enum Server {
    /// That of `examples/shop`.
    Rust(ShopProcess),
    /// That of `guichet-sandbox demo`, at this address.
    Npx(String),
}

impl Server {
    pub fn url(&self) -> &str {
        match self {
            Self::Rust(shop) => shop.url(),
            Self::Npx(url) => url,
        }
    }
}

impl DemoShop {
    pub async fn open() -> Self {
        Self::named("Pas à Pas").await
    }

    /// The same, with a name for the merchant.
    pub async fn named(name: &str) -> Self {
        Self::at(Sandbox::start().await.expect("a sandbox starts on a free port"), name).await
    }

    /// A shop whose customers pay on the page of `examples/hosted`.
    pub async fn with_own_checkout() -> Self {
        let config = Config { checkout: Some(super::root().join("examples/hosted")), ..Config::default() };
        Self::at(Sandbox::start_with(config).await.expect("the folder has a page"), "Pas à Pas").await
    }

    async fn at(sandbox: Sandbox, name: &str) -> Self {
        let merchant = Arc::new(sandbox.merchant_named(name).await.expect("the sandbox adds a merchant"));
        diagnostics::print_requests_on_panic(&merchant);
        let shop = Server::Rust(ShopProcess::start(sandbox.base_url(), merchant.secret_key().expose()));
        Self { shop, merchant, _service: sandbox }
    }

    /// The shop of the npm package, as `guichet-sandbox demo` starts it.
    pub fn by_npx() -> Self {
        let process = Arc::new(NpmProcess::demo());
        let shop = Server::Npx(process.ready["shop_url"].as_str().expect("it prints the shop's address").to_owned());
        let merchant = Arc::new(Tenant::first(&*process, &process.secret_key));
        Self { shop, merchant, _service: Sandbox::Npm(process) }
    }

    /// A shop, and a customer with a basket at the hosted page.
    pub async fn at_the_hosted_page(engine: Engine, scenario: &'static str) -> (Self, Browser) {
        let (demo, browser) = (Self::open().await, engine.start(scenario).await);
        demo.fill_a_basket_and_leave_for_the_hosted_page(&browser).await;
        (demo, browser)
    }

    pub async fn fill_a_basket_and_leave_for_the_hosted_page(&self, browser: &Browser) {
        browser.open(self.shop.url()).await;
        browser.click("[data-test^='add-']").await;
        browser.click("[data-test^='sign-in-']").await;
        browser.wait_for("[data-test='quote-mobile_money']").await;
        self.leave_for_the_hosted_page(browser).await;
    }

    pub async fn leave_for_the_hosted_page(&self, browser: &Browser) {
        browser.click("[data-test='pay']").await;
        browser.wait_for_url("the hosted page", |url| url.path().starts_with("/checkout/")).await;
        browser.wait_for("[data-test='method-mobile_money']").await;
    }

    pub async fn pay_by_phone(&self, browser: &Browser, phone: &str) {
        self.enter_phone(browser, phone).await;
        browser.click("[data-test='pay']").await;
    }

    pub async fn enter_phone(&self, browser: &Browser, phone: &str) {
        browser.click("[data-test='method-mobile_money']").await;
        browser.fill("[data-test='phone']", phone).await;
    }

    pub async fn pay_by_card(&self, browser: &Browser, number: &str) {
        self.enter_card(browser, number).await;
        browser.click("[data-for='card'] [data-test='pay'], #form > [data-test='pay']").await;
    }

    pub async fn enter_card(&self, browser: &Browser, number: &str) {
        browser.click("[data-test^='method-card']").await;
        browser.fill("[data-test='card-number']", number).await;
        browser.fill("[data-test='exp-month']", "12").await;
        browser.fill("[data-test='exp-year']", "2034").await;
        browser.fill("[data-test='cvc']", "123").await;
    }

    /// Creates an intent with the secret key, without the shop.
    pub async fn create_intent(&self, create: CreatePaymentIntent) -> PaymentIntent {
        self.client().create_payment_intent(&create).await.expect("the sandbox creates the intent")
    }

    /// All intents of the merchant, newest first.
    pub async fn intents(&self) -> Vec<PaymentIntent> {
        self.client()
            .list_payment_intents(&ListPaymentIntents::new())
            .await
            .expect("the sandbox lists the intents")
            .entries
    }

    /// The only intent.
    pub async fn only_intent(&self) -> PaymentIntent {
        let mut intents = self.intents().await;
        assert_eq!(intents.len(), 1, "there is one intent");
        intents.remove(0)
    }

    pub fn client(&self) -> Client {
        Client::builder(self.merchant.base_url(), key(&self.merchant))
            .build()
            .expect("plain http is allowed to a loopback address")
    }
}

fn key(merchant: &Tenant) -> SecretKey {
    SecretKey::new(merchant.secret_key().expose()).expect("the sandbox's key is a secret key")
}
