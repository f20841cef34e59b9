//! A database that refuses the store: no further attempt would change that.

use super::{client, session};
use crate::support::postgres::PostgresServer;
use crate::support::redis::RedisServer;
use guichet::native::{PostgresSessions, RedisSessions, SessionStore};
use guichet::protocol::{Error, Kind};
use std::fmt::Debug;
use std::time::Duration;

/// Less than the time for which the stores repeat a step.
const AT_ONCE: Duration = Duration::from_secs(4);

#[tokio::test]
async fn redis_that_refuses_the_password_is_not_asked_again() {
    let server = RedisServer::start();
    assert_eq!(server.command(&["CONFIG", "SET", "requirepass", "hunter1"]), "OK");
    let with = |credentials: &str| server.url().replace("redis://", &format!("redis://{credentials}"));
    let store = RedisSessions::connect(&with(":hunter1@"), &client()).await.expect("the password is right");
    for wrong in ["", ":hunter2@", "shop:hunter2@", "shop:hunter1@"] {
        let error = at_once(RedisSessions::connect(&with(wrong), &client())).await;
        refuses(error, "Check the user and the password in its address.");
    }
    let url = format!("{}?protocol=resp3", with(":hunter2@"));
    refuses(at_once(RedisSessions::connect(&url, &client())).await, "Check the user and the password in its address.");

    // The password changes while a shop runs.
    server.command(&["-a", "hunter1", "CONFIG", "SET", "requirepass", "hunter3"]);
    server.command(&["-a", "hunter3", "CLIENT", "KILL", "TYPE", "normal"]);
    let refused = at_once(store.newest("login")).await.expect_err("the password is wrong by now");
    assert_eq!((refused.status(), refused.code()), (503, "unavailable"));
}

#[tokio::test]
async fn redis_that_grants_no_right_is_not_asked_again() {
    let server = RedisServer::start();
    assert_eq!(server.command(&["ACL", "SETUSER", "shop", "on", ">hunter2", "~shop:*", "+@all"]), "OK");
    let url = server.url().replace("redis://", "redis://shop:hunter2@");
    let error = at_once(RedisSessions::connect(&url, &client())).await;
    refuses(error, "Give its user all commands on the keys that begin with `guichet:`.");
}

#[tokio::test]
async fn postgresql_that_refuses_the_user_or_the_database_is_not_asked_again() {
    let server = PostgresServer::start(&["fsync=off"]);
    let url = server.create_database();
    let store = PostgresSessions::connect(&url, &client()).await.expect("PostgreSQL");
    server.psql("postgres", "CREATE ROLE shop LOGIN PASSWORD 'hunter1'");
    let rules = "host all shop 127.0.0.1/32 scram-sha-256\nhost all guichet 127.0.0.1/32 trust\n";
    std::fs::write(server.data().join("pg_hba.conf"), rules).expect("the rules can be written");
    server.psql("postgres", "SELECT pg_reload_conf()");
    let with = |credentials: &str| url.replace("guichet@", credentials);

    let credentials = "Check the user and the password in its address.";
    for wrong in ["shop:hunter2@", "stranger:hunter2@"] {
        refuses(at_once(PostgresSessions::connect(&with(wrong), &client())).await, credentials);
    }
    let missing = url.replace("test_0", "missing");
    let error = at_once(PostgresSessions::connect(&missing, &client())).await;
    refuses(error, "Create the database, or correct its name in the address.");
    let rights = "Let its user create tables, or grant it the tables guichet_logins and guichet_sessions.";
    server.psql("postgres", "CREATE DATABASE another");
    let another = with("shop:hunter1@").replace("test_0", "another");
    refuses(at_once(PostgresSessions::connect(&another, &client())).await, rights);

    // The user may not read the tables that another one has created.
    let other = PostgresSessions::connect(&with("shop:hunter1@"), &client()).await;
    let refused = at_once(other.expect("the tables exist").newest("login")).await.expect_err("no right");
    assert_eq!((refused.status(), refused.code()), (503, "unavailable"));
    assert_eq!(store.newest("login").await.expect("an answer"), None);
}

#[tokio::test]
async fn an_unknown_parameter_of_an_address_is_refused_without_its_value() {
    for (parameters, named) in [
        (
            "?passwrod=hunter2",
            "Unknown parameter `passwrod` in the address of the PostgreSQL database. Did you mean `password`?",
        ),
        ("?sslmode=require&channel_binding=hunter2", "`channel_binding`"),
        ("?sslmode=hunter2", "sslmode"),
        ("?options[search_path=hunter2", "`options[search_path`"),
        // A password with a character that must be escaped.
        ("?password=hun&ter2", "%26"),
        ("?hunter2@127.0.0.1/d", "%3F"),
    ] {
        let url = format!("postgres://127.0.0.1:1/d{parameters}");
        let error = at_once(PostgresSessions::connect(&url, &client())).await.expect_err(parameters);
        assert_eq!(error.kind(), Kind::Input, "{parameters}: {error}");
        assert!(error.to_string().contains(named), "{parameters}: {error}");
        assert!(!format!("{error} {error:?}").contains("ter2"), "{error:?}");
    }
    let url = PostgresServer::shared().create_database();
    let url = format!("{url}?sslmode=prefer&options[statement_timeout]=4s&application_name=shop");
    let store = PostgresSessions::connect(&url, &client()).await.expect("these are known");
    assert!(!store.has_ended(&session("parameters").token).await.expect("an answer"));
}

async fn at_once<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(AT_ONCE, work).await.expect("it does not wait")
}

fn refuses<T: Debug>(result: Result<T, Error>, remedy: &str) {
    let error = result.expect_err("it refuses");
    assert_eq!(error.kind(), Kind::Offline, "{error}");
    assert!(error.to_string().ends_with(remedy), "{error}");
    assert!(!format!("{error} {error:?}").contains("hunter"), "{error:?}");
}
