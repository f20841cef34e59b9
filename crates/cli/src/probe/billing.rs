//! Decision 6: plans and subscriptions, as far as they can be tested without moving a clock.

use super::intents::phone;
use super::prober::{Prober, Reply};
use guichet::operations::*;
use guichet::values::*;

pub(super) async fn rows(probe: &mut Prober) {
    if let Err(invalid) = billing(probe).await {
        tracing::warn!(%invalid, "a reply lacks a field that the next request needs");
        probe.row("6", "a plan and a subscription are created with ids", false, &Reply::default());
    }
}

async fn billing(probe: &mut Prober) -> Result<(), Invalid> {
    let code = PlanCode::new(probe.run.clone())?;
    let create = CreatePlan::new("guichet-probe", code.clone(), Amount::units(5_000), BillingCycle::Monthly);
    let plan = probe.send(create.clone()).await;
    probe.row("document", "a plan is created", plan.is_success() && plan.text("code") == code.as_str(), &plan);
    let again = probe.send(create).await;
    probe.refused("6", "a code that is taken: 409 plan_code_taken", "409 plan_code_taken", &again);

    let subscribe = CreateSubscription::new(
        code,
        Email::new("probe@example.com")?,
        CustomerName { firstname: "Guichet", lastname: "Probe" },
        phone()?,
    );
    let made = probe.send(subscribe.clone()).await;
    let runs = ["active", "trialing", "past_due"].contains(&made.text("status"));
    probe.row("assumed", "create_subscription", made.is_success() && runs, &made);
    let price = made.data()["plan"]["amount"] == 5000 && made.data()["current_period_end"].is_string();
    probe.row("6", "a subscription has its plan's price and its period", price, &made);
    let id = SubscriptionId::new(made.text("id"))?;
    let read = probe.send(ReadSubscription::new(id.clone())).await;
    probe.row("assumed", "read_subscription", read.is_success() && read.text("id") == id.as_str(), &read);
    let list = probe.send(ListSubscriptions::new()).await;
    let listed = list.data().as_array().is_some_and(|all| all.iter().any(|one| one["id"] == id.as_str()));
    probe.row("assumed", "list_subscriptions", list.is_success() && listed, &list);

    let running = probe.send(ResumeSubscription::new(id.clone())).await;
    probe.refused("6", "resume of an active subscription: 409 subscription_state", "409 subscription_state", &running);
    let later = probe.send(PauseSubscription::new(id.clone()).immediately(false)).await;
    let marked = later.is_success() && later.data()["pause_at_period_end"] == true && later.text("status") != "paused";
    probe.row("6", "pause, immediately false: at the end of the period", marked, &later);
    let paused = probe.send(PauseSubscription::new(id.clone())).await;
    probe.row("6", "pause: now", paused.has_status("paused"), &paused);
    let resumed = probe.send(ResumeSubscription::new(id.clone())).await;
    probe.row("6", "resume: active again", resumed.has_status("active"), &resumed);
    let paid_with = probe.send(ChangeSubscriptionPaymentMethod::new(id.clone(), phone()?)).await;
    probe.row("14", "payment-method takes payment_method", paid_with.is_success(), &paid_with);
    let fallback = probe.send(ConfigureFallback::new(id.clone(), phone()?).trigger_after_failures(2)).await;
    let set = fallback.is_success() && fallback.data()["trigger_after_failures"] == 2;
    probe.row("14", "fallback takes payment_method and trigger_after_failures", set, &fallback);
    let ending = probe.send(CancelSubscription::new(id.clone())).await;
    let marked = ending.is_success() && ending.data()["cancel_at_period_end"] == true;
    probe.row("6", "cancel: at the end of the period by default", marked, &ending);
    let ended = probe.send(CancelSubscription::new(id.clone()).immediately(true)).await;
    probe.row("6", "cancel, immediately: now", ended.has_status("canceled"), &ended);
    let over = probe.send(ResumeSubscription::new(id)).await;
    probe.refused("6", "a canceled subscription cannot change: 409", "409 subscription_state", &over);

    let plan_id = PlanId::new(plan.text("id"))?;
    let gone = probe.send(DeactivatePlan::new(plan_id.clone())).await;
    probe.row("6", "deactivating a plan: 200 and the plan", gone.is_success() && gone.data()["active"] == false, &gone);
    let again = probe.send(DeactivatePlan::new(plan_id.clone())).await;
    probe.row("6", "… can be repeated", again.is_success(), &again);
    let late = probe.send(subscribe).await;
    probe.refused("6", "an inactive plan takes no new subscriptions: 422 plan_inactive", "422 plan_inactive", &late);
    let lists =
        |reply: &Reply| reply.data().as_array().is_some_and(|all| all.iter().any(|one| one["id"] == plan_id.as_str()));
    let plans = probe.send(ListPlans::new()).await;
    probe.row("6", "lists omit an inactive plan", plans.is_success() && !lists(&plans), &plans);
    let plans = probe.send(ListPlans::new().include_inactive(true)).await;
    probe.row("6", "… without include_inactive=true", lists(&plans), &plans);
    Ok(())
}
