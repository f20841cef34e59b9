//! The whole service on one's own machine: sessions, payment intents, fees, customers, plans, subscriptions that are
//! billed, eSIMs, the hosted checkout page, and a side door for the tester.
//!
//! ```text
//! /v1/…        the service, as the document and the decisions have it
//! /checkout/…  the hosted checkout page, which uses the npm package as any page would
//! /sandbox/…   the tester's side door: merchants, their clocks, and what is to go wrong
//! ```
//!
//! A request goes through `http` (its operation), `auth` (who asks), `service` (load, rule, save), `rules` (what
//! happens) and `store` (what is kept), and comes back through `replies`.

mod auth;
mod clock;
mod config;
mod control;
mod events;
mod faults;
mod http;
mod keys;
mod openapi;
mod pages;
mod problem;
mod replies;
mod requests;
mod rules;
mod serve;
mod service;
mod store;
mod tenant;
mod tokens;

#[doc(hidden)]
pub use clock::WallClock;
pub use config::{Config, StartError};
pub use events::Event;
pub use faults::{Fault, FaultKind};
pub use openapi::openapi;
pub use requests::Request;
pub use serve::Sandbox;
pub use store::Unavailable;
pub use tenant::{Clock, Tenant};
