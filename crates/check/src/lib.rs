#![cfg_attr(doc_labels, feature(doc_cfg))]
//! The rules of `guichet check`: it tests a merchant's shop as a customer, without a login, and over a failing network,
//! and says which rules the shop keeps.
//!
//! For the tests of a shop in Rust: the shop is an address, or a function from request to response such as a clone of
//! an axum router. At a terminal it is `guichet check`, in JavaScript the npm package `guichet-sandbox`.
//!
//! ```
//! # #[cfg(feature = "native")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use axum::Router;
//! use guichet_check::{LocalService, Shop, check, options::Options};
//! use tower_service::Service as _;
//!
//! // Give your shop `service.base_url()` and `service.secret_key()`.
//! let service = LocalService::start(([127, 0, 0, 1], 0).into()).await?;
//! let router = Router::<()>::new(); // your shop; this one has none of the three routes
//! let mut options = Options::new("https://shop.example")?;
//! options.orders.push(serde_json::json!({ "id": "17" }));
//! # options.wait = std::time::Duration::ZERO;
//!
//! let shop = Shop::function(move |request| router.clone().call(request));
//! let why = check(shop, options, &service).await.expect_err("otherwise a `Report` of every rule");
//! assert!(why.to_string().starts_with("The shop has no routes at https://shop.example/guichet"), "{why}");
//! # Ok(()) }
//! # #[cfg(not(feature = "native"))]
//! # fn main() {}
//! ```
//!
//! | feature | adds |
//! |---|---|
//! | `native` | `check`, on this machine: HTTP, the shell and a port. Its TLS is rustls with aws-lc-rs |
//! | `native-no-provider` | the same, where the application installs a crypto provider of rustls |
//! | `clap` | the options as the arguments of a command |
//!
//! No feature is on by default: the rules alone compile for wasm32. Rust 1.95 or newer.
//!
//! The shop talks to a [`Service`]: a sandbox behind a recorder that can change, withhold and refuse replies. The rules
//! talk to the shop through an [`Environment`] alone.

mod catalog;
mod check;
mod environment;
mod foreign_names;
mod json;
mod leaks;
#[cfg(feature = "native-no-provider")]
mod native;
pub mod options;
mod outcome;
mod page_files;
mod report;
mod rules;
mod service;
mod shop;

pub use catalog::{Rule, Selection};
pub use check::Check;
pub use environment::{Boxed, CommandError, Environment, Request, Response, SendError};
#[cfg(feature = "native-no-provider")]
#[cfg_attr(doc_labels, doc(cfg(feature = "native")))]
pub use native::{LocalService, NotRun, Shop, check, prepare};
pub use report::{Report, RuleReport, instructions, progress};
pub use service::Service;
