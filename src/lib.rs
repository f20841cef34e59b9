#![cfg_attr(doc_labels, feature(doc_cfg))]
//! A payments client for mobile money and cards, XAF and Cameroon first. A *guichet* is a ticket window: customers stand in front of
//! it, the cash box stays behind it.
//!
//! | part | feature | who uses it | credential |
//! |---|---|---|---|
//! | `native` | `native`; `axum` adds the merchant's three routes and the guard of its API | the merchant's server | the secret key |
//! | `browser` | `browser` (wasm32) | a page in Rust; the npm package `guichet` is made of it | a customer's session token, or one intent's client secret |
//! | the service's half of an operation | `service` | those who build a service, such as the crate `guichet-sandbox` | |
//!
//! The merchant's server creates a payment, sends the customer to its `checkout_url`, and ships once the payment has succeeded:
//!
//! ```
//! # #[cfg(feature = "native")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let sandbox = guichet_sandbox::Sandbox::start().await?;
//! # let (base_url, key) = (sandbox.base_url(), sandbox.secret_key().expose());
//! use guichet::operations::{CreatePaymentIntent, CustomerName};
//! use guichet::values::{Amount, Email, IntentStatus, MerchantReference};
//! use guichet::{Client, SecretKey};
//!
//! let client = Client::builder(base_url, SecretKey::new(key)?).build()?;
//! let awa = CustomerName { firstname: "Awa", lastname: "Ngono" };
//! let order = CreatePaymentIntent::new(MerchantReference::new("ORDER-17")?, Amount::units(45_000), "A pair of shoes", awa)
//!     .email(Email::new("awa@example.com")?);
//! let intent = client.create_payment_intent(&order).await?;
//! assert!(intent.checkout_url.is_some());
//! assert_ne!(client.read_payment_intent(&intent.id).await?.status, IntentStatus::Succeeded, "nobody has paid yet");
//! # Ok(()) }
//! # #[cfg(not(feature = "native"))]
//! # fn main() {}
//! ```
//!
//! Its modules; each imports only from those before it in this list:
//!
//! - [`values`]: the values of the interface, each checked when it is made.
//! - [`protocol`]: what an operation is and how one call goes. No socket, no clock, no async.
//! - [`operations`]: the interface, declared once.
//! - [`flow`]: what a paying page must decide, as pure functions.
//! - `browser` and `native`: the two clients.

#[cfg(all(target_arch = "wasm32", feature = "native-no-provider"))]
compile_error!(
    "feature `native` holds the merchant's secret key and does not exist in a browser: build wasm32 without it"
);

pub mod flow;
pub mod operations;
mod platform;
pub mod protocol;
pub mod values;

/// For the packages of this project: what a merchant uses of it is in `native`.
#[cfg(feature = "shop")]
#[doc(hidden)]
pub mod shop;

#[cfg(feature = "browser")]
#[cfg_attr(doc_labels, doc(cfg(feature = "browser")))]
pub mod browser;

#[cfg(all(feature = "native-no-provider", not(target_arch = "wasm32")))]
#[cfg_attr(doc_labels, doc(cfg(feature = "native")))]
pub mod native;
#[cfg(all(feature = "native-no-provider", not(target_arch = "wasm32")))]
#[cfg_attr(doc_labels, doc(cfg(feature = "native")))]
pub use native::{Client, SecretKey};
