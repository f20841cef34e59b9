//! Encrypts sessions for a database, so that its readers learn no token, e-mail address or login.

use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use guichet::Client;
use guichet::native::{KeptSession, Refused};
use guichet::values::{Email, Moment, SessionToken};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Deserializer;
use sha2::{Digest, Sha256};
use std::time::Duration;
use zeroize::Zeroizing;

/// The length of the nonce, which stands before the encrypted bytes.
const NONCE: usize = 24;

/// A login or a token as it stands in the database.
pub(super) type Hash = [u8; 32];

/// The SHA-256 of a token, by which it is found without being stored. It is the same for every secret key, so that
/// after a change of the key an ended token is still known.
pub(super) fn token_hash(token: &SessionToken) -> Hash {
    Sha256::digest(token.expose()).into()
}

/// Encrypts with keys that are derived from the client's secret key: with another secret key nothing is found, and
/// nothing can be opened.
pub(super) struct Sealer {
    client: Client,
    cipher: XChaCha20Poly1305,
}

impl Sealer {
    pub(super) fn new(client: &Client) -> Self {
        let key = client.derive_key("guichet sessions: encryption");
        Self { client: client.clone(), cipher: XChaCha20Poly1305::new((&*key).into()) }
    }

    /// The name of a login in the database.
    pub(super) fn login_hash(&self, login: &str) -> Hash {
        *self.client.derive_key(&format!("guichet sessions: login {login}"))
    }

    /// Encrypts a session. It can be opened for the same login alone.
    pub(super) fn seal(&self, login: &Hash, session: &KeptSession) -> Result<Vec<u8>, Refused> {
        let mut plain = Zeroizing::new(Vec::new());
        Plain::serialize(session, &mut serde_json::Serializer::new(&mut *plain)).map_err(Refused::broken)?;
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(Refused::broken)?;
        let payload = Payload { msg: &plain, aad: &purpose(login) };
        let encrypted = self.cipher.encrypt(&nonce.into(), payload).map_err(Refused::broken)?;
        Ok([&nonce[..], &encrypted].concat())
    }

    /// Decrypts a session; `None` if it was not sealed for this login with this key.
    pub(super) fn open(&self, login: &Hash, sealed: &[u8]) -> Option<KeptSession> {
        let (nonce, encrypted) = sealed.split_first_chunk::<NONCE>()?;
        let payload = Payload { msg: encrypted, aad: &purpose(login) };
        let plain = Zeroizing::new(self.cipher.decrypt(nonce.into(), payload).ok()?);
        Plain::deserialize(&mut Deserializer::from_slice(&plain)).ok()
    }
}

/// The text that the encrypted bytes are bound to.
fn purpose(login: &Hash) -> Vec<u8> {
    [b"guichet session 1: ", &login[..]].concat()
}

/// How a [`KeptSession`] is written before it is encrypted.
#[derive(Serialize, Deserialize)]
#[serde(remote = "KeptSession")]
struct Plain {
    #[serde(serialize_with = "expose")]
    token: SessionToken,
    customer_email: Email,
    made_at: Moment,
    ends_at: Option<Moment>,
    lifetime: Option<Duration>,
}

/// Writes a token, which otherwise prints as `***`.
fn expose<S: Serializer>(token: &SessionToken, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(token.expose())
}

#[cfg(test)]
mod tests {
    use super::*;
    use guichet::SecretKey;

    fn sealer(key: &str) -> Sealer {
        let key = SecretKey::new(key).expect("a key");
        Sealer::new(&Client::builder("http://127.0.0.1:1", key).build().expect("a client"))
    }

    fn session() -> KeptSession {
        KeptSession {
            token: SessionToken::new("cst_test_0123456789"),
            customer_email: Email::new("awa@example.com").expect("an e-mail"),
            made_at: Moment::from_unix(1_795_257_000),
            ends_at: Some(Moment::from_unix(1_795_258_800)),
            lifetime: Some(Duration::from_secs(1800)),
        }
    }

    #[test]
    fn a_sealed_session_opens_with_its_key_for_its_login_alone() {
        let (sealer, other) = (sealer("sk_test_1"), sealer("sk_test_2"));
        let login = sealer.login_hash("login-1");
        let sealed = sealer.seal(&login, &session()).expect("it is sealed");
        assert_eq!(sealer.open(&login, &sealed), Some(session()));
        assert_eq!(other.open(&login, &sealed), None, "another key");
        assert_eq!(sealer.open(&sealer.login_hash("login-2"), &sealed), None, "another login");
        assert_ne!(login, other.login_hash("login-1"));
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert_eq!(sealer.open(&login, &changed), None, "byte {index}");
        }
        assert_eq!(sealer.open(&login, &sealed[..NONCE - 1]), None, "cut off");
    }

    #[test]
    fn a_sealed_session_shows_nothing_and_is_never_the_same_twice() {
        let sealer = sealer("sk_test_1");
        let login = sealer.login_hash("login-1");
        let sealed = sealer.seal(&login, &session()).expect("it is sealed");
        for secret in ["cst_test", "awa@", "0123456789", "1795257000"] {
            assert!(!sealed.windows(secret.len()).any(|bytes| bytes == secret.as_bytes()), "{secret}");
        }
        assert_ne!(sealed, sealer.seal(&login, &session()).expect("it is sealed"));
    }
}
