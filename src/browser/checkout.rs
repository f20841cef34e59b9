//! A checkout that a Rust page starts.

use super::client::{Client, Outcome};
use super::engine::{Order, Popup};
use crate::protocol::Error;
use serde::Serialize;
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;

/// A checkout. It starts when it is awaited.
///
/// ```no_run
/// # async fn pay(guichet: guichet::browser::Client, order: std::collections::BTreeMap<String, String>) -> Result<(), guichet::protocol::Error> {
/// let outcome = guichet.checkout(&order).popup().await?; // `popup` in the click itself
/// # let _ = outcome;
/// # Ok(()) }
/// ```
#[must_use = "a checkout begins when it is awaited"]
pub struct CheckoutCall {
    client: Client,
    order: Result<Order, Error>,
    popup: Option<Rc<Popup>>,
    in_top: bool,
}

impl CheckoutCall {
    pub(super) fn new<T: Serialize>(client: &Client, order: &T) -> Self {
        Self { client: client.clone(), order: Order::new(order), popup: None, in_top: false }
    }

    /// Pays in a second window. Call this in the click itself: it opens the window at once, and browsers block a window
    /// that opens later. If the browser blocks it, the customer is redirected. If an equal order has an open popup,
    /// that one is brought to the front. The window closes when the checkout ends or is dropped.
    pub fn popup(self) -> Self {
        let popup = self.order.as_ref().ok().and_then(|order| self.client.engine.popup(order));
        Self { popup, ..self }
    }

    /// Goes to the checkout in the whole tab, if the page is in a frame: a frame of another origin shows no checkout
    /// page, and the call fails with [`Kind::Unsupported`](crate::protocol::Kind::Unsupported).
    pub fn in_top(self) -> Self {
        Self { in_top: true, ..self }
    }
}

impl IntoFuture for CheckoutCall {
    type Output = Result<Outcome, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output>>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { client, order, popup, in_top } = self;
            client.engine.checkout(order?, popup.as_deref(), in_top, client.timeout).await
        })
    }
}

impl fmt::Debug for CheckoutCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckoutCall").field("popup", &self.popup.is_some()).finish_non_exhaustive()
    }
}
