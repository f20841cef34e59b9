//! The exports for the npm package's JavaScript: classes whose methods return promises. Replies are passed on
//! unchanged.
#![allow(unnameable_types, unreachable_pub, reason = "wasm-bindgen exports what is `pub`; Rust does not name it")]

#[cfg(feature = "js-hosted")]
mod hosted;
mod inputs;
mod options;
#[cfg(feature = "js-page")]
mod page;
mod promise;
mod quotes;

use lol_alloc::{FreeListAllocator, LockedAllocator};

/// The smallest allocator that reuses memory. Its spin lock costs nothing on one thread. dlmalloc takes 2.6 KB brotli
/// more.
#[global_allocator]
static ALLOCATOR: LockedAllocator<FreeListAllocator> = LockedAllocator::new(FreeListAllocator::new());
