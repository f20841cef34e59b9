//! Billing: every rule of `decisions.md` 6, over HTTP against a real sandbox whose clock is moved.
//!
//! Times are in seconds after the subscription's creation.

mod charges;
mod pausing;

use crate::support::api::{Merchant, card, phone, shop};
use crate::support::folder::Folder;
use crate::support::service::{Sandbox, on_each_store};
use crate::support::subscriptions::{DAY, HOUR, after, expected, subscription};
use guichet::values::Moment;
use serde_json::{Value, json};
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use std::time::Duration;

on_each_store!(
    a_subscription_is_returned_with_all_fields,
    a_deactivated_plan_stays_for_its_subscribers_at_their_price,
    a_plan_has_the_documented_fields_and_is_found_by_id_or_code,
    a_clock_bills_its_own_merchant_alone_and_a_reset_removes_due_work,
    due_work_runs_without_a_request,
    concurrent_requests_charge_once,
    intents_and_subscriptions_share_one_customer,
    lists_continue_at_their_cursor,
);

const PAYS: &str = "237670000000";
const PAYS_AFTER_THIRTY_SECONDS: &str = "237670000001";
const TOO_POOR: &str = "237670000002";
const TIMES_OUT: &str = "237670000004";
const HANGS: &str = "237670000005";
const RECOVERS: &str = "237670000007";
const ASKS_FOR_CODE: &str = "237670000010";
/// A day in seconds.
const D: i64 = 86_400;
const H: i64 = 3_600;

async fn a_subscription_is_returned_with_all_fields() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("weekly", 0).await;
    let mut fields = subscription(&plan, card("5555555555554444"));
    fields["metadata"] = json!({ "seat": { "row": 4 } });
    let created = shop.call("POST", "/v1/subscriptions", fields).await;
    let data = created.body["data"].as_object().unwrap().clone();
    let plan_id = data["plan"]["id"].as_str().unwrap();
    let customer = data["customer_id"].as_str().unwrap();
    assert!(
        plan_id.starts_with("plan_")
            && customer.starts_with("cus_")
            && data["id"].as_str().unwrap().starts_with("sub_")
    );
    let charge = &shop.intents().await[0];
    assert_eq!(
        Value::Object(data.clone()),
        json!({
            "id": data["id"], "object": "subscription", "status": "active",
            "customer_email": "awa@example.com", "customer_id": customer,
            "plan": {
                "id": plan_id, "code": "weekly-0", "name": "Gold", "amount": 5000, "currency": "XAF", "billing_cycle": "weekly",
            },
            "payment_method": { "type": "card", "brand": "mastercard", "last4": "4444" },
            "fallback_payment_method": null, "trigger_after_failures": 3, "consecutive_failures": 0,
            "current_period_start": data["current_period_start"], "current_period_end": data["current_period_end"],
            "trial_end": null, "next_charge_at": data["current_period_end"],
            "cancel_at_period_end": false, "pause_at_period_end": false,
            "paused_at": null, "canceled_at": null, "cancellation_reason": null,
            "latest_payment_intent": charge["id"], "metadata": { "seat": { "row": 4 } }, "created_at": data["created_at"],
            "duplicate_payments": [],
        })
    );
    assert_eq!((charge["amount"].as_str(), charge["currency"].as_str()), (Some("5000"), Some("XAF")));
    assert_eq!((charge["status"].as_str(), charge["attempts"].as_u64()), (Some("succeeded"), Some(1)));
    assert_eq!(charge["metadata"], json!({ "subscription_id": data["id"] }));
    assert_eq!(charge["customer"], json!({ "firstname": "Awa", "lastname": "Ngo", "email": "awa@example.com" }));
}

async fn a_deactivated_plan_stays_for_its_subscribers_at_their_price() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("daily", 0).await;
    let created = shop.subscribe(&plan, phone(PAYS)).await;
    let path = format!("/v1/subscriptions/plans/{}", created["plan"]["id"].as_str().unwrap());
    for _ in 0..2 {
        let gone = shop.call("DELETE", &path, Value::Null).await;
        assert_eq!((gone.status, &gone.body["data"]["active"]), (200, &json!(false)), "{}", gone.text);
    }
    let refused = shop.call("POST", "/v1/subscriptions", subscription(&plan, phone(PAYS))).await;
    assert_eq!((refused.status, refused.code()), (422, "plan_inactive"));
    let taken = json!({ "name": "Silver", "code": plan, "amount": 1, "billing_cycle": "daily" });
    let taken = shop.call("POST", "/v1/subscriptions/plans", taken).await;
    assert_eq!((taken.status, taken.code()), (409, "plan_code_taken"));
    let listed = async |query: &str| {
        let list = shop.call("GET", &format!("/v1/subscriptions/plans{query}"), Value::Null).await;
        list.body["data"].as_array().unwrap().len()
    };
    assert_eq!(
        (listed("").await, listed("?include_inactive=false").await, listed("?include_inactive=true").await),
        (0, 0, 1)
    );
    shop.advance(2 * DAY).await;
    assert_eq!(shop.charges(&created).await.len(), 3, "running subscriptions continue");
    assert!(shop.intents().await.iter().all(|intent| intent["amount"] == "5000"));
}

