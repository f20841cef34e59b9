//! Changes of a payment intent after a method is attached: one-time codes, the issuer's page, confirmation,
//! cancellation.

use crate::support::api::{Merchant, Reply, card, control, order, phone, shop};
use crate::support::service::{Event, on_each_store};
use guichet::operations::ListPaymentMethods;
use guichet::values::{IntentId, IntentStatus};
use guichet::{Client, SecretKey};
use guichet_sandbox::Fault;
use serde_json::{Value, json};

on_each_store!(
    a_payment_with_a_one_time_code_succeeds_with_the_right_one,
    a_wrong_code_is_a_decline_and_the_third_is_final,
    the_issuers_page_approves_or_refuses_and_returns_to_the_checkout,
    an_issuers_page_works_only_for_its_own_attempt,
    the_issuers_page_requires_its_token,
    the_issuers_page_names_no_shop_and_has_the_checkouts_security_policy,
    only_the_merchants_server_confirms_a_manual_intent,
    a_manual_intent_with_confirm_is_charged_when_a_method_is_attached,
    the_payer_confirms_an_automatic_intent_with_the_attached_method,
    a_payment_without_an_attempt_under_way_is_canceled_and_can_be_canceled_again,
    a_processing_or_final_payment_cannot_be_canceled,
    every_test_card_and_phone_behaves_as_the_decisions_say,
    every_phone_of_the_decisions_table_does_what_its_row_says,
    a_late_approval_succeeds_while_nothing_is_processing,
    one_phones_payment_alone_succeeds_after_it_was_shown_as_failed,
    an_operators_final_word_is_null_and_the_intent_keeps_the_latest_time_of_all_attempts,
    an_operator_is_part_of_the_method_and_an_unknown_one_is_refused,
    a_delayed_operator_is_late_and_a_closed_one_takes_no_payment,
    an_abandoned_attempt_makes_room_for_another_and_its_approval_is_a_duplicate_payment,
    a_late_approval_after_another_payment_or_a_cancel_is_a_duplicate_payment,
    a_late_approval_after_the_intent_expired_is_a_duplicate_payment,
    a_client_secret_ends_a_day_after_the_final_status,
    the_native_client_confirms_answers_and_cancels,
);

async fn a_payment_with_a_one_time_code_succeeds_with_the_right_one() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("ORDER-17").await;
    let early = shop.intent_action(&intent, "answer", json!({ "otp": "123456" })).await;
    assert_eq!((early.status, early.code()), (409, "intent_not_confirmable"), "no code is awaited");
    let attached = shop.attach(&intent, phone("237670000010")).await;
    assert_eq!((attached.status, &attached.body["data"]["next_action"]), (200, &json!({ "type": "otp" })));
    assert_eq!(
        (&attached.body["data"]["status"], &attached.body["data"]["attempts"]),
        (&json!("requires_action"), &json!(0))
    );
    let paid = shop.intent_action(&intent, "answer", json!({ "otp": "123456" })).await;
    assert_eq!((paid.status, &paid.body["data"]["status"]), (200, &json!("succeeded")), "{}", paid.text);
    assert_eq!(paid.body["data"]["next_action"], Value::Null);
    let again = shop.intent_action(&intent, "answer", json!({ "otp": "123456" })).await;
    assert_eq!((again.status, again.code()), (409, "intent_not_confirmable"));
    assert!(again.message().contains("succeeded"), "{}", again.message());
}

async fn a_wrong_code_is_a_decline_and_the_third_is_final() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("ORDER-17").await;
    for (attempt, status) in [(1, "requires_action"), (2, "requires_action"), (3, "failed")] {
        assert_eq!(shop.attach(&intent, phone("237670000010")).await.body["data"]["next_action"]["type"], "otp");
        let refused = shop.intent_action(&intent, "answer", json!({ "otp": "000000" })).await;
        let answered = &refused.body["data"];
        assert_eq!(
            (refused.status, &answered["status"], &answered["attempts"]),
            (200, &json!(status), &json!(attempt))
        );
        assert_eq!(
            (&answered["last_payment_error"]["code"], &answered["next_action"]),
            (&json!("incorrect_otp"), &Value::Null)
        );
    }
    let empty = shop.intent_action(&intent, "answer", json!({})).await;
    assert_eq!((empty.status, empty.code()), (422, "parameter_missing"));
}

