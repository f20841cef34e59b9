//! Uses libraries, where their size does not matter.

use serde::Serialize;

/// The origin of an absolute address, as the URL Standard's parser writes it.
pub(crate) fn origin_of(text: &str) -> Option<String> {
    url::Url::parse(text).ok().map(|url| url.origin().ascii_serialization())
}

/// Reads `application/x-www-form-urlencoded`: a `+` is a space, `%C3%A9` is é, and an invalid escape stays as it is.
/// Bytes that are not UTF-8 give an empty text.
pub(crate) fn form_decode(text: &str) -> String {
    let text = text.replace('+', " ");
    percent_encoding::percent_decode_str(&text).decode_utf8().map(String::from).unwrap_or_default()
}

/// A value as JSON; `None` if JSON cannot express it.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> Option<String> {
    serde_json::to_string(value).ok()
}
