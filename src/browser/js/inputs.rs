//! Reads the first argument of a call. Collects the errors of all fields, so that they are reported together.

use crate::browser::core::{CallError, field_error, get, get_text, is_nullish};
use crate::protocol::FieldError;
use crate::values::Invalid;
use wasm_bindgen::prelude::*;

/// The fields of one argument.
pub(super) struct Inputs<'a> {
    given: &'a JsValue,
    errors: Vec<FieldError>,
    message: String,
}

impl<'a> Inputs<'a> {
    pub(super) fn of(given: &'a JsValue) -> Self {
        Self { given, errors: Vec::new(), message: String::new() }
    }

    /// Reads a required field.
    #[cfg(feature = "js-hosted")]
    pub(super) fn required<T>(&mut self, param: &str, check: impl FnOnce(&str) -> Result<T, Invalid>) -> Option<T> {
        self.require(param);
        self.optional(param, check)
    }

    /// Reports a missing field.
    #[inline(never)]
    pub(super) fn require(&mut self, param: &str) {
        if is_nullish(&get(self.given, param)) {
            self.report(param, "parameter_missing", "It is required.");
        }
    }

    /// Reads an optional field. `None` if it is missing or wrong.
    pub(super) fn optional<T>(&mut self, param: &str, check: impl FnOnce(&str) -> Result<T, Invalid>) -> Option<T> {
        match check(&self.text(param)?) {
            Ok(value) => Some(value),
            Err(invalid) => {
                self.report(param, "parameter_invalid", invalid.reason());
                None
            }
        }
    }

    #[inline(never)]
    fn text(&mut self, param: &str) -> Option<String> {
        let text = get_text(self.given, param);
        if text.is_none() && !is_nullish(&get(self.given, param)) {
            self.report(param, "parameter_invalid", "It must be a string.");
        }
        text
    }

    #[inline(never)]
    fn report(&mut self, param: &str, code: &str, message: &str) {
        let space = if self.message.is_empty() { "" } else { " " };
        for part in [space, param, ": ", message] {
            self.message.push_str(part);
        }
        self.errors.push(field_error(param, code, message));
    }

    /// Returns the value, unless a field is wrong or the value is `None`.
    pub(super) fn finish<T>(self, read: Option<T>) -> Result<T, CallError> {
        match read {
            Some(read) if self.errors.is_empty() => Ok(read),
            _ => Err(CallError::input(&self.message, self.errors)),
        }
    }
}
