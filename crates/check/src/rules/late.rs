//! Approvals that come late, which no page asks about.

use crate::outcome::{Outcome, RuleError, not_checked};
use crate::service::{DECLINED_FOR_GOOD, PAYS_AT_ONCE};
use crate::shop::{Books, CheckedShop, Expected, Payment, Settled};
use serde_json::Value;
use std::time::Duration;

/// Declined at once, and approved late.
const APPROVED_LATE: &str = "237670000012";
/// Declined by the payer after 5 seconds, and approved 240 seconds later.
const REJECTED_AND_APPROVED: &str = "237670000013";
/// Failed, and succeeded 60 seconds later.
const SUCCEEDS_AFTER_FAILURE: &str = "237670000014";
/// Approved 30 seconds after the customer has begun.
const SUCCEEDS_SOON: &str = "237670000001";
/// More than the 600 seconds after which the latest attempt is approved, and than the 36 minutes after which a ledger
/// reads it again.
const UNTIL_APPROVED: u32 = 2_400;
/// How often the guide says to read a payment that is final.
const MINUTE: Duration = Duration::from_secs(60);

/// What happened to a payment before an operator approved one of its attempts late.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Case {
    /// It has succeeded by a third attempt: a refund is due for each of the two others.
    PaidByThirdAttempt,
    /// An attempt was declined, and the payment can still be paid.
    Declined,
    /// The same, by the payer.
    Rejected,
    /// The customer stopped waiting for the phone.
    Abandoned,
    Failed,
    Canceled,
    /// It has failed, and the order's next payment has succeeded.
    PaidByNextReference,
    /// The same, and then it succeeds itself: the whole of it is paid back.
    PaidTwice,
    /// It was reported as failed, and then it succeeds.
    PaidAfterAll,
    /// The same, and the order has another payment meanwhile, which is open.
    PaidBesideOpen,
}

impl Case {
    const EACH: [Self; 10] = [
        Self::PaidByThirdAttempt,
        Self::Declined,
        Self::Rejected,
        Self::Abandoned,
        Self::Failed,
        Self::Canceled,
        Self::PaidByNextReference,
        Self::PaidTwice,
        Self::PaidAfterAll,
        Self::PaidBesideOpen,
    ];
}

use Case::{
    Abandoned, Canceled, Declined, Failed, PaidAfterAll, PaidBesideOpen, PaidByNextReference, PaidByThirdAttempt,
    PaidTwice, Rejected,
};

/// The payments that an operator has approved late.
pub(crate) struct Late {
    cases: Vec<(Case, Expected)>,
    /// The calls of the shop before it.
    mark: usize,
}

impl Late {
    /// What the books must say in these cases.
    fn of(&self, shop: &CheckedShop, cases: &[Case]) -> Settled {
        let own = self.cases.iter().filter(|(case, _)| cases.contains(case));
        let expected: Vec<Expected> = own.map(|(_, one)| one.clone()).collect();
        // Without fresh orders there are fewer cases.
        let least = if shop.has_fresh_orders() { cases.len() } else { 1 };
        if expected.len() < least {
            return not_checked(
                "None of the payments came to the state that this rule needs: see the rules about declines.",
            );
        }
        Ok(expected)
    }

    /// Makes a payment for each case, and moves the service's clock once. The shop reads those that are final once a
    /// minute: other rules are checked meanwhile.
    pub(super) async fn approve(shop: &CheckedShop) -> Result<Self, RuleError> {
        // Without fresh orders there are two for these rules.
        let cases = if shop.has_fresh_orders() { &Case::EACH[..] } else { &Case::EACH[..2] };
        let begun = shop.service.mark();
        let mut made = Vec::new();
        for case in cases {
            let (_, payment) = shop.fresh_payment().await?;
            decline_first(shop, *case, &payment).await;
            if !shop.has_fresh_orders() {
                // The next case takes another order.
                shop.set_aside(&payment);
            }
            made.push((*case, payment));
        }
        // The customer of the rejected attempt has typed a wrong code on the phone by now.
        shop.service.advance(6).await;
        see_decline(shop, begun, &made).await?;

        let mut expected = Vec::new();
        for (case, payment) in made {
            let Some(one) = expect(shop, case, &payment).await? else { continue };
            expected.push((case, one));
        }
        let mark = shop.service.mark();
        shop.service.advance(UNTIL_APPROVED).await;
        for (case, one) in &expected {
            let intent = shop.service.intent(&one.payments[0].id).await;
            let duplicates = intent["duplicate_payments"].as_array().map_or(0, Vec::len);
            let is_approved = match case {
                PaidByThirdAttempt => duplicates == 2,
                Failed | Canceled | PaidByNextReference => duplicates == 1,
                _ => duplicates == 0 && intent["status"] == "succeeded",
            };
            if !is_approved {
                return not_checked(format!("The sandbox approved no attempt late ({case:?}): {intent}"));
            }
        }
        Ok(Self { cases: expected, mark })
    }
}

