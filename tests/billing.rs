//! Billing that runs: every rule of `decisions.md` 6, over HTTP against a real sandbox whose clock is moved.
//!
//! Moments are told in seconds after the subscription was made.
#![cfg(all(feature = "native", feature = "sandbox"))]
#![allow(clippy::unwrap_used, reason = "a test that cannot ask has failed")]

#[path = "support/asking.rs"]
mod asking;
#[path = "support/folder.rs"]
mod folder;
#[path = "support/subscribing.rs"]
mod subscribing;

use asking::{Shop, card, phone};
use folder::Folder;
use guichet::sandbox::Sandbox;
use guichet::values::Moment;
use serde_json::{Value, json};
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use std::time::Duration;
use subscribing::{DAY, HOUR, after, expected, subscription};

const PAYS: &str = "237670000000";
const PAYS_AFTER_THIRTY_SECONDS: &str = "237670000001";
const TOO_POOR: &str = "237670000002";
const TIMES_OUT: &str = "237670000004";
const HANGS: &str = "237670000005";
const RECOVERS: &str = "237670000007";
const ASKS_FOR_CODE: &str = "237670000010";
/// A day, counted as moments are.
const D: i64 = 86_400;
const H: i64 = 3_600;

#[tokio::test]
async fn a_subscription_is_told_whole() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("weekly", 0).await;
    let mut fields = subscription(&plan, card("5555555555554444"));
    fields["metadata"] = json!({ "seat": { "row": 4 } });
    let made = shop.secret("POST", "/v1/subscriptions", fields).await;
    let told = made.body["data"].as_object().unwrap().clone();
    let plan_id = told["plan"]["id"].as_str().unwrap();
    let customer = told["customer_id"].as_str().unwrap();
    assert!(
        plan_id.starts_with("plan_")
            && customer.starts_with("cus_")
            && told["id"].as_str().unwrap().starts_with("sub_")
    );
    let charge = &shop.intents().await[0];
    assert_eq!(
        Value::Object(told.clone()),
        json!({
            "id": told["id"], "object": "subscription", "status": "active",
            "customer_email": "awa@example.com", "customer_id": customer,
            "plan": {
                "id": plan_id, "code": "weekly-0", "name": "Gold", "amount": 5000, "currency": "XAF", "billing_cycle": "weekly",
            },
            "payment_method": { "type": "card", "brand": "mastercard", "last4": "4444" },
            "fallback_payment_method": null, "trigger_after_failures": 3, "consecutive_failures": 0,
            "current_period_start": told["current_period_start"], "current_period_end": told["current_period_end"],
            "trial_end": null, "next_charge_at": told["current_period_end"],
            "cancel_at_period_end": false, "pause_at_period_end": false,
            "paused_at": null, "canceled_at": null, "cancellation_reason": null,
            "latest_payment_intent": charge["id"], "metadata": { "seat": { "row": 4 } }, "created_at": told["created_at"],
        })
    );
    assert_eq!((charge["amount"].as_str(), charge["currency"].as_str()), (Some("5000"), Some("XAF")));
    assert_eq!((charge["status"].as_str(), charge["attempts"].as_u64()), (Some("succeeded"), Some(1)));
    assert_eq!(charge["metadata"], json!({ "subscription_id": told["id"] }));
    assert_eq!(charge["customer"], json!({ "firstname": "Awa", "lastname": "Ngo", "email": "awa@example.com" }));
}

#[tokio::test]
async fn a_subscription_without_a_trial_is_charged_when_it_is_made_and_each_period() {
    let (_sandbox, shop) = shop().await;
    let made = shop.subscribe(&shop.plan("daily", 0).await, phone(PAYS)).await;
    assert_eq!((&made["status"], after(&made, "current_period_start")), (&json!("active"), Some(0)));
    assert_eq!((after(&made, "current_period_end"), after(&made, "next_charge_at")), (Some(D), Some(D)));
    assert_eq!(shop.charges(&made).await, expected(&[("0:1", 0, "succeeded")]));
    shop.advance(3 * DAY).await;
    let paid =
        [("0:1", 0, "succeeded"), ("1:1", D, "succeeded"), ("2:1", 2 * D, "succeeded"), ("3:1", 3 * D, "succeeded")];
    assert_eq!(shop.charges(&made).await, expected(&paid));
    let now = shop.subscribed(&made).await;
    assert_eq!((after(&now, "current_period_start"), after(&now, "current_period_end")), (Some(3 * D), Some(4 * D)));
    assert_eq!(shop.told(&made).await, ["created", "renewed", "renewed", "renewed"]);
}

