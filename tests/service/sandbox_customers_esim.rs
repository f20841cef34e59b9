//! Customers and eSIMs in the sandbox: `decisions.md` 3, 5 and 8, over a real socket.

use crate::support::api::{Merchant, Reply, order, phone, shop};
use crate::support::service::on_each_store;
use serde_json::{Value, json};
use tokio::task::JoinSet;

on_each_store!(
    creating_intents_creates_each_customer_once,
    pages_of_customers_are_stable_while_customers_are_added,
    the_first_listed_package_can_be_ordered,
    a_quantity_is_from_one_to_five,
    an_order_is_fulfilled_by_a_payment_that_names_it,
    events_name_the_fulfilled_orders_and_their_payments,
    a_payment_without_the_orders_id_fulfils_no_order,
    an_order_paid_twice_is_fulfilled_once_by_the_first_payment,
);

const ORDERS: &str = "/v1/esim/orders";

async fn creating_intents_creates_each_customer_once() {
    let (sandbox, shop) = shop().await;
    assert_eq!(customers(&shop, "").await.body["data"], json!([]));
    let someone = |reference: &str, fields: Value| {
        let mut order = order(reference);
        order.as_object_mut().unwrap().remove("email");
        order.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        order
    };
    let pays = async |order: Value| {
        assert_eq!(shop.call("POST", "/v1/payment-intents", order).await.status, 201);
        shop.tenant.clock().advance(1).await.unwrap();
    };
    pays(someone("1", json!({ "email": "awa@example.com" }))).await;
    pays(someone("2", json!({ "phone": "237670000000", "firstname": "Bih" }))).await;
    pays(someone("3", json!({ "email": "AWA@example.com", "phone": "237670000000", "firstname": "A." }))).await;
    pays(someone("4", json!({ "email": "ngo@example.com", "phone": "237690000003" }))).await;
    pays(someone("5", json!({ "phone": "237670000000" }))).await;
    assert_eq!(shop.call("POST", "/v1/payment-intents", order("1")).await.status, 200, "a repeat creates no customer");

    let listed = customers(&shop, "").await;
    let contacts: Vec<_> = listed.body["data"].as_array().unwrap().iter().map(contact).collect();
    assert_eq!(
        contacts,
        [
            ("ngo@example.com".to_owned(), "237690000003".to_owned(), "Awa".to_owned()),
            (String::new(), "237670000000".into(), "Bih".into()),
            ("awa@example.com".into(), String::new(), "Awa".into()),
        ],
        "the most recent first"
    );
    let first = &listed.body["data"][0];
    assert!(first["id"].as_str().unwrap().starts_with("cus_"));
    assert!(first["created_at"].is_i64());
    assert_eq!((&first["balance"], &first["active"]), (&json!(0), &json!(true)));
    let other = Merchant::new(sandbox.merchant().await.unwrap());
    assert_eq!(customers(&other, "").await.body["data"], json!([]), "customers belong to one merchant");
}

async fn pages_of_customers_are_stable_while_customers_are_added() {
    let (sandbox, shop) = shop().await;
    for number in 0..5 {
        let mut fields = order(&format!("ORDER-{number}"));
        fields["email"] = json!(format!("c{number}@example.com"));
        shop.call("POST", "/v1/payment-intents", fields).await;
        shop.tenant.clock().advance(number % 2).await.unwrap();
    }
    let whole = emails(&customers(&shop, "").await);
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = customers(&shop, &format!("?limit=2{cursor}")).await;
        seen.extend(emails(&page));
        let mut late = order(&format!("LATE-{}", seen.len()));
        late["email"] = json!(format!("late{}@example.com", seen.len()));
        shop.tenant.clock().advance(1).await.unwrap();
        shop.call("POST", "/v1/payment-intents", late).await;
        let Some(next) = page.body["pagination"]["next_cursor"].as_str() else { break };
        assert!(page.header("link").unwrap().contains(&format!("starting_after={next}>; rel=\"next\"")));
        cursor = format!("&starting_after={next}");
    }
    assert_eq!(seen, whole);
    let other = Merchant::new(sandbox.merchant().await.unwrap());
    let theirs = customers(&shop, "?limit=1").await.body["data"][0]["id"].as_str().unwrap().to_owned();
    for cursor in [theirs.as_str(), "cus_none"] {
        let refused = customers(&other, &format!("?starting_after={cursor}")).await;
        assert_eq!((refused.status, refused.code()), (404, "resource_missing"), "{cursor}");
    }
}

