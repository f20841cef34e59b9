//! Orders, their prices, and the rounds in which payments are read.

use super::{PAYS, Visitor, World, intent_of, on_each_database, sold};
use crate::orders::Line;
use crate::settler::{pause, round};
use guichet::native::{AskAgain, Buyer, Refused, Shop, Sold};
use guichet::values::{Amount, IntentStatus, PaymentRef};
use serde_json::json;
use sqlx::{Row, query};
use std::time::Duration;

const EVERY: Duration = Duration::from_secs(5);

on_each_database! {
    an_open_payment_keeps_its_price_and_the_next_reference_takes_todays
    a_final_decline_is_counted_once_and_a_second_payment_of_an_order_is_refunded
    an_order_that_a_later_success_has_paid_repeats_that_payment
    another_owners_payment_is_answered_like_an_unknown_order
    a_claim_takes_each_owners_first_payment_then_those_returned_to_and_the_youngest
    another_customers_payment_is_settled_within_two_rounds_beside_a_thousand_open_ones
    a_payment_is_read_for_a_day_after_its_final_status_and_once_more
}

async fn an_open_payment_keeps_its_price_and_the_next_reference_takes_todays(world: World) {
    let World { seller, .. } = &world;
    let (database, awa) = (&seller.database, Buyer::customer("awa"));
    let of_price = |price| Line { sku: "trainers".into(), quantity: 2, name: "Wouri trainers".into(), price };
    let back = "http://127.0.0.1:8000/return";
    let id = database.place("awa", &[of_price(40_000)], back).await.unwrap().id;
    // The price has become 45,000 since. An equal basket of today is another order.
    assert_ne!(database.place("awa", &[of_price(45_000)], back).await.unwrap().id, id);
    let begin = async |id: &str| {
        let purchase = seller.purchase(&awa, json!({ "id": id })).await?;
        Ok::<_, Refused>((purchase.merchant_reference.to_string(), purchase.amount))
    };
    let first = (format!("ORDER-{id}"), Amount::units(80_000));
    assert_eq!(begin(&id).await.unwrap(), first);
    database.remember(&sold("pi_1", &first.0, "awa")).await.unwrap();
    assert_eq!(begin(&id).await.unwrap(), first, "it is open");
    database.settle(&sold("pi_1", &first.0, "awa"), &IntentStatus::Canceled, None).await.unwrap();
    for _ in 0..2 {
        assert_eq!(begin(&id).await.unwrap(), (format!("ORDER-{id}.1"), Amount::units(90_000)));
    }

    let clogs = Line { sku: "clogs".into(), ..of_price(40_000) };
    let id = database.place("awa", &[clogs], back).await.unwrap().id;
    assert_eq!(begin(&id).await.unwrap().0, format!("ORDER-{id}"), "the price at which it was ordered");
    database.settle(&sold("pi_2", &format!("ORDER-{id}"), "awa"), &IntentStatus::Failed, None).await.unwrap();
    let ended = begin(&id).await.unwrap_err();
    assert_eq!((ended.status(), ended.code()), (409, "order_ended"));
    let of_another = seller.purchase(&Buyer::customer("paul"), json!({ "id": id })).await.unwrap_err();
    assert_eq!((of_another.status(), of_another.code()), (404, "order_missing"));
}