#[tokio::test]
async fn a_trial_is_free_and_the_first_charge_comes_at_its_end() {
    let (_sandbox, shop) = shop().await;
    let made = shop.subscribe(&shop.plan("daily", 14).await, phone(PAYS)).await;
    assert_eq!((&made["status"], after(&made, "trial_end")), (&json!("trialing"), Some(14 * D)));
    assert_eq!((after(&made, "current_period_end"), after(&made, "next_charge_at")), (Some(14 * D), Some(14 * D)));
    assert_eq!(made["latest_payment_intent"], Value::Null);
    shop.advance(14 * DAY - 60).await;
    assert_eq!(shop.subscribed(&made).await["status"], "trialing");
    assert_eq!(shop.charges(&made).await, []);
    shop.advance(DAY + 60).await;
    assert_eq!(shop.charges(&made).await, expected(&[("0:1", 14 * D, "succeeded"), ("1:1", 15 * D, "succeeded")]));
    let now = shop.subscribed(&made).await;
    assert_eq!((&now["status"], after(&now, "trial_end")), (&json!("active"), Some(14 * D)));
    assert_eq!(shop.told(&made).await, ["created", "active", "renewed"]);
}

#[tokio::test]
async fn periods_are_calendar_months_from_the_anchor_without_drift() {
    let (_sandbox, shop) = shop().await;
    let begin = Moment::new("2043-01-31T10:30:00Z").unwrap();
    let wait = begin.unix() - shop.tenant.now().unix();
    shop.advance(u32::try_from(wait).unwrap()).await;
    let made = shop.subscribe(&shop.plan("monthly", 0).await, phone(PAYS)).await;
    let late = made["created_at"].as_i64().unwrap() - begin.unix();
    for day in ["2043-02-28", "2043-03-31", "2043-04-30", "2043-05-31"] {
        let end = Moment::new(&format!("{day}T10:30:00Z")).unwrap().plus(late);
        let now = shop.subscribed(&made).await;
        assert_eq!(now["current_period_end"].as_str(), Some(end.to_string().as_str()));
        assert_eq!(now["next_charge_at"], now["current_period_end"]);
        shop.advance(u32::try_from(end.unix() - shop.tenant.now().unix()).unwrap()).await;
    }
    assert_eq!(shop.charges(&made).await.len(), 5);
}

#[tokio::test]
async fn at_the_end_of_the_calendar_all_can_still_be_read_and_nothing_more_is_charged() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("yearly", 0).await;
    let last_year = Moment::new("9999-01-01T00:00:00Z").unwrap().unix();
    while shop.tenant.now().unix() < last_year {
        shop.advance(u32::try_from(last_year - shop.tenant.now().unix()).unwrap_or(u32::MAX)).await;
    }
    let made = shop.subscribe(&plan, phone(PAYS)).await;
    assert_eq!(made["current_period_end"], "9999-12-30T22:00:00Z");
    for _ in 0..2 {
        shop.advance(u32::MAX).await;
        assert_eq!(shop.subscribed(&made).await["status"], "active");
        assert_eq!(shop.charges(&made).await, expected(&[("0:1", 0, "succeeded")]));
    }
    let listed = shop.secret("GET", "/v1/subscriptions", Value::Null).await;
    assert_eq!((listed.status, listed.body["data"].as_array().map(Vec::len)), (200, Some(1)), "{}", listed.text);
}

#[tokio::test]
async fn a_failed_charge_is_tried_again_four_times_in_all_and_then_the_subscription_ends() {
    let (_sandbox, shop) = shop().await;
    // A quarter of a day, and a day where a quarter of the period is longer.
    for (cycle, wait) in [("daily", 6 * H), ("weekly", D), ("monthly", D), ("yearly", D)] {
        let made = shop.subscribe(&shop.plan(cycle, 0).await, phone(TOO_POOR)).await;
        assert_eq!((&made["status"], &made["consecutive_failures"]), (&json!("past_due"), &json!(1)), "{cycle}");
        assert_eq!(after(&made, "next_charge_at"), Some(wait));
        shop.advance(u32::try_from(3 * wait).unwrap()).await;
        let all =
            [("0:1", 0, "failed"), ("0:2", wait, "failed"), ("0:3", 2 * wait, "failed"), ("0:4", 3 * wait, "failed")];
        assert_eq!(shop.charges(&made).await, expected(&all), "{cycle}");
        let ended = shop.subscribed(&made).await;
        assert_eq!((&ended["status"], &ended["cancellation_reason"]), (&json!("canceled"), &json!("payment_failed")));
        assert_eq!((after(&ended, "canceled_at"), &ended["consecutive_failures"]), (Some(3 * wait), &json!(4)));
        assert_eq!(ended["next_charge_at"], Value::Null);
        shop.advance(9 * DAY).await;
        assert_eq!(shop.charges(&made).await.len(), 4, "nothing is charged after the end");
        assert_eq!(shop.told(&made).await, ["created", "past_due", "canceled"]);
    }
}

