//! What the tests of both binaries share.
#![allow(dead_code, unused_imports, unused_macros, reason = "each test binary uses a part of it")]

pub mod asking;
pub mod browser;
pub mod described;
pub mod engine;
pub mod firefox;
pub mod folder;
pub mod http;
pub mod line;
pub mod market;
pub mod port;
pub mod process;
pub mod service;
pub mod site;
pub mod storefront;
pub mod subscribing;
