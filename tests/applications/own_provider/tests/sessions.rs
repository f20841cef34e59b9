//! The stores of sessions have TLS too, with the provider that the application has installed. Two are compiled in: sqlx
//! brings aws-lc-rs for its own connections.
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
async fn the_stores_of_sessions_require_and_use_the_installed_provider() {
    let key = || SecretKey::new("sk_test_1").expect("a key");
    Client::builder("https://api.example.com", key()).build().expect_err("no provider is installed");

    rustls::crypto::ring::default_provider().install_default().expect("guichet has installed none");
    let client = Client::builder("https://api.example.com", key()).build().expect("a client");
    sessions::keep_in_postgres(&client).await.expect("a store");
    sessions::keep_in_redis(&client).await.expect("a store");
    drop(rustls::ClientConfig::builder());
}
