//! Customers who sign in, and what names them.

use super::checked_shop::CheckedShop;
use super::customer::Customer;
use super::exchange::Exchange;
use crate::foreign_names::{Meaning, names};
use crate::json::{leaves, text_of};
use crate::options::Login;
use crate::outcome::{Outcome, RuleError, not_checked};
use crate::service::Call;
use serde_json::Value;
use std::rc::Rc;
use std::time::Duration;

/// Why a rule about sessions is not checked.
pub(crate) const NO_SESSION: &str = "The customer gets no session: see session_needs_login.";

impl CheckedShop {
    /// The first or second customer, signed in.
    pub(crate) async fn customer(&self, number: usize) -> Result<Rc<Customer>, RuleError> {
        let known = self.customers.borrow().len();
        for next in known..=number {
            let customer = self.sign_in(next).await?;
            self.customers.borrow_mut().push(Rc::new(customer));
        }
        Ok(Rc::clone(&self.customers.borrow()[number]))
    }

    /// A browser without a login that has opened the shop's page, which sets the cookie of a CSRF token.
    pub(crate) async fn visitor(&self) -> Customer {
        let visitor = Customer::default();
        self.open_page(&visitor).await;
        visitor
    }

    /// Signs a customer in, in a new browser. Without `--login` the first customer is a browser without a login.
    pub(crate) async fn sign_in(&self, number: usize) -> Result<Customer, RuleError> {
        let customer = self.visitor().await;
        match self.options.logins.get(number) {
            Some(_) => self.sign_in_again(&customer, number).await.map(|_| customer),
            None if number == 0 => Ok(customer),
            None => not_checked("Missing option --login, a second time: it signs in another customer."),
        }
    }

    /// Signs a customer in, in this browser.
    pub(crate) async fn sign_in_again(&self, customer: &Customer, number: usize) -> Result<Exchange, RuleError> {
        let exchange = self.send_login(customer, number).await;
        if (200..400).contains(&exchange.status()) {
            return Ok(exchange);
        }
        let Login { method, path, .. } = &self.options.logins[number];
        not_checked(format!("The request of --login was refused: {method} {path}: {}", exchange.response_text()))
    }

    pub(crate) async fn send_login(&self, customer: &Customer, number: usize) -> Exchange {
        let Login { method, path, body } = self.options.logins[number].clone();
        let request = self.request(customer, method, &path).on_own_page();
        match body.chars().next() {
            None => request.send().await,
            Some('{' | '[') => request.secret_body("application/json", body).send().await,
            Some(_) => request.secret_body("application/x-www-form-urlencoded", body).send().await,
        }
    }

    /// The e-mail for which the service has created the session of an answer.
    pub(crate) fn issued_for(&self, exchange: &Exchange) -> Option<String> {
        let token = exchange.data()["session_token"].as_str()?.to_owned();
        let calls = self.service.calls_since(0);
        let creation = calls.iter().find(|call| call.is_session() && call.reply["data"]["session_token"] == *token)?;
        Some(email_in(creation))
    }

    /// The e-mail for which a customer gets a session; `None` if this customer gets none.
    pub(crate) async fn email_of(&self, number: usize) -> Result<Option<String>, RuleError> {
        let customer = self.customer(number).await?;
        Ok(self.issued_for(&self.request_session(&customer).await))
    }

    /// The values in the body of a customer's login that are not in the other's, and the e-mail of the customer's
    /// session.
    pub(crate) async fn names_of(&self, number: usize) -> Vec<String> {
        let values = |number: usize| self.options.logins.get(number).map(|login| values_of_body(&login.body));
        let Some(mut names) = values(number) else { return Vec::new() };
        let others = values(1 - number).unwrap_or_default();
        names.retain(|name| !others.contains(name) && !name.is_empty());
        names.extend(self.email_of(number).await.ok().flatten());
        names.dedup();
        names
    }

    /// Restarts the shop by the command of `--restart`, and waits until it answers.
    pub(crate) async fn restart(&self) -> Outcome {
        let command = self.options.restart_command.as_deref().unwrap_or_default();
        self.run(command).await.or_else(|why| not_checked(format!("--restart: {why}")))?;
        // The command may return before the old process has ended.
        self.pause(Duration::from_secs(1)).await;
        // The login may have been in memory.
        self.customers.borrow_mut().clear();
        self.comes_back("--restart").await
    }

    /// Waits until the shop answers after a command.
    pub(crate) async fn comes_back(&self, option: &str) -> Outcome {
        let visitor = Customer::default();
        let is_up = async || self.open_page(&visitor).await.response.ok();
        let lost = || RuleError::Lost(format!("After the command of {option}, the shop did not answer."));
        self.wait_for(self.options.limit, is_up).await.map(drop).ok_or_else(lost)
    }
}

/// The e-mail of a session that the shop has created.
pub(crate) fn email_in(creation: &Call) -> String {
    creation.body["customer_email"].as_str().unwrap_or_default().to_lowercase()
}

/// The texts in the body of a login, which is JSON or a form, but no password.
fn values_of_body(body: &str) -> Vec<String> {
    let fields: Vec<(String, String)> = match serde_json::from_str::<Value>(body) {
        Ok(json) => leaves(&json).into_iter().map(|(name, value)| (name, text_of(&value))).collect(),
        Err(_) => url::form_urlencoded::parse(body.as_bytes()).into_owned().collect(),
    };
    let is_secret = |name: &str| names(Meaning::Secret).any(|word| name.contains(word));
    fields.into_iter().filter(|(name, _)| !is_secret(&name.to_ascii_lowercase())).map(|(_, value)| value).collect()
}
