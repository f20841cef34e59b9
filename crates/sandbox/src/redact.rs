//! Removes secrets from what the inspector shows.

use crate::tokens::has_check_digit;
use guichet::flow::carries_a_secret_key;
use serde_json::Value;

/// What replaces a secret.
const REDACTED: &str = "***";
/// What the names of secret members contain.
const SECRET_NAMES: [&str; 8] = ["authorization", "cvc", "cvv", "otp", "password", "pin_code", "secret", "token"];
/// What secrets of the service begin with or contain.
const SECRET_PARTS: [&str; 5] = ["_secret_", "cst_", "ctl_", "eyJ", "ins_"];

/// A value of JSON without secrets: keys, tokens, client secrets, card numbers, and members whose names are those of
/// secrets. Addresses lose their query and their fragment.
pub(crate) fn redacted(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(without_secrets(&text)),
        Value::Array(items) => items.into_iter().map(redacted).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| {
                let lower = name.to_ascii_lowercase();
                let is_secret = !value.is_null() && SECRET_NAMES.iter().any(|secret| lower.contains(secret));
                (without_secrets(&name), if is_secret { REDACTED.into() } else { redacted(value) })
            })
            .collect(),
        Value::Number(number) if is_card(&number.to_string()) => REDACTED.into(),
        plain => plain,
    }
}

fn without_secrets(text: &str) -> String {
    if is_card(text) {
        return REDACTED.to_owned();
    }
    text.split_inclusive(char::is_whitespace)
        .map(|word| {
            let (word, space) = word.split_at(word.trim_end().len());
            let shown = without_query(word).unwrap_or_else(|| word.to_owned());
            let is_secret = carries_a_secret_key(&shown) || SECRET_PARTS.iter().any(|part| has_part(&shown, part));
            if is_secret { format!("{REDACTED}{space}") } else { format!("{shown}{space}") }
        })
        .collect()
}

/// Whether a word has this part of a secret, with what makes it one behind it.
fn has_part(word: &str, part: &str) -> bool {
    let is_of_a_secret = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    word.match_indices(part)
        .any(|(at, _)| word[at + part.len()..].bytes().take_while(|byte| is_of_a_secret(*byte)).count() >= 16)
}

/// An address without its query, its fragment, and its user with a password. `None` if the word is none.
fn without_query(word: &str) -> Option<String> {
    let (scheme, rest) =
        word.split_once("://").filter(|(scheme, _)| scheme.ends_with("http") || scheme.ends_with("https"))?;
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (host, path) = rest[..end].split_at(rest[..end].find('/').unwrap_or(end));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    Some(format!("{scheme}://{host}{path}"))
}

/// Whether a text has a card's number, whose digits may be in groups.
fn is_card(text: &str) -> bool {
    let is_of_a_number = |c: char| c.is_ascii_digit() || matches!(c, ' ' | '-');
    text.split(|c| !is_of_a_number(c)).any(|part| {
        let digits: String = part.chars().filter(char::is_ascii_digit).collect();
        (13..=19).contains(&digits.len()) && has_check_digit(&digits)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_removed_and_everything_else_stays() {
        for (text, shown) in [
            ("Shoes, size 42", "Shoes, size 42"),
            ("call 237670000000 at ORDER-17", "call 237670000000 at ORDER-17"),
            ("key sk_test_0123456789abcdefghij\nnow", "key ***\nnow"),
            ("pi_1aPzGzHvBpDlS6aVKdzUwW", "pi_1aPzGzHvBpDlS6aVKdzUwW"),
            ("pi_1_secret_0123456789abcdefghij", "***"),
            ("cst_test_0123456789abcdefghij", "***"),
            ("pay 4242 4242 4242 4242 please", "***"),
            ("4242-4242-4242-4243", "4242-4242-4242-4243"),
            ("client_secret", "client_secret"),
            ("see https://awa:hunter2@shop.example/paid?guichet_return=abc#x", "see https://shop.example/paid"),
            ("(https://shop.example#x", "(https://shop.example"),
            ("é://a?b", "é://a?b"),
        ] {
            assert_eq!(redacted(json!(text)), json!(shown));
        }
        let shown =
            redacted(json!({ "a": [{ "Password": "hunter2", "size": 42, "token": null }], "n": 4242424242424242_u64 }));
        assert_eq!(shown, json!({ "a": [{ "Password": "***", "size": 42, "token": null }], "n": "***" }));
    }
}
