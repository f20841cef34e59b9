//! Encrypts sessions for a database, so that its readers learn no token, e-mail address or login.

use super::store::KeptSession;
use crate::native::{Refused, SecretKey};
use crate::values::{Email, Moment, SessionToken};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::borrow::Cow;
use std::time::Duration;
use zeroize::Zeroizing;

/// The length of the nonce, which stands before the encrypted bytes.
const NONCE: usize = 24;

/// A login as it stands in the database.
pub(super) type LoginHash = [u8; 32];

/// Two keys that are derived from the merchant's secret key: with another secret key nothing is found, and nothing can be opened.
pub(super) struct Sealer {
    cipher: XChaCha20Poly1305,
    login_key: Zeroizing<[u8; 32]>,
}

impl Sealer {
    pub(super) fn new(key: &SecretKey) -> Self {
        let derived = |purpose: &[u8]| {
            let mut bytes = Zeroizing::new([0; 32]);
            let derived = Hkdf::<Sha256>::new(None, key.bytes()).expand(purpose, &mut *bytes);
            derived.expect("HKDF-SHA256 gives up to 8160 bytes");
            bytes
        };
        let cipher = XChaCha20Poly1305::new((&*derived(b"guichet sessions: encryption")).into());
        Self { cipher, login_key: derived(b"guichet sessions: logins") }
    }

    /// The name of a login in the database.
    pub(super) fn login_hash(&self, login: &str) -> LoginHash {
        let mut mac = <Hmac<Sha256> as Mac>::new_from_slice(&*self.login_key).expect("HMAC takes a key of any length");
        mac.update(login.as_bytes());
        mac.finalize().into_bytes().into()
    }

    /// Encrypts a session. It can be opened for the same login alone.
    pub(super) fn seal(&self, login: &LoginHash, session: &KeptSession) -> Result<Vec<u8>, Refused> {
        let plain = Zeroizing::new(serde_json::to_vec(&Plain::of(session)).map_err(Refused::broken)?);
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(Refused::broken)?;
        let payload = Payload { msg: &plain, aad: &purpose(login) };
        let encrypted = self.cipher.encrypt(XNonce::from_slice(&nonce), payload).map_err(Refused::broken)?;
        Ok([&nonce[..], &encrypted].concat())
    }

    /// Decrypts a session; `None` if it was not sealed for this login with this key.
    pub(super) fn open(&self, login: &LoginHash, sealed: &[u8]) -> Option<KeptSession> {
        let (nonce, encrypted) = sealed.split_at_checked(NONCE)?;
        let payload = Payload { msg: encrypted, aad: &purpose(login) };
        let plain = Zeroizing::new(self.cipher.decrypt(XNonce::from_slice(nonce), payload).ok()?);
        serde_json::from_slice::<Plain>(&plain).ok()?.into_session()
    }
}

/// The text that the encrypted bytes are bound to.
fn purpose(login: &LoginHash) -> Vec<u8> {
    [b"guichet session 1: ", &login[..]].concat()
}

/// A session with its token, before it is encrypted.
#[derive(Serialize, Deserialize)]
struct Plain<'a> {
    token: Cow<'a, str>,
    customer_email: Cow<'a, str>,
    made_at: i64,
    ends_at: Option<i64>,
    lifetime: Option<Duration>,
}

impl<'a> Plain<'a> {
    fn of(session: &'a KeptSession) -> Self {
        Self {
            token: session.token.expose().into(),
            customer_email: session.customer_email.as_str().into(),
            made_at: session.made_at.unix(),
            ends_at: session.ends_at.map(Moment::unix),
            lifetime: session.lifetime,
        }
    }

    fn into_session(self) -> Option<KeptSession> {
        Some(KeptSession {
            token: SessionToken::new(self.token),
            customer_email: Email::new(self.customer_email).ok()?,
            made_at: Moment::from_unix(self.made_at),
            ends_at: self.ends_at.map(Moment::from_unix),
            lifetime: self.lifetime,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealer(key: &str) -> Sealer {
        Sealer::new(&SecretKey::new(key).expect("a key"))
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
        for place in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[place] ^= 1;
            assert_eq!(sealer.open(&login, &changed), None, "byte {place}");
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
