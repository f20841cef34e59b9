//! Base62: the digits of tokens and identifiers.

/// Encodes big-endian bytes as a base-62 number with a fixed number of digits, most significant first. It needs no
/// escaping in an address.
#[must_use]
pub fn base62(bytes: &[u8], digits: usize) -> String {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    // In limbs of 32 bits: dividing once per byte would be measurably slow, since every row has an identifier.
    let limb = |four: &[u8]| four.iter().fold(0u32, |limb, byte| limb << 8 | u32::from(*byte));
    let mut limbs: Vec<u32> = bytes.rchunks(4).rev().map(limb).collect();
    let mut text = vec![b'0'; digits];
    for digit in text.iter_mut().rev() {
        let mut rest = 0u64;
        for limb in &mut limbs {
            let dividend = rest << 32 | u64::from(*limb);
            *limb = u32::try_from(dividend / 62).expect("a rest is below 62, so a quotient is below 2^32");
            rest = dividend % 62;
        }
        *digit = ALPHABET[usize::try_from(rest).expect("a rest is below 62")];
    }
    text.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base62_counts_in_digits_letters_and_small_letters() {
        assert_eq!(base62(&[0; 16], 22), "0".repeat(22));
        assert_eq!(base62(&[62], 2), "10");
        assert_eq!(base62(&[0, 0, 0, 62], 4), "0010");
        assert_eq!(base62(&[1, 0, 0, 0, 0], 6), "4gfFC4", "the first limb may be short");
        assert_eq!(base62(&[0xff; 16], 22), "7n42DGM5Tflk9n8mt7Fhc7");
        assert_eq!(base62(&[0xff; 32], 43).len(), 43);
    }
}
