//! A demo shop and a sandbox, each at its own origin, with a customer's steps through them.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use super::browser::Browser;
use super::evidence;
use guichet::demo::{SHOP_NAME, Shop, ShopConfig};
use guichet::operations::{CreatePaymentIntent, ListPaymentIntents, PaymentIntent};
use guichet::sandbox::{Sandbox, Tenant};
use guichet::{Client, SecretKey};
use std::sync::Arc;

/// A running shop, its merchant, and the sandbox.
pub struct Market {
    pub shop: Shop,
    pub merchant: Arc<Tenant>,
    _sandbox: Sandbox,
}

impl Market {
    pub async fn open() -> Self {
        Self::of(SHOP_NAME).await
    }

    /// The same, with a name for the merchant.
    pub async fn of(name: &str) -> Self {
        let sandbox = Sandbox::start().await.expect("a sandbox starts on a free port");
        let merchant = Arc::new(sandbox.merchant_named(name).await.expect("a sandbox takes another merchant"));
        evidence::watch(&merchant);
        let config = ShopConfig::new(sandbox.base_url(), key(&merchant));
        let shop = Shop::start(config).await.expect("a shop starts on a free port");
        Self { shop, merchant, _sandbox: sandbox }
    }

    pub async fn fill_a_basket_and_leave_for_the_hosted_page(&self, browser: &Browser) {
        browser.open(self.shop.url()).await;
        browser.click("[data-test^='add-']").await;
        browser.click("[data-test^='sign-in-']").await;
        browser.see("[data-test='quote-mobile_money']").await;
        self.leave_for_the_hosted_page(browser).await;
    }

    pub async fn leave_for_the_hosted_page(&self, browser: &Browser) {
        browser.click("[data-test='pay']").await;
        browser.arrive("at the hosted page", |url| url.path().starts_with("/checkout/")).await;
        browser.see("[data-test='method-mobile_money']").await;
    }

    pub async fn pay_by_phone(&self, browser: &Browser, phone: &str) {
        browser.click("[data-test='method-mobile_money']").await;
        browser.fill("[data-test='phone']", phone).await;
        browser.click("[data-test='pay']").await;
    }

    pub async fn pay_by_card(&self, browser: &Browser, number: &str) {
        browser.click("[data-test^='method-card']").await;
        browser.fill("[data-test='card-number']", number).await;
        browser.fill("[data-test='exp-month']", "12").await;
        browser.fill("[data-test='exp-year']", "2034").await;
        browser.fill("[data-test='cvc']", "123").await;
        browser.click("[data-test='pay']").await;
    }

    /// Creates an intent with the secret key, without the shop.
    pub async fn intent(&self, create: CreatePaymentIntent) -> PaymentIntent {
        self.client().create_payment_intent(&create).await.expect("the sandbox makes it")
    }

    /// All intents of the merchant, newest first.
    pub async fn intents(&self) -> Vec<PaymentIntent> {
        self.client().list_payment_intents(&ListPaymentIntents::new()).await.expect("the sandbox lists").entries
    }

    /// The only intent.
    pub async fn only_intent(&self) -> PaymentIntent {
        let mut intents = self.intents().await;
        assert_eq!(intents.len(), 1, "one order, one intent");
        intents.remove(0)
    }

    pub fn client(&self) -> Client {
        Client::builder(self.merchant.base_url(), key(&self.merchant))
            .build()
            .expect("a loopback address may be sent to")
    }
}

fn key(merchant: &Tenant) -> SecretKey {
    SecretKey::new(merchant.secret_key().expose()).expect("the sandbox's key is a secret key")
}
