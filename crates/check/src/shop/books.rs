//! What the shop's books say of its orders, and what they must say.

use super::checked_shop::CheckedShop;
use super::payment::Payment;
use crate::catalog::ORDERS;
use crate::outcome::{Outcome, RuleError};
use crate::service::PAYS_AT_ONCE;
use std::time::Duration;

/// How often a payment is read, as it is now, before its books are final: a reading that was under way at the first one
/// has ended.
const ENOUGH_READS: usize = 4;
/// How long the shop may take after these to write what it did.
const WRITING: Duration = Duration::from_secs(10);

/// What the command of `--orders` has printed about an order.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Books {
    /// How often the shop marked it paid.
    pub(crate) paid: usize,
    /// How many refunds the shop knows to be due.
    pub(crate) refunds_due: usize,
}

impl Books {
    pub(crate) const UNPAID: Self = Self { paid: 0, refunds_due: 0 };
    pub(crate) const PAID: Self = Self { paid: 1, refunds_due: 0 };

    /// Reads the lines `paid` and `refund_due`. Other lines mean nothing.
    pub(crate) fn read(text: &str) -> Self {
        let paid = text.lines().filter(|line| line.trim() == "paid").count();
        Self { paid, refunds_due: refunds(text).count() }
    }

    fn exceeds(self, other: Self) -> bool {
        self.paid > other.paid || self.refunds_due > other.refunds_due
    }
}

impl std::fmt::Display for Books {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} × paid, {} × refund_due", self.paid, self.refunds_due)
    }
}

/// The refunds of a text, `refund_due 45900`: the amount of each, if it is there.
fn refunds(text: &str) -> impl Iterator<Item = Option<&str>> {
    text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()? == "refund_due").then(|| words.next())
    })
}

/// What the books must say of an order.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    /// What happened: "The customer paid and never came back."
    pub(crate) what: String,
    /// The payments of the order. The command may print what is about one payment, or about the whole order.
    pub(crate) payments: Vec<Payment>,
    pub(crate) books: Books,
}

impl Expected {
    pub(crate) fn new(what: impl Into<String>, payment: &Payment, books: Books) -> Self {
        Self { what: what.into(), payments: vec![payment.clone()], books }
    }

    /// Fails if the books say something else.
    pub(crate) fn compare(&self, found: Books) -> Outcome {
        if found == self.books { Ok(()) } else { Err(self.fail(found)) }
    }

    /// A failed rule, because the books say something else.
    pub(crate) fn fail(&self, found: Books) -> RuleError {
        let Self { what, payments, books } = self;
        let references: Vec<&str> = payments.iter().map(|payment| payment.reference.as_str()).collect();
        let why = format!(
            "{what} The books must then have {books}. Reference {}, order {}.",
            references.join(" and "),
            payments[0].order
        );
        RuleError::unasked(why, format!("The books have {found}."))
    }
}

/// The result of a rule; `Ok` is a pass, with what the books must say until the end of the check.
pub(crate) type Settled = Result<Vec<Expected>, RuleError>;

/// The same, where the books must say it even if the rest of the rule is not checked.
pub(crate) struct Kept {
    pub(crate) expected: Vec<Expected>,
    pub(crate) outcome: Outcome,
}

impl From<()> for Kept {
    fn from((): ()) -> Self {
        Vec::new().into()
    }
}

impl From<Vec<Expected>> for Kept {
    fn from(expected: Vec<Expected>) -> Self {
        Self { expected, outcome: Ok(()) }
    }
}

/// The reason why a rule is not checked without `--orders`, although nothing wrong was seen.
pub(crate) fn orders_missing() -> RuleError {
    RuleError::NotChecked(
        "Missing option --orders: the shop's answers look right, and only its books say the rest.".into(),
    )
}

impl CheckedShop {
    /// What the shop's books say about the order; `None` without `--orders`.
    pub(crate) async fn books(&self, payment: &Payment) -> Result<Option<Books>, RuleError> {
        Ok(self.printed_books(payment).await?.map(|text| Books::read(&text)))
    }

    /// What the command of `--orders` prints about the order.
    async fn printed_books(&self, payment: &Payment) -> Result<Option<String>, RuleError> {
        let Some(command) = &self.options.orders_command else { return Ok(None) };
        let mut variables = self.service.variables();
        variables.extend([
            ("GUICHET_ORDER", payment.order.to_string()),
            ("GUICHET_REFERENCE", payment.reference.clone()),
            ("GUICHET_PAYMENT_REF", payment.payment_ref.clone()),
        ]);
        let printed = self.environment.run(command, variables, true).await;
        printed.map(Some).map_err(|error| RuleError::NotChecked(format!("--orders: {error}")))
    }

    /// The amounts of the refunds that are due for the payments of one order, in no order. A line is counted once if
    /// the command prints it for each payment.
    pub(crate) async fn refunds_of(&self, payments: &[Payment]) -> Result<Vec<Option<String>>, RuleError> {
        let mut most = Vec::new();
        for payment in payments {
            let printed = self.printed_books(payment).await?.ok_or_else(orders_missing)?;
            let found: Vec<_> = refunds(&printed).map(|amount| amount.map(str::to_owned)).collect();
            if found.len() > most.len() {
                most = found;
            }
        }
        Ok(most)
    }

