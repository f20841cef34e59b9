use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
#[cfg(not(all(target_arch = "wasm32", feature = "browser")))]
use serde_json::value::RawValue;
use std::fmt;

/// A number of a reply, kept as the text it was sent in: `145.10` stays `145.10`, and no float ever holds money.
///
/// ```
/// use guichet::values::Figure;
/// let fee: Figure = serde_json::from_str("145.10").unwrap();
/// assert_eq!(fee.as_str(), "145.10");
/// ```
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Figure(String);

impl Figure {
    /// The text of the number.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The figure as a whole number of smallest units; `None` where it has a fraction or does not fit.
    #[must_use]
    pub fn units(&self) -> Option<u64> {
        self.0.parse().ok()
    }
}

impl Figure {
    fn read(text: &str) -> Option<Self> {
        let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-') && text.len() <= 64;
        is_number.then(|| Self(text.to_owned()))
    }
}

impl From<u64> for Figure {
    fn from(units: u64) -> Self {
        Self(units.to_string())
    }
}

#[cfg(feature = "sandbox")]
super::described! { Figure: schemars::json_schema!({ "type": "number" }) }

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Figure {
    /// Writes a whole number as a JSON number, and any other as its text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.units() {
            Some(units) => serializer.serialize_u64(units),
            None => serializer.serialize_str(&self.0),
        }
    }
}

#[cfg(all(target_arch = "wasm32", feature = "browser"))]
impl<'de> Deserialize<'de> for Figure {
    /// Reads a number as JavaScript writes it, or a string that a service uses in its place.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Sent {
            Whole(i64),
            Number(f64),
            Text(String),
        }
        let text = match Sent::deserialize(deserializer)? {
            Sent::Whole(number) => number.to_string(),
            Sent::Number(number) => number.to_string(),
            Sent::Text(text) => text,
        };
        Self::read(&text).ok_or_else(|| D::Error::custom("expected a number"))
    }
}

#[cfg(not(all(target_arch = "wasm32", feature = "browser")))]
impl<'de> Deserialize<'de> for Figure {
    /// Reads a JSON number, or a string that a service uses in its place.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::read(raw.get().trim_matches('"')).ok_or_else(|| D::Error::custom("expected a number"))
    }
}
