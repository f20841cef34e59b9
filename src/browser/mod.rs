//! The client of a page, on wasm32: `async fn`s over the browser's own `fetch`, timers, channels and storage.
//!
//! ```ignore
//! let guichet = guichet::browser::Client::builder("https://api.example.com").merchant("/guichet").build()?;
//! let methods = guichet.list_payment_methods(&ListPaymentMethods::new()).await?;
//! let quotes = guichet.quotes(&QuoteRequest::new(amount).fee_bearer(FeeBearer::Customer)).await?;
//! let outcome = guichet.checkout(&order).popup().await?; // in a click
//! ```
//!
//! - [`Client`]: the documented Rust API. Outputs are decoded here and nowhere else.
//! - `core`: every behaviour, written once. It returns the service's own JavaScript objects, and decodes none of them.
//! - `js`: what the npm package's JavaScript calls (features `js-page` and `js-hosted`): exports, promises, errors.
//!
//! A call is a future. Dropping it cancels the call: its request, timers, listeners and channels undo themselves in
//! `Drop`.

mod client;
mod core;
mod decode;
pub(crate) use self::core::get_text;
#[cfg(any(feature = "js-page", feature = "js-hosted"))]
mod js;

pub use self::client::{Call, CheckoutCall, Client, ClientBuilder, Outcome, Quote, Return, Session};
pub use crate::flow::QuoteRequest;
