//! The application's own reqwest has TLS, and so has guichet's client.

use guichet::{Client, SecretKey};

#[test]
fn an_own_reqwest_client_can_be_built() {
    drop(reqwest::Client::new());
    let key = SecretKey::new("sk_test_1").expect("a key");
    Client::builder("https://api.example.com", key).build().expect("a client");
    drop(reqwest::Client::new());
}
