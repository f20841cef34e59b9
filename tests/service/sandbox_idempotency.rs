//! `Idempotency-Key` in the sandbox, `decisions.md` 2: a request under a key creates one object.

use crate::support::api::{self, Merchant, Reply, client, order, phone, shop};
use crate::support::folder::Folder;
use crate::support::service::{Sandbox, on_each_store};
use guichet::operations::{CreateEsimOrder, CreateSubscription};
use guichet_sandbox::Fault;
use serde_json::{Value, json};
use tokio::task::JoinSet;

on_each_store!(
    two_requests_with_one_key_create_one_object,
    a_repeat_returns_the_current_state,
    another_body_under_a_key_is_refused_and_an_equal_one_accepted,
    sixty_four_concurrent_requests_with_one_key_create_one_object,
    a_key_is_remembered_for_a_day_and_free_after_it,
    a_key_belongs_to_one_merchant_and_one_operation,
    a_refused_request_reserves_no_key,
    a_key_has_up_to_255_visible_characters,
    other_operations_ignore_a_key,
    keys_survive_a_restart_and_end_with_a_reset_and_only_their_digests_are_stored,
    a_retry_after_a_lost_response_creates_no_second_object,
);

const DAY: u32 = 24 * 60 * 60;

async fn two_requests_with_one_key_create_one_object() {
    let (_sandbox, shop) = shop().await;
    for request in keyed_requests(&shop).await {
        let first = request.send(&shop, Some("key-1")).await;
        assert_eq!((first.status, first.header("idempotent-replayed")), (201, None), "{}", first.text);
        let repeated = request.send(&shop, Some("key-1")).await;
        assert_eq!((repeated.status, repeated.header("idempotent-replayed")), (200, Some("true")), "{}", request.path);
        assert_eq!(repeated.body["data"], first.body["data"]);
        let other = request.send(&shop, Some("key-2")).await;
        assert_eq!(other.status, 201);
        assert_ne!(request.id(&other), request.id(&first));
        let none = [request.send(&shop, None).await, request.send(&shop, None).await];
        assert_ne!(request.id(&none[0]), request.id(&none[1]), "without a key each request creates another object");
    }
}

async fn a_repeat_returns_the_current_state() {
    let (_sandbox, shop) = shop().await;
    let [esims, subscription] = keyed_requests(&shop).await;
    let ordered = esims.send(&shop, Some("key")).await.body["data"].clone();
    let mut paying = order("ORDER-17");
    paying["amount"] = json!(ordered["amount"].to_string());
    paying["metadata"] = json!({ "esim_order_id": ordered["order_id"] });
    let intent = shop.call("POST", "/v1/payment-intents", paying).await.body["data"].clone();
    shop.attach(&intent, phone("237670000000")).await;
    assert_eq!(esims.send(&shop, Some("key")).await.body["data"]["status"], "fulfilled");

    let created = subscription.send(&shop, Some("key")).await;
    let path = format!("/v1/subscriptions/{}/cancel", subscription.id(&created).as_str().unwrap());
    assert_eq!(shop.call("POST", &path, json!({ "immediately": true })).await.status, 200);
    assert_eq!(subscription.send(&shop, Some("key")).await.body["data"]["status"], "canceled");
}

async fn another_body_under_a_key_is_refused_and_an_equal_one_accepted() {
    let (_sandbox, shop) = shop().await;
    for request in keyed_requests(&shop).await {
        let first = request.send(&shop, Some("key")).await;
        for (name, value) in request.changes.clone() {
            let mut fields = request.fields.clone();
            fields[name] = value;
            let refused = request.send_this(&shop, Some("key"), fields.to_string()).await;
            assert_eq!((refused.status, refused.code()), (422, "idempotency_key_reused"), "{name}");
            assert_eq!(&refused.body["error"]["existing_id"], request.id(&first));
        }
        // The same fields in another order, with an explicit default and an unknown field.
        let mut pairs: Vec<_> = request.fields.as_object().unwrap().clone().into_iter().collect();
        pairs.extend(request.defaults.clone().map(|(name, value)| (name.to_owned(), value)));
        pairs.push(("unheard_of".into(), json!(1)));
        let turned: Vec<_> = pairs.iter().rev().map(|(name, value)| format!("{}: {value}", json!(name))).collect();
        let repeated = request.send_this(&shop, Some("key"), format!("{{{}}}", turned.join(" , "))).await;
        assert_eq!((repeated.status, request.id(&repeated)), (200, request.id(&first)), "{}", repeated.text);
    }
}

