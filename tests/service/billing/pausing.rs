//! Pausing, resuming and canceling subscriptions.

use super::*;
use crate::support::service::on_each_store;

on_each_store!(
    a_pause_and_a_resume_inside_the_paid_period_charge_nothing,
    a_resume_after_the_paid_period_begins_a_new_one_with_one_charge,
    a_pause_stops_the_retries_and_keeps_the_count,
    a_charge_begun_before_a_pause_may_still_succeed,
    a_pause_during_the_trial_does_not_shorten_it,
    a_pause_at_the_end_of_the_period_takes_effect_there,
    a_cancel_takes_effect_at_the_end_of_the_period_unless_immediate,
    a_cancel_during_the_trial_charges_nothing_and_one_during_a_pause_holds,
    a_resume_clears_scheduled_changes_and_is_otherwise_a_conflict,
);

async fn a_pause_and_a_resume_inside_the_paid_period_charge_nothing() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("weekly", 0).await, phone(PAYS)).await;
    let paused = shop.changed_subscription(&created, "pause", Value::Null).await;
    assert_eq!((&paused["status"], &paused["next_charge_at"]), (&json!("paused"), &Value::Null));
    assert!(after(&paused, "paused_at").unwrap() < 60);
    shop.advance(6 * DAY).await;
    let again = shop.changed_subscription(&created, "pause", Value::Null).await;
    assert_eq!(again["paused_at"], paused["paused_at"], "pausing a paused subscription changes nothing");
    let resumed = shop.changed_subscription(&created, "resume", Value::Null).await;
    assert_eq!((&resumed["status"], &resumed["paused_at"]), (&json!("active"), &Value::Null));
    assert_eq!((after(&resumed, "current_period_start"), after(&resumed, "next_charge_at")), (Some(0), Some(7 * D)));
    assert_eq!(shop.charges(&created).await.len(), 1);
    shop.advance(DAY).await;
    assert_eq!(shop.charges(&created).await[1..], expected(&[("1:1", 7 * D, "succeeded")]));
    assert_eq!(shop.subscription_events(&created).await, ["created", "paused", "active", "renewed"]);
}

async fn a_resume_after_the_paid_period_begins_a_new_one_with_one_charge() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("weekly", 0).await, phone(PAYS)).await;
    shop.changed_subscription(&created, "pause", json!({ "immediately": true })).await;
    shop.advance(31 * DAY).await;
    assert_eq!(shop.charges(&created).await.len(), 1);
    let resumed = shop.changed_subscription(&created, "resume", Value::Null).await;
    let anchor = after(&resumed, "current_period_start").unwrap();
    assert!((31 * D..31 * D + 60).contains(&anchor), "{resumed}");
    assert_eq!(after(&resumed, "current_period_end"), Some(anchor + 7 * D));
    assert_eq!(shop.charges(&created).await[1..], expected(&[("1:1", anchor, "succeeded")]));
    shop.advance(7 * DAY).await;
    assert_eq!(shop.charges(&created).await[2..], expected(&[("2:1", anchor + 7 * D, "succeeded")]));
}

async fn a_pause_stops_the_retries_and_keeps_the_count() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("weekly", 0).await, phone(TOO_POOR)).await;
    shop.advance(DAY).await;
    let paused = shop.changed_subscription(&created, "pause", Value::Null).await;
    assert_eq!(paused["consecutive_failures"], 2);
    shop.advance(3 * DAY).await;
    assert_eq!(shop.charges(&created).await.len(), 2);
    let resumed = shop.changed_subscription(&created, "resume", Value::Null).await;
    // The period was unpaid, so a new one begins, and its charge fails as well.
    assert_eq!((&resumed["status"], &resumed["consecutive_failures"]), (&json!("past_due"), &json!(3)));
    let anchor = after(&resumed, "current_period_start").unwrap();
    assert!(anchor >= 4 * D);
    assert_eq!(shop.charges(&created).await[2..], expected(&[("1:1", anchor, "failed")]));
}

async fn a_charge_begun_before_a_pause_may_still_succeed() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("weekly", 0).await, phone(PAYS_AFTER_THIRTY_SECONDS)).await;
    shop.changed_subscription(&created, "pause", Value::Null).await;
    shop.advance(DAY).await;
    assert_eq!(shop.read_subscription(&created).await["status"], "paused");
    let resumed = shop.changed_subscription(&created, "resume", Value::Null).await;
    assert_eq!((&resumed["status"], after(&resumed, "current_period_end")), (&json!("active"), Some(7 * D)));
    assert_eq!(shop.charges(&created).await, expected(&[("0:1", 0, "succeeded")]), "there is no second charge");

    let other = shop.subscribe(&shop.plan("weekly", 0).await, phone(TIMES_OUT)).await;
    shop.changed_subscription(&other, "pause", Value::Null).await;
    let resumed = shop.changed_subscription(&other, "resume", Value::Null).await;
    assert_eq!((&resumed["status"], shop.charges(&other).await.len()), (&json!("active"), 1), "it is still processing");
    shop.changed_subscription(&other, "pause", Value::Null).await;
    shop.advance(DAY).await;
    let failed = shop.read_subscription(&other).await;
    assert_eq!((&failed["status"], &failed["consecutive_failures"]), (&json!("paused"), &json!(1)));
    assert_eq!(shop.charges(&other).await, expected(&[("0:1", 0, "failed")]));
}

