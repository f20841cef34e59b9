//! Amounts as texts in any format: the amount of a reply is read only as JSON.

use crate::values::Amount;
use serde::{Deserialize, Deserializer, de::Error};

pub(super) fn required<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Amount, D::Error> {
    Amount::new(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

pub(super) fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Amount>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| Amount::new(&text).map_err(D::Error::custom)).transpose()
}
