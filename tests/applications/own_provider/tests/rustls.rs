//! The application chooses the provider, for itself and for guichet.

use guichet::{Client, SecretKey};

fn client() -> Result<Client, guichet::protocol::Error> {
    let key = SecretKey::new("sk_test_1").expect("a key");
    Client::builder("https://api.example.com", key).build()
}

#[test]
fn guichet_requires_and_uses_the_installed_provider() {
    let error = client().expect_err("no provider is installed");
    assert!(error.message().contains("install_default()"), "{error}");

    // With two providers compiled in, this would panic. guichet adds none.
    drop(rustls::ClientConfig::builder());
    client().expect("a client");
}
