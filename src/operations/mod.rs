//! The interface, written once: one file a family, one type an operation. A path of the interface is typed here alone.
//!
//! An operation begins with its method and path, then one sentence; `# Undocumented` says what the document left open and
//! what was chosen. An operation that the document does not show at all, and a whole service needs, is `assumed`.
//!
//! What `#[operation]` and `#[resource]` mean and expand to stands in `macros/src/lib.rs`. To add an operation: declare it
//! here, and name it in [`every_operation!`](crate::every_operation); write the sandbox's handler (`sandbox/service`), without
//! which nothing compiles; its method of the client (`native/calls`) and its row in `tests/service/interface.rs`, without
//! which tests fail; and a browser method if a customer may send it.

use crate::protocol::{ErrorCode, Fields};
use crate::values::Currency;
pub(crate) use guichet_macros::{operation, resource};

mod amount;
mod customers;
mod esim;
mod instrument;
mod intents;
mod item;
mod methods;
mod paid_with;
mod plans;
mod sessions;
mod subscriptions;

pub use customers::*;
pub use esim::*;
pub use instrument::{Card, Instrument};
pub use intents::*;
pub use item::Item;
pub use methods::*;
pub use paid_with::PaidWith;
pub use plans::*;
pub use sessions::*;
pub use subscriptions::*;

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

/// A service refuses a currency whose unit it does not know, together with all else that is wrong.
fn supported(fields: &mut Fields, param: &str, currency: &Currency) {
    if currency.exponent().is_none() {
        fields.error(param, ErrorCode::CurrencyUnsupported, format!("{currency} is not supported."));
    }
}
