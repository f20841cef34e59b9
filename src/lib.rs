#![cfg_attr(doc_labels, feature(doc_cfg))]
#![cfg_attr(feature = "axum", doc = include_str!("../README.md"))]
#![cfg_attr(
    not(feature = "axum"),
    doc = "A payments client for mobile money and cards, XAF and Cameroon first. All features together show the README here."
)]
//!
//! # The crate
//!
//! | face | feature | who uses it | credential |
//! |---|---|---|---|
//! | the npm package `guichet`, and `browser` for Rust pages | `browser` (wasm32) | pages | a customer's session token, or one intent's client secret |
//! | `native` | `native`; `axum` adds the merchant's routes and the guard, `sessions-postgres` and `sessions-redis` stores for several servers | the merchant's server | the secret key |
//! | `sandbox` | `sandbox`; `sandbox-serve` adds a port, `sandbox-sqlite` a database | anyone who builds or tests | issues all three |
//!
//! Layers, lowest first; a module imports only from below:
//!
//! - [`values`]: the values of the interface, each checked when it is made.
//! - [`protocol`]: what an operation is and how one call goes. No socket, no clock, no async.
//! - [`operations`]: the interface, declared once.
//! - [`flow`]: what a paying page must decide, as pure functions.
//! - `browser` (wasm32), `native`, `sandbox`: the three faces, never sideways.
//! - `demo`: the shop of `guichet demo`; `check`: the rules of `guichet check`; `terminal`: the `guichet` command.

#[cfg(all(target_arch = "wasm32", feature = "native-no-provider"))]
compile_error!(
    "feature `native` holds the merchant's secret key and does not exist in a browser: build wasm32 without it"
);
#[cfg(all(target_arch = "wasm32", feature = "sandbox-serve"))]
compile_error!("feature `sandbox-serve` listens on a port, which wasm32 cannot: build wasm32 with `sandbox` alone");
#[cfg(all(target_arch = "wasm32", feature = "sandbox", feature = "browser"))]
compile_error!("features `sandbox` and `browser` are two programs on wasm32: build each by itself");

#[cfg(any(all(feature = "cli", not(target_arch = "wasm32")), all(feature = "sandbox-js", target_arch = "wasm32")))]
mod check;
#[cfg(any(feature = "native-no-provider", feature = "sandbox"))]
mod encoding;
pub mod flow;
pub mod operations;
#[cfg(feature = "sandbox")]
mod package;
mod platform;
#[cfg(any(feature = "sandbox", feature = "sessions-postgres"))]
mod postgres_address;
#[cfg(any(feature = "sandbox-postgres", feature = "sandbox-sqlite"))]
mod private_file;
pub mod protocol;
#[cfg(feature = "sandbox")]
mod server;
pub mod values;

#[cfg(all(any(target_arch = "wasm32", docsrs), feature = "browser"))]
#[cfg_attr(doc_labels, doc(cfg(all(feature = "browser", target_arch = "wasm32"))))]
pub mod browser;

#[cfg(all(feature = "native-no-provider", not(target_arch = "wasm32")))]
#[cfg_attr(doc_labels, doc(cfg(feature = "native")))]
pub mod native;
#[cfg(all(feature = "native-no-provider", not(target_arch = "wasm32")))]
#[cfg_attr(doc_labels, doc(cfg(feature = "native")))]
pub use native::{Client, SecretKey};

#[cfg(feature = "sandbox")]
pub mod sandbox;

#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub mod demo;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub mod terminal;
