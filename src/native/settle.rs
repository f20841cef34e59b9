use super::{Client, Reason, Refused, Shop, Sold};
use crate::operations::PaymentIntent;
use crate::values::{IntentStatus, printable};

/// The payment that [`settle`] has read, and whether the shop must read it again.
///
/// ```no_run
/// # async fn tick(client: guichet::Client, shop: impl guichet::native::Shop, sold: guichet::native::Sold) -> Result<(), guichet::native::Refused> {
/// let settled = guichet::native::settle(&client, &shop, &sold).await?;
/// println!("{}: {}", sold.merchant_reference, settled.intent.status);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settled {
    /// The payment intent, as the service sees it now.
    pub intent: PaymentIntent,
    /// Whether to read it again.
    pub ask_again: AskAgain,
}

/// Whether, and for how long, a shop continues to read a payment.
///
/// ```
/// use guichet::native::AskAgain;
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

/// Reads a payment with the secret key, checks that it is the one that was sold, and reports a final status and every
/// duplicate payment to the shop. The merchant route `GET {m}/intents/{payment_ref}` does the same for a page (`{m}`:
/// the address of the routes).
///
/// No page asks for the payment of a customer who pays and closes the tab. Call this every few seconds for each payment
/// that is not settled yet: otherwise the order stays unpaid although money was taken. If [`Settled::ask_again`] says
/// so, call it now and then for 24 hours more: otherwise a customer who paid twice gets no refund.
///
/// Every server of a shop may call it, also two at once for the same payment. It changes nothing at the service, and
/// the final status that it reports never changes. So it does no harm if [`Shop::settled`] and [`Shop::overpaid`]
/// store a report once, by one conditional statement or a unique key. To read each payment only once in a while, a
/// server claims it in the shop's database first.
///
/// A customer with many unpaid payments must not make the others wait. So read a few payments at a time, and each
/// owner's first one before any owner's second: those that a customer has returned to, and then the youngest.
/// `examples/shop` does so in SQLite and in PostgreSQL.
///
/// ```no_run
/// # use guichet::native::{AskAgain, Refused, Shop, Sold, settle};
/// # async fn tick(client: guichet::Client, my_shop: impl Shop, to_ask_about: Vec<Sold>) {
/// for sold in to_ask_about {
///     match settle(&client, &my_shop, &sold).await {
///         Ok(settled) if settled.ask_again == AskAgain::Never => {} // take it off the list
///         Ok(_) => {}
///         Err(refused) => eprintln!("{}: {refused}", sold.merchant_reference), // the next tick asks again
///     }
/// }
/// # }
/// ```
///
/// # Errors
/// [`Refused`] if the service does not reply, if the payment is not the one that was sold (code `payment_mismatch`), or
/// if the shop cannot store a report: then call it again.
pub async fn settle<S: Shop>(client: &Client, shop: &S, sold: &Sold) -> Result<Settled, Refused> {
    let intent = client.read_payment_intent(&sold.intent).await?;
    verify_and_settle(shop, sold, &intent).await?;
    let ask_again = AskAgain::about(&intent);
    Ok(Settled { intent, ask_again })
}

/// Reports a final status and every duplicate payment to the shop, if the payment is the one that was sold. Every
/// report is made even if an earlier one fails; the first error is returned.
pub(super) async fn verify_and_settle<S: Shop>(shop: &S, sold: &Sold, intent: &PaymentIntent) -> Result<(), Refused> {
    if !sold.is(intent) {
        let (intent, reference) = (printable(&intent.id), printable(&sold.merchant_reference));
        tracing::error!(%intent, %reference, "the payment is not the one that was sold");
        return Err(Refused::new(
            409,
            Reason {
                code: "payment_mismatch",
                message: "The payment is not the one of this order. Please ask the shop.",
            },
        ));
    }
    let mut outcome = Ok(());
    if intent.status.is_final() {
        outcome = shop.settled(sold, intent).await;
    }
    for duplicate in &intent.duplicate_payments {
        outcome = outcome.and(shop.overpaid(sold, duplicate).await);
    }
    outcome
}