#[tokio::test]
async fn a_charge_that_succeeds_at_last_makes_it_active_and_no_period_moves() {
    let (_sandbox, shop) = shop().await;
    let made = shop.subscribe(&shop.plan("daily", 0).await, phone(RECOVERS)).await;
    shop.advance(12 * HOUR).await;
    let paid = [("0:1", 0, "failed"), ("0:2", 6 * H, "failed"), ("0:3", 12 * H, "succeeded")];
    assert_eq!(shop.charges(&made).await, expected(&paid));
    let now = shop.subscribed(&made).await;
    assert_eq!((&now["status"], &now["consecutive_failures"]), (&json!("active"), &json!(0)));
    assert_eq!((after(&now, "current_period_start"), after(&now, "current_period_end")), (Some(0), Some(D)));
    shop.advance(12 * HOUR).await;
    assert_eq!(
        shop.charges(&made).await[3],
        expected(&[("1:1", D, "failed")])[0],
        "the next period is due when it always was"
    );
}

#[tokio::test]
async fn a_charge_settles_at_its_own_moment_however_far_the_clock_is_moved() {
    let (_sandbox, shop) = shop().await;
    let made = shop.subscribe(&shop.plan("weekly", 0).await, phone(TIMES_OUT)).await;
    assert_eq!(made["status"], "active", "it may yet be paid");
    shop.advance(7 * DAY).await;
    // Each attempt is declined after 300 seconds, and the next one begins a day after that.
    let all = [("0:1", 0), ("0:2", D + 300), ("0:3", 2 * D + 600), ("0:4", 3 * D + 900)];
    assert_eq!(shop.charges(&made).await, expected(&all.map(|(name, at)| (name, at, "failed"))));
    let ended = shop.subscribed(&made).await;
    assert_eq!((&ended["status"], after(&ended, "canceled_at")), (&json!("canceled"), Some(3 * D + 1_200)));
}

#[tokio::test]
async fn the_fallback_is_tried_at_once_after_so_many_failures_and_the_next_period_begins_with_the_primary() {
    let (_sandbox, shop) = shop().await;
    let made = shop.subscribe(&shop.plan("weekly", 0).await, phone(TOO_POOR)).await;
    let set = shop.billed(&made, "fallback", card("4242424242424242")).await;
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
    assert_eq!(shop.charges(&made).await, expected(&all));
    let now = shop.subscribed(&made).await;
    assert_eq!(
        (&now["status"], &now["consecutive_failures"]),
        (&json!("past_due"), &json!(1)),
        "the counter began anew"
    );
    let by = |name: &'static str| {
        let reference = format!("{}:{name}", made["id"].as_str().unwrap());
        move |intent: &&Value| intent["merchant_reference"] == reference.as_str()
    };
    let intents = shop.intents().await;
    assert_eq!(intents.iter().find(by("0:4")).unwrap()["payment_method"]["type"], "card");
    assert_eq!(intents.iter().find(by("1:1")).unwrap()["payment_method"]["type"], "mobile_money");
}

#[tokio::test]
async fn a_fallback_that_fails_too_ends_it_after_four_attempts() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("weekly", 0).await;
    for (trigger, moments) in [
        (1, vec![0, 0, D, D]),
        (2, vec![0, D, D, 2 * D]),
        (3, vec![0, D, 2 * D, 2 * D]),
        // Its turn comes with the fourth failure, and it has it.
        (4, vec![0, D, 2 * D, 3 * D, 3 * D]),
        (5, vec![0, D, 2 * D, 3 * D]),
    ] {
        let made = shop.subscribe(&plan, phone(PAYS_AFTER_THIRTY_SECONDS)).await;
        let mut fallback = card("4000000000000002");
        fallback["trigger_after_failures"] = json!(trigger);
        assert_eq!(shop.billed(&made, "fallback", fallback).await["trigger_after_failures"], trigger);
        shop.billed(&made, "payment-method", phone(TOO_POOR)).await;
        shop.advance(14 * DAY).await;
        let seen: Vec<i64> = shop
            .charges(&made)
            .await
            .iter()
            .filter(|(name, ..)| name.starts_with("1:"))
            .map(|(_, at, _)| at - 7 * D)
            .collect();
        assert_eq!(seen, moments, "trigger {trigger}");
        assert_eq!(shop.subscribed(&made).await["cancellation_reason"], "payment_failed");
    }
}

#[tokio::test]
async fn a_fallback_set_after_as_many_failures_is_tried_at_once() {
    let (_sandbox, shop) = shop().await;
    let made = shop.subscribe(&shop.plan("weekly", 0).await, phone(TOO_POOR)).await;
    let mut fallback = card("4242424242424242");
    fallback["trigger_after_failures"] = json!(1);
    let paid = shop.billed(&made, "fallback", fallback.clone()).await;
    assert_eq!((&paid["status"], &paid["consecutive_failures"]), (&json!("active"), &json!(0)));
    shop.billed(&made, "fallback", fallback).await;
    assert_eq!(shop.charges(&made).await.len(), 2, "the same fallback again has no effect");
}

