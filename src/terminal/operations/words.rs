//! What each operation is called at the terminal: a group, a verb, and what a list shows of its entries.

use crate::operations::*;
use crate::protocol::Served;

/// An operation that is a command. One of `every_operation!` that is none does not compile.
pub(super) trait Worded: Served + schemars::JsonSchema {
    const GROUP: &str;
    const VERB: &str;
    /// The fields that a list shows; none where the reply is one object.
    const COLUMNS: &[&str];
}

/// The groups, and what each is about.
pub(super) const GROUPS: [(&str, &str); 7] = [
    ("sessions", "Customer sessions: a customer acts without the secret key"),
    ("methods", "Payment methods and what they cost"),
    ("intents", "Payment intents: one intent is one payment"),
    ("customers", "The merchant's customers"),
    ("plans", "Subscription plans"),
    ("subscriptions", "Subscriptions: pausing, resuming and ending them"),
    ("esim", "eSIM data packages, and orders of them"),
];

macro_rules! words {
    ($($operation:ident: $group:literal $verb:literal [$($column:literal)*];)+) => {$(
        impl Worded for $operation {
            const GROUP: &str = $group;
            const VERB: &str = $verb;
            const COLUMNS: &[&str] = &[$($column),*];
        }
    )+};
}

words! {
    CreateSession: "sessions" "create" [];
    ValidateSession: "sessions" "validate" [];
    RevokeSession: "sessions" "revoke" [];
    ListPaymentMethods: "methods" "list" ["id" "name" "active" "fee_type" "supported_countries"];
    CalculateFee: "methods" "fee" [];
    CreatePaymentIntent: "intents" "create" [];
    ReadPaymentIntent: "intents" "read" [];
    ListPaymentIntents: "intents" "list" ["id" "status" "amount" "merchant_reference" "customer.email" "created_at"];
    AttachPaymentMethod: "intents" "pay" [];
    ConfirmPaymentIntent: "intents" "confirm" [];
    AnswerPaymentIntent: "intents" "answer" [];
    CancelPaymentIntent: "intents" "cancel" [];
    ListCustomers: "customers" "list" ["id" "firstname" "lastname" "email" "phone" "balance" "active" "created_at"];
    CreatePlan: "plans" "create" [];
    ListPlans: "plans" "list" ["id" "code" "name" "amount" "billing_cycle" "trial_days" "active"];
    DeactivatePlan: "plans" "deactivate" [];
    CreateSubscription: "subscriptions" "create" [];
    ReadSubscription: "subscriptions" "read" [];
    ListSubscriptions: "subscriptions" "list" ["id" "status" "customer_email" "plan.code" "plan.amount" "next_charge_at"];
    PauseSubscription: "subscriptions" "pause" [];
    ResumeSubscription: "subscriptions" "resume" [];
    CancelSubscription: "subscriptions" "cancel" [];
    ChangeSubscriptionPaymentMethod: "subscriptions" "payment-method" [];
    ConfigureFallback: "subscriptions" "fallback" [];
    ListEsimPackages: "esim" "packages" ["id" "name" "data_mb" "validity_days" "amount" "supported_countries" "active"];
    CreateEsimOrder: "esim" "order" [];
    ReadEsimOrder: "esim" "read" [];
}
