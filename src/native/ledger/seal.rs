use crate::native::Client;
use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::{Aead, KeyInit};

/// The length of the nonce, which stands before the encrypted bytes.
const NONCE: usize = 24;

/// Encrypts addresses for the store, so that its readers learn no client secret, by a key that is derived from the secret key.
pub(super) struct Sealer(XChaCha20Poly1305);

impl Sealer {
    pub(super) fn new(client: &Client) -> Self {
        let key = client.derive_key("guichet ledger: addresses");
        Self(XChaCha20Poly1305::new((&*key).into()))
    }

    /// Empty if no random number can be had: then it cannot be opened.
    pub(super) fn seal(&self, address: &str) -> String {
        let mut nonce = [0; NONCE];
        let sealed =
            getrandom::fill(&mut nonce).ok().and_then(|()| self.0.encrypt(&nonce.into(), address.as_bytes()).ok());
        sealed.map(|sealed| hex::encode([&nonce[..], &sealed].concat())).unwrap_or_default()
    }

    /// None if it was not sealed with this key.
    #[cfg(any(feature = "axum", test))]
    pub(super) fn open(&self, sealed: &str) -> Option<String> {
        let bytes = hex::decode(sealed).ok()?;
        let (nonce, encrypted) = bytes.split_first_chunk::<NONCE>()?;
        String::from_utf8(self.0.decrypt(nonce.into(), encrypted).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SecretKey;

    fn sealer(key: &str) -> Sealer {
        let key = SecretKey::new(key).expect("a key");
        Sealer::new(&Client::builder("http://127.0.0.1:1", key).build().expect("a client"))
    }

    #[test]
    fn a_sealed_address_is_opened_by_its_key_alone() {
        let sealed = sealer("sk_test_1").seal("https://pay.example/#client_secret=1");
        assert!(!sealed.contains("pay"), "{sealed}");
        assert_eq!(sealer("sk_test_1").open(&sealed).as_deref(), Some("https://pay.example/#client_secret=1"));
        assert_eq!(sealer("sk_test_2").open(&sealed), None);
        assert_eq!(sealer("sk_test_1").open(&sealed[..sealed.len() - 2]), None);
        assert_eq!(sealer("sk_test_1").open(""), None);
    }
}
