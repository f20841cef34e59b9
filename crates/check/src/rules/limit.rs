//! How many payments a customer may have open.

use crate::outcome::{Outcome, RuleError, not_checked};
use crate::shop::{CheckedShop, Customer, Exchange, Payment};
use std::collections::HashSet;
use std::rc::Rc;

/// The payments that a customer may have open.
const MOST_OPEN: usize = 20;

pub(super) async fn open_payments_have_a_limit(shop: &CheckedShop) -> Outcome {
    let customer = shop.customer(0).await?;
    let before: HashSet<String> = shop.service.open_payments().await.into_iter().map(|(id, _)| id).collect();
    let (mut opened, mut refused) = match may_open(shop, &customer).await? {
        Ok(payment) => (vec![payment], None),
        Err(exchange) => (Vec::new(), Some(exchange)),
    };
    while opened.len() <= MOST_OPEN && refused.is_none() {
        let order = shop.fresh_order().unwrap_or_default();
        match shop.buy(&customer, &order).await {
            Ok(payment) => opened.push(payment),
            Err(exchange) => refused = Some(exchange),
        }
    }
    let outcome = limit_holds(shop, &customer, &opened, refused, before.len()).await;
    let customer = shop.customer(0).await?;
    for (id, payment_ref) in shop.service.open_payments().await {
        if !before.contains(&id) {
            shop.release_named(&customer, &id, &payment_ref).await;
        }
    }
    outcome
}

async fn limit_holds(
    shop: &CheckedShop,
    customer: &Customer,
    opened: &[Payment],
    refused: Option<Exchange>,
    before: usize,
) -> Outcome {
    let Some(first) = opened.first() else {
        if let Some(refused) = refused.as_ref().filter(|refused| is_too_many(refused))
            && shop.service.unfinished().await < MOST_OPEN
        {
            let why = "The customer has fewer than 20 open payments, and no further one may be opened: payments that \
                       have ended, or those of other customers, are counted too.";
            return Err(refused.fail(why));
        }
        return not_checked(refused.map(|exchange| shop.no_payment(&exchange)).unwrap_or_default());
    };
    let Some(refused) = refused else {
        let last = &opened[opened.len() - 1].exchange;
        let why =
            format!("The customer has {} payments open, and the shop created each: no limit.", opened.len() + before);
        return Err(last.fail(why));
    };
    if !is_too_many(&refused) {
        let why = "One more open payment was refused, but not with 409 and the code too_many_open_payments.";
        return Err(refused.fail(why));
    }
    let other = |_: &Payment| "An order that has a payment got another one.".to_owned();
    let none = "An order that has an open payment was refused because of the limit: it must be repeated.";
    shop.must_get_same(customer, first, other, none).await?;
    // A payment that has ended makes room for another one.
    shop.release(customer, first).await;
    if let Err(refused) = may_open(shop, customer).await? {
        return Err(refused.fail("One of 20 open payments was canceled, and no further one may be opened."));
    }
    if let Ok(other) = shop.customer(1).await {
        let exchange = shop.send_order(&other, &shop.fresh_order().unwrap_or_default()).await;
        if is_too_many(&exchange) {
            return Err(exchange.fail("Another customer, who has no open payment, was refused because of this one's."));
        }
    }
    // Another login of the same customer is the same customer.
    if !shop.options.logins.is_empty() {
        let again = Rc::new(shop.sign_in(0).await?);
        // The shop may have ended the login before.
        shop.customers.borrow_mut()[0] = Rc::clone(&again);
        // A payment that has ended meanwhile makes room, which is filled before.
        for _ in 0..MOST_OPEN {
            if shop.buy(customer, &shop.fresh_order().unwrap_or_default()).await.is_err() {
                break;
            }
        }
        let order = shop.fresh_order().unwrap_or_default();
        if let Ok(payment) = shop.buy(&again, &order).await {
            let why = "The customer signed in again, and could open one more payment: the limit is the customer's and \
                       not the login's.";
            return Err(payment.exchange.fail(why));
        }
    }
    Ok(())
}

/// Opens one more payment, as soon as the shop has read that earlier ones have ended.
async fn may_open(shop: &CheckedShop, customer: &Customer) -> Result<Result<Payment, Exchange>, RuleError> {
    let order = shop.fresh_order().unwrap_or_default();
    let mut last = shop.buy(customer, &order).await;
    let is_decided = async || {
        if last.as_ref().is_err_and(is_too_many) {
            last = shop.buy(customer, &order).await;
        }
        (!last.as_ref().is_err_and(is_too_many)).then_some(())
    };
    shop.wait_while_settling(shop.options.limit, is_decided).await?;
    Ok(last)
}

fn is_too_many(exchange: &Exchange) -> bool {
    exchange.status() == 409 && exchange.json()["error"]["code"] == "too_many_open_payments"
}
