//! The client of a page, on wasm32: `async fn`s over the browser's own `fetch`, timers, channels and storage.
//!
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

pub use self::client::{Call, CheckoutCall, Client, ClientBuilder, Outcome, Quote, QuoteRequest, Return, Session};
