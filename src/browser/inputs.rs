//! Reading what a page gives: every field that is wrong is gathered, so that they come together.

use super::error::{Stop, field};
use super::read::{Sort, is, list_of, text};
use crate::values::Invalid;
use wasm_bindgen::JsValue;

/// The fields of one argument.
pub(super) struct Inputs<'a> {
    given: &'a JsValue,
    wrong: Vec<JsValue>,
    message: String,
}

impl<'a> Inputs<'a> {
    pub(super) fn of(given: &'a JsValue) -> Self {
        Self { given, wrong: Vec::new(), message: String::new() }
    }

    /// A field that must be there.
    #[cfg(feature = "hosted")]
    pub(super) fn required<T>(&mut self, param: &str, check: impl FnOnce(&str) -> Result<T, Invalid>) -> Option<T> {
        self.needs(param);
        self.optional(param, check)
    }

    /// Says of a field that it must be there.
    #[inline(never)]
    pub(super) fn needs(&mut self, param: &str) {
        if self.is_absent(param) {
            self.fault(param, "parameter_missing", "It is required.");
        }
    }

    /// A field that may be absent; `None` where it is, or is wrong.
    pub(super) fn optional<T>(&mut self, param: &str, check: impl FnOnce(&str) -> Result<T, Invalid>) -> Option<T> {
        match check(&self.text(param)?) {
            Ok(value) => Some(value),
            Err(invalid) => {
                self.fault(param, "parameter_invalid", invalid.reason());
                None
            }
        }
    }

    /// Whether any was wrong.
    pub(super) fn is_refused(&self) -> bool {
        !self.wrong.is_empty()
    }

    #[inline(never)]
    fn text(&mut self, param: &str) -> Option<String> {
        let text = text(self.given, param);
        if text.is_none() && !self.is_absent(param) {
            self.fault(param, "parameter_invalid", "It must be a string.");
        }
        text
    }

    fn is_absent(&self, param: &str) -> bool {
        is(self.given, param, Sort::Nothing)
    }

    #[inline(never)]
    fn fault(&mut self, param: &str, code: &str, message: &str) {
        self.wrong.push(field(param, code, message));
        let before = if self.message.is_empty() { "" } else { " " };
        for part in [before, param, ": ", message] {
            self.message.push_str(part);
        }
    }

    /// All that was wrong, as one error.
    pub(super) fn refused(self) -> Stop {
        Stop::input(&self.message, list_of(self.wrong.into_iter()))
    }
}
