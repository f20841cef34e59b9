//! The stores of sessions have TLS, and the application's own rustls goes on working.
#![allow(clippy::disallowed_methods, reason = "the servers of the tests are waited for")]

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../../support/database_process.rs"]
mod database_process;
#[path = "../../../support/port.rs"]
mod port;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../../support/postgres.rs"]
mod postgres;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../../support/redis.rs"]
mod redis;
#[path = "../../sessions.rs"]
mod sessions;

use guichet::{Client, SecretKey};

#[tokio::test]
async fn the_stores_of_sessions_have_tls() {
    let key = SecretKey::new("sk_test_1").expect("a key");
    let client = Client::builder("https://api.example.com", key).build().expect("a client");
    sessions::keep_in_postgres(&client).await.expect("a store");
    sessions::keep_in_redis(&client).await.expect("a store");
    drop(rustls::ClientConfig::builder());
}
