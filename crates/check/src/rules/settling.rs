//! When an order is paid: the shop finds out by itself, and marks it once.

use crate::outcome::{Outcome, RuleError, not_checked};
use crate::service::{Kind, PAYS_AT_ONCE, Target};
use crate::shop::{Books, CheckedShop, Expected, Payment, Settled};
use futures_util::future::{join, join_all};
use std::time::Duration;

/// The test phone that pays after 30 seconds.
const PAYS_LATER: &str = "237670000001";
/// The requests that are sent at the same time.
const AT_ONCE: usize = 8;

pub(super) async fn paid_without_return(shop: &CheckedShop) -> Settled {
    // The customer has an older and a younger payment, which stay open: neither stands before this one.
    let mut open = Vec::new();
    if shop.has_fresh_orders() {
        open.push(shop.fresh_payment().await?.1);
    }
    let (customer, payment) = shop.fresh_payment().await?;
    if shop.has_fresh_orders() {
        open.push(shop.fresh_payment().await?.1);
    }
    // What the shop reads from here on counts: its timer may read between the payment and the next statement.
    let mark = shop.service.mark();
    let mut expected = vec![Expected::new("The customer paid and never came back.", &payment, Books::PAID)];
    if shop.options.orders_command.is_none() {
        shop.service.pay(&payment.id, PAYS_AT_ONCE).await;
        return read_as_succeeded(shop, &payment, mark).await.map(|()| Vec::new());
    }
    if shop.has_fresh_orders() {
        let (_, returned) = shop.fresh_payment().await?;
        shop.status(&customer, &returned).await;
        shop.service.pay(&returned.id, PAYS_AT_ONCE).await;
        let what = "The customer came back without paying, went to the hosted page again, paid and never came back.";
        expected.push(Expected::new(what, &returned, Books::PAID));

        let (_, processing) = shop.fresh_payment().await?;
        shop.service.pay(&processing.id, PAYS_LATER).await;
        // Only a shop that has read it in this state can take the state for the end.
        shop.wait_for_read_within(&[&processing], shop.options.limit).await?;
        let what =
            "The payment was processing when the shop read it, and then the operator approved it. No page asked.";
        expected.push(Expected::new(what, &processing, Books::PAID));
    }
    shop.service.pay(&payment.id, PAYS_AT_ONCE).await;
    shop.service.advance(31).await;
    let expected = shop.books_must_come_to(expected, mark, Duration::ZERO).await?;
    for payment in &open {
        shop.release(&customer, payment).await;
    }
    Ok(expected)
}

/// Without `--orders` the check sees that the shop reads the payment, and not what it makes of it.
async fn read_as_succeeded(shop: &CheckedShop, payment: &Payment, mark: usize) -> Outcome {
    let is_read = async || (shop.reads(payment, mark, Some("succeeded")) > 0).then_some(());
    if shop.wait_while_settling(shop.options.limit, is_read).await?.is_some() {
        return Ok(());
    }
    let (reference, seconds) = (&payment.reference, shop.options.limit.as_secs());
    let why =
        format!("The customer paid {reference} and never came back. In {seconds} s the shop did not read the payment.");
    Err(RuleError::unasked(why, "No read of the payment."))
}

pub(super) async fn paid_once(shop: &CheckedShop) -> Settled {
    let (customer, payment) = shop.fresh_payment().await?;
    let mark = shop.service.mark();
    shop.service.pay(&payment.id, PAYS_AT_ONCE).await;
    let holding = shop.service.interfere(Target::ReadsOf(payment.id.clone()), Kind::Hold);
    let asking = join_all((0..AT_ONCE).map(|_| shop.status(&customer, &payment)));
    let settling = async {
        // Two runs of the command at once, as two servers or a slow run make them.
        let Some(command) = &shop.options.settle_command else { return Ok(()) };
        let (first, second) = join(shop.run(command), shop.run(command)).await;
        // One of them may refuse to run beside the other.
        first.or(second).or_else(|why| not_checked(format!("--settle: {why}")))
    };
    let releasing = async {
        let all_held = async || (shop.service.held() >= AT_ONCE).then_some(());
        // A shop that answers one request at a time never has all of them held.
        shop.wait_for(shop.options.limit / 10, all_held).await;
        drop(holding);
    };
    let (_, (settled, ())) = join(asking, join(settling, releasing)).await;
    settled?;
    let what = format!("The customer paid, and {AT_ONCE} requests for the status came at the same time.");
    let expected = vec![Expected::new(what, &payment, Books::PAID)];
    let expected = shop.books_must_come_to(expected, mark, Duration::ZERO).await?;
    // The page is reloaded, and the order is sent once more.
    shop.status(&customer, &payment).await;
    drop(shop.buy(&customer, &payment.order).await);
    shop.run_settle().await?;
    shop.pause(Duration::from_millis(500)).await;
    shop.books_must_be(&expected[0]).await?;
    Ok(expected)
}

