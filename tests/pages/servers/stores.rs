//! The store in PostgreSQL of guichet-server, on two servers at once, of which one is killed.
//! `tests/shop/ledger-stores.mjs` has what each store keeps; the other tests of `servers.rs` kill the server on
//! Express, whose store is SQLite.

use super::running::{self, Server, Visitor};
use super::{AWA, SUCCEEDS, World, creations, every_rule_of_the_check_passes};
use crate::support::postgres::PostgresServer;
use crate::support::wait::until;
use futures_util::future::join_all;
use guichet::operations::CreatePaymentIntent;
use guichet_sandbox::Fault;
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn an_order_is_paid_once_on_two_servers_of_which_one_is_killed() {
    let mut world = World::open(Server::Postgres).await;
    let other = world.shop.beside().await;
    let (awa, there) = (Visitor::signed_in(&world.shop, AWA).await, Visitor::signed_in(&other, AWA).await);
    let baskets: Vec<String> = (0..12).map(|basket| basket.to_string()).collect();

    // The same orders at the same time on both, the last of them while the service waits.
    let begun = join_all(baskets.iter().map(|basket| awa.order(basket)));
    let (begun, again) = tokio::join!(begun, join_all(baskets.iter().map(|basket| there.order(basket))));
    for (one, two) in begun.iter().zip(&again) {
        assert_eq!((one.status, &one.text), (200, &two.text));
    }
    let sent = creations(&world.merchant).await.len();
    world.merchant.tenant.fault(Fault::delay::<CreatePaymentIntent>(Duration::from_secs(30))).await;
    let kill = async {
        let waiting = Instant::now();
        while creations(&world.merchant).await.len() == sent {
            assert!(waiting.elapsed() < Duration::from_secs(20), "no payment is created");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        world.shop.kill();
    };
    let (unanswered, ()) = tokio::join!(awa.try_order("12"), kill);
    assert!(unanswered.is_err(), "{unanswered:?}");
    assert_eq!(there.order("12").await.status, 200);
    assert_eq!(world.intents().await.len(), 13);

    // Payments of which no page asks. A server is killed while one of them settles.
    world.shop.restart().await;
    for paid in &begun {
        world.pay(&paid.body, SUCCEEDS).await;
    }
    until("an order is paid", async || world.shop.count(" is paid.") + other.count(" is paid.") > 0).await;
    world.shop.kill();
    let paid = async || there.request("GET", "/paid", None, &[]).await.text;
    let all: Vec<&str> =
        begun.iter().map(|begun| begun.body["intent"]["merchant_reference"].as_str().expect("a reference")).collect();
    until("every order is paid", async || paid().await.lines().count() == all.len()).await;
    for reference in all {
        let line = format!("{reference} is paid.");
        assert!(world.shop.count(&line) + other.count(&line) <= 1, "{line}");
    }
    assert_eq!(other.count("a refund of ") + world.shop.count("a refund of "), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn a_customer_has_at_most_20_open_payments_on_two_servers() {
    let world = World::open(Server::Postgres).await;
    let other = world.shop.beside().await;
    let visitors = [Visitor::signed_in(&world.shop, AWA).await, Visitor::signed_in(&other, AWA).await];
    let baskets: Vec<String> = (0..24).map(|basket| basket.to_string()).collect();
    let replies = join_all(baskets.iter().zip(visitors.iter().cycle()).map(|(basket, awa)| awa.order(basket))).await;
    let refused: Vec<_> = replies.iter().filter(|reply| reply.status != 200).collect();
    assert!(refused.len() == 4 && refused.iter().all(|reply| reply.code() == "too_many_open_payments"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs files that `cargo xtask test` builds"]
async fn every_rule_of_the_check_passes_on_postgresql() {
    every_rule_of_the_check_passes(Server::Postgres).await;
}

#[test]
#[ignore = "needs files that `cargo xtask test` builds"]
fn the_stores_of_the_ledger_in_javascript_keep_its_contract() {
    running::run_in_node("ledger-stores.mjs", &PostgresServer::shared().create_database());
}
