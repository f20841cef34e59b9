use super::{Buyer, Owner, Refused, Sold};
use crate::operations::{CreatePaymentIntent, DuplicatePayment, PaymentIntent};
use crate::shop::{Orders, Report};
use crate::values::{MerchantReference, PaymentRef};
use http::request::Parts;
use serde_json::Value;

/// The merchant's own shop, which the three routes (`Routes`, feature `axum`) call. Implement the methods as `async
/// fn`.
///
/// The shop sets the price, the customer and the reference. The page supplies only the name of the order.
///
/// ```
/// use guichet::native::{Buyer, Owner, Reason, Refused, Shop, Sold};
/// use guichet::operations::{CreatePaymentIntent, CustomerName, DuplicatePayment, PaymentIntent};
/// use guichet::values::{Amount, MerchantReference, PaymentRef};
/// use http::request::Parts;
/// use serde_json::Value;
///
/// # struct Orders;
/// # impl Orders {
/// #     async fn key_of(&self, _: &str, _: &Owner) -> Result<Option<String>, Refused> { Ok(None) }
/// #     async fn count_open(&self, _: &Owner, _: &MerchantReference) -> Result<usize, Refused> { Ok(0) }
/// #     async fn save(&self, _: &Sold) -> Result<(), Refused> { Ok(()) }
/// #     async fn find(&self, _: &PaymentRef) -> Result<Option<Sold>, Refused> { Ok(None) }
/// #     async fn close(&self, _: &Sold, _: &PaymentIntent) -> Result<(), Refused> { Ok(()) }
/// #     async fn refund_due(&self, _: &Sold, _: &DuplicatePayment) -> Result<(), Refused> { Ok(()) }
/// # }
/// struct Shoes(Orders);
///
/// impl Shop for Shoes {
///     async fn buyer(&self, request: &Parts) -> Result<Option<Buyer>, Refused> {
///         Ok(request.extensions.get::<Buyer>().cloned()) // as a layer has put it there
///     }
///     async fn purchase(&self, buyer: &Buyer, order: Value) -> Result<CreatePaymentIntent, Refused> {
///         let missing = || Refused::new(404, Reason { code: "order_missing", message: "There is no such order." });
///         let (id, email) = order["id"].as_str().zip(buyer.verified_email.clone()).ok_or_else(missing)?;
///         // The order's own key, and only of this buyer's order.
///         let key = self.0.key_of(id, &buyer.owner).await?.ok_or_else(missing)?;
///         let reference = MerchantReference::new(format!("ORDER-{key}")).map_err(Refused::broken)?;
///         let price = Amount::units(45_000);
///         let awa = CustomerName { firstname: "Awa", lastname: "Ngono" };
///         Ok(CreatePaymentIntent::new(reference, price, "A pair of shoes", awa).email(email))
///     }
///     async fn open_payments(&self, owner: &Owner, next: &MerchantReference) -> Result<usize, Refused> {
///         self.0.count_open(owner, next).await
///     }
///     async fn remember(&self, sold: &Sold) -> Result<(), Refused> {
///         self.0.save(sold).await
///     }
///     async fn find(&self, payment_ref: &PaymentRef, owner: &Owner) -> Result<Option<Sold>, Refused> {
///         Ok(self.0.find(payment_ref).await?.filter(|sold| sold.owner == *owner))
///     }
///     async fn settled(&self, sold: &Sold, intent: &PaymentIntent) -> Result<(), Refused> {
///         self.0.close(sold, intent).await // paid only if the status is `Succeeded`
///     }
///     async fn overpaid(&self, sold: &Sold, duplicate: &DuplicatePayment) -> Result<(), Refused> {
///         self.0.refund_due(sold, duplicate).await
///     }
/// }
/// ```
pub trait Shop: Send + Sync + 'static {
    /// Who sends a request, from its cookies or from what a layer has put into its extensions (tower-sessions, the
    /// claims of a JWT). `None` if nobody is signed in and no guest may buy: the routes then answer 401.
    fn buyer(&self, request: &Parts) -> impl Future<Output = Result<Option<Buyer>, Refused>> + Send;

    /// The purchase for an order: the JSON value that the page gave to `checkout`, or the fields of its form.
    ///
    /// The whole purchase must be the same each time for one reference, its price included. An order keeps its reference
    /// until that payment is declined for good, canceled or expired. Then it gets the next one (`ORDER-17`,
    /// `ORDER-17.1`), with the price of that day. Once it is paid, it keeps the reference that paid it, which may be one that
    /// had failed. The return nonce is added to `redirect_url` afterwards.
    ///
    /// The reference contains a key that no other order has: customer and number in one text (`a-1-2`) may be two orders.
    /// Another owner's order is refused like an unknown one, with 404.
    fn purchase(
        &self,
        buyer: &Buyer,
        order: Value,
    ) -> impl Future<Output = Result<CreatePaymentIntent, Refused>> + Send;

    /// How many payments of this owner have no final status. From 20 on, the routes do not create the payment `next`, and
    /// answer 409 `too_many_open_payments`. If the shop has stored a payment with the reference `next`, return 0: it is
    /// only repeated. Requests that arrive at the same moment may all pass.
    fn open_payments(
        &self,
        owner: &Owner,
        next: &MerchantReference,
    ) -> impl Future<Output = Result<usize, Refused>> + Send;

    /// Stores the sale, before the customer leaves to pay. A repeated call with the same sale does nothing. Refuse one whose
    /// [`intent`](Sold::intent) is not the one that is stored: that payment would never be read.
    fn remember(&self, sold: &Sold) -> impl Future<Output = Result<(), Refused>> + Send;

    /// The sale with this reference, if it belongs to this owner; `None` otherwise.
    ///
    /// Only a page calls it, when its customer has returned. Store that: see [`settle`](super::settle).
    fn find(
        &self,
        payment_ref: &PaymentRef,
        owner: &Owner,
    ) -> impl Future<Output = Result<Option<Sold>, Refused>> + Send;

    /// Stores the final status of a payment that was read with the secret key and is the one that was sold: same
    /// reference, amount and currency, and the e-mail address that was sent. An order becomes paid here and nowhere
    /// else. A page's request calls it, and [`settle`](super::settle) for customers who closed the page.
    ///
    /// It may be called more than once, and by two servers at once. Mark the order paid by one conditional statement
    /// (`… AND paid_by IS NULL`), so that it is marked once. If another payment has paid it, a refund of this one is due: its
    /// `amount_payable`, with the fee. A payment that had failed may succeed.
    ///
    /// Store also since when the status is final: the payment is no longer one of the [`Shop::open_payments`], and if
    /// [`AskAgain::about`](super::AskAgain::about) this intent is `ForADay`, an operator may still approve another
    /// attempt. [`Shop::overpaid`] is called only if the payment is read again.
    fn settled(&self, sold: &Sold, intent: &PaymentIntent) -> impl Future<Output = Result<(), Refused>> + Send;

    /// Stores a second payment, or one after the payment had failed or was canceled: an operator approved an attempt
    /// that was reported as declined. Store it by the intent and the attempt; `Ok` means stored. A refund is due, which
    /// is made with the payment company.
    ///
    /// If the service's number of the attempt cannot be parsed, `attempt` is `u32::MAX` minus the entry's position in the
    /// list, so that each entry has a different number.
    ///
    /// Every read of the payment reports it again: a repeated call with the same payment does nothing.
    fn overpaid(&self, sold: &Sold, duplicate: &DuplicatePayment) -> impl Future<Output = Result<(), Refused>> + Send;
}

