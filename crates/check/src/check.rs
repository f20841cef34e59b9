//! A check, rule by rule.

use crate::catalog::{Rule, selected};
use crate::environment::Environment;
use crate::options::Options;
use crate::report::{RuleReport, redact};
use crate::rules::Learned;
use crate::service::Service;
use crate::shop::CheckedShop;
use std::sync::Arc;
use tokio::sync::Mutex;

/// A check of one shop.
pub struct Check {
    shop: CheckedShop,
    learned: Mutex<Learned>,
}

impl Check {
    /// Begins a check of the shop that these options name.
    #[must_use]
    pub fn new(environment: Box<dyn Environment>, service: Arc<Service>, options: Options) -> Self {
        Self { shop: CheckedShop::new(environment, service, options), learned: Mutex::default() }
    }

    /// The rules that the options select, in the order in which they are checked.
    #[must_use]
    pub fn rules(&self) -> Vec<&'static Rule> {
        selected(&self.shop.options.only)
    }

    /// Checks one rule.
    pub async fn rule(&self, rule: &'static Rule) -> RuleReport {
        let shop = &self.shop;
        let (begun, waited) = (shop.environment.now(), shop.waited());
        let outcome = self.learned.lock().await.check(shop, rule).await;
        let waited = shop.waited().saturating_sub(waited);
        let busy = shop.environment.now().saturating_sub(begun).saturating_sub(waited);
        RuleReport::new(rule, outcome, &shop.service.secrets()).after(busy, waited)
    }

    /// What is printed before the shop answers.
    pub fn waiting(&self) -> String {
        format!("Waiting for the shop at {} to call it.\n", self.shop.address())
    }

    /// Waits until the shop answers and has called the service.
    ///
    /// # Errors
    /// If it does not within `--wait`, or at once if waiting cannot help: what it did instead, and what to do.
    pub async fn shop_is_ready(&self) -> Result<(), String> {
        let ready = self.shop.is_ready().await;
        ready.map_err(|why| redact(&why, &self.shop.service.secrets()))
    }
}
