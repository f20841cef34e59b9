//! The charges of subscriptions and their times: periods, attempts, fallbacks.

use super::*;
use crate::support::api;
use crate::support::service::on_each_store;

on_each_store!(
    a_subscription_without_a_trial_is_charged_when_it_is_made_and_each_period,
    the_first_charge_is_at_the_end_of_the_trial,
    periods_are_calendar_months_from_the_anchor_without_drift,
    at_the_end_of_the_calendar_reads_work_and_nothing_is_charged,
    a_charge_that_is_approved_late_is_a_duplicate_payment_in_the_subscriptions_record,
    late_approvals_are_in_order_of_time,
    late_approvals_after_the_subscription_ended_are_in_its_record,
    a_charge_under_way_at_a_cancel_is_settled_and_has_an_event,
    after_four_failed_attempts_the_subscription_ends,
    a_late_success_makes_the_subscription_active_without_moving_periods,
    a_charge_settles_at_its_own_time_however_far_the_clock_is_moved,
    the_fallback_is_tried_at_its_trigger_and_the_next_period_begins_with_the_primary,
    a_fallback_that_fails_too_ends_it_after_four_attempts,
    a_fallback_set_after_its_trigger_is_tried_at_once,
    a_new_payment_method_is_tried_at_once_while_past_due,
    a_charge_that_never_ends_makes_the_subscription_past_due_without_a_second_charge,
    a_method_that_needs_the_customer_is_declined,
    only_the_subscription_changes_its_charges,
    merchants_cannot_use_references_of_charges,
);

async fn a_subscription_without_a_trial_is_charged_when_it_is_made_and_each_period() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("daily", 0).await, phone(PAYS)).await;
    assert_eq!((&created["status"], after(&created, "current_period_start")), (&json!("active"), Some(0)));
    assert_eq!((after(&created, "current_period_end"), after(&created, "next_charge_at")), (Some(D), Some(D)));
    assert_eq!(shop.charges(&created).await, expected(&[("0:1", 0, "succeeded")]));
    shop.advance(3 * DAY).await;
    let paid =
        [("0:1", 0, "succeeded"), ("1:1", D, "succeeded"), ("2:1", 2 * D, "succeeded"), ("3:1", 3 * D, "succeeded")];
    assert_eq!(shop.charges(&created).await, expected(&paid));
    let now = shop.read_subscription(&created).await;
    assert_eq!((after(&now, "current_period_start"), after(&now, "current_period_end")), (Some(3 * D), Some(4 * D)));
    assert_eq!(shop.subscription_events(&created).await, ["created", "renewed", "renewed", "renewed"]);
}

async fn the_first_charge_is_at_the_end_of_the_trial() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("daily", 14).await, phone(PAYS)).await;
    assert_eq!((&created["status"], after(&created, "trial_end")), (&json!("trialing"), Some(14 * D)));
    assert_eq!(
        (after(&created, "current_period_end"), after(&created, "next_charge_at")),
        (Some(14 * D), Some(14 * D))
    );
    assert_eq!(created["latest_payment_intent"], Value::Null);
    shop.advance(14 * DAY - 60).await;
    assert_eq!(shop.read_subscription(&created).await["status"], "trialing");
    assert_eq!(shop.charges(&created).await, []);
    shop.advance(DAY + 60).await;
    assert_eq!(shop.charges(&created).await, expected(&[("0:1", 14 * D, "succeeded"), ("1:1", 15 * D, "succeeded")]));
    let now = shop.read_subscription(&created).await;
    assert_eq!((&now["status"], after(&now, "trial_end")), (&json!("active"), Some(14 * D)));
    assert_eq!(shop.subscription_events(&created).await, ["created", "active", "renewed"]);
}

