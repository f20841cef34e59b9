//! Writing JSON, of what a customer sends: the library's would weigh more than all that is written.

use crate::protocol::{Unwritable, refuse};
use crate::values::digits;
use serde::Serialize;
use serde::ser::{Impossible, SerializeStruct, Serializer};

/// A value as JSON; `None` where it is absent. It writes what a customer sends: texts, whole numbers, yes and no, and
/// structs of these.
pub(crate) fn write_json<T: Serialize + ?Sized>(value: &T) -> Result<Option<String>, Unwritable> {
    value.serialize(Json(String::new()))
}

struct Json(String);

/// A text in quotation marks.
fn quoted(text: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut json = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                json.push('\\');
                json.push(c);
            }
            '\0'..='\u{1f}' => {
                json.push_str("\\u00");
                json.push(char::from(HEX[(c as usize >> 4) & 1]));
                json.push(char::from(HEX[c as usize & 15]));
            }
            _ => json.push(c),
        }
    }
    json.push('"');
    json
}

impl SerializeStruct for Json {
    type Ok = Option<String>;
    type Error = Unwritable;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Unwritable> {
        if let Some(json) = write_json(value)? {
            for part in [if self.0.is_empty() { "{\"" } else { ",\"" }, name, "\":", &json] {
                self.0.push_str(part);
            }
        }
        Ok(())
    }

    fn end(mut self) -> Result<Option<String>, Unwritable> {
        self.0.push_str(if self.0.is_empty() { "{}" } else { "}" });
        Ok(Some(self.0))
    }
}

impl Serializer for Json {
    type Ok = Option<String>;
    type Error = Unwritable;
    type SerializeSeq = Impossible<Self::Ok, Unwritable>;
    type SerializeTuple = Impossible<Self::Ok, Unwritable>;
    type SerializeTupleStruct = Impossible<Self::Ok, Unwritable>;
    type SerializeTupleVariant = Impossible<Self::Ok, Unwritable>;
    type SerializeMap = Impossible<Self::Ok, Unwritable>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Impossible<Self::Ok, Unwritable>;

    fn serialize_str(self, text: &str) -> Result<Self::Ok, Unwritable> {
        Ok(Some(quoted(text)))
    }
    fn serialize_bool(self, yes: bool) -> Result<Self::Ok, Unwritable> {
        Ok(Some(String::from(if yes { "true" } else { "false" })))
    }
    fn serialize_u8(self, number: u8) -> Result<Self::Ok, Unwritable> {
        Ok(Some(digits(number.into())))
    }
    fn serialize_u16(self, number: u16) -> Result<Self::Ok, Unwritable> {
        Ok(Some(digits(number.into())))
    }
    fn serialize_u32(self, number: u32) -> Result<Self::Ok, Unwritable> {
        Ok(Some(digits(number.into())))
    }
    fn serialize_u64(self, number: u64) -> Result<Self::Ok, Unwritable> {
        Ok(Some(digits(number)))
    }
    fn serialize_none(self) -> Result<Self::Ok, Unwritable> {
        Ok(None)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Self::Ok, Unwritable> {
        value.serialize(self)
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, word: &'static str) -> Result<Self::Ok, Unwritable> {
        Ok(Some(quoted(word)))
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Self::Ok, Unwritable> {
        value.serialize(self)
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Unwritable> {
        Ok(self)
    }
    refuse! {}
}
