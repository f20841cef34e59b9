//! The interface, declared once: a file for each family, a type for each operation. No other module contains a path of
//! it.
//!
//! The documentation of an operation begins with its method and path, then one sentence. `# Undocumented` says what the
//! interface document leaves open and what was decided. An operation that the document does not show is `assumed`.
//!
//! `macros/src/lib.rs` shows what `#[operation]` and `#[resource]` mean and expand to. `CONTRIBUTING.md` lists the
//! files of a new operation.

use crate::protocol::{ErrorCode, Fields};
use crate::values::Currency;
pub(crate) use guichet_macros::{operation, resource, schema};

mod after;
mod amount;
mod customers;
mod esim;
mod instrument;
mod intents;
mod item;
mod methods;
mod paid_with;
mod plans;
#[cfg(feature = "service")]
mod service;
mod sessions;
mod subscriptions;

pub use after::After;
pub use customers::*;
pub use esim::*;
pub use instrument::{Card, Instrument};
pub use intents::*;
pub use item::*;
pub use methods::*;
pub use paid_with::PaidWith;
pub use plans::*;
pub use sessions::*;
pub use subscriptions::*;

/// Calls a macro with the name of every operation. The sandbox's routes, the command and the tests are made from this
/// list.
#[macro_export]
macro_rules! every_operation {
    ($with:ident) => {
        $with! {
            CreateSession ValidateSession RevokeSession
            ListPaymentMethods CalculateFee
            CreatePaymentIntent ReadPaymentIntent AttachPaymentMethod ListPaymentIntents
            ConfirmPaymentIntent AnswerPaymentIntent CancelPaymentIntent AbandonPaymentIntent
            ListCustomers
            ListEsimPackages CreateEsimOrder ReadEsimOrder
            CreatePlan ListPlans DeactivatePlan
            CreateSubscription ListSubscriptions ReadSubscription
            PauseSubscription ResumeSubscription CancelSubscription
            ChangeSubscriptionPaymentMethod ConfigureFallback
        }
    };
}

/// An operation that [`every_operation!`](crate::every_operation) names.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not named in `every_operation!`",
    label = "name it in `every_operation!`, in src/operations/mod.rs"
)]
trait Listed {}

macro_rules! listed {
    ($($operation:ident)*) => { $(impl Listed for $operation {})* };
}
crate::every_operation!(listed);

/// Adds a field error if the smallest unit of the currency is not known.
fn supported(fields: &mut Fields, param: &str, currency: &Currency) {
    if currency.exponent().is_none() {
        fields.error(param, ErrorCode::CurrencyUnsupported, format!("{currency} is not supported."));
    }
}
