//! Plans and subscriptions.

use super::{DuplicatePaymentReply, Metadata, PaymentMethodReply, duplicate_payment, payment_method, written};
use crate::sandbox::rules::billing::{LateCharge, Plan, Subscription};
use crate::values::Moment;
use serde::Serialize;

/// A plan.
pub(in crate::sandbox) fn plan(plan: &Plan) -> String {
    #[derive(Serialize)]
    struct Reply<'a> {
        id: &'a str,
        name: &'a str,
        code: &'a str,
        amount: u64,
        currency: &'a str,
        billing_cycle: &'static str,

        trial_days: u32,
        active: bool,
        created_at: i64,
    }
    let offer = &plan.offer;
    written(&Reply {
        id: plan.id.as_str(),
        name: &offer.name,
        code: offer.code.as_str(),
        amount: offer.amount.units(),
        currency: offer.currency.as_str(),
        billing_cycle: offer.billing_cycle.as_str(),
        trial_days: offer.trial_days,
        active: plan.active,
        created_at: plan.created_at.unix(),
    })
}

/// A subscription. `echoed` is told in place of its own `trigger_after_failures`.
pub(in crate::sandbox) fn subscription(subscription: &Subscription, echoed: Option<u32>) -> String {
    let Subscription { id, customer_id, terms, state, created_at, .. } = subscription;
    let offer = &terms.offer;
    written(&SubscriptionReply {
        id: id.as_str(),
        object: "subscription",
        status: state.status.as_str(),
        customer_email: &terms.email,
        customer_id,
        plan: PlanReply {
            id: terms.plan.as_str(),
            code: offer.code.as_str(),
            name: &offer.name,
            amount: offer.amount.units(),
            currency: offer.currency.as_str(),
            billing_cycle: offer.billing_cycle.as_str(),
        },
        payment_method: payment_method(&state.paying_with),
        fallback_payment_method: state.fallback.as_ref().map(payment_method),
        trigger_after_failures: echoed.unwrap_or(state.trigger_after_failures),
        consecutive_failures: state.consecutive_failures,
        current_period_start: state.period_start,
        current_period_end: state.period_end,
        trial_end: state.trial_end,
        next_charge_at: state.next_charge_at(),
        cancel_at_period_end: state.cancel_at_period_end,
        pause_at_period_end: state.pause_at_period_end,
        paused_at: state.paused_at,
        canceled_at: state.canceled_at,
        cancellation_reason: state.cancellation.map(|reason| reason.as_str()),
        latest_payment_intent: state.latest_intent.as_ref().map(|intent| intent.as_str()),
        metadata: terms.metadata.as_deref().map_or(Metadata::None {}, Metadata::Some),
        created_at: created_at.unix(),
        duplicate_payments: state
            .duplicate_payments
            .iter()
            .map(|LateCharge { intent, approval }| {
                duplicate_payment(Some(intent.as_str()), approval, offer.amount.units(), &offer.currency)
            })
            .collect(),
    })
}

#[derive(Serialize)]
struct SubscriptionReply<'a> {
    id: &'a str,
    object: &'static str,
    status: &'static str,
    customer_email: &'a str,
    customer_id: &'a str,
    plan: PlanReply<'a>,
    payment_method: PaymentMethodReply<'a>,
    fallback_payment_method: Option<PaymentMethodReply<'a>>,
    trigger_after_failures: u32,
    consecutive_failures: u32,
    current_period_start: Moment,
    current_period_end: Moment,
    trial_end: Option<Moment>,
    next_charge_at: Option<Moment>,
    cancel_at_period_end: bool,
    pause_at_period_end: bool,
    paused_at: Option<Moment>,
    canceled_at: Option<Moment>,
    cancellation_reason: Option<&'static str>,
    latest_payment_intent: Option<&'a str>,
    metadata: Metadata<'a>,
    created_at: i64,
    duplicate_payments: Vec<DuplicatePaymentReply<'a>>,
}

/// The plan as it was when the customer subscribed.
#[derive(Serialize)]
struct PlanReply<'a> {
    id: &'a str,
    code: &'a str,
    name: &'a str,
    amount: u64,
    currency: &'a str,
    billing_cycle: &'static str,
}
