//! Uses the browser's own functions. Libraries for them would take more bytes than the whole client.

use js_sys::JSON;
use serde::Serialize;
use serde_wasm_bindgen::Serializer;
use web_sys::{Url, UrlSearchParams};

/// The origin of an absolute address, as the URL Standard's parser writes it.
pub(crate) fn origin_of(text: &str) -> Option<String> {
    Url::new(text).ok().map(|url| url.origin())
}

/// Reads `application/x-www-form-urlencoded`, as the [library's](crate::platform) function does, which takes 1 KB more.
pub(crate) fn form_decode(text: &str) -> String {
    let fields = UrlSearchParams::new_with_str(&["=", text].concat()).ok();
    // The browser writes this character for bytes that are not UTF-8.
    // Not by `contains`, whose search adds 0.5 KB to the wasm.
    let is_text = |value: &String| !value.as_bytes().windows(3).any(|three| three == "\u{fffd}".as_bytes());
    fields.and_then(|fields| fields.get("")).filter(is_text).unwrap_or_default()
}

/// A value as JSON; `None` if JSON cannot express it.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> Option<String> {
    let value = value.serialize(&Serializer::json_compatible()).ok()?;
    JSON::stringify(&value).ok()?.as_string()
}
