//! The service's half of the resources that are declared by hand.

use super::{After, ApprovableUntil, PaidWith};
use crate::protocol::{GREATEST_INTEGER, as_serialized};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

as_serialized!(ApprovableUntil, PaidWith);

/// Our own service replies with the whole of it.
impl<T: JsonSchema> JsonSchema for After<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

described! { ApprovableUntil: json_schema!({
    "type": ["integer", "null"],
    "description": "Until when the operator may still approve what it has declined, in Unix seconds. Null: its word is final.",
}) }

described! { PaidWith: json_schema!({
    "oneOf": [
        {
            "type": "object",
            "required": ["type", "brand", "last4"],
            "properties": {
                "type": { "const": "card" },
                "brand": { "enum": ["visa", "mastercard"] },
                "last4": { "type": "string", "pattern": "^[0-9]{4}$" },
            },
        },
        {
            "type": "object",
            "required": ["type", "phone", "operator"],
            "properties": {
                "type": { "const": "mobile_money" },
                "phone": { "type": "string", "description": "Its middle is hidden.", "pattern": r"^[0-9]{3}[0-9*]{4,12}$" },
                "operator": {
                    "type": ["object", "null"],
                    "description": "Its operator, if it is known.",
                    "required": ["code", "name"],
                    "properties": { "code": { "type": "string" }, "name": { "type": "string" } },
                },
            },
        },
    ],
}) }

/// The JSON schema of an item's price.
pub(super) struct Price;

described! { Price: json_schema!({
    "anyOf": [
        { "type": "integer", "minimum": 0, "maximum": GREATEST_INTEGER },
        { "type": "string", "pattern": "^[0-9]{1,18}$" },
    ],
}) }
