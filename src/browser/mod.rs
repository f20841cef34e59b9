//! The browser's face: what JavaScript calls, and the steps that do what [`crate::flow`] decides.
//!
//! Rust decides, JavaScript opens doors. A call is a [`task::Task`]: a stack of [`task::Flow`]s, each a few synchronous
//! steps. JavaScript steps the task, opens the door that it asks for (`pkg-template/doors.js`), and tells it what came. It
//! owns no rule. No reply is decoded: the service's own object is kept, and read by name.
//!
//! Two modules are made of it, so that a shop's page does not load what pays: `page` for `guichet`, and with the feature
//! `hosted` that of `guichet/hosted`.

mod call;
mod doors;
mod error;
mod fetch;
mod inputs;
mod options;
mod quotes;
mod read;
mod task;

#[cfg(feature = "hosted")]
mod hosted;
#[cfg(not(feature = "hosted"))]
mod page;

use lol_alloc::{FreeListAllocator, LockedAllocator};

/// The smallest that gives memory back. A spin lock costs nothing where there is one thread.
#[global_allocator]
static ALLOCATOR: LockedAllocator<FreeListAllocator> = LockedAllocator::new(FreeListAllocator::new());
