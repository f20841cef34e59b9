//! The exports for the npm package's JavaScript: classes whose methods return promises. Replies are passed on
//! unchanged; serde writes the objects that are created here.
#![allow(unnameable_types, unreachable_pub, reason = "wasm-bindgen exports what is `pub`; Rust does not name it")]

mod error;
#[cfg(feature = "js-hosted")]
mod hosted;
mod inputs;
mod options;
#[cfg(feature = "js-page")]
mod page;
mod promise;
mod quotes;

pub(in crate::browser) use promise::Watched;

use lol_alloc::{FreeListAllocator, LockedAllocator};

/// The smallest allocator that reuses memory. Its spin lock costs nothing on one thread. dlmalloc takes 2.6 KB brotli
/// more.
#[global_allocator]
static ALLOCATOR: LockedAllocator<FreeListAllocator> = LockedAllocator::new(FreeListAllocator::new());
