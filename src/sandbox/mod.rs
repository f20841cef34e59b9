//! The whole service on the developer's machine: sessions, payment intents, fees, customers, plans, subscriptions with
//! billing, eSIMs, the hosted checkout page, and a control API for tests.
//!
//! ```text
//! /v1/…        the service, as documented and decided
//! /checkout/…  the hosted checkout page, which uses the npm package like any page
//! /sandbox/…   the control API: merchants, their clocks, and faults
//! /            a page that says so
//! ```
//!
//! A request passes through `http` (finds the operation), `auth` (authenticates and authorizes), `service` (loads, applies a rule,
//! saves), `rules` (pure functions of the state) and `store` (memory, or SQLite). `replies` writes the response.
//!
//! [`InProcess`] is the service as a function from request to response, also for wasm32. With the feature `sandbox-serve`, `Sandbox` is
//! the same on a port of this machine; with `sandbox-sqlite`, it can keep everything in a database file, and with
//! `sandbox-postgres` in PostgreSQL.

mod auth;
mod clock;
mod config;
mod control;
mod control_fields;
mod events;
mod faults;
mod http;
mod in_process;
#[cfg(all(target_arch = "wasm32", feature = "sandbox-js"))]
pub(crate) mod js;
mod keys;
mod openapi;
mod pages;
mod problem;
mod replies;
mod requests;
mod rules;
#[cfg(feature = "sandbox-serve")]
mod serve;
mod service;
mod store;
mod surroundings;
#[cfg(feature = "sandbox-serve")]
mod tenant;
mod tokens;

#[doc(hidden)]
pub use clock::WallClock;
pub use config::{Config, StartError};
pub use events::Event;
pub use faults::{Fault, FaultKind};
#[cfg(feature = "cli")]
pub(crate) use http::json_errors;
pub use in_process::{Dropped, InProcess};
pub use openapi::openapi;
pub use requests::Request;
#[cfg(feature = "sandbox-serve")]
pub use serve::Sandbox;
pub use store::Unavailable;
pub use surroundings::{Sleep, Surroundings};
#[cfg(feature = "sandbox-serve")]
pub use tenant::{Clock, Tenant};