async fn the_issuers_page_approves_or_refuses_and_returns_to_the_checkout() {
    let (_sandbox, shop) = shop().await;
    for (reference, decision, status, declined) in [
        ("ORDER-1", "approve", "succeeded", Value::Null),
        ("ORDER-2", "refuse", "requires_action", json!("rejected_by_payer")),
    ] {
        let (intent, url) = sent_to_the_issuer(&shop, reference).await;
        let back = decide(&shop, &url, decision).await;
        assert_eq!((back.status, &back.body["data"]["checkout_url"]), (200, &intent["checkout_url"]), "{}", back.text);
        assert_eq!(back.header("cache-control"), Some("no-store"), "the response carries a client secret");
        let read = shop.read_intent(&intent).await;
        assert_eq!((&read["status"], &read["attempts"]), (&json!(status), &json!(1)));
        assert_eq!((&read["last_payment_error"]["code"], &read["next_action"]), (&declined, &Value::Null));

        let other = if decision == "approve" { "refuse" } else { "approve" };
        let again = decide(&shop, &url, other).await;
        let page = json!(format!("{}/checkout/{}", shop.base_url, intent["id"].as_str().unwrap()));
        assert_eq!((again.status, &again.body["data"]["checkout_url"]), (200, &page), "without the client secret");
        assert_eq!(shop.read_intent(&intent).await, read, "opening the page again decides nothing");
    }
}

async fn an_issuers_page_works_only_for_its_own_attempt() {
    let (_sandbox, shop) = shop().await;
    let (intent, first) = sent_to_the_issuer(&shop, "ORDER-17").await;
    decide(&shop, &first, "refuse").await;
    let sent = shop.attach(&intent, card("4000000000003220")).await;
    let second = sent.body["data"]["next_action"]["url"].as_str().unwrap().to_owned();
    assert_ne!(first, second);
    decide(&shop, &first, "approve").await;
    assert_eq!(shop.read_intent(&intent).await["status"], "requires_action", "the first page has ended");
    decide(&shop, &second, "approve").await;
    assert_eq!(shop.read_intent(&intent).await["status"], "succeeded");
}

async fn the_issuers_page_requires_its_token() {
    let (_sandbox, shop) = shop().await;
    let (intent, url) = sent_to_the_issuer(&shop, "ORDER-17").await;
    let (address, _) = url.split_once('?').unwrap();
    let (_, others) = sent_to_the_issuer(&shop, "ORDER-18").await;
    let secret = intent["client_secret"].as_str().unwrap();
    for wrong in ["", "x", secret, others.split_once("token=").unwrap().1] {
        let refused = decide(&shop, &format!("{address}?token={wrong}"), "approve").await;
        assert_eq!((refused.status, refused.code()), (404, "resource_missing"));
        assert!(!refused.text.contains(secret));
    }
    let token = url.split_once("token=").unwrap().1;
    let odd = decide(&shop, &url, "perhaps").await;
    assert_eq!((odd.status, odd.code()), (422, "parameter_invalid"));
    let form = shop.send("POST", path(&url), None, Some("token=x&decision=approve".to_owned()), &[FORM]).await;
    assert_eq!(form.status, 404, "a form of another site does not know the token");
    for credential in [Some(token), None] {
        let read = shop
            .call_as("GET", &format!("/v1/payment-intents/{}", intent["id"].as_str().unwrap()), credential, Value::Null)
            .await;
        assert_eq!(read.status, 401, "the token works only for its page");
    }
    assert_eq!(shop.read_intent(&intent).await["attempts"], 0);
}

async fn the_issuers_page_names_no_shop_and_has_the_checkouts_security_policy() {
    let (sandbox, _) = shop().await;
    let shop = Merchant::new(sandbox.merchant_named("Chez Awa").await.unwrap());
    let (_, url) = sent_to_the_issuer(&shop, "ORDER-17").await;
    let page = shop.send("GET", path(&url), None, None, &[]).await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(!page.text.contains("Awa") && page.text.contains("data-test=\"approve\""));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self' 'sha256-"), "{policy}");
    let link = page.text.split('"').find(|text| text.ends_with("/challenge.css")).expect("a link to it");
    assert_eq!(shop.send("GET", link, None, None, &[]).await.status, 200);
}

