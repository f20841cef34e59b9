//! When an order is paid: the shop finds out by itself, and marks it once.

use super::PAYS_AT_ONCE;
use super::replies::wait_for_read;
use crate::books::{Books, Expected};
use crate::payment::Payment;
use crate::service::{Kind, Target};
use crate::shop::Customer;
use crate::{Check, Outcome, RuleError, not_checked};
use futures_util::future::{join, join_all};
use std::time::Duration;

/// The test phone that pays after 30 seconds.
const PAYS_LATER: &str = "237670000001";
/// The requests that are sent at the same time.
const AT_ONCE: usize = 8;

pub(super) async fn paid_without_return(check: &Check) -> Outcome {
    // The customer has an older and a younger payment, which stay open: neither stands before this one.
    let mut open = Vec::new();
    if check.has_fresh_orders() {
        open.push(check.fresh_payment().await?.1);
    }
    let (customer, payment) = check.fresh_payment().await?;
    if check.has_fresh_orders() {
        open.push(check.fresh_payment().await?.1);
    }
    // What the shop reads from here on counts: its timer may read between the payment and the next statement.
    let mark = check.service.mark();
    let mut expected = vec![Expected::new("The customer paid and never came back.", &payment, Books::PAID)];
    if check.options.orders_command.is_none() {
        check.service.pay(&payment.id, PAYS_AT_ONCE).await;
        return read_as_succeeded(check, &payment, mark).await;
    }
    if check.has_fresh_orders() {
        let (_, returned) = check.fresh_payment().await?;
        check.status(&customer, &returned).await;
        check.service.pay(&returned.id, PAYS_AT_ONCE).await;
        let what = "The customer came back without paying, went to the hosted page again, paid and never came back.";
        expected.push(Expected::new(what, &returned, Books::PAID));

        let (_, processing) = check.fresh_payment().await?;
        check.service.pay(&processing.id, PAYS_LATER).await;
        wait_for_read(check, &[&processing]).await?;
        let what =
            "The payment was processing when the shop read it, and then the operator approved it. No page asked.";
        expected.push(Expected::new(what, &processing, Books::PAID));
    }
    check.service.pay(&payment.id, PAYS_AT_ONCE).await;
    check.service.advance(31).await;
    check.books_must_come_to(&expected, mark, Duration::ZERO).await?;
    for payment in &open {
        check.release(&customer, payment).await;
    }
    Ok(())
}

/// Without `--orders` the check sees that the shop reads the payment, and not what it makes of it.
async fn read_as_succeeded(check: &Check, payment: &Payment, mark: usize) -> Outcome {
    let is_read = async || (check.reads(payment, mark, Some("succeeded")) > 0).then_some(());
    if check.wait_while_settling(check.options.limit, is_read).await?.is_some() {
        return Ok(());
    }
    Err(RuleError::Failed {
        why: format!(
            "The customer paid {} and never came back. In {} s the shop did not read the payment.",
            payment.reference,
            check.options.limit.as_secs()
        ),
        sent: "nothing: no browser asks".into(),
        came: "No read of the payment.".into(),
    })
}

pub(super) async fn paid_once(check: &Check) -> Outcome {
    check.require_orders("how often it was marked")?;
    let (customer, payment) = check.fresh_payment().await?;
    let mark = check.service.mark();
    check.service.pay(&payment.id, PAYS_AT_ONCE).await;
    let holding = check.service.interfere(Target::ReadsOf(payment.id.clone()), Kind::Hold);
    let asking = join_all((0..AT_ONCE).map(|_| check.status(&customer, &payment)));
    let settling = async {
        // Two runs of the command at once, as two servers or a slow run make them.
        let Some(command) = &check.options.settle_command else { return Ok(()) };
        let (first, second) = join(check.run(command), check.run(command)).await;
        // One of them may refuse to run beside the other.
        first.or(second).or_else(|why| not_checked(format!("--settle: {why}")))
    };
    let releasing = async {
        let all_held = async || (check.service.held() >= AT_ONCE).then_some(());
        // A shop that answers one request at a time never has all of them held.
        check.wait_for(check.options.limit / 10, all_held).await;
        drop(holding);
    };
    let (_, (settled, ())) = join(asking, join(settling, releasing)).await;
    settled?;
    let what = format!("The customer paid, and {AT_ONCE} requests for the status came at the same time.");
    let expected = Expected::new(what, &payment, Books::PAID);
    check.books_must_come_to(std::slice::from_ref(&expected), mark, Duration::ZERO).await?;
    // The page is reloaded, and the order is sent once more.
    check.status(&customer, &payment).await;
    drop(check.buy(&customer, &payment.order).await);
    check.run_settle().await?;
    check.pause(Duration::from_millis(500)).await;
    stays(check, &expected).await
}

