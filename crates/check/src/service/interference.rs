//! What may happen to the calls of the shop.

use super::call::Call;
use super::lies::Lies;
use serde_json::Value;
use std::sync::Arc;

/// The calls that are interfered with.
pub(crate) enum Target {
    Every,
    /// The reads of one payment.
    ReadsOf(String),
    /// The reads of one payment, and the repeated creation under its reference.
    Payment {
        intent: String,
        reference: String,
    },
    /// Every call that creates a payment.
    Creations,
    /// Every call that creates a session.
    Sessions,
}

/// What happens to a call.
#[derive(Clone)]
pub(crate) enum Kind {
    /// The reply is another one than the true one.
    Lie(Arc<Lies>),
    /// The reply has these fields in its data, in place of its own.
    Fields(Value),
    /// It is refused with this status.
    Refuse(u16),
    /// The reply is no JSON.
    Malformed,
    /// It is answered after the interference has ended.
    Hold,
    /// It is executed, and then refused with 503.
    Lost,
    /// It is redirected with this status to this origin.
    Redirect(u16, String),
}

impl Kind {
    /// Whether the call gets no reply that the shop can use.
    pub(crate) fn refuses(&self) -> bool {
        matches!(self, Self::Refuse(_) | Self::Malformed | Self::Lost | Self::Redirect(..))
    }
}

impl Target {
    /// Whether this call is one of them, for an interference of this kind.
    pub(crate) fn has(&self, call: &Call, kind: &Kind) -> bool {
        match self {
            Self::Every => true,
            // A refused list would be refused for the other payments in it too.
            Self::ReadsOf(intent) => call.reads(intent) && !(kind.refuses() && call.is_of_list()),
            Self::Payment { intent, reference } => call.reads(intent) || call.creates(reference),
            Self::Creations => call.is_creation(),
            Self::Sessions => call.is_session(),
        }
    }
}
