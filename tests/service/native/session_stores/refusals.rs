//! A database that refuses the store: no further attempt would change that.

use super::{client, session};
use crate::support::postgres::PostgresServer;
use crate::support::redis::RedisServer;
use guichet::native::SessionStore;
use guichet::protocol::{Error, Kind};
use guichet_sessions::redis;
use guichet_sessions::sqlx::PgPool;
use guichet_sessions::{PostgresSessions, RedisSessions};
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
    let client = client();
    let other = PostgresSessions::builder(&client).owned_by("guichet").connect(&with("shop:hunter1@")).await;
    let refused = at_once(other.expect("the tables exist").newest("login")).await.expect_err("no right");
    assert_eq!((refused.status(), refused.code()), (503, "unavailable"));
    assert_eq!(store.newest("login").await.expect("an answer"), None);
}

#[tokio::test]
async fn an_unencrypted_connection_to_another_host_is_refused_before_it_is_made() {
    for address in ["", "?sslmode=disable", "?sslmode=allow", "?sslmode=prefer", "?application_name=shop"] {
        let url = format!("postgres://shop:hunter2@db.internal/shop{address}");
        let remedy = "Add sslmode=verify-full to its address, or allow it by name: \
            PostgresSessions::builder(&client).allow_unencrypted(\"db.internal\").";
        is_unencrypted(at_once(PostgresSessions::connect(&url, &client())).await, remedy);
        let pool = PgPool::connect_lazy(&url).expect("an address");
        is_unencrypted(at_once(PostgresSessions::builder(&client()).pool(pool)).await, remedy);
    }
    for url in ["redis://shop:hunter2@redis.internal", "valkey://shop:hunter2@redis.internal:6380/1"] {
        let remedy = "Begin its address with rediss://, or allow it by name: \
            RedisSessions::builder(&client).allow_unencrypted(\"redis.internal\").";
        is_unencrypted(at_once(RedisSessions::connect(url, &client())).await, remedy);
        let redis = redis::Client::open(url).expect("an address");
        is_unencrypted(at_once(RedisSessions::builder(&client()).client(redis)).await, remedy);
    }
    let unverified = at_once(RedisSessions::connect("rediss://shop:hunter2@redis.internal/#insecure", &client())).await;
    is_unencrypted(unverified, "give RedisSessions::builder(&client).client(…) a client with its certificate.");
}

#[tokio::test]
async fn an_unencrypted_connection_to_a_named_host_is_made() {
    // A name of this machine that does not look like one.
    let name = "127.1";
    let (on_postgres, on_redis) = (PostgresServer::shared().create_database(), RedisServer::shared().url());
    let [on_postgres, on_redis] = [on_postgres, on_redis].map(|url| url.replace("127.0.0.1", name));
    let client = client();
    let refused = PostgresSessions::builder(&client).allow_unencrypted("db.internal").connect(&on_postgres).await;
    is_unencrypted(refused, "allow_unencrypted(\"127.1\").");
    let builder = PostgresSessions::builder(&client).allow_unencrypted("db.internal").allow_unencrypted(name);
    builder.clone().connect(&on_postgres).await.expect("it is named");
    builder.pool(PgPool::connect_lazy(&on_postgres).expect("an address")).await.expect("it is named");

    let refused = RedisSessions::builder(&client).allow_unencrypted("redis.internal").connect(&on_redis).await;
    is_unencrypted(refused, "allow_unencrypted(\"127.1\").");
    let builder = RedisSessions::builder(&client).allow_unencrypted(name);
    builder.clone().connect(&on_redis).await.expect("it is named");
    builder.client(redis::Client::open(on_redis).expect("an address")).await.expect("it is named");
}

#[tokio::test]
async fn a_table_that_another_role_owns_is_refused_unless_the_shop_names_its_owner() {
    let server = PostgresServer::shared();
    let url = server.create_database();
    let name = url.rsplit('/').next().expect("a database");
    server.psql(name, "CREATE ROLE shop_1 LOGIN; CREATE ROLE planter; GRANT ALL ON SCHEMA public TO shop_1, planter");
    let plant = "SET ROLE shop_1; CREATE TABLE guichet_logins (); SET ROLE planter; CREATE TABLE guichet_sessions (login bytea); \
        CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; \
        CREATE TRIGGER planted BEFORE INSERT ON guichet_sessions EXECUTE FUNCTION planted()";
    server.psql(name, plant);
    let url = url.replace("guichet@", "shop_1@");
    let pool = PgPool::connect(&url).await.expect("PostgreSQL");
    let planted = [
        at_once(PostgresSessions::connect(&url, &client())).await,
        at_once(PostgresSessions::builder(&client()).pool(pool)).await,
    ];
    for refused in planted {
        let error = refused.expect_err("another role owns it");
        assert_eq!(error.kind(), Kind::Input, "{error}");
        let expected = "The table guichet_sessions belongs to the role planter, whose triggers would run with the rights of shop_1. If planter \
            creates the shop's tables, name it: PostgresSessions::builder(&client).owned_by(\"planter\"). Otherwise drop the table: the store \
            creates its own.";
        assert_eq!(error.message(), expected);
    }

    server.psql(name, "DROP TABLE guichet_logins, guichet_sessions");
    PostgresSessions::connect(&url, &client()).await.expect("the tables are its own");
    let tables = "guichet_logins, guichet_sessions";
    for table in tables.split(", ") {
        server.psql(name, &format!("ALTER TABLE {table} OWNER TO planter"));
    }
    server.psql(name, &format!("GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO shop_1"));
    let client = client();
    let another = PostgresSessions::builder(&client).owned_by("guichet").connect(&url).await;
    assert_eq!(another.expect_err("another role is named").kind(), Kind::Input);
    let store = PostgresSessions::builder(&client).owned_by("planter").connect(&url).await.expect("it is named");
    store.keep("login", &session("owner"), None).await.expect("it has the rights");
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

fn is_unencrypted<T: Debug>(result: Result<T, Error>, remedy: &str) {
    let error = result.expect_err("it would not be encrypted");
    assert_eq!(error.kind(), Kind::Input, "{error}");
    assert!(error.message().ends_with(remedy), "{error}");
    assert!(!format!("{error} {error:?}").contains("hunter"), "{error:?}");
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
