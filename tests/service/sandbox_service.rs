//! The sandbox's service over a real socket.

use crate::support::api::{Merchant, Reply, body, card, order, phone, shop};
use crate::support::service::on_each_store;
use serde_json::{Value, json};

on_each_store!(
    a_customer_pays_with_a_test_phone_and_the_merchant_sees_it,
    sixty_four_concurrent_equal_creates_make_one_intent,
    a_reference_with_another_body_is_a_conflict_with_the_existing_id,
    only_test_cards_are_accepted_and_no_number_is_stored,
    two_merchants_do_not_see_each_other,
    pages_of_a_list_continue_without_gaps,
    a_page_of_large_intents_ends_early_without_gaps,
    objects_of_one_second_are_listed_in_the_order_of_creation,
);

async fn a_customer_pays_with_a_test_phone_and_the_merchant_sees_it() {
    let (_sandbox, shop) = shop().await;
    let created = shop.call("POST", "/v1/payment-intents", order("ORDER-17")).await;
    assert_eq!(created.status, 201, "{}", created.body);
    let intent = &created.body["data"];
    assert_eq!(created.body["status_code"], 201);
    assert_eq!(created.body["response_type"], "success");
    assert_eq!(intent["status"], "requires_action");
    assert_eq!(intent["object"], "payment_intent");
    assert_eq!(intent["metadata"], json!({}));
    assert_eq!(intent["customer"], json!({ "firstname": "Awa", "lastname": "Ngo", "email": "awa@example.com" }));
    let id = text(&intent["id"]);
    let secret = text(&intent["client_secret"]);
    assert_eq!(intent["checkout_url"], format!("{}/checkout/{id}?client_secret={secret}", shop.base_url));

    let attached = shop
        .call_as("POST", &format!("/v1/payment-intents/{id}/payment-method"), Some(&secret), phone("237671234567"))
        .await;
    assert_eq!(attached.status, 200, "{}", attached.body);
    assert_eq!(attached.body["data"]["status"], "processing");
    let mtn = json!({ "code": "mtn_cm", "name": "MTN Mobile Money" });
    let paid_with = json!({ "type": "mobile_money", "phone": "237*****4567", "operator": mtn });
    assert_eq!(attached.body["data"]["payment_method"], paid_with);
    let steps = json!([{ "code": "open_prompt" }, { "code": "enter_pin" }, { "code": "dial", "ussd": "*126#" }]);
    let payee = "Sandbox shop";
    let on_the_phone = json!({ "type": "approve_on_phone", "operator": mtn, "payee": payee, "steps": steps });
    assert_eq!(attached.body["data"]["next_action"], on_the_phone);
    shop.tenant.clock().advance(2).await.unwrap();
    let read = shop.call("GET", &format!("/v1/payment-intents/{id}"), Value::Null).await;
    assert_eq!(read.body["data"]["status"], "succeeded");
    assert_eq!(read.body["data"]["attempts"], 1);
}

#[tokio::test]
async fn a_reply_has_the_documented_fields_first_in_their_order() {
    let (_sandbox, shop) = shop().await;
    let created = shop.call("POST", "/v1/payment-intents", order("ORDER-17")).await;
    let expected = [
        "id",
        "object",
        "amount",
        "currency",
        "status",
        "client_secret",
        "payment_ref",
        "merchant_reference",
        "checkout_url",
        "customer",
        "metadata",
        "fee_bearer",
        "amount_payable",
        "confirmation_method",
        "payment_method",
        "next_action",
        "last_payment_error",
        "attempts",
        "created_at",
        "expires_at",
        "redirect_url",
        "description",
        "items",
    ];
    let mut after = created.text.find("\"data\":").unwrap();
    for field in expected {
        let at = created.text[after..]
            .find(&format!("\"{field}\":"))
            .unwrap_or_else(|| panic!("{field} is missing or out of order"));
        after += at + 1;
    }
    let intent = &created.body["data"];
    assert!(intent["created_at"].is_i64());
    assert!(text(&intent["expires_at"]).ends_with('Z'));
    assert!(text(&intent["payment_ref"]).starts_with("gch_"));
}