async fn the_first_listed_package_can_be_ordered() {
    let (_sandbox, shop) = shop().await;
    let listed = shop.call("GET", "/v1/esim/packages", Value::Null).await;
    let packages = listed.body["data"].as_array().unwrap();
    assert_eq!(packages[0]["active"], true);
    for package in packages {
        assert_eq!(package["unlimited"].as_bool().unwrap(), package["data_mb"].is_null(), "{package}");
        let ordered = order_esim(&shop, json!({ "package_id": package["id"] })).await;
        let data = &ordered.body["data"];
        if package["active"] == true {
            assert_eq!(ordered.status, 201);
            assert_eq!((&data["amount"], &data["currency"]), (&package["amount"], &package["currency"]));
            assert_eq!((&data["status"], &data["esims"]), (&json!("pending_payment"), &json!([])));
        } else {
            assert_eq!((ordered.status, ordered.code()), (422, "parameter_invalid"));
        }
    }
    let path = format!("/v1/esim/packages?limit=1&starting_after={}", text(&packages[0]["id"]));
    let second = shop.call("GET", &path, Value::Null).await;
    assert_eq!(second.body["data"], json!([packages[1]]));
}

async fn a_quantity_is_from_one_to_five() {
    let (_sandbox, shop) = shop().await;
    let one = order_esim(&shop, json!({ "package_id": "esp_cm_1gb" })).await.body["data"]["amount"].as_u64().unwrap();
    for quantity in 1..=5 {
        let ordered = order_esim(&shop, json!({ "package_id": "esp_cm_1gb", "quantity": quantity })).await;
        assert_eq!((ordered.status, ordered.body["data"]["amount"].as_u64()), (201, Some(one * quantity)));
    }
    let two = order_esim(&shop, json!({ "package_id": "esp_cm_1gb", "quantity": 2.0 })).await;
    assert_eq!(two.body["data"]["quantity"], 2, "JSON has one number type: 2.0 equals 2");
    for (quantity, code) in [
        (json!(0), "quantity_out_of_range"),
        (json!(6), "quantity_out_of_range"),
        (json!(-1), "quantity_out_of_range"),
        (json!(257), "quantity_out_of_range"),
        (json!(1.5), "parameter_invalid"),
        (json!("2"), "parameter_invalid"),
        (json!(true), "parameter_invalid"),
        (json!([1]), "parameter_invalid"),
    ] {
        let refused = order_esim(&shop, json!({ "package_id": "esp_cm_1gb", "quantity": quantity })).await;
        assert_eq!((refused.status, refused.code()), (422, code), "{quantity}");
        assert_eq!(refused.body["error"]["param"], "quantity");
    }
}

