//! The inspector: who may open it, what its calls show, and that they show no secret.

use crate::support::api::{Merchant, Reply, client, control, order, send};
use crate::support::service::{Sandbox, on_each_service};
use guichet_sandbox::Config;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

on_each_service!(
    an_address_opens_the_inspector_once_and_for_its_own_page_alone,
    a_thread_has_a_decline_a_late_approval_and_a_duplicate_beside_what_the_shop_was_told,
    the_phone_decides_the_payment_that_waits_for_it_and_no_other,
    no_secret_is_in_a_list_or_a_thread,
    purchases_are_found_by_what_a_person_knows_of_them,
    a_refused_call_is_listed_with_its_reference_and_without_secrets,
    a_payment_of_which_nothing_was_reported_differs_while_money_may_move,
    a_call_that_waits_returns_when_something_changes,
);

const OWN: (&str, &str) = ("guichet-inspector", "1");

async fn start() -> (Sandbox, Merchant) {
    let sandbox = Sandbox::start().await.unwrap();
    let shop = Merchant::of(&sandbox, "Boutique Awa").await;
    (sandbox, shop)
}

/// A call of the control API for this merchant.
async fn call(sandbox: &Sandbox, shop: &Merchant, path: &str) -> Reply {
    let mark = if path.contains('?') { '&' } else { '?' };
    control(sandbox, "GET", &format!("{path}{mark}merchant={}", shop.tenant.id()), Value::Null).await
}

async fn decide(sandbox: &Sandbox, shop: &Merchant, reference: &str, decision: &str, attempt: Option<u32>) -> Reply {
    let fields =
        json!({ "payment": reference, "decision": decision, "attempt": attempt, "merchant": shop.tenant.id() });
    control(sandbox, "POST", "/handset", fields).await
}

fn phone(number: &str) -> Value {
    json!({ "payment_method": { "type": "mobile_money", "phone": number } })
}

async fn an_address_opens_the_inspector_once_and_for_its_own_page_alone() {
    let sandbox = Sandbox::start().await.unwrap();
    let base = sandbox.base_url();
    let page = send(&client(), "GET", &format!("{base}/inspector/ORDER-17"), None, None, &[]).await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self';") && !policy.contains("unsafe"), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'") && policy.contains("require-trusted-types-for 'script'"));
    let inline = ["<style", " style=", " onclick=", "<script>"];
    assert!(inline.iter().all(|part| !page.text.contains(part)) && !page.text.contains("{{"), "{}", page.text);

    let opened = control(&sandbox, "POST", "/inspector", json!({})).await;
    let address = opened.body["inspector_url"].as_str().unwrap();
    let (path, token) = address.split_once("#token=").unwrap();
    assert_eq!(path, format!("{base}/inspector"));
    let exchange = async |headers: &[(&str, &str)]| {
        let body = json!({ "token": token }).to_string();
        send(&client(), "POST", &format!("{base}/inspector/session"), None, Some(body), headers).await
    };
    assert_eq!(exchange(&[]).await.status, 403, "only the page sends the header");
    assert_eq!(exchange(&[OWN, ("origin", "http://evil.example")]).await.status, 403);
    assert_eq!(exchange(&[OWN, ("host", "evil.example")]).await.code(), "host_not_allowed");
    let begun = exchange(&[OWN, ("origin", base), ("sec-fetch-site", "same-origin")]).await;
    let cookie = begun.header("set-cookie").unwrap();
    assert!(cookie.ends_with("; Path=/sandbox; HttpOnly; SameSite=Strict"), "{cookie}");
    assert_eq!((exchange(&[OWN]).await.status, begun.text.as_str()), (401, "{}"), "it is used once");

    let cookie = cookie.split(';').next().unwrap();
    let clock = async |headers: &[(&str, &str)]| {
        let headers: Vec<_> = headers.iter().copied().chain([("cookie", cookie)]).collect();
        send(&client(), "GET", &format!("{base}/sandbox/clock"), None, None, &headers).await
    };
    assert_eq!(clock(&[OWN]).await.status, 200);
    let port = base.rsplit(':').next().unwrap();
    let same_site = format!("http://localhost:{port}1");
    for (why, headers) in [
        ("no header", &[][..]),
        ("another site", &[OWN, ("origin", "http://evil.example")]),
        ("another port", &[OWN, ("origin", same_site.as_str())]),
        ("the same site", &[OWN, ("sec-fetch-site", "same-site")]),
        ("an opaque origin", &[OWN, ("origin", "null")]),
    ] {
        let refused = clock(headers).await;
        assert_eq!((refused.status, refused.code()), (401, "authentication_required"), "{why}");
        assert_eq!(refused.header("access-control-allow-origin"), None, "{why}");
    }
    assert_eq!(clock(&[OWN, ("host", "evil.example")]).await.code(), "host_not_allowed");
    for path in ["/inspector", "/inspector/assets/inspector.js"] {
        let foreign = send(&client(), "GET", &format!("{base}{path}"), None, None, &[("host", "evil.example")]).await;
        assert_eq!((foreign.status, foreign.code()), (403, "host_not_allowed"), "{path}");
    }
    let preflight = [("origin", "http://evil.example"), ("access-control-request-method", "POST")];
    let preflight = send(&client(), "OPTIONS", &format!("{base}/inspector/session"), None, None, &preflight).await;
    assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (405, None));
}