async fn only_the_merchants_server_confirms_a_manual_intent() {
    let (_sandbox, shop) = shop().await;
    let intent = manual(&shop, "ORDER-17", false).await;
    let confirm = format!("/v1/payment-intents/{}/confirm", intent["id"].as_str().unwrap());
    let bare = shop.call("POST", &confirm, Value::Null).await;
    assert_eq!((bare.status, bare.code()), (409, "intent_not_confirmable"));
    assert!(bare.message().contains("requires_action") && bare.message().contains("attach"), "{}", bare.message());
    assert_eq!(
        shop.attach(&intent, phone("237671234567")).await.body["data"]["next_action"],
        json!({ "type": "confirm" })
    );
    let refused = shop.intent_action(&intent, "confirm", Value::Null).await;
    assert_eq!((refused.status, refused.code()), (403, "role_required"));
    assert!(refused.message().contains("merchant"), "{}", refused.message());
    let confirmed = shop.call("POST", &confirm, Value::Null).await;
    assert_eq!((confirmed.status, &confirmed.body["data"]["status"]), (200, &json!("processing")));
    let again = shop.call("POST", &confirm, Value::Null).await;
    assert_eq!((again.status, again.code()), (409, "intent_not_confirmable"), "one attempt is processing");
    assert!(again.message().contains("processing"));
    shop.tenant.clock().advance(2).await.unwrap();
    assert_eq!(shop.read_intent(&intent).await["attempts"], 1);
    assert_eq!(shop.read_intent(&intent).await["status"], "succeeded");
}

async fn a_manual_intent_with_confirm_is_charged_when_a_method_is_attached() {
    let (_sandbox, shop) = shop().await;
    let intent = manual(&shop, "ORDER-17", true).await;
    assert_eq!(shop.attach(&intent, phone("237670000000")).await.body["data"]["status"], "succeeded");
}

async fn the_payer_confirms_an_automatic_intent_with_the_attached_method() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("ORDER-17").await;
    let bare = shop.intent_action(&intent, "confirm", Value::Null).await;
    assert_eq!((bare.status, bare.code()), (409, "intent_not_confirmable"));
    assert_eq!(shop.attach(&intent, phone("237670000007")).await.body["data"]["attempts"], 1);
    assert_eq!(shop.intent_action(&intent, "confirm", Value::Null).await.body["data"]["attempts"], 2);
    let paid = shop.intent_action(&intent, "confirm", Value::Null).await;
    assert_eq!((&paid.body["data"]["attempts"], &paid.body["data"]["status"]), (&json!(3), &json!("succeeded")));
}

async fn a_payment_without_an_attempt_under_way_is_canceled_and_can_be_canceled_again() {
    let (_sandbox, shop) = shop().await;
    let theirs = shop.create_intent("ORDER-1").await;
    let canceled = shop.intent_action(&theirs, "cancel", Value::Null).await;
    assert_eq!((canceled.status, &canceled.body["data"]["status"]), (200, &json!("canceled")));
    assert_eq!(canceled.body["data"]["cancellation_reason"], "requested_by_customer");
    let ours = format!("/v1/payment-intents/{}/cancel", theirs["id"].as_str().unwrap());
    let again = shop.call("POST", &ours, Value::Null).await;
    assert_eq!((again.status, &again.body["data"]), (200, &canceled.body["data"]), "it is unchanged");
    let paying = shop.attach(&theirs, phone("237670000000")).await;
    assert_eq!((paying.status, paying.code()), (409, "intent_not_confirmable"));
    assert!(paying.message().contains("canceled"));

    let asking = shop.create_intent("ORDER-2").await;
    shop.attach(&asking, phone("237670000010")).await;
    let path = format!("/v1/payment-intents/{}/cancel", asking["id"].as_str().unwrap());
    let canceled = shop.call("POST", &path, Value::Null).await;
    assert_eq!(canceled.body["data"]["cancellation_reason"], "requested_by_merchant");
    assert_eq!(shop.intent_action(&asking, "answer", json!({ "otp": "123456" })).await.status, 409);
}

async fn a_processing_or_final_payment_cannot_be_canceled() {
    let (_sandbox, shop) = shop().await;
    for (reference, number, state) in [
        ("ORDER-1", "237670000005", "processing"),
        ("ORDER-2", "237670000000", "succeeded"),
        ("ORDER-3", "237670000009", "failed"),
    ] {
        let intent = shop.create_intent(reference).await;
        shop.attach(&intent, phone(number)).await;
        let refused = shop.intent_action(&intent, "cancel", Value::Null).await;
        assert_eq!((refused.status, refused.code()), (409, "intent_not_cancelable"));
        assert!(refused.message().contains(state), "{}", refused.message());
        assert_eq!(shop.read_intent(&intent).await["status"], state);
    }
}

