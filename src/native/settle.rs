use super::{Client, Reason, Refused, Shop, Sold};
use crate::operations::PaymentIntent;
use crate::values::{IntentStatus, printable};

/// What [`settle`] has read, and whether the shop asks again.
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
    /// Whether to ask again.
    pub ask_again: AskAgain,
}

/// Whether, and for how long, a shop goes on asking about a payment.
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
    /// The payment has no final status: ask every few seconds.
    Soon,
    /// The status is final, and an operator may still approve an attempt that it has declined. Ask now and then, until
    /// a reading that began at least 24 hours after the first final one has succeeded.
    ForADay,
    /// The status is final, and no more money can come.
    Never,
}

impl AskAgain {
    /// Whether to ask again about a payment that stands like this. An operator approves an attempt at most 24 hours after it
    /// ended, and only one that it has declined: the only attempt of a payment that has succeeded was not declined.
    ///
    /// A service that does not count attempts may have had several.
    #[must_use]
    pub fn about(intent: &PaymentIntent) -> Self {
        let declined_at_most = match intent.status {
            IntentStatus::Succeeded => intent.attempts.map(|attempts| attempts.saturating_sub(1)),
            _ => intent.attempts,
        };
        match declined_at_most {
            _ if !intent.status.is_final() => Self::Soon,
            Some(0) => Self::Never,
            _ => Self::ForADay,
        }
    }
}

/// Reads a payment with the secret key, checks that it is the one that was sold, and reports a final status and every
/// duplicate payment to the shop: what `GET {m}/intents/{payment_ref}` does, without a page that asks.
///
/// A customer who pays and closes the tab never asks. Call this every few seconds for each payment that is not settled yet,
/// or the order stays unpaid although money was taken; and now and then for 24 hours more where [`Settled::ask_again`] says
/// so, or a customer who paid twice gets no refund:
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
/// [`Refused`] if the service does not answer, if the payment is not the one that was sold (code `payment_mismatch`), or if
/// the shop cannot store what is reported to it: then ask again.
pub async fn settle<S: Shop>(client: &Client, shop: &S, sold: &Sold) -> Result<Settled, Refused> {
    let intent = client.read_payment_intent(&sold.intent).await?;
    verify_and_settle(shop, sold, &intent).await?;
    let ask_again = AskAgain::about(&intent);
    Ok(Settled { intent, ask_again })
}

/// Reports a final status and every duplicate payment to the shop, if the payment is the one that it sold. A report that
/// fails keeps none of the others from being made.
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
