//! What stands in the database, and what another secret key reads of it.

use super::{REMEMBER_FOR, client, client_with, session};
use crate::support::postgres::PostgresServer;
use crate::support::redis::RedisServer;
use guichet::SecretKey;
use guichet::native::{KeepResult, SessionStore};
use guichet_sessions::{PostgresSessions, RedisSessions};

#[tokio::test]
async fn no_token_login_or_email_can_be_read_in_the_database() {
    let (url, redis) = (PostgresServer::shared().create_database(), RedisServer::start());
    let database = url.rsplit('/').next().expect("a name");
    let on_postgres = PostgresSessions::connect(&url, &client()).await.expect("PostgreSQL");
    let on_redis = RedisSessions::connect(&redis.url(), &client()).await.expect("Redis");
    keep_some(&on_postgres).await;
    keep_some(&on_redis).await;

    let rows = |table| PostgresServer::shared().psql(database, &format!("SELECT {table}::text FROM {table}"));
    let sealed =
        "SELECT encode(login, 'escape'), encode(token, 'escape'), encode(sealed, 'escape') FROM guichet_sessions";
    let (logins, sessions) = (rows("guichet_logins"), rows("guichet_sessions"));
    assert_eq!((logins.lines().count(), sessions.lines().count()), (2, 3), "{logins} {sessions}");
    let mut shown = [logins, sessions, PostgresServer::shared().psql(database, sealed)].join("\n");
    let keys = redis.command(&["--scan"]);
    assert_eq!(keys.lines().count(), 4, "two lists, an ended login and its ended token: {keys}");
    for key in keys.lines() {
        let entries =
            if key.contains(":sessions:") { redis.command(&["LRANGE", key, "0", "-1"]) } else { String::new() };
        shown.extend(["\n", key, " ", &entries]);
    }
    for secret in ["cst_test", "secret-", "cookie-", "awa@", "example.com", "1795257000"] {
        assert!(!shown.contains(secret), "{secret} can be read: {shown}");
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert!(!shown.contains(&hex), "{secret} can be read: {shown}");
    }
    let printed = format!("{on_postgres:?} {on_redis:?}");
    assert!(!printed.contains("guichet@") && !printed.contains("127.0.0.1"), "{printed}");
}

async fn keep_some(store: &impl SessionStore) {
    let [one, two, three] = ["secret-1", "secret-2", "secret-3"].map(session);
    store.keep("cookie-1", &one, None).await.expect("an answer");
    store.keep("cookie-1", &two, Some(&one.token)).await.expect("an answer");
    store.keep("cookie-2", &three, None).await.expect("an answer");
    store.end("cookie-2", REMEMBER_FOR).await.expect("an answer");
}

#[tokio::test]
async fn with_another_secret_key_the_stored_sessions_count_as_absent() {
    async fn check(before: impl SessionStore, after: impl SessionStore) {
        let (old, new) = (session("key-1"), session("key-2"));
        before.keep("key", &old, None).await.expect("an answer");
        assert_eq!(after.newest("key").await.expect("an answer"), None);
        assert_eq!(after.keep("key", &new, None).await.expect("an answer"), KeepResult::Stored);
        assert_eq!(after.newest("key").await.expect("an answer"), Some(new));
        assert_eq!(before.newest("key").await.expect("an answer"), Some(old.clone()), "each has its own");
        before.end("key", REMEMBER_FOR).await.expect("an answer");
        assert!(after.has_ended(&old.token).await.expect("an answer"), "whatever the key, an ended token is known");
    }
    let other = client_with(SecretKey::new("sk_test_another").expect("a key"));
    let url = PostgresServer::shared().create_database();
    let (before, after) =
        (PostgresSessions::connect(&url, &client()).await, PostgresSessions::connect(&url, &other).await);
    check(before.expect("PostgreSQL"), after.expect("PostgreSQL")).await;
    let url = RedisServer::shared().url();
    let (before, after) = (RedisSessions::connect(&url, &client()).await, RedisSessions::connect(&url, &other).await);
    check(before.expect("Redis"), after.expect("Redis")).await;
}

#[tokio::test]
async fn a_damaged_session_counts_as_absent_and_is_replaced() {
    async fn check(store: impl SessionStore, damage: impl FnOnce()) {
        let (old, new) = (session("damaged-1"), session("damaged-2"));
        store.keep("damaged", &old, None).await.expect("an answer");
        damage();
        assert_eq!(store.newest("damaged").await.expect("an answer"), None);
        assert_eq!(store.keep("damaged", &new, None).await.expect("an answer"), KeepResult::Stored);
        assert_eq!(store.newest("damaged").await.expect("an answer"), Some(new.clone()));
        assert_eq!(store.end("damaged", REMEMBER_FOR).await.expect("an answer"), [new]);
    }
    let url = PostgresServer::shared().create_database();
    let database = url.rsplit('/').next().expect("a name");
    let damage = || drop(PostgresServer::shared().psql(database, r"UPDATE guichet_sessions SET sealed = '\x00'"));
    check(PostgresSessions::connect(&url, &client()).await.expect("PostgreSQL"), damage).await;

    let redis = RedisServer::start();
    let store = RedisSessions::connect(&redis.url(), &client()).await.expect("Redis");
    let damage = || {
        let key = redis.command(&["--scan"]);
        let entry = format!("{}{}damaged", "9".repeat(13), "0".repeat(64));
        assert_eq!(redis.command(&["LSET", &key, "0", &entry]), "OK");
    };
    check(store, damage).await;
}
