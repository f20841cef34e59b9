//! An order's next payment: when it may exist, at which price, and how many a customer may have open.

use super::replies::wait_for_read;
use super::settling::same_payment_still;
use super::{DECLINED_FOR_GOOD, PAYS_AT_ONCE, STAYS_PROCESSING};
use crate::books::{Books, Expected};
use crate::payment::Payment;
use crate::service::{Kind, Target};
use crate::shop::{Customer, Exchange};
use crate::{Check, Outcome, RuleError, not_checked};
use futures_util::future::{join, join_all};
use guichet::shop::Profile;
use serde_json::Value;
use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

/// Test phones of the sandbox.
const INSUFFICIENT_FUNDS: &str = "237670000002";
const ASKS_FOR_CODE: &str = "237670000010";
/// The payments that a customer may have open.
const MOST_OPEN: usize = 20;

pub(super) async fn decline_gets_next_reference(check: &Check) -> Outcome {
    let (customer, payment) = check.fresh_payment().await?;
    check.service.pay(&payment.id, DECLINED_FOR_GOOD).await;
    let exchange = see_end(check, &customer, &payment, "failed").await?;
    if check.books(&payment).await?.is_some_and(|books| books.paid > 0) {
        return Err(exchange.fail("The payment was declined for good, and the shop marked the order paid."));
    }
    let next = next_payment(check, &customer, &[&payment], "declined").await?;
    // A decline counts once, however often it is read.
    check.status(&customer, &payment).await;
    wait_for_read(check, &[&payment]).await?;
    same_payment_still(check, &customer, &next, "A decline that the shop had counted was read again").await?;

    check.service.cancel(&next.id).await;
    see_end(check, &customer, &next, "canceled").await?;
    let third = next_payment(check, &customer, &[&payment, &next], "canceled").await?;
    if check.has_fresh_orders() {
        check.release(&customer, &third).await;
    }
    Ok(())
}

/// The page asks, twice, and is told that the payment has this final status.
async fn see_end(check: &Check, customer: &Customer, payment: &Payment, status: &str) -> Result<Exchange, RuleError> {
    let mut exchange = check.status(customer, payment).await;
    if [0, 502, 503].contains(&exchange.status()) {
        // One call may fail.
        exchange = check.status(customer, payment).await;
    }
    if exchange.json()["status"] != status {
        return Err(exchange.fail(format!("The payment is {status}, and the page was not told so.")));
    }
    Ok(check.status(customer, payment).await)
}

/// The order's payment after these, which nobody can pay any more.
async fn next_payment(check: &Check, customer: &Customer, ended: &[&Payment], how: &str) -> Result<Payment, RuleError> {
    let order = &ended[0].order;
    match check.buy(customer, order).await {
        Ok(next) if ended.iter().all(|ended| ended.id != next.id) => Ok(next),
        Ok(same) => Err(same.exchange.fail(format!("The order got the {how} payment again, which nobody can pay."))),
        Err(exchange) => Err(exchange.fail(format!("The order's payment was {how}, and it did not get another one."))),
    }
}

pub(super) async fn second_reference_only_after_end(check: &Check) -> Outcome {
    let (customer, payment) = check.fresh_payment().await?;
    let mut steps: Vec<(&str, &str)> = vec![
        (STAYS_PROCESSING, "The payment is processing"),
        (ASKS_FOR_CODE, "The payment waits for the customer's one-time code"),
    ];
    if check.has_fresh_orders() {
        steps.insert(1, (INSUFFICIENT_FUNDS, "An attempt was declined, and the customer may try again"));
    }
    let mut attempts = 0;
    for (phone, what) in steps {
        check.service.pay(&payment.id, phone).await;
        attempts += 1;
        check.service.advance(1).await;
        check.status(&customer, &payment).await;
        wait_for_read(check, &[&payment]).await?;
        same_payment_still(check, &customer, &payment, what).await?;
        if phone == STAYS_PROCESSING {
            check.service.abandon(&payment.id, attempts).await;
            check.status(&customer, &payment).await;
            let what = "The customer stopped waiting for the phone, and the payment can still be paid";
            same_payment_still(check, &customer, &payment, what).await?;
        }
    }
    if let Some(processing) = processing_payment(check).await? {
        check.status(&customer, &processing).await;
        same_payment_still(check, &customer, &processing, "The payment is processing for long").await?;
    }
    // The order has an end that every shop must know, so that it can be paid by a later rule.
    check.release(&customer, &payment).await;
    paid_order_keeps_payment(check).await
}

