//! Invalid input for plans and subscriptions: all field errors are reported together, and existence of other merchants'
//! objects is not revealed.

use crate::support::api::{Merchant, Reply, card, phone, shop};
use crate::support::service::on_each_store;
use crate::support::subscriptions::{DAY, subscription};
use serde_json::{Value, json};

on_each_store!(a_plan_code_is_unique_per_merchant, the_clock_only_goes_forward_and_a_refused_move_bills_no_customer,);

const PLANS: &str = "/v1/subscriptions/plans";
const SUBSCRIPTIONS: &str = "/v1/subscriptions";

#[tokio::test]
async fn all_field_errors_of_a_plan_are_reported_together() {
    let (_sandbox, shop) = shop().await;
    let empty = shop.call("POST", PLANS, json!({})).await;
    assert_eq!(faults(&empty), missing(&["name", "code", "amount", "billing_cycle"]));
    let wrong = json!({
        "name": " ", "code": "two words", "amount": "5000", "currency": "xaf", "billing_cycle": "hourly", "trial_days": -1,
    });
    let wrong = shop.call("POST", PLANS, wrong).await;
    assert_eq!(faults(&wrong), invalid(&["name", "code", "amount", "currency", "billing_cycle", "trial_days"]));
    let good = json!({ "name": "Gold", "code": "gold", "amount": 5000, "billing_cycle": "monthly" });
    for (field, values) in [
        ("name", vec![json!(""), json!(5), json!(["Gold"])]),
        ("code", vec![json!(""), json!("-gold"), json!("gold/monthly"), json!("é"), json!("x".repeat(65)), json!(17)]),
        (
            "amount",
            vec![
                json!(0),
                json!(-1),
                json!(5.5),
                json!(1e15),
                json!("5000"),
                json!(1_000_000_000_000_000_u64),
                json!(true),
            ],
        ),
        ("billing_cycle", vec![json!("Monthly"), json!(""), json!(30), json!("month")]),
        ("trial_days", vec![json!(1.5), json!("14"), json!(731), json!(-1), json!(4_294_967_296_u64), json!(true)]),
        ("currency", vec![json!("XAFX"), json!("xaf"), json!(950)]),
    ] {
        for value in values {
            let mut fields = good.clone();
            fields[field] = value.clone();
            let refused = shop.call("POST", PLANS, fields).await;
            let out_of_range = field == "amount" && value.as_f64().is_some_and(|number| number.fract() == 0.0);
            let code = if out_of_range { "amount_out_of_range" } else { "parameter_invalid" };
            assert_eq!(faults(&refused), [(field.to_owned(), code.to_owned())], "{field}: {value}");
        }
    }
    let mut fields = good.clone();
    fields["currency"] = json!("JPY");
    let refused = shop.call("POST", PLANS, fields).await;
    assert_eq!(faults(&refused), [("currency".to_owned(), "currency_unsupported".to_owned())]);
    assert_eq!(shop.call("POST", PLANS, good).await.status, 201, "a refused create reserves nothing");
}

