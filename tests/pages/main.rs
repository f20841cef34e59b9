//! The pages, in real browsers: the shop, the hosted page and every page that uses the package.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "a test fails by panicking, may read the clock, and exports nothing"
)]

mod accessible;
mod applications;
mod bookkeeper;
mod browser;
mod calls;
mod checkout;
mod example_page;
mod given;
mod hosted;
mod init;
mod inspector;
mod lost_network;
mod next;
mod npx_demo;
mod own_checkout;
mod package;
mod popup;
mod purchase;
mod react;
mod readme;
mod returning;
mod rust_page;
mod sandbox_issuer_page;
mod servers;
mod soak;
mod troubles;
mod vue;
mod waiting;
mod wire;
mod without_script;

#[path = "../support/mod.rs"]
mod support;
