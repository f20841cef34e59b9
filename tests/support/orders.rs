//! Ledgers for tests.

use guichet::native::Owner;
use guichet::native::ledger::{Order, Store};
use guichet::shop::ledger::{Commit, DAY, Row};
use guichet_orders::SqliteOrders;
use serde_json::{Value, json};
use sqlx::sqlite::SqlitePoolOptions;

/// An empty ledger in memory.
pub async fn in_memory() -> SqliteOrders {
    // A second connection would have orders of its own.
    let pool =
        SqlitePoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None).test_before_acquire(false);
    let pool = pool.connect("sqlite::memory:").await.expect("a database in memory");
    SqliteOrders::open(pool, "guichet_").await.expect("its tables")
}

/// The return nonce of a payment that was begun.
pub const NONCE: &str = "0123456789abcdefghijAB";

/// Stores an open payment, as if it had been begun: of this order, with this id and public reference of the service.
/// `costs` has its amount, currency, fee bearer and quote.
pub async fn begun(orders: &SqliteOrders, owner: &Owner, name: &str, costs: &Value, [id, payment_ref]: [&str; 2]) {
    let now = orders.now().await.expect("the time");
    let mut body = json!({"firstname": "Awa", "lastname": "Ngono", "description": "Shoes", "email": "awa@example.com"});
    for member in ["amount", "currency", "fee_bearer"] {
        body[member] = costs[member].clone();
    }
    let found =
        json!({"id": id, "payment_ref": payment_ref, "state": "open", "status": "requires_action", "since": now});
    let payment = json!({
        "reference": name, "created_at": now, "body": body, "nonce": NONCE, "quote": costs["quote"], "found": [found],
    });
    let order: Value = json!({"name": name, "owner": owner, "payments": [payment]});
    let order: Order = serde_json::from_value(order).expect("an order");
    let names = [name, NONCE, id, payment_ref].map(str::to_owned).into();
    let row =
        Row { reference: name.to_owned(), created_at: now, due_at: Some(now), counts_until: Some(now + DAY), names };
    let commit = Commit { order, before: None, open: None, now, rows: vec![row], event: None };
    assert!(orders.commit(&commit).await.expect("it is stored"), "{name} is there");
}
