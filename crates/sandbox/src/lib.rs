#![cfg_attr(doc_labels, feature(doc_cfg))]
//! A payment service on the developer's machine, to build and test against: sessions, payment intents, fees, customers,
//! plans, subscriptions with billing, eSIMs, the hosted checkout page, and a control API for tests. No real money
//! moves.
//!
//! ```
//! # #[cfg(feature = "serve")] tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use guichet_sandbox::Sandbox;
//!
//! let sandbox = Sandbox::start().await?; // on a free port, everything in memory
//! let shop = sandbox.merchant().await?; // one per test: its own key, clock and payments
//! assert!(shop.base_url().starts_with("http://127.0.0.1:"));
//! assert!(shop.secret_key().expose().starts_with("sk_test_"));
//! sandbox.stop().await;
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```
//!
//! For developers and testers of a shop, in any language over its port, and in Rust as above. Rust 1.95 or newer.
//!
//! | feature | adds |
//! |---|---|
//! | none | [`InProcess`]: a function from request to response, in memory, also for wasm32 |
//! | `serve` | `Sandbox`: the same on a port of this machine |
//! | `sqlite` | a database file, which outlives the sandbox |
//! | `contract` | for those who write another backend, its tests: [`store`] |
//!
//! ```text
//! /v1/…        the service, as documented and decided
//! /checkout/…  the hosted checkout page, which uses the npm package like any page
//! /sandbox/…   the control API: merchants, their clocks, and faults
//! /inspector   a page over the control API: each payment as one thread
//! /            a page that says what runs here
//! ```
//!
//! A request passes through `http` (finds the operation), `auth` (authenticates and authorizes), `service` (loads,
//! applies a rule, saves), `rules` (pure functions of the state) and `store` (memory, SQLite, or another crate's).
//! `replies` writes the response.

mod auth;
mod caller;
mod clock;
mod config;
mod control;
mod events;
mod faults;
mod http;
mod in_process;
mod inspector;
mod keys;
mod open;
mod openapi;
mod package;
mod pages;
mod private_file;
mod problem;
mod profile;
mod redact;
mod replies;
mod requests;
mod rules;
#[cfg(feature = "serve")]
mod serve;
mod server;
mod service;
mod start_error;
pub mod store;
mod surroundings;
#[cfg(feature = "serve")]
mod tenant;
mod tokens;
mod unavailable;
mod words;

#[doc(hidden)]
pub use clock::WallClock;
pub use config::Config;
pub use control::{Call as ControlCall, LONGEST_NAME};
pub use events::Event;
pub use faults::{AddFaultError, Fault, FaultKind};
pub use http::json_errors;
pub use in_process::InProcess;
pub use openapi::openapi;
pub use package::Package;
pub use profile::{Documented, ReplyByProfile};
pub use requests::{Delivery, Request};
#[cfg(feature = "serve")]
pub use serve::Sandbox;
pub use server::Dropped;
#[cfg(feature = "serve")]
pub use server::serve;
pub use start_error::StartError;
pub use surroundings::{Sleep, Surroundings};
#[cfg(feature = "serve")]
pub use tenant::{Clock, Handset, HandsetError, Tenant};
pub use unavailable::Unavailable;
