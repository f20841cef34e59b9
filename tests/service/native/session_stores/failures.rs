//! A database that is down, silent, started again, or new to several servers at once.

use super::{REMEMBER_FOR, client, session};
use crate::support::postgres::PostgresServer;
use crate::support::redis::RedisServer;
use guichet::native::{Refused, SessionStore};
use guichet::protocol::{Error, Kind};
use guichet_sessions::{PostgresSessions, RedisSessions};
use std::fmt::Debug;
use std::time::{Duration, Instant};

/// Twice the stores' own time limit: the machine may be busy.
const BOUND: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_that_is_down_is_a_retryable_error_and_it_recovers_by_itself() {
    let mut server = PostgresServer::start(&["fsync=off"]);
    let url = server.create_database();
    let store = PostgresSessions::connect(&url, &client()).await.expect("PostgreSQL");
    store.keep("login", &session("down"), None).await.expect("an answer");

    server.stop();
    each_step_is_unavailable(&store).await;
    let error = PostgresSessions::connect(&url.replace("guichet@", "guichet:hunter2@"), &client()).await;
    is_offline_without_secrets(error);
    server.run();
    assert_eq!(store.newest("login").await.expect("it is up"), Some(session("down")));

    // A step that meets a restart waits for its end.
    let reading = tokio::spawn({
        let store = store.clone();
        server.kill();
        async move { store.newest("login").await }
    });
    server.run();
    assert_eq!(reading.await.expect("it ends").expect("it is up"), Some(session("down")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_that_is_down_is_a_retryable_error_and_it_recovers_by_itself() {
    let mut server = RedisServer::start();
    let store = RedisSessions::connect(&server.url(), &client()).await.expect("Redis");
    store.keep("login", &session("down"), None).await.expect("an answer");

    server.stop();
    each_step_is_unavailable(&store).await;
    let error = RedisSessions::connect(&server.url().replace("redis://", "redis://:hunter2@"), &client()).await;
    is_offline_without_secrets(error);
    server.run();
    assert_eq!(store.newest("login").await.expect("it is up"), None, "the test's server keeps nothing");
    store.keep("login", &session("down"), None).await.expect("an answer");

    let reading = tokio::spawn({
        let store = store.clone();
        server.stop();
        async move { store.has_ended(&session("down").token).await }
    });
    server.run();
    assert!(!reading.await.expect("it ends").expect("it is up"));
}

#[tokio::test]
async fn a_silent_database_is_given_up() {
    // It accepts connections, because the system does, and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = silent.local_addr().expect("an address");
    let begun = Instant::now();
    let (postgres, redis) = (format!("postgres://u:hunter2@{address}/d"), format!("redis://:hunter2@{address}"));
    let client = client();
    let (on_postgres, on_redis) =
        tokio::join!(PostgresSessions::connect(&postgres, &client), RedisSessions::connect(&redis, &client));
    assert!(begun.elapsed() < BOUND, "{:?}", begun.elapsed());
    is_offline_without_secrets(on_postgres);
    is_offline_without_secrets(on_redis);
}

#[tokio::test]
async fn an_address_that_cannot_be_parsed_is_not_repeated() {
    for url in
        ["postgres://user:hunter2@host:port/d", "postgres://user:hunter2@host/d?sslmode=perhaps", "user:hunter2@host"]
    {
        let error = PostgresSessions::connect(url, &client()).await.expect_err(url);
        assert_eq!(error.kind(), Kind::Input, "{url}");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
    for url in ["redis://user:hunter2@host:port", "user:hunter2@host", "http://user:hunter2@host"] {
        let error = RedisSessions::connect(url, &client()).await.expect_err(url);
        assert_eq!(error.kind(), Kind::Input, "{url}");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
}

#[tokio::test]
async fn eight_servers_start_at_once_on_a_new_database() {
    let url = PostgresServer::shared().create_database();
    let starts: Vec<_> = (0..8)
        .map(|_| {
            let url = url.clone();
            tokio::spawn(async move { PostgresSessions::connect(&url, &client()).await })
        })
        .collect();
    for start in starts {
        start.await.expect("it ends").expect("the tables are there");
    }
}

async fn each_step_is_unavailable(store: &(impl SessionStore + Clone)) {
    let (one, two) = (session("down"), session("down-2"));
    let begun = Instant::now();
    let results = tokio::join!(
        store.newest("login"),
        store.keep("login", &two, Some(&one.token)),
        store.end("login-2", REMEMBER_FOR),
        store.forget("login-2", &two.token),
        store.has_ended(&one.token),
    );
    assert!(begun.elapsed() < BOUND, "{:?}", begun.elapsed());
    is_unavailable(results.0);
    is_unavailable(results.1);
    is_unavailable(results.2);
    is_unavailable(results.3);
    is_unavailable(results.4);
}

fn is_unavailable<T: Debug>(result: Result<T, Refused>) {
    let refused = result.expect_err("the database is down");
    assert_eq!((refused.status(), refused.code(), refused.is_retryable()), (503, "unavailable", true));
    assert_eq!(refused.retry_after(), Some(1));
}

fn is_offline_without_secrets<T: Debug>(result: Result<T, Error>) {
    let error = result.expect_err("no database answers");
    assert_eq!(error.kind(), Kind::Offline, "{error}");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
}
