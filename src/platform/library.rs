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

/// Reads an origin and writes it as browsers do: without a slash at its end, and with its host in lower case. `None` if
/// the text is no origin, or a pattern of several.
#[cfg(any(feature = "native-no-provider", feature = "service"))]
#[must_use]
pub fn read_origin(text: &str) -> Option<String> {
    let url = url::Url::parse(text).ok()?;
    let is_one = !url.host_str()?.contains('*');
    let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let is_anonymous = url.username().is_empty() && url.password().is_none();
    let is_http = matches!(url.scheme(), "http" | "https");
    (is_one && is_bare && is_anonymous && is_http).then(|| url.origin().ascii_serialization())
}
