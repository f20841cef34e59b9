//! Reading what a page gives: every field that is wrong is gathered, so that they come together.

use super::error::Stop;
use super::read::{get, plain_text};
use crate::protocol::{Error, FieldError, Kind};
use crate::values::Invalid;
use wasm_bindgen::JsValue;

/// The fields of one argument.
pub(super) struct Inputs<'a> {
    given: &'a JsValue,
    wrong: Vec<FieldError>,
}

impl<'a> Inputs<'a> {
    pub(super) fn of(given: &'a JsValue) -> Self {
        Self { given, wrong: Vec::new() }
    }

    /// A field that must be there.
    pub(super) fn required<T>(&mut self, param: &str, check: impl FnOnce(&str) -> Result<T, Invalid>) -> Option<T> {
        let value = self.optional(param, check)?;
        if value.is_none() {
            self.fault(param, "parameter_missing", "It is required.");
        }
        value
    }

    /// A field that may be absent: `Some(None)` where it is, `None` where it is wrong.
    pub(super) fn optional<T>(&mut self, param: &str, check: impl FnOnce(&str) -> Result<T, Invalid>) -> Option<Option<T>> {
        let value = get(self.given, param);
        if value.is_undefined() || value.is_null() {
            return Some(None);
        }
        let checked = plain_text(&value).ok_or(Invalid::because("It must be a string.")).and_then(|text| check(&text));
        match checked {
            Ok(value) => Some(Some(value)),
            Err(invalid) => {
                self.fault(param, "parameter_invalid", invalid.reason());
                None
            }
        }
    }

    fn fault(&mut self, param: &str, code: &str, message: &str) {
        self.wrong.push(FieldError { param: param.to_owned(), code: code.to_owned(), message: message.to_owned() });
    }

    /// All that was wrong, as one error.
    pub(super) fn refused(self) -> Stop {
        let mut message = String::new();
        for FieldError { param, message: why, .. } in &self.wrong {
            if !message.is_empty() {
                message.push(' ');
            }
            message.push_str(param);
            message.push_str(": ");
            message.push_str(why);
        }
        Error::new(Kind::Input, message).with_fields(self.wrong).into()
    }
}