#[tokio::test]
async fn a_new_payment_method_is_tried_at_once_while_a_charge_has_failed() {
    let (_sandbox, shop) = shop().await;
    let made = shop.subscribe(&shop.plan("monthly", 0).await, phone(TOO_POOR)).await;
    let same = shop.billed(&made, "payment-method", phone(TOO_POOR)).await;
    assert_eq!(
        (&same["status"], shop.charges(&made).await.len()),
        (&json!("past_due"), 1),
        "the same method is no new one"
    );
    shop.advance(HOUR).await;
    let paid = shop.billed(&made, "payment-method", card("4242424242424242")).await;
    assert_eq!((&paid["status"], &paid["consecutive_failures"]), (&json!("active"), &json!(0)));
    assert_eq!(paid["payment_method"], json!({ "type": "card", "brand": "visa", "last4": "4242" }));
    assert_eq!(after(&paid, "current_period_start"), Some(0), "the period is the one that was owed");
    let charges = shop.charges(&made).await;
    assert_eq!((charges[1].0.as_str(), charges[1].2.as_str(), charges.len()), ("0:2", "succeeded", 2));
    assert!((H..H + 60).contains(&charges[1].1), "{charges:?}");
    let changed = shop.billed(&made, "payment-method", phone(TOO_POOR)).await;
    assert_eq!(
        (&changed["status"], shop.charges(&made).await.len()),
        (&json!("active"), 2),
        "what is paid is not charged"
    );
    assert_eq!(shop.told(&made).await, ["created", "past_due", "updated", "active", "updated"]);
}

#[tokio::test]
async fn nothing_is_charged_while_it_is_paused_and_a_resume_inside_the_paid_period_charges_nothing() {
    let (_sandbox, shop) = shop().await;
    let made = shop.subscribe(&shop.plan("weekly", 0).await, phone(PAYS)).await;
    let paused = shop.billed(&made, "pause", Value::Null).await;
    assert_eq!((&paused["status"], &paused["next_charge_at"]), (&json!("paused"), &Value::Null));
    assert!(after(&paused, "paused_at").unwrap() < 60);
    shop.advance(6 * DAY).await;
    let again = shop.billed(&made, "pause", Value::Null).await;
    assert_eq!(again["paused_at"], paused["paused_at"], "pausing what is paused changes nothing");
    let resumed = shop.billed(&made, "resume", Value::Null).await;
    assert_eq!((&resumed["status"], &resumed["paused_at"]), (&json!("active"), &Value::Null));
    assert_eq!((after(&resumed, "current_period_start"), after(&resumed, "next_charge_at")), (Some(0), Some(7 * D)));
    assert_eq!(shop.charges(&made).await.len(), 1);
    shop.advance(DAY).await;
    assert_eq!(shop.charges(&made).await[1..], expected(&[("1:1", 7 * D, "succeeded")]));
    assert_eq!(shop.told(&made).await, ["created", "paused", "active", "renewed"]);
}

#[tokio::test]
async fn a_resume_after_the_paid_period_begins_a_new_one_with_one_charge_and_bills_nothing_back() {
    let (_sandbox, shop) = shop().await;
    let made = shop.subscribe(&shop.plan("weekly", 0).await, phone(PAYS)).await;
    shop.billed(&made, "pause", json!({ "immediately": true })).await;
    shop.advance(31 * DAY).await;
    assert_eq!(shop.charges(&made).await.len(), 1);
    let resumed = shop.billed(&made, "resume", Value::Null).await;
    let anchor = after(&resumed, "current_period_start").unwrap();
    assert!((31 * D..31 * D + 60).contains(&anchor), "{resumed}");
    assert_eq!(after(&resumed, "current_period_end"), Some(anchor + 7 * D));
    assert_eq!(shop.charges(&made).await[1..], expected(&[("1:1", anchor, "succeeded")]));
    shop.advance(7 * DAY).await;
    assert_eq!(shop.charges(&made).await[2..], expected(&[("2:1", anchor + 7 * D, "succeeded")]));
}

#[tokio::test]
async fn a_pause_stops_the_retries_and_keeps_the_counter() {
    let (_sandbox, shop) = shop().await;
    let made = shop.subscribe(&shop.plan("weekly", 0).await, phone(TOO_POOR)).await;
    shop.advance(DAY).await;
    let paused = shop.billed(&made, "pause", Value::Null).await;
    assert_eq!(paused["consecutive_failures"], 2);
    shop.advance(3 * DAY).await;
    assert_eq!(shop.charges(&made).await.len(), 2);
    let resumed = shop.billed(&made, "resume", Value::Null).await;
    // The period was not paid: a new one begins, and its charge fails as well.
    assert_eq!((&resumed["status"], &resumed["consecutive_failures"]), (&json!("past_due"), &json!(3)));
    let anchor = after(&resumed, "current_period_start").unwrap();
    assert!(anchor >= 4 * D);
    assert_eq!(shop.charges(&made).await[2..], expected(&[("1:1", anchor, "failed")]));
}

