use crate::SecretKey;
use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::{Aead, KeyInit};

/// The length of the nonce, which stands before the encrypted bytes.
const NONCE: usize = 24;

/// Encrypts addresses for the store, so that its readers learn no client secret, by a key that is derived from the
/// secret key.
pub(super) struct Sealer {
    cipher: XChaCha20Poly1305,
    /// That of the key which was replaced.
    former: Option<XChaCha20Poly1305>,
}

impl Sealer {
    pub(super) fn new(key: &SecretKey, former: Option<&SecretKey>) -> Self {
        let cipher = |key: &SecretKey| XChaCha20Poly1305::new((&*key.derive("guichet ledger: addresses")).into());
        Self { cipher: cipher(key), former: former.map(cipher) }
    }

    /// Empty if no random number can be had: then it cannot be opened.
    pub(super) fn seal(&self, address: &str) -> String {
        let mut nonce = [0; NONCE];
        let sealed =
            getrandom::fill(&mut nonce).ok().and_then(|()| self.cipher.encrypt(&nonce.into(), address.as_bytes()).ok());
        sealed.map(|sealed| hex::encode([&nonce[..], &sealed].concat())).unwrap_or_default()
    }

    /// None if it was sealed with neither key.
    pub(super) fn open(&self, sealed: &str) -> Option<String> {
        let bytes = hex::decode(sealed).ok()?;
        let (nonce, encrypted) = bytes.split_first_chunk::<NONCE>()?;
        let ciphers = std::iter::once(&self.cipher).chain(&self.former);
        String::from_utf8(ciphers.into_iter().find_map(|cipher| cipher.decrypt(nonce.into(), encrypted).ok())?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealer(key: &str) -> Sealer {
        Sealer::new(&SecretKey::new(key).expect("a key"), None)
    }

    #[test]
    fn a_sealed_address_is_opened_by_its_key_and_the_next_one() {
        let sealed = sealer("sk_test_1").seal("https://pay.example/#client_secret=1");
        assert!(!sealed.contains("pay"), "{sealed}");
        assert_eq!(sealer("sk_test_1").open(&sealed).as_deref(), Some("https://pay.example/#client_secret=1"));
        assert_eq!(sealer("sk_test_2").open(&sealed), None);
        let [key, former] = ["sk_test_2", "sk_test_1"].map(|key| SecretKey::new(key).expect("a key"));
        let next = Sealer::new(&key, Some(&former));
        assert_eq!(next.open(&sealed).as_deref(), Some("https://pay.example/#client_secret=1"));
        assert_eq!(sealer("sk_test_1").open(&next.seal("https://pay.example/")), None, "the former key seals nothing");
        assert_eq!(sealer("sk_test_1").open(&sealed[..sealed.len() - 2]), None);
        assert_eq!(sealer("sk_test_1").open(""), None);
    }
}