async fn a_plan_code_is_unique_per_merchant() {
    let (sandbox, shop) = shop().await;
    let other = Merchant::new(sandbox.merchant().await.unwrap());
    let fields = json!({ "name": "Gold", "code": "gold", "amount": 5000, "billing_cycle": "monthly" });
    assert_eq!(shop.call("POST", PLANS, fields.clone()).await.status, 201);
    let taken = shop.call("POST", PLANS, fields.clone()).await;
    assert_eq!((taken.status, taken.code()), (409, "plan_code_taken"));
    assert_eq!(other.call("POST", PLANS, fields).await.status, 201);
    let at_once = (0..16).map(|number| {
        let shop = shop.clone();
        let fields =
            json!({ "name": format!("Silver {number}"), "code": "silver", "amount": 1, "billing_cycle": "daily" });
        tokio::spawn(async move { shop.call("POST", PLANS, fields).await.status })
    });
    let mut statuses = Vec::new();
    for response in at_once.collect::<Vec<_>>() {
        statuses.push(response.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!((statuses[0], &statuses[1..]), (201, &[409; 15][..]));
}

#[tokio::test]
async fn all_field_errors_of_a_subscription_are_reported_together() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("monthly", 0).await;
    let empty = shop.call("POST", SUBSCRIPTIONS, json!({})).await;
    assert_eq!(faults(&empty), missing(&["plan", "customer_email", "firstname", "lastname", "payment_method"]));
    let wrong = json!({
        "plan": 17, "customer_email": "awa@", "firstname": "", "lastname": 5, "payment_method": "card", "metadata": "seat",
    });
    let wrong = shop.call("POST", SUBSCRIPTIONS, wrong).await;
    let all = ["plan", "customer_email", "firstname", "lastname", "payment_method", "metadata"];
    assert_eq!(faults(&wrong), invalid(&all));
    let good = subscription(&plan, phone("237670000000"));
    for (field, values) in [
        (
            "payment_method",
            vec![
                json!({ "type": "cash" }),
                json!({ "type": "mobile_money" }),
                json!({ "type": "mobile_money", "phone": "+237 670" }),
                json!({ "type": "card" }),
                json!({ "type": "card", "card": { "number": "4242424242424242", "exp_month": 13, "exp_year": 2034, "cvc": "123" } }),
                json!({ "type": "card", "card": { "number": 4_242_424_242_424_242_u64, "exp_month": 12, "exp_year": 2034, "cvc": "123" } }),
                json!([]),
            ],
        ),
        ("metadata", vec![json!([]), json!(1)]),
        ("customer_email", vec![json!(""), json!("awa"), json!(null)]),
    ] {
        for value in values {
            let mut fields = good.clone();
            fields[field] = value.clone();
            let refused = shop.call("POST", SUBSCRIPTIONS, fields).await;
            let param = &faults(&refused)[0].0;
            assert!(refused.status == 422 && param.starts_with(field), "{param}: {value}: {}", refused.text);
        }
    }
    assert_eq!(shop.call("GET", SUBSCRIPTIONS, Value::Null).await.body["data"], json!([]), "none was made");
    assert_eq!(shop.intents().await, Vec::<Value>::new());
}

#[tokio::test]
async fn an_inactive_plan_and_a_card_that_is_not_a_test_card_are_reported_together() {
    let (_sandbox, shop) = shop().await;
    let plan = shop.plan("monthly", 0).await;
    let id = shop.call("GET", PLANS, Value::Null).await.body["data"][0]["id"].clone();
    shop.call("DELETE", &format!("{PLANS}/{}", id.as_str().unwrap()), Value::Null).await;
    let refused = shop.call("POST", SUBSCRIPTIONS, subscription(&plan, card("4111111111111111"))).await;
    let expected = [("plan", "plan_inactive"), ("payment_method.card.number", "test_card_required")];
    assert_eq!(faults(&refused), expected.map(|(param, code)| (param.to_owned(), code.to_owned())));
    assert!(!refused.text.contains("4111111111111111"));
}

/// Ids in paths and cursors are in `sandbox_every_operation.rs`.
#[tokio::test]
async fn an_unknown_and_a_foreign_plan_get_the_same_404() {
    let (sandbox, shop) = shop().await;
    let other = Merchant::new(sandbox.merchant().await.unwrap());
    let plan = shop.plan("monthly", 0).await;
    let created = shop.subscribe(&plan, phone("237670000000")).await;
    for key in [created["plan"]["id"].as_str().unwrap(), &plan, "unknown"] {
        let refused = other.call("POST", SUBSCRIPTIONS, subscription(key, phone("237670000000"))).await;
        assert_eq!((refused.status, refused.code()), (404, "resource_missing"), "{key}");
        assert_eq!(refused.message(), "There is no such plan.");
    }
    assert_eq!(other.call("GET", SUBSCRIPTIONS, Value::Null).await.body["data"], json!([]));
    assert_eq!(shop.read_subscription(&created).await, created, "nothing has changed");
}

#[tokio::test]
async fn invalid_fields_of_an_update_are_refused_and_change_nothing() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("monthly", 0).await, phone("237670000000")).await;
    let with = |trigger: Value| {
        let mut fields = phone("237670000002");
        fields["trigger_after_failures"] = trigger;
        fields
    };
    let mut cases = vec![
        ("pause", json!({ "immediately": "true" }), vec!["immediately"]),
        (
            "pause",
            json!({ "immediately": 1, "trigger_after_failures": 11 }),
            vec!["immediately", "trigger_after_failures"],
        ),
        ("cancel", json!({ "immediately": "no" }), vec!["immediately"]),
        ("payment-method", json!({ "payment_method": { "type": "card" } }), vec!["payment_method"]),
        ("payment-method", card("4111111111111111"), vec!["payment_method.card.number"]),
        ("fallback", card("4111111111111111"), vec!["payment_method.card.number"]),
        (
            "fallback",
            json!({ "payment_method": [], "trigger_after_failures": "3" }),
            vec!["payment_method", "trigger_after_failures"],
        ),
    ];
    for trigger in [json!(0), json!(11), json!(1.5), json!("2"), json!(-1), json!(true)] {
        cases.push(("fallback", with(trigger.clone()), vec!["trigger_after_failures"]));
        cases.push(("pause", json!({ "trigger_after_failures": trigger }), vec!["trigger_after_failures"]));
    }
    for (verb, fields, params) in cases {
        let refused = shop.change_subscription(&created, verb, fields.clone()).await;
        assert_eq!(refused.status, 422, "{verb} {fields}: {}", refused.text);
        let reported: Vec<String> = faults(&refused).into_iter().map(|(param, _)| param).collect();
        assert_eq!(reported, params, "{verb} {fields}");
    }
    for verb in ["payment-method", "fallback"] {
        assert_eq!(faults(&shop.change_subscription(&created, verb, json!({})).await), missing(&["payment_method"]));
    }
    assert_eq!(shop.read_subscription(&created).await, created, "nothing has changed");
}

