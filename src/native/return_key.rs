use super::SecretKey;
use super::key::hmac_sha256;
use crate::operations::CreatePaymentIntent;
use crate::shop::{marked, nonce};
use crate::values::{Invalid, MerchantReference};
use std::fmt;
use zeroize::Zeroizing;

/// Derives the nonce of a purchase, by which a customer's page recognizes the return from the payment that it started.
///
/// The nonce is a function of the merchant's reference, so that a repeated create has the same body and stays the same
/// payment. [`Client::return_key`](super::Client::return_key) derives the key from the secret key. If your secret keys
/// rotate, set a separate return key: otherwise an order that was started before a rotation has another body after it.
///
/// ```
/// use guichet::native::ReturnKey;
/// use guichet::values::MerchantReference;
/// let key = ReturnKey::new("a secret text of one's own").unwrap();
/// assert_eq!(key.nonce(&MerchantReference::new("ORDER-17").unwrap()).len(), 22);
/// ```
pub struct ReturnKey(Zeroizing<[u8; 32]>);

/// What the secret key derives it for.
const PURPOSE: &str = "guichet return key";

impl ReturnKey {
    /// Creates a separate key from any secret text of at least 16 characters.
    ///
    /// # Errors
    /// [`Invalid`] if the text is shorter, because it could be guessed.
    pub fn new(secret: &str) -> Result<Self, Invalid> {
        if secret.chars().count() < 16 {
            return Err(Invalid::because("A return key is a secret text of at least 16 characters."));
        }
        Ok(Self(Zeroizing::new(hmac_sha256(secret.as_bytes(), PURPOSE.as_bytes()))))
    }

    pub(super) fn derived_from(key: &SecretKey) -> Self {
        Self(key.derive(PURPOSE))
    }

    /// The nonce of a purchase: 22 characters of `[0-9A-Za-z]`, always the same for one reference.
    #[must_use]
    pub fn nonce(&self, reference: &MerchantReference) -> String {
        nonce(&hmac_sha256(&*self.0, reference.as_str().as_bytes()))
    }

    /// Adds `guichet_return` to the purchase's return address, if it has one. Returns the purchase and the nonce.
    ///
    /// # Errors
    /// [`Invalid`] if the address would become too long.
    pub fn mark(&self, purchase: CreatePaymentIntent) -> Result<(CreatePaymentIntent, String), Invalid> {
        let nonce = self.nonce(&purchase.merchant_reference);
        Ok((marked(purchase, &nonce)?, nonce))
    }
}

impl fmt::Debug for ReturnKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::CustomerName;
    use crate::values::{Amount, RedirectUrl};

    fn key() -> ReturnKey {
        ReturnKey::derived_from(&SecretKey::new("sk_test_1").expect("a key"))
    }

    fn reference(text: &str) -> MerchantReference {
        MerchantReference::new(text).expect("a reference")
    }

    #[test]
    fn the_nonce_is_a_function_of_the_reference() {
        let nonce = key().nonce(&reference("ORDER-17"));
        assert_eq!(nonce, key().nonce(&reference("ORDER-17")));
        assert_ne!(nonce, key().nonce(&reference("ORDER-18")));
        assert_ne!(nonce, ReturnKey::new("another secret text").expect("long enough").nonce(&reference("ORDER-17")));
        assert_eq!(nonce.len(), 22);
        assert!(nonce.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{nonce}");
    }

    #[test]
    fn a_purchase_is_marked_the_same_way_each_time() {
        let purchase = || {
            CreatePaymentIntent::new(
                reference("ORDER-17"),
                Amount::units(45_000),
                "Shoes",
                CustomerName { firstname: "Awa", lastname: "Ngono" },
            )
            .redirect_url(RedirectUrl::new("https://shop.example/return").expect("an address"))
        };
        let (once, nonce) = key().mark(purchase()).expect("it fits");
        let (twice, _) = key().mark(once.clone()).expect("it fits");
        assert_eq!(once.redirect_url, twice.redirect_url);
        assert!(once.redirect_url.expect("it has one").as_str().ends_with(&format!("?guichet_return={nonce}")));
    }

    #[test]
    fn a_return_key_prints_as_stars() {
        assert_eq!(format!("{:?}", key()), "***");
    }
}
