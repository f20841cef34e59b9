//! `guichet check`: plays customer, stranger and network against a merchant's shop, and says which rules it keeps.
//!
//! The shop talks to a [`Service`]: a sandbox behind a recorder that can change, withhold and refuse replies. The rules talk
//! to the shop through an [`Environment`] alone.

mod environment;
mod payment;
mod report;
mod rules;
mod service;
mod shop;

pub(crate) use environment::{Boxed, Environment, Request, Response};
pub(crate) use report::{Report, Verdict};
pub(crate) use rules::{RULES, Rule};
pub(crate) use service::Service;

use serde_json::Value;
use shop::{Customer, Exchange};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// What the person who checks has said about the shop.
#[derive(Debug)]
pub(crate) struct Options {
    /// The shop's origin: `http://127.0.0.1:8000`.
    pub(crate) origin: String,
    /// The path of the page that a customer opens first.
    pub(crate) page: String,
    /// The path of the three routes: `/guichet`.
    pub(crate) routes: String,
    /// The requests that sign in one customer each.
    pub(crate) logins: Vec<Login>,
    pub(crate) csrf: Option<Csrf>,
    /// Orders of the first customer that are not paid yet.
    pub(crate) orders: Vec<Value>,
    /// The command that prints what the shop did with an order.
    pub(crate) orders_command: Option<String>,
    /// The command that restarts the shop.
    pub(crate) restart_command: Option<String>,
    /// The command that settles payments once, for a shop that has no timer of its own.
    pub(crate) settle_command: Option<String>,
    /// How long the shop may take to settle a payment, and to answer.
    pub(crate) limit: Duration,
}

/// A request that signs a customer in: `POST /login {"name":"awa"}`.
#[derive(Clone, Debug)]
pub(crate) struct Login {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) body: String,
}

/// Where a page takes its CSRF token from, and the header that carries it.
#[derive(Clone, Debug)]
pub(crate) struct Csrf {
    pub(crate) cookie: String,
    pub(crate) header: String,
}

/// Why a rule did not pass.
#[derive(Debug)]
pub(crate) enum Stop {
    Failed {
        why: String,
        sent: String,
        came: String,
    },
    /// The reason, with the option that is missing if one is.
    NotChecked(String),
}

/// What a rule comes to; `Ok` is a pass.
pub(crate) type Outcome = Result<(), Stop>;

/// A check of one shop.
pub(crate) struct Check {
    environment: Box<dyn Environment>,
    service: Arc<Service>,
    options: Options,
    /// The customers who are signed in.
    customers: RefCell<Vec<Rc<Customer>>>,
    /// The orders that may still be open.
    orders: RefCell<VecDeque<Value>>,
    /// Every response of the shop, with its request.
    responses: RefCell<Vec<(String, Response)>>,
}

impl Check {
    pub(crate) fn new(environment: Box<dyn Environment>, service: Arc<Service>, options: Options) -> Self {
        let orders = RefCell::new(options.orders.iter().cloned().collect());
        let (customers, responses) = (RefCell::default(), RefCell::default());
        Self { environment, service, options, customers, orders, responses }
    }

    /// Checks one rule.
    pub(crate) async fn rule(&self, rule: &'static Rule) -> Report {
        Report::new(rule, (rule.run)(self).await, &self.service.secrets())
    }

    /// Waits until the shop answers and has called the service. The error says what it did instead within this time.
    pub(crate) async fn shop_is_ready(&self, limit: Duration) -> Result<(), String> {
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
        self.wait_for(limit, is_ready).await.ok_or_else(|| report::redact(&seen, &self.service.secrets()))
    }

    async fn try_shop(&self) -> Result<(), String> {
        let page = self.open_page(&Customer::default()).await;
        page.response.map_err(|broken| format!("The shop did not answer: {broken}."))?;
        let customer = self.customer(0).await.map_err(|stop| match stop {
            Stop::NotChecked(why) | Stop::Failed { why, .. } => why,
        })?;
        self.ask_route(&customer, "POST", "/session").on_own_page().json(&serde_json::json!({})).send().await;
        let order = self.options.orders.first().cloned().unwrap_or_default();
        let asked = self.ask_route(&customer, "POST", "/intents").on_own_page().json(&order).send().await;
        // If nobody is signed in, it has no reason to call the service.
        let is_signed_out = asked.is_sign_in_required() && self.options.logins.is_empty();
        if self.service.mark() > 0 || is_signed_out {
            return Ok(());
        }
        Err(format!("The shop answered without a call to the service. {}: {}.", asked.sent, asked.came()))
    }

    /// The first or second customer, signed in.
    async fn customer(&self, number: usize) -> Result<Rc<Customer>, Stop> {
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
    async fn sign_in(&self, number: usize) -> Result<Customer, Stop> {
        let customer = Customer::default();
        // The page sets the cookie of a CSRF token.
        self.open_page(&customer).await;
        let Some(login) = self.options.logins.get(number) else {
            return if number == 0 {
                Ok(customer)
            } else {
                Err(Stop::NotChecked("Missing option --login, a second time: it signs in another customer.".into()))
            };
        };
        let Login { method, path, body } = login.clone();
        let asked = self.ask(&customer, method, &path).on_own_page();
        let exchange = match body.chars().next() {
            None => asked.send().await,
            Some('{' | '[') => asked.body("application/json", body).send().await,
            Some(_) => asked.body("application/x-www-form-urlencoded", body).send().await,
        };
        if (200..400).contains(&exchange.status()) {
            return Ok(customer);
        }
        Err(Stop::NotChecked(format!("The request of --login was refused: {method} {path}: {}", exchange.came())))
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
            self.environment.sleep(pause).await;
            waited += pause;
        }
    }

    /// The same, and runs the command of `--settle` every five seconds, as cron would.
    async fn wait_while_settling<T>(
        &self,
        limit: Duration,
        mut look: impl AsyncFnMut() -> Option<T>,
    ) -> Result<Option<T>, Stop> {
        let Some(command) = &self.options.settle_command else { return Ok(self.wait_for(limit, look).await) };
        let every = Duration::from_secs(5);
        let mut left = limit;
        loop {
            self.environment.run(command).await.map_err(|why| Stop::NotChecked(format!("--settle: {why}")))?;
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
