//! The interface, written once: one file a family, one type an operation. A path of the interface is typed here alone.
//!
//! An operation begins with its method and path, then one sentence; `# Not shown` says what the document left open and
//! what was chosen. `assumed` holds what the document does not show at all and a whole service needs.
//!
//! To add one: its type here with how it is read, and its name in [`every_operation!`](crate::every_operation); the sandbox's
//! handler (`sandbox/service`) and its words at the terminal (`terminal/operations/words.rs`), without which nothing compiles;
//! its method of the client (`native/calls`), its row in `tests/service/interface.rs` and its row in the README, without which tests
//! fail; and a browser method if a customer may send it.

use crate::protocol::Fields;
use crate::values::Currency;

mod assumed;
mod customers;
mod esim;
mod intents;
mod methods;
mod plans;
mod sessions;
mod subscriptions;

pub use assumed::{
    AnswerPaymentIntent, AttachPaymentMethod, CancelPaymentIntent, Card, ConfirmPaymentIntent, CreateSubscription,
    Instrument, ListPaymentIntents, ListSubscriptions, ReadEsimOrder, ReadPaymentIntent, ReadSubscription,
};
pub use customers::{Customer, ListCustomers};
pub use esim::{CreateEsimOrder, Esim, EsimOrder, EsimPackage, ListEsimPackages};
pub use intents::{
    CreatePaymentIntent, DuplicatePayment, IntentCustomer, Item, LastPaymentError, NextAction, PaymentIntent,
};
pub use methods::{CalculateFee, FeeBreakdown, ListPaymentMethods, PaymentMethod};
pub use plans::{CreatePlan, DeactivatePlan, ListPlans, Plan};
pub use sessions::{CreateSession, CustomerSession, RevokeSession, RevokedSession, SessionState, ValidateSession};
pub use subscriptions::{
    CancelSubscription, ChangeSubscriptionPaymentMethod, ConfigureFallback, PauseSubscription, ResumeSubscription,
    SubscribedPlan, Subscription,
};

/// Calls a macro with the name of every operation. What walks the interface walks this list, so that an operation
/// without a route, a row or a reader does not compile.
#[macro_export]
macro_rules! every_operation {
    ($with:ident) => {
        $with! {
            CreateSession ValidateSession RevokeSession
            ListPaymentMethods CalculateFee
            CreatePaymentIntent ReadPaymentIntent AttachPaymentMethod ListPaymentIntents
            ConfirmPaymentIntent AnswerPaymentIntent CancelPaymentIntent
            ListCustomers
            ListEsimPackages CreateEsimOrder ReadEsimOrder
            CreatePlan ListPlans DeactivatePlan
            CreateSubscription ListSubscriptions ReadSubscription
            PauseSubscription ResumeSubscription CancelSubscription
            ChangeSubscriptionPaymentMethod ConfigureFallback
        }
    };
}

/// What every operation's type has beside its fields: setters for what is not required.
macro_rules! setters {
    ($name:ident { $($(#[$doc:meta])* $field:ident: $kind:ty),+ $(,)? }) => {
        impl $name {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $field(mut self, $field: $kind) -> Self {
                    self.$field = $field.into();
                    self
                }
            )+
        }
    };
}
use setters;

/// The default of a field whose absence means yes.
fn yes() -> bool {
    true
}

/// A service refuses a currency whose unit it does not know, together with all else that is wrong.
fn supported(fields: &mut Fields, param: &str, currency: Option<&Currency>) {
    if let Some(currency) = currency.filter(|currency| currency.exponent().is_none()) {
        fields.fault(param, "currency_unsupported", format!("{currency} is not supported."));
    }
}