pub(super) async fn late_approval_pays(shop: &CheckedShop, late: &Late) -> Settled {
    judge(shop, late, &[Declined, Rejected, Abandoned, PaidAfterAll]).await
}

pub(super) async fn duplicate_is_refunded(shop: &CheckedShop, late: &Late) -> Settled {
    judge(shop, late, &[PaidByThirdAttempt]).await
}

pub(super) async fn late_approval_after_end_is_refunded(shop: &CheckedShop, late: &Late) -> Settled {
    judge(shop, late, &[Failed, Canceled, PaidByNextReference, PaidTwice]).await
}

/// A refund is the amount that the customer paid, with the fee.
pub(super) async fn refund_has_fee(shop: &CheckedShop, late: &Late) -> Outcome {
    let expected = late.of(shop, &[PaidByThirdAttempt, Failed, Canceled, PaidByNextReference, PaidTwice])?;
    shop.books_come_to(&expected, late.mark, MINUTE).await?;
    for one in &expected {
        let found = shop.refunds_of(&one.payments).await?;
        let Some(mut found) = found.into_iter().collect::<Option<Vec<String>>>() else {
            return not_checked("The command of --orders prints no amounts of refunds: print `refund_due 45900`.");
        };
        let mut taken = taken_twice(shop, one).await;
        found.sort();
        taken.sort();
        // How many there are is another rule's.
        if found.len() == taken.len() && found != taken {
            let why = format!(
                "{} The refund is what the customer paid, with the fee: {}. Reference {}.",
                one.what,
                taken.join(" and "),
                one.payments[0].reference
            );
            let came = format!("The books have a refund of {}.", found.join(" and "));
            return Err(RuleError::unasked(why, came));
        }
    }
    Ok(())
}

/// The amounts that the customer has paid once too often.
async fn taken_twice(shop: &CheckedShop, one: &Expected) -> Vec<String> {
    let intent = shop.service.intent(&one.payments[0].id).await;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let duplicates = intent["duplicate_payments"].as_array();
    match duplicates.filter(|duplicates| !duplicates.is_empty()) {
        Some(duplicates) => duplicates.iter().map(|duplicate| text(&duplicate["amount"])).collect(),
        None => vec![text(&intent["amount_payable"])],
    }
}

/// The order was paid by a payment that had been reported as failed. Sent again, it gets no payment that can be paid.
pub(super) async fn paid_order_is_not_sold_again(shop: &CheckedShop, late: &Late) -> Outcome {
    let customer = shop.customer(0).await?;
    for Expected { what, payments, .. } in late.of(shop, &[PaidAfterAll, PaidBesideOpen])? {
        // The page asks, so that no timer is waited for.
        let paid = &payments[0];
        if !shop.status(&customer, paid).await.tells("succeeded") {
            return not_checked("The page was not told that the payment has succeeded: see late_approval_pays.");
        }
        let other = |other: &Payment| {
            let [first, second] = [&paid.reference, &other.reference];
            format!(
                "{what} The order is paid by {first}, and got another payment under {second}: the customer may pay it \
                 again."
            )
        };
        shop.must_get_no_other(&customer, paid, other).await?;
    }
    Ok(())
}

/// The shop's books must say of each case what they must.
async fn judge(shop: &CheckedShop, late: &Late, cases: &[Case]) -> Settled {
    let expected = late.of(shop, cases)?;
    shop.books_come_to(&expected, late.mark, MINUTE).await?;
    // The next reading finds the same entries.
    let read: Vec<&Payment> = expected.iter().flat_map(|one| &one.payments).collect();
    shop.wait_for_read(&read).await?;
    books_are(shop, &expected).await?;
    // A shop reads a final payment once a minute. The page is opened again, now that the books are judged without it.
    let customer = shop.customer(0).await?;
    for payment in read {
        shop.status(&customer, payment).await;
    }
    books_are(shop, &expected).await?;
    Ok(expected)
}

