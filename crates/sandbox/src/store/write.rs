//! The writes: every change of the store is one of these.

use super::{Billed, Customer, MerchantRow};
use crate::rules::billing::Plan;
use crate::rules::{EsimOrder, Fulfilment, IdempotentRequest, Intent, OperatorStatuses, Session};
use guichet::values::{EsimOrderId, Moment, PlanId};

/// One write. It has an effect, or none because of a conflict.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "a variant has the name of what it does to its records")]
pub enum Write {
    AddEsimOrder(Box<EsimOrder>),
    /// Adds an intent and its customer. No effect if the merchant's reference is taken.
    AddIntent(Box<(Intent, Customer)>),
    /// No effect if another merchant has this key.
    AddMerchant(MerchantRow),
    /// No effect if the merchant's code is taken.
    AddPlan(Box<Plan>),
    AddSession(Session),
    /// Moves a merchant's clock forward.
    AdvanceClock {
        merchant: String,
        seconds: i64,
    },
    /// No effect if another merchant has this key.
    ChangeKey {
        merchant: String,
        key_fingerprint: String,
    },
    DeactivatePlan {
        id: PlanId,
    },
    /// Deletes at most `limit` idempotency keys that have expired at this time of the service's clock. No effect if
    /// there are none.
    DeleteExpiredKeys {
        wall: Moment,
        limit: i64,
    },
    /// An order that is already fulfilled does not change.
    Fulfil(Vec<(EsimOrderId, Fulfilment)>),
    /// The inner write, unless another object was created under the idempotency key.
    IfKeyIsNew {
        request: IdempotentRequest,
        /// The id of the object that the inner write creates.
        made: String,
        write: Box<Self>,
    },
    /// Deletes everything of a merchant but its name and its key, and sets the offset of its clock to 0.
    Reset {
        merchant: String,
    },
    /// No effect if the session is unknown or revoked: it keeps the time of its first revocation.
    RevokeSession {
        fingerprint: String,
        at: Moment,
    },
    /// The next states of subscriptions with the charges that began. No effect if one of the subscriptions was changed
    /// since it was read; that one is not stored, the others are.
    SaveBilled(Vec<Billed>),
    /// No effect if one of the intents was changed since it was read; that one is not stored, the others are.
    SaveIntents(Vec<Intent>),
    /// How the operators work for a merchant.
    SetOperators {
        merchant: String,
        operators: OperatorStatuses,
    },
    /// A second of the service's clock. No effect if it is not later than the stored one.
    SaveSecond(i64),
}

impl Write {
    /// Makes a write conditional on the request's idempotency key, if it has one. The created object has this id.
    #[must_use]
    pub fn if_key_is_new(self, request: Option<IdempotentRequest>, made: String) -> Self {
        match request {
            Some(request) => Self::IfKeyIsNew { request, made, write: Box::new(self) },
            None => self,
        }
    }
}
