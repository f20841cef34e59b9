//! What the tests that drive a real browser share.

#![allow(dead_code, reason = "each test binary uses a part of it")]

pub mod browser;
pub mod engine;
pub mod line;
pub mod site;
pub mod storefront;
