//! The return nonce, by which a customer's page recognizes the return from the payment that it started.

use crate::operations::CreatePaymentIntent;
use crate::platform::form_decode;
use crate::values::{Invalid, RETURN_NONCE_LENGTH, RETURN_PARAMETER, RedirectUrl, base62};

/// The nonce from the HMAC of a reference: 22 characters of `[0-9A-Za-z]`.
#[must_use]
pub fn nonce(hmac: &[u8; 32]) -> String {
    let mut text = base62(hmac, 43);
    text.truncate(RETURN_NONCE_LENGTH);
    text
}

/// Adds the nonce to the purchase's return address, if it has one.
///
/// # Errors
/// [`Invalid`] if the address would become too long.
pub fn marked(mut purchase: CreatePaymentIntent, nonce: &str) -> Result<CreatePaymentIntent, Invalid> {
    if let Some(redirect_url) = purchase.redirect_url.take() {
        purchase.redirect_url = Some(RedirectUrl::new(with_nonce(redirect_url.as_str(), nonce))?);
    }
    Ok(purchase)
}

/// Sets the parameter, replacing an existing one, and leaves every other byte as it was.
pub(super) fn with_nonce(address: &str, nonce: &str) -> String {
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
    form_decode(pair.split('=').next().unwrap_or_default()) == RETURN_PARAMETER
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
