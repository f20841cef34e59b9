//! The two forms of an amount in a request: whole units of 1 to 15 digits, as a JSON string, or as a JSON number if the
//! field says `number`.

use crate::protocol::{ErrorCode, FieldType, whole};
use crate::values::{Amount, Invalid};
use serde::{Serializer, ser::Error};
use serde_json::Value;

/// A string of digits: `"5000"`.
impl FieldType for Amount {
    type Holds = Self;
    fn read(value: &Value) -> Result<Self, Invalid> {
        let expected = "Send it as a string of digits, in the smallest currency unit: \"5000\".";
        Self::of_request(value.as_str().ok_or(Invalid::because(expected))?)
    }

    fn write<S: Serializer>(amount: &Amount, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&requestable::<S>(amount)?.to_string())
    }

    /// `AmountOutOfRange` for a string of digits that is too small or too large, `ParameterInvalid` for any other
    /// value.
    fn refusal(value: &Value) -> ErrorCode {
        let digits = value.as_str().map(|text| text.strip_prefix('-').unwrap_or(text)).unwrap_or_default();
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && (digits == "0" || !digits.starts_with('0')) {
            ErrorCode::AmountOutOfRange
        } else {
            ErrorCode::ParameterInvalid
        }
    }
}

/// A JSON number: `5000`.
pub(crate) enum AmountNumber {}

impl FieldType for AmountNumber {
    type Holds = Amount;
    fn read(value: &Value) -> Result<Amount, Invalid> {
        let amount = whole(value).map(Amount::units).filter(|amount| amount.requestable().is_some());
        amount.ok_or(Invalid::because(
            "A plan's amount is a whole JSON number in the smallest currency unit, of 1 to 15 digits and not 0: 5000.",
        ))
    }

    fn write<S: Serializer>(amount: &Amount, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(requestable::<S>(amount)?)
    }

    fn refusal(value: &Value) -> ErrorCode {
        if value.is_i64() || whole(value).is_some() { ErrorCode::AmountOutOfRange } else { ErrorCode::ParameterInvalid }
    }
}

described! { AmountNumber: schemars::json_schema!({
    "type": "integer", "minimum": 1, "maximum": 999_999_999_999_999_u64,
}) }

/// Returns the whole units of an amount, or an error if a request cannot carry them.
fn requestable<S: Serializer>(amount: &Amount) -> Result<u64, S::Error> {
    amount.requestable().ok_or_else(|| S::Error::custom("a request carries 1 to 999999999999999 whole units"))
}
