#![cfg_attr(doc_labels, feature(doc_cfg))]
//! The rules of `guichet check`: it tests a merchant's shop as a customer, without a login, and over a failing network,
//! and says which rules the shop keeps.
//!
//! For the tests of a shop in Rust: the shop is an address, or a function from request to response such as a clone of
//! an axum router. At a terminal it is `guichet check`, in JavaScript the npm package `guichet-sandbox`.
//!
//! ```
//! # #[cfg(feature = "native")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use axum::Router;
//! use guichet_check::{LocalService, Shop, check, options::Options};
//! use tower_service::Service as _;
//!
//! let service = LocalService::start(([127, 0, 0, 1], 0).into()).await?; // give your shop `service.base_url()` and `service.secret_key()`
//! let router = Router::<()>::new(); // your shop; this one has none of the three routes
//! let mut options = Options::new("https://shop.example")?;
//! options.orders.push(serde_json::json!({ "id": "17" }));
//! # options.wait = std::time::Duration::ZERO;
//!
//! let shop = Shop::function(move |request| router.clone().call(request));
//! let why = check(shop, options, &service).await.expect_err("otherwise a `Report` of every rule");
//! assert!(why.to_string().starts_with("The shop has no routes at https://shop.example/guichet"), "{why}");
//! # Ok(()) }
//! # #[cfg(not(feature = "native"))]
//! # fn main() {}
//! ```
//!
//! | feature | adds |
//! |---|---|
//! | `native` | `check`, on this machine: HTTP, the shell and a port. Its TLS is rustls with aws-lc-rs |
//! | `native-no-provider` | the same, where the application installs a crypto provider of rustls |
//! | `clap` | the options as the arguments of a command |
//!
//! No feature is on by default: the rules alone compile for wasm32. Rust 1.95 or newer.
//!
//! The shop talks to a [`Service`]: a sandbox behind a recorder that can change, withhold and refuse replies. The rules
//! talk to the shop through an [`Environment`] alone.

mod books;
mod environment;
mod lies;
#[cfg(feature = "native-no-provider")]
mod native;
pub mod options;
mod payment;
mod report;
mod rules;
mod service;
mod shop;

pub use environment::{Boxed, CommandError, Environment, Request, Response, SendError};
#[cfg(feature = "native-no-provider")]
#[cfg_attr(doc_labels, doc(cfg(feature = "native")))]
pub use native::{LocalService, NotRun, Shop, check, prepare};
pub use report::{Report, RuleReport, instructions, progress};
pub use rules::{Rule, Selection};
pub use service::Service;

use books::Expected;
use options::{Login, Options};
use payment::Payment;
use rules::{Known, Late, SharedOut};
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

