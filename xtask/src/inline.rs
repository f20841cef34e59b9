//! The wasm as text, for the entry that carries it inside.
//!
//! Base64 hides from a compressor what repeats: the same bytes are other characters at each of three places. Here a
//! byte is one character, or a mark and one character, wherever it stands, so that the text weighs hardly more than the
//! bytes do: 3 % as brotli sends them, where base64 adds 29 %. `pkg-template/inside.js` reads it back.

/// How many values a character can say. Those above are told by a mark before it.
const VALUES: u8 = 90;
/// Before a value of the first, the second and the third ninety.
const MARKS: [&str; 3] = ["", " ", "#"];
/// What stands for the value 0; the others follow it.
const FIRST: u8 = b'$';

/// A module whose default export is the text.
pub fn module(wasm: &[u8]) -> String {
    let mut text = String::with_capacity(wasm.len() + wasm.len() / 2);
    text.push_str("export default \"");
    for byte in wasm {
        text.push_str(MARKS[usize::from(byte / VALUES)]);
        text.push(match FIRST + byte % VALUES {
            b'\\' => '~',
            plain => char::from(plain),
        });
    }
    text.push_str("\";\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_told_apart_by_plain_characters() {
        let told: Vec<String> = (0..=255).map(|byte| module(&[byte])).collect();
        for (byte, text) in told.iter().enumerate() {
            let inner = text.strip_prefix("export default \"").and_then(|text| text.strip_suffix("\";\n"));
            let inner = inner.expect("a module of one text");
            assert!(inner.bytes().all(|c| (b' '..=b'~').contains(&c) && !b"\"\\!".contains(&c)), "{byte}: {inner}");
            assert_eq!(told.iter().filter(|other| *other == text).count(), 1, "{byte}");
        }
        assert_eq!(module(b"\0asm"), "export default \"$ + = 7\";\n");
    }
}
