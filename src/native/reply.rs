//! Finds the field of a reply that cannot be read, without repeating any value of the reply.

use crate::protocol::payload;
use serde::de::DeserializeOwned;
use std::fmt;

/// The field of a reply that cannot be read, and the type that was expected: the cause of an
/// [`unreadable`](crate::protocol::Kind::Unreadable) error. It repeats no value of the reply, which may contain
/// secrets.
///
/// ```
/// use guichet::native::UnreadableReply;
/// use std::error::Error as _;
/// fn field(error: &guichet::protocol::Error) -> Option<&str> {
///     error.source()?.downcast_ref::<UnreadableReply>()?.field()
/// }
/// ```
#[derive(Debug)]
pub struct UnreadableReply {
    field: Option<String>,
    problem: String,
}

impl UnreadableReply {
    /// Decodes the body again, which failed with this error, to find the field.
    pub(super) fn new<T: DeserializeOwned>(body: &[u8], error: &serde_json::Error) -> Self {
        let mut json = serde_json::Deserializer::from_slice(payload(body));
        let found = serde_path_to_error::deserialize::<_, T>(&mut json).err();
        let field = found.map(|found| found.path().to_string()).filter(|path| path != ".");
        Self { field, problem: problem(error) }
    }

    /// The path of the field within the reply's `data`, such as `customer.email` or `[3].amount`. `None` if the reply
    /// is no JSON, or if its root has an unexpected shape.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }
}

/// The decoder's message, without the value that it quotes.
fn problem(error: &serde_json::Error) -> String {
    use serde_json::error::Category;
    match error.classify() {
        Category::Syntax => return format!("not JSON at line {} column {}", error.line(), error.column()),
        Category::Eof => return "the JSON breaks off".to_owned(),
        Category::Io | Category::Data => {}
    }
    let text = error.to_string();
    // The name of a missing field and the expected type are this crate's own words, so they may be shown.
    if text.starts_with("missing field") {
        return text;
    }
    match text.rsplit_once(", expected ") {
        Some((_, expected)) => format!("expected {expected}"),
        None => "not a value that the field can have".to_owned(),
    }
}

impl fmt::Display for UnreadableReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "{}: {}", crate::values::printable(field), self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

impl std::error::Error for UnreadableReply {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::PaymentIntent;
    use crate::protocol::decode;

    fn unreadable(body: &str) -> UnreadableReply {
        let error = decode::<PaymentIntent>(body.as_bytes()).expect_err("it cannot be read");
        UnreadableReply::new::<PaymentIntent>(body.as_bytes(), &error)
    }

    #[test]
    fn the_field_is_named_and_its_value_is_not_shown() {
        let body = r#"{"data":{"id":{"cst_test_secret":1},"amount":"1","currency":"XAF","status":"succeeded"}}"#;
        let error = unreadable(body);
        assert_eq!(error.field(), Some("id"));
        assert!(error.to_string().contains("expected") && !format!("{error:?}").contains("cst_test_secret"), "{error}");
        for body in [r#""cst_test_secret""#, r#"{"data":"cst_test_secret"}"#, "cst_test_secret"] {
            assert!(!format!("{:?}", unreadable(body)).contains("cst_test"), "{body}");
        }
    }

    #[test]
    fn a_missing_field_is_named() {
        let error = unreadable(r#"{"data":{"amount":"1","currency":"XAF","status":"succeeded"}}"#);
        assert!(error.to_string().contains("missing field `id`"), "{error}");
    }
}
