use super::Invalid;
use serde::{Serialize, Serializer};

/// The number of eSIMs in an order: 1 to 5. The document's default is 1.
///
/// ```
/// use guichet::values::EsimQuantity;
/// assert_eq!(EsimQuantity::new(5).unwrap().number(), 5);
/// assert!(EsimQuantity::new(6).is_err());
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct EsimQuantity(u8);

impl EsimQuantity {
    /// Checks the number.
    ///
    /// # Errors
    /// [`Invalid`] for anything but 1 to 5.
    pub fn new(number: u8) -> Result<Self, Invalid> {
        if (1..=5).contains(&number) {
            Ok(Self(number))
        } else {
            Err(Invalid::because("A quantity is a whole number from 1 to 5: an order holds five eSIMs at most."))
        }
    }

    /// The number.
    #[must_use]
    pub fn number(self) -> u8 {
        self.0
    }
}

#[cfg(feature = "service")]
super::described! { EsimQuantity: schemars::json_schema!({ "type": "integer", "minimum": 1, "maximum": 5 }) }

impl Default for EsimQuantity {
    fn default() -> Self {
        Self(1)
    }
}

impl Serialize for EsimQuantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.0)
    }
}