async fn an_order_is_fulfilled_by_a_payment_that_names_it() {
    let (_sandbox, shop) = shop().await;
    let ordered = order_esim(&shop, json!({ "package_id": "esp_cm_1gb", "quantity": 2 })).await.body["data"].clone();
    let intent = shop.call("POST", "/v1/payment-intents", paying(&ordered, "ORDER-17")).await.body["data"].clone();
    assert_eq!(read(&shop, &ordered).await, ordered, "an unpaid intent does not fulfil the order");
    shop.attach(&intent, phone("237670000001")).await;
    assert_eq!(read(&shop, &ordered).await, ordered, "a processing intent does not fulfil the order");
    shop.tenant.clock().advance(40).await.unwrap();

    let fulfilled = read(&shop, &ordered).await;
    assert_eq!((&fulfilled["status"], &fulfilled["payment_intent"]), (&json!("fulfilled"), &intent["id"]));
    assert!(fulfilled["fulfilled_at"].as_i64().unwrap() >= fulfilled["created_at"].as_i64().unwrap() + 30);
    let esims = fulfilled["esims"].as_array().unwrap();
    assert_eq!(esims.len(), 2);
    assert_ne!(esims[0], esims[1]);
    for esim in esims {
        assert!(
            text(&esim["activation_code"]).starts_with("LPA:1$")
                && text(&esim["activation_code"]).contains(".invalid$")
        );
        assert_eq!(text(&esim["iccid"]).len(), 19);
    }
    assert_eq!(read(&shop, &ordered).await, fulfilled, "every reading returns the same");
    let events = shop.tenant.events().await.unwrap();
    let order_events: Vec<_> = events.iter().filter(|event| event.subject == text(&ordered["order_id"])).collect();
    assert_eq!(
        order_events.iter().map(|event| event.kind.as_str()).collect::<Vec<_>>(),
        ["esim_order.created", "esim_order.fulfilled"]
    );
    assert_eq!(order_events[1].at.unix(), fulfilled["fulfilled_at"].as_i64().unwrap());
    assert_eq!(events.last().unwrap().kind, "esim_order.fulfilled", "fulfilled after it was paid");
}

async fn events_name_the_fulfilled_orders_and_their_payments() {
    let (_sandbox, shop) = shop().await;
    let mut orders = Vec::new();
    for number in 0..6 {
        let ordered = order_esim(&shop, json!({ "package_id": "esp_cm_1gb" })).await.body["data"].clone();
        for (again, paid) in [("a", number % 2 == 0), ("b", number % 3 == 0)] {
            let fields = paying(&ordered, &format!("ORDER-{number}-{again}"));
            let intent = shop.call("POST", "/v1/payment-intents", fields).await.body["data"].clone();
            if paid {
                shop.attach(&intent, phone("237670000000")).await;
            }
        }
        orders.push(ordered);
    }
    let events = shop.tenant.events().await.unwrap();
    let subjects_of = |kind: &str| -> Vec<String> {
        events.iter().filter(|event| event.kind == kind).map(|event| event.subject.clone()).collect()
    };
    let ids = |numbers: &[usize]| -> Vec<String> {
        numbers.iter().map(|number| text(&orders[*number]["order_id"]).to_owned()).collect()
    };
    assert_eq!(subjects_of("esim_order.created"), ids(&[0, 1, 2, 3, 4, 5]));
    let mut fulfilled = subjects_of("esim_order.fulfilled");
    fulfilled.sort_by_key(|id| orders.iter().position(|order| order["order_id"] == *id));
    assert_eq!(fulfilled, ids(&[0, 2, 3, 4]));
    assert_eq!(shop.tenant.events().await.unwrap(), events, "every reading returns the same");
}

