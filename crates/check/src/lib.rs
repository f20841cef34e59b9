//! The rules of `guichet check`: it tests a merchant's shop as a customer, without a login, and over a failing network, and says which rules
//! the shop keeps.
//!
//! The shop talks to a [`Service`]: a sandbox behind a recorder that can change, withhold and refuse replies. The rules talk
//! to the shop through an [`Environment`] alone.

mod books;
mod environment;
mod lies;
pub mod options;
mod payment;
mod report;
mod rules;
mod service;
mod shop;

pub use environment::{Boxed, CommandError, Environment, Request, Response, SendError};
pub use report::{Report, instructions, progress, summary};
pub use rules::{Rule, rules};
pub use service::Service;

use books::Expected;
use options::{Login, Options};
use rules::Late;
use serde_json::Value;
use shop::{Customer, Exchange};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Why a rule did not pass.
#[derive(Debug)]
pub(crate) enum RuleError {
    Failed {
        why: String,
        sent: String,
        came: String,
    },
    /// The reason, with the option that is missing if one is.
    NotChecked(String),
}

/// The result of a rule; `Ok` is a pass.
pub(crate) type Outcome = Result<(), RuleError>;

pub(crate) fn not_checked<T>(why: impl Into<String>) -> Result<T, RuleError> {
    Err(RuleError::NotChecked(why.into()))
}

/// A check of one shop.
pub struct Check {
    environment: Box<dyn Environment>,
    service: Arc<Service>,
    options: Options,
    /// The customers who are signed in.
    customers: RefCell<Vec<Rc<Customer>>>,
    /// The orders that may still be open.
    orders: RefCell<VecDeque<Value>>,
    /// How many orders of `--order-pattern` were taken.
    taken: Cell<u32>,
    /// Every response of the shop, with its request.
    responses: RefCell<Vec<(String, Response)>>,
    /// What the shop's books must say until the end of the check.
    expected: RefCell<Vec<Expected>>,
    /// The payments that an operator approves late, once a rule has made them.
    late: RefCell<Option<Rc<Late>>>,
    /// Whether the shop did not come back after a command.
    is_lost: Cell<bool>,
    /// How long the check has waited for the shop's timer, or for the shop to start.
    waited: Cell<Duration>,
}

impl Check {
    /// Begins a check of the shop that these options name.
    #[must_use]
    pub fn new(environment: Box<dyn Environment>, service: Arc<Service>, options: Options) -> Self {
        let orders = RefCell::new(options.orders.iter().cloned().collect());
        Self {
            environment,
            service,
            options,
            customers: RefCell::default(),
            orders,
            taken: Cell::default(),
            responses: RefCell::default(),
            expected: RefCell::default(),
            late: RefCell::default(),
            is_lost: Cell::default(),
            waited: Cell::default(),
        }
    }

    /// Checks one rule.
    pub async fn rule(&self, rule: &'static Rule) -> Report {
        let (begun, waited) = (self.environment.now(), self.waited.get());
        if self.is_lost.get() {
            self.is_lost.set(self.open_page(&Customer::default()).await.response.is_err());
        }
        if !self.is_lost.get() {
            self.release_open_payments().await;
        }
        let outcome = match self.is_lost.get() {
            true => not_checked("The shop is not running: it did not come back after a command of an earlier rule."),
            false => (rule.run)(self).await,
        };
        let waited = self.waited.get().saturating_sub(waited);
        let busy = self.environment.now().saturating_sub(begun).saturating_sub(waited);
        Report::new(rule, outcome, &self.service.secrets()).after(busy, waited)
    }

    /// What is printed before the shop answers.
    pub fn waiting(&self) -> String {
        format!("Waiting for the shop at {} to call it.\n", self.shop())
    }

    /// The address of the shop's three routes.
    fn shop(&self) -> String {
        format!("{}{}", self.options.shop.origin, self.options.shop.routes)
    }

    /// Waits until the shop answers and has called the service.
    ///
    /// # Errors
    /// If it does not within this time: what it did instead, and what to do.
    pub async fn shop_is_ready(&self, limit: Duration) -> Result<(), String> {
        let mut seen = String::new();
        let is_ready = async || match self.try_shop().await {
            Ok(()) => Some(()),
            Err(why) => {
                seen = why;
                // It may be started again, and forget its logins.
                self.customers.borrow_mut().clear();
                None
            }
        };
        self.wait_for(limit, is_ready).await.ok_or_else(|| {
            let why = report::redact(&seen, &self.service.secrets());
            format!("{why} Start the shop at {} with the address and the key above.", self.shop())
        })
    }

