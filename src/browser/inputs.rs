//! Reading what a page gives: every field that is wrong is gathered, so that they come together.

use super::error::{Stop, field};
use super::read::{at, text};
use crate::values::Invalid;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::js_sys::Array;

/// The fields of one argument.
pub(super) struct Inputs<'a> {
    given: &'a JsValue,
    wrong: Array,
    message: String,
}

impl<'a> Inputs<'a> {
    pub(super) fn of(given: &'a JsValue) -> Self {
        Self { given, wrong: Array::new(), message: String::new() }
    }

    /// A field that must be there.
    pub(super) fn required<T>(&mut self, param: &str, check: impl FnOnce(&str) -> Result<T, Invalid>) -> Option<T> {
        let text = self.text(param);
        if text.is_none() && self.is_absent(param) {
            self.fault(param, "parameter_missing", "It is required.");
        }
        self.checked(param, check(&text?))
    }

    /// A field that may be absent: `Some(None)` where it is, `None` where it is wrong.
    pub(super) fn optional<T>(
        &mut self,
        param: &str,
        check: impl FnOnce(&str) -> Result<T, Invalid>,
    ) -> Option<Option<T>> {
        match self.text(param) {
            Some(text) => self.checked(param, check(&text)).map(Some),
            None => self.is_absent(param).then_some(None),
        }
    }

    fn text(&mut self, param: &str) -> Option<String> {
        let text = text(self.given, param);
        if text.is_none() && !self.is_absent(param) {
            self.fault(param, "parameter_invalid", "It must be a string.");
        }
        text
    }

    fn is_absent(&self, param: &str) -> bool {
        let value = at(self.given, param);
        value.is_undefined() || value.is_null()
    }

    fn checked<T>(&mut self, param: &str, checked: Result<T, Invalid>) -> Option<T> {
        match checked {
            Ok(value) => Some(value),
            Err(invalid) => {
                self.fault(param, "parameter_invalid", invalid.reason());
                None
            }
        }
    }

    #[inline(never)]
    fn fault(&mut self, param: &str, code: &str, message: &str) {
        self.wrong.push(&field(param, code, message));
        for part in [param, ": ", message, " "] {
            self.message.push_str(part);
        }
    }

    /// All that was wrong, as one error.
    pub(super) fn refused(self) -> Stop {
        Stop::input(self.message.trim_end(), self.wrong)
    }
}
