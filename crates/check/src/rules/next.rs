//! An order's next payment: when it may exist, and at which price.

use crate::outcome::{Outcome, RuleError, not_checked};
use crate::service::{Call, DECLINED_FOR_GOOD, Kind, STAYS_PROCESSING, Target};
use crate::shop::{CheckedShop, Customer, Exchange, Expected, Kept, Payment};
use futures_util::future::{join, join_all};
use guichet::shop::Profile;
use serde_json::Value;
use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

/// Test phones of the sandbox.
const INSUFFICIENT_FUNDS: &str = "237670000002";
const ASKS_FOR_CODE: &str = "237670000010";

pub(super) async fn decline_gets_next_reference(shop: &CheckedShop) -> Outcome {
    let (customer, payment) = shop.fresh_payment().await?;
    shop.service.pay(&payment.id, DECLINED_FOR_GOOD).await;
    let exchange = see_end(shop, &customer, &payment, "failed").await?;
    if shop.books(&payment).await?.is_some_and(|books| books.paid > 0) {
        return Err(exchange.fail("The payment was declined for good, and the shop marked the order paid."));
    }
    let next = next_payment(shop, &customer, &[&payment], "declined").await?;
    // A decline counts once, however often it is read.
    shop.status(&customer, &payment).await;
    shop.wait_for_read(&[&payment]).await?;
    shop.same_payment_still(&customer, &next, "A decline that the shop had counted was read again").await?;

    shop.service.cancel(&next.id).await;
    see_end(shop, &customer, &next, "canceled").await?;
    let third = next_payment(shop, &customer, &[&payment, &next], "canceled").await?;
    shop.release_if_fresh(&customer, &third).await;
    Ok(())
}

/// The page asks, twice, and is told that the payment has this final status.
async fn see_end(
    shop: &CheckedShop,
    customer: &Customer,
    payment: &Payment,
    status: &str,
) -> Result<Exchange, RuleError> {
    let exchange = shop.sure_status(customer, payment).await;
    if !exchange.tells(status) {
        return Err(exchange.fail(format!("The payment is {status}, and the page was not told so.")));
    }
    Ok(shop.status(customer, payment).await)
}

/// The order's payment after these, which nobody can pay any more.
async fn next_payment(
    shop: &CheckedShop,
    customer: &Customer,
    ended: &[&Payment],
    how: &str,
) -> Result<Payment, RuleError> {
    let order = &ended[0].order;
    match shop.buy(customer, order).await {
        Ok(next) if ended.iter().all(|ended| ended.id != next.id) => Ok(next),
        Ok(same) => Err(same.exchange.fail(format!("The order got the {how} payment again, which nobody can pay."))),
        Err(exchange) => Err(exchange.fail(format!("The order's payment was {how}, and it did not get another one."))),
    }
}

pub(super) async fn second_reference_only_after_end(
    shop: &CheckedShop,
    processing: Option<&Payment>,
    expected: &[Expected],
) -> Outcome {
    let (customer, payment) = shop.fresh_payment().await?;
    let mut steps: Vec<(&str, &str)> = vec![
        (STAYS_PROCESSING, "The payment is processing"),
        (ASKS_FOR_CODE, "The payment waits for the customer's one-time code"),
    ];
    if shop.has_fresh_orders() {
        steps.insert(1, (INSUFFICIENT_FUNDS, "An attempt was declined, and the customer may try again"));
    }
    let mut attempts = 0;
    for (phone, what) in steps {
        shop.service.pay(&payment.id, phone).await;
        attempts += 1;
        shop.service.advance(1).await;
        shop.status(&customer, &payment).await;
        shop.wait_for_read(&[&payment]).await?;
        shop.same_payment_still(&customer, &payment, what).await?;
        if phone == STAYS_PROCESSING {
            shop.service.abandon(&payment.id, attempts).await;
            shop.status(&customer, &payment).await;
            let what = "The customer stopped waiting for the phone, and the payment can still be paid";
            shop.same_payment_still(&customer, &payment, what).await?;
        }
    }
    if let Some(processing) = processing {
        shop.status(&customer, processing).await;
        shop.same_payment_still(&customer, processing, "The payment is processing for long").await?;
    }
    // The order has an end that every shop must know, so that it can be paid by a later rule.
    shop.release(&customer, &payment).await;
    paid_order_keeps_payment(shop, expected).await
}

/// A payment that is left processing; `None` without fresh orders.
pub(super) async fn processing_payment(shop: &CheckedShop) -> Result<Option<Payment>, RuleError> {
    if !shop.has_fresh_orders() {
        return Ok(None);
    }
    let (_, payment) = shop.fresh_payment().await?;
    shop.service.pay(&payment.id, STAYS_PROCESSING).await;
    Ok(Some(payment))
}

/// The customer sends an order again that is paid. Without fresh orders it is one that an earlier rule has paid.
async fn paid_order_keeps_payment(shop: &CheckedShop, expected: &[Expected]) -> Outcome {
    let Some(paid) = shop.paid_payment(expected).await? else { return Ok(()) };
    let customer = shop.customer(0).await?;
    if !shop.status(&customer, &paid).await.tells("succeeded") {
        // Another rule is about this.
        return Ok(());
    }
    let other = |other: &Payment| {
        let [first, second] = [&paid.reference, &other.reference];
        format!(
            "The order was paid under {first}, and got another payment under {second}: the customer may pay it again."
        )
    };
    shop.must_get_no_other(&customer, &paid, other).await
}