async fn stays(check: &Check, expected: &Expected) -> Outcome {
    let found = check.books_of(&expected.payments).await?;
    if found == expected.books { Ok(()) } else { Err(expected.fail(found)) }
}

pub(super) async fn paid_across_restart(check: &Check) -> Outcome {
    if check.options.restart_command.is_none() {
        return not_checked("Missing option --restart: a command that restarts the shop.");
    }
    check.require_orders("what became of the order")?;
    let (customer, asked) = check.fresh_payment().await?;
    let mark = check.service.mark();
    let what = "The customer paid, and the shop was restarted while it was reading the payment.";
    let mut expected = vec![Expected::new(what, &asked, Books::PAID)];
    if check.has_fresh_orders() {
        let (_, alone) = check.fresh_payment().await?;
        let what = "The customer paid while the shop was restarted, and never came back.";
        expected.push(Expected::new(what, &alone, Books::PAID));
    }
    let hold = |one: &Expected| check.service.interfere(Target::ReadsOf(one.payments[0].id.clone()), Kind::Hold);
    let holding = hold(&expected[0]);
    // The shop knows of the others only after the restart.
    let held_longer: Vec<_> = expected[1..].iter().map(hold).collect();
    for one in &expected {
        check.service.pay(&one.payments[0].id, PAYS_AT_ONCE).await;
    }
    // They may end without an answer.
    let asking = join_all((0..2).map(|_| check.status(&customer, &asked)));
    let restarting = async {
        let is_reading = async || (check.service.held() > 0).then_some(());
        check.wait_for(check.options.limit / 10, is_reading).await;
        drop(holding);
        let restarted = check.restart().await;
        drop(held_longer);
        restarted
    };
    let (_, restarted) = join(asking, restarting).await;
    restarted?;
    check.books_must_come_to(&expected[1..], mark, Duration::ZERO).await?;
    // A start may mark it once more.
    check.run_settle().await?;
    check.pause(check.options.limit / 10).await;
    let mut is_line_lost = false;
    for one in &expected {
        let found = check.books_of(&one.payments).await?;
        is_line_lost |= found.paid == 0;
        // Books that are a log may lack the line of a process that was killed after it had marked the order.
        if found.paid > 1 || (found.paid == 0 && one.payments[0].id != asked.id) {
            return Err(one.fail(found));
        }
    }
    if is_line_lost && expected.len() == 1 {
        return not_checked(
            "Missing option --order-pattern: the books have no line of the payment that was read when the shop ended. Either a log lacks the \
             line, or the payment was lost, and another order would say which.",
        );
    }
    Ok(())
}

/// The reads of one payment fail. Another one is settled all the same.
pub(super) async fn failing_read_delays_none(check: &Check) -> Outcome {
    check.require_orders("which orders are paid")?;
    if !check.has_fresh_orders() {
        return not_checked("Missing option --order-pattern: each of these payments needs an order of its own.");
    }
    let (customer, older) = check.fresh_payment().await?;
    // The command must work as long as nothing fails.
    check.run_settle().await?;
    // A payment that the service did not get has no identifier to read.
    let refusing_creations = check.service.interfere(Target::Creations, Kind::Refuse(503));
    drop(check.buy(&customer, &check.fresh_order().unwrap_or_default()).await);
    drop(refusing_creations);
    let (_, paid) = check.fresh_payment().await?;
    let (_, younger) = check.fresh_payment().await?;
    let refuse = |payment: &Payment, kind| check.service.interfere(Target::ReadsOf(payment.id.clone()), kind);
    let refusing = [refuse(&older, Kind::Refuse(500)), refuse(&younger, Kind::Malformed)];
    wait_for_read(check, &[&older, &younger]).await?;
    let mark = check.service.mark();
    check.service.pay(&paid.id, PAYS_AT_ONCE).await;
    let what = "The service refused the reads of two payments and the creation of another one, and the customer paid a fourth one and \
                never came back.";
    let outcome = check.books_must_come_to(&[Expected::new(what, &paid, Books::PAID)], mark, Duration::ZERO).await;
    drop(refusing);
    for payment in [&older, &younger] {
        check.release(&customer, payment).await;
    }
    outcome
}