async fn periods_are_calendar_months_from_the_anchor_without_drift() {
    let (_sandbox, shop) = shop().await;
    let begin = Moment::new("2043-01-31T10:30:00Z").unwrap();
    let wait = begin.unix() - shop.tenant.now().await.unix();
    shop.advance(u32::try_from(wait).unwrap()).await;
    let created = shop.subscribe(&shop.plan("monthly", 0).await, phone(PAYS)).await;
    let late = created["created_at"].as_i64().unwrap() - begin.unix();
    for day in ["2043-02-28", "2043-03-31", "2043-04-30", "2043-05-31"] {
        let end = Moment::new(&format!("{day}T10:30:00Z")).unwrap().plus(late);
        let now = shop.read_subscription(&created).await;
        assert_eq!(now["current_period_end"].as_str(), Some(end.to_string().as_str()));
        assert_eq!(now["next_charge_at"], now["current_period_end"]);
        shop.advance(u32::try_from(end.unix() - shop.tenant.now().await.unix()).unwrap()).await;
    }
    assert_eq!(shop.charges(&created).await.len(), 5);
}

async fn at_the_end_of_the_calendar_reads_work_and_nothing_is_charged() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("yearly", 0).await;
    let last_year = Moment::new("9999-01-01T00:00:00Z").unwrap().unix();
    while shop.tenant.now().await.unix() < last_year {
        shop.advance(u32::try_from(last_year - shop.tenant.now().await.unix()).unwrap_or(u32::MAX)).await;
    }
    let created = shop.subscribe(&plan, phone(PAYS)).await;
    assert_eq!(created["current_period_end"], "9999-12-30T22:00:00Z");
    for _ in 0..2 {
        shop.advance(u32::MAX).await;
        assert_eq!(shop.read_subscription(&created).await["status"], "active");
        assert_eq!(shop.charges(&created).await, expected(&[("0:1", 0, "succeeded")]));
    }
    let listed = shop.call("GET", "/v1/subscriptions", Value::Null).await;
    assert_eq!((listed.status, listed.body["data"].as_array().map(Vec::len)), (200, Some(1)), "{}", listed.text);
}

async fn a_charge_that_is_approved_late_is_a_duplicate_payment_in_the_subscriptions_record() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("daily", 0).await, phone("237670000011")).await;
    assert_eq!(created["duplicate_payments"], json!([]));
    shop.advance(310).await;
    assert_eq!(shop.read_subscription(&created).await["status"], "past_due");
    // The customer pays with another method, and then the operator also approves the first charge.
    shop.changed_subscription(&created, "payment-method", phone(PAYS)).await;
    assert_eq!(shop.read_subscription(&created).await["duplicate_payments"], json!([]));
    shop.advance(300).await;
    let now = shop.read_subscription(&created).await;
    assert_eq!((&now["status"], &now["consecutive_failures"]), (&json!("active"), &json!(0)));
    let [duplicate] = &now["duplicate_payments"].as_array().unwrap()[..] else { panic!("{now}") };
    let intents = shop.intents().await;
    let charge = &intents[0];
    assert_eq!((&duplicate["payment_intent"], &charge["status"]), (&charge["id"], &json!("failed")));
    assert_eq!((&duplicate["attempt"], &duplicate["amount"]), (&json!(1), &json!("5000")));
    assert_eq!(duplicate["approved_at"], charge["duplicate_payments"][0]["approved_at"]);
    assert_eq!(
        shop.subscription_events(&created).await,
        ["created", "past_due", "updated", "active", "duplicate_payment"]
    );
}

async fn late_approvals_are_in_order_of_time() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("daily", 0).await, phone("237670000012")).await;
    // The first charge is approved after 600 seconds, and this one after 245.
    shop.changed_subscription(&created, "payment-method", phone("237670000013")).await;
    shop.advance(900).await;
    let now = shop.read_subscription(&created).await;
    let approved = now["duplicate_payments"].as_array().unwrap().iter().map(|one| &one["payment_intent"]);
    let intents = shop.intents().await;
    assert_eq!(approved.collect::<Vec<_>>(), [&intents[1]["id"], &intents[0]["id"]]);
}

async fn late_approvals_after_the_subscription_ended_are_in_its_record() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("daily", 0).await, phone("237670000012")).await;
    shop.advance(3 * DAY).await;
    let ended = shop.read_subscription(&created).await;
    assert_eq!((&ended["status"], &ended["cancellation_reason"]), (&json!("canceled"), &json!("payment_failed")));
    assert_eq!(ended["duplicate_payments"].as_array().map(Vec::len), Some(4), "each of the four charges");
    assert_eq!(shop.subscription_events(&created).await.iter().filter(|word| *word == "duplicate_payment").count(), 4);
}