/// The books say what they must, once the shop has had the time to write.
async fn books_are(shop: &CheckedShop, expected: &[Expected]) -> Outcome {
    shop.pause(Duration::from_millis(500)).await;
    for one in expected {
        shop.books_must_be(one).await?;
    }
    Ok(())
}

/// What the customer does, until the operator has declined the attempt that it approves late.
async fn decline_first(shop: &CheckedShop, case: Case, payment: &Payment) {
    let (service, id) = (&shop.service, &payment.id);
    match case {
        Rejected => drop(service.pay(id, REJECTED_AND_APPROVED).await),
        Abandoned => {
            service.pay(id, SUCCEEDS_SOON).await;
            service.abandon(id, 1).await;
        }
        PaidTwice | PaidAfterAll | PaidBesideOpen => drop(service.pay(id, SUCCEEDS_AFTER_FAILURE).await),
        _ => drop(service.pay(id, APPROVED_LATE).await),
    }
    match case {
        PaidByThirdAttempt => {
            service.pay(id, APPROVED_LATE).await;
            service.pay(id, PAYS_AT_ONCE).await;
        }
        Failed | PaidByNextReference => drop(service.pay(id, DECLINED_FOR_GOOD).await),
        Canceled => drop(service.cancel(id).await),
        Declined | Rejected | Abandoned | PaidTwice | PaidAfterAll | PaidBesideOpen => {}
    }
}

/// Waits until the shop has read by itself what the customer did, so that it could take the decline for the end.
async fn see_decline(shop: &CheckedShop, mark: usize, made: &[(Case, Payment)]) -> Outcome {
    let mut statuses = Vec::new();
    for (_, payment) in made {
        statuses.push(shop.service.status(&payment.id).await);
    }
    let has_seen = async || {
        let mut all = made.iter().zip(&statuses);
        all.all(|((_, payment), status)| shop.reads(payment, mark, Some(status)) > 0).then_some(())
    };
    shop.wait_while_settling(shop.options.limit, has_seen).await?;
    // It has got the last reply, and may still write.
    shop.pause(Duration::from_millis(500)).await;
    Ok(())
}

/// What the books must say of the payment after the late approval; `None` if the order got no next payment.
async fn expect(shop: &CheckedShop, case: Case, payment: &Payment) -> Result<Option<Expected>, RuleError> {
    let expected = |what: &str, books| Ok(Some(Expected::new(what, payment, books)));
    let refund = Books { paid: 0, refunds_due: 1 };
    match case {
        PaidByThirdAttempt => expected(
            "The customer paid by a third attempt, and then an operator approved both attempts that it had declined: \
             the customer has paid three times.",
            Books { paid: 1, refunds_due: 2 },
        ),
        Declined => expected("An attempt was declined, and the operator approved it ten minutes later.", Books::PAID),
        Rejected => expected(
            "The payer rejected an attempt, and the operator approved it all the same, four minutes later.",
            Books::PAID,
        ),
        Abandoned => {
            expected("The customer stopped waiting for the phone, and then approved the payment there.", Books::PAID)
        }
        Failed => {
            expected("The payment failed, and then an operator approved an attempt that it had declined.", refund)
        }
        Canceled => expected(
            "The customer canceled the payment after a declined attempt, and then an operator approved that attempt.",
            refund,
        ),
        PaidAfterAll => expected("The payment was reported as failed, and then it succeeded.", Books::PAID),
        PaidByNextReference | PaidTwice | PaidBesideOpen => {
            let customer = shop.customer(0).await?;
            let next = match shop.buy(&customer, &payment.order).await {
                Ok(next) if next.id != payment.id => next,
                // Another rule is about this.
                _ => return Ok(None),
            };
            if case != PaidBesideOpen {
                shop.service.pay(&next.id, PAYS_AT_ONCE).await;
            }
            let (what, books) = match case {
                PaidByNextReference => (
                    "A payment failed, the order's next payment was paid, and then an operator approved an attempt of \
                     the first one.",
                    Books { paid: 1, refunds_due: 1 },
                ),
                PaidTwice => (
                    "A payment was reported as failed, the order's next payment was paid, and then the first one \
                     succeeded.",
                    Books { paid: 1, refunds_due: 1 },
                ),
                _ => (
                    "A payment was reported as failed, the customer began the next one, and then the first one \
                     succeeded.",
                    Books::PAID,
                ),
            };
            Ok(Some(Expected { what: what.into(), payments: vec![payment.clone(), next], books }))
        }
    }
}
