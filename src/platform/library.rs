//! What the well-kept libraries do where their weight does not matter: reading an address by the URL Standard, and
//! writing JSON.

use crate::protocol::Unwritable;
use crate::values::Parts;
use serde::Serialize;

/// What the parser says of an address; `None` when it is none.
pub(crate) fn read_address(text: &str) -> Option<Parts> {
    let url = url::Url::parse(text).ok()?;
    Some(Parts {
        protocol: format!("{}:", url.scheme()),
        hostname: url.host_str()?.to_owned(),
        origin: url.origin().ascii_serialization(),
        has_userinfo: !url.username().is_empty() || url.password().is_some(),
    })
}

/// Reads `application/x-www-form-urlencoded`: a `+` is a space, `%C3%A9` is é, and a broken escape stays as it is. Bytes
/// that are no UTF-8 are no text, and are read as nothing.
pub(crate) fn decode(text: &str) -> String {
    let text = text.replace('+', " ");
    percent_encoding::percent_decode_str(&text).decode_utf8().map(String::from).unwrap_or_default()
}

/// A value as JSON; `None` where it is absent.
pub(crate) fn write_json<T: Serialize + ?Sized>(value: &T) -> Result<Option<String>, Unwritable> {
    let json = serde_json::to_string(value).map_err(|_| Unwritable)?;
    Ok((json != "null").then_some(json))
}

/// The origin that a text is, as browsers write it: a slash at its end and capitals in its host are mended. `None` for what
/// is more or less than an origin.
#[cfg(any(feature = "native", feature = "sandbox"))]
pub(crate) fn read_origin(text: &str) -> Option<String> {
    let url = url::Url::parse(text).ok()?;
    let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let is_anonymous = url.username().is_empty() && url.password().is_none();
    let is_http = matches!(url.scheme(), "http" | "https");
    (is_bare && is_anonymous && is_http).then(|| url.origin().ascii_serialization())
}
