//! The Rust code of the documents, which runs as documentation tests.

#[doc = include_str!("../../README.md")]
mod readme {}
#[doc = include_str!("../../docs/rust.md")]
mod rust {}
#[doc = include_str!("../../docs/rust-page.md")]
mod rust_page {}
#[doc = include_str!("../../docs/several-servers.md")]
mod several_servers {}
#[doc = include_str!("../../docs/testing.md")]
mod testing {}
