//! The rules of the service as pure functions of a state, an event and the current time. No clock, no store, no socket.

pub(super) mod billing;
mod esim;
mod fees;
mod idempotency;
mod instruments;
mod intent;
mod session;

pub(super) use esim::{EsimOrder, EsimPackage, EsimPackages, Fulfilment};
pub(super) use fees::{FeeProblem, Fees, Method as ListedMethod};
pub(super) use idempotency::IdempotentRequest;
pub(super) use instruments::{Behaviour, Decline, PayingWith, read_instrument, test_cards};
pub(super) use intent::{
    Cancellation, Conflict, Intent, IntentState, LateApproval, MAX_ATTEMPTS, NextAction, Status, Terms,
};
pub(super) use session::{LIFETIME, Session, SessionStatus};
