//! When an order is paid.

use crate::payment::{Books, Payment, orders_missing};
use crate::service::{Kind, Target};
use crate::{Check, Outcome, RuleError, not_checked};
use futures_util::future::{join, join_all};
use serde_json::{Map, Value};
use std::time::Duration;

/// Test phones of the sandbox.
const PAYS_AT_ONCE: &str = "237670000000";
const DECLINED_FOR_GOOD: &str = "237670000006";
/// Declined at once, and approved late.
const APPROVED_LATE: &str = "237670000012";
/// More than the 600 seconds after which it is approved.
const UNTIL_APPROVED: u32 = 700;

/// The requests that are sent at the same time.
const AT_ONCE: usize = 8;

/// The service says that the payment has succeeded, with a wrong value: the order stays unpaid.
pub(super) async fn wrong_reply_pays_nothing(check: &Check, field: &str, value: Value) -> Outcome {
    let (customer, payment) = check.open_payment().await?;
    let mark = check.service.mark();
    let fields = Map::from_iter([(field.to_owned(), value.clone()), ("status".to_owned(), "succeeded".into())]);
    let change = Kind::Change { intent: payment.id.clone(), fields };
    let changing = check.service.interfere(Target::ReadsOf(payment.id.clone()), change);
    let exchange = check.status(&customer, &payment).await;
    let reads = || check.service.calls_since(mark).iter().filter(|call| call.reads(&payment.id)).count();
    let after_asking = reads();
    let by_timer = async || (reads() > after_asking).then_some(());
    // A timer that reads every few seconds reads once in this time.
    check.wait_while_settling(check.options.limit / 10, by_timer).await?;
    let is_read = reads() > 0;
    // The reply that was read last is on its way.
    check.environment.sleep(Duration::from_millis(100)).await;
    drop(changing);
    check.set_aside(&payment);

    let reply = format!("The service answered that the payment has succeeded, with the {field} {value}.");
    if exchange.is_success() && exchange.json()["status"] == "succeeded" {
        return Err(exchange.fail(format!("{reply} The shop told the page that it is paid.")));
    }
    match check.books(&payment).await? {
        Some(books) if books.paid > 0 => Err(exchange.fail(format!("{reply} The shop marked the order paid."))),
        _ if !is_read => not_checked("The shop did not read the payment."),
        Some(_) => Ok(()),
        None => Err(orders_missing()),
    }
}

pub(super) async fn decline_gets_next_reference(check: &Check) -> Outcome {
    let (customer, payment) = check.open_payment().await?;
    check.service.pay(&payment.id, DECLINED_FOR_GOOD).await;
    let exchange = check.status(&customer, &payment).await;
    if exchange.json()["status"] != "failed" {
        return Err(exchange.fail("The payment was declined for good, and the page was not told the status failed."));
    }
    if check.books(&payment).await?.is_some_and(|books| books.paid > 0) {
        return Err(exchange.fail("The payment was declined for good, and the shop marked the order paid."));
    }
    match check.buy(&customer, &payment.order).await {
        Ok(next) if next.id != payment.id => Ok(()),
        Ok(same) => Err(same.exchange.fail("The order got the declined payment again, which nobody can pay.")),
        Err(exchange) => Err(exchange.fail("The order did not get another payment.")),
    }
}

pub(super) async fn paid_without_return(check: &Check) -> Outcome {
    let (_, payment) = check.open_payment().await?;
    check.service.pay(&payment.id, PAYS_AT_ONCE).await;
    let mark = check.service.mark();
    let is_read = || {
        let calls = check.service.calls_since(mark);
        calls.iter().any(|call| call.with_key && call.reads(&payment.id) && !call.reply.is_null())
    };
    let is_settled = async || {
        if !is_read() {
            return None;
        }
        check.books(&payment).await.map(|books| books.is_none_or(|books| books.paid > 0).then_some(())).transpose()
    };
    if check.wait_while_settling(check.options.limit, is_settled).await?.transpose()?.is_some() {
        return Ok(());
    }
    let came = if is_read() {
        "The shop read the payment, and did not mark the order paid."
    } else {
        "No read of the payment."
    };
    Err(RuleError::Failed {
        why: format!(
            "The customer paid {} and never came back. In {} s the order was not settled.",
            payment.reference,
            check.options.limit.as_secs()
        ),
        sent: "nothing: no browser asks".into(),
        came: came.into(),
    })
}

