//! What the browser does well: reading an address by the URL Standard, and writing JSON. The libraries for it would weigh
//! more than the whole client.

use crate::browser::get_text;
use crate::protocol::Unwritable;
use crate::values::Parts;
use js_sys::{JSON, JsString, RegExp, decode_uri_component};
use serde::Serialize;
use serde_wasm_bindgen::Serializer;
use web_sys::Url;

/// What the parser says of an address; `None` when it is none.
pub(crate) fn read_address(text: &str) -> Option<Parts> {
    let url = Url::new(text).ok()?;
    // By name: a binding of each of web-sys's getters would weigh more than this.
    let part = |name| get_text(&url, name).unwrap_or_default();
    Some(Parts {
        protocol: part("protocol"),
        hostname: part("hostname"),
        origin: part("origin"),
        has_userinfo: !(part("username").is_empty() && part("password").is_empty()),
    })
}

/// Reads `application/x-www-form-urlencoded`, as [the library's](crate::platform) half does, which weighs 1 KB more.
pub(crate) fn decode(text: &str) -> String {
    let broken_escape = RegExp::new("%(?![0-9a-f]{2})", "gi");
    let text = JsString::from(text).replace_all("+", " ").replace_by_pattern(&broken_escape, "%25");
    decode_uri_component(&String::from(text)).map(String::from).unwrap_or_default()
}

/// A value as JSON; `None` where it is absent.
pub(crate) fn write_json<T: Serialize + ?Sized>(value: &T) -> Result<Option<String>, Unwritable> {
    // A map as an object: JSON writes a `Map` as `{}`.
    let value = value.serialize(&Serializer::new().serialize_maps_as_objects(true)).map_err(|_| Unwritable)?;
    Ok(JSON::stringify(&value).map_err(|_| Unwritable)?.as_string())
}