async fn every_test_card_and_phone_behaves_as_the_decisions_say() {
    let (_sandbox, shop) = shop().await;
    let none = Value::Null;
    let table = [
        (card("4242424242424242"), "succeeded", none.clone()),
        (card("5555555555554444"), "succeeded", none.clone()),
        (card("4000008260000000"), "succeeded", none.clone()),
        (card("4000000000000002"), "failed", json!("generic_decline")),
        (card("4000000000000341"), "failed", json!("generic_decline")),
        (card("4000000000009995"), "requires_action", json!("insufficient_funds")),
        (card("4000000000000069"), "requires_action", json!("expired_card")),
        (card("4000000000000127"), "requires_action", json!("incorrect_cvc")),
        (card("4000000000000119"), "requires_action", json!("processing_error")),
        (phone("237690000003"), "requires_action", json!("rejected_by_payer")),
        (phone("237670000006"), "failed", json!("payer_not_found")),
        (phone("225070000008"), "failed", json!("limit_exceeded")),
        (phone("237670000009"), "failed", json!("fraud_blocked")),
        (phone("237670000007"), "requires_action", json!("provider_unavailable")),
    ];
    for (number, (method, status, declined)) in table.into_iter().enumerate() {
        let intent = shop.create_intent(&format!("ORDER-{number}")).await;
        let attached = shop.attach(&intent, method.clone()).await;
        assert_eq!((attached.status, &attached.body["data"]["status"]), (200, &json!(status)), "{method}");
        assert_eq!(attached.body["data"]["last_payment_error"]["code"], declined, "{method}");
        assert_eq!(attached.body["data"]["attempts"], 1);
    }
}

/// Reads the rows `| digits | result |` of the decisions' test phones, and the example numbers of the row "others".
async fn every_phone_of_the_decisions_table_does_what_its_row_says() {
    let (_sandbox, shop) = shop().await;
    let (_, section) = include_str!("../../docs/decisions.md").split_once("## 11. ").unwrap();
    let (table, _) = section.split_once("| card |").unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")).skip(1);
    let mut tried = Vec::new();
    for (digits, result) in rows {
        let examples = result.split(|letter: char| !letter.is_ascii_digit()).filter(|word| word.len() == 12);
        let numbers: Vec<String> = match digits {
            "others" => examples.map(str::to_owned).collect(),
            digits => ["23767", "23769"].map(|prefix| format!("{prefix}{digits}")).into(),
        };
        let after = result.split_once("after ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
        for number in numbers {
            let intent = shop.create_intent(&format!("ORDER-{number}")).await;
            shop.attach(&intent, phone(&number)).await;
            shop.tenant.clock().advance(after.unwrap_or_default()).await.unwrap();
            let read = shop.read_intent(&intent).await;
            let code = result.split('`').nth(1).unwrap_or_default();
            let (found, expected) = match result.split(' ').next().unwrap_or_default() {
                "succeed" | "succeeds" => (&read["status"], "succeeded"),
                "stays" => (&read["status"], code),
                "asks" => (&read["next_action"]["type"], "otp"),
                "fails" => (&read["status"], "failed"),
                _ => (&read["last_payment_error"]["code"], code),
            };
            assert_eq!(found, expected, "{number}: {result}");
            tried.push(number);
        }
    }
    assert_eq!(tried.len(), 16 * 2 + 2, "{tried:?}");
}

async fn a_late_approval_succeeds_while_nothing_is_processing() {
    let (_sandbox, shop) = shop().await;
    for (reference, number, declined_after, code, approved_after) in [
        ("ORDER-11", "237670000011", 300, "payer_timeout", 300),
        ("ORDER-12", "237670000012", 0, "provider_unavailable", 600),
        ("ORDER-13", "237670000013", 5, "rejected_by_payer", 240),
    ] {
        let intent = shop.create_intent(reference).await;
        assert_eq!(intent["approvable_until"], Value::Null);
        shop.attach(&intent, phone(number)).await;
        shop.tenant.clock().advance(declined_after).await.unwrap();
        let declined = shop.read_intent(&intent).await;
        assert_eq!((&declined["status"], &declined["attempts"]), (&json!("requires_action"), &json!(1)), "{number}");
        assert_eq!(declined["last_payment_error"]["code"], code);
        let until = declined["approvable_until"].as_i64().unwrap();
        assert_eq!(declined["last_payment_error"]["approvable_until"], until, "{number}");
        let now = shop.tenant.now().await.unix();
        assert!((now + 840..=now + 900).contains(&until), "{number}: 15 minutes after the attempt ended");
        shop.tenant.clock().advance(approved_after - 60).await.unwrap();
        assert_eq!(shop.read_intent(&intent).await["status"], "requires_action", "{number}: not approved yet");
        shop.tenant.clock().advance(60).await.unwrap();
        let paid = shop.read_intent(&intent).await;
        assert_eq!((&paid["status"], &paid["last_payment_error"]), (&json!("succeeded"), &Value::Null), "{number}");
        assert_eq!((&paid["attempts"], &paid["duplicate_payments"]), (&json!(1), &json!([])));
        assert_eq!(paid["approvable_until"], Value::Null, "{number}: no other attempt was declined");
    }
}

async fn one_phones_payment_alone_succeeds_after_it_was_shown_as_failed() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("ORDER-17").await;
    let failed = shop.attach(&intent, phone("237670000014")).await.body["data"].clone();
    assert_eq!((&failed["status"], &failed["last_payment_error"]), (&json!("failed"), &Value::Null));
    assert_eq!(failed.get("approvable_until"), None, "this service does not know until when");
    shop.tenant.clock().advance(50).await.unwrap();
    assert_eq!(shop.read_intent(&intent).await["status"], "failed");
    shop.tenant.clock().advance(10).await.unwrap();
    let listed = shop.call("GET", "/v1/payment-intents", Value::Null).await.body["data"][0].clone();
    assert_eq!(listed["status"], "succeeded");
    let paid = shop.read_intent(&intent).await;
    assert_eq!(paid, listed);
    assert_eq!((&paid["attempts"], &paid["duplicate_payments"]), (&json!(1), &json!([])));
    assert_eq!(paid.get("approvable_until"), Some(&Value::Null));
    let events = shop.tenant.events().await.unwrap();
    let kinds: Vec<_> = events.iter().filter_map(|event| event.kind.strip_prefix("payment_intent.")).collect();
    assert_eq!(kinds, ["created", "processing", "failed", "succeeded"]);
}

