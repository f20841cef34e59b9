//! The payment method of a request.

use super::schema;
use crate::protocol::{ErrorCode, FieldError, FieldType, whole, written_by_its_type};
use crate::values::{Invalid, OperatorCode, Phone};
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// A payment method: a card or a mobile money account. Its `Debug` shows neither a phone nor a card number.
///
/// ```
/// use guichet::operations::Instrument;
/// use guichet::values::Phone;
/// let phone = Instrument::mobile_money(Phone::new("237670000000")?);
/// assert_eq!(format!("{phone:?}"), "MobileMoney(***)");
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
#[schema]
#[derive(Clone, Eq, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Instrument {
    /// A card.
    Card {
        /// The card's details.
        card: Card,
    },
    /// A mobile money account.
    MobileMoney {
        /// The phone it belongs to.
        phone: Phone,
        /// The operator that the customer has chosen. Without one, the service takes the operator of the phone's
        /// prefix.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("x-guichet-known" = "operators"))]
        operator: Option<OperatorCode>,
    },
}

impl Instrument {
    /// A mobile money account by its phone, with the operator of its prefix.
    #[must_use]
    pub fn mobile_money(phone: Phone) -> Self {
        Self::MobileMoney { phone, operator: None }
    }
}

/// The details of a card. Its `Debug` shows none of them.
///
/// ```
/// use guichet::operations::{Card, Instrument};
/// let card = Card { number: "4242424242424242".into(), exp_month: 12, exp_year: 2034, cvc: "123".into() };
/// let card = Instrument::Card { card };
/// ```
#[schema]
#[derive(Clone, Eq, PartialEq, Serialize)]
pub struct Card {
    /// The number, digits only.
    #[schemars(extend("x-guichet-known" = "test_cards"))]
    pub number: String,
    /// The month it expires in, 1 to 12.
    #[schemars(range(min = 1, max = 12))]
    pub exp_month: u8,
    /// The year it expires in, four digits.
    #[schemars(range(min = 2000, max = 2999))]
    pub exp_year: u16,
    /// The three or four digits on its back.
    #[schemars(regex(pattern = "^[0-9]{3,4}$"))]
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

impl FieldType for Instrument {
    fn read(value: &Value) -> Result<Self, Invalid> {
        let kind = value.get("type").and_then(Value::as_str);
        match kind {
            Some("mobile_money") => match value.get("phone") {
                Some(phone) => {
                    let operator = value.get("operator").filter(|operator| !operator.is_null());
                    Ok(Self::MobileMoney {
                        phone: Phone::read(phone)?,
                        operator: operator.map(OperatorCode::read).transpose()?,
                    })
                }
                None => Err(Invalid::because(
                    "Mobile money needs a phone: {\"type\":\"mobile_money\",\"phone\":\"237670000000\"}.",
                )),
            },
            Some("card") => Ok(Self::Card { card: Card::read(value.get("card").unwrap_or(&Value::Null))? }),
            _ => Err(Invalid::because("A payment method is an object whose type is mobile_money or card.")),
        }
    }

    /// Returns all errors of a card together, each under the name of its member.
    fn refused(param: &str, value: &Value, invalid: &Invalid) -> Vec<FieldError> {
        let Some(card) = value.get("card").filter(|card| value["type"] == "card" && card.is_object()) else {
            return vec![FieldError::of(param, &Self::refusal(value), invalid.reason())];
        };
        let members = MEMBERS.iter().filter_map(|(name, check)| {
            let member = card.get(name).unwrap_or(&Value::Null);
            let code = if member.is_null() { ErrorCode::ParameterMissing } else { ErrorCode::ParameterInvalid };
            let invalid = check(member).err()?;
            Some(FieldError::of(&format!("{param}.card.{name}"), &code, invalid.reason()))
        });
        members.collect()
    }

    written_by_its_type!();
}

impl Card {
    fn read(value: &Value) -> Result<Self, Invalid> {
        let member = |name: &str| value.get(name).unwrap_or(&Value::Null);
        Ok(Self {
            number: Self::check_number(text(member("number")))?,
            exp_month: Self::check_month(number(member("exp_month")))?,
            exp_year: Self::check_year(number(member("exp_year")))?,
            cvc: Self::check_cvc(text(member("cvc")))?,
        })
    }

    pub(crate) fn check_number(text: &str) -> Result<String, Invalid> {
        digits(text, 12, 19, "A card number is a string of 12 to 19 digits.")
    }

    pub(crate) fn check_cvc(text: &str) -> Result<String, Invalid> {
        digits(text, 3, 4, "A security code is a string of 3 or 4 digits.")
    }

    pub(crate) fn check_month(month: Option<u16>) -> Result<u8, Invalid> {
        let month = month.filter(|month| (1..=12).contains(month));
        month.map(|month| month as u8).ok_or(Invalid::because("A card's month is a number from 1 to 12."))
    }

    pub(crate) fn check_year(year: Option<u16>) -> Result<u16, Invalid> {
        let year = year.filter(|year| (2000..=2999).contains(year));
        year.ok_or(Invalid::because("A card's year is a number of four digits."))
    }
}

/// The members of a card.
const MEMBERS: [Member; 4] = [
    ("number", |value| Card::check_number(text(value)).map(drop)),
    ("exp_month", |value| Card::check_month(number(value)).map(drop)),
    ("exp_year", |value| Card::check_year(number(value)).map(drop)),
    ("cvc", |value| Card::check_cvc(text(value)).map(drop)),
];

/// A member's name, and the check of its value.
type Member = (&'static str, fn(&Value) -> Result<(), Invalid>);

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn number(value: &Value) -> Option<u16> {
    u16::try_from(whole(value)?).ok()
}

fn digits(text: &str, least: usize, most: usize, otherwise: &'static str) -> Result<String, Invalid> {
    let are_digits = (least..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if are_digits { Ok(text.to_owned()) } else { Err(Invalid::because(otherwise)) }
}