async fn sixty_four_concurrent_equal_creates_make_one_intent() {
    let (_sandbox, shop) = shop().await;
    let all = (0..64).map(|_| {
        let shop = shop.clone();
        tokio::spawn(async move { shop.call("POST", "/v1/payment-intents", order("ORDER-64")).await })
    });
    let mut replies = Vec::new();
    for request in all.collect::<Vec<_>>() {
        replies.push(request.await.unwrap());
    }
    assert_eq!(replies.iter().filter(|reply| reply.status == 201).count(), 1);
    let repeats: Vec<&Reply> = replies.iter().filter(|reply| reply.status == 200).collect();
    assert_eq!(repeats.len(), 63);
    assert!(repeats.iter().all(|reply| reply.header("idempotent-replayed") == Some("true")));
    assert!(replies.iter().all(|reply| reply.body["data"]["id"] == replies[0].body["data"]["id"]));
}

async fn a_reference_with_another_body_is_a_conflict_with_the_existing_id() {
    let (_sandbox, shop) = shop().await;
    let first = shop.call("POST", "/v1/payment-intents", order("ORDER-17")).await;
    let mut other = order("ORDER-17");
    other["amount"] = json!("5001");
    let refused = shop.call("POST", "/v1/payment-intents", other).await;
    assert_eq!(refused.status, 409);
    assert_eq!(refused.code(), "merchant_reference_conflict");
    assert_eq!(refused.body["error"]["existing_id"], first.body["data"]["id"]);

    let mut same = order("ORDER-17");
    same["currency"] = json!("XAF");
    same["fee_bearer"] = json!("merchant");
    same["metadata"] = Value::Null;
    assert_eq!(
        shop.call("POST", "/v1/payment-intents", same).await.status,
        200,
        "explicit defaults make an equal body"
    );

    let mut one = order("ORDER-18");
    one["metadata"] = json!({ "a": { "x": 1, "y": 2 }, "b": "2" });
    assert_eq!(shop.call("POST", "/v1/payment-intents", one).await.status, 201);
    let body = body(&order("ORDER-18")).replacen('{', r#"{"metadata":{"b":"2","a":{"y":2,"x":1}},"#, 1);
    assert_eq!(
        shop.send("POST", "/v1/payment-intents", Some(&shop.key()), Some(body), &[]).await.status,
        200,
        "the order of keys does not matter"
    );
}

#[tokio::test]
async fn declines_are_data_and_the_third_is_final() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("ORDER-17").await;
    for (attempt, status) in [(1, "requires_action"), (2, "requires_action"), (3, "failed")] {
        let declined = shop.attach(&intent, phone("237670000002")).await;
        assert_eq!(declined.status, 200);
        assert_eq!(declined.body["data"]["status"], status);
        assert_eq!(declined.body["data"]["attempts"], attempt);
        let error = &declined.body["data"]["last_payment_error"];
        assert_eq!(error["code"], "insufficient_funds");
        assert_eq!(error["message"], "There is not enough money in the account.");
    }
    let repeated = shop.attach(&intent, phone("237670000002")).await;
    assert_eq!((repeated.status, &repeated.body["data"]["attempts"]), (200, &json!(3)), "a repeat has no effect");
    let other = shop.attach(&intent, phone("237670000000")).await;
    assert_eq!((other.status, other.code()), (409, "intent_not_confirmable"));
}

#[tokio::test]
async fn a_double_click_on_pay_charges_once() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("ORDER-17").await;
    let clicks = (0..8).map(|_| {
        let (shop, intent) = (shop.clone(), intent.clone());
        tokio::spawn(async move { shop.attach(&intent, phone("237671234567")).await })
    });
    for click in clicks.collect::<Vec<_>>() {
        let reply = click.await.unwrap();
        assert_eq!((reply.status, &reply.body["data"]["attempts"]), (200, &json!(1)));
    }
}

async fn only_test_cards_are_accepted_and_no_number_is_stored() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("ORDER-17").await;
    let refused = shop.attach(&intent, card("4111111111111111")).await;
    assert_eq!((refused.status, refused.code()), (422, "test_card_required"));
    assert!(!refused.text.contains("4111"));
    let paid = shop.attach(&intent, card("5555555555554444")).await;
    assert_eq!(paid.body["data"]["status"], "succeeded");
    assert_eq!(paid.body["data"]["payment_method"], json!({ "type": "card", "brand": "mastercard", "last4": "4444" }));
}

