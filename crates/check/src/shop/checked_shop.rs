//! The shop that is checked, with its service and its customers, and how the check waits for it.

use super::customer::Customer;
use crate::catalog;
use crate::environment::{Environment, Response};
use crate::options::Options;
use crate::outcome::{Outcome, RuleError, not_checked};
use crate::service::Service;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct CheckedShop {
    pub(crate) environment: Box<dyn Environment>,
    pub(crate) service: Arc<Service>,
    pub(crate) options: Options,
    /// The customers who are signed in.
    pub(crate) customers: RefCell<Vec<Rc<Customer>>>,
    pub(crate) orders: RefCell<Orders>,
    /// Every response of the shop, with its request.
    pub(crate) responses: RefCell<Vec<(String, Response)>>,
    /// Whether the command of `--settle` has ended well.
    has_settled: Cell<bool>,
    /// How long the check has waited for the shop's timer, or for the shop to start.
    waited: Cell<Duration>,
}

/// The orders that the check may place.
pub(crate) struct Orders {
    /// Those that may still be open.
    pub(crate) open: VecDeque<Value>,
    /// How many of `--order-pattern` were taken.
    pub(crate) taken: u32,
    /// Whether a rule has said why there is none.
    pub(crate) is_lack_told: bool,
}

impl CheckedShop {
    pub(crate) fn new(environment: Box<dyn Environment>, service: Arc<Service>, options: Options) -> Self {
        let orders = Orders { open: options.orders.iter().cloned().collect(), taken: 0, is_lack_told: false };
        Self {
            environment,
            service,
            options,
            customers: RefCell::default(),
            orders: RefCell::new(orders),
            responses: RefCell::default(),
            has_settled: Cell::default(),
            waited: Cell::default(),
        }
    }

    /// The address of the shop's three routes.
    pub(crate) fn address(&self) -> String {
        format!("{}{}", self.options.shop.origin, self.options.shop.routes)
    }

    /// Checks that an option of a rule is there, which names `what_for`.
    pub(crate) fn require(&self, option: &str, what_for: &str) -> Outcome {
        let options = &self.options;
        let is_there = match option {
            catalog::LOGIN => !options.logins.is_empty(),
            catalog::TWO_LOGINS => options.logins.len() >= 2,
            catalog::ORDERS => options.orders_command.is_some(),
            catalog::PATTERN => options.order_pattern.is_some(),
            catalog::RESTART => options.restart_command.is_some(),
            catalog::REPRICE => options.reprice_command.is_some(),
            _ => !options.logs.is_empty(),
        };
        let named = if option == catalog::TWO_LOGINS { "--login, a second time" } else { option };
        if is_there { Ok(()) } else { not_checked(format!("Missing option {named}: {what_for}")) }
    }

    /// How long the check has waited until now.
    pub(crate) fn waited(&self) -> Duration {
        self.waited.get()
    }

    /// Looks again and again until there is a result, for at most this long.
    pub(crate) async fn wait_for<T>(&self, limit: Duration, mut look: impl AsyncFnMut() -> Option<T>) -> Option<T> {
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
    pub(crate) async fn pause(&self, time: Duration) {
        self.environment.sleep(time).await;
        self.waited.set(self.waited.get() + time);
    }

    /// Runs a command of the shop, which may need the service that the shop uses.
    pub(crate) async fn run(&self, command: &str) -> Result<(), String> {
        let run = self.environment.run(command, self.service.variables(), false).await;
        run.map(drop).map_err(|error| error.to_string())
    }

    /// Runs the command of `--settle` once. A shop without one has a timer.
    pub(crate) async fn run_settle(&self) -> Outcome {
        let Some(command) = &self.options.settle_command else { return Ok(()) };
        self.run(command).await.or_else(|why| not_checked(format!("--settle: {why}")))?;
        self.has_settled.set(true);
        Ok(())
    }

    /// Waits in the same way, and runs the command of `--settle` every five seconds, as cron would.
    pub(crate) async fn wait_while_settling<T>(
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
