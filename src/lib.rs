#![cfg_attr(doc_labels, feature(doc_cfg))]
//! A payments client for mobile money and cards, XAF and Cameroon first: for a merchant's server with the secret key,
//! and for a shop's page in Rust. The secret key never reaches a browser, and a customer who pays once is charged once.
//!
//! The merchant's server creates a payment, sends the customer to its `checkout_url`, and ships once the payment has
//! succeeded:
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
//! No feature is on by default. Rust 1.95 or newer.
//!
//! | feature | who uses it | adds |
//! |---|---|---|
//! | `native` | a merchant's server | `native`: the secret key, every operation, `settle`; its TLS is rustls with aws-lc-rs |
//! | `native-no-provider` | the same, where the application installs a crypto provider of rustls | the same without aws-lc-rs |
//! | `axum` | the same, on axum | the merchant's three routes (`Routes`), and the guard of its own API (`CustomerSession`) |
//! | `browser` | a page in Rust, on wasm32 | `browser`: the client of the npm package `guichet`, with a customer's session token |
//! | `service` | those who build a service, such as the crate `guichet-sandbox` | the service's half of each operation |
//!
//! The guides are in the [repository](https://github.com/guichet-pay/guichet#i-am): a server in Rust, a page in Rust,
//! testing, the merchant's duties. `guichet-sandbox` is the service for tests, `guichet-sessions` keeps sessions on
//! several servers.
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

#[macro_use]
mod service;

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
