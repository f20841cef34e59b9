//! The application's own rustls has one provider and finds it.

use guichet::{Client, SecretKey};

#[test]
fn an_own_rustls_config_can_be_built() {
    let key = SecretKey::new("sk_test_1").expect("a key");
    Client::builder("https://api.example.com", key).build().expect("a client");
    drop(rustls::ClientConfig::builder());
}