/// A service that cannot be reached says nothing about the payment.
pub(super) async fn failed_read_is_no_decline(check: &Check) -> Outcome {
    let (customer, payment) = check.fresh_payment().await?;
    for kind in [Kind::Refuse(503), Kind::Refuse(404), Kind::Refuse(500), Kind::Refuse(401), Kind::Malformed] {
        let _interfering = check.service.interfere(Target::ReadsOf(payment.id.clone()), kind);
        let exchange = check.status(&customer, &payment).await;
        let told = &exchange.json()["status"];
        if exchange.is_success() && ["succeeded", "failed", "canceled"].iter().any(|status| told == *status) {
            let why = "The service refused the shop's read, and the page was told that the payment has ended.";
            return Err(exchange.fail(why));
        }
    }
    for kind in [Kind::Refuse(404), Kind::Refuse(500), Kind::Malformed] {
        let _interfering = check.service.interfere(Target::ReadsOf(payment.id.clone()), kind);
        if !wait_for_read(check, &[&payment]).await? {
            break;
        }
    }
    same_payment_still(check, &customer, &payment, "The service refused the shop's reads").await?;
    if !check.has_fresh_orders() || check.options.orders_command.is_none() {
        return Ok(());
    }
    let mark = check.service.mark();
    check.service.pay(&payment.id, PAYS_AT_ONCE).await;
    let what = "The service refused the shop's reads for a while, and then the customer paid and never came back.";
    check.books_must_come_to(&[Expected::new(what, &payment, Books::PAID)], mark, Duration::ZERO).await
}

/// The order still has this payment, after `what`.
pub(super) async fn same_payment_still(check: &Check, customer: &Customer, payment: &Payment, what: &str) -> Outcome {
    let mark = check.service.mark();
    let mut sent = check.buy(customer, &payment.order).await;
    // A shop may wait for a moment before it calls a service again that has failed.
    let is_decided = async || {
        if sent.as_ref().is_err_and(|exchange| [0, 502, 503].contains(&exchange.status())) {
            sent = check.buy(customer, &payment.order).await;
        }
        sent.as_ref().map_or_else(|exchange| exchange.status() < 500, |_| true).then_some(())
    };
    check.wait_for(check.options.limit / 10, is_decided).await;
    let calls = check.service.creations_since(mark);
    let exchange = match sent {
        Ok(same) if same.id == payment.id => return Ok(()),
        Ok(other) => other.exchange,
        // An error creates no second payment.
        Err(exchange) if calls.iter().all(|call| call.creates(&payment.reference)) => {
            return match exchange.status() {
                400..=499 if !exchange.is_sign_in_required() => Ok(()),
                _ => Err(exchange
                    .fail(format!("{what}, and the order no longer gets its payment, which can still be paid."))),
            };
        }
        Err(exchange) => exchange,
    };
    let why =
        format!("{what}, and the order got another payment than {}: the customer may pay both.", payment.reference);
    Err(exchange.fail(why))
}

/// It is checked last but for the secrets: everything that the books had to say they still say.
pub(super) async fn books_stay_true(check: &Check) -> Outcome {
    check.require_orders("what became of the payments")?;
    if check.expected.borrow().is_empty() {
        paid_without_return(check).await?;
        check.run_settle().await?;
        check.pause(check.options.limit).await;
    }
    let expected = check.expected.borrow().clone();
    for one in expected {
        stays(check, &one).await?;
    }
    Ok(())
}
