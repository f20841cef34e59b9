//! Whether another person can compute or guess a return nonce.

use crate::outcome::{Outcome, not_checked};
use crate::shop::{CheckedShop, Payment};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guichet::values::base62;
use hmac::{Hmac, Mac};
use md5::{Digest as _, Md5};
use serde_json::Value;
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha512};
use std::collections::BTreeSet;

/// Two random texts of 22 hexadecimal digits have fewer differing digits once in 10^10 pairs.
const SEVERAL: usize = 10;
/// What stands between two texts that are hashed together.
const SEPARATORS: [&str; 10] = ["", ":", "-", "|", "_", ".", "/", ",", ";", " "];
/// Words that a programmer takes for a key, or puts before the reference.
const WORDS: [&str; 12] = [
    "guichet",
    "guichet_return",
    "guichet return key",
    "return",
    "return_nonce",
    "nonce",
    "payment",
    "secret",
    "key",
    "salt",
    "changeme",
    "test",
];
/// The numbers of rows that are hashed.
const NUMBERS: i64 = 300;

pub(super) async fn return_nonce_cannot_be_guessed(shop: &CheckedShop) -> Outcome {
    let (customer, first) = shop.open_payment().await?;
    let mut payments = vec![first];
    for _ in 0..if shop.has_fresh_orders() { 2 } else { 0 } {
        payments.push(shop.fresh_payment().await?.1);
    }
    let outcome = judge(&payments);
    for payment in &payments[1..] {
        shop.release(&customer, payment).await;
    }
    outcome
}

fn judge(payments: &[Payment]) -> Outcome {
    let mut nonces: Vec<&str> = Vec::new();
    for payment in payments {
        let Some(nonce) = payment.return_nonce.as_deref() else { return not_checked("See return_nonce_agrees.") };
        let differ = |other: &str| nonce.chars().zip(other.chars()).filter(|(one, other)| one != other).count();
        if let Some(near) = nonces.iter().find(|other| differ(other) < SEVERAL) {
            let why = format!("return_nonce can be guessed: {nonce} is near {near}, which is that of another payment.");
            return Err(payment.exchange.fail(why));
        }
        nonces.push(nonce);
    }
    match computed_from(nonces[0], &Facts::of(&payments[0])) {
        Some(how) => {
            let why = format!("return_nonce can be computed by another person: {} is {how}.", nonces[0]);
            Err(payments[0].exchange.fail(why))
        }
        None => Ok(()),
    }
}

/// How a nonce is computed from what others know of its payment, in words; `None` if it is in no way that is tried.
fn computed_from(nonce: &str, facts: &Facts) -> Option<String> {
    let nonce = nonce.to_ascii_lowercase();
    let core = unpadded(&nonce);
    let is_in = |bytes: &[u8]| encoded(bytes).iter().any(|text| text.contains(core));
    for text in facts.texts() {
        let bytes = text.as_bytes();
        let plain = encoded(bytes).into_iter().chain([alphanumeric(&text)]).filter(|plain| !plain.is_empty());
        if plain.into_iter().any(|plain| plain.repeat(nonce.len() / plain.len() + 2).contains(core)) {
            return Some(format!("made of {text:?}"));
        }
        let hash = match () {
            () if is_in(&Md5::digest(bytes)) => "MD5",
            () if is_in(&Sha1::digest(bytes)) => "SHA-1",
            () if is_in(&Sha256::digest(bytes)) => "SHA-256",
            () if is_in(&Sha512::digest(bytes)) => "SHA-512",
            () => continue,
        };
        return Some(format!("the {hash} of {text:?}"));
    }
    for key in facts.words().chain([""]) {
        for text in &facts.0 {
            let mut hmac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).ok()?;
            hmac.update(text.as_bytes());
            if is_in(&hmac.finalize().into_bytes()) {
                return Some(format!("the HMAC-SHA-256 of {text:?} with the key {key:?}"));
            }
        }
    }
    None
}

/// The nonce without what a shorter text was filled up with.
fn unpadded(nonce: &str) -> &str {
    let without = |end: Option<char>, trim: fn(&str, char) -> &str| {
        let core = end.map_or(nonce, |end| trim(nonce, end));
        // Two equal digits may be random.
        if nonce.len() - core.len() > 2 { core } else { nonce }
    };
    let core = without(nonce.chars().next_back(), |text, end| text.trim_end_matches(end));
    if core == nonce { without(nonce.chars().next(), |text, start| text.trim_start_matches(start)) } else { core }
}