async fn a_final_decline_is_counted_once_and_a_second_payment_of_an_order_is_refunded(world: World) {
    let database = &world.seller.database;
    let shoes = Line { sku: "trainers".into(), quantity: 1, name: "Wouri trainers".into(), price: 45_000 };
    let id = database.place("awa", &[shoes], "http://127.0.0.1:8000/return").await.unwrap().id;
    let first = sold("pi_1", &format!("ORDER-{id}"), "awa");
    let second = sold("pi_2", &format!("ORDER-{id}.1"), "awa");
    let declined = IntentStatus::Failed;
    tokio::try_join!(database.settle(&first, &declined, None), database.settle(&first, &declined, None)).unwrap();
    for until in [1_795_257_900, 1_795_257_000] {
        database.store_approvable_until(&first, until).await.unwrap();
    }
    let order = database.order_to_pay(&id, "awa").await.unwrap().unwrap();
    assert_eq!(order.reference(), second.merchant_reference.as_str());
    assert_eq!(order.to_json()["approvable_until"], 1_795_257_900, "the latest, and the next payment does not know it");
    // The first one pays, as by a late approval, and then the second one.
    for sold in [&first, &first, &second, &second] {
        database.settle(sold, &IntentStatus::Succeeded, Some(Amount::units(45_900))).await.unwrap();
        database.settle(sold, &declined, None).await.unwrap();
        database.remember(sold).await.unwrap();
    }
    assert_eq!(world.rows("SELECT status || ' ' || payment_ref FROM orders").await, ["paid gch_pi_1"]);
    assert_eq!(world.rows("SELECT intent || ' ' || amount FROM refunds_due").await, ["pi_2 45900"], "with the fee");
    assert_eq!(database.refunds_due(&id).await.unwrap(), [("45900".into(), "XAF".into(), None)]);
}

async fn an_order_that_a_later_success_has_paid_repeats_that_payment(world: World) {
    let World { seller, .. } = &world;
    let (database, awa) = (&seller.database, Buyer::customer("awa"));
    let shoes = Line { sku: "trainers".into(), quantity: 1, name: "Wouri trainers".into(), price: 40_000 };
    let id = database.place("awa", &[shoes], "http://127.0.0.1:8000/return").await.unwrap().id;
    let [first, second] =
        [("pi_1", ""), ("pi_2", ".1")].map(|(intent, end)| sold(intent, &format!("ORDER-{id}{end}"), "awa"));
    let begin = async || serde_json::to_value(seller.purchase(&awa, json!({ "id": id })).await.unwrap()).unwrap();
    let sent = begin().await;
    database.remember(&first).await.unwrap();
    database.settle(&first, &IntentStatus::Failed, None).await.unwrap();
    let next = begin().await;
    assert_eq!((&next["merchant_reference"], &next["amount"]), (&json!(format!("ORDER-{id}.1")), &json!("45000")));
    database.remember(&second).await.unwrap();
    database.settle(&first, &IntentStatus::Succeeded, None).await.unwrap();
    assert_eq!(begin().await, sent, "what was sent for it, and not the payment that is open");
    database.remember(&first).await.unwrap();
    database.settle(&second, &IntentStatus::Canceled, None).await.unwrap();
    assert_eq!(begin().await, sent);
    let order = database.order(&id, "awa").await.unwrap().unwrap().to_json();
    assert_eq!((&order["payment_ref"], &order["total"]), (&json!("gch_pi_1"), &json!("40000")));
}

async fn another_owners_payment_is_answered_like_an_unknown_order(world: World) {
    let database = &world.seller.database;
    let of_awa = sold("pi_1", "ORDER-1", "awa");
    database.remember(&of_awa).await.unwrap();
    for status in [None, Some(IntentStatus::Failed), Some(IntentStatus::Succeeded)] {
        if let Some(status) = status {
            database.settle(&of_awa, &status, None).await.unwrap();
        }
        let refused =
            database.count_open(&Buyer::customer("paul").owner, &of_awa.merchant_reference).await.unwrap_err();
        assert_eq!((refused.status(), refused.code()), (404, "order_missing"));
        assert_eq!(database.count_open(&of_awa.owner, &of_awa.merchant_reference).await.unwrap(), 0);
    }
}