/// Why a check cannot begin.
enum NotReady {
    /// The shop may be being started.
    Yet(String),
    /// Waiting cannot help.
    Never(String),
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
    /// What the rules about forged orders know of honest ones, and what they found.
    known: RefCell<Option<Rc<Known>>>,
    shared_out: RefCell<Option<SharedOut>>,
    /// Whether a rule has said why there is no order.
    has_no_order: Cell<bool>,
    /// Whether the files of the page are among the responses.
    is_page_loaded: Cell<bool>,
    /// Every response of the shop, with its request.
    responses: RefCell<Vec<(String, Response)>>,
    /// What the shop's books must say until the end of the check.
    expected: RefCell<Vec<Expected>>,
    /// The payments that an operator approves late, once a rule has made them.
    late: RefCell<Option<Rc<Late>>>,
    /// A payment that the customer has begun on the phone, and not ended.
    processing: RefCell<Option<Payment>>,
    /// Whether the books have said of a paid order that it is paid.
    has_seen_paid: Cell<bool>,
    /// Whether the command of `--settle` has ended well.
    has_settled: Cell<bool>,
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
            known: RefCell::default(),
            shared_out: RefCell::default(),
            has_no_order: Cell::default(),
            is_page_loaded: Cell::default(),
            responses: RefCell::default(),
            expected: RefCell::default(),
            late: RefCell::default(),
            processing: RefCell::default(),
            has_seen_paid: Cell::default(),
            has_settled: Cell::default(),
            is_lost: Cell::default(),
            waited: Cell::default(),
        }
    }

    /// The rules that the options select, in the order in which they are checked.
    #[must_use]
    pub fn rules(&self) -> Vec<&'static Rule> {
        rules::selected(&self.options.only)
    }

    /// Checks one rule.
    pub async fn rule(&self, rule: &'static Rule) -> RuleReport {
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
        RuleReport::new(rule, outcome, &self.service.secrets()).after(busy, waited)
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
    /// If it does not within `--wait`, or at once if waiting cannot help: what it did instead, and what to do.
    pub async fn shop_is_ready(&self) -> Result<(), String> {
        let mut seen = String::new();
        let is_ready = async || match self.try_shop().await {
            Ok(()) => Some(Ok(())),
            Err(NotReady::Never(why)) => Some(Err(why)),
            Err(NotReady::Yet(why)) => {
                seen = why;
                // It may be started again, and forget its logins.
                self.customers.borrow_mut().clear();
                None
            }
        };
        let result = self.wait_for(self.options.wait, is_ready).await;
        let shop = self.shop();
        let result = result
            .unwrap_or_else(|| Err(format!("{seen} Start the shop at {shop} with the address and the key above.")));
        result.map_err(|why| report::redact(&why, &self.service.secrets()))
    }

    async fn try_shop(&self) -> Result<(), NotReady> {
        let page = self.open_page(&Customer::default()).await;
        page.response.map_err(|broken| {
            let why = format!("The shop did not answer: {broken}.");
            if matches!(broken, SendError::Certificate(_)) { NotReady::Never(why) } else { NotReady::Yet(why) }
        })?;
        for (number, Login { method, path, .. }) in self.options.logins.iter().enumerate() {
            let browser = Customer::default();
            self.open_page(&browser).await;
            let exchange = self.send_login(&browser, number).await;
            if !(200..400).contains(&exchange.status()) {
                let why = format!("The request of --login was refused: {method} {path}: {}.", exchange.response_text());
                // A shop that is being started has no other answer.
                let is_refused = (400..500).contains(&exchange.status());
                return Err(if is_refused { NotReady::Never(why) } else { NotReady::Yet(why) });
            }
        }
        let customer = self.customer(0).await.map_err(|stop| match stop {
            RuleError::NotChecked(why) | RuleError::Failed { why, .. } => NotReady::Yet(why),
        })?;
        let session = self.route_request(&customer, "POST", "/session").on_own_page();
        let session = session.json(&serde_json::json!({})).send().await;
        if self.is_called_with_key()? {
            return Ok(());
        }
        // No customer is signed in, or the customer has no session: only an order calls the service. It is one that no
        // rule needs to be new: the first one that was given, or one of the pattern.
        let order = self.orders.borrow().front().cloned().or_else(|| self.fresh_order()).unwrap_or_default();
        let exchange = self.route_request(&customer, "POST", "/intents").on_own_page().json(&order).send().await;
        // If nobody is signed in, it has no reason to call the service.
        let is_signed_out = exchange.is_sign_in_required() && self.options.logins.is_empty();
        if self.is_called_with_key()? || is_signed_out {
            return Ok(());
        }
        let is_missing = |exchange: &Exchange| [404, 405].contains(&exchange.status()) && !exchange.is_error_in_shape();
        if is_missing(&session) && is_missing(&exchange) {
            let [origin, routes] = [&self.options.shop.origin, &self.options.shop.routes];
            return Err(NotReady::Never(format!(
                "The shop has no routes at {origin}{routes}: {}: {}. Give the address of the shop, with the path of its three \
                 routes if it is not /guichet.",
                session.sent,
                session.response_text()
            )));
        }
        let (sent, came) = (&exchange.sent, exchange.response_text());
        Err(NotReady::Yet(format!("The shop answered without a call to the service. {sent}: {came}.")))
    }

    /// Whether the shop has called the service with its key. The error says that it uses another one.
    fn is_called_with_key(&self) -> Result<bool, NotReady> {
        let calls = self.service.calls_since(0);
        if calls.iter().any(|call| call.with_key) {
            return Ok(true);
        }
        match calls.iter().find(|call| call.is_session() || call.is_creation()) {
            Some(_) => Err(NotReady::Never(
                "Your shop uses another key than this check. Start the shop with the key above, or set GUICHET_SECRET_KEY to the \
                 shop's test key before the check."
                    .into(),
            )),
            None => Ok(false),
        }
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

    /// Signs a customer in, in a new browser. Without `--login` the first customer is a browser without a login.
    async fn sign_in(&self, number: usize) -> Result<Customer, RuleError> {
        let customer = Customer::default();
        // The page sets the cookie of a CSRF token.
        self.open_page(&customer).await;
        match self.options.logins.get(number) {
            Some(_) => self.sign_in_again(&customer, number).await.map(|_| customer),
            None if number == 0 => Ok(customer),
            None => not_checked("Missing option --login, a second time: it signs in another customer."),
        }
    }

    /// Signs a customer in, in this browser.
    async fn sign_in_again(&self, customer: &Customer, number: usize) -> Result<Exchange, RuleError> {
        let exchange = self.send_login(customer, number).await;
        if (200..400).contains(&exchange.status()) {
            return Ok(exchange);
        }
        let Login { method, path, .. } = &self.options.logins[number];
        not_checked(format!("The request of --login was refused: {method} {path}: {}", exchange.response_text()))
    }

    async fn send_login(&self, customer: &Customer, number: usize) -> Exchange {
        let Login { method, path, body } = self.options.logins[number].clone();
        let request = self.request(customer, method, &path).on_own_page();
        match body.chars().next() {
            None => request.send().await,
            Some('{' | '[') => request.secret_body("application/json", body).send().await,
            Some(_) => request.secret_body("application/x-www-form-urlencoded", body).send().await,
        }
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
        // The command may return before the old process has ended.
        self.pause(Duration::from_secs(1)).await;
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
        self.run(command).await.or_else(|why| not_checked(format!("--settle: {why}")))?;
        self.has_settled.set(true);
        Ok(())
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
            // It may end with an error because of what a rule does to one payment.
            let settled = self.run_settle().await;
            if let Some(found) = self.wait_for(every.min(left), &mut look).await {
                return Ok(Some(found));
            }
            left = left.saturating_sub(every);
            if left.is_zero() {
                // A command that has worked before fails because of what the rule does, and the shop is judged by its
                // books.
                return if self.has_settled.get() { Ok(None) } else { settled.map(|()| None) };
            }
        }
    }
}
