//! The client of a page: `async fn`s over the browser's own `fetch`, timers, channels and storage.
//!
//! ```no_run
//! use guichet::browser::{Client, QuoteRequest};
//! use guichet::operations::{ListPaymentMethods, PaymentMethod};
//! use guichet::values::{Amount, FeeBearer};
//!
//! # async fn pay(order: std::collections::BTreeMap<String, String>) -> Result<(), guichet::protocol::Error> {
//! let guichet = Client::builder("https://api.example.com").merchant("/guichet").build()?;
//! let methods: Vec<PaymentMethod> = guichet.list_payment_methods(&ListPaymentMethods::new()).await?;
//! let quotes = guichet.quotes(&QuoteRequest::new(Amount::units(5_000)).fee_bearer(FeeBearer::Customer)).await?;
//! guichet.session().validate().await?; // dropping the future cancels the call
//! let outcome = guichet.checkout(&order).popup().await?; // `popup` in the click itself
//! # let _ = (methods, quotes, outcome);
//! # Ok(()) }
//! ```
//!
//! The client works on wasm32. Elsewhere it has the same interface, so that a page that a server renders needs no
//! `cfg`: there is no page then, and every call fails with [`Kind::Unsupported`](crate::protocol::Kind::Unsupported).
//!
//! - [`Client`]: the documented Rust API, over an `engine`: `page` on wasm32, which alone decodes outputs, and
//!   `no_page` elsewhere.
//! - `core`: all behaviour. It returns the service's own JavaScript objects, and decodes none of them.
//! - `js`: the exports for the npm package's JavaScript (features `js-page` and `js-hosted`): classes, promises,
//!   errors.
//!
//! A call is a future. Dropping it cancels the call: `Drop` cancels its request and removes its timers, listeners and
//! channels.

mod builder;
mod checkout;
mod client;
#[cfg(target_arch = "wasm32")]
mod core;
#[cfg(all(target_arch = "wasm32", any(feature = "js-page", feature = "js-hosted")))]
mod js;
#[cfg(not(target_arch = "wasm32"))]
mod no_page;
#[cfg(not(target_arch = "wasm32"))]
use no_page as engine;
#[cfg(target_arch = "wasm32")]
mod page;
#[cfg(target_arch = "wasm32")]
use page as engine;
mod session;

pub use self::builder::{Call, ClientBuilder};
pub use self::checkout::CheckoutCall;
pub use self::client::{Client, Outcome, Quote, Return};
pub use self::session::Session;
pub use crate::flow::{LateApproval, Match, OutcomeState, Price, Purchase, QuoteRequest, State};

#[cfg(all(test, target_arch = "wasm32"))]
wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);

/// How methods and fees are read.
#[derive(Clone, Copy, Eq, PartialEq)]
enum PublicReads {
    /// With the session's token.
    Session,
    /// Without a credential.
    Anonymous,
    /// By the merchant's server, with its key.
    Merchant,
}
