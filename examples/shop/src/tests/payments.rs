//! Orders, their prices, and what the ledger says of them.

use super::{APPROVED_LATE, PAYS, Visitor, World, intent_of, on_each_database};
use crate::orders::Line;
use guichet::native::ledger::Changed;
use serde_json::json;

on_each_database! {
    a_payment_begins_with_the_price_of_its_day
    an_order_of_what_is_no_longer_sold_is_ended
    an_event_that_comes_late_changes_nothing
    many_readers_at_once_mark_an_order_paid_once_and_store_each_refund_once
}

const BACK: &str = "http://127.0.0.1:8000/return";

async fn a_payment_begins_with_the_price_of_its_day(world: World) {
    let of_price = |price| Line { sku: "trainers".into(), quantity: 2, name: "Wouri trainers".into(), price };
    let awa = Visitor::sign_in(&world.serve().await, "awa").await;
    // The price has become 45,000 since.
    let id = world.seller.database.place("awa", &[of_price(40_000)], BACK).await.unwrap().id;
    assert_eq!(world.seller.database.place("awa", &[of_price(45_000)], BACK).await.unwrap().id, id);
    let ticket = awa.ticket(&id).await;
    assert_eq!((&ticket["intent"]["amount"], &awa.order(&id).await["total"]), (&json!("90000"), &json!("90000")));
}

async fn an_order_of_what_is_no_longer_sold_is_ended(world: World) {
    let shop = world.serve().await;
    let (awa, paul) = (Visitor::sign_in(&shop, "awa").await, Visitor::sign_in(&shop, "paul").await);
    let clogs = Line { sku: "clogs".into(), quantity: 1, name: "Clogs".into(), price: 40_000 };
    let id = world.seller.database.place("awa", &[clogs], BACK).await.unwrap().id;
    let ended = awa.begin(&id).await;
    assert_eq!((ended.status, &ended.json()["error"]["code"]), (409, &json!("order_ended")));
    assert_eq!(paul.begin(&id).await.status, 404, "another customer's is not there");
}

async fn an_event_that_comes_late_changes_nothing(world: World) {
    let database = &world.seller.database;
    let shoes = Line { sku: "trainers".into(), quantity: 1, name: "Wouri trainers".into(), price: 45_000 };
    let id = database.place("awa", &[shoes], BACK).await.unwrap().id;
    let changed = |version: i64, state: &str| -> Changed {
        let changed = json!({"name": format!("ORDER-{id}"), "version": version, "state": state, "refunds_due": []});
        serde_json::from_value(changed).unwrap()
    };
    for (version, state, expected) in
        [(5, "paid", "paid"), (4, "unpaid", "paid"), (5, "unpaid", "paid"), (6, "paid_other_sum", "paid_other_sum")]
    {
        database.store(&id, &changed(version, state)).await.unwrap();
        assert_eq!(database.order(&id, "awa").await.unwrap().unwrap().status, expected, "{version} {state}");
    }
}

/// The rounds of each server and the customer's own page may read one payment at once.
async fn many_readers_at_once_mark_an_order_paid_once_and_store_each_refund_once(world: World) {
    let World { ledger, seller, .. } = &world;
    let awa = Visitor::sign_in(&world.serve().await, "awa").await;
    let mut orders = Vec::new();
    for pairs in 1..=4 {
        let id = awa.place(pairs).await;
        // The first attempt is declined and approved later. The second one pays.
        let ticket = awa.ticket(&id).await;
        world.attach(&intent_of(&ticket), APPROVED_LATE).await;
        world.attach(&intent_of(&ticket), PAYS).await;
        orders.push((id, ticket));
    }
    world.pass(601, &awa, &orders[0].1).await;
    for (id, ticket) in &orders {
        let name = format!("ORDER-{id}");
        let read = async || ledger.settle(seller, &name).await.unwrap();
        let page = format!("/guichet/intents/{}", ticket["intent"]["payment_ref"].as_str().unwrap());
        tokio::join!(read(), read(), awa.get(&page), read());
        ledger.settle_due(seller).await.unwrap();
        let order = awa.order(id).await;
        assert_eq!((&order["status"], order["refunds_due"].as_array().unwrap().len()), (&json!("paid"), 1), "{order}");
    }
}
