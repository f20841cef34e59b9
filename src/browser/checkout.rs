//! A checkout that a Rust page starts.

use super::client::{Client, Outcome};
use super::core::{CallError, Checkout, check_no_secret_key_in, check_page, stringify, write};
use super::popup::Popup;
use crate::protocol::Error;
use serde::Serialize;
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use wasm_bindgen::JsValue;

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
    order: Result<Order, CallError>,
    popup: Option<Rc<Popup>>,
}

/// The order for which the merchant's server creates an intent.
struct Order {
    value: JsValue,
    json: String,
}

impl Order {
    fn new<T: Serialize>(order: &T) -> Result<Self, CallError> {
        let value = write(order);
        let Some(json) = stringify(&value) else {
            return Err(CallError::field("order", "It is sent to your server as JSON, and cannot be written as JSON."));
        };
        check_no_secret_key_in(&json)?;
        Ok(Self { value, json })
    }
}

impl CheckoutCall {
    pub(super) fn new<T: Serialize>(client: &Client, order: &T) -> Self {
        Self { client: client.clone(), order: Order::new(order), popup: None }
    }

    /// Pays in a second window. Call this in the click itself: it opens the window at once, and browsers block a window
    /// that opens later. If the browser blocks it, the customer is redirected. If an equal order has an open popup,
    /// that one is brought to the front. The window closes when the checkout ends or is dropped.
    pub fn popup(self) -> Self {
        let popup = self.order.as_ref().ok().and_then(|order| self.client.popups.open(&order.json));
        Self { popup, ..self }
    }
}

impl IntoFuture for CheckoutCall {
    type Output = Result<Outcome, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output>>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { client, order, popup } = self;
            check_page("checkout")?;
            let Order { value: order, json } = order?;
            let (outcome, options) = (client.outcome_options(true), client.options());
            let window = popup.as_ref().and_then(|popup| popup.take());
            let found = client.shop.checkout(Checkout { order, json, popup: window, outcome, options }).await?;
            Ok(found.into())
        })
    }
}

impl fmt::Debug for CheckoutCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckoutCall").field("popup", &self.popup.is_some()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use js_sys::Function;
    use wasm_bindgen_test::wasm_bindgen_test;

    #[wasm_bindgen_test]
    fn an_order_has_one_popup_which_closes_with_the_last_who_waits() {
        count_open_windows();
        let client = Client::builder("https://api.example.com").merchant("/guichet").build().expect("it is an address");
        let [order, other] = ["17", "18"].map(|id| std::collections::BTreeMap::from([("id", id)]));
        let first = client.checkout(&order).popup();
        let second = client.clone().checkout(&order).popup();
        assert_eq!(open_windows(), 1, "one order, one popup");
        let third = client.checkout(&other).popup();
        assert_eq!(open_windows(), 2);
        drop(first);
        assert_eq!(open_windows(), 2, "the second call still uses it");
        drop((second, third));
        assert_eq!(open_windows(), 0, "no checkout, no window");
        drop(client.checkout(&order).popup().into_future());
        assert_eq!(open_windows(), 0);
    }

    #[wasm_bindgen_test]
    async fn an_order_that_cannot_be_sent_opens_no_window_and_is_refused() {
        count_open_windows();
        let client = Client::builder("https://api.example.com").build().expect("it is an address");
        let kind = |result: Result<Outcome, Error>| result.err().map(|error| error.kind());
        assert_eq!(kind(client.checkout(&()).popup().await), Some(crate::protocol::Kind::Input));
        assert_eq!(kind(client.checkout(&"sk_test_123456").popup().await), Some(crate::protocol::Kind::SecretKey));
        assert_eq!(open_windows(), 0);
    }

    fn count_open_windows() {
        run("globalThis.windows = []; const open = globalThis.realOpen ??= window.open.bind(window);
             window.open = (...how) => { const popup = open(...how); windows.push(popup); return popup; }");
    }

    fn open_windows() -> u32 {
        run("return windows.filter((popup) => popup?.closed === false).length").as_f64().map_or(0, |count| count as u32)
    }

    fn run(script: &str) -> JsValue {
        Function::new_no_args(script).call0(&JsValue::UNDEFINED).expect("the script does not throw")
    }
}
