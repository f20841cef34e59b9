//! The rules of the service as pure functions of a state, an event and the current time. No clock, no store, no socket.

pub(super) mod billing;
mod esim;
mod fees;
mod idempotency;
mod instruments;
mod intent;
mod operators;
mod session;

pub use esim::{EsimOrder, Fulfilment};
pub(super) use esim::{EsimPackage, EsimPackages};
pub(super) use fees::{FeeProblem, Fees, MOBILE_MONEY, Method as ListedMethod};
pub use idempotency::IdempotentRequest;
pub(super) use instruments::{Behaviour, Decline, PayingWith, read_instrument, test_cards};
pub use intent::Intent;
pub(super) use intent::{
    Cancellation, Conflict, HandsetDecision, IntentState, LateApproval, MAX_ATTEMPTS, NextAction, Status, Terms,
};
pub(super) use operators::{CAMEROON, OPERATORS, Operator};
pub use operators::{OperatorStatus, OperatorStatuses};
pub use session::Session;
pub(super) use session::{LIFETIME, SessionStatus};
