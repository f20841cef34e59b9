//! Reading an address by the URL Standard, with the browser's own `URL`: the library's tables alone would weigh more
//! than the whole client.

use crate::values::Parts;

/// What the parser says of an address; `None` when it is none.
pub(crate) fn read_address(text: &str) -> Option<Parts> {
    let url = web_sys::Url::new(text).ok()?;
    Some(Parts {
        protocol: url.protocol(),
        hostname: url.hostname(),
        origin: url.origin(),
        has_userinfo: !url.username().is_empty() || !url.password().is_empty(),
    })
}
