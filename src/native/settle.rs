use super::{AskAgain, Client, Refused, Shop, Sold};
use crate::operations::PaymentIntent;
use crate::shop::verify_and_settle;

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
    let ask_again = verify_and_settle(shop, sold, &intent).await?;
    Ok(Settled { intent, ask_again })
}