/// A payment that an early rule has left processing, so that it is old when it is looked at; `None` without fresh
/// orders.
pub(super) async fn processing_payment(check: &Check) -> Result<Option<Payment>, RuleError> {
    if let Some(known) = check.processing.borrow().as_ref() {
        return Ok(Some(known.clone()));
    }
    if !check.has_fresh_orders() {
        return Ok(None);
    }
    let (_, payment) = check.fresh_payment().await?;
    check.service.pay(&payment.id, STAYS_PROCESSING).await;
    check.processing.replace(Some(payment.clone()));
    Ok(Some(payment))
}

/// The customer sends an order again that is paid. Without fresh orders it is one that an earlier rule has paid.
async fn paid_order_keeps_payment(check: &Check) -> Outcome {
    let Some(paid) = super::returns::paid_payment(check).await? else { return Ok(()) };
    let customer = check.customer(0).await?;
    if check.status(&customer, &paid).await.json()["status"] != "succeeded" {
        // Another rule is about this.
        return Ok(());
    }
    match check.buy(&customer, &paid.order).await {
        Ok(other) if other.id != paid.id => {
            let why = format!(
                "The order was paid under {}, and got another payment under {}: the customer may pay it again.",
                paid.reference, other.reference
            );
            Err(other.exchange.fail(why))
        }
        _ => Ok(()),
    }
}

/// The service executes the creation, and its reply is lost. The order is the same payment then.
pub(super) async fn lost_reply_same_payment(check: &Check) -> Outcome {
    let (customer, order) = unsent_order(check).await?;
    let mark = check.service.mark();
    let mut exchange = None;
    for kind in [Kind::Refuse(503), Kind::Refuse(500), Kind::Malformed, Kind::Lost] {
        let _interfering = check.service.interfere(Target::Creations, kind);
        let sent = check.route_request(&customer, "POST", "/intents").on_own_page().json(&order).send().await;
        exchange = Some(sent);
    }
    let sent = check.buy(&customer, &order).await;
    let calls = check.service.creations_since(mark);
    let bodies: HashSet<String> = calls.iter().map(|call| call.body.to_string()).collect();
    let created: HashSet<&str> = calls.iter().filter_map(|call| call.reply["data"]["id"].as_str()).collect();
    let finds = check.service.profile().is_some_and(Profile::finds);
    match sent {
        // A shop that finds no payment by the reference knows that the creation was not executed, and may send another.
        Ok(payment) if bodies.len() == 1 || (finds && created.len() <= 1) => {
            let refusing = check.service.interfere(Target::Creations, Kind::Refuse(409));
            drop(check.buy(&customer, &order).await);
            drop(refusing);
            let what = "The service refused the repeated creation with 409";
            same_payment_still(check, &customer, &payment, what).await?;
            if check.has_fresh_orders() {
                check.release(&customer, &payment).await;
            }
            Ok(())
        }
        Ok(payment) => {
            let why = format!(
                "The service refused the creation, or its reply was lost, and the shop then sent another body, so the order may have two payments: {}",
                bodies.into_iter().collect::<Vec<_>>().join(", ")
            );
            Err(payment.exchange.fail(why))
        }
        Err(again) => {
            let before = exchange.map(|exchange| exchange.response_text()).unwrap_or_default();
            Err(again.fail(format!(
                "The service's reply to the creation was lost ({before}), and then the order did not become a payment."
            )))
        }
    }
}

/// The same order is sent several times at the same moment.
pub(super) async fn same_order_at_once(check: &Check) -> Outcome {
    let (customer, order) = unsent_order(check).await?;
    let mark = check.service.mark();
    let holding = check.service.interfere(Target::Creations, Kind::Hold);
    let releasing = async {
        // A shop that sends one order at a time never has two of them held.
        let two_held = async || (check.service.held() >= 2).then_some(());
        check.wait_for(Duration::from_secs(1), two_held).await;
        drop(holding);
    };
    let (sent, ()) = join(join_all((0..4).map(|_| check.buy(&customer, &order))), releasing).await;
    let calls = check.service.creations_since(mark);
    let created: HashSet<&str> = calls.iter().filter_map(|call| call.reply["data"]["id"].as_str()).collect();
    let refused = sent.iter().find_map(|sent| sent.as_ref().err().cloned());
    let payments: Vec<Payment> = sent.into_iter().filter_map(Result::ok).collect();
    let outcome = match payments.first() {
        None => {
            let why = "The order was sent four times at once, and none of them became a payment.";
            refused.map_or(Ok(()), |refused| Err(refused.fail(why)))
        }
        Some(first) if created.len() > 1 => {
            let why = format!(
                "The order was sent four times at once, and became {} payments: the customer may pay each.",
                created.len()
            );
            Err(first.exchange.fail(why))
        }
        _ => Ok(()),
    };
    if let (Some(first), true) = (payments.first(), check.has_fresh_orders()) {
        check.release(&customer, first).await;
    }
    outcome
}

