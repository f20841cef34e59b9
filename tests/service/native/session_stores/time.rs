//! Entries of a database end by themselves.

use super::{REMEMBER_FOR, client, session};
use crate::support::postgres::PostgresServer;
use crate::support::redis::RedisServer;
use guichet::native::{KeepResult, SessionStore};
use guichet_sessions::{PostgresSessions, RedisSessions};

#[tokio::test]
async fn an_entry_of_postgresql_ends_at_its_time_and_a_later_write_deletes_it() {
    let url = PostgresServer::shared().create_database();
    let psql = |sql: &str| PostgresServer::shared().psql(url.rsplit('/').next().expect("a name"), sql);
    let store = PostgresSessions::connect(&url, &client()).await.expect("PostgreSQL");
    store.keep("login-1", &session("time-1"), None).await.expect("an answer");
    store.keep("login-2", &session("time-2"), None).await.expect("an answer");
    store.end("login-2", REMEMBER_FOR).await.expect("an answer");
    for table in ["guichet_logins", "guichet_sessions"] {
        let left = psql(&format!("SELECT extract(epoch FROM expires_at - now()) FROM {table} ORDER BY 1"));
        let left: Vec<f64> = left.lines().map(|seconds| seconds.parse().expect("a number")).collect();
        assert!(ends_in(left[0], 1800.0) && ends_in(left[1], 1830.0), "{table}: {left:?}");
    }

    for table in ["guichet_logins", "guichet_sessions"] {
        psql(&format!("UPDATE {table} SET expires_at = now()"));
    }
    assert_eq!(store.newest("login-1").await.expect("an answer"), None);
    assert!(!store.has_ended(&session("time-2").token).await.expect("an answer"));
    assert_eq!(store.end("login-1", REMEMBER_FOR).await.expect("an answer"), []);
    let kept = store.keep("login-2", &session("time-3"), None).await.expect("an answer");
    assert_eq!(kept, KeepResult::Stored, "its end is forgotten");
    assert_eq!(psql("SELECT count(*) FROM guichet_sessions"), "1");
    assert_eq!(psql("SELECT count(*) FROM guichet_logins"), "2");
}

/// Whether this is what is left of a time, which began a few seconds ago on a busy machine.
fn ends_in(left: f64, of: f64) -> bool {
    (of - 20.0..=of).contains(&left)
}

#[tokio::test]
async fn an_entry_of_redis_ends_at_its_time() {
    let redis = RedisServer::start();
    let store = RedisSessions::connect(&redis.url(), &client()).await.expect("Redis");
    store.keep("login-1", &session("time-1"), None).await.expect("an answer");
    store.keep("login-1", &session("time-2"), Some(&session("time-1").token)).await.expect("an answer");
    store.keep("login-2", &session("time-3"), None).await.expect("an answer");
    store.end("login-2", REMEMBER_FOR).await.expect("an answer");
    let keys = redis.command(&["--scan"]);
    let mut left = Vec::new();
    for key in keys.lines() {
        let milliseconds: f64 = redis.command(&["PTTL", key]).parse().expect("a number");
        left.push(milliseconds / 1000.0);
        redis.command(&["PEXPIRE", key, "1"]);
    }
    left.sort_by(f64::total_cmp);
    let expected = [1800.0, 1830.0, 1830.0, 1830.0];
    assert!(left.len() == 4 && left.iter().zip(expected).all(|(left, of)| ends_in(*left, of)), "{left:?}");
    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    assert_eq!(store.newest("login-1").await.expect("an answer"), None);
    let kept = store.keep("login-2", &session("time-4"), None).await.expect("an answer");
    assert_eq!(kept, KeepResult::Stored, "its end is forgotten");

    // An expired session before the newest one goes too, though the list goes on.
    let key = redis.command(&["--scan"]);
    let entry = redis.command(&["LINDEX", &key, "0"]);
    assert!(entry.chars().take(13).all(|digit| digit.is_ascii_digit()), "{entry}");
    let expired = format!("{}{}expired", "0".repeat(13), "0".repeat(64));
    redis.command(&["LPUSH", &key, &expired]);
    store.keep("login-2", &session("time-5"), Some(&session("time-4").token)).await.expect("an answer");
    assert_eq!(redis.command(&["LLEN", &key]), "2");
}