#[tokio::test]
async fn the_fee_bearer_decides_whether_the_customer_pays_the_fee() {
    let (_sandbox, shop) = shop().await;
    let mut theirs = order("ORDER-17");
    theirs["fee_bearer"] = json!("customer");
    let created = shop.call("POST", "/v1/payment-intents", theirs).await;
    assert_eq!(created.body["data"]["amount_payable"], Value::Null);
    let paid = shop.attach(&created.body["data"], card("4000008260000000")).await;
    assert_eq!(paid.body["data"]["amount_payable"], "5195");
    let ours = shop.create_intent("ORDER-18").await;
    assert_eq!(ours["amount_payable"], "5000");
}

#[tokio::test]
async fn an_intent_accepts_only_the_allowed_methods() {
    let (_sandbox, shop) = shop().await;
    let mut cards_alone = order("ORDER-17");
    cards_alone["payment_method_types"] = json!(["card"]);
    let created = shop.call("POST", "/v1/payment-intents", cards_alone).await;
    let refused = shop.attach(&created.body["data"], phone("237670000000")).await;
    assert_eq!((refused.status, refused.code()), (422, "payment_method_unavailable"));
    assert_eq!(shop.attach(&created.body["data"], card("4242424242424242")).await.body["data"]["status"], "succeeded");
}

#[tokio::test]
async fn a_manual_intent_waits_for_the_merchant() {
    let (_sandbox, shop) = shop().await;
    let mut manual = order("ORDER-17");
    manual["confirmation_method"] = json!("manual");
    let created = shop.call("POST", "/v1/payment-intents", manual).await;
    let attached = shop.attach(&created.body["data"], phone("237670000000")).await;
    assert_eq!(attached.body["data"]["status"], "requires_action");
    assert_eq!(attached.body["data"]["next_action"], json!({ "type": "confirm" }));
}

#[tokio::test]
async fn an_unpaid_intent_expires_after_a_day() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("ORDER-17").await;
    shop.tenant.clock().advance(86_400).await.unwrap();
    let read = shop.call("GET", &format!("/v1/payment-intents/{}", text(&intent["id"])), Value::Null).await;
    assert_eq!(
        (&read.body["data"]["status"], &read.body["data"]["cancellation_reason"]),
        (&json!("canceled"), &json!("expired"))
    );
    assert_eq!(shop.attach(&intent, phone("237670000000")).await.status, 409);
}

#[tokio::test]
async fn fees_follow_the_table_and_are_json_numbers() {
    let (_sandbox, shop) = shop().await;
    let table = [
        (
            "/v1/payment-methods/fee/mobile_money/XAF/5000",
            json!({ "amount": 5000, "currency": "XAF", "fee": 100, "total_payable": 5100 }),
        ),
        (
            "/v1/payment-methods/fee/mobile_money/XAF/1?country_code=GA",
            json!({ "amount": 1, "currency": "XAF", "fee": 1, "total_payable": 2 }),
        ),
        (
            "/v1/payment-methods/fee/card/USD/5000",
            json!({ "amount": 5000, "currency": "USD", "fee": 145, "total_payable": 5145 }),
        ),
        (
            "/v1/payment-methods/fee/card/XAF/5000?card_type=international",
            json!({ "amount": 5000, "currency": "XAF", "fee": 195, "total_payable": 5195 }),
        ),
    ];
    for (path, expected) in table {
        let reply = shop.call("GET", path, Value::Null).await;
        assert_eq!((reply.status, &reply.body["data"]), (200, &expected), "{path}");
        assert!(reply.body["message"].is_string());
    }
    let refused = [
        ("/v1/payment-methods/fee/svc_card/XAF/5000", "payment_method", "payment_method_unavailable"),
        ("/v1/payment-methods/fee/card/XAF/5000?country_code=FR", "country_code", "payment_method_unavailable"),
        ("/v1/payment-methods/fee/card/JPY/5000", "currency", "currency_unsupported"),
        ("/v1/payment-methods/fee/card/XAF/5.5", "amount", "parameter_invalid"),
        ("/v1/payment-methods/fee/card/XAF/5000?card_type=foreign", "card_type", "parameter_invalid"),
    ];
    for (path, param, code) in refused {
        let reply = shop.call("GET", path, Value::Null).await;
        assert_eq!(
            (reply.status, reply.body["error"]["param"].as_str(), reply.code()),
            (422, Some(param), code),
            "{path}"
        );
    }
}

