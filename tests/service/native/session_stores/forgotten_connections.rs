//! Connections that a network forgets: neither end is notified, and no packet arrives.

use super::{client, session};
use crate::support::nat::Nat;
use crate::support::postgres::PostgresServer;
use crate::support::redis::RedisServer;
use crate::support::wait::until;
use guichet::native::{KeepResult, SessionStore};
use guichet_sessions::sqlx::postgres::PgPoolOptions;
use guichet_sessions::{PostgresSessions, RedisSessions};
use std::time::Duration;
use tokio::sync::watch;

/// Steps at the same time: more than a store has connections.
const STEPS: usize = 64;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_on_redis_replaces_a_forgotten_connection_within_a_step() {
    let server = RedisServer::shared().url().replace("redis://", "");
    let nat = Nat::start(server.parse().expect("an address")).await;
    let store = RedisSessions::connect(&format!("redis://{}", nat.address()), &client()).await.expect("Redis");
    read_at_once(&store).await;
    assert_eq!(nat.accepted(), 1, "the steps share a connection");
    for forgotten in 1..=2 {
        nat.forget().await;
        read_at_once(&store).await;
        assert_eq!(nat.accepted(), 1 + forgotten, "one new connection for all steps");
    }
    nat.forget().await;
    let kept = store.keep("forgotten", &session("forgotten-1"), None).await.expect("an answer");
    assert_eq!(kept, KeepResult::Stored);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_on_postgresql_replaces_forgotten_connections_within_a_step() {
    let (nat, url) = before_postgresql().await;
    let store = PostgresSessions::connect(&url, &client()).await.expect("PostgreSQL");
    read_at_once(&store).await;
    assert!(nat.accepted() > 2, "the steps have connections of their own");
    // The first step takes only one of the forgotten connections, and the second takes none.
    nat.forget().await;
    let kept = store.keep("login", &session("forgotten-1"), None).await.expect("an answer");
    assert_eq!(kept, KeepResult::Stored);
    let read = tokio::time::timeout(Duration::from_millis(1500), store.newest("login")).await.expect("at once");
    assert_eq!(read.expect("an answer"), Some(session("forgotten-1")));
    nat.forget().await;
    read_at_once(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_on_postgresql_replaces_connections_that_are_forgotten_in_use() {
    let (nat, url) = before_postgresql().await;
    let store = PostgresSessions::connect(&url, &client()).await.expect("PostgreSQL");
    let (stop, stopped) = watch::channel(false);
    let customers: Vec<_> = (0..16)
        .map(|_| {
            let (store, stopped) = (store.clone(), stopped.clone());
            tokio::spawn(async move {
                while !*stopped.borrow() {
                    assert!(!store.has_ended(&session("forgotten-1").token).await.expect("an answer"));
                }
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    nat.forget().await;
    // Until the steps over forgotten connections have been repeated.
    tokio::time::sleep(Duration::from_secs(3)).await;
    stop.send_replace(true);
    for customer in customers {
        customer.await.expect("each step has succeeded");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_on_the_applications_own_pool_replaces_a_forgotten_connection_within_a_step() {
    let (nat, url) = before_postgresql().await;
    for tests_before_use in [false, true] {
        let pool = PgPoolOptions::new().max_connections(2).test_before_acquire(tests_before_use);
        let pool = pool.connect(&url).await.expect("a pool");
        let store = PostgresSessions::builder(&client()).pool(pool.clone()).await.expect("PostgreSQL");
        for _ in 0..4 {
            // sqlx's pool tests a connection after its use, too, and would wait for the reply without a limit.
            until("every connection is idle", async || pool.num_idle() > 0 && pool.num_idle() == pool.size() as usize)
                .await;
            nat.forget().await;
            assert!(!store.has_ended(&session("forgotten-1").token).await.expect("an answer"));
        }
    }
}

/// A new database behind a network that forgets, and its address there.
async fn before_postgresql() -> (Nat, String) {
    let url = PostgresServer::shared().create_database();
    let direct = format!("127.0.0.1:{}", PostgresServer::shared().port());
    let nat = Nat::start(direct.parse().expect("an address")).await;
    let url = url.replace(&direct, &nat.address().to_string());
    (nat, url)
}

/// Takes many steps at once. Each succeeds within its own time limit.
async fn read_at_once(store: &(impl SessionStore + Clone)) {
    let steps: Vec<_> = (0..STEPS)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.has_ended(&session("forgotten-1").token).await })
        })
        .collect();
    for step in steps {
        assert!(!step.await.expect("it ends").expect("an answer"));
    }
}
