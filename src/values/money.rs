use super::{Invalid, text_value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// An amount of money in the smallest unit of its currency, written as a string: `"5000"` is 5 000 XAF or 50.00 USD.
///
/// One to fifteen digits, not beginning with zero.
///
/// ```
/// use guichet::values::Amount;
/// assert_eq!(Amount::new("5000").unwrap().units(), 5000);
/// assert!(Amount::new("5.5").is_err());
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Amount(u64);

impl Amount {
    /// Checks the text.
    ///
    /// # Errors
    /// [`Invalid`] for anything but `^[1-9][0-9]{0,14}$`.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        match whole_number(text) {
            Some(units) if text.len() <= 15 && !text.starts_with('0') => Ok(Self(units)),
            _ => Err(Invalid::because(
                "An amount is a string of 1 to 15 digits in the smallest currency unit, not beginning with 0: \"5000\".",
            )),
        }
    }

    /// The amount, counted in the smallest unit.
    #[must_use]
    pub fn units(self) -> u64 {
        self.0
    }

    /// The amount as it is written: its digits.
    #[must_use]
    pub fn digits(self) -> String {
        self.0.to_string()
    }
}

/// The number that 1 to 18 digits write. `parse` also takes a sign.
pub(crate) fn whole_number(text: &str) -> Option<u64> {
    let is_one = text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_one)
}

#[cfg(feature = "sandbox")]
super::described! { Amount: schemars::json_schema!({ "type": "string", "pattern": "^[1-9][0-9]{0,14}$" }) }

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::str::FromStr for Amount {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::new(text)
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.digits())
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

/// The currencies whose smallest unit is known, and how many decimals it stands for.
const KNOWN: [(&str, u8); 9] =
    [("XAF", 0), ("XOF", 0), ("RWF", 0), ("UGX", 0), ("NGN", 2), ("GHS", 2), ("KES", 2), ("USD", 2), ("EUR", 2)];

text_value! {
    /// A currency by its three-letter ISO 4217 code, in capitals: `XAF`.
    ///
    /// ```
    /// use guichet::values::Currency;
    /// assert_eq!(Currency::new("XAF"), Ok(Currency::xaf()));
    /// assert_eq!(Currency::xaf().exponent(), Some(0));
    /// ```
    Currency, |text| {
        if text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase()) {
            Ok(())
        } else {
            Err(Invalid::because("A currency is its three-letter ISO code in capitals: XAF."))
        }
    }, described { "enum": KNOWN.map(|(code, _)| code) }
}

impl Currency {
    /// The Central African franc, the document's default. It has no smaller unit.
    #[must_use]
    pub fn xaf() -> Self {
        Self("XAF".into())
    }

    /// How many decimals the smallest unit stands for, where it is known (a decision of ours): XAF 0, USD 2.
    #[must_use]
    pub fn exponent(&self) -> Option<u8> {
        KNOWN.iter().find(|(code, _)| *code == self.as_str()).map(|(_, exponent)| *exponent)
    }
}

impl Default for Currency {
    fn default() -> Self {
        Self::xaf()
    }
}
