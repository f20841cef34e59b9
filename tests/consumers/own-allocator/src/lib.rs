//! A module with exports and an allocator of its own. guichet adds none of either.

use guichet::browser::Client;
use guichet::operations::ListPaymentMethods;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU32, Ordering};
use wasm_bindgen::prelude::*;

#[global_allocator]
static ALLOCATOR: Counting = Counting(AtomicU32::new(0));

struct Counting(AtomicU32);

// SAFETY: it hands everything to `System`.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.0.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// How many payment methods the service has.
#[wasm_bindgen]
pub async fn count_methods(base_url: String) -> Result<usize, JsError> {
    let client = Client::builder(base_url).build()?;
    Ok(client.list_payment_methods(&ListPaymentMethods::new()).await?.len())
}

/// How often this module's allocator was called.
#[wasm_bindgen]
pub fn allocations() -> u32 {
    ALLOCATOR.0.load(Ordering::Relaxed)
}