async fn a_charge_under_way_at_a_cancel_is_settled_and_has_an_event() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("monthly", 0).await;
    for (number, status, events) in [
        ("237670000001", "succeeded", &["created", "canceled", "charge_succeeded"][..]),
        ("237670000004", "failed", &["created", "canceled", "charge_failed"]),
        ("237670000011", "failed", &["created", "canceled", "charge_failed", "duplicate_payment"]),
    ] {
        let created = shop.subscribe(&plan, phone(number)).await;
        let canceled = shop.changed_subscription(&created, "cancel", json!({ "immediately": true })).await;
        assert_eq!(canceled["status"], "canceled");
        shop.advance(700).await;
        assert_eq!(shop.charges(&created).await, expected(&[("0:1", 0, status)]), "{number}");
        let now = shop.read_subscription(&created).await;
        assert_eq!((&now["status"], &now["canceled_at"]), (&json!("canceled"), &canceled["canceled_at"]), "it stays");
        assert_eq!(shop.subscription_events(&created).await, events, "{number}");
    }
}

async fn after_four_failed_attempts_the_subscription_ends() {
    let (_sandbox, shop) = shop().await;
    // The pause is a quarter of the period, at most a day.
    for (cycle, wait) in [("daily", 6 * H), ("weekly", D), ("monthly", D), ("yearly", D)] {
        let created = shop.subscribe(&shop.plan(cycle, 0).await, phone(TOO_POOR)).await;
        assert_eq!((&created["status"], &created["consecutive_failures"]), (&json!("past_due"), &json!(1)), "{cycle}");
        assert_eq!(after(&created, "next_charge_at"), Some(wait));
        shop.advance(u32::try_from(3 * wait).unwrap()).await;
        let all =
            [("0:1", 0, "failed"), ("0:2", wait, "failed"), ("0:3", 2 * wait, "failed"), ("0:4", 3 * wait, "failed")];
        assert_eq!(shop.charges(&created).await, expected(&all), "{cycle}");
        let ended = shop.read_subscription(&created).await;
        assert_eq!((&ended["status"], &ended["cancellation_reason"]), (&json!("canceled"), &json!("payment_failed")));
        assert_eq!((after(&ended, "canceled_at"), &ended["consecutive_failures"]), (Some(3 * wait), &json!(4)));
        assert_eq!(ended["next_charge_at"], Value::Null);
        shop.advance(9 * DAY).await;
        assert_eq!(shop.charges(&created).await.len(), 4, "nothing is charged after the end");
        assert_eq!(shop.subscription_events(&created).await, ["created", "past_due", "canceled"]);
    }
}

async fn a_late_success_makes_the_subscription_active_without_moving_periods() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("daily", 0).await, phone(RECOVERS)).await;
    shop.advance(12 * HOUR).await;
    let paid = [("0:1", 0, "failed"), ("0:2", 6 * H, "failed"), ("0:3", 12 * H, "succeeded")];
    assert_eq!(shop.charges(&created).await, expected(&paid));
    let now = shop.read_subscription(&created).await;
    assert_eq!((&now["status"], &now["consecutive_failures"]), (&json!("active"), &json!(0)));
    assert_eq!((after(&now, "current_period_start"), after(&now, "current_period_end")), (Some(0), Some(D)));
    shop.advance(12 * HOUR).await;
    assert_eq!(
        shop.charges(&created).await[3],
        expected(&[("1:1", D, "failed")])[0],
        "the next period's due time is unchanged"
    );
}

async fn a_charge_settles_at_its_own_time_however_far_the_clock_is_moved() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("weekly", 0).await, phone(TIMES_OUT)).await;
    assert_eq!(created["status"], "active", "the charge is still processing");
    shop.advance(7 * DAY).await;
    // Each attempt is declined after 300 seconds, and the next one begins a day after that.
    let all = [("0:1", 0), ("0:2", D + 300), ("0:3", 2 * D + 600), ("0:4", 3 * D + 900)];
    assert_eq!(shop.charges(&created).await, expected(&all.map(|(name, at)| (name, at, "failed"))));
    let ended = shop.read_subscription(&created).await;
    assert_eq!((&ended["status"], after(&ended, "canceled_at")), (&json!("canceled"), Some(3 * D + 1_200)));
}

