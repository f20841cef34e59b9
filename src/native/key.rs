use super::bearer::Bearer;
use crate::protocol::{Anyone, Credential, Customer, Fulfils, Merchant, Payer};
use crate::values::Invalid;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::fmt;
use zeroize::Zeroizing;

/// The merchant's secret key: it authorizes payments, and no browser ever holds it.
///
/// It prints as `***`, is wiped from memory when it is dropped, and can be neither serialized nor compared.
///
/// ```
/// use guichet::SecretKey;
/// let key = SecretKey::new("sk_test_0123456789abcdefghijklmn").unwrap();
/// assert_eq!(format!("{key:?}"), "***");
/// ```
///
/// A session token is not a key. The error comes here and not at the first call:
/// ```
/// assert!(guichet::SecretKey::new("cst_test_0000").is_err());
/// ```
pub struct SecretKey(Bearer);

impl SecretKey {
    /// Checks the key.
    ///
    /// # Errors
    /// [`Invalid`] if the text is empty, contains spaces or quotes, or is another credential. It never repeats the
    /// text.
    pub fn new(text: impl Into<String>) -> Result<Self, Invalid> {
        let text = Zeroizing::new(text.into());
        check(&text)?;
        Bearer::new(&text).map(Self).ok_or_else(not_ascii)
    }

    /// Reads the key from the environment, which keeps it out of the code and the command line.
    ///
    /// # Errors
    /// [`Invalid`] if the variable is not set, or if its value is no key.
    pub fn from_env(variable: &str) -> Result<Self, Invalid> {
        match std::env::var(variable) {
            Ok(text) => Self::new(text).map_err(|invalid| Invalid::because(format!("{variable}: {invalid}"))),
            Err(std::env::VarError::NotPresent) => {
                Err(Invalid::because(format!("Set the environment variable {variable} to the merchant's secret key.")))
            }
            Err(std::env::VarError::NotUnicode(_)) => {
                Err(Invalid::because(format!("The environment variable {variable} is not text.")))
            }
        }
    }

    /// Whether it is a key of a test environment, by its prefix: it never moves real money.
    #[must_use]
    pub fn is_test(&self) -> bool {
        ["sk_test_", "rk_test_", "FLWSECK_TEST"].iter().any(|prefix| self.0.text().starts_with(prefix))
    }

    /// Another key, for this purpose alone: HMAC-SHA256 of the purpose under the secret key. The secret key cannot be
    /// computed from it, and another purpose gives another key.
    ///
    /// ```
    /// # let key = guichet::SecretKey::new("sk_test_0123456789abcdefghijklmn").unwrap();
    /// assert_ne!(*key.derive("receipts"), *key.derive("vouchers"));
    /// ```
    #[must_use]
    pub fn derive(&self, purpose: &str) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(hmac_sha256(self.0.text().as_bytes(), purpose.as_bytes()))
    }

    /// The header that sends it.
    pub(super) fn header(&self) -> &Bearer {
        &self.0
    }
}

/// The HMAC-SHA256 of a message.
pub(super) fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// Refuses a text that cannot be a secret key. Only the service knows the rest of a key's shape.
fn check(text: &str) -> Result<(), Invalid> {
    if text.is_empty() {
        return Err(Invalid::because("The secret key is empty."));
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(not_ascii());
    }
    if text.contains(['"', '\'', '`']) {
        return Err(Invalid::because(
            "The secret key is in quotes. Leave them out: what read it takes them as a part of it.",
        ));
    }
    if text.starts_with("cst_") {
        return Err(Invalid::because(
            "This is a customer's session token, not the merchant's secret key. Use `client.customer(&token)` for it.",
        ));
    }
    if text.starts_with("pi_") {
        return Err(Invalid::because("This is a payment intent's client secret, not the merchant's secret key."));
    }
    if text.starts_with("pk_") {
        return Err(Invalid::because("This is a publishable key, not the merchant's secret key."));
    }
    Ok(())
}

fn not_ascii() -> Invalid {
    Invalid::because("A secret key holds no spaces, line ends or letters beyond ASCII: check what was copied.")
}

impl Credential for SecretKey {
    fn bearer(&self) -> Option<&str> {
        Some(self.0.text())
    }
}
impl Fulfils<Merchant> for SecretKey {}
impl Fulfils<Customer> for SecretKey {}
impl Fulfils<Payer> for SecretKey {}
impl Fulfils<Anyone> for SecretKey {}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl std::str::FromStr for SecretKey {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// guichet-server passes the same: `tests/shop/run.mjs`.
    fn cases() -> Value {
        serde_json::from_str(include_str!("../../tests/rules/keys.json")).expect("JSON")
    }

    #[test]
    fn an_invalid_secret_key_is_refused_without_being_shown() {
        for text in cases()["of_no_server"].as_array().expect("texts").iter().filter_map(Value::as_str) {
            let invalid = SecretKey::new(text).expect_err("it is no key");
            assert!(text.is_empty() || !invalid.to_string().contains(text), "{invalid}");
        }
    }

    #[test]
    fn a_missing_variable_is_named() {
        let invalid = SecretKey::from_env("GUICHET_KEY_THAT_NOBODY_SETS").expect_err("it is not set");
        assert!(invalid.reason().contains("GUICHET_KEY_THAT_NOBODY_SETS"));
    }

    #[test]
    fn test_and_live_keys_are_distinguished() {
        for case in cases()["of_a_server"].as_array().expect("cases") {
            let key = SecretKey::new(case["key"].as_str().expect("a text")).expect("a key");
            assert_eq!(key.is_test(), case["is_test"], "{case}");
        }
    }
}
