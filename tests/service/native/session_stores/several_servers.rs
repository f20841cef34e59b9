//! Several servers of one shop with one store.

use super::super::sessions::{count, headers, is_valid, open};
use crate::support::postgres::PostgresServer;
use crate::support::redis::RedisServer;
use guichet::Client;
use guichet::native::{SessionGuard, SessionStore, Sessions};
use guichet::operations::{CreateSession, RevokeSession, ValidateSession};
use guichet::values::Email;
use guichet_sandbox::Fault;
use guichet_sessions::{PostgresSessions, RedisSessions};
use std::sync::Arc;
use std::time::Duration;

/// Runs a check with a store of each kind.
macro_rules! on_every_store {
    ($check:ident) => {
        mod $check {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn in_memory() {
                let store = std::sync::Arc::new(guichet::native::MemoryStore::default());
                super::$check("memory", async |_| store.clone()).await;
            }
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                let url = super::PostgresServer::shared().create_database();
                super::$check("postgres", async |client| super::postgres(&url, client).await).await;
            }
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_redis() {
                super::$check("redis", async |client| super::redis(client).await).await;
            }
        }
    };
}

on_every_store!(concurrent_servers_hand_out_one_token_and_one_session_lives);
on_every_store!(after_a_sign_out_no_server_hands_out_or_admits_a_token);
on_every_store!(a_sign_out_during_a_creation_on_another_server_leaves_no_valid_token);

async fn postgres(url: &str, client: &Client) -> PostgresSessions {
    PostgresSessions::connect(url, client).await.expect("PostgreSQL")
}

async fn redis(client: &Client) -> RedisSessions {
    RedisSessions::connect(&RedisServer::shared().url(), client).await.expect("Redis")
}

async fn concurrent_servers_hand_out_one_token_and_one_session_lives<S: SessionStore>(
    kind: &str,
    connect: impl AsyncFn(&Client) -> S,
) {
    let (sandbox, merchant, client) = open().await;
    let mut servers = Vec::new();
    for _ in 0..4 {
        servers.push(Sessions::with_store(client.clone(), connect(&client).await));
    }
    // Each server creates a session before the first is stored.
    for _ in 0..4 {
        merchant.fault(Fault::delay::<CreateSession>(Duration::from_millis(100))).await.expect("a fault");
    }
    let requests: Vec<_> = (0..32)
        .map(|number| {
            let server = servers[number % servers.len()].clone();
            let login = format!("{kind}-concurrent");
            tokio::spawn(async move { server.get_or_create(&login, &email()).await.expect("a session").token })
        })
        .collect();
    let mut tokens = Vec::new();
    for request in requests {
        tokens.push(request.await.expect("it ends"));
    }
    assert!(tokens.iter().all(|token| *token == tokens[0]), "one token for all servers");
    assert!(is_valid(&client, &tokens[0]).await);
    let (created, revoked) = (count::<CreateSession>(&merchant).await, count::<RevokeSession>(&merchant).await);
    assert!(created > 1, "the servers did not create at the same time, so nothing is tested");
    assert_eq!(created - revoked, 1, "{created} created, {revoked} revoked");
    sandbox.stop().await;
}

async fn after_a_sign_out_no_server_hands_out_or_admits_a_token<S: SessionStore>(
    kind: &str,
    connect: impl AsyncFn(&Client) -> S,
) {
    let (sandbox, merchant, client) = open().await;
    let login = format!("{kind}-sign-out");
    let here = Sessions::with_store(client.clone(), connect(&client).await);
    let there = Sessions::with_store(client.clone(), connect(&client).await);
    let guard = SessionGuard::with_store(client.clone(), connect(&client).await);
    let alone = SessionGuard::new(client.clone());
    let token = here.get_or_create(&login, &email()).await.expect("a session").token;
    for guard in [&guard, &alone] {
        guard.check(&headers(&token)).await.expect("a good token");
    }
    assert_eq!(count::<ValidateSession>(&merchant).await, 2);

    // The service revokes nothing: the store alone says that the token has ended.
    merchant.fault(Fault::status::<RevokeSession>(422)).await.expect("a fault");
    here.sign_out(&login).await.expect_err("it was not revoked");
    let refused = there.get_or_create(&login, &email()).await.expect_err("the login has ended");
    assert_eq!((refused.status(), refused.code()), (401, "authentication_required"));
    let refused = guard.check(&headers(&token)).await.expect_err("the token has ended");
    assert_eq!((refused.status(), refused.code()), (401, "session_revoked"));
    alone.check(&headers(&token)).await.expect("without the store it is good until it is validated again");
    let new = SessionGuard::with_store(client.clone(), connect(&client).await);
    assert_eq!(new.check(&headers(&token)).await.expect_err("it has ended").code(), "session_revoked");

    there.sign_out(&login).await.expect("any server may revoke it");
    assert!(!is_valid(&client, &token).await);
    sandbox.stop().await;
}

async fn a_sign_out_during_a_creation_on_another_server_leaves_no_valid_token<S: SessionStore>(
    kind: &str,
    connect: impl AsyncFn(&Client) -> S,
) {
    let (sandbox, merchant, client) = open().await;
    let login = format!("{kind}-during");
    let here = Sessions::with_store(client.clone(), connect(&client).await);
    let there = Sessions::with_store(client.clone(), connect(&client).await);
    merchant.fault(Fault::delay::<CreateSession>(Duration::from_millis(500))).await.expect("a fault");
    let creating = tokio::spawn({
        let login = login.clone();
        async move { there.get_or_create(&login, &email()).await }
    });
    while count::<CreateSession>(&merchant).await == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    here.sign_out(&login).await.expect("signed out");
    assert_eq!(creating.await.expect("it ends").expect_err("signed out").status(), 401);
    assert_eq!((count::<CreateSession>(&merchant).await, count::<RevokeSession>(&merchant).await), (1, 1));
    sandbox.stop().await;
}

#[tokio::test]
async fn a_guard_whose_store_does_not_answer_admits_nobody_and_recovers() {
    let (sandbox, _, client) = open().await;
    let mut server = RedisServer::start();
    let store = RedisSessions::connect(&server.url(), &client).await.expect("Redis");
    let guard = SessionGuard::with_store(client.clone(), Arc::new(store));
    let token = client.create_session(&email()).await.expect("a session").session_token;
    guard.check(&headers(&token)).await.expect("a good token");
    server.stop();
    let refused = guard.check(&headers(&token)).await.expect_err("the store is down");
    assert_eq!((refused.status(), refused.is_retryable(), refused.retry_after()), (503, true, Some(1)));
    server.run();
    guard.check(&headers(&token)).await.expect("a good token");
    sandbox.stop().await;
}

fn email() -> Email {
    Email::new("awa@example.com").expect("an e-mail")
}
