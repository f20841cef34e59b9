//! Decision 6: plans and subscriptions, as far as they can be seen without moving the time.

use super::asking::{Prober, Seen};
use super::intents::phone;
use crate::operations::*;
use crate::values::*;

pub(super) async fn rows(probe: &mut Prober) {
    if let Err(invalid) = billing(probe).await {
        tracing::warn!(%invalid, "a reply was not what a subscription needs");
        probe.row("6", "a plan and a subscription can be made and named", false, &Seen::default());
    }
}

async fn billing(probe: &mut Prober) -> Result<(), Invalid> {
    let code = PlanCode::new(probe.run.clone())?;
    let create = CreatePlan::new("guichet-probe", code.clone(), Amount::new("5000")?, BillingCycle::Monthly);
    let plan = probe.send(create.clone()).await;
    probe.row("document", "a plan is made", plan.is_good() && plan.text("code") == code.as_str(), &plan);
    let again = probe.send(create).await;
    probe.row("6", "a code that is taken: 409 plan_code_taken", again.is(409, "plan_code_taken"), &again);

    let subscribe = CreateSubscription::new(code, Email::new("probe@example.com")?, "Guichet", "Probe", phone()?);
    let made = probe.send(subscribe.clone()).await;
    let runs = ["active", "trialing", "past_due"].contains(&made.text("status"));
    probe.row("assumed", "create_subscription", made.is_good() && runs, &made);
    let price = made.data()["plan"]["amount"] == 5000 && made.data()["current_period_end"].is_string();
    probe.row("6", "a subscription says its plan's price and its period", price, &made);
    let id = SubscriptionId::new(made.text("id"))?;
    let read = probe.send(ReadSubscription::new(id.clone())).await;
    probe.row("assumed", "read_subscription", read.is_good() && read.text("id") == id.as_str(), &read);
    let list = probe.send(ListSubscriptions::new()).await;
    let listed = list.data().as_array().is_some_and(|all| all.iter().any(|one| one["id"] == id.as_str()));
    probe.row("assumed", "list_subscriptions", list.is_good() && listed, &list);

    let running = probe.send(ResumeSubscription::new(id.clone())).await;
    probe.row("6", "resume of a running one: 409 subscription_state", running.is(409, "subscription_state"), &running);
    let later = probe.send(PauseSubscription::new(id.clone()).immediately(false)).await;
    let marked = later.is_good() && later.data()["pause_at_period_end"] == true && later.text("status") != "paused";
    probe.row("6", "pause, immediately false: at the end of the period", marked, &later);
    let paused = probe.send(PauseSubscription::new(id.clone())).await;
    probe.row("6", "pause: at once", paused.is_good() && paused.text("status") == "paused", &paused);
    let resumed = probe.send(ResumeSubscription::new(id.clone())).await;
    probe.row("6", "resume: active again", resumed.is_good() && resumed.text("status") == "active", &resumed);
    let paid_with = probe.send(ChangeSubscriptionPaymentMethod::new(id.clone(), phone()?)).await;
    probe.row("14", "payment-method takes payment_method", paid_with.is_good(), &paid_with);
    let fallback = probe.send(ConfigureFallback::new(id.clone(), phone()?).trigger_after_failures(2)).await;
    let set = fallback.is_good() && fallback.data()["trigger_after_failures"] == 2;
    probe.row("14", "fallback takes payment_method, and says after how many failures", set, &fallback);
    let ending = probe.send(CancelSubscription::new(id.clone())).await;
    let marked = ending.is_good() && ending.data()["cancel_at_period_end"] == true;
    probe.row("6", "cancel: with the period, where nothing is said", marked, &ending);
    let ended = probe.send(CancelSubscription::new(id.clone()).immediately(true)).await;
    probe.row("6", "cancel, immediately: at once", ended.is_good() && ended.text("status") == "canceled", &ended);
    let over = probe.send(ResumeSubscription::new(id)).await;
    probe.row("6", "nothing moves what is canceled: 409", over.is(409, "subscription_state"), &over);

    let plan_id = PlanId::new(plan.text("id"))?;
    let gone = probe.send(DeactivatePlan::new(plan_id.clone())).await;
    probe.row("6", "a plan is deactivated: 200 with it", gone.is_good() && gone.data()["active"] == false, &gone);
    let again = probe.send(DeactivatePlan::new(plan_id.clone())).await;
    probe.row("6", "… again and again", again.is_good(), &again);
    let late = probe.send(subscribe).await;
    probe.row("6", "nobody subscribes to it any more: 422 plan_inactive", late.is(422, "plan_inactive"), &late);
    let lists =
        |seen: &Seen| seen.data().as_array().is_some_and(|all| all.iter().any(|one| one["id"] == plan_id.as_str()));
    let plans = probe.send(ListPlans::new()).await;
    probe.row("6", "lists hide it", plans.is_good() && !lists(&plans), &plans);
    let plans = probe.send(ListPlans::new().include_inactive(true)).await;
    probe.row("6", "… unless include_inactive is asked for", lists(&plans), &plans);
    Ok(())
}
