use super::SecretKey;
use super::key::hmac_sha256;
use crate::operations::CreatePaymentIntent;
use crate::values::base62;
use crate::values::{Invalid, MerchantReference, RETURN_NONCE_LENGTH, RETURN_PARAMETER, RedirectUrl};
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
        let mut text = base62(&hmac_sha256(&*self.0, reference.as_str().as_bytes()), 43);
        text.truncate(RETURN_NONCE_LENGTH);
        text
    }

    /// Adds `guichet_return` to the purchase's return address, if it has one. Returns the purchase and the nonce.
    ///
    /// # Errors
    /// [`Invalid`] if the address would become too long.
    pub fn mark(&self, mut purchase: CreatePaymentIntent) -> Result<(CreatePaymentIntent, String), Invalid> {
        let nonce = self.nonce(&purchase.merchant_reference);
        if let Some(redirect_url) = purchase.redirect_url.take() {
            purchase.redirect_url = Some(RedirectUrl::new(&with_nonce(redirect_url.as_str(), &nonce))?);
        }
        Ok((purchase, nonce))
    }
}

impl fmt::Debug for ReturnKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Sets the parameter, replacing an existing one, and leaves every other byte as it was.
fn with_nonce(address: &str, nonce: &str) -> String {
    let (rest, fragment) = match address.split_once('#') {
        Some((rest, fragment)) => (rest, Some(fragment)),
        None => (address, None),
    };
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let others = query.split('&').filter(|pair| !query.is_empty() && !is_ours(pair));
    let ours = format!("{RETURN_PARAMETER}={nonce}");
    let query = others.chain([ours.as_str()]).collect::<Vec<_>>().join("&");
    match fragment {
        Some(fragment) => format!("{path}?{query}#{fragment}"),
        None => format!("{path}?{query}"),
    }
}

/// Whether a pair of the query is our parameter, in any encoding of its name.
fn is_ours(pair: &str) -> bool {
    url::form_urlencoded::parse(pair.as_bytes()).next().is_some_and(|(name, _)| name == RETURN_PARAMETER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::CustomerName;
    use crate::values::Amount;

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
    fn the_return_address_keeps_every_other_byte() {
        for (address, expected) in [
            ("https://shop.example/return", "https://shop.example/return?guichet_return=N"),
            ("https://shop.example/return?", "https://shop.example/return?guichet_return=N"),
            ("https://shop.example/r?a=%20b&&c#top", "https://shop.example/r?a=%20b&&c&guichet_return=N#top"),
            ("https://shop.example/r?guichet_return=old&a=1", "https://shop.example/r?a=1&guichet_return=N"),
            ("https://shop.example/r?guichet%5Freturn=old", "https://shop.example/r?guichet_return=N"),
            (
                "https://shop.example/r#guichet_return=kept",
                "https://shop.example/r?guichet_return=N#guichet_return=kept",
            ),
            ("https://shop.example/é?q=é", "https://shop.example/é?q=é&guichet_return=N"),
        ] {
            assert_eq!(with_nonce(address, "N"), expected);
        }
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
