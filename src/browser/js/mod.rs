//! What the npm package's JavaScript calls: classes whose methods return promises. Replies cross untouched; what is made
//! here is written by serde.
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

/// The smallest allocator that reuses memory. Its spin lock is free on one thread. dlmalloc weighs 2.6 KB brotli more.
#[global_allocator]
static ALLOCATOR: LockedAllocator<FreeListAllocator> = LockedAllocator::new(FreeListAllocator::new());
