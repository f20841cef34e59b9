//! Uses the browser's own functions. Libraries for them would take more bytes than the whole client.

use super::AddressParts;
use js_sys::{JSON, JsString, RegExp, decode_uri_component};
use serde::Serialize;
use serde_wasm_bindgen::Serializer;
use web_sys::Url;

/// Parses an absolute address by the URL Standard.
pub(crate) fn parse_address(text: &str) -> Option<AddressParts> {
    let url = Url::new(text).ok()?;
    Some(AddressParts {
        protocol: url.protocol(),
        hostname: url.hostname(),
        origin: url.origin(),
        has_userinfo: !(url.username().is_empty() && url.password().is_empty()),
    })
}

/// Reads `application/x-www-form-urlencoded`, as the [library's](crate::platform) function does, which takes 1 KB more.
pub(crate) fn form_decode(text: &str) -> String {
    let broken_escape = RegExp::new("%(?![0-9a-f]{2})", "gi");
    let text = JsString::from(text).replace_all("+", " ").replace_by_pattern(&broken_escape, "%25");
    decode_uri_component(&String::from(text)).map(String::from).unwrap_or_default()
}

/// A value as JSON; `None` if JSON cannot express it.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> Option<String> {
    let value = value.serialize(&Serializer::json_compatible()).ok()?;
    JSON::stringify(&value).ok()?.as_string()
}