async fn a_payment_without_the_orders_id_fulfils_no_order() {
    let (sandbox, shop) = shop().await;
    let other = Merchant::new(sandbox.merchant().await.unwrap());
    let ordered = order_esim(&shop, json!({ "package_id": "esp_cm_1gb" })).await.body["data"].clone();
    let pays = async |shop: &Merchant, fields: Value| {
        let created = shop.call("POST", "/v1/payment-intents", fields).await;
        assert_eq!(created.status, 201, "{}", created.text);
        let paid = shop.attach(&created.body["data"], phone("237670000000")).await;
        assert_eq!(paid.body["data"]["status"], "succeeded");
    };
    for (number, (field, value)) in [
        ("amount", json!("2499")),
        ("amount", json!("2501")),
        ("currency", json!("XOF")),
        ("metadata", json!({ "esim_order_id": [ordered["order_id"]] })),
        ("metadata", json!({ "esim_order": ordered["order_id"] })),
        ("metadata", json!({ "esim_order_id": "eso_none" })),
        ("metadata", json!({ "nested": { "esim_order_id": ordered["order_id"] } })),
    ]
    .into_iter()
    .enumerate()
    {
        let mut fields = paying(&ordered, &format!("ORDER-{number}"));
        fields[field] = value.clone();
        pays(&shop, fields).await;
        assert_eq!(read(&shop, &ordered).await, ordered, "{field}: {value}");
    }
    pays(&other, paying(&ordered, "ORDER-17")).await;
    assert_eq!(read(&shop, &ordered).await, ordered, "another merchant's payment does not fulfil the order");
    let unseen = other.call("GET", &format!("{ORDERS}/{}", text(&ordered["order_id"])), Value::Null).await;
    assert_eq!((unseen.status, unseen.code()), (404, "resource_missing"));
    let declined = shop.call("POST", "/v1/payment-intents", paying(&ordered, "ORDER-18")).await.body["data"].clone();
    shop.attach(&declined, phone("237670000009")).await;
    assert_eq!(read(&shop, &ordered).await, ordered, "a declined payment does not fulfil the order");
    pays(&shop, paying(&ordered, "ORDER-19")).await;
    assert_eq!(read(&shop, &ordered).await["status"], "fulfilled");
}

async fn an_order_paid_twice_is_fulfilled_once_by_the_first_payment() {
    let (_sandbox, shop) = shop().await;
    let ordered = order_esim(&shop, json!({ "package_id": "esp_cm_5gb" })).await.body["data"].clone();
    let mut intents = Vec::new();
    for number in 0..8 {
        let created = shop.call("POST", "/v1/payment-intents", paying(&ordered, &format!("ORDER-{number}"))).await;
        intents.push(created.body["data"].clone());
    }
    // The last intent is paid first, the others in the same second, while the order is read.
    shop.attach(&intents[7], phone("237670000000")).await;
    let first = read(&shop, &ordered).await;
    assert_eq!(first["payment_intent"], intents[7]["id"]);
    let mut paid = JoinSet::new();
    for intent in intents.into_iter().take(7) {
        let (shop, ordered, first) = (shop.clone(), ordered.clone(), first.clone());
        paid.spawn(async move {
            shop.attach(&intent, phone("237670000000")).await;
            assert_eq!(read(&shop, &ordered).await, first);
        });
    }
    while let Some(done) = paid.join_next().await {
        done.unwrap();
    }
    assert_eq!(read(&shop, &ordered).await, first);
}

async fn customers(shop: &Merchant, query: &str) -> Reply {
    shop.call("GET", &format!("/v1/customers{query}"), Value::Null).await
}

async fn order_esim(shop: &Merchant, fields: Value) -> Reply {
    shop.call("POST", ORDERS, fields).await
}

/// Reads an order.
async fn read(shop: &Merchant, order: &Value) -> Value {
    shop.call("GET", &format!("{ORDERS}/{}", text(&order["order_id"])), Value::Null).await.body["data"].clone()
}

/// An intent that pays an order.
fn paying(esim_order: &Value, reference: &str) -> Value {
    let mut fields = order(reference);
    fields["amount"] = json!(esim_order["amount"].to_string());
    fields["currency"] = esim_order["currency"].clone();
    fields["metadata"] = json!({ "esim_order_id": esim_order["order_id"] });
    fields
}

fn contact(customer: &Value) -> (String, String, String) {
    (text(&customer["email"]).to_owned(), text(&customer["phone"]).to_owned(), text(&customer["firstname"]).to_owned())
}

fn emails(page: &Reply) -> Vec<String> {
    page.body["data"].as_array().unwrap().iter().map(|customer| text(&customer["email"]).to_owned()).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}