/// An order whose next payment the shop has not created yet.
async fn unsent_order(check: &Check) -> Result<(Rc<Customer>, Value), RuleError> {
    if let Some(order) = check.fresh_order() {
        return Ok((check.customer(0).await?, order));
    }
    let (customer, payment) = check.open_payment().await?;
    check.release(&customer, &payment).await;
    Ok((customer, payment.order))
}

pub(super) async fn open_payments_have_a_limit(check: &Check) -> Outcome {
    if !check.has_fresh_orders() {
        return not_checked("Missing option --order-pattern: it takes 21 orders.");
    }
    let customer = check.customer(0).await?;
    let before: HashSet<String> = check.service.open_payments().await.into_iter().map(|(id, _)| id).collect();
    let (mut opened, mut refused) = match may_open(check, &customer).await? {
        Ok(payment) => (vec![payment], None),
        Err(exchange) => (Vec::new(), Some(exchange)),
    };
    while opened.len() <= MOST_OPEN && refused.is_none() {
        let order = check.fresh_order().unwrap_or_default();
        match check.buy(&customer, &order).await {
            Ok(payment) => opened.push(payment),
            Err(exchange) => refused = Some(exchange),
        }
    }
    let outcome = limit_holds(check, &customer, &opened, refused, before.len()).await;
    let customer = check.customer(0).await?;
    for (id, payment_ref) in check.service.open_payments().await {
        if !before.contains(&id) {
            check.release_named(&customer, &id, &payment_ref).await;
        }
    }
    outcome
}

