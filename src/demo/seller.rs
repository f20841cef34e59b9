//! Implements [`Shop`] for the demo: who is signed in, what an order costs, and what happens when it is paid.

use super::catalogue::{Customer, SHOP_NAME};
use super::logins::Logins;
use super::orders::{Order, Orders};
use crate::native::{AskAgain, Reason, Refused, Shop, Sold};
use crate::operations::{CreatePaymentIntent, CustomerName, DuplicatePayment, Item, PaymentIntent};
use crate::values::{
    Amount, Currency, Email, FeeBearer, Invalid, MerchantReference, PaymentRef, RedirectUrl, printable,
};
use axum::http::request::Parts;
use serde_json::Value;

/// The shop's side of the merchant's three routes.
#[derive(Clone)]
pub(super) struct Seller {
    pub logins: Logins,
    pub orders: Orders,
}

impl Shop for Seller {
    async fn customer(&self, request: &Parts) -> Result<Option<Email>, Refused> {
        let customer = self.logins.customer(&request.headers).await.map_err(Refused::broken)?;
        customer.map(|customer| Email::new(customer.email)).transpose().map_err(Refused::broken)
    }

    async fn login(&self, request: &Parts) -> Result<Option<String>, Refused> {
        Ok(Logins::name(&request.headers))
    }

    async fn purchase(&self, customer: Option<&Email>, order: Value) -> Result<CreatePaymentIntent, Refused> {
        let missing = || Refused::new(404, Reason { code: "order_missing", message: "There is no such order." });
        let customer = customer.and_then(Customer::with_email).ok_or_else(missing)?;
        let id = order.get("id").and_then(Value::as_str).ok_or_else(missing)?;
        let order = self.orders.to_pay(id, customer.id).await.map_err(Refused::broken)?.ok_or_else(missing)?;
        purchase(&order, customer).map_err(Refused::broken)
    }

    async fn remember(&self, sold: &Sold) -> Result<(), Refused> {
        match &sold.owner {
            Some(owner) => self.orders.remember(sold, owner).await.map_err(Refused::broken),
            None => Err(Refused::broken("a purchase has no customer")),
        }
    }

    async fn find(&self, payment_ref: &PaymentRef, customer: Option<&Email>) -> Result<Option<Sold>, Refused> {
        match customer {
            Some(owner) => self.orders.sold(payment_ref, owner).await.map_err(Refused::broken),
            None => Ok(None),
        }
    }

    async fn settled(&self, sold: &Sold, intent: &PaymentIntent) -> Result<(), Refused> {
        if AskAgain::about(intent) == AskAgain::ForADay {
            // Before the order is settled: after that, nothing would read the payment again.
            self.orders.watch(sold).await.map_err(Refused::broken)?;
        }
        self.orders.settle(sold, &intent.status).await.map_err(Refused::broken)
    }

    async fn overpaid(&self, sold: &Sold, duplicate: &DuplicatePayment) -> Result<(), Refused> {
        if self.orders.overpaid(sold, duplicate).await.map_err(Refused::broken)? {
            let (intent, reference) = (printable(&sold.intent), printable(&sold.merchant_reference));
            let (amount, attempt) = (duplicate.amount.map(tracing::field::display), duplicate.attempt);
            let currency = printable(&duplicate.currency);
            tracing::warn!(%reference, %intent, attempt, amount, %currency, "a refund is due: the customer paid twice");
        }
        Ok(())
    }
}

/// The payment intent of an order. It depends on the order alone, so that repeated creates are equal.
fn purchase(order: &Order, customer: &Customer) -> Result<CreatePaymentIntent, Invalid> {
    let reference = MerchantReference::new(order.reference())?;
    let amount = Amount::units(order.total());
    let items = order
        .lines
        .iter()
        .map(|line| Item::new(&line.name, Amount::units(line.price), Currency::xaf(), u64::from(line.quantity)))
        .collect();
    let description = format!("{SHOP_NAME} #{}", order.id);
    Ok(CreatePaymentIntent::new(
        reference,
        amount,
        description,
        CustomerName { firstname: customer.firstname, lastname: customer.lastname },
    )
    .email(Email::new(customer.email)?)
    .fee_bearer(FeeBearer::Customer)
    .items(items)
    .redirect_url(RedirectUrl::new(&order.return_url)?))
}
