//! Payments of the shop's orders, as the rules need them.

use super::checked_shop::CheckedShop;
use super::customer::Customer;
use super::exchange::Exchange;
use crate::outcome::{RuleError, not_checked};
use crate::service::Call;
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

impl Payment {
    /// The amount that the payment was created with.
    pub(crate) fn amount(&self) -> &str {
        self.creation.reply["data"]["amount"].as_str().unwrap_or_default()
    }
}

impl CheckedShop {
    /// Sends an order from the shop's page, and reads the payment that the shop answers with.
    pub(crate) async fn buy(&self, customer: &Customer, order: &Value) -> Result<Payment, Exchange> {
        self.payment(order, self.send_order(customer, order).await)
    }

    /// The payment of a response of `POST {m}/intents`. The error is the exchange, if it has none.
    pub(crate) fn payment(&self, order: &Value, exchange: Exchange) -> Result<Payment, Exchange> {
        let body = exchange.json();
        let text = |name: &str| body["intent"][name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let read = || {
            text("checkout_url")?;
            text("status")?;
            let (id, payment_ref, reference) = (text("id")?, text("payment_ref")?, text("merchant_reference")?);
            let creation = self.service.creation(&id)?;
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
        // An order of the pattern may be refused, so not all of them are tried.
        let mut fresh = 0..3;
        loop {
            let order = self.orders.borrow().open.front().cloned();
            let Some(order) = order else {
                if let Some(order) = fresh.next().and_then(|_| self.fresh_order()) {
                    self.orders.borrow_mut().open.push_back(order);
                    continue;
                }
                // The cause is said once: the other rules have the same.
                if std::mem::replace(&mut self.orders.borrow_mut().is_lack_told, true) {
                    return not_checked("No order is left that can be paid: see the first rule that says so.");
                }
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
            self.orders.borrow_mut().open.pop_front();
        }
    }

    /// An order that the shop has not seen; `None` without `--order-pattern`.
    pub(crate) fn fresh_order(&self) -> Option<Value> {
        let pattern = self.options.order_pattern.as_ref()?;
        let mut orders = self.orders.borrow_mut();
        orders.taken += 1;
        Some(pattern.order(orders.taken))
    }

    /// The same, or else the order of this payment.
    pub(crate) fn fresh_order_or(&self, payment: &Payment) -> Value {
        self.fresh_order().unwrap_or_else(|| payment.order.clone())
    }

    /// An order that may be open, or else one of the pattern.
    pub(crate) fn any_order(&self) -> Option<Value> {
        let open = self.orders.borrow().open.front().cloned();
        open.or_else(|| self.fresh_order())
    }

    async fn is_open(&self, payment: &Payment) -> bool {
        let intent = self.service.intent(&payment.id).await;
        let is_untouched = intent["status"] == "requires_action" && intent["attempts"].as_u64().unwrap_or(0) == 0;
        // If its command fails, the rules that need the books say so.
        is_untouched && !matches!(self.books(payment).await, Ok(Some(books)) if books.paid > 0)
    }

    pub(crate) fn no_payment(&self, exchange: &Exchange) -> String {
        if exchange.is_sign_in_required() && self.options.logins.is_empty() {
            return "Missing option --login: without it the shop sells nothing.".into();
        }
        let calls = self.service.calls_since(0);
        let is_unknown = |call: &Call| call.with_key && call.method == "GET" && call.reply["status_code"] == 404;
        let cause = if exchange.is_success() || calls.iter().any(is_unknown) {
            "The shop asks for payments that this service has not created: start it with a fresh database. "
        } else {
            ""
        };
        format!("{cause}No order became a payment. The last answer: {}", exchange.response_text())
    }

    /// Puts the order behind the others: the shop may not read its payment for a while.
    pub(crate) fn set_aside(&self, payment: &Payment) {
        let mut orders = self.orders.borrow_mut();
        if orders.open.front() == Some(&payment.order) {
            orders.open.rotate_left(1);
        }
    }

    /// Asks for the payment's status, from the shop's page.
    pub(crate) async fn status(&self, customer: &Customer, payment: &Payment) -> Exchange {
        self.request_status(customer, &payment.payment_ref).await
    }

    /// The same, and once more if the shop could not read it: one call may fail.
    pub(crate) async fn sure_status(&self, customer: &Customer, payment: &Payment) -> Exchange {
        let exchange = self.status(customer, payment).await;
        if exchange.is_unavailable() { self.status(customer, payment).await } else { exchange }
    }

    /// Whether there are always new orders.
    pub(crate) fn has_fresh_orders(&self) -> bool {
        self.options.order_pattern.is_some()
    }

    /// A payment of an order that the shop has not seen, if `--order-pattern` gives one, or else one that can still be
    /// paid.
    pub(crate) async fn fresh_payment(&self) -> Result<(Rc<Customer>, Payment), RuleError> {
        let Some(order) = self.fresh_order() else { return self.open_payment().await };
        let customer = self.customer(0).await?;
        match self.buy(&customer, &order).await {
            Ok(payment) => Ok((customer, payment)),
            Err(exchange) => not_checked(self.no_payment(&exchange)),
        }
    }

    /// Cancels a payment, as its customer does, and lets the shop see it. So it is no longer one of the 20 that a
    /// customer may have open.
    pub(crate) async fn release(&self, customer: &Customer, payment: &Payment) {
        self.release_named(customer, &payment.id, &payment.payment_ref).await;
    }

    pub(crate) async fn release_named(&self, customer: &Customer, id: &str, payment_ref: &str) {
        self.service.cancel(id).await;
        self.request_status(customer, payment_ref).await;
    }

    /// The same, if there are always new orders: otherwise a later rule needs it.
    pub(crate) async fn release_if_fresh(&self, customer: &Customer, payment: &Payment) {
        if self.has_fresh_orders() {
            self.release(customer, payment).await;
        }
    }

    /// Cancels the payments that earlier rules have left open, if there are always new orders.
    pub(crate) async fn release_open_payments(&self) {
        /// So many that a rule can open as many as it needs.
        const FEW: usize = 6;
        if !self.has_fresh_orders() {
            return;
        }
        let open = self.service.open_payments().await;
        let Ok(customer) = self.customer(0).await else { return };
        for (id, payment_ref) in open.iter().rev().skip(FEW) {
            self.release_named(&customer, id, payment_ref).await;
        }
    }
}
