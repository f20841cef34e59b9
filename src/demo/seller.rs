//! Implements [`Shop`] for the demo: who is signed in, what an order costs, and what happens when it is paid.

use super::catalogue::{Customer, SHOP_NAME};
use super::logins::Logins;
use super::orders::{Order, Orders};
use crate::native::{Buyer, Owner, Reason, Refused, Shop, Sold};
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
    async fn buyer(&self, request: &Parts) -> Result<Option<Buyer>, Refused> {
        let customer = self.logins.customer(&request.headers).await.map_err(Refused::broken)?;
        let Some((customer, login)) = customer.zip(Logins::name(&request.headers)) else { return Ok(None) };
        let email = Email::new(customer.email).map_err(Refused::broken)?;
        Ok(Some(Buyer::customer(customer.id).login(login).verified_email(email)))
    }

    async fn purchase(&self, buyer: &Buyer, order: Value) -> Result<CreatePaymentIntent, Refused> {
        let missing = || Refused::new(404, Reason { code: "order_missing", message: "There is no such order." });
        let Owner::Customer(customer) = &buyer.owner else { return Err(missing()) };
        let customer = Customer::of(customer).ok_or_else(missing)?;
        let id = order.get("id").and_then(Value::as_str).ok_or_else(missing)?;
        let order = self.orders.to_pay(id, customer.id).await.map_err(Refused::broken)?.ok_or_else(missing)?;
        if order.has_failed() {
            let message = "The shop no longer sells all of this order.";
            return Err(Refused::new(409, Reason { code: "order_ended", message }));
        }
        purchase(&order, customer).map_err(Refused::broken)
    }

    async fn open_payments(&self, owner: &Owner, next: &MerchantReference) -> Result<usize, Refused> {
        self.orders.count_open(owner, next).await.map_err(Refused::broken)
    }

    async fn remember(&self, sold: &Sold) -> Result<(), Refused> {
        self.orders.remember(sold).await.map_err(Refused::broken)
    }

    async fn find(&self, payment_ref: &PaymentRef, owner: &Owner) -> Result<Option<Sold>, Refused> {
        self.orders.returned_to(payment_ref, owner).await.map_err(Refused::broken)
    }

    async fn settled(&self, sold: &Sold, intent: &PaymentIntent) -> Result<(), Refused> {
        self.orders.settle(sold, &intent.status).await.map_err(Refused::broken)?;
        self.orders.mark_final(sold).await.map_err(Refused::broken)
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