pub(super) async fn paid_once(check: &Check) -> Outcome {
    require_orders(check, "how often it was marked")?;
    let (customer, payment) = check.open_payment().await?;
    check.service.pay(&payment.id, PAYS_AT_ONCE).await;
    let holding = check.service.interfere(Target::ReadsOf(payment.id.clone()), Kind::Hold);
    let asking = join_all((0..AT_ONCE).map(|_| check.status(&customer, &payment)));
    let releasing = async {
        let all_held = async || (check.service.held() >= AT_ONCE).then_some(());
        // A shop that answers one request at a time never has all of them held.
        check.wait_for(check.options.limit / 10, all_held).await;
        drop(holding);
    };
    let (exchanges, ()) = join(asking, releasing).await;
    match wait_until_paid(check, &payment).await? {
        1 => Ok(()),
        paid => {
            Err(exchanges[0].fail(format!("{AT_ONCE} requests at the same time marked the order paid {paid} times.")))
        }
    }
}

/// Checks that the shop's books can be read. `what` is what only they say.
fn require_orders(check: &Check, what: &str) -> Result<(), RuleError> {
    match check.options.orders_command {
        Some(_) => Ok(()),
        None => not_checked(format!("Missing option --orders: only the shop's books say {what}.")),
    }
}

/// How often the order was marked paid. It waits for the first time.
async fn wait_until_paid(check: &Check, payment: &Payment) -> Result<usize, RuleError> {
    let is_paid = async || check.books(payment).await.map(|books| books.filter(|books| books.paid > 0)).transpose();
    check.wait_while_settling(check.options.limit, is_paid).await?.transpose()?;
    // Another one may be under way.
    check.environment.sleep(Duration::from_millis(200)).await;
    Ok(check.books(payment).await?.unwrap_or_default().paid)
}

pub(super) async fn late_approval_pays(check: &Check) -> Outcome {
    let (customer, payment) = check.open_payment().await?;
    check.service.pay(&payment.id, APPROVED_LATE).await;
    let mut exchange = check.status(&customer, &payment).await;
    if exchange.json()["status"] == "succeeded" {
        return Err(exchange.fail("The attempt was declined, and the page was told that it is paid."));
    }
    check.service.advance(UNTIL_APPROVED).await;
    let is_settled = async || {
        exchange = check.status(&customer, &payment).await;
        let is_told = exchange.json()["status"] == "succeeded";
        let is_paid = |books: Option<Books>| is_told && books.is_none_or(|books| books.paid > 0);
        check.books(&payment).await.map(|books| is_paid(books).then_some(books.is_some())).transpose()
    };
    match check.wait_while_settling(check.options.limit, is_settled).await?.transpose()? {
        Some(true) => Ok(()),
        Some(false) => Err(orders_missing()),
        None => Err(exchange.fail("The operator approved the attempt late, and the order was not marked paid.")),
    }
}

pub(super) async fn duplicate_is_refunded(check: &Check) -> Outcome {
    require_orders(check, "that a refund is due")?;
    let (customer, payment) = check.open_payment().await?;
    check.service.pay(&payment.id, APPROVED_LATE).await;
    check.service.pay(&payment.id, PAYS_AT_ONCE).await;
    let mut exchange = check.status(&customer, &payment).await;
    check.service.advance(UNTIL_APPROVED).await;
    if check.service.intent(&payment.id).await["duplicate_payments"].as_array().is_none_or(Vec::is_empty) {
        return not_checked("The sandbox made no duplicate payment.");
    }
    let is_noticed = async || {
        exchange = check.status(&customer, &payment).await;
        check.books(&payment).await.map(|books| books.filter(|books| books.refunds_due > 0)).transpose()
    };
    match check.wait_while_settling(check.options.limit, is_noticed).await?.transpose()? {
        Some(_) => Ok(()),
        None => Err(exchange.fail(
            "The customer paid twice, because an attempt was approved late, and the command of --orders printed no line refund_due.",
        )),
    }
}
