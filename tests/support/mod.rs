//! Shared by both test binaries.
#![allow(dead_code, unused_imports, unused_macros, reason = "each test binary uses a part of it")]

pub mod api;
pub mod browser;
pub mod engine;
pub mod evidence;
pub mod firefox;
pub mod folder;
pub mod golden;
pub mod http;
pub mod line;
pub mod market;
pub mod model;
pub mod openapi;
pub mod port;
pub mod process;
pub mod service;
pub mod site;
pub mod soak;
pub mod storefront;
pub mod subscriptions;

/// The folder of the npm tools: `GUICHET_NPM_TOOLS`, or where `cargo xtask test` installs them.
pub fn npm_tools() -> std::path::PathBuf {
    let locked = || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("target/npm-tools");
    std::env::var_os("GUICHET_NPM_TOOLS").map_or_else(locked, Into::into)
}
