//! The decisions of a paying page, as pure functions: which addresses may be followed, what a return means, when a
//! session is renewed, when to read a payment again, how fees compare. The browser's face executes them.
//!
//! No clock, no socket, no page: every input is an argument.

/// Milliseconds, as a page counts them. [`Duration`](std::time::Duration) takes twice the bytes in wasm.
///
/// ```
/// use guichet::flow::{Lifetime, Ms};
/// const HALF_AN_HOUR: Ms = 30.0 * 60_000.0;
/// let lifetime = Lifetime::new(0.0, HALF_AN_HOUR);
/// ```
pub type Ms = f64;

mod address;
mod base;
mod late;
mod names;
mod paying;
pub(crate) mod query;
mod quotes;
mod returns;
mod session;
mod waiting;

pub use address::{Opened, carries_a_secret_key, checkout_address, open, path_of, redirect_address};
pub use base::Base;
#[cfg(feature = "native-no-provider")]
pub(crate) use base::service_root;
#[cfg(all(target_arch = "wasm32", feature = "browser"))]
pub(crate) use base::without_slashes;
pub use late::{LateApproval, PaymentAsRead, late_approval};
pub use names::nearest;
pub use paying::{IntentSnapshot, LostCharge, classify_lost_charge};
pub use quotes::{Price, Quote, QuoteRequest, card_types, cheapest_first, price};
pub use returns::{Arrival, Match, Purchase, arrival, classify, is_return_nonce, payment_names};
pub use session::{Lifetime, State};
pub use waiting::{OutcomeState, pause, pause_within};
