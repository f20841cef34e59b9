//! Secrets in a text, however they are encoded.

use aho_corasick::AhoCorasick;

/// Secrets, as they are and encoded.
pub(crate) struct Secrets(AhoCorasick);

impl Secrets {
    pub(crate) fn new(secrets: &[String]) -> Self {
        let forms = secrets.iter().flat_map(|secret| forms(secret));
        Self(AhoCorasick::new(forms).expect("a few thousand short texts"))
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        if self.0.is_match(text) {
            return true;
        }
        let plain = unescaped(text);
        // A text that a script puts together: "sk_test_0123" + "4567".
        let between = |char: &char| matches!(char, '"' | '\'' | '`' | '+' | ' ' | '\n' | '\r' | '\t');
        self.0.is_match(&plain) || self.0.is_match(&plain.chars().filter(|char| !between(char)).collect::<String>())
    }
}

/// The texts that give a secret away.
fn forms(secret: &str) -> Vec<String> {
    // What all keys of a kind begin with is in documents and in checks.
    let core = secret.rsplit('_').next().filter(|core| core.len() >= 16).unwrap_or(secret);
    if core.is_empty() {
        return Vec::new();
    }
    let hex: String = core.bytes().map(|byte| format!("{byte:02x}")).collect();
    let codes = core.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(",");
    let reversed: String = core.chars().rev().collect();
    let mut forms = vec![core.to_owned(), hex.to_uppercase(), hex, codes, reversed];
    let encoded = (0..3).map(|shift| base64_of(core, shift));
    forms.extend(encoded.flat_map(|text| [text.replace('+', "-").replace('/', "_"), text]));
    forms
}

/// The part of the base64 text that is the same whatever surrounds the secret, if it begins at this place of three
/// bytes.
fn base64_of(secret: &str, shift: usize) -> String {
    use base64::Engine;
    let mut bytes = vec![0; shift];
    bytes.extend(secret.bytes());
    let whole = bytes.len() - bytes.len() % 3;
    let encoded = base64::engine::general_purpose::STANDARD.encode(&bytes[..whole]);
    encoded[if shift == 0 { 0 } else { 4 }..].to_owned()
}

/// The text without the escapes of addresses (`%5F`), of JSON (`\u005f`, `\x5f`) and of HTML (`&#95;`, `&#x5f;`).
fn unescaped(text: &str) -> String {
    let text = percent_encoding::percent_decode_str(text).decode_utf8_lossy();
    let mut plain = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(place) = rest.find(['\\', '&']) {
        plain.push_str(&rest[..place]);
        rest = &rest[place..];
        match escape(rest) {
            Some((char, length)) => {
                plain.push(char);
                rest = &rest[length..];
            }
            None => {
                plain.push_str(&rest[..1]);
                rest = &rest[1..];
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// The character that an escape at the start of the text stands for, and the escape's length.
fn escape(text: &str) -> Option<(char, usize)> {
    let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    if text.starts_with("\\u") {
        return Some((number(text.get(2..6)?, 16)?, 6));
    }
    if text.starts_with("\\x") {
        return Some((number(text.get(2..4)?, 16)?, 4));
    }
    let end = text.find(';').filter(|end| *end < 10)?;
    let digits = text.strip_prefix("&#")?.get(..end - 2)?;
    let hex = digits.strip_prefix(['x', 'X']);
    Some((hex.map_or_else(|| number(digits, 10), |hex| number(hex, 16))?, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_however_it_is_encoded() {
        let secrets = Secrets::new(&["sk_test_0123456789abcdefghijklmn".to_owned()]);
        for text in [
            "key=sk_test_0123456789abcdefghijklmn;",
            r#"{"key":"\u0073k_test_0123456789abcdefghijklm\u006e"}"#,
            "sk_test_0123456789abcdefghijklm%6e",
            "sk_test_0123456789abcdefghijklm&#x6e;",
            r#""sk_test_0123456" + "789abcdefghijklmn""#,
            "const key = [\"0123456789\",\n 'abcdefghijklmn']".replace(',', "+").as_str(),
            "c2tfdGVzdF8wMTIzNDU2Nzg5YWJjZGVmZ2hpamtsbW4=",
            "QmVhcmVyIHNrX3Rlc3RfMDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1u",
            "3031323334353 63738396162636465666768 696a6b6c6d6e".replace(' ', "").as_str(),
        ] {
            assert!(secrets.is_in(text), "{text}");
        }
        for text in ["", "sk_test_", "sk_test_0123456789abcdefghijklmo", "&#; \\u12 \\ & %"] {
            assert!(!secrets.is_in(text), "{text}");
        }
    }
}
