use super::{Invalid, TextValue};
use serde::{Serialize, Serializer};

/// The number of entries in a page of a list: 1 to 100 (a decision; the default is 100).
///
/// ```
/// use guichet::values::PageLimit;
/// assert_eq!(PageLimit::new(20).unwrap().entries(), 20);
/// assert!(PageLimit::new(0).is_err());
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PageLimit(u8);

impl PageLimit {
    /// Checks the number.
    ///
    /// # Errors
    /// [`Invalid`] for anything but 1 to 100.
    pub fn new(entries: u8) -> Result<Self, Invalid> {
        if (1..=100).contains(&entries) {
            Ok(Self(entries))
        } else {
            Err(Invalid::because("A limit is a number from 1 to 100."))
        }
    }

    /// The number.
    #[must_use]
    pub fn entries(self) -> u8 {
        self.0
    }
}

#[cfg(feature = "service")]
super::described! { PageLimit: schemars::json_schema!({ "type": "integer", "minimum": 1, "maximum": 100 }) }

impl Default for PageLimit {
    fn default() -> Self {
        Self(100)
    }
}

impl TextValue for PageLimit {}

impl std::str::FromStr for PageLimit {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        // Digits only: the parser would also accept `+5`.
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        Self::new(text.parse().ok().filter(|_| digits).unwrap_or(0))
    }
}

impl Serialize for PageLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.0)
    }
}
