//! The command of each operation, and the columns of a list at the terminal.

use guichet::operations::*;

/// An operation that has a command.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no command",
    label = "give it a group and a verb in crates/cli/src/operations/commands.rs"
)]
pub(super) trait CliOperation {
    const GROUP: &'static str;
    const VERB: &'static str;
    /// The columns of a list; empty if the reply is one object.
    const COLUMNS: &'static [&'static str];
}

macro_rules! commands {
    ($($operation:ident: $group:literal $verb:literal $([$($column:literal),+])?;)+) => {$(
        impl CliOperation for $operation {
            const GROUP: &'static str = $group;
            const VERB: &'static str = $verb;
            const COLUMNS: &'static [&'static str] = &[$($($column),+)?];
        }
    )+};
}

commands! {
    CreateSession: "sessions" "create";
    ValidateSession: "sessions" "validate";
    RevokeSession: "sessions" "revoke";
    ListPaymentMethods: "methods" "list" ["id", "name", "active", "fee_type", "supported_countries"];
    CalculateFee: "methods" "fee";
    CreatePaymentIntent: "intents" "create";
    ReadPaymentIntent: "intents" "read";
    AttachPaymentMethod: "intents" "pay";
    ListPaymentIntents: "intents" "list" ["id", "status", "amount", "merchant_reference", "customer.email", "created_at"];
    ConfirmPaymentIntent: "intents" "confirm";
    AnswerPaymentIntent: "intents" "answer";
    CancelPaymentIntent: "intents" "cancel";
    AbandonPaymentIntent: "intents" "abandon";
    ListCustomers: "customers" "list" ["id", "firstname", "lastname", "email", "phone", "balance", "active", "created_at"];
    ListEsimPackages: "esim" "packages" ["id", "name", "data_mb", "validity_days", "amount", "supported_countries", "active"];
    CreateEsimOrder: "esim" "order";
    ReadEsimOrder: "esim" "read";
    CreatePlan: "plans" "create";
    ListPlans: "plans" "list" ["id", "code", "name", "amount", "billing_cycle", "trial_days", "active"];
    DeactivatePlan: "plans" "deactivate";
    CreateSubscription: "subscriptions" "create";
    ListSubscriptions: "subscriptions" "list" ["id", "status", "customer_email", "plan.code", "plan.amount", "next_charge_at"];
    ReadSubscription: "subscriptions" "read";
    PauseSubscription: "subscriptions" "pause";
    ResumeSubscription: "subscriptions" "resume";
    CancelSubscription: "subscriptions" "cancel";
    ChangeSubscriptionPaymentMethod: "subscriptions" "payment-method";
    ConfigureFallback: "subscriptions" "fallback";
}
