//! Reads the first argument of a call. Collects the errors of all fields, so that they are reported together.

use crate::browser::core::error::{CallError, field_error};
use crate::browser::core::value::{get, text};
use crate::values::Invalid;
use js_sys::Array;
use wasm_bindgen::prelude::*;

/// The fields of one argument.
pub(super) struct Inputs<'a> {
    given: &'a JsValue,
    /// None yet: to create a list is a call into JavaScript, and most calls have no error.
    errors: Option<Array>,
    message: String,
}

impl<'a> Inputs<'a> {
    pub(super) fn of(given: &'a JsValue) -> Self {
        Self { given, errors: None, message: String::new() }
    }

    /// Reads a required field. `None` if it is missing or wrong.
    pub(super) fn required<T>(&mut self, param: &str, check: impl FnOnce(&str) -> Result<T, Invalid>) -> Option<T> {
        let text = self.text(param, true)?;
        self.checked(param, check(&text))
    }

    /// Reads an optional field. `None` if it is missing or wrong.
    pub(super) fn optional<T>(&mut self, param: &str, check: impl FnOnce(&str) -> Result<T, Invalid>) -> Option<T> {
        let text = self.text(param, false)?;
        self.checked(param, check(&text))
    }

    fn checked<T>(&mut self, param: &str, checked: Result<T, Invalid>) -> Option<T> {
        checked.map_err(|invalid| self.report(param, "parameter_invalid", invalid.reason())).ok()
    }

    #[inline(never)]
    fn text(&mut self, param: &str, is_required: bool) -> Option<String> {
        match get(self.given, param) {
            Some(value) => {
                let text = text(&value);
                if text.is_none() {
                    self.report(param, "parameter_invalid", "It must be a string.");
                }
                text
            }
            None => {
                if is_required {
                    self.report(param, "parameter_missing", "It is required.");
                }
                None
            }
        }
    }

    #[inline(never)]
    fn report(&mut self, param: &str, code: &str, message: &str) {
        let space = if self.message.is_empty() { "" } else { " " };
        for part in [space, param, ": ", message] {
            self.message.push_str(part);
        }
        self.errors.get_or_insert_with(Array::new).push(&field_error(param, code, message));
    }

    /// Returns the value, unless a field is wrong or the value is `None`.
    pub(super) fn finish<T>(self, read: Option<T>) -> Result<T, CallError> {
        match read {
            Some(read) if self.message.is_empty() => Ok(read),
            _ => Err(CallError::input(&self.message, &self.errors.unwrap_or_default())),
        }
    }
}
