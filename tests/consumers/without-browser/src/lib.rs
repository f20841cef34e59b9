//! A module for no browser: guichet brings its values and rules, and no wasm-bindgen.

use guichet::flow::{OutcomeState, pause};
use guichet::values::{Amount, IntentStatus};

/// Whether an amount in the smallest unit can be paid.
#[unsafe(no_mangle)]
pub extern "C" fn is_amount(units: u64) -> bool {
    Amount::new(&units.to_string()).is_ok()
}

/// How long to wait, in milliseconds, before the next look at a payment; 0 if it has succeeded.
#[unsafe(no_mangle)]
pub extern "C" fn next_look(looks: u32, has_succeeded: bool) -> f64 {
    let status = if has_succeeded { IntentStatus::Succeeded } else { IntentStatus::Processing };
    if OutcomeState::of(&status, false) == OutcomeState::Succeeded { 0.0 } else { pause(looks) }
}