async fn a_thread_has_a_decline_a_late_approval_and_a_duplicate_beside_what_the_shop_was_told() {
    let (sandbox, shop) = start().await;
    let intent = shop.create_intent("ORDER-17").await;
    shop.attach(&intent, phone("237670000020")).await;
    assert_eq!(decide(&sandbox, &shop, "ORDER-17", "ignore", None).await.body["purchase"]["status"], "requires_action");
    shop.read_intent(&intent).await;
    shop.attach(&intent, phone("237690000020")).await;
    shop.read_intent(&intent).await;
    let twice = decide(&sandbox, &shop, "ORDER-17", "approve", Some(1)).await;
    assert_eq!(twice.body["purchase"]["duplicates"], 1, "{}", twice.text);
    decide(&sandbox, &shop, "ORDER-17", "refuse", Some(2)).await;
    shop.attach(&intent, phone("237670000012")).await;
    shop.tenant.clock().advance(600).await.unwrap();

    let thread = call(&sandbox, &shop, "/thread?payment=ORDER-17").await.body;
    let entries = thread["entries"].as_array().unwrap();
    let line = |entry: &Value| {
        let text = |name: &str| entry[name].as_str().map(str::to_owned);
        let attempt = entry["attempt"].as_u64().map(|attempt| attempt.to_string());
        let reported = entry["reported"]["status"].as_str().map(|reported| format!("reported {reported}"));
        let parts = [
            text("kind"),
            attempt,
            text("by"),
            text("operation"),
            text("status"),
            text("reason"),
            text("decision"),
            reported,
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        entries.iter().map(line).collect::<Vec<_>>(),
        [
            "created requires_action",
            "request shop create_payment_intent reported requires_action",
            "request customer attach_payment_method reported processing",
            "status 1 processing",
            "handset 1 ignore",
            "status 1 requires_action payer_timeout",
            "request shop read_payment_intent reported requires_action",
            "request customer attach_payment_method reported processing",
            "status 2 processing",
            "request shop read_payment_intent reported processing",
            "handset 1 approve",
            "duplicate 1",
            "handset 2 refuse",
            "status 2 requires_action rejected_by_payer",
            "request customer attach_payment_method reported failed",
            "status 3 processing",
            "status 3 failed provider_unavailable",
            "duplicate 3",
        ]
    );
    let marked = |mark: &str| {
        let marked = entries.iter().enumerate().filter(|(_, entry)| entry[mark] == true);
        marked.map(|(position, _)| position).collect::<Vec<_>>()
    };
    assert_eq!(marked("differs"), [3, 8, 11, 13, 15, 16, 17]);
    assert_eq!(marked("settled"), [3, 8], "a later report settled them");
    let purchase = &thread["purchase"];
    assert_eq!((&purchase["status"], &purchase["differs"]), (&json!("failed"), &json!(true)));
    assert_eq!(purchase["reported"]["status"], "processing");
    let source = |name: &str| {
        thread["fields"].as_array().unwrap().iter().find(|field| field["field"] == name).unwrap()["source"].clone()
    };
    assert_eq!((source("amount"), source("merchant_reference")), (json!("documented"), json!("documented")));
    shop.read_intent(&intent).await;
    let listed = call(&sandbox, &shop, "/purchases").await.body["purchases"][0].clone();
    assert_eq!((&listed["differs"], &listed["reported"]["duplicates"]), (&json!(false), &json!(2)), "{listed}");

    shop.tenant.fault(guichet_sandbox::Fault::lost_response::<guichet::operations::CancelPaymentIntent>()).await;
    let other = shop.create_intent("ORDER-18").await;
    let path = format!("/v1/payment-intents/{}/cancel", other["id"].as_str().unwrap());
    assert!(shop.try_call("POST", &path, json!({})).await.is_err());
    let thread = call(&sandbox, &shop, "/thread").await.body;
    assert_eq!(thread["purchase"]["reported"]["status"], "requires_action", "the response was lost");
    assert_eq!(thread["purchase"]["status"], "canceled", "latest is the newest");
    let lost = thread["entries"].as_array().unwrap().iter().find(|entry| entry["fault"] == "lost_response").unwrap();
    assert_eq!((&lost["http_status"], &lost["reported"]), (&Value::Null, &Value::Null));
}

async fn the_phone_decides_the_payment_that_waits_for_it_and_no_other() {
    let (sandbox, shop) = start().await;
    let intent = shop.create_intent("ORDER-17").await;
    let early = decide(&sandbox, &shop, "ORDER-17", "approve", None).await;
    assert_eq!((early.status, early.code()), (409, "intent_not_confirmable"), "{}", early.text);
    assert_eq!(decide(&sandbox, &shop, "ORDER-18", "approve", None).await.status, 404);
    assert_eq!(decide(&sandbox, &shop, "ORDER-17", "accept", None).await.status, 422);
    shop.attach(&intent, phone("237670000020")).await;
    shop.tenant.clock().advance(3_000).await.unwrap();
    let handset = call(&sandbox, &shop, "/thread").await.body["handset"].clone();
    assert_eq!(
        handset,
        json!({
            "attempt": 1, "payee": "Boutique Awa", "amount": "5000", "currency": "XAF", "phone": "237670000020",
            "operator": "mtn_cm",
            "open": true,
        })
    );
    let other = Merchant::of(&sandbox, "Another shop").await;
    assert_eq!(decide(&sandbox, &other, intent["id"].as_str().unwrap(), "approve", None).await.status, 404);
    assert_eq!(decide(&sandbox, &shop, "ORDER-17", "approve_late", None).await.status, 200);
    assert_eq!(shop.read_intent(&intent).await["last_payment_error"]["code"], "payer_timeout");
    shop.tenant.clock().advance(60).await.unwrap();
    assert_eq!(shop.read_intent(&intent).await["status"], "succeeded");
    assert_eq!(decide(&sandbox, &shop, "ORDER-17", "approve", None).await.status, 409, "it was decided");
}

/// The planted secrets are in every field that a shop fills. The control: the same search finds what is no secret.
async fn no_secret_is_in_a_list_or_a_thread() {
    let (sandbox, shop) = start().await;
    let planted = [
        "sk_live_0123456789abcdefghij",
        "4242 4242 4242 4242",
        "hunter2",
        "return_nonce_1",
        "cst_test_0123456789abcdefghij",
    ];
    let [key, card, password, nonce, token] = planted;
    let fields = json!({
        "firstname": format!("Awa {key}"), "lastname": card, "email": "awa@example.com", "phone": "237670000000",
        "amount": "5000",
        "description": format!("plain-text {token}"), "merchant_reference": "ORDER-17",
        "redirect_url": format!("https://shop.example/paid?guichet_return={nonce}#{nonce}"),
        "metadata": { "Password": password, "note": format!("see https://shop.example/a?b={nonce}"), "deep": [{
        "api_token": password }] },
    });
    let created = shop.call("POST", "/v1/payment-intents", fields).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let intent = created.body["data"].clone();
    let secret = intent["client_secret"].as_str().unwrap();
    let card = json!({ "number": "4242424242424242", "exp_month": 12, "exp_year": 2034, "cvc": "987" });
    shop.attach(&intent, json!({ "payment_method": { "type": "card", "card": card } })).await;
    for path in ["/thread", "/purchases", "/changes"] {
        let reply = call(&sandbox, &shop, path).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        for secret in planted.iter().chain(&[secret, &shop.key(), "4242424242424242", "987"]) {
            assert!(!reply.text.contains(secret), "{path} shows {secret}: {}", reply.text);
        }
    }
    let thread = call(&sandbox, &shop, "/thread").await.text;
    for shown in ["plain-text ***", "https://shop.example/paid", "https://shop.example/a", "awa@example.com", "4242"] {
        assert!(thread.contains(shown), "{shown}: {thread}");
    }
}

async fn purchases_are_found_by_what_a_person_knows_of_them() {
    let (sandbox, shop) = start().await;
    let mut ids = Vec::new();
    for number in 1..=7 {
        let mut fields = order(&format!("ORDER-{number}"));
        fields["email"] = json!(format!("customer{number}@example.com"));
        fields["phone"] = json!(format!("23767111110{number}"));
        ids.push(
            shop.call("POST", "/v1/payment-intents", fields).await.body["data"]["id"].as_str().unwrap().to_owned(),
        );
    }
    for search in ["order-3", "CUSTOMER3@", "237671111103", &ids[2], "%20ORDER-3%20"] {
        let found = call(&sandbox, &shop, &format!("/purchases?search={search}")).await;
        let found: Vec<_> = found.body["purchases"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
        assert_eq!(found, [&ids[2]], "{search}");
    }
    let path = format!("/v1/payment-intents/{}/payment-method", ids[2]);
    shop.call("POST", &path, phone("237690000013")).await;
    let paid = call(&sandbox, &shop, "/purchases?search=237690000013").await.body;
    assert_eq!(
        (paid["purchases"].as_array().unwrap().len(), &paid["purchases"][0]["id"]),
        (1, &json!(ids[2])),
        "{paid}"
    );
    let mut listed = Vec::new();
    let mut next = String::new();
    loop {
        let page = call(&sandbox, &shop, &format!("/purchases?limit=3&search=Ngo{next}")).await.body;
        let page_of = page["purchases"].as_array().unwrap();
        listed.extend(page_of.iter().map(|one| one["id"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        next = format!("&starting_after={cursor}");
    }
    ids.reverse();
    assert_eq!(listed, ids, "newest first");
    assert_eq!(call(&sandbox, &shop, "/purchases?search=unknown").await.body["purchases"], json!([]));
    let operators = |page: &Value| {
        page["operators"].as_array().unwrap().iter().map(|one| one["status"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(operators(&call(&sandbox, &shop, "/purchases").await.body), ["operational", "operational"]);
    let closed = json!({ "code": "orange_cm", "status": "closed", "merchant": shop.tenant.id() });
    control(&sandbox, "POST", "/operators", closed).await;
    assert_eq!(operators(&call(&sandbox, &shop, "/purchases").await.body), ["operational", "closed"]);
    for (query, code) in
        [("limit=0", "parameter_invalid"), ("limit=x", "parameter_invalid"), ("serach=x", "parameter_unknown")]
    {
        let refused = call(&sandbox, &shop, &format!("/purchases?{query}")).await;
        assert_eq!((refused.status, refused.code()), (422, code), "{query}");
    }
}

/// A creation that is refused has no payment, so the list alone shows it.
async fn a_refused_call_is_listed_with_its_reference_and_without_secrets() {
    let (sandbox, shop) = start().await;
    let refused = async || call(&sandbox, &shop, "/purchases").await.body["refused"].clone();
    assert_eq!(refused().await, json!([]));
    let create = async |reference: &str, amount: &str| {
        let mut fields = order(reference);
        fields["amount"] = json!(amount);
        shop.call("POST", "/v1/payment-intents", fields).await.status
    };
    assert_eq!(create("ORDER-17", "-1").await, 422);
    assert_eq!(create("ORDER-18", "5000").await, 201);
    assert_eq!(create("ORDER-18", "6000").await, 409);
    let planted = "sk_live_0123456789abcdefghij";
    assert_eq!(create(&format!("{planted} {}", "long ".repeat(100)), "-1").await, 422);
    let listed = refused().await;
    let line = |one: &Value| {
        let reference = one["reference"].as_str().unwrap();
        (one["operation"].clone(), one["status"].clone(), one["error"].clone(), reference[..8].to_owned())
    };
    let lines: Vec<_> = listed.as_array().unwrap().iter().map(line).collect();
    let expected = |status: u16, code: &str, reference: &str| {
        (json!("create_payment_intent"), json!(status), json!(code), reference.to_owned())
    };
    assert_eq!(
        lines,
        [
            expected(422, "amount_out_of_range", "*** long"),
            expected(409, "merchant_reference_conflict", "ORDER-18"),
            expected(422, "amount_out_of_range", "ORDER-17"),
        ]
    );
    assert!(!listed.to_string().contains(planted), "{listed}");
    assert!(listed[0]["reference"].as_str().unwrap().len() <= 100);
    let requests = call(&sandbox, &shop, "/requests").await;
    assert!(!requests.text.contains(planted), "{}", requests.text);
    for number in 0..9 {
        assert_eq!(create(&format!("ORDER-{number}"), "-1").await, 422);
    }
    assert_eq!(refused().await.as_array().unwrap().len(), 5);
}

/// The response of its creation was lost, and nobody has read it since.
async fn a_payment_of_which_nothing_was_reported_differs_while_money_may_move() {
    let (sandbox, shop) = start().await;
    let fault = guichet_sandbox::Fault::lost_response::<guichet::operations::CreatePaymentIntent>();
    shop.tenant.fault(fault).await;
    assert!(shop.try_call("POST", "/v1/payment-intents", order("ORDER-17")).await.is_err());
    let purchase = async || {
        let purchase = call(&sandbox, &shop, "/thread").await.body["purchase"].clone();
        assert_eq!(purchase["reported"], Value::Null, "{purchase}");
        purchase
    };
    let untried = purchase().await;
    assert_eq!((&untried["differs"], &untried["declined"]), (&json!(false), &Value::Null), "nobody has tried to pay");
    let path = format!("/v1/payment-intents/{}/payment-method", untried["id"].as_str().unwrap());
    shop.tenant.fault(guichet_sandbox::Fault::lost_response::<guichet::operations::AttachPaymentMethod>()).await;
    assert!(shop.try_call("POST", &path, phone("237670000012")).await.is_err());
    let declined = purchase().await;
    assert_eq!(
        (&declined["status"], &declined["declined"]),
        (&json!("requires_action"), &json!("provider_unavailable"))
    );
    assert_eq!(declined["differs"], true, "the operator may still approve it");
    shop.tenant.clock().advance(600).await.unwrap();
    let taken = purchase().await;
    assert_eq!((&taken["status"], &taken["differs"]), (&json!("succeeded"), &json!(true)));
}

async fn a_call_that_waits_returns_when_something_changes() {
    let (sandbox, shop) = start().await;
    let changes = call(&sandbox, &shop, "/changes").await.body["changes"].clone();
    let path = format!("/changes?after={changes}");
    let begun = Instant::now();
    let change = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        shop.create_intent("ORDER-17").await;
    };
    let (changed, ()) = tokio::join!(call(&sandbox, &shop, &path), change);
    assert!(changed.body["changes"].as_u64() > changes.as_u64(), "{}", changed.text);
    assert!((Duration::from_millis(300)..Duration::from_secs(10)).contains(&begun.elapsed()));
    assert_eq!(call(&sandbox, &shop, &path).await.status, 200, "the number is old: it does not wait");
}

#[tokio::test]
async fn a_waiting_call_does_not_keep_the_sandbox_from_stopping() {
    let sandbox = Sandbox::start_with(Config::default()).await.unwrap();
    let changes = control(&sandbox, "GET", "/changes", Value::Null).await.body["changes"].clone();
    let (url, token) = (sandbox.control_url(), sandbox.control_token().expose().to_owned());
    let url = format!("{url}/changes?after={changes}");
    let waiting = tokio::spawn(async move { send(&client(), "GET", &url, Some(&token), None, &[]).await.status });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let begun = Instant::now();
    sandbox.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(waiting.await.unwrap(), 200);
}

#[tokio::test]
async fn a_payment_is_approved_in_rust() {
    let sandbox = guichet_sandbox::Sandbox::start().await.unwrap();
    let address = sandbox.inspector_url();
    assert!(address.starts_with(&format!("{}/inspector#token=ins_", sandbox.base_url())), "{address}");
    let tenant = sandbox.merchant().await.unwrap();
    let key = tenant.secret_key().expose();
    let url = format!("{}/v1/payment-intents", sandbox.base_url());
    let created = send(&client(), "POST", &url, Some(key), Some(order("ORDER-17").to_string()), &[]).await;
    assert!(tenant.handset().approve("ORDER-17").await.is_err(), "nothing waits");
    let path = format!("{url}/{}", created.body["data"]["id"].as_str().unwrap());
    let body = Some(phone("237670000020").to_string());
    send(&client(), "POST", &format!("{path}/payment-method"), Some(key), body, &[]).await;
    tenant.handset().ignore("ORDER-17").await.unwrap();
    tenant.handset().approve("ORDER-17").await.unwrap();
    let read = send(&client(), "GET", &path, Some(key), None, &[]).await;
    assert_eq!(read.body["data"]["status"], "succeeded");
}

/// What `guichet shop` records: the application was told of a payment, of its duplicate, and of its refund.
#[tokio::test]
async fn the_shop_knows_what_its_application_has_received() {
    let sandbox = guichet_sandbox::Sandbox::start().await.unwrap();
    let (base, key, record) = (sandbox.base_url(), sandbox.secret_key().expose(), sandbox.delivery_recorder());
    let request = async |method: &str, path: &str, body: Value| {
        let body = (!body.is_null()).then(|| body.to_string());
        send(&client(), method, &format!("{base}/v1/payment-intents{path}"), Some(key), body, &[]).await.body["data"]
            .clone()
    };
    let read = async |path: &str| {
        let token = Some(sandbox.control_token().expose());
        send(&client(), "GET", &format!("{base}/sandbox/{path}"), token, None, &[]).await
    };
    let intent = request("POST", "", order("ORDER-17-1")).await;
    let id = intent["id"].as_str().unwrap();
    let attach = async |number: &str| request("POST", &format!("/{id}/payment-method"), phone(number)).await;
    let decide = async |decision: &str, attempt: u32| {
        let fields = json!({ "payment": id, "decision": decision, "attempt": attempt }).to_string();
        let url = format!("{base}/sandbox/handset");
        send(&client(), "POST", &url, Some(sandbox.control_token().expose()), Some(fields), &[]).await
    };
    let deliver = |version: u32, paid_by: Value, refunds_due: Value, answer: Result<u16, &str>| {
        let state = if paid_by.is_null() { "unpaid" } else { "paid" };
        let event = json!({ "name": "ORDER-17", "version": version, "state": state, "paid_by": paid_by, "refunds_due": refunds_due });
        let references = vec!["ORDER-17".to_owned(), "ORDER-17-1".to_owned()];
        record(guichet_sandbox::Delivery { event, references, answer: answer.map_err(str::to_owned) });
    };
    let purchase = async || {
        let listed = read("purchases").await.body["purchases"][0].clone();
        let read = read("thread").await.body["purchase"].clone();
        assert_eq!(listed, read, "the list and the thread have one rule");
        (listed["differs"] == true, listed["reported"]["status"].clone(), listed["reported"]["duplicates"].clone())
    };
    attach("237670000020").await;
    decide("ignore", 1).await;
    attach("237690000020").await;
    decide("approve", 2).await;
    request("GET", &format!("/{id}"), Value::Null).await;
    assert_eq!(purchase().await, (false, json!("succeeded"), json!(0)), "the shop itself has read it");
    deliver(1, Value::Null, json!([]), Ok(204));
    assert_eq!(purchase().await, (true, json!("unpaid"), json!(0)), "its application does not know");
    let planted = "sk_live_0123456789abcdefghij";
    deliver(
        2,
        json!({ "id": id }),
        json!([]),
        Err(&format!("answers 422: refused, {planted} {}", "long ".repeat(100))),
    );
    assert!(purchase().await.0, "an event that was refused is unknown");
    deliver(2, json!({ "id": id }), json!([]), Ok(200));
    assert_eq!(purchase().await, (false, json!("paid"), json!(0)));

    decide("approve", 1).await;
    assert!(purchase().await.0, "a duplicate");
    deliver(3, json!({ "id": id }), json!([{ "id": id, "attempt": "1" }]), Ok(200));
    assert_eq!(purchase().await, (false, json!("paid"), json!(1)));
    deliver(4, json!({ "id": id }), json!([]), Ok(200));
    assert_eq!(purchase().await, (false, json!("paid"), json!(1)), "it was given back");

    let thread = read("thread").await;
    assert!(!thread.text.contains(planted) && thread.text.contains("answers 422: refused, ***"), "{}", thread.text);
    let entries = thread.body["entries"].as_array().unwrap().clone();
    let delivered = entries.iter().filter(|entry| entry["kind"] == "delivery");
    let attempts: Vec<_> = delivered.clone().map(|entry| entry["attempt"].as_u64().unwrap()).collect();
    assert_eq!(attempts, [1, 1, 2, 1, 1], "by event");
    assert!(delivered.map(|entry| entry["error"].as_str().unwrap_or_default().len()).max().unwrap() <= 300);
    let differs: Vec<_> = entries.iter().rev().take(4).map(|entry| entry["differs"] == true).collect();
    assert_eq!(differs, [false, false, true, false], "given back, known, approved twice, and the decision");
    let requests = read("requests").await;
    assert!(!requests.text.contains("order_changed"), "deliveries are no requests to the service");

    let limited = read("thread?limit=2").await.body;
    assert_eq!(
        (&limited["entries"][1], limited["earlier"].as_u64()),
        (entries.last().unwrap(), Some(entries.len() as u64 - 2))
    );
    request("POST", "", order("ORDER-18")).await;
    assert_eq!(purchase().await, (false, json!("requires_action"), json!(0)), "another order");
}

/// A page and its shop's server read every few seconds.
#[tokio::test]
async fn equal_readings_are_one_entry() {
    let sandbox = Sandbox::start_with(Config::default()).await.unwrap();
    let shop = Merchant::of(&sandbox, "Boutique Awa").await;
    let intent = shop.create_intent("ORDER-17").await;
    let path = format!("/v1/payment-intents/{}", intent["id"].as_str().unwrap());
    let read = async || {
        for _ in 0..3 {
            shop.read_intent(&intent).await;
            shop.call_as("GET", &path, intent["client_secret"].as_str(), Value::Null).await;
        }
    };
    read().await;
    shop.attach(&intent, phone("237670000000")).await;
    read().await;
    let thread = call(&sandbox, &shop, "/thread").await.body;
    let times: Vec<_> = thread["entries"].as_array().unwrap().iter().map(|entry| entry["times"].as_u64()).collect();
    let by = [None, None, Some(3), Some(3), None, None, None, Some(3), Some(3)];
    assert_eq!(times, by, "{thread}");
    shop.tenant.clock().advance(60).await.unwrap();
    shop.read_intent(&intent).await;
    let thread = call(&sandbox, &shop, "/thread").await.body;
    let last = thread["entries"][7].clone();
    let seconds = last["last_at"].as_i64().unwrap() - last["at"].as_i64().unwrap();
    assert!(last["times"] == 4 && seconds >= 60, "its first and its last time: {last}");
}

/// The reading alone is measured: the page's own work does not depend on the number of purchases.
#[tokio::test]
async fn of_10000_purchases_the_first_view_takes_less_than_300_ms() {
    const PURCHASES: usize = 10_000;
    let (sandbox, shop) = start().await;
    let create = async |from: usize| {
        for number in (from..PURCHASES).step_by(16) {
            shop.create_intent(&format!("ORDER-{number}")).await;
        }
    };
    futures_util::future::join_all((0..16).map(create)).await;
    for path in ["/purchases", "/thread", "/purchases?search=ORDER-77"] {
        let begun = Instant::now();
        let reply = call(&sandbox, &shop, path).await;
        let took = begun.elapsed();
        assert_eq!(reply.status, 200, "{}", reply.text);
        println!("{path}: {took:?}");
        assert!(took < Duration::from_millis(300), "{path}: {took:?}");
    }
}

/// If this test fails, one language lacks a sentence of the other.
#[test]
fn the_inspector_has_the_same_sentences_in_each_language() {
    let words = std::fs::read_to_string(crate::support::root().join("www/inspector/words.js")).unwrap();
    let (english, french) = words.split_once("  fr: {").unwrap();
    let names = |text: &str| -> Vec<String> {
        let lines = text.lines().take_while(|line| *line != "};").filter(|line| line.starts_with("    "));
        lines.map(|line| line.trim().split_once(':').unwrap().0.to_owned()).collect()
    };
    assert!(names(english).len() > 50);
    assert_eq!(names(english), names(french));
}