async fn the_fallback_is_tried_at_its_trigger_and_the_next_period_begins_with_the_primary() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("weekly", 0).await, phone(TOO_POOR)).await;
    let set = shop.changed_subscription(&created, "fallback", card("4242424242424242")).await;
    assert_eq!(set["fallback_payment_method"], json!({ "type": "card", "brand": "visa", "last4": "4242" }));
    assert_eq!(set["trigger_after_failures"], 3);
    shop.advance(7 * DAY).await;
    let all = [
        ("0:1", 0, "failed"),
        ("0:2", D, "failed"),
        ("0:3", 2 * D, "failed"),
        ("0:4", 2 * D, "succeeded"),
        ("1:1", 7 * D, "failed"),
    ];
    assert_eq!(shop.charges(&created).await, expected(&all));
    let now = shop.read_subscription(&created).await;
    assert_eq!(
        (&now["status"], &now["consecutive_failures"]),
        (&json!("past_due"), &json!(1)),
        "the counter restarted"
    );
    let by = |name: &'static str| {
        let reference = format!("{}:{name}", created["id"].as_str().unwrap());
        move |intent: &&Value| intent["merchant_reference"] == reference.as_str()
    };
    let intents = shop.intents().await;
    assert_eq!(intents.iter().find(by("0:4")).unwrap()["payment_method"]["type"], "card");
    assert_eq!(intents.iter().find(by("1:1")).unwrap()["payment_method"]["type"], "mobile_money");
}

async fn a_fallback_that_fails_too_ends_it_after_four_attempts() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("weekly", 0).await;
    for (trigger, moments) in [
        (1, vec![0, 0, D, D]),
        (2, vec![0, D, D, 2 * D]),
        (3, vec![0, D, 2 * D, 2 * D]),
        // The fourth failure triggers the fallback, which gets an attempt although the primary method has used up four.
        (4, vec![0, D, 2 * D, 3 * D, 3 * D]),
        (5, vec![0, D, 2 * D, 3 * D]),
    ] {
        let created = shop.subscribe(&plan, phone(PAYS_AFTER_THIRTY_SECONDS)).await;
        let mut fallback = card("4000000000000002");
        fallback["trigger_after_failures"] = json!(trigger);
        assert_eq!(shop.changed_subscription(&created, "fallback", fallback).await["trigger_after_failures"], trigger);
        shop.changed_subscription(&created, "payment-method", phone(TOO_POOR)).await;
        shop.advance(14 * DAY).await;
        let seen: Vec<i64> = shop
            .charges(&created)
            .await
            .iter()
            .filter(|(name, ..)| name.starts_with("1:"))
            .map(|(_, at, _)| at - 7 * D)
            .collect();
        assert_eq!(seen, moments, "trigger {trigger}");
        assert_eq!(shop.read_subscription(&created).await["cancellation_reason"], "payment_failed");
    }
}

async fn a_fallback_set_after_its_trigger_is_tried_at_once() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("weekly", 0).await, phone(TOO_POOR)).await;
    let mut fallback = card("4242424242424242");
    fallback["trigger_after_failures"] = json!(1);
    let paid = shop.changed_subscription(&created, "fallback", fallback.clone()).await;
    assert_eq!((&paid["status"], &paid["consecutive_failures"]), (&json!("active"), &json!(0)));
    shop.changed_subscription(&created, "fallback", fallback).await;
    assert_eq!(shop.charges(&created).await.len(), 2, "the same fallback again has no effect");
}

