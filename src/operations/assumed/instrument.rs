//! How a payment method is written in a body.

use crate::protocol::{FromField, whole};
use crate::values::{Invalid, Phone};
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// What a customer pays with. Its `Debug` shows neither a phone nor a card number.
#[derive(Clone, Eq, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub enum Instrument {
    /// A card.
    Card {
        /// What is on it.
        card: Card,
    },
    /// A mobile money account.
    MobileMoney {
        /// The phone it belongs to.
        phone: Phone,
    },
}

/// What is on a card. Its `Debug` shows nothing of it.
#[derive(Clone, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct Card {
    /// The number, digits only.
    #[cfg_attr(feature = "sandbox", schemars(extend("x-guichet-known" = "test_cards")))]
    pub number: String,
    /// The month it expires in, 1 to 12.
    #[cfg_attr(feature = "sandbox", schemars(range(min = 1, max = 12)))]
    pub exp_month: u8,
    /// The year it expires in, four digits.
    #[cfg_attr(feature = "sandbox", schemars(range(min = 2000, max = 2999)))]
    pub exp_year: u16,
    /// The three or four digits on its back.
    #[cfg_attr(feature = "sandbox", schemars(regex(pattern = "^[0-9]{3,4}$")))]
    pub cvc: String,
}

impl fmt::Debug for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Card(***)")
    }
}

impl fmt::Debug for Instrument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Card { .. } => "Card(***)",
            Self::MobileMoney { .. } => "MobileMoney(***)",
        })
    }
}

impl FromField for Instrument {
    fn from_field(value: &Value) -> Result<Self, Invalid> {
        let kind = value.get("type").and_then(Value::as_str);
        match kind {
            Some("mobile_money") => match value.get("phone") {
                Some(phone) => Ok(Self::MobileMoney { phone: Phone::from_field(phone)? }),
                None => Err(Invalid::because(
                    "Mobile money needs a phone: {\"type\":\"mobile_money\",\"phone\":\"237670000000\"}.",
                )),
            },
            Some("card") => Ok(Self::Card { card: Card::from_field(value.get("card").unwrap_or(&Value::Null))? }),
            _ => Err(Invalid::because("A payment method is an object whose type is mobile_money or card.")),
        }
    }
}

impl FromField for Card {
    fn from_field(value: &Value) -> Result<Self, Invalid> {
        let digits = |name: &str, least: usize, most: usize| {
            value
                .get(name)
                .and_then(Value::as_str)
                .filter(|text| (least..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit()))
                .map(str::to_owned)
        };
        let number = |name: &str| value.get(name).and_then(whole);
        Ok(Self {
            number: digits("number", 12, 19).ok_or(Invalid::because("card.number is a string of 12 to 19 digits."))?,
            exp_month: number("exp_month")
                .and_then(|month| u8::try_from(month).ok())
                .filter(|month| (1..=12).contains(month))
                .ok_or(Invalid::because("card.exp_month is a number from 1 to 12."))?,
            exp_year: number("exp_year")
                .and_then(|year| u16::try_from(year).ok())
                .filter(|year| (2000..=2999).contains(year))
                .ok_or(Invalid::because("card.exp_year is a year of four digits."))?,
            cvc: digits("cvc", 3, 4).ok_or(Invalid::because("card.cvc is a string of 3 or 4 digits."))?,
        })
    }
}
