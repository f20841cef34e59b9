//! What the document does not show and a whole service needs. Every operation here is a decision: a real service may
//! have other paths, or none, and the clients say `unsupported` then.

mod esim;
mod instrument;
mod intents;
mod subscriptions;

pub use esim::ReadEsimOrder;
pub use instrument::{Card, Instrument};
pub use intents::{
    AnswerPaymentIntent, AttachPaymentMethod, CancelPaymentIntent, ConfirmPaymentIntent, ListPaymentIntents,
    ReadPaymentIntent,
};
pub use subscriptions::{CreateSubscription, ListSubscriptions, ReadSubscription};