async fn a_plan_has_the_documented_fields_and_is_found_by_id_or_code() {
    let (_sandbox, shop) = shop().await;
    let fields =
        json!({ "name": "Gold", "code": "gold", "amount": 999_999_999_999_999_u64, "billing_cycle": "yearly" });
    let created = shop.call("POST", "/v1/subscriptions/plans", fields).await;
    let plan = &created.body["data"];
    assert_eq!((created.status, created.body["status_code"].as_u64()), (201, Some(201)));
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

async fn a_clock_bills_its_own_merchant_alone_and_a_reset_removes_due_work() {
    let (sandbox, shop) = shop().await;
    let other = Merchant::new(sandbox.merchant().await.unwrap());
    let (plan, _) = (shop.plan("daily", 0).await, other.plan("daily", 0).await);
    let (mine, theirs) = (shop.subscribe(&plan, phone(PAYS)).await, other.subscribe(&plan, phone(PAYS)).await);
    shop.advance(3 * DAY).await;
    assert_eq!((shop.charges(&mine).await.len(), other.charges(&theirs).await.len()), (4, 1));
    shop.tenant.reset().await.unwrap();
    shop.advance(30 * DAY).await;
    assert_eq!((shop.intents().await, shop.subscription_events(&mine).await), (vec![], vec![]));
    for list in ["/v1/subscriptions", "/v1/subscriptions/plans?include_inactive=true"] {
        assert_eq!(shop.call("GET", list, Value::Null).await.body["data"], json!([]), "{list}");
    }
    assert_eq!(shop.subscribe(&shop.plan("daily", 0).await, phone(PAYS)).await["status"], "active", "the code is free");
    assert_eq!(other.read_subscription(&theirs).await["status"], "active");
}

async fn due_work_runs_without_a_request() {
    let folder = Folder::new("ticker");
    let sandbox = Sandbox::start_with(folder.config()).await.unwrap();
    let shop = Merchant::new(sandbox.merchant().await.unwrap());
    // Paid two seconds after the charge by the wall clock. Moving the merchant's clock would be a request.
    let created = shop.subscribe(&shop.plan("daily", 0).await, phone("237671234567")).await;
    let due = created["created_at"].as_i64().unwrap() + 2;
    let options = SqliteConnectOptions::new().filename(folder.path.join("sandbox.sqlite")).read_only(true);
    let mut database = options.connect().await.unwrap();
    let mut polls = 0;
    loop {
        let text = "SELECT due_at FROM subscriptions";
        let next: i64 = sqlx::query_scalar(text).fetch_one(&mut database).await.unwrap();
        if next != due {
            assert_eq!(next, due - 2 + D, "the next due work is the next period");
            break;
        }
        polls += 1;
        assert!(polls < 600, "the due work did not run");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn concurrent_requests_charge_once() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("monthly", 0).await;
    let created = shop.subscribe(&plan, phone(TOO_POOR)).await;
    let paused = shop.subscribe(&plan, phone(PAYS)).await;
    shop.changed_subscription(&paused, "pause", Value::Null).await;
    shop.advance(62 * DAY).await;
    let again = shop.subscribe(&plan, phone(TOO_POOR)).await;
    let at_once = |subscription: &Value, verb: &'static str, fields: Value| {
        let requests: Vec<_> = (0..24)
            .map(|_| {
                let (shop, subscription, fields) = (shop.clone(), subscription.clone(), fields.clone());
                tokio::spawn(async move { shop.change_subscription(&subscription, verb, fields).await.status })
            })
            .collect();
        async move {
            let mut statuses = Vec::new();
            for request in requests {
                statuses.push(request.await.unwrap());
            }
            statuses.sort_unstable();
            statuses
        }
    };
    assert_eq!(at_once(&again, "payment-method", phone(PAYS)).await, [200; 24]);
    assert_eq!(shop.charges(&again).await.len(), 2, "one new attempt");
    let resumed = at_once(&paused, "resume", Value::Null).await;
    assert_eq!((resumed[0], &resumed[1..]), (200, &[409; 23][..]), "one request has resumed it");
    assert_eq!(shop.charges(&paused).await.len(), 2, "with one charge");
    assert_eq!(shop.read_subscription(&created).await["status"], "canceled");
}

async fn intents_and_subscriptions_share_one_customer() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("weekly", 0).await;
    shop.create_intent("ORDER-17").await;
    let one = shop.subscribe(&plan, phone(PAYS)).await;
    let mut fields = subscription(&plan, phone(PAYS));
    fields["customer_email"] = json!("AWA@example.com");
    let other = shop.call("POST", "/v1/subscriptions", fields.clone()).await.body["data"].clone();
    assert_eq!((&one["customer_id"], &other["customer_email"]), (&other["customer_id"], &json!("AWA@example.com")));
    fields["customer_email"] = json!("ngo@example.com");
    let of_another_customer = shop.call("POST", "/v1/subscriptions", fields).await.body["data"].clone();
    assert_ne!(of_another_customer["customer_id"], one["customer_id"]);
}

async fn lists_continue_at_their_cursor() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("weekly", 3).await;
    let mut created = Vec::new();
    for _ in 0..5 {
        created.push(shop.subscribe(&plan, phone(PAYS)).await["id"].clone());
    }
    for (list, count) in [("/v1/subscriptions", 5), ("/v1/subscriptions/plans", 4)] {
        for trial in [4, 5, 6] {
            shop.plan("weekly", trial).await;
        }
        let (mut seen, mut query) = (Vec::new(), "?limit=2".to_owned());
        loop {
            let page = shop.call("GET", &format!("{list}{query}"), Value::Null).await;
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
