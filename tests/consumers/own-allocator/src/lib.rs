//! A module with its own exports and its own allocator. guichet must add neither.

use guichet::browser::Client;
use guichet::operations::ListPaymentMethods;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU32, Ordering};
use wasm_bindgen::prelude::*;

#[global_allocator]
static ALLOCATOR: Counting = Counting(AtomicU32::new(0));

struct Counting(AtomicU32);

// SAFETY: every call is forwarded to `System`.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.0.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Returns the number of payment methods of the service.
#[wasm_bindgen]
pub async fn count_methods(base_url: String) -> Result<usize, JsError> {
    let client = Client::builder(base_url).build()?;
    Ok(client.list_payment_methods(&ListPaymentMethods::new()).await?.len())
}

/// Returns how often this module's allocator was called.
#[wasm_bindgen]
pub fn allocations() -> u32 {
    ALLOCATOR.0.load(Ordering::Relaxed)
}
