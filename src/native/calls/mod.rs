//! The client's methods, one for each operation: one file per family, as in [`operations`](crate::operations).
//!
//! `tests/service/native/operations.rs` sends each of them to a sandbox.

mod customers;
mod esim;
mod intents;
mod methods;
mod plans;
mod sessions;
mod subscriptions;
