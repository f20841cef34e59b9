//! Random identifiers and tokens, their fingerprints, and derived secrets.

use super::surroundings;
use guichet::values::base62;
use guichet::values::{ClientSecret, EsimOrderId, IntentId, Secret};
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The prefix of a secret key of the sandbox.
pub(super) const SECRET_KEY: &str = "sk_test_";
/// The prefix of a control token of the sandbox.
pub(super) const CONTROL_TOKEN: &str = "ctl_";
/// The prefix of a session token of the sandbox.
pub(super) const SESSION_TOKEN: &str = "cst_test_";

/// A new identifier: a prefix and 22 characters (128 random bits). It does not reveal its time of creation.
pub(super) fn id(prefix: &str) -> String {
    format!("{prefix}{}", base62(&random::<16>(), 22))
}

/// A new secret: a prefix and 43 characters (256 random bits).
pub(super) fn secret(prefix: &str) -> Secret {
    Secret::new(format!("{prefix}{}", base62(&random::<32>(), 43)))
}

/// The stored form of a key, a token or a canonical body. Keys and tokens have 256 random bits, so a plain SHA-256
/// cannot be reversed.
pub(super) fn fingerprint(secret: &str) -> String {
    hex::encode(Sha256::digest(secret))
}

/// Whether two texts are equal, in constant time.
pub(super) fn same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

/// The key from which client secrets are derived. They are computed when needed and never stored.
#[derive(Clone)]
pub(super) struct InstanceKey(Hmac<Sha256>);

impl InstanceKey {
    /// Creates the key from a text of any length.
    pub(super) fn new(text: &Secret) -> Self {
        Self(Hmac::new_from_slice(text.expose().as_bytes()).expect("HMAC takes a key of any length"))
    }

    /// The client secret of an intent.
    pub(super) fn client_secret(&self, id: &IntentId) -> ClientSecret {
        ClientSecret::new(format!("{id}_secret_{}", base62(&self.derive(id.as_str()), 43)))
    }

    /// The token of the issuer's page for an intent's n-th attempt. It is valid for that page alone.
    pub(super) fn challenge(&self, id: &IntentId, round: u32) -> Secret {
        Secret::new(base62(&self.derive(&format!("challenge:{round}:{id}")), 43))
    }

    /// The token in the forms of an intent's page. Another site does not know it, so its form is refused.
    pub(super) fn form(&self, id: &IntentId) -> Secret {
        Secret::new(base62(&self.derive(&format!("form:{id}")), 43))
    }

    /// The ICCID and the activation code of the n-th eSIM of an order. Both are invented, and always the same.
    pub(super) fn esim(&self, order: &EsimOrderId, number: u8) -> (String, Secret) {
        let code = self.derive(&format!("esim:{number}:{order}"));
        let (card, matching) = code.split_at(16);
        let digits = card.iter().fold(0_u64, |sum, byte| (sum * 256 + u64::from(*byte)) % 10_u64.pow(13));
        // 89 is the industry code of telecommunication; no country has the code 999.
        let iccid = with_check_digit(format!("89999{digits:013}"));
        (iccid, Secret::new(format!("LPA:1$esim.guichet.invalid${}", hex::encode(matching).to_uppercase())))
    }

    fn derive(&self, purpose: &str) -> [u8; 32] {
        self.0.clone().chain_update(purpose).finalize().into_bytes().into()
    }

    /// The intent of a client secret; `None` if the secret is invalid.
    pub(super) fn intent_of(&self, text: &str) -> Option<IntentId> {
        let id = IntentId::new(text.split_once("_secret_")?.0).ok()?;
        same(self.client_secret(&id).expose(), text).then_some(id)
    }
}

/// Whether a number ends with its Luhn check digit (ISO/IEC 7812-1), as that of a card does.
pub(super) fn has_check_digit(number: &str) -> bool {
    number
        .split_at_checked(number.len().saturating_sub(1))
        .is_some_and(|(rest, _)| with_check_digit(rest.to_owned()) == number)
}

/// Appends the Luhn check digit.
fn with_check_digit(number: String) -> String {
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let digits = number.bytes().rev().map(|byte| u32::from(byte - b'0')).enumerate();
    let sum: u32 = digits.map(|(position, digit)| if position % 2 == 0 { doubled(digit) } else { digit }).sum();
    format!("{number}{}", (10 - sum % 10) % 10)
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    surroundings::fill_random(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_secret_names_its_intent_and_no_other() {
        let key = InstanceKey::new(&Secret::new("k"));
        let id = IntentId::new(super::id("pi_")).unwrap();
        let secret = key.client_secret(&id);
        assert_eq!(key.intent_of(secret.expose()), Some(id.clone()));
        assert_eq!(key.client_secret(&id), secret);
        let forged = secret.expose().replacen(id.as_str(), "pi_another", 1);
        assert_eq!(key.intent_of(&forged), None);
        assert_eq!(InstanceKey::new(&Secret::new("l")).intent_of(secret.expose()), None);
        assert_eq!(secret.expose().len(), id.as_str().len() + "_secret_".len() + 43);
    }

    #[test]
    fn an_esim_is_always_the_same_and_unique() {
        let key = InstanceKey::new(&Secret::new("k"));
        let order = EsimOrderId::new("eso_1").unwrap();
        let (iccid, code) = key.esim(&order, 1);
        assert_eq!(key.esim(&order, 1), (iccid.clone(), code.clone()));
        assert_ne!(key.esim(&order, 2).0, iccid);
        assert!(iccid.starts_with("89999") && iccid.len() == 19, "{iccid}");
        assert!(code.expose().starts_with("LPA:1$esim.guichet.invalid$") && code.expose().len() == 27 + 32);
        assert_eq!(with_check_digit("7992739871".into()), "79927398713");
        assert!(has_check_digit("79927398713") && !has_check_digit("79927398710") && !has_check_digit(""));
    }
}
