//! Plans and subscriptions.

use super::{Reply, duplicate_payment, metadata, paid_with, written};
use crate::rules::billing::{LateCharge, Plan, Subscription};
use guichet::operations::{
    Plan as PlanReply, PlanParts, SubscribedPlan, SubscribedPlanParts, Subscription as SubscriptionReply,
    SubscriptionParts,
};

/// A plan.
pub(crate) fn plan(plan: &Plan) -> Reply {
    let offer = &plan.offer;
    written(&PlanReply::from(PlanParts {
        id: plan.id.clone(),
        name: offer.name.clone(),
        code: offer.code.clone(),
        amount: offer.amount,
        currency: offer.currency.to_string(),
        billing_cycle: offer.billing_cycle.to_string(),
        trial_days: offer.trial_days,
        active: plan.active,
        created_at: Some(plan.created_at.unix()),
    }))
}

/// A subscription. `echoed` is written in place of its own `trigger_after_failures`.
pub(crate) fn subscription(subscription: &Subscription, echoed: Option<u32>) -> Reply {
    let Subscription { id, customer_id, terms, state, created_at, .. } = subscription;
    let offer = &terms.offer;
    let duplicate_payments = state.duplicate_payments.iter().map(|LateCharge { intent, approval }| {
        duplicate_payment(Some(intent.clone()), approval, offer.amount, &offer.currency)
    });
    written(&SubscriptionReply::from(SubscriptionParts {
        id: id.clone(),
        object: Some("subscription".to_owned()),
        status: state.status.into_str().to_owned().into(),
        customer_email: Some(terms.email.clone()),
        customer_id: Some(customer_id.clone()),
        plan: Some(SubscribedPlan::from(SubscribedPlanParts {
            id: terms.plan.clone(),
            code: Some(offer.code.to_string()),
            name: Some(offer.name.clone()),
            amount: Some(offer.amount),
            currency: Some(offer.currency.to_string()),
            billing_cycle: Some(offer.billing_cycle.to_string()),
        })),
        payment_method: Some(paid_with(&state.paying_with)),
        fallback_payment_method: state.fallback.as_ref().map(paid_with),
        trigger_after_failures: Some(echoed.unwrap_or(state.trigger_after_failures)),
        consecutive_failures: Some(state.consecutive_failures),
        current_period_start: Some(state.period_start),
        current_period_end: Some(state.period_end),
        trial_end: state.trial_end,
        next_charge_at: state.next_charge_at(),
        cancel_at_period_end: state.cancel_at_period_end,
        pause_at_period_end: state.pause_at_period_end,
        paused_at: state.paused_at,
        canceled_at: state.canceled_at,
        cancellation_reason: state.cancellation.map(|reason| reason.into_str().to_owned()),
        latest_payment_intent: state.latest_intent.clone(),
        metadata: metadata(terms.metadata.as_deref()),
        created_at: Some(created_at.unix()),
        duplicate_payments: duplicate_payments.collect(),
    }))
}
