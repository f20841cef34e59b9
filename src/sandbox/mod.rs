//! The whole service on one's own machine: sessions, payment intents, fees, the hosted checkout page, and a side door
//! for the tester.
//!
//! ```text
//! /v1/…        the service, as the document and the decisions have it
//! /checkout/…  the hosted checkout page, which uses the npm package as any page would
//! /sandbox/…   the tester's side door: merchants and their clocks
//! ```
//!
//! A request goes through `mount` (its operation), `admit` (who asks), `desk` (load, rule, save), `rules` (what
//! happens) and `store` (what is kept), and comes back through `replies`.

mod admit;
mod clock;
mod config;
mod controls;
mod desk;
mod keys;
mod mount;
mod pages;
mod problem;
mod replies;
mod rules;
mod serve;
mod store;
mod tenant;
mod tokens;

pub use config::{Config, StartError};
pub use serve::Sandbox;
pub use store::Unavailable;
pub use tenant::{Clock, Tenant};
