//! A module for wasm32 without a browser: it uses guichet's values and rules, and contains no wasm-bindgen.

use guichet::flow::{OutcomeState, pause};
use guichet::values::{Amount, IntentStatus};

/// Whether an amount in the smallest unit has this text.
#[unsafe(no_mangle)]
pub extern "C" fn is_amount(units: u64) -> bool {
    Amount::new(&units.to_string()) == Ok(Amount::units(units))
}

/// The milliseconds to wait before the next read of a payment, or 0 if it has succeeded.
#[unsafe(no_mangle)]
pub extern "C" fn next_read(reads: u32, has_succeeded: bool) -> f64 {
    let status = if has_succeeded { IntentStatus::Succeeded } else { IntentStatus::Processing };
    if OutcomeState::of(&status, false) == OutcomeState::Succeeded { 0.0 } else { pause(reads) }
}
