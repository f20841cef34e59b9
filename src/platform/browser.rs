//! What the browser does: reading an address by the URL Standard. The library's tables would weigh more than the whole
//! client.

#[cfg(feature = "hosted")]
mod json;
#[cfg(feature = "hosted")]
pub(crate) use json::write_json;

use crate::values::{Parts, parts};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(raw_module = "../doors.js")]
extern "C" {
    /// Protocol, host name, origin and "user" where there is one, a line each; nothing where it is no address.
    fn address_parts(text: &str) -> Option<String>;
    #[wasm_bindgen(js_name = decode)]
    fn decoded(text: &str) -> String;
}

/// What the parser says of an address; `None` when it is none.
pub(crate) fn read_address(text: &str) -> Option<Parts> {
    let said = address_parts(text)?;
    let mut lines = parts(&said, b'\n').map(String::from);
    Some(Parts {
        protocol: lines.next()?,
        hostname: lines.next()?,
        origin: lines.next()?,
        has_userinfo: lines.next().is_some_and(|user| !user.is_empty()),
    })
}

/// Reads `application/x-www-form-urlencoded`, as [the library's](crate::platform) half does.
pub(crate) fn decode(text: &str) -> String {
    decoded(text)
}

/// A shop's page sends the service nothing that has a body.
#[cfg(not(feature = "hosted"))]
pub(crate) fn write_json<T: ?Sized>(_: &T) -> Result<Option<String>, crate::protocol::Unwritable> {
    Err(crate::protocol::Unwritable)
}