async fn two_merchants_do_not_see_each_other() {
    let (sandbox, one) = shop().await;
    let other = Merchant::new(sandbox.merchant().await.unwrap());
    let intent = one.create_intent("ORDER-17").await;
    let path = format!("/v1/payment-intents/{}", text(&intent["id"]));
    let refused = other.call("GET", &path, Value::Null).await;
    assert_eq!((refused.status, refused.code()), (404, "resource_missing"));
    assert_eq!(
        other.call("POST", "/v1/payment-intents", order("ORDER-17")).await.status,
        201,
        "references are unique per merchant"
    );
    one.tenant.clock().advance(1_000).await.unwrap();
    assert!(one.tenant.now().await.unix() >= other.tenant.now().await.unix() + 1_000);
}

async fn pages_of_a_list_continue_without_gaps() {
    let (sandbox, shop) = shop().await;
    let mut created = Vec::new();
    for number in 0..7 {
        created.push(text(&shop.create_intent(&format!("ORDER-{number}")).await["id"]));
        // Some in the same second, some in the next.
        shop.tenant.clock().advance(number % 2).await.unwrap();
    }
    let mut listed = Vec::new();
    let mut path = "/v1/payment-intents?limit=3".to_owned();
    loop {
        let page = shop.call("GET", &path, Value::Null).await;
        assert_eq!((page.status, &page.body["pagination"]["limit"]), (200, &json!(3)));
        listed.extend(page.body["data"].as_array().unwrap().iter().map(|intent| text(&intent["id"])));
        shop.create_intent(&format!("MEANWHILE-{}", listed.len())).await;
        let link = page.header("link").map(|link| link.split(['<', '>']).nth(1).unwrap().to_owned());
        assert_eq!(link.is_some(), page.body["pagination"]["has_more"] == json!(true));
        match link {
            Some(next) => path = next,
            None => break,
        }
    }
    created.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, created);
    let other = Merchant::new(sandbox.merchant().await.unwrap());
    assert_eq!(other.call("GET", "/v1/payment-intents", Value::Null).await.body["data"], json!([]));
    let foreign = other.call("GET", &format!("/v1/payment-intents?starting_after={}", created[0]), Value::Null).await;
    assert_eq!((foreign.status, foreign.code()), (404, "resource_missing"));
}

async fn a_page_of_large_intents_ends_early_without_gaps() {
    const MOST: usize = 4 << 20;
    let (_sandbox, shop) = shop().await;
    let mut created = Vec::new();
    for number in 0..100 {
        let mut fields = order(&format!("ORDER-{number}"));
        fields["metadata"] = json!({ "note": "x".repeat(60_000) });
        created.push(text(&shop.call("POST", "/v1/payment-intents", fields).await.body["data"]["id"]));
    }
    let mut listed = Vec::new();
    let mut path = "/v1/payment-intents?limit=100".to_owned();
    loop {
        let page = shop.call("GET", &path, Value::Null).await;
        assert_eq!(page.status, 200);
        assert!(page.text.len() <= MOST, "{} bytes", page.text.len());
        let entries = page.body["data"].as_array().unwrap();
        listed.extend(entries.iter().map(|intent| text(&intent["id"])));
        let pagination = &page.body["pagination"];
        assert_eq!(pagination["limit"], 100);
        if pagination["has_more"] == false {
            break;
        }
        assert!(entries.len() < 100 && page.text.len() > MOST / 2, "no shorter than necessary");
        assert_eq!(pagination["next_cursor"], entries.last().unwrap()["id"]);
        path = page.header("link").unwrap().split(['<', '>']).nth(1).unwrap().to_owned();
    }
    created.reverse();
    assert_eq!(listed, created);
}