#[tokio::test]
async fn a_charge_that_began_before_a_pause_may_still_be_paid() {
    let (_sandbox, shop) = shop().await;
    let made = shop.subscribe(&shop.plan("weekly", 0).await, phone(PAYS_AFTER_THIRTY_SECONDS)).await;
    shop.billed(&made, "pause", Value::Null).await;
    shop.advance(DAY).await;
    assert_eq!(shop.subscribed(&made).await["status"], "paused");
    let resumed = shop.billed(&made, "resume", Value::Null).await;
    assert_eq!((&resumed["status"], after(&resumed, "current_period_end")), (&json!("active"), Some(7 * D)));
    assert_eq!(shop.charges(&made).await, expected(&[("0:1", 0, "succeeded")]), "no second charge beside it");

    let other = shop.subscribe(&shop.plan("weekly", 0).await, phone(TIMES_OUT)).await;
    shop.billed(&other, "pause", Value::Null).await;
    let resumed = shop.billed(&other, "resume", Value::Null).await;
    assert_eq!((&resumed["status"], shop.charges(&other).await.len()), (&json!("active"), 1), "it is still under way");
    shop.billed(&other, "pause", Value::Null).await;
    shop.advance(DAY).await;
    let failed = shop.subscribed(&other).await;
    assert_eq!((&failed["status"], &failed["consecutive_failures"]), (&json!("paused"), &json!(1)));
    assert_eq!(shop.charges(&other).await, expected(&[("0:1", 0, "failed")]));
}

#[tokio::test]
async fn a_pause_in_the_trial_does_not_use_it_up_twice() {
    let (_sandbox, shop) = shop().await;
    let made = shop.subscribe(&shop.plan("weekly", 14).await, phone(PAYS)).await;
    shop.billed(&made, "pause", Value::Null).await;
    shop.advance(13 * DAY).await;
    assert_eq!(shop.billed(&made, "resume", Value::Null).await["status"], "trialing");
    shop.billed(&made, "pause", Value::Null).await;
    shop.advance(13 * DAY).await;
    let resumed = shop.billed(&made, "resume", Value::Null).await;
    assert_eq!(resumed["status"], "active", "the trial is over");
    let charges = shop.charges(&made).await;
    assert_eq!((charges.len(), charges[0].0.as_str()), (1, "0:1"));
    assert!(charges[0].1 >= 26 * D);
}

#[tokio::test]
async fn a_pause_at_the_end_of_the_period_waits_for_it() {
    let (_sandbox, shop) = shop().await;
    let made = shop.subscribe(&shop.plan("weekly", 0).await, phone(PAYS)).await;
    let wished = shop.billed(&made, "pause", json!({ "immediately": false, "trigger_after_failures": 7 })).await;
    assert_eq!((&wished["status"], &wished["pause_at_period_end"]), (&json!("active"), &json!(true)));
    assert_eq!(
        (&wished["trigger_after_failures"], &wished["next_charge_at"]),
        (&json!(7), &Value::Null),
        "it is echoed"
    );
    assert_eq!(shop.subscribed(&made).await["trigger_after_failures"], 3, "and has no effect");
    shop.advance(8 * DAY).await;
    let paused = shop.subscribed(&made).await;
    assert_eq!((&paused["status"], after(&paused, "paused_at")), (&json!("paused"), Some(7 * D)));
    assert_eq!((&paused["pause_at_period_end"], shop.charges(&made).await.len()), (&json!(false), 1));
    assert_eq!(shop.told(&made).await, ["created", "updated", "paused"]);
}

#[tokio::test]
async fn a_cancel_is_at_the_end_of_the_period_unless_it_is_immediate_and_nothing_is_charged_after_it() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("weekly", 0).await;
    let (made, other) = (shop.subscribe(&plan, phone(PAYS)).await, shop.subscribe(&plan, phone(PAYS)).await);
    let wished = shop.billed(&made, "cancel", Value::Null).await;
    assert_eq!((&wished["status"], &wished["cancel_at_period_end"]), (&json!("active"), &json!(true)));
    assert_eq!((&wished["next_charge_at"], &wished["canceled_at"]), (&Value::Null, &Value::Null));
    let now = shop.billed(&other, "cancel", json!({ "immediately": true })).await;
    assert_eq!((&now["status"], &now["cancellation_reason"]), (&json!("canceled"), &json!("requested_by_merchant")));
    shop.advance(30 * DAY).await;
    let ended = shop.subscribed(&made).await;
    assert_eq!((&ended["status"], after(&ended, "canceled_at")), (&json!("canceled"), Some(7 * D)));
    assert_eq!(ended["cancellation_reason"], "requested_by_merchant");
    for (subscription, ended) in [(&made, &ended), (&other, &now)] {
        assert_eq!(shop.charges(subscription).await.len(), 1);
        assert_eq!(
            &shop.billed(subscription, "cancel", json!({ "immediately": true })).await,
            ended,
            "again it changes nothing"
        );
        for (verb, fields) in [
            ("pause", Value::Null),
            ("resume", Value::Null),
            ("payment-method", phone(PAYS)),
            ("fallback", phone(PAYS)),
        ] {
            let refused = shop.bill(subscription, verb, fields).await;
            assert_eq!((refused.status, refused.code()), (409, "subscription_state"), "{verb}");
            assert!(refused.message().contains("canceled"), "{}", refused.message());
        }
    }
}