async fn limit_holds(
    check: &Check,
    customer: &Customer,
    opened: &[Payment],
    refused: Option<Exchange>,
    before: usize,
) -> Outcome {
    let Some(first) = opened.first() else {
        if let Some(refused) = refused.as_ref().filter(|refused| is_too_many(refused))
            && check.service.unfinished().await < MOST_OPEN
        {
            let why = "The customer has fewer than 20 open payments, and no further one may be opened: payments that have ended, or those of \
                       other customers, are counted too.";
            return Err(refused.fail(why));
        }
        return not_checked(refused.map(|exchange| check.no_payment(&exchange)).unwrap_or_default());
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
    match check.buy(customer, &first.order).await {
        Ok(again) if again.id == first.id => {}
        Ok(again) => return Err(again.exchange.fail("An order that has a payment got another one.")),
        Err(exchange) => {
            return Err(exchange
                .fail("An order that has an open payment was refused because of the limit: it must be repeated."));
        }
    }
    // A payment that has ended makes room for another one.
    check.release(customer, first).await;
    if let Err(refused) = may_open(check, customer).await? {
        return Err(refused.fail("One of 20 open payments was canceled, and no further one may be opened."));
    }
    if let Ok(other) = check.customer(1).await {
        let exchange = match check.buy(&other, &check.fresh_order().unwrap_or_default()).await {
            Ok(payment) => payment.exchange,
            Err(exchange) => exchange,
        };
        if is_too_many(&exchange) {
            return Err(exchange.fail("Another customer, who has no open payment, was refused because of this one's."));
        }
    }
    // Another login of the same customer is the same customer.
    if !check.options.logins.is_empty() {
        let again = Rc::new(check.sign_in(0).await?);
        // The shop may have ended the login before.
        check.customers.borrow_mut()[0] = Rc::clone(&again);
        // A payment that has ended meanwhile makes room, which is filled before.
        for _ in 0..MOST_OPEN {
            if check.buy(customer, &check.fresh_order().unwrap_or_default()).await.is_err() {
                break;
            }
        }
        let order = check.fresh_order().unwrap_or_default();
        if let Ok(payment) = check.buy(&again, &order).await {
            let why = "The customer signed in again, and could open one more payment: the limit is the customer's and not the login's.";
            return Err(payment.exchange.fail(why));
        }
    }
    Ok(())
}

/// Opens one more payment, as soon as the shop has read that earlier ones have ended.
async fn may_open(check: &Check, customer: &Customer) -> Result<Result<Payment, Exchange>, RuleError> {
    let order = check.fresh_order().unwrap_or_default();
    let mut last = check.buy(customer, &order).await;
    let is_decided = async || {
        if last.as_ref().is_err_and(is_too_many) {
            last = check.buy(customer, &order).await;
        }
        (!last.as_ref().is_err_and(is_too_many)).then_some(())
    };
    check.wait_while_settling(check.options.limit, is_decided).await?;
    Ok(last)
}

fn is_too_many(exchange: &Exchange) -> bool {
    exchange.status() == 409 && exchange.json()["error"]["code"] == "too_many_open_payments"
}

pub(super) async fn open_payment_keeps_price(check: &Check) -> Outcome {
    let Some(command) = &check.options.reprice_command else {
        return not_checked("Missing option --reprice: a command that changes a price.");
    };
    let (customer, open) = check.fresh_payment().await?;
    let declined = if check.has_fresh_orders() { check.fresh_payment().await?.1 } else { open.clone() };
    let price = open.amount().to_owned();
    check.run(command).await.or_else(|why| not_checked(format!("--reprice: {why}")))?;
    // The command may have restarted it.
    check.comes_back("--reprice").await?;
    let what = "The price of the order changed while its payment was open";
    // A shop may cancel it instead, so that no cheap payment pays a dear order.
    if let Ok(next) = check.buy(&customer, &open.order).await
        && next.id != open.id
        && check.service.intent(&open.id).await["status"] == "canceled"
    {
        return match next.amount() == price {
            true => not_checked("The command of --reprice changed no price: the next payment costs the same."),
            false => Ok(()),
        };
    }
    same_payment_still(check, &customer, &open, what).await?;
    let exchange = check.status(&customer, &open).await;
    if !exchange.is_success() {
        return Err(exchange.fail(format!("{what}, and the page no longer gets its status.")));
    }
    // Where nothing can be canceled, a shop may leave it to a person whether the old price pays.
    let must_pay = check.service.profile().is_none_or(Profile::cancels);
    if must_pay && check.has_fresh_orders() && check.options.orders_command.is_some() {
        let mark = check.service.mark();
        check.service.pay(&open.id, PAYS_AT_ONCE).await;
        let what =
            format!("{what}, and the customer paid the {price} that the payment has. An open payment keeps its price.");
        check.books_must_come_to(&[Expected::new(what, &open, Books::PAID)], mark, Duration::ZERO).await?;
    }
    // Orders that cost differently do not say what this one costs today.
    let are_alike = declined.amount() == price;
    price_ends(check, &customer, &declined, are_alike).await
}

/// The next reference of an order takes today's price, or the order has ended.
async fn price_ends(check: &Check, customer: &Customer, declined: &Payment, are_alike: bool) -> Outcome {
    let price = declined.amount();
    check.service.pay(&declined.id, DECLINED_FOR_GOOD).await;
    check.status(customer, declined).await;
    let sent = check.buy(customer, &declined.order).await;
    let today = match check.fresh_order().filter(|_| are_alike) {
        Some(order) => check.buy(customer, &order).await.ok().map(|payment| payment.amount().to_owned()),
        None => None,
    };
    match sent {
        Ok(next) if next.id == declined.id => not_checked("See decline_gets_next_reference."),
        Ok(_) if today.as_deref() == Some(price) => {
            not_checked("The command of --reprice changed no price: a new order costs the same.")
        }
        Ok(next) if today.as_deref().map_or(next.amount() != price, |today| next.amount() == today) => Ok(()),
        Ok(next) => {
            let today = today.unwrap_or_else(|| "another one".into());
            let why = format!(
                "The payment was declined for good, and the price had changed meanwhile. The next reference costs {}, and today's price is {today}.",
                next.amount()
            );
            Err(next.exchange.fail(why))
        }
        Err(exchange) if exchange.json()["error"]["code"] == "order_ended" => Ok(()),
        Err(exchange) => {
            let why = "The payment was declined for good after the price had changed, and the order got neither another payment nor 409 order_ended.";
            Err(exchange.fail(why))
        }
    }
}
