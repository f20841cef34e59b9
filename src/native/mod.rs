//! The merchant's server: the secret key, every operation, and the three routes that its own pages call.
//!
//! ```no_run
//! use guichet::operations::{CreatePaymentIntent, CustomerName};
//! use guichet::values::{Amount, Email, IntentStatus, MerchantReference};
//! use guichet::{Client, SecretKey};
//!
//! # async fn pay() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::builder("https://api.example.com", SecretKey::from_env("GUICHET_SECRET_KEY")?).build()?;
//! let awa = CustomerName { firstname: "Awa", lastname: "Ngono" };
//! let order = CreatePaymentIntent::new(MerchantReference::new("ORDER-17")?, Amount::units(45_000), "A pair of shoes", awa)
//!     .email(Email::new("awa@example.com")?);
//! let intent = client.create_payment_intent(&order).await?;
//! // Send the customer to `intent.checkout_url`; ship once `read_payment_intent` says `succeeded`, and on no other status.
//! let paid = client.read_payment_intent(&intent.id).await?.status == IntentStatus::Succeeded;
//! # let _ = paid;
//! # Ok(()) }
//! ```
//!
//! - [`Client`] sends operations; [`Client::customer`] sends those of one customer's session.
//! - `Routes` (feature `axum`) is the axum router of the merchant's three routes, for the merchant's implementation of
//!   [`Shop`].
//! - [`Ledger`] decides what happens to each order and its payments, over a store of orders such as those of the crate
//!   `guichet-orders`; [`Ledger::settle_due`] reads the payments of customers who never returned.
//! - [`Sessions`] keeps one valid session token per login, and [`SessionGuard`] admits requests with a valid token: a
//!   customer uses the merchant's own API as [`CustomerSession`]. The crate `guichet-sessions` keeps
//!   them in PostgreSQL or Redis, for a shop on several servers.
//! - [`Client::all`] follows a list through its pages.
//! - [`Client::quotes`] returns the price of each payment method, for the customer and for the merchant.

/// Opens an example of the documentation: `client` is a client of a sandbox, and `order(number)` an order. It ends with
/// `# Ok(()) }` and its closing fence.
macro_rules! example {
    () => {
        concat!(
            "```
# use guichet::{operations as made, values as of, Client, SecretKey};
# fn order(number: u32) -> Result<made::CreatePaymentIntent, of::Invalid> {
#     let awa = made::CustomerName { firstname: \"Awa\", lastname: \"Ngono\" };
#     let reference = of::MerchantReference::new(format!(\"ORDER-{number}\"))?;
#     let order = made::CreatePaymentIntent::new(reference, of::Amount::units(45_000), \"Shoes\", awa);
#     Ok(order.email(of::Email::new(\"awa@example.com\")?))
# }
# #[tokio::main(flavor = \"current_thread\")]
# async fn main() -> Result<(), Box<dyn std::error::Error>> {
# let sandbox = guichet_sandbox::Sandbox::start().await?;
# let client = Client::builder(sandbox.base_url(), SecretKey::new(sandbox.secret_key().expose())?).build()?;"
        )
    };
}
mod all;
mod bearer;
mod builder;
mod calls;
mod client;
mod clock;
mod customer;
mod http;
mod key;
pub mod ledger;
mod network;
mod quotes;
#[cfg(feature = "axum")]
mod reads;
mod reply;
mod return_key;
#[cfg(feature = "axum")]
mod routes;
mod sessions;
mod shop;
mod transport;

pub use crate::flow::QuoteRequest;
pub use crate::shop::{Buyer, Owner, Profile, Reason, Refused};
pub use all::All;
pub use builder::ClientBuilder;
pub use client::Client;
pub use customer::CustomerClient;
pub use http::install_crypto_provider;
pub use key::SecretKey;
pub use ledger::{Ledger, LedgerBuilder};
pub use quotes::Quote;
pub use reply::UnreadableReply;
pub use return_key::ReturnKey;
#[cfg(feature = "axum")]
#[cfg_attr(doc_labels, doc(cfg(feature = "axum")))]
pub use routes::Routes;
#[cfg(feature = "axum")]
#[cfg_attr(doc_labels, doc(cfg(feature = "axum")))]
pub use sessions::Guarded;
pub use sessions::{CustomerSession, KeepResult, KeptSession, MemoryStore, SessionGuard, SessionStore, Sessions};
pub use shop::{Purchase, Shop};
pub use transport::{Environment, Transport};

/// The HTTP library, whose types [`ClientBuilder`] takes.
pub use reqwest;