#[tokio::test]
async fn a_cancel_in_the_trial_is_never_charged_and_one_in_a_pause_holds() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("weekly", 14).await;
    let (trial, paused, outlasted) = (
        shop.subscribe(&plan, phone(PAYS)).await,
        shop.subscribe(&plan, phone(PAYS)).await,
        shop.subscribe(&plan, phone(PAYS)).await,
    );
    shop.billed(&trial, "cancel", Value::Null).await;
    shop.billed(&paused, "cancel", Value::Null).await;
    shop.billed(&paused, "pause", Value::Null).await;
    shop.billed(&outlasted, "pause", Value::Null).await;
    shop.advance(20 * DAY).await;
    for subscription in [&trial, &paused] {
        let ended = shop.subscribed(subscription).await;
        assert_eq!((&ended["status"], after(&ended, "canceled_at")), (&json!("canceled"), Some(14 * D)));
    }
    // Its period is over: there is no end of a period to wait for.
    assert_eq!(shop.billed(&outlasted, "cancel", Value::Null).await["status"], "canceled");
    assert_eq!(shop.intents().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_resume_takes_back_what_was_to_come_and_refuses_what_nothing_holds() {
    let (_sandbox, shop) = shop().await;
    let made = shop.subscribe(&shop.plan("weekly", 0).await, phone(PAYS)).await;
    shop.billed(&made, "cancel", Value::Null).await;
    shop.billed(&made, "pause", json!({ "immediately": false })).await;
    let resumed = shop.billed(&made, "resume", Value::Null).await;
    assert_eq!((&resumed["cancel_at_period_end"], &resumed["pause_at_period_end"]), (&json!(false), &json!(false)));
    shop.advance(7 * DAY).await;
    assert_eq!(shop.charges(&made).await.len(), 2);
    let failing = shop.subscribe(&shop.plan("weekly", 0).await, phone(TOO_POOR)).await;
    let trial = shop.subscribe(&shop.plan("weekly", 3).await, phone(PAYS)).await;
    for (subscription, state) in [(&made, "active"), (&failing, "past_due"), (&trial, "trialing")] {
        let refused = shop.bill(subscription, "resume", Value::Null).await;
        assert_eq!((refused.status, refused.code()), (409, "subscription_state"), "{state}");
        assert!(refused.message().contains(state), "{}", refused.message());
    }
}

#[tokio::test]
async fn a_charge_that_never_ends_makes_it_past_due_and_no_other_is_begun_beside_it() {
    let (_sandbox, shop) = shop().await;
    let made = shop.subscribe(&shop.plan("daily", 0).await, phone(HANGS)).await;
    assert_eq!(made["status"], "active");
    shop.advance(30 * DAY).await;
    let stuck = shop.subscribed(&made).await;
    assert_eq!(
        (&stuck["status"], &stuck["consecutive_failures"]),
        (&json!("past_due"), &json!(0)),
        "it has not failed"
    );
    assert_eq!(stuck["next_charge_at"], Value::Null);
    shop.billed(&made, "payment-method", phone(PAYS)).await;
    shop.billed(&made, "pause", Value::Null).await;
    let resumed = shop.billed(&made, "resume", Value::Null).await;
    assert_ne!(resumed["status"], "paused");
    assert_eq!(shop.charges(&made).await, expected(&[("0:1", 0, "processing")]));
    assert_eq!(shop.billed(&made, "cancel", Value::Null).await["status"], "canceled", "its period is over");
}

#[tokio::test]
async fn what_needs_the_customer_is_a_decline_they_must_mend() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("weekly", 0).await;
    for method in [phone(ASKS_FOR_CODE), card("4000000000003220")] {
        let made = shop.subscribe(&plan, method).await;
        assert_eq!(made["status"], "past_due");
        let path = format!("/v1/payment-intents/{}", made["latest_payment_intent"].as_str().unwrap());
        let charge = shop.secret("GET", &path, Value::Null).await;
        let told = &charge.body["data"];
        assert_eq!((&told["status"], &told["next_action"]), (&json!("failed"), &Value::Null));
        assert_eq!(told["last_payment_error"]["code"], "authentication_required");
        assert_eq!(shop.billed(&made, "payment-method", card("4242424242424242")).await["status"], "active");
    }
}

#[tokio::test]
async fn a_charge_is_moved_by_nobody_but_the_subscription() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("weekly", 0).await;
    for (number, status) in [(TOO_POOR, "failed"), (HANGS, "processing"), (PAYS, "succeeded")] {
        let made = shop.subscribe(&plan, phone(number)).await;
        let charge = shop.read(&json!({ "id": made["latest_payment_intent"] })).await;
        for (verb, fields) in
            [("payment-method", card("4242424242424242")), ("confirm", Value::Null), ("cancel", Value::Null)]
        {
            let refused = shop.move_on(&charge, verb, fields).await;
            assert_eq!(refused.status, 409, "{verb} of {status}: {}", refused.text);
            assert!(refused.message().contains(status));
        }
        assert_eq!(shop.read(&charge).await["attempts"], 1);
    }
}

