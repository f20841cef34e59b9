//! The browser's face: what JavaScript calls, and the loops that do what [`crate::flow`] decides.
//!
//! JavaScript owns no rule. `pkg-template/client.js` and `hosted.js` hand every argument to the two types exported here;
//! `doors.js` opens what only the browser has. No reply is decoded: the service's own object is kept, and read by name.

mod call;
mod checkout;
mod client;
mod error;
mod fetch;
mod hosted;
mod inputs;
mod instrument;
mod intent_address;
mod merchant;
mod options;
mod page;
mod quotes;
mod read;
mod session;
mod task;
mod wait;

/// Small, and safe to make where there is one thread.
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();