/// A shared shop is a shop.
impl<S: Shop> Shop for std::sync::Arc<S> {
    async fn buyer(&self, request: &Parts) -> Result<Option<Buyer>, Refused> {
        S::buyer(self, request).await
    }
    async fn purchase(&self, buyer: &Buyer, order: Value) -> Result<CreatePaymentIntent, Refused> {
        S::purchase(self, buyer, order).await
    }
    async fn open_payments(&self, owner: &Owner, next: &MerchantReference) -> Result<usize, Refused> {
        S::open_payments(self, owner, next).await
    }
    async fn remember(&self, sold: &Sold) -> Result<(), Refused> {
        S::remember(self, sold).await
    }
    async fn find(&self, payment_ref: &PaymentRef, owner: &Owner) -> Result<Option<Sold>, Refused> {
        S::find(self, payment_ref, owner).await
    }
    async fn settled(&self, sold: &Sold, intent: &PaymentIntent) -> Result<(), Refused> {
        S::settled(self, sold, intent).await
    }
    async fn overpaid(&self, sold: &Sold, duplicate: &DuplicatePayment) -> Result<(), Refused> {
        S::overpaid(self, sold, duplicate).await
    }
}

impl<S: Shop> Orders for S {
    async fn open_payments(&self, owner: &Owner, next: &MerchantReference) -> Result<usize, Refused> {
        Shop::open_payments(self, owner, next).await
    }
    async fn remember(&self, sold: &Sold) -> Result<(), Refused> {
        Shop::remember(self, sold).await
    }
    async fn find(&self, payment_ref: &PaymentRef, owner: &Owner) -> Result<Option<Sold>, Refused> {
        Shop::find(self, payment_ref, owner).await
    }
    async fn report(&self, sold: &Sold, intent: &PaymentIntent, report: Report<'_>) -> Result<(), Refused> {
        match report {
            Report::Settled(_) => self.settled(sold, intent).await,
            Report::Overpaid(duplicate) => self.overpaid(sold, duplicate).await,
        }
    }
}