/// The service executes the creation, and its reply is lost. The order is the same payment then.
pub(super) async fn lost_reply_same_payment(shop: &CheckedShop) -> Outcome {
    let (customer, order) = unsent_order(shop).await?;
    let mark = shop.service.mark();
    let mut exchange = None;
    for kind in [Kind::Refuse(503), Kind::Refuse(500), Kind::Malformed, Kind::Lost] {
        let _interfering = shop.service.interfere(Target::Creations, kind);
        exchange = Some(shop.send_order(&customer, &order).await);
    }
    let sent = shop.buy(&customer, &order).await;
    let calls = shop.service.creations_since(mark);
    let bodies: HashSet<String> = calls.iter().map(|call| call.body.to_string()).collect();
    let created: HashSet<&str> = calls.iter().filter_map(Call::created).collect();
    let finds = shop.service.profile().is_some_and(Profile::finds);
    match sent {
        // A shop that finds no payment by the reference knows that the creation was not executed, and may send another.
        Ok(payment) if bodies.len() == 1 || (finds && created.len() <= 1) => {
            let refusing = shop.service.interfere(Target::Creations, Kind::Refuse(409));
            shop.send_order(&customer, &order).await;
            drop(refusing);
            let what = "The service refused the repeated creation with 409";
            shop.same_payment_still(&customer, &payment, what).await?;
            shop.release_if_fresh(&customer, &payment).await;
            Ok(())
        }
        Ok(payment) => {
            let bodies = bodies.into_iter().collect::<Vec<_>>().join(", ");
            Err(payment.exchange.fail(format!(
                "The service refused the creation, or its reply was lost, and the shop then sent another body, so the \
                 order may have two payments: {bodies}"
            )))
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
pub(super) async fn same_order_at_once(shop: &CheckedShop) -> Outcome {
    let (customer, order) = unsent_order(shop).await?;
    let mark = shop.service.mark();
    let holding = shop.service.interfere(Target::Creations, Kind::Hold);
    let releasing = async {
        // A shop that sends one order at a time never has two of them held.
        let two_held = async || (shop.service.held() >= 2).then_some(());
        shop.wait_for(Duration::from_secs(1), two_held).await;
        drop(holding);
    };
    let (sent, ()) = join(join_all((0..4).map(|_| shop.buy(&customer, &order))), releasing).await;
    let calls = shop.service.creations_since(mark);
    let created: HashSet<&str> = calls.iter().filter_map(Call::created).collect();
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
    if let Some(first) = payments.first() {
        shop.release_if_fresh(&customer, first).await;
    }
    outcome
}

/// An order whose next payment the shop has not created yet.
async fn unsent_order(shop: &CheckedShop) -> Result<(Rc<Customer>, Value), RuleError> {
    if let Some(order) = shop.fresh_order() {
        return Ok((shop.customer(0).await?, order));
    }
    let (customer, payment) = shop.open_payment().await?;
    shop.release(&customer, &payment).await;
    Ok((customer, payment.order))
}

pub(super) async fn open_payment_keeps_price(shop: &CheckedShop) -> Result<Kept, RuleError> {
    let command = shop.options.reprice_command.as_deref().unwrap_or_default();
    let (customer, open) = shop.fresh_payment().await?;
    let declined = if shop.has_fresh_orders() { shop.fresh_payment().await?.1 } else { open.clone() };
    let price = open.amount().to_owned();
    shop.run(command).await.or_else(|why| not_checked(format!("--reprice: {why}")))?;
    // The command may have restarted it.
    shop.comes_back("--reprice").await?;
    let what = "The price of the order changed while its payment was open";
    // A shop may cancel it instead, so that no cheap payment pays a dear order.
    if let Ok(next) = shop.buy(&customer, &open.order).await
        && next.id != open.id
        && shop.service.status(&open.id).await == "canceled"
    {
        return match next.amount() == price {
            true => not_checked("The command of --reprice changed no price: the next payment costs the same."),
            false => Ok(().into()),
        };
    }
    shop.same_payment_still(&customer, &open, what).await?;
    let exchange = shop.status(&customer, &open).await;
    if !exchange.is_success() {
        return Err(exchange.fail(format!("{what}, and the page no longer gets its status.")));
    }
    // Where nothing can be canceled, a shop may leave it to a person whether the old price pays.
    let must_pay = shop.service.profile().is_none_or(Profile::cancels);
    let mut expected = Vec::new();
    if must_pay && shop.has_fresh_orders() && shop.options.orders_command.is_some() {
        let what =
            format!("{what}, and the customer paid the {price} that the payment has. An open payment keeps its price.");
        expected = shop.must_be_settled(&open, what).await?;
    }
    // Orders that cost differently do not say what this one costs today.
    let are_alike = declined.amount() == price;
    let outcome = price_ends(shop, &customer, &declined, are_alike).await;
    Ok(Kept { expected, outcome })
}

/// The next reference of an order takes today's price, or the order has ended.
async fn price_ends(shop: &CheckedShop, customer: &Customer, declined: &Payment, are_alike: bool) -> Outcome {
    let price = declined.amount();
    shop.service.pay(&declined.id, DECLINED_FOR_GOOD).await;
    shop.status(customer, declined).await;
    let sent = shop.buy(customer, &declined.order).await;
    let today = match shop.fresh_order().filter(|_| are_alike) {
        Some(order) => shop.buy(customer, &order).await.ok().map(|payment| payment.amount().to_owned()),
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
                "The payment was declined for good, and the price had changed meanwhile. The next reference costs {}, \
                 and today's price is {today}.",
                next.amount()
            );
            Err(next.exchange.fail(why))
        }
        Err(exchange) if exchange.json()["error"]["code"] == "order_ended" => Ok(()),
        Err(exchange) => {
            let why = "The payment was declined for good after the price had changed, and the order got neither \
                       another payment nor 409 order_ended.";
            Err(exchange.fail(why))
        }
    }
}