async fn sixty_four_concurrent_requests_with_one_key_create_one_object() {
    let (_sandbox, shop) = shop().await;
    for request in keyed_requests(&shop).await {
        let mut calls = JoinSet::new();
        for _ in 0..64 {
            let (shop, request) = (shop.clone(), request.clone());
            calls.spawn(async move { request.send(&shop, Some("key")).await });
        }
        let replies = calls.join_all().await;
        assert_eq!(replies.iter().filter(|reply| reply.status == 201).count(), 1);
        assert_eq!(replies.iter().filter(|reply| reply.status == 200).count(), 63);
        assert!(replies.iter().all(|reply| request.id(reply) == request.id(&replies[0])));
    }
    let charged = shop.call("GET", "/v1/payment-intents", Value::Null).await;
    assert_eq!(charged.body["data"].as_array().unwrap().len(), 1, "the subscription is charged once");
}

async fn a_key_is_remembered_for_a_day_and_free_after_it() {
    let (_sandbox, shop) = shop().await;
    let [esims, _] = keyed_requests(&shop).await;
    let first = esims.send(&shop, Some("key")).await;
    shop.tenant.clock().advance(DAY - 60).await.unwrap();
    assert_eq!(esims.id(&esims.send(&shop, Some("key")).await), esims.id(&first));
    shop.tenant.clock().advance(60).await.unwrap();
    let next = esims.send(&shop, Some("key")).await;
    assert_eq!(next.status, 201);
    assert_ne!(esims.id(&next), esims.id(&first));
    shop.tenant.clock().advance(DAY - 60).await.unwrap();
    assert_eq!(esims.id(&esims.send(&shop, Some("key")).await), esims.id(&next), "a day after the second request");
}

async fn a_key_belongs_to_one_merchant_and_one_operation() {
    let (sandbox, shop) = shop().await;
    let [esims, subscription] = keyed_requests(&shop).await;
    let ours = esims.send(&shop, Some("key")).await;
    assert_eq!(subscription.send(&shop, Some("key")).await.status, 201);
    let other = Merchant::new(sandbox.merchant().await.unwrap());
    let theirs = esims.send(&other, Some("key")).await;
    assert_eq!(theirs.status, 201);
    assert_ne!(esims.id(&theirs), esims.id(&ours));
}

async fn a_refused_request_reserves_no_key() {
    let (_sandbox, shop) = shop().await;
    let [esims, _] = keyed_requests(&shop).await;
    for (wrong, status) in [
        (json!({ "package_id": "esp_none" }), 404),
        (json!({ "package_id": "esp_cm_night" }), 422),
        (json!({ "package_id": "esp_cm_1gb", "quantity": 6 }), 422),
        (json!({}), 422),
    ] {
        assert_eq!(esims.send_this(&shop, Some("key"), wrong.to_string()).await.status, status, "{wrong}");
    }
    assert_eq!(esims.send(&shop, Some("key")).await.status, 201);
}

async fn a_key_has_up_to_255_visible_characters() {
    let (_sandbox, shop) = shop().await;
    for request in keyed_requests(&shop).await {
        let (longest, too_long) = ("k".repeat(255), "k".repeat(256));
        assert_eq!(request.send(&shop, Some(&longest)).await.status, 201);
        for wrong in [too_long.as_str(), "", "order 17", "clé"] {
            let refused = request.send(&shop, Some(wrong)).await;
            assert_eq!((refused.status, refused.code()), (422, "parameter_invalid"), "{wrong:?}");
            assert_eq!(refused.body["error"]["param"], "Idempotency-Key");
        }
        let mut fields = request.fields.clone();
        fields["Idempotency-Key"] = json!("key");
        let refused = request.send_this(&shop, None, fields.to_string()).await;
        assert_eq!((refused.status, refused.body["error"]["param"].as_str()), (422, Some("Idempotency-Key")));
        assert!(refused.message().contains("header"), "{}", refused.message());
    }
}

async fn other_operations_ignore_a_key() {
    let (_sandbox, shop) = shop().await;
    let key = [("idempotency-key", "key")];
    let send = async |path: &str, fields: Value| {
        shop.send("POST", path, Some(&shop.key()), Some(fields.to_string()), &key).await
    };
    let created = [send("/v1/payment-intents", order("1")).await, send("/v1/payment-intents", order("2")).await];
    assert_ne!(created[0].body["data"]["id"], created[1].body["data"]["id"]);
    let session = json!({ "customer_email": "awa@example.com" });
    let created = [send("/v1/sessions/create", session.clone()).await, send("/v1/sessions/create", session).await];
    assert_ne!(created[0].body["data"]["session_token"], created[1].body["data"]["session_token"]);
    let long = "k".repeat(256);
    let plan = json!({ "name": "Gold", "code": "gold", "amount": 1, "billing_cycle": "daily" }).to_string();
    let created = shop
        .send("POST", "/v1/subscriptions/plans", Some(&shop.key()), Some(plan), &[("idempotency-key", &long)])
        .await;
    assert_eq!(created.status, 201, "{}", created.text);
}