async fn an_operators_final_word_is_null_and_the_intent_keeps_the_latest_time_of_all_attempts() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("ORDER-17").await;
    let open = shop.attach(&intent, phone("237670000012")).await.body["data"]["approvable_until"].clone();
    assert!(open.is_i64(), "{open}");
    let declined = shop.attach(&intent, phone("237690000003")).await.body["data"].clone();
    assert_eq!(declined["last_payment_error"]["code"], "rejected_by_payer");
    assert_eq!(declined["last_payment_error"].get("approvable_until"), Some(&Value::Null));
    assert_eq!(declined["approvable_until"], open, "the first attempt may still be approved");
    let canceled = shop.intent_action(&intent, "cancel", Value::Null).await.body["data"].clone();
    assert_eq!((&canceled["status"], &canceled["approvable_until"]), (&json!("canceled"), &open));
}

async fn an_operator_is_part_of_the_method_and_an_unknown_one_is_refused() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("ORDER-17").await;
    let by = |number: &str, operator: &str| json!({ "payment_method": { "type": "mobile_money", "phone": number, "operator": operator } });
    for (number, operator) in [("237670000005", "mtn"), ("225070000005", "mtn_cm")] {
        let refused = shop.attach(&intent, by(number, operator)).await;
        assert_eq!((refused.status, refused.code()), (422, "payment_method_unavailable"), "{}", refused.text);
        assert_eq!(refused.body["error"]["param"], "payment_method.operator");
    }
    let attached = shop.attach(&intent, phone("237670000005")).await.body["data"].clone();
    assert_eq!(attached["payment_method"]["operator"]["code"], "mtn_cm", "by its prefix");
    let repeated = shop.attach(&intent, by("237670000005", "mtn_cm")).await;
    assert_eq!((repeated.status, &repeated.body["data"]["attempts"]), (200, &json!(1)), "the same method");
    assert_eq!(shop.attach(&intent, by("237670000005", "orange_cm")).await.status, 409, "another one");
    let ported = shop.create_intent("ORDER-18").await;
    let attached = shop.attach(&ported, by("237670000005", "orange_cm")).await.body["data"].clone();
    let orange = json!({ "code": "orange_cm", "name": "Orange Money" });
    assert_eq!((&attached["payment_method"]["operator"], &attached["next_action"]["operator"]), (&orange, &orange));
    let abroad = shop.create_intent("ORDER-19").await;
    let attached = shop.attach(&abroad, phone("225070000005")).await.body["data"].clone();
    assert_eq!(attached["payment_method"]["operator"], Value::Null);
    assert_eq!(attached["next_action"]["steps"], json!([{ "code": "open_prompt" }, { "code": "enter_pin" }]));
}