#[tokio::test]
async fn a_reference_of_a_charge_is_no_merchants_to_give() {
    let (_sandbox, shop) = shop().await;
    let made = shop.subscribe(&shop.plan("daily", 0).await, phone(PAYS)).await;
    let mut order = asking::order(&format!("{}:1:1", made["id"].as_str().unwrap()));
    let refused = shop.secret("POST", "/v1/payment-intents", order.clone()).await;
    assert_eq!((refused.status, refused.code()), (422, "parameter_invalid"));
    assert_eq!(refused.body["error"]["param"], "merchant_reference");
    for honest in ["sub_17", "sub_17:1", "sub_17:1:", "sub_17:1:1:1", "sub_17:1:x", "ORDER:1:1"] {
        order["merchant_reference"] = json!(honest);
        assert_eq!(shop.secret("POST", "/v1/payment-intents", order.clone()).await.status, 201, "{honest}");
    }
}

#[tokio::test]
async fn a_plan_that_is_deactivated_stays_for_who_has_it_and_its_price_is_kept() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("daily", 0).await;
    let made = shop.subscribe(&plan, phone(PAYS)).await;
    let path = format!("/v1/subscriptions/plans/{}", made["plan"]["id"].as_str().unwrap());
    for _ in 0..2 {
        let gone = shop.secret("DELETE", &path, Value::Null).await;
        assert_eq!((gone.status, &gone.body["data"]["active"]), (200, &json!(false)), "{}", gone.text);
    }
    let refused = shop.secret("POST", "/v1/subscriptions", subscription(&plan, phone(PAYS))).await;
    assert_eq!((refused.status, refused.code()), (422, "plan_inactive"));
    let taken = json!({ "name": "Silver", "code": plan, "amount": 1, "billing_cycle": "daily" });
    let taken = shop.secret("POST", "/v1/subscriptions/plans", taken).await;
    assert_eq!((taken.status, taken.code()), (409, "plan_code_taken"));
    let listed = async |query: &str| {
        let list = shop.secret("GET", &format!("/v1/subscriptions/plans{query}"), Value::Null).await;
        list.body["data"].as_array().unwrap().len()
    };
    assert_eq!(
        (listed("").await, listed("?include_inactive=false").await, listed("?include_inactive=true").await),
        (0, 0, 1)
    );
    shop.advance(2 * DAY).await;
    assert_eq!(shop.charges(&made).await.len(), 3, "running subscriptions go on");
    assert!(shop.intents().await.iter().all(|intent| intent["amount"] == "5000"));
}

#[tokio::test]
async fn a_plan_is_told_as_the_document_shows_it_and_found_by_id_or_code() {
    let (_sandbox, shop) = shop().await;
    let fields =
        json!({ "name": "Gold", "code": "gold", "amount": 999_999_999_999_999_u64, "billing_cycle": "yearly" });
    let made = shop.secret("POST", "/v1/subscriptions/plans", fields).await;
    let plan = &made.body["data"];
    assert_eq!((made.status, made.body["status_code"].as_u64()), (201, Some(201)));
    assert_eq!(
        plan,
        &json!({
            "id": plan["id"], "name": "Gold", "code": "gold", "amount": 999_999_999_999_999_u64, "currency": "XAF",
            "billing_cycle": "yearly", "trial_days": 0, "active": true, "created_at": plan["created_at"],
        })
    );
    for key in ["gold", plan["id"].as_str().unwrap()] {
        assert_eq!(shop.subscribe(key, phone(PAYS)).await["plan"]["id"], plan["id"]);
    }
}

#[tokio::test]
async fn a_clock_bills_its_own_merchant_alone_and_a_reset_forgets_what_was_due() {
    let (sandbox, shop) = shop().await;
    let other = Shop::of(sandbox.merchant().await.unwrap());
    let (plan, _) = (shop.plan("daily", 0).await, other.plan("daily", 0).await);
    let (mine, theirs) = (shop.subscribe(&plan, phone(PAYS)).await, other.subscribe(&plan, phone(PAYS)).await);
    shop.advance(3 * DAY).await;
    assert_eq!((shop.charges(&mine).await.len(), other.charges(&theirs).await.len()), (4, 1));
    shop.tenant.reset().await.unwrap();
    shop.advance(30 * DAY).await;
    assert_eq!((shop.intents().await, shop.told(&mine).await), (vec![], vec![]));
    for list in ["/v1/subscriptions", "/v1/subscriptions/plans?include_inactive=true"] {
        assert_eq!(shop.secret("GET", list, Value::Null).await.body["data"], json!([]), "{list}");
    }
    assert_eq!(shop.subscribe(&shop.plan("daily", 0).await, phone(PAYS)).await["status"], "active", "the code is free");
    assert_eq!(other.subscribed(&theirs).await["status"], "active");
}

