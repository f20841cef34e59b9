//! Reading an address by the URL Standard, with the `url` library.

use crate::values::Parts;

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
