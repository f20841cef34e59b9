use super::{Orders, Refused, Report, Sold};
use crate::operations::PaymentIntent;
use crate::values::{IntentStatus, printable};

/// Whether, and for how long, a shop continues to read a payment.
///
/// ```
/// use guichet::shop::AskAgain;
/// fn is_over(intent: &guichet::operations::PaymentIntent) -> bool {
///     AskAgain::about(intent) == AskAgain::Never
/// }
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum AskAgain {
    /// The payment has no final status: read it every few seconds.
    Soon,
    /// The status is final, but an operator may still approve an attempt that was declined. Read it now and then for 24
    /// hours after the first read with a final status, and then until one more read has succeeded.
    ForADay,
    /// The status is final, and no more money can arrive.
    Never,
}

impl AskAgain {
    /// Whether to read a payment in this state again. An operator can approve an attempt for at most 24 hours after it
    /// ended, and only a declined one: if a payment has succeeded with its only attempt, that attempt was not declined.
    ///
    /// If the service does not count attempts, a final status gives [`AskAgain::ForADay`]: there may have been several.
    #[must_use]
    pub fn about(intent: &PaymentIntent) -> Self {
        let max_declined = match intent.status {
            IntentStatus::Succeeded => intent.attempts.map(|attempts| attempts.saturating_sub(1)),
            _ => intent.attempts,
        };
        match max_declined {
            _ if !intent.status.is_final() => Self::Soon,
            Some(0) => Self::Never,
            _ => Self::ForADay,
        }
    }
}

/// Reports a final status and every duplicate payment to the shop, if the payment is the one that was sold. Every
/// report is made even if an earlier one fails; the first error is returned.
///
/// # Errors
/// [`Refused`] if the payment is not the one that was sold (code `payment_mismatch`), or if a report was not stored.
pub async fn verify_and_settle(orders: &impl Orders, sold: &Sold, intent: &PaymentIntent) -> Result<AskAgain, Refused> {
    if !sold.is(intent) {
        let cause = [intent.id.as_str(), " for ", sold.merchant_reference.as_str()].concat();
        return Err(Refused::payment_mismatch()
            .because("the payment is not the one that was sold", printable(cause).to_string()));
    }
    let ask_again = AskAgain::about(intent);
    let mut outcome = Ok(ask_again);
    let settled = intent.status.is_final().then_some(Report::Settled(ask_again));
    for report in settled.into_iter().chain(intent.duplicate_payments.iter().map(Report::Overpaid)) {
        outcome = outcome.and(orders.report(sold, intent, report).await.map(|()| ask_again));
    }
    outcome
}
