use super::body::Money;
use super::event::{Changed, OrderState, PaidBy, RefundDue};
use super::order::{Found, FoundState, Order, Payment, RefundKey};
use crate::values::IntentStatus;

impl Order {
    /// What the shop is told of it.
    #[must_use]
    pub fn changed(&self) -> Changed {
        let paid_by = self.what_paid();
        let state = match (&paid_by, &self.asked) {
            (None, _) => OrderState::Unpaid,
            (Some(_), _) if self.has_ended => OrderState::PaidAfterEnd,
            (Some(paid), Some(asked)) if paid.sum != *asked => OrderState::PaidOtherSum,
            (Some(_), _) => OrderState::Paid,
        };
        Changed {
            name: self.name.clone(),
            version: self.version,
            state,
            asked: self.asked.clone().filter(|_| paid_by.is_some()),
            paid_by,
            refunds_due: self.refunds_due(),
            restored: false,
        }
    }

    /// Of an order that needs a person: the payment about which nothing is decided yet.
    #[must_use]
    pub fn waits_for_a_person(&self) -> Option<PaidBy> {
        let key = |paid: &PaidBy| RefundKey { id: paid.id.clone(), attempt: None };
        let waits = |paid: &PaidBy| self.changed().state.needs_a_person() && !self.refunded.contains(&key(paid));
        self.what_paid().filter(waits)
    }

    /// The first payment that succeeded, whatever the service says of it later.
    pub(super) fn what_paid(&self) -> Option<PaidBy> {
        let id = self.paid_by.as_ref()?;
        let (payment, found) = self.all_found().find(|(_, found)| found.id == *id)?;
        let is_other_word = found.status != IntentStatus::Succeeded && found.decided.is_none();
        Some(PaidBy {
            reference: payment.reference.clone(),
            id: id.clone(),
            sum: found.decided.clone().unwrap_or_else(|| payment.body.sum()),
            status: is_other_word.then(|| found.status.as_str().to_owned()),
        })
    }

    /// Every payment that succeeded but the first, and every attempt that was paid besides, until it is given back:
    /// each once.
    #[must_use]
    pub fn refunds_due(&self) -> Vec<RefundDue> {
        let mut due = Vec::new();
        for (payment, found) in self.all_found() {
            let is_paid = matches!(found.state, FoundState::Paid { .. });
            if is_paid && self.paid_by.as_deref() != Some(&found.id) {
                due.push(whole(payment, found));
            }
            due.extend(found.duplicates.iter().map(|duplicate| {
                let key = RefundKey { id: found.id.clone(), attempt: Some(duplicate.attempt.clone()) };
                match duplicate.amount {
                    Some(amount) => RefundDue { key, sum: Money { amount, ..payment.body.sum() }, plus_fee: false },
                    None => RefundDue { key, ..whole(payment, found) },
                }
            }));
        }
        due.retain(|refund| !self.refunded.contains(&refund.key));
        due
    }
}

/// What was paid: what a person says, else `amount_payable`, else the quote, else the amount, plus a fee that is not
/// known if the customer bears it.
fn whole(payment: &Payment, found: &Found) -> RefundDue {
    let sum = payment.body.sum();
    let with_fee = found.payable.or(payment.quote).map(|amount| Money { amount, ..sum.clone() });
    let known = found.decided.clone().or(with_fee);
    let plus_fee = known.is_none() && payment.body.fee_is_on_top();
    RefundDue { key: RefundKey { id: found.id.clone(), attempt: None }, sum: known.unwrap_or(sum), plus_fee }
}
