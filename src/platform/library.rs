//! What the well-kept libraries do where their weight does not matter.

use super::AddressParts;
use serde::Serialize;

/// Parses an absolute address by the URL Standard.
pub(crate) fn parse_address(text: &str) -> Option<AddressParts> {
    let url = url::Url::parse(text).ok()?;
    Some(AddressParts {
        protocol: format!("{}:", url.scheme()),
        hostname: url.host_str()?.to_owned(),
        origin: url.origin().ascii_serialization(),
        has_userinfo: !url.username().is_empty() || url.password().is_some(),
    })
}

/// Reads `application/x-www-form-urlencoded`: a `+` is a space, `%C3%A9` is é, and a broken escape stays as it is. Bytes
/// that are not UTF-8 are not text, and are read as nothing.
pub(crate) fn form_decode(text: &str) -> String {
    let text = text.replace('+', " ");
    percent_encoding::percent_decode_str(&text).decode_utf8().map(String::from).unwrap_or_default()
}

/// A value as JSON; `None` for one that JSON cannot hold.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> Option<String> {
    serde_json::to_string(value).ok()
}

/// The origin that a text is, as browsers write it: a slash at its end and capitals in its host are mended. `None` for what
/// is more or less than an origin.
#[cfg(any(feature = "axum", feature = "sandbox"))]
pub(crate) fn read_origin(text: &str) -> Option<String> {
    let url = url::Url::parse(text).ok()?;
    let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let is_anonymous = url.username().is_empty() && url.password().is_none();
    let is_http = matches!(url.scheme(), "http" | "https");
    (is_bare && is_anonymous && is_http).then(|| url.origin().ascii_serialization())
}
