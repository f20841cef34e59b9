//! Orders about which a bookkeeper decides, with secrets and personal data that no page of theirs shows.

use guichet::native::ledger::{Changed, Order, Store};
use guichet::shop::ledger::{Commit, Row};
use guichet_orders::AnyOrders;
use serde_json::{Value, json};

/// What no page may show.
pub const SECRETS: [&str; 7] = [
    "planted-nonce-0123456789",
    "planted-mark",
    "planted-sealed-address",
    "planted-client-secret",
    "planted@example.com",
    "Planted-Lastname",
    "planted-redirect",
];

/// Stores an order as it may be after some time. Nothing of it is read again.
pub async fn store(orders: &AnyOrders, order: Value, event: bool) -> Order {
    let mut order = order;
    order["owner"] = json!({"customer": "awa"});
    for payment in order["payments"].as_array_mut().unwrap() {
        let body = json!({
            "amount": "45000", "currency": "XAF", "firstname": "Awa", "lastname": SECRETS[5], "email": SECRETS[4],
            "description": "Shoes", "redirect_url": format!("https://www.shop.example/{}", SECRETS[6]),
        });
        payment["body"] = body;
        payment["nonce"] = json!(SECRETS[0]);
        payment["mark"] = json!(SECRETS[1]);
        for found in payment.get_mut("found").and_then(Value::as_array_mut).into_iter().flatten() {
            found["sealed"] = json!(SECRETS[2]);
            found["read_with"] = json!(SECRETS[3]);
        }
    }
    let order: Order = serde_json::from_value(order).unwrap();
    let now = orders.now().await.unwrap();
    let rows = order.payments.iter().map(|payment| Row {
        reference: payment.reference.clone(),
        created_at: payment.created_at,
        due_at: None,
        counts_until: None,
        names: std::iter::once(payment.reference.clone())
            .chain(payment.found.iter().map(|one| one.id.clone()))
            .collect(),
    });
    let event: Option<Changed> = event.then(|| order.changed());
    let commit = Commit { order: order.clone(), before: None, open: None, now, rows: rows.collect(), event };
    assert!(orders.commit(&commit).await.unwrap());
    order
}

/// A payment with one of the service in this state.
pub fn payment(reference: &str, id: &str, state: Value, at: i64) -> Value {
    let found = json!([{"id": id, "state": state, "status": "succeeded", "method": "mobile_money", "asked_at": at}]);
    json!({"reference": reference, "created_at": at, "found": found})
}

/// An order that was paid twice.
pub async fn paid_twice(orders: &AnyOrders, name: &str, id: &str) -> Order {
    let now = orders.now().await.unwrap();
    let paid = |number: usize| {
        payment(&format!("{id}-ref-{number}"), &format!("{id}-{number}"), json!({"paid": {"at": now}}), now)
    };
    let order = json!({"name": name, "paid_by": format!("{id}-1"), "payments": [paid(1), paid(2)]});
    store(orders, order, false).await
}

/// An order of 45,000 whose payment is not what was sent, and not paid yet.
pub async fn different(orders: &AnyOrders, name: &str, id: &str) -> Order {
    let mut payment = payment(name, id, json!("different"), 1);
    payment["found"][0]["status"] = json!("processing");
    let asked = json!({"amount": "45000", "currency": "XAF"});
    store(orders, json!({"name": name, "asked": asked, "payments": [payment]}), false).await
}