#[tokio::test]
async fn responses_have_the_date_of_the_merchants_clock() {
    let (_sandbox, shop) = shop().await;
    let date = |reply: &Reply| {
        let date = httpdate::parse_http_date(reply.header("date").expect("a date")).unwrap();
        i64::try_from(date.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()).unwrap()
    };
    let intent = shop.create_intent("ORDER-17").await;
    shop.tenant.clock().advance(40 * 86_400).await.unwrap();
    let read = format!("/v1/payment-intents/{}", text(&intent["id"]));
    let before = shop.tenant.now().await.unix();
    for (path, status) in [(&*read, 200), ("/v1/payment-intents/pi_none", 404), ("/v1/payment-intents?limit=0", 422)] {
        let reply = shop.call("GET", path, Value::Null).await;
        assert_eq!(reply.status, status);
        let dated = date(&reply);
        assert!(before <= dated && dated <= shop.tenant.now().await.unix(), "{path}: {dated}, not {before}");
    }
    let session = json!({ "customer_email": "awa@example.com" });
    let created = shop.call("POST", "/v1/sessions/create", session).await;
    let ends = guichet::values::Moment::new(created.body["data"]["expires_at"].as_str().unwrap()).unwrap().unix();
    let lifetime = ends - date(&created);
    assert!((1790..=1800).contains(&lifetime), "30 minutes by the answer itself, not {lifetime} s");
    // Without a known credential, the date is the service's own time.
    for path in ["/v1/payment-methods", "/v1/nothing", "/v1/customers"] {
        let reply = shop.call_as("GET", path, None, Value::Null).await;
        assert!(date(&reply) < before - 30 * 86_400, "{path}");
    }
}

async fn objects_of_one_second_are_listed_in_the_order_of_creation() {
    let (_sandbox, shop) = shop().await;
    let mut created = [const { Vec::new() }; 4];
    for number in 0..12 {
        let mut fields = order(&format!("ORDER-{number}"));
        fields["email"] = json!(format!("c{number}@example.com"));
        created[0].push(text(&shop.call("POST", "/v1/payment-intents", fields).await.body["data"]["id"]));
        let plan = json!({ "name": "Gold", "code": format!("gold-{number}"), "amount": 5000, "billing_cycle": "daily", "trial_days": 7 });
        created[1].push(text(&shop.call("POST", "/v1/subscriptions/plans", plan).await.body["data"]["id"]));
        let subscribes = json!({
            "plan": "gold-0", "customer_email": format!("c{number}@example.com"), "firstname": "Awa", "lastname": "Ngo",
            "payment_method": { "type": "mobile_money", "phone": "237670000000" },
        });
        created[2].push(text(&shop.call("POST", "/v1/subscriptions", subscribes).await.body["data"]["id"]));
        created[3].push(format!("c{number}@example.com"));
    }
    let paths = ["/v1/payment-intents", "/v1/subscriptions/plans", "/v1/subscriptions", "/v1/customers"];
    for (path, mut created) in paths.into_iter().zip(created.clone()) {
        let mut listed = Vec::new();
        let mut page = format!("{path}?limit=5");
        loop {
            let reply = shop.call("GET", &page, Value::Null).await;
            let entries = reply.body["data"].as_array().unwrap();
            listed.extend(
                entries.iter().map(|entry| text(&entry[if path.ends_with("customers") { "email" } else { "id" }])),
            );
            match reply.body["pagination"]["next_cursor"].as_str() {
                Some(cursor) => page = format!("{path}?limit=5&starting_after={cursor}"),
                None => break,
            }
        }
        created.reverse();
        assert_eq!(listed, created, "{path}: newest first");
    }
    let events = shop.tenant.events().await.unwrap();
    for (kind, created) in [("payment_intent.created", &created[0]), ("subscription.created", &created[2])] {
        let params: Vec<_> = events.iter().filter(|event| event.kind == kind).map(|event| &event.subject).collect();
        assert_eq!(params, created.iter().collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn body_fields_are_not_read_from_the_query() {
    let (_sandbox, shop) = shop().await;
    let fields = json!({ "firstname": "Awa", "lastname": "Ngo", "email": "awa@example.com", "description": "Shoes", "merchant_reference": "ORDER-1" });
    let created = shop.call("POST", "/v1/payment-intents?amount=7", fields).await;
    assert_eq!((created.status, created.code()), (422, "parameter_missing"));
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