async fn a_delayed_operator_is_late_and_a_closed_one_takes_no_payment() {
    let (sandbox, shop) = shop().await;
    let set = async |code: &str, status: &str| {
        let fields = json!({ "code": code, "status": status, "merchant": shop.tenant.id() });
        let reply = control(&sandbox, "POST", "/operators", fields).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
    };
    let listed = async || {
        let methods = shop.call("GET", "/v1/payment-methods", Value::Null).await.body["data"].clone();
        assert_eq!(methods[1]["operators"], json!([]), "a card has none");
        let of_phones = methods[0]["operators"].as_array().unwrap().clone();
        of_phones.iter().map(|operator| operator["status"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed().await, ["operational", "operational"]);
    let before = shop.create_intent("BEFORE").await;
    shop.attach(&before, phone("237690000005")).await;
    set("mtn_cm", "delayed").await;
    set("orange_cm", "closed").await;
    assert_eq!(listed().await, ["delayed", "closed"]);

    let intent = shop.create_intent("ORDER-17").await;
    let refused = shop.attach(&intent, phone("237690000000")).await;
    assert_eq!((refused.status, refused.code()), (422, "payment_method_unavailable"), "{}", refused.text);
    assert_eq!(shop.attach(&before, phone("237690000005")).await.status, 200, "repeated, it has no effect");
    let late = shop.attach(&intent, phone("237670000000")).await.body["data"].clone();
    assert_eq!(late["status"], "processing", "it succeeds at once where the operator is not delayed");
    shop.tenant.clock().advance(60).await.unwrap();
    assert_eq!(shop.read_intent(&intent).await["status"], "succeeded");

    for (code, status) in [("mtn", "closed"), ("mtn_cm", "busy")] {
        let refused = control(&sandbox, "POST", "/operators", json!({ "code": code, "status": status })).await;
        assert_eq!((refused.status, refused.code()), (422, "parameter_invalid"), "{}", refused.text);
    }
    let reset = control(&sandbox, "POST", "/reset", json!({ "merchant": shop.tenant.id() })).await;
    assert_eq!((reset.status, listed().await), (200, vec!["operational".to_owned(); 2]));
}

async fn an_abandoned_attempt_makes_room_for_another_and_its_approval_is_a_duplicate_payment() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("ORDER-17").await;
    let abandon = async |attempt: u32| shop.intent_action(&intent, "abandon", json!({ "attempt": attempt })).await;
    let early = abandon(1).await;
    assert_eq!((early.status, early.code()), (409, "attempt_not_current"), "no attempt was made");
    assert_eq!(abandon(0).await.status, 422);
    shop.attach(&intent, phone("237670000001")).await;
    let abandoned = abandon(1).await;
    assert_eq!(abandoned.status, 200, "{}", abandoned.text);
    assert_eq!(abandoned.body["data"]["status"], "requires_action");
    assert_eq!(abandoned.body["data"]["last_payment_error"]["code"], "payer_timeout");
    assert_eq!(abandon(1).await.body["data"], abandoned.body["data"], "repeated, it changes nothing");
    shop.attach(&intent, phone("237670000005")).await;
    let late = abandon(1).await;
    assert_eq!((late.status, late.code()), (409, "attempt_not_current"), "the second is under way");
    shop.tenant.clock().advance(60).await.unwrap();
    let read = shop.read_intent(&intent).await;
    assert_eq!((&read["status"], &read["duplicate_payments"][0]["attempt"]), (&json!("processing"), &json!(1)));
    abandon(2).await;
    shop.attach(&intent, phone("237670000005")).await;
    let failed = abandon(3).await.body["data"].clone();
    assert_eq!((&failed["status"], &failed["attempts"]), (&json!("failed"), &json!(3)), "the third is final");
    let paid = shop.create_intent("ORDER-18").await;
    shop.attach(&paid, phone("237670000000")).await;
    let unchanged = shop.intent_action(&paid, "abandon", json!({ "attempt": 1 })).await;
    assert_eq!((unchanged.status, &unchanged.body["data"]["status"]), (200, &json!("succeeded")));
}

async fn a_late_approval_after_another_payment_or_a_cancel_is_a_duplicate_payment() {
    let (_sandbox, shop) = shop().await;
    for (reference, number, then, status) in [
        ("PAID-11", "237670000011", Some("237670000000"), "succeeded"),
        ("PAID-12", "237670000012", Some("237670000000"), "succeeded"),
        ("PAYING-11", "237670000011", Some("237670000005"), "processing"),
        ("FAILED-12", "237670000012", Some("237670000009"), "failed"),
        ("CANCELED-11", "237670000011", None, "canceled"),
    ] {
        let mut fields = order(reference);
        fields["fee_bearer"] = json!("customer");
        let intent = shop.call("POST", "/v1/payment-intents", fields).await.body["data"].clone();
        assert_eq!(intent["duplicate_payments"], json!([]));
        shop.attach(&intent, phone(number)).await;
        shop.tenant.clock().advance(310).await.unwrap();
        match then {
            Some(other) => drop(shop.attach(&intent, phone(other)).await),
            None => drop(shop.intent_action(&intent, "cancel", Value::Null).await),
        }
        assert_eq!(shop.read_intent(&intent).await["duplicate_payments"], json!([]), "{reference}: not approved yet");
        shop.tenant.clock().advance(300).await.unwrap();
        let read = shop.read_intent(&intent).await;
        assert_eq!(read["status"], status, "{reference}: a final status stays");
        let [duplicate] = &read["duplicate_payments"].as_array().unwrap()[..] else { panic!("{reference}: {read}") };
        assert_eq!((&duplicate["attempt"], &duplicate["currency"]), (&json!(1), &json!("XAF")));
        assert_eq!(duplicate["amount"], "5100", "{reference}: the amount that the customer paid, with the fee");
        let masked = format!("237*****{}", &number[8..]);
        let operator = json!({ "code": "mtn_cm", "name": "MTN Mobile Money" });
        assert_eq!(
            duplicate["payment_method"],
            json!({ "type": "mobile_money", "phone": masked, "operator": operator })
        );
        assert!(duplicate["approved_at"].as_str().unwrap().ends_with('Z'));
        let events = shop.tenant.events().await.unwrap();
        let is_of_the_duplicate =
            |event: &&Event| intent["id"] == event.subject.as_str() && event.kind == "payment_intent.duplicate_payment";
        assert_eq!(events.iter().filter(is_of_the_duplicate).count(), 1, "{reference}");
        shop.tenant.clock().advance(90_000).await.unwrap();
        assert_eq!(shop.read_intent(&intent).await["duplicate_payments"], read["duplicate_payments"], "{reference}");
    }
}

async fn a_late_approval_after_the_intent_expired_is_a_duplicate_payment() {
    let (_sandbox, shop) = shop().await;
    let intent = shop.create_intent("ORDER-17").await;
    shop.tenant.clock().advance(86_400 - 100).await.unwrap();
    shop.attach(&intent, phone("237670000012")).await;
    shop.tenant.clock().advance(200).await.unwrap();
    let expired = shop.read_intent(&intent).await;
    assert_eq!((&expired["status"], &expired["cancellation_reason"]), (&json!("canceled"), &json!("expired")));
    shop.tenant.clock().advance(600).await.unwrap();
    let read = shop.read_intent(&intent).await;
    assert_eq!((&read["status"], read["duplicate_payments"].as_array().map(Vec::len)), (&json!("canceled"), Some(1)));
}

async fn a_client_secret_ends_a_day_after_the_final_status() {
    let (sandbox, shop) = shop().await;
    let (canceled, issuer) = sent_to_the_issuer(&shop, "CANCELED").await;
    shop.intent_action(&canceled, "cancel", Value::Null).await;
    let paid = shop.create_intent("PAID").await;
    shop.attach(&paid, phone("237670000000")).await;
    let failed = shop.create_intent("FAILED").await;
    shop.attach(&failed, phone("237670000012")).await;
    shop.attach(&failed, phone("237670000009")).await;
    let hanging = shop.create_intent("HANGING").await;
    shop.attach(&hanging, phone("237670000005")).await;

    shop.tenant.clock().advance(86_400 - 120).await.unwrap();
    for (intent, status) in
        [(&canceled, "canceled"), (&paid, "succeeded"), (&failed, "failed"), (&hanging, "processing")]
    {
        let read = ask_with_secret(&shop, intent, "GET", "", Value::Null).await;
        assert_eq!((read.status, &read.body["data"]["status"]), (200, &json!(status)), "{}", read.text);
    }
    assert_eq!(decide(&shop, &issuer, "approve").await.status, 200);
    let duplicates = shop.read_intent(&failed).await["duplicate_payments"].as_array().map(Vec::len);
    assert_eq!(duplicates, Some(1), "a late approval does not extend the secret's lifetime");

    shop.tenant.clock().advance(120).await.unwrap();
    // A well-formed secret of an unknown intent.
    let other = Merchant::new(sandbox.merchant().await.unwrap());
    let unknown = other.create_intent("GONE").await;
    other.tenant.reset().await.unwrap();
    for (method, verb, fields) in [
        ("GET", "", Value::Null),
        ("POST", "/payment-method", phone("237670000000")),
        ("POST", "/answer", json!({ "otp": "123456" })),
        ("POST", "/confirm", Value::Null),
        ("POST", "/cancel", Value::Null),
    ] {
        let expected = without_request_id(&ask_with_secret(&shop, &unknown, method, verb, fields.clone()).await);
        for intent in [&canceled, &paid, &failed] {
            let refused = ask_with_secret(&shop, intent, method, verb, fields.clone()).await;
            assert_eq!((refused.status, refused.code()), (404, "resource_missing"), "{verb}: {}", refused.text);
            assert_eq!(without_request_id(&refused), expected, "{verb}: the same response as for an unknown id");
        }
    }
    // Other operations do not accept it: the request is not in the merchant's list and uses up no fault.
    shop.tenant.fault(Fault::status::<ListPaymentMethods>(500)).await;
    for intent in [&canceled, &paid, &failed, &unknown] {
        let refused = shop.call_as("GET", "/v1/payment-methods", intent["client_secret"].as_str(), Value::Null).await;
        assert_eq!((refused.status, refused.code()), (401, "invalid_key"), "{}", refused.text);
    }
    let answered = shop.call_as("GET", "/v1/payment-methods", hanging["client_secret"].as_str(), Value::Null).await;
    assert_eq!(answered.status, 500, "the fault is still there for a secret that has not ended");
    let refused = decide(&shop, &issuer, "approve").await;
    assert_eq!(
        (refused.status, refused.code()),
        (404, "resource_missing"),
        "the issuer's page no longer leads to the checkout"
    );
    for (intent, status) in [(&canceled, "canceled"), (&paid, "succeeded"), (&failed, "failed")] {
        assert_eq!(shop.read_intent(intent).await["status"], status, "the secret key still reads it");
    }
    let read = ask_with_secret(&shop, &hanging, "GET", "", Value::Null).await;
    assert_eq!((read.status, &read.body["data"]["status"]), (200, &json!("processing")), "it is not final");
}

async fn ask_with_secret(shop: &Merchant, intent: &Value, method: &str, verb: &str, fields: Value) -> Reply {
    let path = format!("/v1/payment-intents/{}{verb}", intent["id"].as_str().unwrap());
    shop.call_as(method, &path, intent["client_secret"].as_str(), fields).await
}

fn without_request_id(reply: &Reply) -> Value {
    let mut body = reply.body.clone();
    body["error"].as_object_mut().unwrap().remove("request_id");
    body
}

async fn the_native_client_confirms_answers_and_cancels() {
    let (_sandbox, shop) = shop().await;
    let key = SecretKey::new(shop.key()).unwrap();
    let client = Client::builder(&shop.base_url, key).build().unwrap();
    let id = |intent: &Value| IntentId::new(intent["id"].as_str().unwrap()).unwrap();
    let intent = manual(&shop, "ORDER-1", false).await;
    let early = client.confirm_payment_intent(&id(&intent)).await.unwrap_err();
    assert_eq!(early.code(), Some("intent_not_confirmable"));
    shop.attach(&intent, phone("237670000010")).await;
    let confirmed = client.confirm_payment_intent(&id(&intent)).await.unwrap();
    assert_eq!(confirmed.next_action.map(|action| action.kind).as_deref(), Some("otp"));
    let wrong = client.answer_payment_intent(&id(&intent), "000000").await.unwrap();
    assert_eq!(wrong.last_payment_error.unwrap().code, "incorrect_otp");
    for _ in 0..2 {
        let canceled = client.cancel_payment_intent(&id(&intent)).await.unwrap();
        assert_eq!(canceled.status, IntentStatus::Canceled);
    }
    let paid = shop.create_intent("ORDER-2").await;
    shop.attach(&paid, phone("237670000000")).await;
    let late = client.cancel_payment_intent(&id(&paid)).await.unwrap_err();
    assert_eq!((late.status(), late.code()), (Some(409), Some("intent_not_cancelable")));
}

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

async fn manual(shop: &Merchant, reference: &str, confirm: bool) -> Value {
    let mut fields = order(reference);
    fields["confirmation_method"] = json!("manual");
    fields["confirm"] = json!(confirm);
    shop.call("POST", "/v1/payment-intents", fields).await.body["data"].clone()
}

/// Creates an intent whose customer must go to the issuer's page. Returns it with the page's address.
async fn sent_to_the_issuer(shop: &Merchant, reference: &str) -> (Value, String) {
    let intent = shop.create_intent(reference).await;
    let sent = shop.attach(&intent, card("4000000000003220")).await;
    assert_eq!((sent.status, &sent.body["data"]["next_action"]["type"]), (200, &json!("redirect")), "{}", sent.text);
    let url = sent.body["data"]["next_action"]["url"].as_str().unwrap().to_owned();
    assert!(url.starts_with(&format!(
        "{}/checkout/{}/challenge?token=",
        shop.base_url,
        intent["id"].as_str().unwrap()
    )));
    (intent, url)
}

async fn decide(shop: &Merchant, url: &str, decision: &str) -> Reply {
    let token = url.split_once("?token=").unwrap().1;
    shop.send("POST", path(url), None, Some(json!({ "token": token, "decision": decision }).to_string()), &[]).await
}

fn path(url: &str) -> &str {
    let from = url.find("/checkout/").unwrap();
    &url[from..]
}
