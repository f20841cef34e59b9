//! The payment method of a payment, as a reply shows it.

use super::Operator;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A payment method, as far as a reply shows it.
///
/// ```
/// use guichet::operations::PaidWith;
/// let paid_with: PaidWith = guichet::protocol::decode(br#"{"type": "card", "brand": "visa", "last4": "4242"}"#)?;
/// assert!(matches!(paid_with, PaidWith::Card { brand, .. } if brand == "visa"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum PaidWith {
    /// A card.
    Card {
        /// Its brand: `visa`, `mastercard`, or a word of the service.
        brand: String,
        /// The last four digits of its number.
        last4: String,
    },
    /// A mobile money account.
    MobileMoney {
        /// Its phone number; the middle is hidden.
        phone: String,
        /// Its operator, if it is known (a decision).
        #[serde(default)]
        operator: Option<Operator>,
    },
    /// A method that this version does not know, as the service writes it.
    #[serde(untagged)]
    Other(Value),
}

impl PaidWith {
    /// Its type, such as `mobile_money`; none if the service does not say.
    #[must_use]
    pub fn kind(&self) -> Option<&str> {
        match self {
            Self::Card { .. } => Some("card"),
            Self::MobileMoney { .. } => Some("mobile_money"),
            Self::Other(other) => other.get("type")?.as_str(),
        }
    }
}
