//! What a file weighs: as it is, and as a server sends it.

use std::fmt;
use std::io::Write as _;

/// Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight {
    pub raw: usize,
    pub gzip: usize,
    pub brotli: usize,
}

/// Two files that a page loads.
impl std::ops::Add for Weight {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { raw: self.raw + other.raw, gzip: self.gzip + other.gzip, brotli: self.brotli + other.brotli }
    }
}

impl Weight {
    /// Stands above the columns that a weight prints.
    pub const TITLE: &str = "     raw  gzip -9  brotli -11";

    pub fn of(bytes: &[u8]) -> Self {
        Self { raw: bytes.len(), gzip: gzip(bytes), brotli: brotli(bytes) }
    }

    /// One word that `from_key` reads.
    pub fn key(self) -> String {
        format!("{}/{}/{}", self.raw, self.gzip, self.brotli)
    }

    pub fn from_key(key: &str) -> Option<Self> {
        let mut sizes = key.split('/').map(str::parse);
        let mut size = || sizes.next()?.ok();
        Some(Self { raw: size()?, gzip: size()?, brotli: size()? })
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>8}  {:>7}  {:>10}", self.raw, self.gzip, self.brotli)
    }
}

fn gzip(bytes: &[u8]) -> usize {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("writing to memory cannot fail").len()
}

fn brotli(bytes: &[u8]) -> usize {
    let mut out = Vec::new();
    let params =
        brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 22, size_hint: bytes.len(), ..Default::default() };
    brotli::BrotliCompress(&mut &bytes[..], &mut out, &params).expect("writing to memory cannot fail")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_text_weighs_less_as_a_server_sends_it() {
        let weight = Weight::of("un guichet, ".repeat(100).as_bytes());
        assert_eq!(weight.raw, 1200);
        assert!(weight.gzip < 100, "{weight}");
        assert!(weight.brotli < weight.gzip, "{weight}");
    }

    #[test]
    fn a_weight_is_read_back_from_its_key() {
        let weight = Weight::of(b"guichet");
        assert_eq!(Weight::from_key(&weight.key()), Some(weight));
        assert_eq!(Weight::from_key("1/2"), None);
    }
}
