//! Steps that several rules share.

use super::books::{Books, Expected};
use super::checked_shop::CheckedShop;
use super::customer::Customer;
use super::exchange::Exchange;
use super::payment::Payment;
use crate::outcome::{Outcome, RuleError, not_checked};
use crate::service::PAYS_AT_ONCE;
use std::time::Duration;

/// The books have said of a paid order that it is paid: those that never do say nothing about an unpaid one.
pub(crate) struct ToldPaid;

impl ToldPaid {
    /// Pays an order, and looks whether the books say so, unless that is known or the last order is needed for what is
    /// not paid.
    pub(crate) async fn see(shop: &CheckedShop, expected: &[Expected]) -> Result<Self, RuleError> {
        let has_orders = shop.has_fresh_orders() || shop.orders.borrow().open.len() >= 2;
        let is_known = expected.iter().any(|one| one.books.paid > 0);
        if shop.options.orders_command.is_none() || is_known || !has_orders {
            return Ok(Self);
        }
        let (customer, payment) = shop.fresh_payment().await?;
        let mark = shop.service.mark();
        shop.service.pay(&payment.id, PAYS_AT_ONCE).await;
        // Another rule is about a shop that settles nothing without the page.
        shop.status(&customer, &payment).await;
        let paid = [Expected::new("The customer paid and came back.", &payment, Books::PAID)];
        match shop.books_come_to(&paid, mark, Duration::ZERO).await?[0].paid {
            0 => not_checked(
                "The customer paid an order, and the command of --orders did not print `paid` for it: see \
                 paid_without_return and --help.",
            ),
            _ => Ok(Self),
        }
    }
}

impl CheckedShop {
    /// Waits until the shop has read each of these payments by itself. Returns whether it did: a timer that reads every
    /// few seconds does in a tenth of the limit.
    pub(crate) async fn wait_for_read(&self, payments: &[&Payment]) -> Result<bool, RuleError> {
        self.wait_for_read_within(payments, self.options.limit / 10).await
    }

    /// The same, for at most this long.
    pub(crate) async fn wait_for_read_within(&self, payments: &[&Payment], limit: Duration) -> Result<bool, RuleError> {
        let mark = self.service.mark();
        let is_read =
            |payment: &&Payment| self.service.count_since(mark, |call| call.with_key && call.reads(&payment.id)) > 0;
        let all_read = async || payments.iter().all(is_read).then_some(());
        Ok(self.wait_while_settling(limit, all_read).await?.is_some())
    }

    /// The order still has this payment, after `what`.
    pub(crate) async fn same_payment_still(&self, customer: &Customer, payment: &Payment, what: &str) -> Outcome {
        let mark = self.service.mark();
        let mut sent = self.buy(customer, &payment.order).await;
        // A shop may wait for a moment before it calls a service again that has failed.
        let is_decided = async || {
            if sent.as_ref().is_err_and(Exchange::is_unavailable) {
                sent = self.buy(customer, &payment.order).await;
            }
            sent.as_ref().map_or_else(|exchange| exchange.status() < 500, |_| true).then_some(())
        };
        self.wait_for(self.options.limit / 10, is_decided).await;
        let calls = self.service.creations_since(mark);
        let exchange = match sent {
            Ok(same) if same.id == payment.id => return Ok(()),
            Ok(other) => other.exchange,
            // An error creates no second payment.
            Err(exchange) if calls.iter().all(|call| call.creates(&payment.reference)) => {
                if (400..500).contains(&exchange.status()) && !exchange.is_sign_in_required() {
                    return Ok(());
                }
                let why = "and the order no longer gets its payment, which can still be paid.";
                return Err(exchange.fail(format!("{what}, {why}")));
            }
            Err(exchange) => exchange,
        };
        let reference = &payment.reference;
        Err(exchange
            .fail(format!("{what}, and the order got another payment than {reference}: the customer may pay both.")))
    }

    /// Sent again, the order gets this payment. `other` says what is wrong with another one, and `none` with none.
    pub(crate) async fn must_get_same(
        &self,
        customer: &Customer,
        payment: &Payment,
        other: impl FnOnce(&Payment) -> String,
        none: &str,
    ) -> Outcome {
        match self.buy(customer, &payment.order).await {
            Ok(again) if again.id == payment.id => Ok(()),
            Ok(again) => Err(again.exchange.fail(other(&again))),
            Err(exchange) => Err(exchange.fail(none)),
        }
    }

    /// Sent again, the order gets no other payment than this one. `other` says what is wrong with another one.
    pub(crate) async fn must_get_no_other(
        &self,
        customer: &Customer,
        payment: &Payment,
        other: impl FnOnce(&Payment) -> String,
    ) -> Outcome {
        match self.buy(customer, &payment.order).await {
            Ok(again) if again.id != payment.id => Err(again.exchange.fail(other(&again))),
            _ => Ok(()),
        }
    }

    /// A payment of another order that the shop has marked paid: one of which the books must say so, or a new one.
    pub(crate) async fn paid_payment(&self, expected: &[Expected]) -> Result<Option<Payment>, RuleError> {
        let known = expected.iter().find(|one| one.books == Books::PAID).map(|one| one.payments[0].clone());
        if known.is_some() || !self.has_fresh_orders() || self.options.orders_command.is_none() {
            return Ok(known);
        }
        let (_, payment) = self.fresh_payment().await?;
        let mark = self.service.mark();
        self.service.pay(&payment.id, PAYS_AT_ONCE).await;
        let paid = [Expected::new("The customer paid and never came back.", &payment, Books::PAID)];
        // Another rule is about a shop that does not mark it.
        self.books_come_to(&paid, mark, Duration::ZERO).await?;
        Ok(Some(payment))
    }
}