#[tokio::test]
async fn fields_that_the_service_sets_cannot_be_sent() {
    let (_sandbox, shop) = shop().await;
    let plan = json!({
        "id": "plan_mine", "active": false, "created_at": 1, "name": "Gold", "code": "gold", "amount": 5000, "billing_cycle": "monthly",
    });
    let plan = shop.call("POST", PLANS, plan).await.body["data"].clone();
    assert!(plan["id"] != "plan_mine" && plan["active"] == true && plan["created_at"] != 1);
    let mut fields = subscription("gold", phone("237670000002"));
    for (field, value) in [
        ("id", json!("sub_mine")),
        ("status", json!("active")),
        ("amount", json!(1)),
        ("amount_payable", json!("1")),
        ("current_period_end", json!("2099-01-01T00:00:00Z")),
        ("next_charge_at", json!("2099-01-01T00:00:00Z")),
        ("consecutive_failures", json!(-5)),
        ("latest_payment_intent", json!("pi_mine")),
        ("trial_end", json!("2099-01-01T00:00:00Z")),
        ("customer_id", json!("cus_mine")),
    ] {
        fields[field] = value;
    }
    let created = shop.call("POST", SUBSCRIPTIONS, fields.clone()).await;
    let created = &created.body["data"];
    assert_eq!(
        (&created["status"], &created["trial_end"], &created["consecutive_failures"]),
        (&json!("past_due"), &Value::Null, &json!(1))
    );
    assert!(
        created["id"] != "sub_mine"
            && created["latest_payment_intent"] != "pi_mine"
            && created["customer_id"] != "cus_mine"
    );
    assert_eq!(shop.intents().await[0]["amount"], "5000");
    let before = shop.read_subscription(created).await;
    let twice = shop.change_subscription(created, "pause", fields.clone()).await;
    assert_eq!(faults(&twice), invalid(&["id"]), "the id is in the path");
    let mut wishes = fields;
    wishes.as_object_mut().unwrap().remove("id");
    wishes["immediately"] = json!(false);
    shop.changed_subscription(created, "pause", wishes).await;
    let after = shop.changed_subscription(created, "resume", Value::Null).await;
    assert_eq!(after, before, "the other fields have no effect");
}

#[tokio::test]
async fn a_list_accepts_a_limit_and_a_cursor_and_refuses_invalid_ones() {
    let (_sandbox, shop) = shop().await;
    shop.subscribe(&shop.plan("monthly", 3).await, phone("237670000000")).await;
    for list in [PLANS, SUBSCRIPTIONS] {
        for limit in ["0", "101", "-1", "1.5", "ten", "+5", ""] {
            let refused = shop.call("GET", &format!("{list}?limit={limit}"), Value::Null).await;
            assert_eq!(faults(&refused), invalid(&["limit"]), "{limit}");
        }
        let page = shop.call("GET", &format!("{list}?limit=100"), Value::Null).await;
        assert_eq!(page.body["pagination"], json!({ "has_more": false, "next_cursor": null, "limit": 100 }));
    }
    for odd in ["yes", "1", "", "TRUE"] {
        let refused = shop.call("GET", &format!("{PLANS}?include_inactive={odd}&limit=0"), Value::Null).await;
        assert_eq!(faults(&refused), invalid(&["limit", "include_inactive"]), "{odd}");
    }
}

async fn the_clock_only_goes_forward_and_a_refused_move_bills_no_customer() {
    let (_sandbox, shop) = shop().await;
    let created = shop.subscribe(&shop.plan("daily", 0).await, phone("237670000000")).await;
    shop.advance(DAY).await;
    let token = _sandbox.control_token().expose().to_owned();
    for seconds in [json!(-86_400), json!(1.5), json!("86400"), Value::Null] {
        let fields = json!({ "merchant": shop.tenant.id(), "advance_seconds": seconds });
        let refused = shop.call_as("POST", "/sandbox/clock", Some(&token), fields).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
    }
    assert_eq!(shop.charges(&created).await.len(), 2);
    let fields = json!({ "merchant": shop.tenant.id(), "advance_seconds": DAY });
    let moved = shop.call_as("POST", "/sandbox/clock", Some(&token), fields).await;
    assert_eq!(moved.status, 200);
    let at = created["created_at"].as_i64().unwrap() + 2 * i64::from(DAY);
    let intents = shop.intents().await;
    assert_eq!(intents.last().unwrap()["created_at"].as_i64(), Some(at));
}

fn faults(reply: &Reply) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let faults = reply.body["error"]["errors"].as_array();
    let faults = faults.unwrap_or_else(|| panic!("no field error: {} {}", reply.status, reply.text));
    faults.iter().map(|fault| (text(&fault["param"]), text(&fault["code"]))).collect()
}

fn missing(params: &[&str]) -> Vec<(String, String)> {
    params.iter().map(|param| ((*param).to_owned(), "parameter_missing".to_owned())).collect()
}

fn invalid(params: &[&str]) -> Vec<(String, String)> {
    params.iter().map(|param| ((*param).to_owned(), "parameter_invalid".to_owned())).collect()
}