async fn a_new_payment_method_is_tried_at_once_while_past_due() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("monthly", 0).await, phone(TOO_POOR)).await;
    let same = shop.changed_subscription(&created, "payment-method", phone(TOO_POOR)).await;
    assert_eq!(
        (&same["status"], shop.charges(&created).await.len()),
        (&json!("past_due"), 1),
        "the same method changes nothing"
    );
    shop.advance(HOUR).await;
    let paid = shop.changed_subscription(&created, "payment-method", card("4242424242424242")).await;
    assert_eq!((&paid["status"], &paid["consecutive_failures"]), (&json!("active"), &json!(0)));
    assert_eq!(paid["payment_method"], json!({ "type": "card", "brand": "visa", "last4": "4242" }));
    assert_eq!(after(&paid, "current_period_start"), Some(0), "the unpaid period was charged");
    let charges = shop.charges(&created).await;
    assert_eq!((charges[1].0.as_str(), charges[1].2.as_str(), charges.len()), ("0:2", "succeeded", 2));
    assert!((H..H + 60).contains(&charges[1].1), "{charges:?}");
    let changed = shop.changed_subscription(&created, "payment-method", phone(TOO_POOR)).await;
    assert_eq!(
        (&changed["status"], shop.charges(&created).await.len()),
        (&json!("active"), 2),
        "a paid period is not charged"
    );
    assert_eq!(shop.subscription_events(&created).await, ["created", "past_due", "updated", "active", "updated"]);
}

async fn a_charge_that_never_ends_makes_the_subscription_past_due_without_a_second_charge() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("daily", 0).await, phone(HANGS)).await;
    assert_eq!(created["status"], "active");
    shop.advance(30 * DAY).await;
    let stuck = shop.read_subscription(&created).await;
    assert_eq!(
        (&stuck["status"], &stuck["consecutive_failures"]),
        (&json!("past_due"), &json!(0)),
        "it has not failed"
    );
    assert_eq!(stuck["next_charge_at"], Value::Null);
    shop.changed_subscription(&created, "payment-method", phone(PAYS)).await;
    shop.changed_subscription(&created, "pause", Value::Null).await;
    let resumed = shop.changed_subscription(&created, "resume", Value::Null).await;
    assert_ne!(resumed["status"], "paused");
    assert_eq!(shop.charges(&created).await, expected(&[("0:1", 0, "processing")]));
    assert_eq!(
        shop.changed_subscription(&created, "cancel", Value::Null).await["status"],
        "canceled",
        "its period has ended"
    );
}

async fn a_method_that_needs_the_customer_is_declined() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("weekly", 0).await;
    for method in [phone(ASKS_FOR_CODE), card("4000000000003220")] {
        let created = shop.subscribe(&plan, method).await;
        assert_eq!(created["status"], "past_due");
        let path = format!("/v1/payment-intents/{}", created["latest_payment_intent"].as_str().unwrap());
        let charge = shop.call("GET", &path, Value::Null).await;
        let intent = &charge.body["data"];
        assert_eq!((&intent["status"], &intent["next_action"]), (&json!("failed"), &Value::Null));
        assert_eq!(intent["last_payment_error"]["code"], "authentication_required");
        assert_eq!(
            shop.changed_subscription(&created, "payment-method", card("4242424242424242")).await["status"],
            "active"
        );
    }
}

async fn only_the_subscription_changes_its_charges() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("weekly", 0).await;
    for (number, status) in [(TOO_POOR, "failed"), (HANGS, "processing"), (PAYS, "succeeded")] {
        let created = shop.subscribe(&plan, phone(number)).await;
        let charge = shop.read_intent(&json!({ "id": created["latest_payment_intent"] })).await;
        for (verb, fields) in
            [("payment-method", card("4242424242424242")), ("confirm", Value::Null), ("cancel", Value::Null)]
        {
            let refused = shop.intent_action(&charge, verb, fields).await;
            assert_eq!(refused.status, 409, "{verb} of {status}: {}", refused.text);
            assert!(refused.message().contains(status));
        }
        assert_eq!(shop.read_intent(&charge).await["attempts"], 1);
    }
}

async fn merchants_cannot_use_references_of_charges() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("daily", 0).await, phone(PAYS)).await;
    let mut order = api::order(&format!("{}:1:1", created["id"].as_str().unwrap()));
    let refused = shop.call("POST", "/v1/payment-intents", order.clone()).await;
    assert_eq!((refused.status, refused.code()), (422, "parameter_invalid"));
    assert_eq!(refused.body["error"]["param"], "merchant_reference");
    for honest in ["sub_17", "sub_17:1", "sub_17:1:", "sub_17:1:1:1", "sub_17:1:x", "ORDER:1:1"] {
        order["merchant_reference"] = json!(honest);
        assert_eq!(shop.call("POST", "/v1/payment-intents", order.clone()).await.status, 201, "{honest}");
    }
}
