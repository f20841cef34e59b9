use super::ledger::Changed;
use super::{Buyer, Refused};
use crate::operations::CreatePaymentIntent;
use crate::values::{Amount, MerchantReference};
use http::request::Parts;
use serde_json::Value;

/// What the shop says of an order.
#[derive(Clone, Debug)]
pub enum Purchase {
    /// What it costs today, and who buys. Its `merchant_reference` is the order's own name, the same on each call.
    Costs(Box<CreatePaymentIntent>),
    /// The same, if the customer bears the fee and was shown what they pay with it: the service may never say that.
    Quoted {
        /// What it costs without the fee.
        purchase: Box<CreatePaymentIntent>,
        /// What the customer pays.
        payable: Amount,
    },
    /// The shop no longer sells it.
    OrderEnded(MerchantReference),
}

impl From<CreatePaymentIntent> for Purchase {
    fn from(purchase: CreatePaymentIntent) -> Self {
        Self::Costs(Box::new(purchase))
    }
}

/// The merchant's own shop: who asks, what an order is and costs, and what becomes of it. Implement the methods as
/// `async fn`.
///
/// ```
/// use guichet::native::ledger::{Changed, OrderState};
/// use guichet::native::{Buyer, Purchase, Reason, Refused, Shop};
/// use guichet::operations::{CreatePaymentIntent, CustomerName};
/// use guichet::values::{Amount, MerchantReference};
/// use http::request::Parts;
/// use serde_json::Value;
///
/// # struct Orders;
/// # impl Orders {
/// #     async fn belongs_to(&self, _: &str, _: &Buyer) -> Result<bool, Refused> { Ok(true) }
/// #     async fn store(&self, _: &str, _: bool, _: i64) -> Result<(), Refused> { Ok(()) }
/// # }
/// struct Shoes(Orders);
///
/// impl Shop for Shoes {
///     async fn buyer(&self, request: &Parts) -> Result<Option<Buyer>, Refused> {
///         Ok(request.extensions.get::<Buyer>().cloned()) // as a layer has put it there
///     }
///     async fn purchase(&self, buyer: &Buyer, order: Value) -> Result<Purchase, Refused> {
///         let missing = || Refused::new(404, Reason { code: "order_missing", message: "There is no such order." });
///         let (id, email) = order["id"].as_str().zip(buyer.verified_email.clone()).ok_or_else(missing)?;
///         if !self.0.belongs_to(id, buyer).await? {
///             return Err(missing());
///         }
///         let name = MerchantReference::new(format!("ORDER-{id}")).map_err(Refused::broken)?;
///         let awa = CustomerName { firstname: "Awa", lastname: "Ngono" };
///         Ok(CreatePaymentIntent::new(name, Amount::units(45_000), "A pair of shoes", awa).email(email).into())
///     }
///     async fn order_changed(&self, changed: &Changed) -> Result<(), Refused> {
///         // UPDATE … WHERE id = $1 AND version < $3
///         self.0.store(&changed.name, changed.state == OrderState::Paid, changed.version).await
///     }
/// }
/// ```
pub trait Shop: Send + Sync + 'static {
    /// Who sends a request, from its cookies or from what a layer has put into its extensions. `None` if nobody is
    /// signed in and no guest may buy: the routes then answer 401.
    fn buyer(&self, request: &Parts) -> impl Future<Output = Result<Option<Buyer>, Refused>> + Send;

    /// What the order that a page names is and costs: the JSON value that the page gave to `checkout`, or the fields of
    /// its form.
    ///
    /// It is asked on every click and changes nothing. The order's name is always used; its price and its customer are
    /// where the next payment begins, and are the shop's: the page supplies only which order. Another owner's order is
    /// refused like an unknown one, with 404.
    fn purchase(&self, buyer: &Buyer, order: Value) -> impl Future<Output = Result<Purchase, Refused>> + Send;

    /// Stores what an order has become: the whole of it. An order becomes paid here and nowhere else.
    ///
    /// It comes at least once, in no promised order, and from several servers: store it by one conditional statement,
    /// and ignore a `version` that the order has passed. An error brings it again.
    fn order_changed(&self, changed: &Changed) -> impl Future<Output = Result<(), Refused>> + Send;
}

/// A shared shop is a shop.
impl<S: Shop> Shop for std::sync::Arc<S> {
    async fn buyer(&self, request: &Parts) -> Result<Option<Buyer>, Refused> {
        S::buyer(self, request).await
    }
    async fn purchase(&self, buyer: &Buyer, order: Value) -> Result<Purchase, Refused> {
        S::purchase(self, buyer, order).await
    }
    async fn order_changed(&self, changed: &Changed) -> Result<(), Refused> {
        S::order_changed(self, changed).await
    }
}