pub(super) async fn paid_across_restart(shop: &CheckedShop) -> Settled {
    let (customer, asked) = shop.fresh_payment().await?;
    let mark = shop.service.mark();
    let what = "The customer paid, and the shop was restarted while it was reading the payment.";
    let mut expected = vec![Expected::new(what, &asked, Books::PAID)];
    if shop.has_fresh_orders() {
        let (_, alone) = shop.fresh_payment().await?;
        let what = "The customer paid while the shop was restarted, and never came back.";
        expected.push(Expected::new(what, &alone, Books::PAID));
    }
    let hold = |one: &Expected| shop.service.interfere(Target::ReadsOf(one.payments[0].id.clone()), Kind::Hold);
    let holding = hold(&expected[0]);
    // The shop knows of the others only after the restart.
    let held_longer: Vec<_> = expected[1..].iter().map(hold).collect();
    for one in &expected {
        shop.service.pay(&one.payments[0].id, PAYS_AT_ONCE).await;
    }
    // They may end without an answer.
    let asking = join_all((0..2).map(|_| shop.status(&customer, &asked)));
    let restarting = async {
        let is_reading = async || (shop.service.held() > 0).then_some(());
        shop.wait_for(shop.options.limit / 10, is_reading).await;
        drop(holding);
        let restarted = shop.restart().await;
        drop(held_longer);
        restarted
    };
    let (_, restarted) = join(asking, restarting).await;
    restarted?;
    let settled = shop.books_must_come_to(expected[1..].to_vec(), mark, Duration::ZERO).await?;
    // A start may mark it once more.
    shop.run_settle().await?;
    shop.pause(shop.options.limit / 10).await;
    let mut is_line_lost = false;
    for one in &expected {
        let found = shop.books_of(&one.payments).await?;
        is_line_lost |= found.paid == 0;
        // Books that are a log may lack the line of a process that was killed after it had marked the order.
        if found.paid > 1 || (found.paid == 0 && one.payments[0].id != asked.id) {
            return Err(one.fail(found));
        }
    }
    if is_line_lost && expected.len() == 1 {
        return not_checked(
            "Missing option --order-pattern: the books have no line of the payment that was read when the shop ended. \
             Either a log lacks the line, or the payment was lost, and another order would say which.",
        );
    }
    Ok(settled)
}

/// The reads of one payment fail. Another one is settled all the same.
pub(super) async fn failing_read_delays_none(shop: &CheckedShop) -> Settled {
    let (customer, older) = shop.fresh_payment().await?;
    // The command must work as long as nothing fails.
    shop.run_settle().await?;
    // A payment that the service did not get has no identifier to read.
    let refusing_creations = shop.service.interfere(Target::Creations, Kind::Refuse(503));
    shop.send_order(&customer, &shop.fresh_order().unwrap_or_default()).await;
    drop(refusing_creations);
    let (_, paid) = shop.fresh_payment().await?;
    let (_, younger) = shop.fresh_payment().await?;
    let refuse = |payment: &Payment, kind| shop.service.interfere(Target::ReadsOf(payment.id.clone()), kind);
    let refusing = [refuse(&older, Kind::Refuse(500)), refuse(&younger, Kind::Malformed)];
    shop.wait_for_read(&[&older, &younger]).await?;
    let what = "The service refused the reads of two payments and the creation of another one, and the customer paid a \
                fourth one and never came back.";
    let settled = shop.must_be_settled(&paid, what).await;
    drop(refusing);
    for payment in [&older, &younger] {
        shop.release(&customer, payment).await;
    }
    settled
}

/// A service that cannot be reached says nothing about the payment.
pub(super) async fn failed_read_is_no_decline(shop: &CheckedShop) -> Settled {
    let (customer, payment) = shop.fresh_payment().await?;
    let refuse = |kind| shop.service.interfere(Target::ReadsOf(payment.id.clone()), kind);
    for kind in [Kind::Refuse(503), Kind::Refuse(404), Kind::Refuse(500), Kind::Refuse(401), Kind::Malformed] {
        let _interfering = refuse(kind);
        let exchange = shop.status(&customer, &payment).await;
        if exchange.is_success() && exchange.tells_end() {
            let why = "The service refused the shop's read, and the page was told that the payment has ended.";
            return Err(exchange.fail(why));
        }
    }
    for kind in [Kind::Refuse(404), Kind::Refuse(500), Kind::Malformed] {
        let _interfering = refuse(kind);
        if !shop.wait_for_read(&[&payment]).await? {
            break;
        }
    }
    shop.same_payment_still(&customer, &payment, "The service refused the shop's reads").await?;
    if !shop.has_fresh_orders() || shop.options.orders_command.is_none() {
        return Ok(Vec::new());
    }
    let what = "The service refused the shop's reads for a while, and then the customer paid and never came back.";
    shop.must_be_settled(&payment, what).await
}

/// It is checked last but for the secrets: everything that the books had to say they still say.
pub(super) async fn books_stay_true(shop: &CheckedShop, expected: &[Expected]) -> Outcome {
    let mut expected = expected.to_vec();
    if expected.is_empty() {
        expected = paid_without_return(shop).await?;
        shop.run_settle().await?;
        shop.pause(shop.options.limit).await;
    }
    for one in &expected {
        shop.books_must_be(one).await?;
    }
    Ok(())
}