async fn keys_survive_a_restart_and_end_with_a_reset_and_only_their_digests_are_stored() {
    let folder = Folder::new("once");
    let sandbox = Sandbox::start_with(folder.config()).await.unwrap();
    let key = sandbox.secret_key().expose().to_owned();
    let send = async |sandbox: &Sandbox| {
        let url = format!("{}/v1/esim/orders", sandbox.base_url());
        let body = json!({ "package_id": "esp_cm_1gb", "quantity": 3 }).to_string();
        api::send(&client(), "POST", &url, Some(&key), Some(body), &[("idempotency-key", "order-of-awa")]).await
    };
    let first = send(&sandbox).await;
    sandbox.stop().await;
    let bytes = std::fs::read(folder.path.join("sandbox.sqlite")).unwrap();
    assert!(!bytes.windows(12).any(|window| window == b"order-of-awa"));

    let sandbox = Sandbox::start_with(folder.config()).await.unwrap();
    let repeated = send(&sandbox).await;
    assert_eq!((repeated.status, &repeated.body["data"]), (200, &first.body["data"]));
    sandbox.reset().await.unwrap();
    assert_eq!(send(&sandbox).await.status, 201);
    sandbox.stop().await;
}

async fn a_retry_after_a_lost_response_creates_no_second_object() {
    let (_sandbox, shop) = shop().await;
    let [esims, subscription] = keyed_requests(&shop).await;
    shop.tenant.fault(Fault::lost_response::<CreateEsimOrder>()).await;
    shop.tenant.fault(Fault::lost_response::<CreateSubscription>()).await;
    for request in [esims, subscription] {
        let sent = request.try_send(&shop, "key").await;
        assert!(sent.is_err(), "the response is lost");
        let repeated = request.send(&shop, Some("key")).await;
        assert_eq!((repeated.status, repeated.header("idempotent-replayed")), (200, Some("true")), "{}", repeated.text);
    }
    assert_eq!(shop.call("GET", "/v1/subscriptions", Value::Null).await.body["data"].as_array().unwrap().len(), 1);
}

/// A request that creates an object and accepts an idempotency key.
#[derive(Clone)]
struct KeyedRequest {
    path: &'static str,
    /// The field of the response with the object's id.
    id: &'static str,
    fields: Value,
    /// A field that makes the body another one.
    changes: Vec<(&'static str, Value)>,
    /// A field with its default value.
    defaults: Option<(&'static str, Value)>,
}

impl KeyedRequest {
    async fn send(&self, shop: &Merchant, key: Option<&str>) -> Reply {
        self.send_this(shop, key, self.fields.to_string()).await
    }

    async fn send_this(&self, shop: &Merchant, key: Option<&str>, body: String) -> Reply {
        let headers: Vec<_> = key.into_iter().map(|key| ("idempotency-key", key)).collect();
        shop.send("POST", self.path, Some(&shop.key()), Some(body), &headers).await
    }

    async fn try_send(&self, shop: &Merchant, key: &str) -> Result<Reply, reqwest::Error> {
        let url = format!("{}{}", shop.base_url, self.path);
        let body = Some(self.fields.to_string().into());
        api::try_send(&client(), "POST", &url, Some(&shop.key()), body, &[("idempotency-key", key)]).await
    }

    fn id<'a>(&self, reply: &'a Reply) -> &'a Value {
        &reply.body["data"][self.id]
    }
}

/// Every request that accepts an idempotency key.
async fn keyed_requests(shop: &Merchant) -> [KeyedRequest; 2] {
    let plan = json!({ "name": "Gold", "code": "gold-plan", "amount": 5000, "billing_cycle": "monthly" });
    assert_eq!(shop.call("POST", "/v1/subscriptions/plans", plan).await.status, 201);
    let paid_with = |number: &str| json!({ "type": "mobile_money", "phone": number });
    [
        KeyedRequest {
            path: "/v1/esim/orders",
            id: "order_id",
            fields: json!({ "package_id": "esp_cm_1gb" }),
            changes: vec![("package_id", json!("esp_cm_5gb")), ("quantity", json!(2))],
            defaults: Some(("quantity", json!(1))),
        },
        KeyedRequest {
            path: "/v1/subscriptions",
            id: "id",
            fields: json!({
                "plan": "gold-plan", "customer_email": "awa@example.com", "firstname": "Awa", "lastname": "Ngo",
                "payment_method": paid_with("237670000000"), "metadata": { "b": { "d": 1, "c": 2 }, "a": 1 },
            }),
            changes: vec![
                ("customer_email", json!("ngo@example.com")),
                ("payment_method", paid_with("237690000003")),
                ("metadata", json!({ "a": 1, "b": { "c": 2, "d": 2 } })),
            ],
            defaults: None,
        },
    ]
}