#[tokio::test]
async fn what_comes_due_is_done_though_nobody_asks() {
    let folder = Folder::new("ticker");
    let sandbox = Sandbox::start_with(folder.config()).await.unwrap();
    let shop = Shop::of(sandbox.merchant().await.unwrap());
    // Paid two seconds after it is charged, by the wall's clock: moving the merchant's would be asking.
    let made = shop.subscribe(&shop.plan("daily", 0).await, phone("237671234567")).await;
    let due = made["created_at"].as_i64().unwrap() + 2;
    let options = SqliteConnectOptions::new().filename(folder.path.join("sandbox.sqlite")).read_only(true);
    let mut database = options.connect().await.unwrap();
    let mut looks = 0;
    loop {
        let text = "SELECT due_at FROM subscriptions";
        let next: i64 = sqlx::query_scalar(text).fetch_one(&mut database).await.unwrap();
        if next != due {
            assert_eq!(next, due - 2 + D, "the next thing is the next period");
            break;
        }
        looks += 1;
        assert!(looks < 600, "nobody did what has come due");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn what_is_asked_at_once_is_charged_once() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("monthly", 0).await;
    let made = shop.subscribe(&plan, phone(TOO_POOR)).await;
    let paused = shop.subscribe(&plan, phone(PAYS)).await;
    shop.billed(&paused, "pause", Value::Null).await;
    shop.advance(62 * DAY).await;
    let again = shop.subscribe(&plan, phone(TOO_POOR)).await;
    let at_once = |subscription: &Value, verb: &'static str, fields: Value| {
        let asked: Vec<_> = (0..24)
            .map(|_| {
                let (shop, subscription, fields) = (shop.clone(), subscription.clone(), fields.clone());
                tokio::spawn(async move { shop.bill(&subscription, verb, fields).await.status })
            })
            .collect();
        async move {
            let mut answers = Vec::new();
            for answer in asked {
                answers.push(answer.await.unwrap());
            }
            answers.sort_unstable();
            answers
        }
    };
    assert_eq!(at_once(&again, "payment-method", phone(PAYS)).await, [200; 24]);
    assert_eq!(shop.charges(&again).await.len(), 2, "one new attempt");
    let resumed = at_once(&paused, "resume", Value::Null).await;
    assert_eq!((resumed[0], &resumed[1..]), (200, &[409; 23][..]), "one has resumed it");
    assert_eq!(shop.charges(&paused).await.len(), 2, "with one charge");
    assert_eq!(shop.subscribed(&made).await["status"], "canceled");
}

#[tokio::test]
async fn one_customer_is_one_however_they_came() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("weekly", 0).await;
    shop.intent("ORDER-17").await;
    let one = shop.subscribe(&plan, phone(PAYS)).await;
    let mut fields = subscription(&plan, phone(PAYS));
    fields["customer_email"] = json!("AWA@example.com");
    let other = shop.secret("POST", "/v1/subscriptions", fields.clone()).await.body["data"].clone();
    assert_eq!((&one["customer_id"], &other["customer_email"]), (&other["customer_id"], &json!("AWA@example.com")));
    fields["customer_email"] = json!("ngo@example.com");
    let stranger = shop.secret("POST", "/v1/subscriptions", fields).await.body["data"].clone();
    assert_ne!(stranger["customer_id"], one["customer_id"]);
}

#[tokio::test]
async fn lists_go_on_where_they_were_left() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("weekly", 3).await;
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(shop.subscribe(&plan, phone(PAYS)).await["id"].clone());
    }
    for (list, count) in [("/v1/subscriptions", 5), ("/v1/subscriptions/plans", 4)] {
        for trial in [4, 5, 6] {
            shop.plan("weekly", trial).await;
        }
        let (mut seen, mut query) = (Vec::new(), "?limit=2".to_owned());
        loop {
            let page = shop.secret("GET", &format!("{list}{query}"), Value::Null).await;
            assert_eq!(page.status, 200, "{}", page.text);
            seen.extend(page.body["data"].as_array().unwrap().iter().map(|entry| entry["id"].clone()));
            let Some(cursor) = page.body["pagination"]["next_cursor"].as_str() else { break };
            assert!(page.header("link").unwrap().contains("rel=\"next\""));
            query = format!("?limit=2&starting_after={cursor}");
        }
        let mut each = seen.clone();
        each.sort_by_key(ToString::to_string);
        each.dedup();
        assert_eq!((seen.len(), each.len()), (count, count), "{list}");
    }
}

async fn shop() -> (Sandbox, Shop) {
    let sandbox = Sandbox::start().await.unwrap();
    let shop = Shop::of(sandbox.merchant().await.unwrap());
    (sandbox, shop)
}
