//! Payments of the shop's orders, as the rules need them.

use super::service::Call;
use super::{Check, Customer, Exchange, RuleError, not_checked};
use serde_json::Value;
use std::rc::Rc;

/// A payment that the shop has created for an order.
#[derive(Clone, Debug)]
pub(crate) struct Payment {
    pub(crate) order: Value,
    pub(crate) id: String,
    pub(crate) payment_ref: String,
    pub(crate) reference: String,
    pub(crate) return_nonce: Option<String>,
    /// The shop's call that created it.
    pub(crate) creation: Call,
    pub(crate) exchange: Exchange,
}

/// What the command of `--orders` has printed about an order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Books {
    /// How often the shop marked it paid.
    pub(crate) paid: usize,
    /// How many refunds the shop knows to be due.
    pub(crate) refunds_due: usize,
}

impl Books {
    /// Reads the lines `paid` and `refund_due`. Other lines mean nothing.
    pub(crate) fn read(text: &str) -> Self {
        let count = |word| text.lines().filter(|line| line.trim() == word).count();
        Self { paid: count("paid"), refunds_due: count("refund_due") }
    }
}

/// The reason why a rule is not checked without `--orders`, although nothing wrong was seen.
pub(crate) fn orders_missing() -> RuleError {
    RuleError::NotChecked(
        "Missing option --orders: the shop's answers look right, and only its books say the rest.".into(),
    )
}

impl Check {
    /// Sends an order from the shop's page, and reads the payment that the shop answers with.
    pub(crate) async fn buy(&self, customer: &Customer, order: &Value) -> Result<Payment, Exchange> {
        let exchange = self.route_request(customer, "POST", "/intents").on_own_page().json(order).send().await;
        self.payment(order, exchange)
    }

    /// The payment of a response of `POST {m}/intents`. The error is the exchange, if it has none.
    pub(crate) fn payment(&self, order: &Value, exchange: Exchange) -> Result<Payment, Exchange> {
        let body = exchange.json();
        let text = |name: &str| body["intent"][name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let read = || {
            text("checkout_url")?;
            text("status")?;
            let (id, payment_ref, reference) = (text("id")?, text("payment_ref")?, text("merchant_reference")?);
            let calls = self.service.calls_since(0);
            let creation = calls.into_iter().find(|call| call.is_creation() && call.reply["data"]["id"] == *id)?;
            let return_nonce = body["return_nonce"].as_str().map(str::to_owned);
            let (order, exchange) = (order.clone(), exchange.clone());
            Some(Payment { order, id, payment_ref, reference, return_nonce, creation, exchange })
        };
        let payment = if exchange.is_success() { read() } else { None };
        payment.ok_or(exchange)
    }

    /// A payment that can still be paid, of the first order that has one, and its customer.
    pub(crate) async fn open_payment(&self) -> Result<(Rc<Customer>, Payment), RuleError> {
        let customer = self.customer(0).await?;
        let mut last = None;
        let mut fresh = 0;
        loop {
            // An order of the pattern may be refused, so not all of them are tried.
            if self.orders.borrow().is_empty() && fresh < 3 {
                fresh += 1;
                self.orders.borrow_mut().extend(self.fresh_order());
            }
            let Some(order) = self.orders.borrow().front().cloned() else {
                return not_checked(match last {
                    None => "Missing option --order, once more: the orders that were given are paid.".into(),
                    Some(exchange) => self.no_payment(&exchange),
                });
            };
            match self.buy(&customer, &order).await {
                Ok(payment) if self.is_open(&payment).await => return Ok((customer, payment)),
                Ok(_) => {}
                Err(exchange) => last = Some(exchange),
            }
            self.orders.borrow_mut().pop_front();
        }
    }

    /// An order that the shop has not seen; `None` without `--order-pattern`.
    pub(crate) fn fresh_order(&self) -> Option<Value> {
        let pattern = self.options.order_pattern.as_ref()?;
        self.taken.set(self.taken.get() + 1);
        Some(pattern.order(self.taken.get()))
    }

    async fn is_open(&self, payment: &Payment) -> bool {
        let intent = self.service.intent(&payment.id).await;
        let is_untouched = intent["status"] == "requires_action" && intent["attempts"].as_u64().unwrap_or(0) == 0;
        // If its command fails, the rules that need the books say so.
        is_untouched && !matches!(self.books(payment).await, Ok(Some(books)) if books.paid > 0)
    }

    fn no_payment(&self, exchange: &Exchange) -> String {
        if exchange.is_sign_in_required() && self.options.logins.is_empty() {
            return "Missing option --login: without it the shop sells nothing.".into();
        }
        format!("No order became a payment. The last answer: {}", exchange.response_text())
    }

    /// Puts the order behind the others: the shop may not read its payment for a while.
    pub(crate) fn set_aside(&self, payment: &Payment) {
        let mut orders = self.orders.borrow_mut();
        if orders.front() == Some(&payment.order) {
            orders.rotate_left(1);
        }
    }

    /// Asks for the payment's status, from the shop's page.
    pub(crate) async fn status(&self, customer: &Customer, payment: &Payment) -> Exchange {
        self.route_request(customer, "GET", &format!("/intents/{}", payment.payment_ref)).on_own_page().send().await
    }

    /// What the shop's books say about the order; `None` without `--orders`.
    pub(crate) async fn books(&self, payment: &Payment) -> Result<Option<Books>, RuleError> {
        let Some(command) = &self.options.orders_command else { return Ok(None) };
        let mut variables = self.service.variables();
        variables.extend([
            ("GUICHET_ORDER", payment.order.to_string()),
            ("GUICHET_REFERENCE", payment.reference.clone()),
            ("GUICHET_PAYMENT_REF", payment.payment_ref.clone()),
        ]);
        let printed = self.environment.run(command, variables, true).await;
        printed
            .map(|text| Some(Books::read(&text)))
            .map_err(|error| RuleError::NotChecked(format!("--orders: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_books_are_lines_and_other_lines_mean_nothing() {
        let books = Books::read("unpaid\n paid\r\npaid\nrefund_due\nrepaid\n");
        assert_eq!((books.paid, books.refunds_due), (2, 1));
        assert_eq!(Books::read("").paid, 0);
    }
}