async fn a_pause_during_the_trial_does_not_shorten_it() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("weekly", 14).await, phone(PAYS)).await;
    shop.changed_subscription(&created, "pause", Value::Null).await;
    shop.advance(13 * DAY).await;
    assert_eq!(shop.changed_subscription(&created, "resume", Value::Null).await["status"], "trialing");
    shop.changed_subscription(&created, "pause", Value::Null).await;
    shop.advance(13 * DAY).await;
    let resumed = shop.changed_subscription(&created, "resume", Value::Null).await;
    assert_eq!(resumed["status"], "active", "the trial is over");
    let charges = shop.charges(&created).await;
    assert_eq!((charges.len(), charges[0].0.as_str()), (1, "0:1"));
    assert!(charges[0].1 >= 26 * D);
}

async fn a_pause_at_the_end_of_the_period_takes_effect_there() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("weekly", 0).await, phone(PAYS)).await;
    let wished = shop
        .changed_subscription(&created, "pause", json!({ "immediately": false, "trigger_after_failures": 7 }))
        .await;
    assert_eq!((&wished["status"], &wished["pause_at_period_end"]), (&json!("active"), &json!(true)));
    assert_eq!(
        (&wished["trigger_after_failures"], &wished["next_charge_at"]),
        (&json!(7), &Value::Null),
        "it is echoed"
    );
    assert_eq!(shop.read_subscription(&created).await["trigger_after_failures"], 3, "it is not stored");
    shop.advance(8 * DAY).await;
    let paused = shop.read_subscription(&created).await;
    assert_eq!((&paused["status"], after(&paused, "paused_at")), (&json!("paused"), Some(7 * D)));
    assert_eq!((&paused["pause_at_period_end"], shop.charges(&created).await.len()), (&json!(false), 1));
    assert_eq!(shop.subscription_events(&created).await, ["created", "updated", "paused"]);
}

async fn a_cancel_takes_effect_at_the_end_of_the_period_unless_immediate() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("weekly", 0).await;
    let (created, other) = (shop.subscribe(&plan, phone(PAYS)).await, shop.subscribe(&plan, phone(PAYS)).await);
    let wished = shop.changed_subscription(&created, "cancel", Value::Null).await;
    assert_eq!((&wished["status"], &wished["cancel_at_period_end"]), (&json!("active"), &json!(true)));
    assert_eq!((&wished["next_charge_at"], &wished["canceled_at"]), (&Value::Null, &Value::Null));
    let now = shop.changed_subscription(&other, "cancel", json!({ "immediately": true })).await;
    assert_eq!((&now["status"], &now["cancellation_reason"]), (&json!("canceled"), &json!("requested_by_merchant")));
    shop.advance(30 * DAY).await;
    let ended = shop.read_subscription(&created).await;
    assert_eq!((&ended["status"], after(&ended, "canceled_at")), (&json!("canceled"), Some(7 * D)));
    assert_eq!(ended["cancellation_reason"], "requested_by_merchant");
    for (subscription, ended) in [(&created, &ended), (&other, &now)] {
        assert_eq!(shop.charges(subscription).await.len(), 1);
        assert_eq!(
            &shop.changed_subscription(subscription, "cancel", json!({ "immediately": true })).await,
            ended,
            "a repeat changes nothing"
        );
        for (verb, fields) in [
            ("pause", Value::Null),
            ("resume", Value::Null),
            ("payment-method", phone(PAYS)),
            ("fallback", phone(PAYS)),
        ] {
            let refused = shop.change_subscription(subscription, verb, fields).await;
            assert_eq!((refused.status, refused.code()), (409, "subscription_state"), "{verb}");
            assert!(refused.message().contains("canceled"), "{}", refused.message());
        }
    }
}

async fn a_cancel_during_the_trial_charges_nothing_and_one_during_a_pause_holds() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("weekly", 14).await;
    let (trial, paused, outlasted) = (
        shop.subscribe(&plan, phone(PAYS)).await,
        shop.subscribe(&plan, phone(PAYS)).await,
        shop.subscribe(&plan, phone(PAYS)).await,
    );
    shop.changed_subscription(&trial, "cancel", Value::Null).await;
    shop.changed_subscription(&paused, "cancel", Value::Null).await;
    shop.changed_subscription(&paused, "pause", Value::Null).await;
    shop.changed_subscription(&outlasted, "pause", Value::Null).await;
    shop.advance(20 * DAY).await;
    for subscription in [&trial, &paused] {
        let ended = shop.read_subscription(subscription).await;
        assert_eq!((&ended["status"], after(&ended, "canceled_at")), (&json!("canceled"), Some(14 * D)));
    }
    // Its period has ended, so the cancel takes effect at once.
    assert_eq!(shop.changed_subscription(&outlasted, "cancel", Value::Null).await["status"], "canceled");
    assert_eq!(shop.intents().await, Vec::<Value>::new());
}

async fn a_resume_clears_scheduled_changes_and_is_otherwise_a_conflict() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("weekly", 0).await, phone(PAYS)).await;
    for scheduled in [&["cancel"][..], &["pause"], &["cancel", "pause"]] {
        for change in scheduled {
            shop.changed_subscription(&created, change, json!({ "immediately": false })).await;
        }
        let resumed = shop.changed_subscription(&created, "resume", Value::Null).await;
        assert_eq!((&resumed["cancel_at_period_end"], &resumed["pause_at_period_end"]), (&json!(false), &json!(false)));
    }
    shop.advance(7 * DAY).await;
    assert_eq!(shop.charges(&created).await.len(), 2);
    let failing = shop.subscribe(&shop.plan("weekly", 0).await, phone(TOO_POOR)).await;
    let trial = shop.subscribe(&shop.plan("weekly", 3).await, phone(PAYS)).await;
    for (subscription, state) in [(&created, "active"), (&failing, "past_due"), (&trial, "trialing")] {
        let refused = shop.change_subscription(subscription, "resume", Value::Null).await;
        assert_eq!((refused.status, refused.code()), (409, "subscription_state"), "{state}");
        assert!(refused.message().contains(state), "{}", refused.message());
    }
}