/// What others know of a payment.
struct Facts(BTreeSet<String>, Option<i64>);

impl Facts {
    fn of(payment: &Payment) -> Self {
        let body = &payment.creation.body;
        let order = payment.order.as_object().into_iter().flat_map(|order| order.values());
        let sent =
            ["merchant_reference", "email", "phone", "firstname", "lastname", "amount", "currency", "description"];
        let address = body["redirect_url"].as_str().unwrap_or_default().split(['?', '#']).next();
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let facts = order.chain(sent.iter().map(|field| &body[field])).filter_map(text);
        let facts = facts.chain([payment.order.to_string()]).chain(address.map(str::to_owned));
        Self(facts.filter(|fact| !fact.is_empty()).collect(), payment.creation.reply["data"]["created_at"].as_i64())
    }

    /// The facts, and words that a programmer puts beside them.
    fn words(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str).chain(WORDS)
    }

    /// The texts that are hashed: each fact, each number of a row, the time, and two facts or words with a separator.
    fn texts(&self) -> impl Iterator<Item = String> {
        // The clocks of the shop and the service differ little.
        let times = self.1.into_iter().flat_map(|second| second - 3..=second + 3);
        let single = self.0.iter().cloned().chain((0..NUMBERS).chain(times).map(|number| number.to_string()));
        let pairs = self.words().flat_map(|one| self.words().map(move |other| (one, other)));
        single.chain(pairs.flat_map(|(one, other)| SEPARATORS.map(|separator| [one, separator, other].concat())))
    }
}

/// The forms in which bytes become letters and digits, in small letters.
fn encoded(bytes: &[u8]) -> [String; 3] {
    let base62 = base62(bytes, bytes.len() * 4 / 3 + 1);
    [hex::encode(bytes), alphanumeric(&STANDARD.encode(bytes)), base62.to_ascii_lowercase()]
}

fn alphanumeric(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts(["ORDER-17", "17", "awa@example.com"].map(str::to_owned).into(), Some(1_795_257_000))
    }

    #[test]
    fn a_nonce_that_is_made_of_what_others_know_is_recognized() {
        for (nonce, how) in [
            // 22 digits of `md5 ORDER-17` and of `sha256 17:awa@example.com`, and base64 without its signs.
            (&hex::encode(Md5::digest("ORDER-17"))[..22], "the MD5 of \"ORDER-17\""),
            (&hex::encode(Sha256::digest("17:awa@example.com"))[42..], "the SHA-256 of \"17:awa@example.com\""),
            (&alphanumeric(&STANDARD.encode(Sha1::digest("ORDER-17.nonce")))[..22], "the SHA-1 of \"ORDER-17.nonce\""),
            (&base62(&Sha512::digest("1795257002"), 86)[..22], "the SHA-512 of \"1795257002\""),
            (&hex::encode(Md5::digest("42"))[..22].to_uppercase(), "the MD5 of \"42\""),
            ("ORDER17000000000000000", "made of \"ORDER-17\""),
            ("0000000000000000ORDER17", "made of \"ORDER-17\""),
            ("171717171717171717171717", "made of \"17\""),
            ("aaaaaaaaaaaaaaaaaaaaaa", "made of \"17\""),
        ] {
            assert_eq!(computed_from(nonce, &facts()).as_deref(), Some(how), "{nonce}");
        }
        let mut hmac = Hmac::<Sha256>::new_from_slice(b"secret").expect("any length");
        hmac.update(b"ORDER-17");
        let signed = hex::encode(hmac.finalize().into_bytes());
        let how = computed_from(&signed[..22], &facts());
        assert_eq!(how.as_deref(), Some("the HMAC-SHA-256 of \"ORDER-17\" with the key \"secret\""));
    }

    #[test]
    fn a_random_nonce_is_not_recognized() {
        for nonce in
            ["Zk3vQ8mN1xTb5Lr7Wc2YpD", "5f0c1b7de2a94830917c00", "0000a1b2c3d4e5f6a7b8c9", "4019283746550192837465"]
        {
            assert_eq!(computed_from(nonce, &facts()), None, "{nonce}");
        }
    }
}
