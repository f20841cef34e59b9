//! The types of an operation's fields: each reads and writes itself.

use super::{ErrorCode, FieldError};
use crate::values::{GREATEST_INTEGER, Invalid, TextValue};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// How the service reads a field of an operation, and how a client writes it.
///
/// A field's own type is its `FieldType`, unless the field says `number`, or has `min` or `max`: one Rust type may have
/// several forms. A form that cannot be derived (a union, free key-value pairs, a number in two forms) implements this
/// trait by hand.
///
/// ```
/// use guichet::protocol::FieldType;
/// use guichet::values::Email;
/// assert!(Email::read(&"awa@example.com".into()).is_ok());
/// assert!(Email::read(&"awa".into()).is_err());
/// ```
pub trait FieldType {
    /// The Rust type of the field.
    type Holds;

    /// Reads the field of a request, as the service does.
    ///
    /// # Errors
    /// [`Invalid`] says what the field should be.
    fn read(value: &Value) -> Result<Self::Holds, Invalid>;

    /// Writes the field of a request, as a client does.
    ///
    /// # Errors
    /// The serializer's own, and its `custom` for a value that a request cannot carry.
    fn write<S: Serializer>(value: &Self::Holds, serializer: S) -> Result<S::Ok, S::Error>;

    /// The error code for a value that [`FieldType::read`] has refused.
    fn refusal(_: &Value) -> ErrorCode {
        ErrorCode::ParameterInvalid
    }

    /// The errors of a value that [`FieldType::read`] has refused: several, if it has members.
    fn refused(param: &str, value: &Value, invalid: &Invalid) -> Vec<FieldError> {
        vec![FieldError::of(param, &Self::refusal(value), invalid.reason())]
    }
}

/// A field as a client writes it.
pub(crate) struct Written<'a, F: FieldType>(pub &'a F::Holds);

impl<F: FieldType> Serialize for Written<'_, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        F::write(self.0, serializer)
    }
}

/// The half of a [`FieldType`] that serde derives: the field is written by its own type.
macro_rules! written_by_its_type {
    () => {
        type Holds = Self;

        fn write<S: serde::Serializer>(value: &Self, serializer: S) -> Result<S::Ok, S::Error> {
            serde::Serialize::serialize(value, serializer)
        }
    };
}
pub(crate) use written_by_its_type;

impl<T: TextValue> FieldType for T {
    fn read(value: &Value) -> Result<Self, Invalid> {
        value.as_str().ok_or(Invalid::because("It must be a string."))?.parse()
    }

    written_by_its_type!();
}

impl FieldType for String {
    /// Reads a text that is not empty and not only white space.
    fn read(value: &Value) -> Result<Self, Invalid> {
        match value.as_str() {
            Some(text) if !text.trim().is_empty() => Ok(text.to_owned()),
            _ => Err(Invalid::because("It must be a string that is not empty.")),
        }
    }

    written_by_its_type!();
}

impl FieldType for bool {
    fn read(value: &Value) -> Result<Self, Invalid> {
        value.as_bool().ok_or(Invalid::because("It must be true or false."))
    }

    written_by_its_type!();
}

/// A `bool` in a query.
pub(crate) enum Switch {}

impl FieldType for Switch {
    type Holds = bool;
    fn read(value: &Value) -> Result<bool, Invalid> {
        match value.as_str() {
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            _ => Err(Invalid::because("It must be true or false.")),
        }
    }

    fn write<S: Serializer>(value: &bool, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(*value)
    }
}

described! { Switch: schemars::json_schema!({ "type": "boolean" }) }

/// A whole JSON number from `LEAST` to `MOST`.
///
/// ```
/// use guichet::protocol::{FieldType, Whole};
/// assert_eq!(Whole::<1, 10>::read(&7.into()), Ok(7));
/// assert!(Whole::<1, 10>::read(&11.into()).is_err());
/// ```
#[derive(Debug)]
pub enum Whole<const LEAST: u32, const MOST: u32> {}

impl<const LEAST: u32, const MOST: u32> FieldType for Whole<LEAST, MOST> {
    type Holds = u32;
    fn read(value: &Value) -> Result<u32, Invalid> {
        let number = whole(value).and_then(|number| u32::try_from(number).ok());
        let inside = number.filter(|number| (LEAST..=MOST).contains(number));
        inside.ok_or_else(|| Invalid::because(format!("It must be a whole number from {LEAST} to {MOST}.")))
    }

    fn write<S: Serializer>(value: &u32, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(*value)
    }
}

described! { Whole<const LEAST: u32, const MOST: u32>: schemars::json_schema!({
    "type": "integer", "minimum": LEAST, "maximum": MOST,
}) }

/// The whole number of a JSON number that is not negative, up to 2^53. JSON knows one kind of number: `7.0` is 7.
#[must_use]
pub fn whole(value: &Value) -> Option<u64> {
    let of_a_fraction = |number: f64| {
        let is_exact = (0.0..=GREATEST_INTEGER as f64).contains(&number) && number.fract() == 0.0;
        is_exact.then_some(number as u64)
    };
    value.as_u64().or_else(|| value.as_f64().and_then(of_a_fraction)).filter(|number| *number <= GREATEST_INTEGER)
}

impl<F: FieldType> FieldType for Vec<F> {
    type Holds = Vec<F::Holds>;
    fn read(value: &Value) -> Result<Self::Holds, Invalid> {
        value.as_array().ok_or(Invalid::because("It must be an array."))?.iter().map(F::read).collect()
    }

    fn write<S: Serializer>(value: &Self::Holds, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(value.iter().map(Written::<F>))
    }
}

/// Free key-value pairs.
impl FieldType for BTreeMap<String, Value> {
    fn read(value: &Value) -> Result<Self, Invalid> {
        let object = value.as_object().ok_or(Invalid::because("It must be an object of key-value pairs."))?;
        Ok(object.iter().map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    written_by_its_type!();
}
