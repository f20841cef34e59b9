//! Writes a wasm as a JavaScript module, for the entry that contains it.
//!
//! Base64 compresses badly, because equal bytes become different characters depending on their position. Here each byte
//! is one character, or a mark and one character, wherever it is. With brotli the text is 3 % larger than the bytes;
//! base64 is 29 % larger.
//!
//! The module has the decoder and imports nothing: bundlers then make no third file, which it would share with another
//! module.

/// The number of values that one character encodes. Greater values have a mark before the character.
const VALUES: u8 = 90;
/// The marks of the groups of ninety values.
const MARKS: [&str; 3] = ["", " ", "#"];
/// The character for the value 0; the others follow it.
const FIRST: u8 = b'$';
const DECODER: &str = include_str!("inline.js");

/// A JavaScript module whose default export is a function that returns the bytes.
pub fn module(wasm: &[u8]) -> String {
    let mut text = String::with_capacity(wasm.len() + wasm.len() / 2);
    text.push_str("const text = \"");
    for byte in wasm {
        text.push_str(MARKS[usize::from(byte / VALUES)]);
        text.push(match FIRST + byte % VALUES {
            b'\\' => '~',
            plain => char::from(plain),
        });
    }
    text.push_str("\";\n");
    text + DECODER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_own_printable_characters() {
        let encoded: Vec<String> = (0..=255).map(|byte| module(&[byte])).collect();
        for (byte, text) in encoded.iter().enumerate() {
            let inner =
                text.strip_prefix("const text = \"").and_then(|text| text.strip_suffix(&format!("\";\n{DECODER}")));
            let inner = inner.expect("a module of one text");
            assert!(inner.bytes().all(|c| (b' '..=b'~').contains(&c) && !b"\"\\!".contains(&c)), "{byte}: {inner}");
            assert_eq!(encoded.iter().filter(|other| *other == text).count(), 1, "{byte}");
        }
        assert_eq!(module(b"\0asm"), format!("const text = \"$ + = 7\";\n{DECODER}"));
    }
}
