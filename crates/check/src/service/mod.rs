//! The payment service that a checked shop talks to.

mod call;
mod interference;
mod lies;
mod recorder;

pub(crate) use call::Call;
pub(crate) use interference::{Kind, Target};
pub(crate) use lies::{Lie, Lies};
pub use recorder::Service;
pub(crate) use recorder::{DECLINED_FOR_GOOD, Interfering, PAYS_AT_ONCE, STAYS_PROCESSING};