    async fn try_shop(&self) -> Result<(), String> {
        let page = self.open_page(&Customer::default()).await;
        page.response.map_err(|broken| format!("The shop did not answer: {broken}."))?;
        let customer = self.customer(0).await.map_err(|stop| match stop {
            RuleError::NotChecked(why) | RuleError::Failed { why, .. } => why,
        })?;
        self.route_request(&customer, "POST", "/session").on_own_page().json(&serde_json::json!({})).send().await;
        let order = self.options.orders.first().cloned().unwrap_or_default();
        let exchange = self.route_request(&customer, "POST", "/intents").on_own_page().json(&order).send().await;
        // If nobody is signed in, it has no reason to call the service.
        let is_signed_out = exchange.is_sign_in_required() && self.options.logins.is_empty();
        if self.service.mark() > 0 || is_signed_out {
            return Ok(());
        }
        let (sent, came) = (&exchange.sent, exchange.response_text());
        Err(format!("The shop answered without a call to the service. {sent}: {came}."))
    }

    /// The first or second customer, signed in.
    async fn customer(&self, number: usize) -> Result<Rc<Customer>, RuleError> {
        if let Some(customer) = self.customers.borrow().get(number) {
            return Ok(Rc::clone(customer));
        }
        let known = self.customers.borrow().len();
        for next in known..=number {
            let customer = self.sign_in(next).await?;
            self.customers.borrow_mut().push(Rc::new(customer));
        }
        Ok(Rc::clone(&self.customers.borrow()[number]))
    }

    /// Signs a customer in. Without `--login` the first customer is a browser without a login.
    async fn sign_in(&self, number: usize) -> Result<Customer, RuleError> {
        let customer = Customer::default();
        // The page sets the cookie of a CSRF token.
        self.open_page(&customer).await;
        let Some(login) = self.options.logins.get(number) else {
            return match number {
                0 => Ok(customer),
                _ => not_checked("Missing option --login, a second time: it signs in another customer."),
            };
        };
        let Login { method, path, body } = login.clone();
        let request = self.request(&customer, method, &path).on_own_page();
        let exchange = match body.chars().next() {
            None => request.send().await,
            Some('{' | '[') => request.secret_body("application/json", body).send().await,
            Some(_) => request.secret_body("application/x-www-form-urlencoded", body).send().await,
        };
        if (200..400).contains(&exchange.status()) {
            return Ok(customer);
        }
        not_checked(format!("The request of --login was refused: {method} {path}: {}", exchange.response_text()))
    }

    /// Looks again and again until there is a result, for at most this long.
    async fn wait_for<T>(&self, limit: Duration, mut look: impl AsyncFnMut() -> Option<T>) -> Option<T> {
        let mut waited = Duration::ZERO;
        loop {
            if let Some(found) = look().await {
                return Some(found);
            }
            if waited >= limit {
                return None;
            }
            let pause = (waited / 4).clamp(Duration::from_millis(50), Duration::from_secs(1));
            self.pause(pause).await;
            waited += pause;
        }
    }

    /// Waits for the shop.
    async fn pause(&self, time: Duration) {
        self.environment.sleep(time).await;
        self.waited.set(self.waited.get() + time);
    }

    /// Restarts the shop by the command of `--restart`, and waits until it answers.
    async fn restart(&self) -> Outcome {
        let Some(command) = &self.options.restart_command else {
            return not_checked("Missing option --restart: a command that restarts the shop.");
        };
        self.run(command).await.or_else(|why| not_checked(format!("--restart: {why}")))?;
        // The login may have been in memory.
        self.customers.borrow_mut().clear();
        self.comes_back("--restart").await
    }

    /// Waits until the shop answers after a command.
    async fn comes_back(&self, option: &str) -> Outcome {
        let visitor = Customer::default();
        let is_up = async || self.open_page(&visitor).await.response.ok();
        if self.wait_for(self.options.limit, is_up).await.is_none() {
            self.is_lost.set(true);
            return not_checked(format!("After the command of {option}, the shop did not answer."));
        }
        Ok(())
    }

    /// Runs a command of the shop, which may need the service that the shop uses.
    async fn run(&self, command: &str) -> Result<(), String> {
        let run = self.environment.run(command, self.service.variables(), false).await;
        run.map(drop).map_err(|error| error.to_string())
    }

    /// Runs the command of `--settle` once. A shop without one has a timer.
    async fn run_settle(&self) -> Outcome {
        let Some(command) = &self.options.settle_command else { return Ok(()) };
        self.run(command).await.or_else(|why| not_checked(format!("--settle: {why}")))
    }

    /// Waits in the same way, and runs the command of `--settle` every five seconds, as cron would.
    async fn wait_while_settling<T>(
        &self,
        limit: Duration,
        mut look: impl AsyncFnMut() -> Option<T>,
    ) -> Result<Option<T>, RuleError> {
        if self.options.settle_command.is_none() {
            return Ok(self.wait_for(limit, look).await);
        }
        let every = Duration::from_secs(5);
        let mut left = limit;
        loop {
            self.run_settle().await?;
            if let Some(found) = self.wait_for(every.min(left), &mut look).await {
                return Ok(Some(found));
            }
            left = left.saturating_sub(every);
            if left.is_zero() {
                return Ok(None);
            }
        }
    }
}