async fn a_claim_takes_each_owners_first_payment_then_those_returned_to_and_the_youngest(world: World) {
    let database = &world.seller.database;
    for number in 10..30 {
        let owner = match number {
            10 => "paul",
            11 => "fatou",
            _ => "awa",
        };
        database.remember(&sold(&format!("pi_{number}"), &format!("ORDER-{number}"), owner)).await.unwrap();
    }
    world.execute("UPDATE payments SET created_at = CAST(substr(merchant_reference, 7) AS BIGINT)").await;
    for number in [13, 14] {
        let payment_ref = PaymentRef::new(format!("gch_pi_{number}")).unwrap();
        let (awa, paul) = (Buyer::customer("awa").owner, Buyer::customer("paul").owner);
        assert_eq!(database.returned_to(&payment_ref, &paul).await.unwrap(), None, "of another customer");
        assert!(database.returned_to(&payment_ref, &awa).await.unwrap().is_some());
    }
    let claim = async || {
        let claimed = database.claim().await.unwrap();
        let mut references: Vec<_> = claimed.iter().map(|one| one.sold.merchant_reference.to_string()).collect();
        references.sort_unstable();
        references.join(" ").replace("ORDER-", "")
    };
    assert_eq!(claim().await, "10 11 13 14 26 27 28 29");
    assert_eq!(claim().await, "18 19 20 21 22 23 24 25");
    assert_eq!(claim().await, "12 15 16 17");
    assert_eq!(claim().await, "", "none is due for a minute");
    world.pass(61.0).await;
    assert_eq!(claim().await, "10 11 13 14 26 27 28 29", "the server that claimed them was killed");
}

async fn another_customers_payment_is_settled_within_two_rounds_beside_a_thousand_open_ones(world: World) {
    let paul = Visitor::sign_in(&world.serve().await, "paul").await;
    let id = paul.place(1).await;
    world.attach(&intent_of(&paul.ticket(&id).await), PAYS).await;
    // Those of Awa are older and younger. The service knows none of them.
    let of_awa = "INSERT INTO payments (payment_ref, merchant_reference, owner, sold, created_at) \
                  WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000) \
                  SELECT 'gch_pi_' || n, 'ORDER-' || n, 'customer:awa', replace($1, 'pi_n', 'pi_' || n), \
                  unixepoch('subsec') + n - 500 FROM numbers";
    let text = serde_json::to_string(&sold("pi_n", "ORDER-n", "awa")).unwrap();
    world.rows_of(query(of_awa).bind(text)).await;
    for _ in 0..2 {
        assert_eq!(round(&world.client, &world.seller, EVERY).await.unwrap(), 8);
    }
    assert_eq!(paul.status(&id).await, "paid");
    let Sold { owner, merchant_reference, .. } = sold("pi_1001", "ORDER-1001", "awa");
    let open = world.seller.open_payments(&owner, &merchant_reference).await.unwrap();
    assert_eq!(open, 985, "fifteen others were read, which the service does not have");
}

async fn a_payment_is_read_for_a_day_after_its_final_status_and_once_more(world: World) {
    let database = &world.seller.database;
    let sold = sold("pi_1", "ORDER-1", "awa");
    database.remember(&sold).await.unwrap();
    let read = async |ask_again| {
        if ask_again == AskAgain::ForADay {
            database.settle(&sold, &IntentStatus::Failed, None).await.unwrap();
        }
        let claimed = database.claim().await.unwrap();
        let pause = pause(&claimed[0], ask_again, EVERY);
        database.release(&claimed[0].sold.payment_ref, pause).await.unwrap();
        let next = world.rows_of(query("SELECT read_at - unixepoch('subsec') FROM payments")).await;
        next[0].get::<Option<f64>, _>(0).map(|seconds| seconds.round() as i64)
    };
    assert_eq!(read(AskAgain::Soon).await, Some(5));
    world.pass(31.0 * 60.0).await;
    assert_eq!(read(AskAgain::Soon).await, Some(30));
    world.pass(60.0).await;
    assert_eq!(read(AskAgain::ForADay).await, Some(60));
    world.pass(23.0 * 60.0 * 60.0).await;
    assert_eq!(read(AskAgain::ForADay).await, Some(60));
    world.pass(2.0 * 60.0 * 60.0).await;
    assert_eq!(read(AskAgain::ForADay).await, None);
}