    /// The books must not have the order of this payment as paid. `what` happened, and `sent` is what the check sent.
    pub(crate) async fn must_be_unpaid(
        &self,
        payment: &Payment,
        what: impl FnOnce() -> String,
        sent: impl FnOnce() -> String,
    ) -> Outcome {
        match self.books(payment).await? {
            Some(books) if books.paid > 0 => Err(RuleError::Failed {
                why: format!("{} The shop marked the order {} of {} paid.", what(), payment.order, payment.reference),
                sent: sent(),
                came: format!("The books have {books}."),
            }),
            _ => Ok(()),
        }
    }

    /// What the books say of the payments of one order. A line is counted once if the command prints it for each
    /// payment.
    pub(crate) async fn books_of(&self, payments: &[Payment]) -> Result<Books, RuleError> {
        let mut most = Books::default();
        for payment in payments {
            let books = self.books(payment).await?.ok_or_else(orders_missing)?;
            most.paid = most.paid.max(books.paid);
            most.refunds_due = most.refunds_due.max(books.refunds_due);
        }
        Ok(most)
    }

    /// The number of times that the shop has read the payment with its key since a mark and got this status, or any if
    /// none is given.
    pub(crate) fn reads(&self, payment: &Payment, mark: usize, status: Option<&str>) -> usize {
        self.service.count_since(mark, |call| {
            let found = call.status_of(&payment.id);
            call.with_key && call.reads(&payment.id) && status.map_or(!found.is_null(), |status| found == status)
        })
    }

    /// Waits, and asks the shop nothing but its books, until they say what they must. Returns what they say of each
    /// order in the end. They must say it within the limit, or within this much more for a payment that is read less
    /// often.
    ///
    /// A payment that was read several times since the mark, by a shop that had time to write it, is not waited for.
    pub(crate) async fn books_come_to(
        &self,
        expected: &[Expected],
        mark: usize,
        more: Duration,
    ) -> Result<Vec<Books>, RuleError> {
        self.require(ORDERS, "only the shop's books say what became of the payments.")?;
        let mut statuses = Vec::new();
        for payment in expected.iter().flat_map(|one| &one.payments) {
            statuses.push((payment.id.as_str(), self.service.status(&payment.id).await));
        }
        let is_read = |payment: &Payment| {
            let status = statuses.iter().find(|(id, _)| *id == payment.id).map(|(_, status)| status.as_str());
            self.reads(payment, mark, status) >= ENOUGH_READS
        };
        let mut found = vec![Books::default(); expected.len()];
        let mut enough_since: Vec<Option<Duration>> = vec![None; expected.len()];
        let look = async || {
            let mut is_over = true;
            for ((one, found), enough_since) in expected.iter().zip(&mut found).zip(&mut enough_since) {
                match self.books_of(&one.payments).await {
                    Ok(books) => *found = books,
                    Err(error) => return Some(Err(error)),
                }
                if *found == one.books || found.exceeds(one.books) {
                    continue;
                }
                if one.payments.iter().all(is_read) {
                    let since = *enough_since.get_or_insert(self.waited());
                    if self.waited().saturating_sub(since) > WRITING {
                        continue;
                    }
                }
                is_over = false;
            }
            is_over.then_some(Ok(()))
        };
        self.wait_while_settling(self.options.limit + more, look).await?.transpose()?;
        Ok(found)
    }

    /// The same, and the rule fails if one of the books says something else in the end. Returns what they must say
    /// until the end of the check.
    pub(crate) async fn books_must_come_to(&self, expected: Vec<Expected>, mark: usize, more: Duration) -> Settled {
        let found = self.books_come_to(&expected, mark, more).await?;
        for (one, found) in expected.iter().zip(found) {
            one.compare(found)?;
        }
        Ok(expected)
    }

    /// The books say what they must of this order, now.
    pub(crate) async fn books_must_be(&self, expected: &Expected) -> Outcome {
        expected.compare(self.books_of(&expected.payments).await?)
    }

    /// The customer pays and never comes back: the books must come to say so. `what` happened.
    pub(crate) async fn must_be_settled(&self, payment: &Payment, what: impl Into<String>) -> Settled {
        let mark = self.service.mark();
        self.service.pay(&payment.id, PAYS_AT_ONCE).await;
        self.books_must_come_to(vec![Expected::new(what, payment, Books::PAID)], mark, Duration::ZERO).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_books_are_lines_and_other_lines_mean_nothing() {
        let text = "unpaid\n paid\r\npaid\nrefund_due\nrepaid\nrefund_due 45900\r\nrefund_dues";
        let books = Books::read(text);
        assert_eq!((books.paid, books.refunds_due), (2, 2));
        assert_eq!(refunds(text).collect::<Vec<_>>(), [None, Some("45900")]);
        assert_eq!(Books::read("").paid, 0);
    }
}
