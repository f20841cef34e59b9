//! A payments client for mobile money and cards, XAF and Cameroon first.
//!
//! A *guichet* is a ticket window: customers stand in front of it, the cash box stays behind it.
//!
//! | face | who uses it | credential |
//! |---|---|---|
//! | the npm package `guichet` (this crate, compiled to wasm32) | pages | a customer's session token, or one intent's client secret |
//! | `native` (feature `native`) | the merchant's server | the secret key |
//! | `sandbox` (feature `sandbox`) | anyone who builds or tests | issues all three |
//!
//! The promise that everything else serves: **the secret key never reaches a browser, and a customer who pays once is
//! charged once.** Ship goods on your server's word, never on the browser's outcome.
//!
//! # The map
//!
//! Floors, lowest first; a room imports only from below.
//!
//! - [`values`]: the words of the interface, each checked at its door.
//! - [`protocol`]: what an operation is and how one call goes. No socket, no clock, no async.
//! - [`operations`]: the interface, written once.
//! - [`flow`]: what a paying page must decide, as pure functions.
//! - `browser` (wasm32), `native`, `sandbox`: the three faces, never sideways.
//! - `demo`: the shop of `guichet demo`; `terminal`: the `guichet` command.

#[cfg(all(target_arch = "wasm32", feature = "native"))]
compile_error!(
    "feature `native` holds the merchant's secret key and does not exist in a browser: build wasm32 without it"
);
#[cfg(all(target_arch = "wasm32", feature = "sandbox"))]
compile_error!("feature `sandbox` is a server and does not exist in a browser: build wasm32 without it");

#[cfg(any(feature = "native", feature = "sandbox"))]
mod encoding;
pub mod flow;
pub mod operations;
#[cfg(feature = "sandbox")]
mod package;
mod platform;
#[cfg(all(feature = "sandbox", not(target_arch = "wasm32")))]
mod private_file;
pub mod protocol;
#[cfg(all(feature = "sandbox", not(target_arch = "wasm32")))]
mod server;
pub mod values;

#[cfg(all(target_arch = "wasm32", feature = "browser"))]
pub mod browser;

#[cfg(all(feature = "native", not(target_arch = "wasm32")))]
pub mod native;
#[cfg(all(feature = "native", not(target_arch = "wasm32")))]
pub use native::{Client, SecretKey};

#[cfg(all(feature = "sandbox", not(target_arch = "wasm32")))]
pub mod sandbox;

#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub mod demo;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub mod terminal;

/// What the README shows in Rust, run with the tests of the documentation.
#[cfg(all(doctest, feature = "native"))]
#[doc = include_str!("../README.md")]
pub struct Readme;
